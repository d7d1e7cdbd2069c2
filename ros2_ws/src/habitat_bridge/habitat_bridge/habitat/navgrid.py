"""A navmesh as one grid per storey, and the flights of stairs between the storeys."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from coterie_core.geometry import Vec2

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_STEP = 0.45  # [m] what lies higher above a storey than this is part of a flight
_APART = 1.5  # [m] least height between storeys
_LEAST = 2.0  # [m^2] least area of a storey
_CELLS = 40_000_000


@dataclass(slots=True)
class Flight:
    """Stairs or a ramp: cells (n, 2) of the storeys that it touches, its width and riser [m]."""

    touches: list[tuple[int, npt.NDArray[np.int64]]]
    width: float
    riser: float


@dataclass(slots=True)
class NavGrid:
    """`masks[k]` (rows, columns) is where one can walk on storey k, at `elevations[k]` [m].

    Cell (row, column) covers x from `origin[0] + column * cell` on, y from `origin[1] + row *
    cell` on [m].
    """

    origin: Vec2
    cell: float
    elevations: list[float]
    masks: list[Mask]
    flights: list[Flight] = field(default_factory=list)

    def point(self, cell: npt.ArrayLike) -> Vec2:
        """Return (x, y) [m] of the middle of a cell (row, column)."""
        row, column = np.asarray(cell, dtype=np.float64)
        return (
            round(float(self.origin[0] + (column + 0.5) * self.cell), 4),
            round(float(self.origin[1] + (row + 0.5) * self.cell), 4),
        )

    def inside(self, outline: list[Vec2]) -> Mask:
        """Return which cells' middles lie within an outline."""
        from shapely import Polygon, contains_xy

        rows, columns = self.masks[0].shape
        x = self.origin[0] + (np.arange(columns) + 0.5) * self.cell
        y = self.origin[1] + (np.arange(rows) + 0.5) * self.cell
        xs, ys = np.meshgrid(x, y)
        shape = Polygon(outline).buffer(0)
        return np.asarray(contains_xy(shape, xs, ys), dtype=np.bool_)


def areas(triangles: Array) -> Array:
    """Return the area (n,) [m^2] of triangles (n, 3, 3)."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    return np.asarray(np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2.0, dtype=np.float64)


def rasterise(triangles: npt.ArrayLike, cell: float) -> NavGrid:
    """Return a navmesh as a grid per storey.

    Args:
        triangles: (n, 3, 3) corners in the z-up map frame [m].
        cell: Edge of a cell [m].

    Raises:
        ValueError: Not such an array, not finite, without area, or too large for the cell size.
    """
    soup = np.asarray(triangles, dtype=np.float64)
    if soup.ndim != 3 or soup.shape[1:] != (3, 3):
        raise ValueError(f"triangles: expected an array (n, 3, 3), got shape {soup.shape}")
    if not np.isfinite(soup).all():
        raise ValueError("triangles: expected finite numbers [m], some are not")
    soup = soup[areas(soup) > 1e-9]
    if not len(soup):
        raise ValueError("triangles: the navmesh holds no area; was it computed for this robot?")
    soup = _split(soup)
    elevations = _storeys(soup)
    low = soup[:, :, :2].reshape(-1, 2).min(axis=0) - 2.0 * cell
    high = soup[:, :, :2].reshape(-1, 2).max(axis=0) + 2.0 * cell
    columns, rows = (int(n) for n in np.ceil((high - low) / cell))
    if rows * columns > _CELLS:
        raise ValueError(
            f"triangles: {high - low} m in cells of {cell} m are too many; is the unit metres?"
        )
    grid = NavGrid((float(low[0]), float(low[1])), cell, elevations, [])
    heights = soup[:, :, 2]
    # A triangle belongs to a storey if all of it lies near its height.
    owner = np.full(len(soup), -1)
    for k, z in enumerate(elevations):
        near = (heights >= z - _STEP).all(axis=1) & (heights <= z + _STEP).all(axis=1)
        owner[near] = k
    for k in range(len(elevations)):
        grid.masks.append(_raster(soup[owner == k], grid.origin, cell, (rows, columns)))
    _add_flights(grid, soup[owner < 0], (rows, columns))
    return grid


def _split(soup: Array) -> Array:
    """Cut triangles that climb into four, until each spans less than a step: flights come out."""
    for _ in range(6):
        tall = np.ptp(soup[:, :, 2], axis=1) > _STEP / 2.0
        if not tall.any():
            break
        a, b, c = (soup[tall][:, k] for k in range(3))
        ab, bc, ca = (a + b) / 2.0, (b + c) / 2.0, (c + a) / 2.0
        parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        pieces = [np.stack(part, axis=1) for part in parts]
        soup = np.concatenate([soup[~tall], *pieces])
    return soup


def _storeys(soup: Array) -> list[float]:
    """Heights [m] at which most area lies, at least `_APART` from one another."""
    weights, heights = areas(soup), soup[:, :, 2].mean(axis=1)
    flat = np.ptp(soup[:, :, 2], axis=1) < 0.5 * np.sqrt(weights + 1e-9)
    least = max(_LEAST, 0.03 * float(weights.sum()))
    found: list[float] = []
    left = np.ones(len(soup), dtype=bool)
    while left.any():
        bins = np.round(heights / 0.1).astype(np.int64)
        base = bins.min()
        # Flat ground counts in full, slopes little: a ramp is no storey.
        mass = np.bincount(bins - base, np.where(left, weights * np.where(flat, 1.0, 0.1), 0.0))
        smooth = np.convolve(mass, np.ones(5), "same")
        if smooth.max() < least and found:
            break
        peak = float(smooth.argmax() + base) * 0.1
        near = left & (np.abs(heights - peak) <= 0.25)
        level = peak
        if near.any() and weights[near].sum() > 0.0:
            level = float(np.average(heights[near], weights=weights[near]))
        if all(abs(level - z) >= _APART for z in found):
            found.append(level)
        left &= np.abs(heights - peak) > _APART / 2.0
    return sorted(found)


def _raster(soup: Array, origin: Vec2, cell: float, shape: tuple[int, int]) -> Mask:
    mask = np.zeros(shape, dtype=bool)
    for triangle in (soup[:, :, :2] - np.array(origin)) / cell - 0.5:
        c0, r0 = np.maximum(np.floor(triangle.min(axis=0)).astype(int), 0)
        c1, r1 = np.ceil(triangle.max(axis=0)).astype(int) + 1
        rows, columns = np.mgrid[r0 : min(r1, shape[0]), c0 : min(c1, shape[1])]
        inside_low = np.ones(rows.shape, dtype=bool)
        inside_high = np.ones(rows.shape, dtype=bool)
        for k in range(3):
            (xa, ya), (xb, yb) = triangle[k], triangle[(k + 1) % 3]
            side = (xb - xa) * (rows - ya) - (yb - ya) * (columns - xa)
            # A sliver of tolerance closes seams between neighbours.
            inside_low &= side >= -1e-6
            inside_high &= side <= 1e-6
        mask[rows, columns] |= inside_low | inside_high
    return mask


def _add_flights(grid: NavGrid, soup: Array, shape: tuple[int, int]) -> None:
    """Group what lies between the storeys by ground plan; keep what touches two of them."""
    if not len(soup) or len(grid.masks) < 2:
        return
    edges = [*grid.elevations, float("inf")]
    heights = soup[:, :, 2].mean(axis=1)
    for k in range(len(grid.masks) - 1):
        between = soup[(heights > edges[k]) & (heights < edges[k + 1])]
        mask = _raster(between, grid.origin, grid.cell, shape)
        near = np.ones((5, 5), dtype=bool)
        groups, count = ndimage.label(ndimage.binary_dilation(mask, near), np.ones((3, 3)))
        for number in range(1, count + 1):
            area = groups == number
            touches = []
            for storey in (k, k + 1):
                cells = np.argwhere(area & grid.masks[storey])
                if len(cells):
                    touches.append((storey, cells.astype(np.int64)))
            if len(touches) < 2:
                continue
            own = area & mask
            width = 2.0 * grid.cell * float(ndimage.distance_transform_edt(own).max())
            grid.flights.append(Flight(touches, width, 0.18))
