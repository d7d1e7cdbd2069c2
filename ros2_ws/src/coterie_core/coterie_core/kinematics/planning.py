"""Ways of an arm around what it would hit: RRT-Connect (Kuffner and LaValle, ICRA 2000)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from coterie_core.kinematics.space import ArmSpace

Array = npt.NDArray[np.float64]

_STRAIGHT = 8
"""Ends that are tried straight, before a way around is sought."""
_ROUNDS = 200
_SHORTCUTS = 40
_LEAST = 0.05
"""A step of a search that gets less far is none [rad or m]."""


class Blocked(ValueError):
    """No way was found; says what the arm would hit."""


class _Search:
    """Postures reached from one side, each with the one before it."""

    def __init__(self, roots: Sequence[Array]) -> None:
        self.rows = list(roots)
        self.before: list[int] = [-1] * len(self.rows)

    def towards(self, space: ArmSpace, goal: Array) -> Array | None:
        """Go from the nearest posture towards a goal as far as it is free; None: nowhere."""
        nearest = int(np.argmin(np.abs(np.array(self.rows) - goal).max(axis=1)))
        start = self.rows[nearest]
        last, _ = space.way(start, goal)
        if np.abs(last - start).max() < min(_LEAST, float(np.abs(goal - start).max())):
            return None
        self.rows.append(last)
        self.before.append(nearest)
        return last

    def way(self) -> list[Array]:
        """Return the postures from a root to the newest one."""
        rows, k = [], len(self.rows) - 1
        while k >= 0:
            rows.append(self.rows[k])
            k = self.before[k]
        return rows[::-1]


def find_way(space: ArmSpace, start: Array, ends: Sequence[Array], *, seed: int = 0) -> list[Array]:
    """Return postures (joints,) after `start`, the last one of `ends`; straight ways are free.

    Straight to one of the ends where that is free; else around what is in the way.

    Args:
        space: What there is to hit.
        start: Where the joints are.
        ends: Postures that will do, the best first.
        seed: Of the postures tried on the way.

    Raises:
        Blocked: At all ends the arm would hit something, or no way there was found.
    """
    free = []
    hit: tuple[str, str] | None = None
    for end in ends:
        touching = space.touching(end)
        hit = hit or touching
        if touching is None:
            free.append(end)
    if not free:
        assert hit is not None
        raise Blocked(f"there, {hit[0]} would hit {hit[1]}")
    first: tuple[str, str] | None = None
    for end in free[:_STRAIGHT]:
        _, met = space.way(start, end)
        if met is None:
            return [end]
        first = first or met
    rng = np.random.default_rng(seed)
    here, there = _Search([start]), _Search(free)
    one, other = here, there
    for _ in range(_ROUNDS):
        reached = one.towards(space, rng.uniform(*space.chain.limits))
        met_there = other.towards(space, reached) if reached is not None else None
        if met_there is not None and met_there is reached:
            return _shortened(space, [*here.way(), *there.way()[-2::-1]], rng)[1:]
        one, other = other, one
    assert first is not None
    raise Blocked(f"{first[0]} would hit {first[1]} on the way, and no way around was found")


def _shortened(space: ArmSpace, way: list[Array], rng: np.random.Generator) -> list[Array]:
    """Leave out postures between which the straight way is free."""
    for _ in range(_SHORTCUTS):
        if len(way) < 3:
            break
        i, j = sorted(rng.choice(len(way), 2, replace=False).tolist())
        if j - i > 1 and space.way(way[i], way[j])[1] is None:
            way = [*way[: i + 1], *way[j:]]
    return way
