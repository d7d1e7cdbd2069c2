"""Dealing sub-tasks out in turn: an assignment without any discussion (ablation)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from coterie_core.tasks import SubTask


def deal(
    sub_tasks: Sequence[SubTask], robots: Sequence[str], only: Mapping[str, str], seed: int
) -> tuple[SubTask, ...]:
    """Give sub-tasks to robots in turn, in an order of chance, looking at nobody's body.

    Sub-tasks that one robot must do together, or that are about one object, stay together; whom
    the person named, does it.
    """
    order = list(robots)
    random.Random(seed).shuffle(order)
    of: dict[str, str] = {}
    turn = 0
    dealt = []
    for one in sub_tasks:
        about = f"object {one.object.id or one.object.label}" if one.object is not None else ""
        robot = only.get(one.id) or of.get(one.same_robot_as, "") or of.get(about, "")
        if not robot:
            robot = order[turn % len(order)]
            turn += 1
        of[one.id] = of[about or one.id] = robot
        dealt.append(one.model_copy(update={"robot": robot}))
    return tuple(dealt)
