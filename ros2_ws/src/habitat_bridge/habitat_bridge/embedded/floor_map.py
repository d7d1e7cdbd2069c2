"""The map of a floor as mapping by a robot's sensors would give it: free, occupied, unknown."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Pose, Vec3, relative
from habitat_bridge.embedded.navigation import BodySpace
from habitat_bridge.embedded.occupancy import CELL

Grid = npt.NDArray[np.int8]
FREE, OCCUPIED, UNKNOWN = 0, 100, -1
_WALL = 4  # cells of what bounds the free space that are known


def floor_map(space: BodySpace, floor: int) -> tuple[Grid, float, Vec3]:
    """Return a floor's map for a body: what hits it counts, what it passes under or over does not.

    Args:
        space: Where the body can go.
        floor: Index of the floor.

    Returns:
        Values (rows, cols) [%], rows along y, -1 for unknown; edge of a cell [m]; and the corner
        of the first cell, map frame [m].
    """
    from scipy import ndimage

    occupancy = space.occupancy
    clear = occupancy.clearance(space.key)[floor] > 0.0
    seen = ndimage.binary_dilation(clear, np.ones((3, 3), dtype=bool), iterations=_WALL)
    seen |= occupancy.room_raster(floor) >= 0
    values = np.where(clear, FREE, np.where(seen, OCCUPIED, UNKNOWN)).astype(np.int8)
    return values, CELL, (*occupancy.origin, occupancy.elevation(floor))


def seen_from(values: Grid, cell: float, corner: Vec3, origin: Pose) -> tuple[Grid, Vec3]:
    """Return a map as one that was made in another frame: its rows lie along that frame's axes.

    Args:
        values: Values (rows, cols) of the map.
        cell: Edge of a cell [m].
        corner: Corner of the first cell [m].
        origin: The other frame, in the map's.

    Returns:
        Values of the other map, unknown where this one ends, and the corner of its first cell [m].
    """
    rows, cols = values.shape
    if origin.yaw == 0.0:
        return values, relative(origin, Pose(corner)).position
    x0, y0, z = corner
    ends = [(x0 + i * cols * cell, y0 + j * rows * cell, z) for i in (0, 1) for j in (0, 1)]
    there = [relative(origin, Pose(end)).position for end in ends]
    low = [min(p[k] for p in there) for k in range(2)]
    shape = [math.ceil((max(p[k] for p in there) - low[k]) / cell) for k in (1, 0)]
    ys = low[1] + (np.arange(shape[0]) + 0.5) * cell
    xs = low[0] + (np.arange(shape[1]) + 0.5) * cell
    grid_x, grid_y = np.meshgrid(xs, ys)
    c, s = math.cos(origin.yaw), math.sin(origin.yaw)
    col = np.floor((origin.position[0] + c * grid_x - s * grid_y - x0) / cell).astype(np.intp)
    row = np.floor((origin.position[1] + s * grid_x + c * grid_y - y0) / cell).astype(np.intp)
    inside = (row >= 0) & (row < rows) & (col >= 0) & (col < cols)
    turned = np.full(grid_x.shape, UNKNOWN, dtype=np.int8)
    turned[inside] = values[row[inside], col[inside]]
    return turned, (low[0], low[1], there[0][2])
