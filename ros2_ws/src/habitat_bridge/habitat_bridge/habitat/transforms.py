"""Rotations and boxes in Habitat's y-up world, and upright boxes of the map made from them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from coterie_core.frames import yup_to_zup
from coterie_core.geometry import Box
from habitat_bridge.habitat.data_files import Refused, Vec

Array = npt.NDArray[np.float64]
UP: Vec = (0.0, 1.0, 0.0)
FRONT: Vec = (0.0, 0.0, -1.0)


def rotation_matrix(wxyz: tuple[float, float, float, float]) -> Array:
    """Return the (3, 3) rotation of a quaternion (w, x, y, z), normalised first.

    Raises:
        Refused: Its length is almost zero.
    """
    if math.hypot(*wxyz) < 1e-6:
        raise Refused(f"rotation: expected a quaternion (w, x, y, z), got {list(wxyz)}")
    return Rotation.from_quat(wxyz, scalar_first=True).as_matrix()


def frame_to_world(up: Vec, front: Vec) -> Array:
    """Return the (3, 3) rotation from an asset's frame (its up and front) to y up, -z front.

    Raises:
        Refused: The two are not orthogonal, or one is zero.
    """
    u, f = np.array(up, dtype=np.float64), np.array(front, dtype=np.float64)
    lu, lf = float(np.linalg.norm(u)), float(np.linalg.norm(f))
    if lu < 1e-9 or lf < 1e-9 or abs(float(u @ f)) > 1e-3 * lu * lf:
        raise Refused(
            f"up and front: expected two orthogonal directions, got {list(up)} and {list(front)}"
        )
    u, f = u / lu, f / lf
    # Rows: where the world's x (right), y (up) and z (back) lie in the asset's frame.
    return np.stack([np.cross(f, u), u, -f])


def corners(low: npt.ArrayLike, high: npt.ArrayLike) -> Array:
    """Return the eight corners (8, 3) of an axis-aligned box."""
    ends = np.stack([np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)])
    picks = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    return ends[picks, np.arange(3)]


def upright_box(center: npt.ArrayLike, axes: npt.ArrayLike) -> Box:
    """Return the box of the map around an oriented box of the y-up world.

    Args:
        center: (3,) centre, y up [m].
        axes: (3, 3), rows are the half edges as vectors, y up [m].

    The map's box stands upright: its heading is that of the box's edge that lies flattest and is
    longest, so that a box turned about the vertical only comes out exactly.
    """
    c, half = yup_to_zup(center), yup_to_zup(axes)
    flat = np.hypot(half[:, 0], half[:, 1])
    steep = np.abs(half[:, 2]) > 0.1 * np.maximum(flat, 1e-9)
    k = int(np.argmax(np.where(steep, -1.0, flat)))
    yaw = math.atan2(half[k, 1], half[k, 0]) if flat[k] > 1e-9 and not steep[k] else 0.0
    # Keep headings within a quarter turn, so that size[0] is along the edge nearest to x.
    yaw = math.remainder(yaw, math.pi / 2.0)
    yaw = 0.0 if abs(yaw) < 1e-9 else yaw
    cos, sin = math.cos(yaw), math.sin(yaw)
    along = np.abs(half @ np.array([cos, sin, 0.0])).sum()
    across = np.abs(half @ np.array([-sin, cos, 0.0])).sum()
    tall = np.abs(half[:, 2]).sum()
    return Box(
        (float(c[0]), float(c[1]), float(c[2])),
        (2.0 * float(along), 2.0 * float(across), 2.0 * float(tall)),
        yaw,
    )


def placed_box(low: Array, high: Array, rotation: Array, scale: Array, translation: Array) -> Box:
    """Return the map's box around a local box that is scaled, turned and moved (all y up) [m]."""
    center = (low + high) / 2.0 * scale
    half = (high - low) / 2.0 * np.abs(scale)
    return upright_box(rotation @ center + translation, (rotation * half).T)
