"""What a robot's model is told when it chooses a skill: itself, its surroundings, the others."""

from __future__ import annotations

import math
from collections.abc import Iterable

from coterie_core.tasks import SubTask
from coterie_llm import inline_data
from coterie_requests.asking import Asking
from emos_planner.lookups import Lookups
from emos_planner.map_view import thing_line
from emos_planner.robot.choose import ChoiceState, Option, Tried
from emos_planner.robot.share_facts import share_facts
from emos_planner.robot.situation import Situation

NEAR = 3.0
"""Things up to so far from a robot are near to it [m]."""
_MOST_NEAR = 12
_MOST_TRIED = 12


def outlook(
    now: Situation,
    options: tuple[Option, ...],
    tried: Iterable[Tried],
    *,
    words: str,
    room: str,
    share: Iterable[SubTask],
    heard: Iterable[str],
    numbers: bool = True,
    asking: Asking | None = None,
) -> ChoiceState:
    """Return the state of the choice.

    Args:
        now: The situation.
        options: What can be done, the rule's choice first.
        tried: What was tried for the sub-task.
        words: The whole task.
        room: Where the robot is (id).
        share: All sub-tasks of the task, those of others too.
        heard: What others said.
        numbers: Whether those of the body are told.
        asking: Lets the model ask the person and other robots.
    """
    others: dict[str, list[str]] = {robot: [] for robot in now.mates}
    for one in share:
        if one.robot in others:
            said = inline_data(one.description or one.id, limit=120)
            others[one.robot].append(f"{said}: {one.state.name.lower()}")
    self_told: dict[str, object] = {
        "room": room or "unknown",
        "hand holds": now.holding_label or "nothing",
        "tries left": now.tries_left,
    }
    if now.position is not None:
        x, y, _ = now.position
        self_told["at"] = f"({x:.2f}, {y:.2f})"
        spot = now.estimate.spot
        if now.estimate.feasible and spot is not None:
            away = math.dist(now.position[:2], spot[:2])
            self_told["a spot to do it from is away, as the crow flies [m]"] = round(away, 1)
    return ChoiceState(
        robot=now.robot,
        sub_task=now.sub_task,
        options=options,
        tried=tuple(tried)[-_MOST_TRIED:],
        words=words,
        facts=share_facts(now.tools, now.robot, now.sub_task, now.position, numbers=numbers),
        now=self_told,
        near=_near(now, room),
        others=others,
        heard=tuple(heard),
        lookups=Lookups(now.tools, {now.robot: now.position}, own=now.robot, asking=asking),
    )


def _near(now: Situation, room: str) -> tuple[str, ...]:
    """Return the nearest things in the room, with their facts."""
    here = now.position
    if here is None:
        return ()
    found = []
    for thing in now.scene.objects.values():
        if room and thing.room != room:
            continue  # behind a wall
        x, y, z = thing.box.center
        away = math.hypot(x - here[0], y - here[1])
        if away <= NEAR and -0.5 <= z - here[2] <= 2.6:
            found.append((away, thing.id))
    found.sort()
    lines = [thing_line(now.scene.objects[id], now.scene, here) for _, id in found[:_MOST_NEAR]]
    if len(found) > _MOST_NEAR:
        lines.append(f"({len(found) - _MOST_NEAR} more things near you are left out)")
    return tuple(lines)
