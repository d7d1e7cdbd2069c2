"""Free cells for the middle of one robot's body on a floor, and the ways over them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Vec2, Vec3
from coterie_world.free_space.floor_graph import Cell

_SNAP_RADIUS_M = 0.5  # [m] from free cells at which points still count as there: maps are rough

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_DIRECTIONS = 16
"""Number of directions around a robot that are looked at."""


@dataclass(frozen=True, slots=True)
class FreeCells:
    """Where the middle of a body can be on a floor.

    Attributes:
        free: Whether it can be in a cell (rows, columns).
        origin: Corner of cell (0, 0) [m]; cell (row, col) has its middle at
            `origin + ((col + 0.5) size, (row + 0.5) size)`.
        size: Edge of a cell [m].
        elevation: Height of the floor [m].
    """

    free: Mask
    origin: Vec2
    size: float
    elevation: float

    def cell(self, point: Vec3) -> Cell | None:
        """Return the free cell nearest to a point [m]; None: there is none within half a meter."""
        rows, cols = np.nonzero(self.free)
        if not len(rows):
            return None
        xs, ys = self.axes(cols, rows)
        away = np.hypot(xs - point[0], ys - point[1])
        k = int(np.argmin(away))
        return (int(rows[k]), int(cols[k])) if away[k] <= _SNAP_RADIUS_M else None

    def free_at(self, x: float, y: float) -> bool:
        """Tell whether the body's middle can be at a point [m]."""
        rows, cols = self.free.shape
        col, row = ((v - o) // self.size for v, o in zip((x, y), self.origin, strict=True))
        return 0 <= row < rows and 0 <= col < cols and bool(self.free[int(row), int(col)])

    def axes(self, cols: npt.NDArray[np.intp], rows: npt.NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the middles of columns and of rows [m]."""
        x, y = self.origin
        half = self.size / 2.0
        xs: Floats = x + half + self.size * cols.astype(np.float64)
        ys: Floats = y + half + self.size * rows.astype(np.float64)
        return xs, ys

    def near(self, cell: Cell, reach: float) -> FreeCells:
        """Return the cells not farther from one than a distance [m] along x and y."""
        n = int(reach / self.size)
        r0, c0 = max(cell[0] - n, 0), max(cell[1] - n, 0)
        cut = self.free[r0 : cell[0] + n + 1, c0 : cell[1] + n + 1]
        x, y = self.origin
        return FreeCells(cut, (x + self.size * c0, y + self.size * r0), self.size, self.elevation)


def beside(cells: FreeCells | None, position: Vec3, heading: float, away: float) -> Vec3:
    """Return a point of the floor beside a robot, where there is room.

    Args:
        cells: Cells that its middle can be at; None: not known.
        position: Position of the robot [m].
        heading: Heading of the robot [rad].
        away: Distance of the point [m].

    Returns:
        The free point that is nearest to straight ahead [m]; where none is known to be free, the
        point straight ahead.
    """
    x, y, z = position
    turns = sorted(range(1 - _DIRECTIONS // 2, _DIRECTIONS // 2 + 1), key=abs)
    angles = [heading + 2.0 * math.pi * turn / _DIRECTIONS for turn in turns]
    points = [(x + away * math.cos(a), y + away * math.sin(a), z) for a in angles]
    if cells is None:
        return points[0]
    return next((point for point in points if cells.free_at(*point[:2])), points[0])
