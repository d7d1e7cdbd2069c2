"""Workspace of an arm's hand: sampled positions kept as occupancy (radius by height) and hull."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator

Runs = tuple[tuple[int, int], ...]
Coordinate = Annotated[float, Field(ge=-100.0, le=100.0)]
MAX_CELLS = 5000
"""Most cells along an edge of a workspace; an arm of 10 m has a thousand of 1 cm."""


class Workspace(BaseModel):
    """The hand's positions in the base frame (x ahead, y left, z up, origin on the floor).

    A robot that can turn on the spot reaches a point if some sample lies at the point's distance
    from the base axis and at its height; `rows` keeps that: row k covers heights
    `bottom + k * cell` to `bottom + (k + 1) * cell` [m] and lists the runs (first, last) of
    occupied radius cells, cell j covering radii `j * cell` to `(j + 1) * cell` [m]. `bearings` are
    the directions [rad] about the base axis that samples cover, for robots that cannot turn:
    sorted intervals within [-pi, pi]. `hull` holds the vertices (x, y, z) [m] of the samples'
    convex hull (EMOS, section 3.3).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    cell: float = Field(0.02, ge=0.001, le=0.5, description="edge of a cell [m]")
    bottom: float = Field(
        0.0, ge=-100.0, le=100.0, description="lower edge of row 0 above the floor [m]"
    )
    rows: tuple[Runs, ...] = Field(
        max_length=MAX_CELLS, description="occupied radius cells per height row"
    )
    bearings: tuple[tuple[float, float], ...] = ((-math.pi, math.pi),)
    hull: tuple[tuple[Coordinate, Coordinate, Coordinate], ...] = ()
    samples: int = Field(0, ge=0, description="joint samples that it was made from")

    @model_validator(mode="after")
    def _has_cells(self) -> Workspace:
        if not any(self.rows):
            raise ValueError("a workspace without an occupied cell: leave the arm out instead")
        for row in self.rows:
            last = -2
            for first, end in row:
                if first < 0 or end < first or first <= last + 1:
                    raise ValueError("runs of a row must be rising, apart and not empty")
                last = end
            if last >= MAX_CELLS:
                raise ValueError(f"a row reaches cell {last}, expected at most {MAX_CELLS - 1}")
        return self

    @staticmethod
    def from_samples(
        points: npt.NDArray[np.float64],
        *,
        cell: float = 0.02,
        bearings: Iterable[tuple[float, float]] = ((-math.pi, math.pi),),
        hull: Iterable[tuple[float, float, float]] = (),
    ) -> Workspace:
        """Return the workspace of sampled hand positions.

        Args:
            points: (n, 3) positions in the base frame [m], n > 0.
            cell: Edge of a cell [m].
            bearings: Directions that the samples cover [rad]; everything: a robot that can turn.
            hull: Vertices of the samples' convex hull [m].
        """
        radius = np.floor(np.hypot(points[:, 0], points[:, 1]) / cell).astype(np.int64)
        height = np.floor(points[:, 2] / cell).astype(np.int64)
        low = int(height.min())
        grid = np.zeros((int(height.max()) - low + 1, int(radius.max()) + 1), dtype=bool)
        grid[height - low, radius] = True
        return Workspace(
            cell=cell,
            bottom=low * cell,
            rows=tuple(_runs(row) for row in grid),
            bearings=tuple(bearings),
            hull=tuple(hull),
            samples=len(points),
        )

    def grid(self) -> npt.NDArray[np.bool_]:
        """Return the occupancy as (heights, radii) array; row 0 is the lowest."""
        width = max(run[1] for row in self.rows for run in row) + 1
        grid = np.zeros((len(self.rows), width), dtype=bool)
        for k, row in enumerate(self.rows):
            for first, last in row:
                grid[k, first : last + 1] = True
        return grid

    def contains(self, radius: float, height: float) -> bool:
        """Whether the hand can be `radius` [m] from the base axis at `height` [m]."""
        k = math.floor((height - self.bottom) / self.cell)
        if not 0 <= k < len(self.rows):
            return False
        j = math.floor(radius / self.cell)
        return any(first <= j <= last for first, last in self.rows[k])

    def radii_at(self, height: float) -> tuple[float, float] | None:
        """Smallest and largest radius [m] the hand reaches at `height` [m]; None: none."""
        k = math.floor((height - self.bottom) / self.cell)
        if not 0 <= k < len(self.rows) or not self.rows[k]:
            return None
        return self.rows[k][0][0] * self.cell, (self.rows[k][-1][1] + 1) * self.cell

    @property
    def reach(self) -> float:
        """Largest distance of the hand from the base axis [m]."""
        return (max(run[1] for row in self.rows for run in row) + 1) * self.cell

    @property
    def min_height(self) -> float:
        """Lowest the hand gets [m]."""
        return self.bottom + next(k for k, row in enumerate(self.rows) if row) * self.cell

    @property
    def max_height(self) -> float:
        """Highest the hand gets [m]."""
        last = next(k for k in reversed(range(len(self.rows))) if self.rows[k])
        return self.bottom + (last + 1) * self.cell


def _runs(row: npt.NDArray[np.bool_]) -> Runs:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]])))
    return tuple((int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True))
