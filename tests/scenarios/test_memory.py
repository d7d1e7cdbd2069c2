"""A team of real processes moves things: what it moved counts for questions, over restarts."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(900)]

PATIENCE = 200.0
TEAM = """\
name: crew
world: {kind: embedded, seed: 14, floors: 2, noise: none}
seed: 7
robots:
  - {name: eyes, embodiment: legs}
  - {name: rover, embodiment: wheels, role: worker}
  - {name: walker, embodiment: legs, role: worker}
leader: {prior_map: everything}
planner: {}
open_questions: {robot: none}
aggregator: {method: confidence_vote, deadline: 6.0}
"""


async def test_what_was_moved_counts_for_questions_and_after_the_leaders_death(
    ros_domain: int, state_folder: Path
) -> None:
    from coterie_bringup.running_team import prepared
    from coterie_bringup.spinning import in_loop
    from coterie_bringup.task_record import TaskRecord
    from coterie_bringup.task_watcher import watching
    from coterie_bringup.team import parse_team
    from coterie_bringup.team_client import operating
    from coterie_core.questions import OpenAnswer, Question
    from coterie_world.team_memory import load_memory

    team = parse_team(TEAM)
    with prepared(team, domain=ros_domain) as started:
        async with started.supervisor.running():
            record = TaskRecord("Bring the mug in living room 1 to the kitchen counter")
            names = ["rover", "walker"]
            with watching(
                names, record, domain=ros_domain, environment=started.environment
            ) as watcher:
                for _ in range(5):  # robots may take long to start on a busy machine
                    assert await in_loop(watcher, watcher.leader_there(PATIENCE))
                    giving = asyncio.wrap_future(watcher.run(watcher.give(0.0), "task"))
                    await asyncio.wait({giving}, timeout=PATIENCE)
                    if "no robot is there" not in record.message:
                        break
            moved = [s for s in record.sub_tasks if s.kind == "place" and s.state == 2]
            assert moved, record.message
            picks = {s.id: s for s in record.sub_tasks if s.kind == "pick"}
            taken = {picks[i].object.room for s in moved for i in s.depends_on if i in picks}
            taken -= {"kitchen"}
            assert taken, record.message
            with operating(["eyes"], domain=ros_domain, environment=started.environment) as op:

                async def loop(work: Any) -> Any:
                    return await asyncio.wait_for(in_loop(op, work), PATIENCE)

                async def check(question: str) -> None:
                    end = asyncio.get_running_loop().time() + PATIENCE
                    in_kitchen: set[str] = set()
                    while not in_kitchen:  # the map follows what the leader says a little later
                        assert asyncio.get_running_loop().time() < end, "no mug in the kitchen"
                        scene = await loop(op.map(10.0))
                        assert scene is not None
                        mugs = {o.id: o for o in scene.objects.values() if o.label.top == "mug"}
                        in_kitchen = {id_ for id_, mug in mugs.items() if mug.room == "kitchen"}
                    for number, room in enumerate(sorted(taken)):
                        if any(mug.room == room for mug in mugs.values()):
                            continue  # not all of them were brought away
                        asked = Question(f"{question}{number}", "mug", scene.rooms[room].name)
                        answer = await loop(op.ask(asked, PATIENCE))
                        assert answer.final.yes is False, answer
                        assert "to the kitchen" in answer.final.explanation
                        assert any(f"{r} brought it" in answer.final.explanation for r in names)
                        assert answer.answers[0].evidence.kind == "moved"
                    found = await loop(op.find("a mug", 10, PATIENCE))
                    assert in_kitchen <= set(found.ids)
                    assert all(mug.confidence > 0.5 for mug in mugs.values())
                    words = Question("w", "", "", "Where is the blue mug?")  # there is a red one
                    where = await loop(op.ask(words, PATIENCE))
                    assert isinstance(where, OpenAnswer)
                    assert "brought the mug" in where.explanation

                await check("before")
                file = started.directory / "team" / "leader.json"
                loop_ = asyncio.get_running_loop()
                end = loop_.time() + PATIENCE
                while not file.is_file() or not load_memory(file)[0].traces:
                    assert loop_.time() < end
                    await asyncio.sleep(0.1)
                dead = started.supervisor.pid("leader")
                os.kill(dead, signal.SIGKILL)
                while started.supervisor.pid("leader") in (None, 0, dead):
                    assert loop_.time() < end
                    await asyncio.sleep(0.1)
                again = TaskRecord("check whether there is a mug in the kitchen")
                with watching(
                    names, again, domain=ros_domain, environment=started.environment
                ) as watcher:
                    assert await in_loop(watcher, watcher.leader_there(PATIENCE))
                    await asyncio.wait_for(in_loop(watcher, watcher.give(0.0)), PATIENCE)
                assert again.success and "yes" in again.message.lower(), again.message
                await check("after")
