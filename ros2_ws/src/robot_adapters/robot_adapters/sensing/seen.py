"""What a depth image shows of a floor: which places and cells, with what hides them left out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.detections import RgbdFrame
from coterie_core.geometry import Box, Vec3, heading_axes
from coterie_core.observation import Detection
from coterie_core.transforms import inverse
from coterie_world.free_space.floor_graph import Mask
from robot_adapters.sensing.grid_space import GridSpace

Array = npt.NDArray[np.float64]

_HEIGHTS = (0.1, 0.35, 0.7, 1.0, 1.3)
"""Heights above a place where one looks whether the view of it is free [m]."""
_SLACK = 0.12
"""A surface so far before a point still does not hide it: error of depth and of poses [m]."""
_SLACK_SHARE = 0.02
_TOWARD = 3.0
"""How far from a place a thing may lie that is seen toward it [m]."""


@dataclass(frozen=True, slots=True)
class Sight:
    """How far images tell something.

    Attributes:
        near: Least depth that counts [m].
        far: Greatest depth that counts [m]; the quality of a place falls to 0 there.
    """

    near: float = 0.1
    far: float = 6.0


def clear(frame: RgbdFrame, points: Array, sight: Sight) -> npt.NDArray[np.bool_]:
    """Tell which points (n, 3) [m] of the map are in the image with nothing before them.

    A pixel without depth (0 or NaN) tells nothing; an infinite one, as REP-117 has it, that
    nothing is within the camera's range.
    """
    to_camera = inverse(frame.camera_to_map)
    local = points @ to_camera[:3, :3].T + to_camera[:3, 3]
    z = local[:, 2]
    rows, cols = frame.depth.shape
    fx, fy, cx, cy = frame.intrinsics
    ahead = (z >= sight.near) & (np.linalg.norm(local, axis=1) <= sight.far)
    safe = np.where(ahead, z, 1.0)
    u = np.floor(local[:, 0] / safe * fx + cx).astype(np.int64)
    v = np.floor(local[:, 1] / safe * fy + cy).astype(np.int64)
    inside = ahead & (u >= 0) & (v >= 0) & (u < cols) & (v < rows)
    out = np.zeros(len(points), dtype=bool)
    at = np.flatnonzero(inside)
    depth = frame.depth[v[at], u[at]]
    with np.errstate(invalid="ignore"):
        free = (depth >= sight.near) & (depth >= z[at] - _SLACK - _SLACK_SHARE * z[at])
    out[at] = free  # False for NaN
    return out


def places_seen(
    frame: RgbdFrame, places: Mapping[str, Vec3], base: Vec3, sight: Sight
) -> dict[str, float]:
    """Return how well an image shows places: id -> 0..1, falling with the distance.

    Args:
        frame: Depth and where it was taken, in the frame that the places are in.
        places: Positions on the walking surface [m].
        base: Where the robot stood [m].
        sight: How far images tell something.
    """
    if not places:
        return {}
    spots = np.array(list(places.values()), dtype=np.float64)
    columns = np.repeat(spots[:, None, :], len(_HEIGHTS), axis=1)
    columns[:, :, 2] += _HEIGHTS
    free = clear(frame, columns.reshape(-1, 3), sight).reshape(len(spots), -1)
    out = {}
    for (name, spot), shown in zip(places.items(), free, strict=True):
        quality = round(1.0 - math.dist(spot, base) / sight.far, 4)
        if shown.any() and quality > 0.0:
            out[name] = quality
    return out


def labels_toward(
    spots: Mapping[str, Vec3], detections: Iterable[Detection]
) -> dict[str, set[str]]:
    """Return the labels of what lies nearest to each place: what one sees that way.

    Args:
        spots: Positions of places [m].
        detections: What was detected, in the same frame.
    """
    toward: dict[str, set[str]] = {name: set() for name in spots}
    for found in detections:
        if found.box is not None and spots:
            center = found.box.center
            nearest = min(spots, key=lambda k: (math.dist(spots[k][:2], center[:2]), k))
            if math.dist(spots[nearest], center) <= _TOWARD:
                toward[nearest].add(found.label)
    return toward


def cells_seen(frame: RgbdFrame, space: GridSpace, sight: Sight) -> Mask:
    """Return the cells of a floor that an image shows: their floor, or the room just above it."""
    seen = np.zeros(space.shape, dtype=bool)
    eye = frame.camera_to_map[:3, 3]
    known = np.argwhere(~space.unknown)
    points = (known[:, ::-1] + 0.5) * space.cell + space.origin
    near = np.hypot(*(points - eye[:2]).T) <= sight.far
    known, points = known[near], points[near]
    for height in (0.02, 0.4):
        flat = np.column_stack([points, np.full(len(points), space.elevation + height)])
        shown = known[clear(frame, flat, sight)]
        seen[shown[:, 0], shown[:, 1]] = True
    return seen


def seen_through(frame: RgbdFrame, box: Box, sight: Sight) -> bool:
    """Whether an image shows that a box is not there any more: all of it lies before the depth."""
    half = np.array(box.size) / 2.0
    corners = np.array([(x, y, z) for x in (-0.6, 0.6) for y in (-0.6, 0.6) for z in (-0.6, 0.6)])
    turned = (corners * half) @ heading_axes(box.yaw).T
    points = np.vstack([turned, np.zeros(3)]) + box.center
    # Pushed away from the eye by more than the slack: only what is well behind speaks.
    eye = frame.camera_to_map[:3, 3]
    rays = points - eye
    reach = np.linalg.norm(rays, axis=1, keepdims=True)
    beyond = eye + rays * (1.0 + (0.3 + float(np.linalg.norm(half))) / np.maximum(reach, 0.1))
    return bool(clear(frame, beyond, sight).all())
