"""Support surfaces: level patches of an object's points, on which things can lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Box
from coterie_core.open3d_library import o3d
from coterie_world.perception.points import clusters

LEVEL_COS = 0.9
"""Least vertical part of a level surface's normal: 26 degrees, as depth noise tilts normals."""
MIN_EDGE_M = 0.12
"""Shortest edge of a patch that is told [m]: cups have a foot of 0.08 m."""
MIN_FILL = 0.4
"""Least share of a patch's rectangle that points cover (0..1)."""
_NORMAL_RADIUS_M, _NORMAL_POINTS = 0.1, 16
_GAP_M = 0.08
"""Points farther apart along a surface are of two patches [m]."""
_HEIGHT_STRETCH = 3.0
"""Heights count so many times as much as distances along the surface: boards lie 0.2 m apart, and
depth noise at 3 m is 0.02 m."""
_LEAST_POINTS = 12
_CELL_M = 0.05
"""Cells by which the fill is counted: twice the spacing of mapped points [m]."""
_TRIM = 2.0  # [%] of the points beyond each edge: strays
_TURNS = np.radians(np.arange(0.0, 90.0, 5.0))


@dataclass(frozen=True, slots=True)
class SupportSurface:
    """A level patch.

    Attributes:
        box: Its center lies on the surface, its size is the extent and no height [m].
        variance: Of the height of the surface at a point of it [m^2]: noise, tilt and steps.
    """

    box: Box
    variance: float


def support_surfaces(
    points: npt.NDArray[np.floating], above: float, below: float
) -> list[SupportSurface]:
    """Return the level patches of an object, the largest first.

    Args:
        points: Points of the object (n, 3) [m], z up.
        above: Height that they lie above [m]: lower ones are feet, or the floor beside it.
        below: Height that they lie below [m]: what cameras do not look down on is seen from below.
    """
    if len(points) < _LEAST_POINTS:
        return []
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points.astype(np.float64)))
    cloud.estimate_normals(o3d.geometry.KDTreeSearchParamHybrid(_NORMAL_RADIUS_M, _NORMAL_POINTS))
    level = np.abs(np.asarray(cloud.normals)[:, 2]) >= LEVEL_COS
    level &= (points[:, 2] > above) & (points[:, 2] < below)
    flat = points[level].astype(np.float64)
    if len(flat) < _LEAST_POINTS:
        return []
    labels = clusters(flat * (1.0, 1.0, _HEIGHT_STRETCH), _GAP_M, 4)
    patches = (_patch(flat[labels == k]) for k in range(labels.max(initial=-1) + 1))
    found = [one for one in patches if one is not None]
    return sorted(found, key=lambda one: -one.box.size[0] * one.box.size[1])


def _patch(points: npt.NDArray[np.float64]) -> SupportSurface | None:
    """Return the smallest upright rectangle about a patch; None: too small, or mostly holes."""
    if len(points) < _LEAST_POINTS:
        return None
    c, s = np.cos(_TURNS), np.sin(_TURNS)
    along = np.stack([np.outer(points[:, 0], c) + np.outer(points[:, 1], s),
                      np.outer(points[:, 1], c) - np.outer(points[:, 0], s)])  # fmt: skip
    low, high = np.percentile(along, (_TRIM, 100.0 - _TRIM), axis=1)
    size = high - low
    turn = int((size[0] * size[1]).argmin())
    length, width = size[:, turn].tolist()
    if min(length, width) < MIN_EDGE_M:
        return None
    cells = np.unique(np.floor(along[:, :, turn] / _CELL_M), axis=1).shape[1]
    if cells * _CELL_M**2 < MIN_FILL * length * width:
        return None
    u, v = ((low + high)[:, turn] / 2.0).tolist()
    z = float(np.median(points[:, 2]))
    x, y = u * c[turn] - v * s[turn], u * s[turn] + v * c[turn]
    variance = float(np.mean(np.square(points[:, 2] - z)))
    box = Box((float(x), float(y), z), (length, width, 0.0), float(_TURNS[turn]))
    return SupportSurface(box, variance)
