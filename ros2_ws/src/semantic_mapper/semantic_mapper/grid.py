"""Occupancy of floors from depth images: cells with floor in view, cells with something on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.detections import RgbdFrame
from coterie_world.scene import Floor

Counts = npt.NDArray[np.uint8]
UNKNOWN = -1
GROUND = Floor("ground", 0, 0.0, 100.0)
"""The floor where none is known: the map's plane z = 0."""


@dataclass(frozen=True, slots=True)
class GridOptions:
    """How grids are made.

    Attributes:
        cell: Edge of a cell [m].
        low: Heights from here on are something on the floor [m above the floor].
        high: Heights up to here count: what robots pass under does not [m above the floor].
        flat: Heights within this are the floor itself [m].
        near: Least depth that counts [m].
        far: Greatest depth that counts [m].
        stride: Every so many-th row and column of an image is looked at.
        body: Around the camera so much is free: the robot stands there [m].
        weight: One look at something on a cell counts as so many looks at its floor.
        most_cells: Most cells of a floor; what lies beyond is left out.
    """

    cell: float = 0.05
    low: float = 0.12
    high: float = 1.5
    flat: float = 0.06
    near: float = 0.1
    far: float = 4.0
    stride: int = 4
    body: float = 0.15
    weight: float = 3.0
    most_cells: int = 4_000_000


class FloorGrid:
    """One floor's grid: how often each cell was seen free, and with something on it.

    Attributes:
        column: Number of the first column of cells: it begins at x = column * cell.
        row: Number of the first row, likewise along y.
        free: (rows, cols) looks at the floor, at most 255; old ones fade.
        full: (rows, cols) looks at something on it.
    """

    def __init__(self, options: GridOptions) -> None:
        self.options = options
        self.column = self.row = 0
        self.free: Counts = np.zeros((0, 0), np.uint8)
        self.full: Counts = np.zeros((0, 0), np.uint8)

    def add(self, free: npt.NDArray[np.floating], full: npt.NDArray[np.floating]) -> None:
        """Count points (n, 2) [m] of one look; each cell once, and full where it is both."""
        free_cells, full_cells = self._cells(free), self._cells(full)
        both = np.concatenate([free_cells, full_cells])
        if not len(both) or not self._reach(both.min(axis=0), both.max(axis=0)):
            return
        seen_full = self._flat(full_cells)
        seen_free = np.setdiff1d(self._flat(free_cells), seen_full, assume_unique=True)
        for counts, cells in ((self.free, seen_free), (self.full, seen_full)):
            flat = counts.reshape(-1)
            flat[cells] += 1
            worn = cells[flat[cells] >= 200]
            # Halved together, so that a thing that was carried away fades.
            self.free.reshape(-1)[worn] //= 2
            self.full.reshape(-1)[worn] //= 2

    def values(self) -> npt.NDArray[np.int8]:
        """Return (rows, cols): probability that a cell is occupied [%], -1 where unknown."""
        full = self.full.astype(np.float32) * self.options.weight
        total = full + self.free
        with np.errstate(invalid="ignore"):
            share = np.round(100.0 * full / total)
        return np.where(total >= 2, share, UNKNOWN).astype(np.int8)

    @property
    def origin(self) -> tuple[float, float]:
        """Corner (x, y) [m] of the first cell."""
        return (self.column * self.options.cell, self.row * self.options.cell)

    def _cells(self, points: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
        return np.floor(points / self.options.cell).astype(np.int64)

    def _flat(self, cells: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        inside = (cells >= (self.column, self.row)).all(axis=1)
        inside &= (cells < (self.column + self.free.shape[1], self.row + self.free.shape[0])).all(
            axis=1
        )
        kept = cells[inside] - (self.column, self.row)
        return np.unique(kept[:, 1] * self.free.shape[1] + kept[:, 0])

    def _reach(self, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> bool:
        """Make the grid large enough for cells; False where there is no grid, being too large."""
        rows, cols = self.free.shape
        if self.free.size:
            low = np.minimum(low, (self.column, self.row))
            high = np.maximum(high, (self.column + cols - 1, self.row + rows - 1))
        inside = self.free.size and (low == (self.column, self.row)).all()
        if inside and (high == (self.column + cols - 1, self.row + rows - 1)).all():
            return True
        # By whole metres, so that it seldom grows.
        step = max(round(1.0 / self.options.cell), 1)
        column, row = (int(v) // step * step for v in low)
        width, height = (
            -(-(int(v) + 1 - start) // step) * step
            for v, start in zip(high, (column, row), strict=True)
        )
        if width * height > self.options.most_cells:
            return bool(self.free.size)
        self.free = self._moved(self.free, (height, width), row, column)
        self.full = self._moved(self.full, (height, width), row, column)
        self.column, self.row = column, row
        return True

    def _moved(self, old: Counts, shape: tuple[int, int], row: int, column: int) -> Counts:
        new = np.zeros(shape, np.uint8)
        if old.size:
            top, left = self.row - row, self.column - column
            new[top : top + old.shape[0], left : left + old.shape[1]] = old
        return new


class FloorGrids:
    """The grids of all floors of a house.

    Args:
        floors: The floors, by height; none: the plane z = 0.
        options: How.
    """

    def __init__(self, floors: Iterable[Floor] = (), options: GridOptions | None = None) -> None:
        self.options = options or GridOptions()
        self.floors: dict[str, Floor] = {}
        self.grids: dict[str, FloorGrid] = {}
        self.set_floors(floors)

    def set_floors(self, floors: Iterable[Floor]) -> None:
        """Take floors that have become known; grids of floors of the same id are kept."""
        self.floors = {f.id: f for f in floors} or {GROUND.id: GROUND}
        self.grids = {id_: self.grids.get(id_) or FloorGrid(self.options) for id_ in self.floors}

    def floor_at(self, height: float) -> Floor | None:
        """The floor that something at a height [m] is above, None below all of them."""
        below = [f for f in self.floors.values() if f.elevation <= height + 0.05]
        return max(below, key=lambda f: f.elevation, default=None)

    def update(self, frame: RgbdFrame) -> None:
        """Add a depth image to the grid of the floor that its camera is on."""
        eye = frame.camera_to_map[:3, 3]
        floor = self.floor_at(float(eye[2]))
        if floor is None:
            return
        o = self.options
        depth = frame.depth[:: o.stride, :: o.stride]
        v, u = np.nonzero((depth >= o.near) & (depth <= o.far))  # False for NaN too
        z = depth[v, u].astype(np.float32)
        fx, fy, cx, cy = frame.intrinsics
        x = (u * o.stride + 0.5 - cx) / fx * z
        y = (v * o.stride + 0.5 - cy) / fy * z
        local = np.stack([x, y, z], axis=1).astype(np.float32)
        pose = frame.camera_to_map.astype(np.float32)
        points = local @ pose[:3, :3].T + pose[:3, 3]
        height = points[:, 2] - np.float32(floor.elevation)
        on = (height >= o.low) & (height <= o.high)
        flat = np.abs(height) <= o.flat
        body = eye[:2] + _disc(o.body, o.cell)
        free = np.concatenate([points[flat, :2], body.astype(np.float32)])
        self.grids[floor.id].add(free, points[on, :2])


def _disc(radius: float, cell: float) -> npt.NDArray[np.float64]:
    """Points (n, 2) [m] a cell apart within a radius [m] of the origin."""
    count = math.floor(radius / cell)
    steps = np.arange(-count, count + 1) * cell
    x, y = np.meshgrid(steps, steps)
    near = np.hypot(x, y) <= radius
    return np.stack([x[near], y[near]], axis=1)


def grids_from_state(
    state: Mapping[str, tuple[int, int, Counts, Counts]],
    floors: Iterable[Floor],
    options: GridOptions | None = None,
) -> FloorGrids:
    """Return grids as they were kept: per floor first column, first row, free, full.

    Raises:
        ValueError: Arrays that do not belong together.
    """
    grids = FloorGrids(floors, options)
    for id_, (column, row, free, full) in state.items():
        if free.shape != full.shape or free.ndim != 2 or free.size > grids.options.most_cells:
            raise ValueError(f"grid of floor {id_!r}: {free.shape} and {full.shape} do not fit")
        grid = grids.grids.setdefault(id_, FloorGrid(grids.options))
        grid.column, grid.row = int(column), int(row)
        grid.free, grid.full = free.astype(np.uint8), full.astype(np.uint8)
    return grids
