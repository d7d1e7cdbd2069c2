"""Sub-tasks that a robot got no permit for: who is not asked for the same in its place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime

from coterie_core.tasks import SubTask
from coterie_safety.permits import PermitGoal, RobotPermits, Surroundings
from coterie_safety.permits.gate import NO_PERMIT
from coterie_safety.permits.policy import STRICTNESS
from coterie_world.scene import SceneGraph

_SKILLS = {
    "pick": ("navigate_to", "pick"),
    "place": ("navigate_to", "place"),
    "open": ("navigate_to", "open"),
    "close": ("navigate_to", "close"),
}


def no_better(
    permits: Mapping[str, RobotPermits],
    one: SubTask,
    scene: SceneGraph,
    now: datetime | None = None,
) -> set[tuple[str, str]]:
    """Return (sub-task, robot) of robots whose policy is no better, where one got no permit for it.

    Another robot gets it only where its policy differs: a person who has said no is not asked once
    more by way of another robot.

    Args:
        permits: Robot -> its policy.
        one: The sub-task, with the robot that could not do it and the reason.
        scene: The map.
        now: Local time; None: that of the computer.
    """
    if NO_PERMIT not in one.reason or one.robot not in permits:
        return set()
    around, moment = Surroundings(scene), now or datetime.now()
    touched = [thing for thing in (one.object, one.receptacle) if thing is not None]
    known = [scene.objects[thing.id] for thing in touched if thing.id in scene.objects]
    rooms, strays = around.rooms_of([thing.box.center for thing in known])

    def strictness(robot: str) -> tuple[int, ...]:
        goals = (
            # Of the speed and the way the leader knows nothing.
            PermitGoal(robot, skill, "", rooms=rooms, strays=strays or not rooms, speed=math.nan,
                       objects=tuple(t.label for t in touched) if skill != "navigate_to" else ())
            for skill in _SKILLS.get(one.kind, ("navigate_to",))
        )  # fmt: skip
        verdicts = (permits[robot].decide(goal, around, moment) for goal in goals)
        return tuple(STRICTNESS[verdict.answer] for verdict in verdicts)

    refused = strictness(one.robot)
    if not any(refused):
        return set()  # it is not the policy that the leader knows: others may try
    return {
        (one.id, robot)
        for robot in permits
        if robot != one.robot
        and all(other >= own for other, own in zip(strictness(robot), refused, strict=True) if own)
    }
