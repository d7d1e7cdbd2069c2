"""Where a body of a given radius can stand and drive on one floor, from an occupancy grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from coterie_core.geometry import Vec2, Vec3
from coterie_world.free_space.floor_graph import Cell, FloorGraph, Mask

FREE_MAX = 25
"""Cells up to this are free [%], as Nav2's map server has it (free_thresh 0.25)."""
OCCUPIED_MIN = 65
"""Cells from this on are occupied [%] (occupied_thresh 0.65); between the two: unknown."""
_WORKING_CELL = 0.05
"""Finer grids are brought to about this [m]: places need no more."""
_ENDS = 0.5
"""How near to the ends of a way the body may be nearer to walls than on the way [m]."""
_OFF_WALL = 0.5
"""How far a way may begin from where the robot stands, where it stands too near a wall [m]."""
_EIGHT = np.ones((3, 3), dtype=bool)


@dataclass(frozen=True, slots=True)
class GridData:
    """One floor's occupancy: `values` (rows, cols) [%], -1 unknown; rows go along y, columns x.

    `origin` is the corner of the first cell [m]; its z is the height of the floor. `floor` names
    the floor ("" where the robot has one only), `topic` is where the grid came from.
    """

    values: npt.NDArray[np.int8]
    cell: float
    origin: Vec3
    frame: str = "map"
    floor: str = ""
    topic: str = "map"

    def foreign_to(self, frame: str) -> str:
        """Return why this is no map of a robot whose map has another frame; "": it may be."""
        if self.frame.lstrip("/") == frame.lstrip("/"):
            return ""
        return (
            f"{self.topic} is not used: it is in frame {self.frame!r}, and the robot's map in "
            f"{frame!r}; name that map's topic in sensors.map, or its frame in frames.map"
        )

    def same_as(self, other: GridData | None) -> bool:
        """Whether another grid says the same of the same cells."""
        return (
            other is not None
            and (self.cell, self.origin, self.floor) == (other.cell, other.origin, other.floor)
            and np.array_equal(self.values, other.values)
        )


class GridSpace:
    """A floor as one kind of body can use it.

    Args:
        grid: The floor's occupancy.
        radius: The body's radius [m].

    Attributes:
        cell: Edge of a cell [m]; a grid that is finer than 5 cm is made coarser.
        origin: Corner (x, y) [m] of the first cell.
        unknown: Cells of which nothing is known.
        clearance: Distance [m] of each cell to the nearest occupied one.
        fits: Cells that the body can stand on: free, and no occupied cell within its radius.
        parts: Number of the connected part of `fits` per cell, 0 where the body does not fit.
    """

    def __init__(self, grid: GridData, radius: float) -> None:
        values, self.cell = _coarser(grid.values, grid.cell)
        self.origin: Vec2 = (grid.origin[0], grid.origin[1])
        self.elevation = grid.origin[2]
        self.radius = radius
        blocked = values >= OCCUPIED_MIN
        free = (values >= 0) & (values <= FREE_MAX)
        self.unknown: Mask = ~(blocked | free)
        if blocked.any():
            away = ndimage.distance_transform_edt(~blocked) * self.cell
        else:
            away = np.full(values.shape, np.inf)
        self.clearance: npt.NDArray[np.float32] = np.minimum(away, 100.0).astype(np.float32)
        self.fits: Mask = free & (self.clearance >= radius)
        self.parts: npt.NDArray[np.int32] = ndimage.label(self.fits, _EIGHT)[0]
        self._graph: FloorGraph | None = None

    @property
    def shape(self) -> Cell:
        """Rows and columns."""
        return (self.fits.shape[0], self.fits.shape[1])

    def cell_of(self, point: Sequence[float]) -> Cell | None:
        """Return the cell (row, col) that a point (x, y) [m] lies in; None outside of the grid."""
        row = math.floor((point[1] - self.origin[1]) / self.cell)
        col = math.floor((point[0] - self.origin[0]) / self.cell)
        inside = 0 <= row < self.shape[0] and 0 <= col < self.shape[1]
        return (row, col) if inside else None

    def point_of(self, cell: Sequence[float]) -> Vec2:
        """Return the middle (x, y) [m] of a cell."""
        return (
            self.origin[0] + (float(cell[1]) + 0.5) * self.cell,
            self.origin[1] + (float(cell[0]) + 0.5) * self.cell,
        )

    def nearest_fit(
        self, point: Sequence[float], tolerance: float, within: Mask | None = None
    ) -> Vec2 | None:
        """Return the point (x, y) [m] nearest to another where the body fits, or None.

        Args:
            point: Wanted (x, y) [m]; returned as it is where the body fits.
            tolerance: How far to look [m].
            within: Cells that count; None: all.
        """
        here = self.cell_of(point)
        if here is not None and self.fits[here] and (within is None or within[here]):
            return (point[0], point[1])
        row = (point[1] - self.origin[1]) / self.cell - 0.5
        col = (point[0] - self.origin[0]) / self.cell - 0.5
        reach = tolerance / self.cell + 1.0
        r0, c0 = max(0, math.floor(row - reach)), max(0, math.floor(col - reach))
        window = np.s_[
            r0 : max(0, math.ceil(row + reach) + 1), c0 : max(0, math.ceil(col + reach) + 1)
        ]
        ok = self.fits[window] if within is None else self.fits[window] & within[window]
        cells = np.argwhere(ok)
        if not len(cells):
            return None
        away = np.hypot(cells[:, 0] + r0 - row, cells[:, 1] + c0 - col) * self.cell
        best = int(np.argmin(away))
        if away[best] > tolerance:
            return None
        return self.point_of(cells[best] + (r0, c0))

    def stands(
        self,
        point: Sequence[float],
        tolerance: float,
        most: int,
        *,
        part: int = 0,
        apart: float = 0.2,
    ) -> list[Vec2]:
        """Return points (x, y) [m] around another where the body fits, the nearest first.

        Args:
            point: What they are around (x, y) [m]; it comes first itself where the body fits.
            tolerance: How far from it they may be [m].
            most: How many, at most.
            part: Number of the connected part that they lie in; 0: any.
            apart: How far from one another they are, at least [m].
        """
        row = (point[1] - self.origin[1]) / self.cell - 0.5
        col = (point[0] - self.origin[0]) / self.cell - 0.5
        reach = max(tolerance, 0.0) / self.cell
        r0, c0 = max(0, math.floor(row - reach)), max(0, math.floor(col - reach))
        r1, c1 = max(0, math.ceil(row + reach) + 1), max(0, math.ceil(col + reach) + 1)
        window = self.parts[r0:r1, c0:c1]
        cells = np.argwhere(window == part if part else window > 0) + np.array((r0, c0))
        away = np.hypot(cells[:, 0] - row, cells[:, 1] - col)
        order = np.argsort(away, kind="stable")
        left = cells[order[: int(np.count_nonzero(away <= reach))]].astype(np.float64)
        found: list[Vec2] = []
        if self.part_at(point) and part in (0, self.part_at(point)):
            found.append((point[0], point[1]))
            left = left[np.hypot(left[:, 0] - row, left[:, 1] - col) * self.cell >= apart]
        while len(left) and len(found) < most:
            found.append(self.point_of(left[0]))
            left = left[np.hypot(*(left - left[0]).T) * self.cell >= apart]
        return found

    def part_at(self, point: Sequence[float]) -> int:
        """Number of the connected part that a point (x, y) [m] lies in, 0 for none."""
        cell = self.cell_of(point)
        return int(self.parts[cell]) if cell is not None else 0

    def line_fits(self, a: Sequence[float], b: Sequence[float], spare: float = 0.0) -> bool:
        """Whether the body can go straight from `a` to `b` (x, y), with room to spare [m]."""
        rows, cols = self._along(a, b)
        inside = (rows >= 0) & (cols >= 0) & (rows < self.shape[0]) & (cols < self.shape[1])
        fits = self.fits & (self.clearance >= self.radius + spare) if spare else self.fits
        return bool(inside.all()) and bool(fits[rows, cols].all())

    def width(self, a: Sequence[float], b: Sequence[float]) -> float:
        """Return the clear width [m] of the straight way from `a` to `b`, at most 10 m."""
        rows, cols = self._along(a, b)
        rows, cols = rows.clip(0, self.shape[0] - 1), cols.clip(0, self.shape[1] - 1)
        return round(min(10.0, 2.0 * float(self.clearance[rows, cols].min())), 3)

    def path_lengths(
        self, goal: Sequence[float], starts: Sequence[Sequence[float]], limit: float = math.inf
    ) -> list[float]:
        """Return how long the ways [m] from several points to one are; infinite: none, or longer.

        Narrow ways count up to half more, as planners keep away from walls.
        """
        there = self.cell_of(goal)
        if there is None or not self.fits[there]:
            return [math.inf] * len(starts)
        graph = self._floor_graph()
        cost = graph.tree(there, limit).cost
        out = []
        for start in starts:
            cell = self.cell_of(start)
            node = int(graph.index[cell]) if cell is not None else -1
            out.append(float(cost[node]) if node >= 0 else math.inf)
        return out

    def path(
        self,
        start: Sequence[float],
        goal: Sequence[float],
        around: Sequence[Vec2] = (),
        spare: float = 0.0,
    ) -> list[Vec2] | None:
        """Return the points (x, y) [m] of the shortest way for the body; None: there is none.

        Args:
            start: Where the robot is; from beside a wall it goes to where the body fits.
            goal: Where to.
            around: Obstacles [m] that the grid does not know.
            spare: Room beside the body on the way [m], but for near its ends.
        """
        free = self.fits
        if spare > 0.0:
            ends = self._near(start, _ENDS) | self._near(goal, _ENDS)
            free = free & ((self.clearance >= self.radius + spare) | ends)
        if len(around):
            seen = np.ones(self.shape, dtype=bool)
            for point in around:
                if (cell := self.cell_of(point)) is not None:
                    seen[cell] = False
            away = ndimage.distance_transform_edt(seen) * self.cell if not seen.all() else None
            free = free if away is None else free & (away >= self.radius)
        begin = self.nearest_fit(start, _OFF_WALL, free)
        there, here = self.cell_of(goal), None if begin is None else self.cell_of(begin)
        if there is None or here is None or begin is None or not free[there]:
            return None
        tree = self._floor_graph().tree(there, free=None if free is self.fits else free)
        graph = self._floor_graph()
        node = int(graph.index[here])
        if not np.isfinite(tree.cost[node]):
            return None
        way: list[Vec2] = [begin]
        while (node := int(tree.next[node])) >= 0:
            way.append(self.point_of(graph.cells[node]))
        return [*way[:-1], (goal[0], goal[1])] if len(way) > 1 else [begin, (goal[0], goal[1])]

    def _near(self, point: Sequence[float], within: float) -> Mask:
        """Return the cells within a distance [m] of a point."""
        rows, cols = np.indices(self.shape)
        row, col = ((point[k] - self.origin[k]) / self.cell - 0.5 for k in (1, 0))
        near: Mask = np.hypot(rows - row, cols - col) * self.cell <= within
        return near

    def _floor_graph(self) -> FloorGraph:
        if self._graph is None:
            self._graph = FloorGraph(self.fits, self.clearance, self.radius, self.cell)
        return self._graph

    def frontier(self, reachable: Mask) -> Mask:
        """Return the reachable cells beside unknown ones: from there more of the house is found."""
        grown = ndimage.binary_dilation(np.pad(self.unknown, 1, constant_values=True), _EIGHT)
        beside: Mask = reachable & grown[1:-1, 1:-1]
        return beside

    def _along(
        self, a: Sequence[float], b: Sequence[float]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        count = max(2, int(math.dist(a[:2], b[:2]) / (self.cell / 2.0)) + 2)
        cols = np.floor((np.linspace(a[0], b[0], count) - self.origin[0]) / self.cell)
        rows = np.floor((np.linspace(a[1], b[1], count) - self.origin[1]) / self.cell)
        return rows.astype(np.intp), cols.astype(np.intp)


def _coarser(values: npt.NDArray[np.int8], cell: float) -> tuple[npt.NDArray[np.int8], float]:
    """Bring a fine grid to cells of about 5 cm: occupied where any part is, else unknown, free."""
    factor = round(_WORKING_CELL / cell)
    if factor < 2:
        return values, cell
    rows, cols = (-(-n // factor) * factor for n in values.shape)
    padded = np.full((rows, cols), -1, np.int8)
    padded[: values.shape[0], : values.shape[1]] = values
    blocks = padded.reshape(rows // factor, factor, cols // factor, factor)
    # Unknown counts as more than free and less than occupied.
    ranked = np.where(blocks < 0, OCCUPIED_MIN - 1, blocks).max(axis=(1, 3))
    merged = np.where(ranked == OCCUPIED_MIN - 1, -1, ranked).astype(np.int8)
    return merged, cell * factor
