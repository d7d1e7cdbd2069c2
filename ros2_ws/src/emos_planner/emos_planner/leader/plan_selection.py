"""Which plan counts where a model and the solver differ: the checks decide, and say why."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence

from coterie_core.geometry import Vec3
from coterie_core.tasks import SubTask
from emos_planner.allocation.checks import choose
from emos_planner.geometry.toolbox import Toolbox


def judge(
    model: Sequence[SubTask],
    solver: Sequence[SubTask],
    toolbox: Toolbox,
    what: str,
    starts: Mapping[str, Vec3 | None] | None = None,
    solver_time: float = math.inf,
) -> tuple[tuple[SubTask, ...], str]:
    """Return the better of two plans and why, as a sentence for the report.

    What both give no robot to is left out of the comparison. `solver_time` [s]: the solver's own
    estimate of its plan (infinity: not known).
    """
    idle = {one.id for one in solver if not one.robot} & {one.id for one in model if not one.robot}
    choice = choose(
        [one for one in model if one.id not in idle],
        [one for one in solver if one.id not in idle],
        toolbox,
        starts=starts,
        solver_time=solver_time,
    )
    nobody = tuple(one for one in solver if one.id in idle)
    return (*choice.sub_tasks, *nobody), f"{what}: {choice.report}"


def with_known_ids(
    plan: Sequence[SubTask],
    known: Sequence[SubTask],
    key: Callable[[SubTask], Hashable],
) -> tuple[SubTask, ...]:
    """Return a plan in which sub-tasks that mean the same as known ones have their ids.

    Args:
        plan: As a model has written it, with ids of its own.
        known: The same task as a rule has split it.
        key: What a sub-task means.
    """
    free: dict[Hashable, list[str]] = {}
    for one in known:
        free.setdefault(key(one), []).append(one.id)
    own = {one.id for one in known}
    named: dict[str, str] = {}
    for one in plan:
        same = free.get(key(one), [])
        if one.id in same:
            same.remove(one.id)
            named[one.id] = one.id
    for one in plan:
        if one.id not in named:
            same = free.get(key(one), [])
            taken = own | set(named.values())
            named[one.id] = same.pop(0) if same else _unlike(one.id, taken)
    return tuple(
        one.model_copy(
            update={
                "id": named[one.id],
                "depends_on": tuple(named.get(i, i) for i in one.depends_on),
                "same_robot_as": named.get(one.same_robot_as, one.same_robot_as),
            }
        )
        for one in plan
    )


def _unlike(id: str, taken: set[str]) -> str:
    name, n = id, 2
    while name in taken:
        name, n = f"{id[:50]}-m{n}", n + 1
    return name
