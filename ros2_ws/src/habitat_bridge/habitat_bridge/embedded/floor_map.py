"""The map of a floor as mapping by a robot's sensors would give it: free, occupied, unknown."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Vec3
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
