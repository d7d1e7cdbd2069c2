"""Ids of a model's plan: a sub-task that means the same as a known one has its id."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from coterie_core.tasks import SubTask


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
