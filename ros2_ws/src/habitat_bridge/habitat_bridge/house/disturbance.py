"""How one house differs from what is usual: sizes, surfaces and habits that no robot knows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie_core.geometry import Vec3

SIZE_SPREAD = 0.12
"""Standard deviation of the logarithm of what sizes and heights of surfaces are multiplied by."""
LEAST, MOST = 0.75, 1.3
"""Nothing is made smaller or larger than by these factors: a house must stay one to live in."""
HABIT_SPREAD = 0.5
"""Standard deviation of the logarithm of how much rather a thing lies on one kind of owner."""


class Disturbance:
    """Factors of one house, drawn once for each kind of thing, so that a house's chairs are alike.

    Args:
        rng: Of this house, and of nothing else.
        labels: All kinds of things, in a fixed order.
    """

    def __init__(self, rng: np.random.Generator, labels: Sequence[str]) -> None:
        self._rows = {label: row for row, label in enumerate(labels)}
        count = len(labels)
        # Depth, width, height, and the height of the surfaces as a share of the piece's.
        drawn = np.exp(rng.normal(0.0, SIZE_SPREAD, (count, 4)))
        self._factors = np.clip(drawn, LEAST, MOST)
        self._habits = np.exp(rng.normal(0.0, HABIT_SPREAD, (count, count + 1)))

    def size(self, label: str, usual: Vec3) -> Vec3:
        """Return what a usual size (depth, width, height) [m] is in this house."""
        x, y, z, _ = self._factors[self._rows[label]].tolist()
        return (round(usual[0] * x, 3), round(usual[1] * y, 3), round(usual[2] * z, 3))

    def level(self, label: str) -> float:
        """Return the factor of the heights of seats, boards and floors within a piece."""
        return round(float(self._factors[self._rows[label], 3]), 3)

    def habit(self, label: str, owner: str) -> float:
        """Return how much rather than usual a thing lies on an owner; "floor" is one, too."""
        return float(self._habits[self._rows[label], self._rows.get(owner, -1)])
