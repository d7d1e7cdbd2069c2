"""Processes that die while a team works: who is named, what goes on, what is said about it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from coterie_core.questions import Question

PATIENCE = 120.0

pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(900)]

TEAM = """\
name: faults
world: {kind: embedded, seed: 5, floors: 1, rooms: 6}
seed: 5
robots:
  - {name: rover, embodiment: wheels}
  - {name: walker, embodiment: legs}
  - {name: drone, embodiment: air}
exploration: {steps: 40}
aggregator: {method: majority_vote, deadline: 4.0}
processes: {restart_limit: 1}
"""
ALL = {"rover", "walker", "drone"}


def asked(*ids: str) -> list[Question]:
    return [Question(i, "chair", "kitchen", "Is there a chair in the kitchen?") for i in ids]


def exploring(
    running: Any,
    on_feedback: Callable[[str, Any], None] = lambda name, feedback: None,
    steps: int = 12,
) -> dict[str, asyncio.Task[Any]]:
    """Let all robots explore; return the task of each one."""
    from coterie_msgs.action import Explore

    def work(name: str) -> Any:
        goal = Explore.Goal(max_steps=steps)
        return running.loop(running.operator.explore(name, goal, partial(on_feedback, name)))

    return {r.name: asyncio.create_task(work(r.name)) for r in running.run.team.robots}


async def test_a_team_outlives_every_one_of_its_processes(
    ros_domain: int, running_team: Callable[..., Any]
) -> None:
    async with running_team(TEAM, ros_domain) as running:
        await a_robot_is_killed_while_it_explores(running)
        await the_aggregator_restarts_in_the_middle_of_a_question(running)
        await the_world_restarts_while_robots_explore(running)
        await final_answers_say_who_was_given_up(running)


async def a_robot_is_killed_while_it_explores(running: Any) -> None:
    supervisor = running.run.supervisor
    victim = supervisor.pid("explorer.walker")
    killed = False
    known = 0

    def on_feedback(name: str, feedback: Any) -> None:
        nonlocal killed, known
        if name == "walker" and not killed:
            known = int(feedback.objects)
            if feedback.steps >= 4:
                killed = True
                os.kill(victim, signal.SIGKILL)

    tasks = exploring(running, on_feedback)
    await running.until(lambda: supervisor.restarts["explorer.walker"] == 1, "a restart")
    died = next(e for e in running.events if e.kind == "died")
    assert died.program == "explorer.walker"
    assert "SIGKILL" in died.text
    # The others are not held up for ever by the one that is gone.
    for name in ("rover", "drone"):
        result = await asyncio.wait_for(tasks[name], PATIENCE)
        assert result.success, f"{name}: {result.reason}"
    tasks["walker"].cancel()
    running.operator.ask_all(asked("after"), deadline=10.0)
    await running.finals(["after"])
    assert {v.robot for v in running.operator.finals["after"].votes} == ALL
    # What it had seen before its death was kept for it.
    memory = await running.loop(running.operator.memory("walker"))
    assert len(memory.objects) >= 0.9 * known > 0, (len(memory.objects), known)


async def the_aggregator_restarts_in_the_middle_of_a_question(running: Any) -> None:
    supervisor, operator = running.run.supervisor, running.operator
    stopped = supervisor.pid("explorer.drone")
    os.kill(stopped, signal.SIGSTOP)  # so that the question stays open
    try:
        ids = [f"open-{i}" for i in range(5)]
        operator.ask_all(asked(*ids), deadline=60.0)
        await running.until(
            lambda: all(set(ids) <= operator.answers[r].keys() for r in ("rover", "walker")),
            "the answers of the two robots that are awake",
        )
        assert not operator.finals.keys() & set(ids)
        os.kill(supervisor.pid("aggregator"), signal.SIGKILL)
        await running.until(lambda: supervisor.restarts["aggregator"] == 1, "a restart")
    finally:
        os.kill(stopped, signal.SIGCONT)
    await running.finals(ids)
    for key in ids:
        final = operator.finals[key]
        assert {v.robot for v in final.votes} == ALL
        assert final.missing == ()


async def the_world_restarts_while_robots_explore(running: Any) -> None:
    supervisor = running.run.supervisor
    bridge = supervisor.pid("bridge")
    killed = False

    def on_feedback(name: str, feedback: Any) -> None:
        nonlocal killed
        if feedback.steps >= 3 and not killed:
            killed = True
            os.kill(bridge, signal.SIGKILL)

    tasks = exploring(running, on_feedback)
    await running.until(lambda: supervisor.restarts["bridge"] == 1, "a restart")
    # However a robot's exploration ends, it ends, and says why if it failed.
    for name, task in tasks.items():
        result = await asyncio.wait_for(task, PATIENCE)
        assert result.success or result.reason, name
    for name, task in exploring(running, steps=3).items():
        result = await asyncio.wait_for(task, PATIENCE)
        assert result.success, f"{name}: {result.reason}"


async def final_answers_say_who_was_given_up(running: Any) -> None:
    supervisor = running.run.supervisor

    def dies_again() -> bool:
        pid = supervisor.pid("explorer.drone")
        if pid:
            with contextlib.suppress(ProcessLookupError):  # the supervisor has not seen it die yet
                os.kill(pid, signal.SIGKILL)
        return bool(supervisor.failed)

    await running.until(dies_again, "the drone to be given up")
    assert supervisor.failed == ("explorer.drone",)
    assert supervisor.restarts["explorer.drone"] == 1
    running.operator.ask_all(asked("q1", "q2"), deadline=5.0)
    await running.finals(["q1", "q2"])
    for key in ("q1", "q2"):
        final = running.operator.finals[key]
        assert final.missing == ("drone",)
        assert {v.robot for v in final.votes} == ALL - {"drone"}
