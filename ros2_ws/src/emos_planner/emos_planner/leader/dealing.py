"""Dealing sub-tasks out in turn: an assignment without any discussion (ablation)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from coterie_core.tasks import SubTask


def deal(
    sub_tasks: Sequence[SubTask], robots: Sequence[str], only: Mapping[str, str], seed: int
) -> tuple[SubTask, ...]:
    """Give sub-tasks to robots in turn, looking at nobody's body (EMOS, w/o discussion).

    Sub-tasks that one robot must do together stay together; whom the person named, does it.
    """
    order = list(robots)
    random.Random(seed).shuffle(order)
    of: dict[str, str] = {}
    turn = 0
    dealt = []
    for one in sub_tasks:
        robot = only.get(one.id) or of.get(one.same_robot_as, "")
        if not robot:
            robot = order[turn % len(order)]
            turn += 1
        of[one.id] = robot
        dealt.append(one.model_copy(update={"robot": robot}))
    return tuple(dealt)
