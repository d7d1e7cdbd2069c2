"""Where on a surface there is room for one thing more."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Box

_GRID = 0.05  # [m] between spots tried on a surface
_GAP = 0.01  # [m] between things on a surface


def free_points(surface: Box, item: Box, others: Iterable[Box]) -> npt.NDArray[np.float64]:
    """Return the middles (n, 2) [m] at which an item's box fits on a surface beside other boxes."""
    spare = (surface.size[0] - item.size[0], surface.size[1] - item.size[1])
    if min(spare) < 0.0:
        return np.zeros((0, 2))
    steps = [np.arange(-int(s / 2.0 / _GRID), int(s / 2.0 / _GRID) + 1) * _GRID for s in spare]
    dx, dy = (table.ravel() for table in np.meshgrid(*steps, indexing="ij"))
    c, s = math.cos(surface.yaw), math.sin(surface.yaw)
    x = surface.center[0] + c * dx - s * dy
    y = surface.center[1] + s * dx + c * dy
    half_x = (abs(c) * item.size[0] + abs(s) * item.size[1]) / 2.0 + _GAP
    half_y = (abs(s) * item.size[0] + abs(c) * item.size[1]) / 2.0 + _GAP
    free = np.ones(len(x), dtype=bool)
    for other in others:
        if abs(other.bottom - surface.center[2]) < 0.1:
            (x0, y0, _), (x1, y1, _) = other.axis_aligned()
            free &= (x + half_x < x0) | (x - half_x > x1) | (y + half_y < y0) | (y - half_y > y1)
    return np.stack([x[free], y[free]], axis=1)
