"""Conversions between REP-103's z-up frames and the y-up frames of glTF and Habitat.

A point (x, y, z) of the map, z up, is (x, z, -y) in a y-up frame: x stays, up becomes y, and what
lay to the left (y) lies at -z. Both frames are right-handed, so yaw keeps its sign: a turn by an
angle about z is a turn by the same angle about the y axis of the other frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Quaternion

# Rows give the y-up axes in z-up coordinates.
ZUP_TO_YUP: npt.NDArray[np.float64] = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
ZUP_TO_YUP.setflags(write=False)


def zup_to_yup(points: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return points or directions (..., 3) of a z-up frame in the y-up frame [same unit].

    Raises:
        ValueError: The last axis is not 3 long.
    """
    x, y, z = _columns(points)
    return np.stack([x, z, -y], axis=-1)


def yup_to_zup(points: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return points or directions (..., 3) of a y-up frame in the z-up frame [same unit].

    Raises:
        ValueError: The last axis is not 3 long.
    """
    x, y, z = _columns(points)
    return np.stack([x, -z, y], axis=-1)


def quaternion_zup_to_yup(rotation: Quaternion) -> Quaternion:
    """Return the same rotation (x, y, z, w) written in the y-up frame."""
    x, y, z, w = rotation
    return (x, z, -y, w)


def _columns(points: npt.ArrayLike) -> tuple[Any, Any, Any]:
    array = np.asarray(points, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != 3:
        raise ValueError(f"points: expected an array (..., 3), got shape {array.shape}")
    return array[..., 0], array[..., 1], array[..., 2]
