"""The floor parted where it is narrow, as at doors: regions where nobody says what the rooms are.

A watershed of the distance to the nearest wall, in which basins run together unless the neck
between them is narrow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from coterie_core.geometry import Vec2

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class RegionSettings:
    """How the floor is parted; all lengths in metres.

    `agent_radius` is what the free space was shrunk by: clear widths are wider by twice as much. A
    neck parts two regions if it is narrower than `door_width` and each region is wider than it
    by `bulge` somewhere. Regions smaller than `min_area` [m^2] join their widest neighbour.
    Holes up to `furniture_area` [m^2] are taken for furniture and filled.
    """

    cell: float = 0.05
    agent_radius: float = 0.2
    door_width: float = 1.2
    bulge: float = 0.3
    min_area: float = 0.7
    furniture_area: float = 4.0
    outline_tolerance: float = 0.15


def partition(mask: Mask, settings: RegionSettings) -> Labels:
    """Return region numbers (rows, columns) of a storey, 0 where one cannot walk."""
    holes, count = ndimage.label(~mask)
    sizes = np.bincount(holes.ravel(), minlength=count + 1) * settings.cell**2
    edge = np.unique(np.r_[holes[0], holes[-1], holes[:, 0], holes[:, -1]])
    fill = sizes <= settings.furniture_area
    fill[edge] = False
    fill[0] = False
    solid = mask | fill[holes]
    width = ndimage.distance_transform_edt(solid) * settings.cell
    basins = _Basins(solid, np.asarray(width, dtype=np.float64), settings)
    labels = basins.flood()
    labels[~mask] = 0
    kept = np.unique(labels[labels > 0])
    numbers = np.zeros(int(labels.max(initial=0)) + 1, dtype=np.int32)
    numbers[kept] = np.arange(1, len(kept) + 1)
    return np.asarray(numbers[labels], dtype=np.int32)


def outline(cells: Mask, origin: Vec2, cell: float, tolerance: float) -> list[Vec2]:
    """Return the outer outline (x, y) [m] of the largest part of some cells, counter-clockwise.

    Args:
        cells: (rows, columns); rows go along y, columns along x.
        origin: Corner (x, y) [m] of the first cell.
        cell: Edge of a cell [m].
        tolerance: Largest distance of the outline from the cells' edges [m].
    """
    from shapely import box, union_all
    from shapely.geometry import MultiPolygon, Polygon, polygon

    runs = []
    for row in np.flatnonzero(cells.any(axis=1)):
        line = np.flatnonzero(np.diff(np.r_[0, cells[row].astype(np.int8), 0]))
        for start, end in zip(line[::2], line[1::2], strict=True):
            x0, y0 = origin[0] + start * cell, origin[1] + row * cell
            # A hair taller than a cell, so that rows run together.
            runs.append(box(x0, y0, origin[0] + end * cell, y0 + cell * 1.0001))
    whole = union_all(runs)
    if isinstance(whole, MultiPolygon):
        whole = max(whole.geoms, key=lambda part: part.area)
    if not isinstance(whole, Polygon) or whole.is_empty:
        return []
    simple = Polygon(whole.exterior).simplify(tolerance)
    ring = polygon.orient(simple).exterior
    return [(round(float(x), 3), round(float(y), 3)) for x, y in ring.coords[:-1]]


class _Basins:
    """Watershed from the widest cell down; where basins meet, narrow necks keep them apart."""

    def __init__(self, mask: Mask, width: Array, settings: RegionSettings) -> None:
        self.mask, self.width, self.settings = mask, width, settings
        self.parent = [0]
        self.peak = [0.0]
        self.cells = [0]
        # Widest passage between two basins that were kept apart.
        self.necks: dict[tuple[int, int], float] = {}

    def root(self, k: int) -> int:
        while self.parent[k] != k:
            self.parent[k] = self.parent[self.parent[k]]
            k = self.parent[k]
        return k

    def flood(self) -> Labels:
        rows, columns = self.mask.shape
        flat = np.flatnonzero(self.mask.ravel())
        order = flat[np.argsort(-self.width.ravel()[flat], kind="stable")]
        labels = [0] * ((rows + 2) * (columns + 2))  # lists: cells are looked at one by one
        stride = columns + 2
        steps = (-stride - 1, -stride, -stride + 1, -1, 1, stride - 1, stride, stride + 1)
        heights = np.pad(self.width, 1).ravel().tolist()
        for cell in order.tolist():
            at = (cell // columns + 1) * stride + cell % columns + 1
            # Uphill neighbours: the cell belongs to where the way to the middle of a room leads.
            uphill = [at + s for s in steps if labels[at + s]]
            if not uphill:
                self.parent.append(len(self.parent))
                self.peak.append(heights[at])
                self.cells.append(1)
                labels[at] = len(self.parent) - 1
                continue
            around = {self.root(k) for k in {labels[k] for k in uphill}}
            target = next(iter(around))
            if len(around) > 1:
                self._meet(sorted(around, key=lambda k: -self.peak[k]), heights[at])
                target = self.root(labels[max(uphill, key=heights.__getitem__)])
            labels[at] = target
            self.cells[target] += 1
        self._absorb_small()
        roots = np.array([self.root(k) for k in range(len(self.parent))], dtype=np.int32)
        grid = roots[labels].reshape(rows + 2, stride)[1:-1, 1:-1]
        return np.ascontiguousarray(grid)

    def _meet(self, around: list[int], height: float) -> None:
        """Join the basins that meet at a cell of this height, or note the neck between them."""
        first = around[0]
        neck = 2.0 * (height + self.settings.agent_radius)
        for other in around[1:]:
            first = self.root(first)
            bulge = 2.0 * (min(self.peak[first], self.peak[other]) - height)
            if neck >= self.settings.door_width or bulge < self.settings.bulge:
                self._join(first, other)
            else:
                pair = (min(first, other), max(first, other))
                self.necks.setdefault(pair, height)

    def _join(self, a: int, b: int) -> None:
        if self.peak[a] < self.peak[b]:
            a, b = b, a
        self.parent[b] = a
        self.cells[a] += self.cells[b]

    def _absorb_small(self) -> None:
        """Let regions that are too small to be rooms join the neighbour with the widest passage."""
        least = self.settings.min_area / self.settings.cell**2
        while True:
            necks: dict[tuple[int, int], float] = {}
            for (a, b), height in self.necks.items():
                pair = tuple(sorted((self.root(a), self.root(b))))
                if pair[0] != pair[1]:
                    key = (pair[0], pair[1])
                    necks[key] = max(necks.get(key, 0.0), height)
            small = [
                (self.cells[k], -height, k, pair)
                for pair, height in necks.items()
                for k in pair
                if self.cells[k] < least
            ]
            if not small:
                return
            _, _, _, (a, b) = min(small)
            self._join(a, b)
