"""Which objects of a map a question speaks of: labels, colors, rooms, relations, duplicates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from coterie_core.geometry import Box, distance, iou
from coterie_core.household import load_household
from coterie_core.scene import SceneObject
from openeqa_agent.labels import (
    belief,
)

LIKELY = 0.3
"""Least probability for an object to be taken for what a question speaks of."""
HOLDS = 0.25
"""Least strength of a relation that counts as held."""
STRUCTURE = frozenset({"wall", "floor", "ceiling", "door", "window", "column", "beam", "staircase"})
"""Labels that nobody means by "object" or "furniture"."""
_SAME_SPOT = 0.25
_CELL = 2.0
_WIDEST = 20.0
"""Half of the longest span of ground that is searched around a thing [m]."""


@dataclass(slots=True)
class Found:
    """An object a question may speak of; `ids` holds its duplicates too, itself first.

    `p` (0..1) is how likely it is the kind of thing, `fit` how well the rest of the description
    (color, size, room, relation) fits.
    """

    thing: SceneObject
    ids: tuple[str, ...]
    p: float
    fit: float = 1.0
    other: SceneObject | None = None

    @property
    def score(self) -> float:
        """Both in one."""
        return self.p * self.fit


def _cells(box: Box, reach: float) -> list[tuple[int, int]]:
    """Squares of the ground that a box grown by `reach` [m] touches; at most a few hundred."""
    (x0, y0, _), (x1, y1, _) = box.axis_aligned()
    spans = []
    for low, high in ((x0 - reach, x1 + reach), (y0 - reach, y1 + reach)):
        if not (math.isfinite(low) and math.isfinite(high)):
            return []
        middle, half = (low + high) / 2.0, min((high - low) / 2.0, _WIDEST)
        spans.append(range(math.floor((middle - half) / _CELL),
                           math.floor((middle + half) / _CELL) + 1))  # fmt: skip
    return [(i, j) for i in spans[0] for j in spans[1]]


def same_spot(a: Box, b: Box) -> bool:
    """Whether two boxes of the same kind of thing are so much in one place that they are one."""
    if iou(a, b) >= _SAME_SPOT:
        return True
    smaller = min(max(a.size), max(b.size))
    inner = a.contains(b.center) or b.contains(a.center)
    return inner and distance(a.center, b.center) < 0.5 * max(smaller, 0.1)


def belief(thing: SceneObject) -> dict[str, float]:
    """Label -> probability, sharpened by how often an object was seen, likeliest first.

    A mapper adds up a noisy detector's scores: the shares of its labels stay as uncertain as one
    look, however many there were. Looks that agree make the first label surer.
    """
    shares = thing.label.distribution()
    power = min(1.0 + thing.observations / 4.0, 3.0)
    weights = {label: share**power for label, share in shares.items() if share > 0.02}
    total = sum(weights.values())
    return {label: weight / total for label, weight in weights.items()} if total > 0.0 else {}


@lru_cache(maxsize=512)
def _room_type(name: str) -> str:
    return load_household().room_type(name)


@lru_cache(maxsize=512)
def _structural(name: str) -> str:
    """Return what a name of the floor, a wall or the ceiling is, else ""."""
    return name if name in ("floor", "wall", "ceiling") else ""
