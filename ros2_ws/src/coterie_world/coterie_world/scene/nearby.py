"""Objects by where they are: the nearest ones of a box, and those within reach of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie_core.geometry import Box
from coterie_world.scene.model import SceneObject

MAX_NEIGHBORS = 12
"""Number of nearest objects that relations are computed of."""


class Nearby:
    """Objects by where they are, without looking at every pair."""

    def __init__(self, things: Sequence[SceneObject]) -> None:
        self.ids = [thing.id for thing in things]
        self._centers = np.array([thing.box.center for thing in things]).reshape(-1, 3)
        sizes = np.array([thing.box.size for thing in things]).reshape(-1, 3)
        self._radii = np.linalg.norm(sizes, axis=1) / 2.0
        self._corners = np.array([thing.box.axis_aligned() for thing in things]).reshape(-1, 2, 3)

    def within(self, box: Box, but: str, reach: float) -> list[str]:
        """Ids of the objects whose boxes come within `reach` [m] of a box, without `but`."""
        low, high = np.array(box.axis_aligned())
        with np.errstate(invalid="ignore"):  # maps may state boxes without end
            apart = np.maximum(self._corners[:, 0] - high, low - self._corners[:, 1])
            gaps = np.linalg.norm(np.maximum(apart, 0.0), axis=1)
        return [self.ids[k] for k in np.flatnonzero(gaps <= reach) if self.ids[k] != but]

    def near(self, box: Box, but: str, most: int = MAX_NEIGHBORS) -> list[str]:
        """Ids of the nearest things, nearest first, without `but`; all where there are few."""
        if len(self.ids) <= most:
            return [id_ for id_ in self.ids if id_ != but]
        away = np.linalg.norm(self._centers - np.array(box.center), axis=1) - self._radii
        chosen = np.argpartition(away, most)[: most + 1]
        ordered = sorted((float(away[k]), self.ids[k]) for k in chosen)
        return [id_ for _, id_ in ordered if id_ != but][:most]
