"""Boxes that a detector finds in space, as points of the map, and where an image shows them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from coterie_core.detections import BoxDetection, ImageDetection, RgbdFrame
from coterie_core.geometry import Vec3
from coterie_core.transforms import Matrix
from coterie_world.perception.backprojection import Lifted
from coterie_world.perception.foreground import background
from coterie_world.perception.points import deprojected

POINT_SPACING_M = 0.04
"""Distance of the points on a box's faces [m]; on large boxes it is more."""
_MAX_EDGE_POINTS = 30
"""Most points along an edge."""
_NEAREST_M = 0.05
"""Least depth of a point that is in the camera's image [m]."""
_SLACK_M = 0.02
"""Depth so far beyond a box still belongs to the thing [m]."""


def moved(box: BoxDetection, pose: Matrix) -> BoxDetection:
    """Return a box in another frame.

    Args:
        box: The box.
        pose: Its frame in the other one (4, 4).
    """
    turned = Rotation.from_matrix(pose[:3, :3]) * Rotation.from_quat(box.rotation)
    x, y, z, w = turned.as_quat().tolist()
    return BoxDetection(_vec((pose @ (*box.center, 1.0))[:3]), (x, y, z, w), box.size, box.scores)


def masked(
    frame: RgbdFrame, boxes: Sequence[BoxDetection], to_camera: Matrix
) -> list[ImageDetection]:
    """Return boxes in space as masks of a depth image: the pixels whose points lie within them.

    Floor and walls in them are left out, and so are boxes that hold nothing (behind the camera,
    hidden, out of view).

    Args:
        frame: The image.
        boxes: The boxes, in one frame.
        to_camera: Transform from that frame to the optical frame (4, 4).
    """
    if not boxes:
        return []
    found = []
    for one in boxes:
        axes = to_camera[:3, :3] @ Rotation.from_quat(one.rotation).as_matrix()
        middle, size = (to_camera @ (*one.center, 1.0))[:3], np.array(one.size) + 2.0 * _SLACK_M
        window = _window(axes * size, middle, frame.intrinsics, frame.depth.shape)
        if window is None:
            continue
        u0, v0, width, height = window
        depth = frame.depth[v0 : v0 + height, u0 : u0 + width]
        rows, cols = np.nonzero(np.isfinite(depth) & (depth > 0.0))
        points = deprojected(cols + u0, rows + v0, depth[rows, cols], frame.intrinsics)
        inside = (np.abs((points - middle) @ axes) <= size / 2.0).all(axis=1)
        rows, cols = rows[inside] + v0, cols[inside] + u0
        if not len(rows):
            continue
        left, top = int(cols.min()), int(rows.min())
        box = (left, top, int(cols.max()) - left + 1, int(rows.max()) - top + 1)
        kept = ~background(frame, box, cols, rows)
        if not kept.any():
            kept[:] = True
        mask = np.zeros((box[3], box[2]), dtype=bool)
        mask[rows[kept] - top, cols[kept] - left] = True
        found.append(ImageDetection(box, one.scores, mask))
    return found


def lift_box(frame: RgbdFrame, box: BoxDetection) -> Lifted:
    """Return a box of the map as points on its faces.

    Args:
        frame: Frame that it was seen in; the part of its color image, where there is one, that
            shows the box gives the thing its color and picture.
        box: The box, in the map.

    Returns:
        The points; `touches_edge` says that no image shows the box.
    """
    axes = Rotation.from_quat(box.rotation).as_matrix() * np.array(box.size)
    points = _faces(box.size) @ axes.T + np.array(box.center)
    away = math.dist(box.center, _vec(frame.camera_to_map[:3, 3]))
    shown = None if frame.color is None else _shown(frame, axes, np.array(box.center))
    detection = ImageDetection(shown or (0, 0, 1, 1), box.scores)
    return Lifted(detection, points.astype(np.float32), away, shown is None)


def _faces(size: Vec3) -> npt.NDArray[np.float64]:
    """Points (n, 3) on the faces of the cube of edge 1 about the origin."""
    along = [
        np.linspace(-0.5, 0.5, min(max(math.ceil(edge / POINT_SPACING_M) + 1, 2), _MAX_EDGE_POINTS))
        for edge in size
    ]
    grid = np.stack(np.meshgrid(*along, indexing="ij"), axis=-1).reshape(-1, 3)
    faces: npt.NDArray[np.float64] = grid[(np.abs(grid) > 0.5 - 1e-9).any(axis=1)]
    return faces


def _shown(
    frame: RgbdFrame, axes: npt.NDArray[np.float64], center: npt.NDArray[np.float64]
) -> tuple[int, int, int, int] | None:
    """Part of a frame's image that shows a box: (first column, first row, width, height) [px]."""
    assert frame.color is not None
    to_camera = np.linalg.inv(frame.camera_to_map)
    middle = to_camera[:3, :3] @ center + to_camera[:3, 3]
    axes = to_camera[:3, :3] @ axes
    ahead = middle[2] - np.abs(axes[2]).sum() / 2.0
    if ahead < _NEAREST_M:
        return None
    return _window(axes, middle, frame.intrinsics, frame.color.shape[:2])


def _window(
    axes: npt.NDArray[np.float64],
    middle: npt.NDArray[np.float64],
    intrinsics: tuple[float, float, float, float],
    shape: tuple[int, ...],
) -> tuple[int, int, int, int] | None:
    """Part of an image that shows a box: (first column, first row, width, height) [px].

    All of it where the box reaches behind the camera, None where it is out of view.
    """
    rows, cols = shape
    signs = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    local = signs @ axes.T + middle
    if (local[:, 2] < _NEAREST_M).all():
        return None
    if (local[:, 2] < _NEAREST_M).any():
        return 0, 0, cols, rows
    fx, fy, cx, cy = intrinsics
    u, v = local[:, 0] / local[:, 2] * fx + cx, local[:, 1] / local[:, 2] * fy + cy
    if not (np.isfinite(u).all() and np.isfinite(v).all()):
        return None
    left, right = max(math.floor(u.min()), 0), min(math.ceil(u.max()), cols)
    top, bottom = max(math.floor(v.min()), 0), min(math.ceil(v.max()), rows)
    if right - left < 1 or bottom - top < 1:
        return None
    return left, top, right - left, bottom - top


def _vec(values: npt.NDArray[np.float64]) -> Vec3:
    return (float(values[0]), float(values[1]), float(values[2]))
