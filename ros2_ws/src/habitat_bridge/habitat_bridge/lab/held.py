"""What a robot's gripper holds, drawn into the images of its own cameras."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Vec3
from habitat_bridge.simulator import Frame

_NEAREST = 0.05  # [m] from the camera
_GRAY = 150


def with_held(frame: Frame, size: Vec3, at: Vec3, number: int) -> Frame:
    """Return a frame in which a thing is where the hand is: a gray square that faces the camera.

    Args:
        frame: What the camera sees of the house.
        size: Full edge lengths of the thing [m]; the square is as wide as the middle one.
        at: Its middle, in the house [m].
        number: Its instance number.
    """
    x, y, z = (np.linalg.inv(frame.camera_to_map) @ np.array([*at, 1.0]))[:3]
    if z <= _NEAREST:
        return frame
    focal, rows, cols = frame.camera.focal, frame.camera.height, frame.camera.width
    half = focal * sorted(size)[1] / 2.0 / z
    u, v = focal * x / z + cols / 2.0, focal * y / z + rows / 2.0
    top, bottom = (int(np.clip(edge, 0, rows)) for edge in (v - half, v + half))
    left, right = (int(np.clip(edge, 0, cols)) for edge in (u - half, u + half))
    if bottom <= top or right <= left:
        return frame
    window = np.s_[top:bottom, left:right]
    hidden = np.zeros((bottom - top, right - left), dtype=bool)
    if frame.depth is not None:
        before = frame.depth[window]
        hidden = (before > 0.0) & (before < z)

    def painted(image: npt.NDArray[Any] | None, value: float) -> Any:
        if image is None:
            return None
        out = image.copy()
        out[window][~hidden] = value
        return out

    return replace(
        frame,
        depth=painted(frame.depth, z),
        semantic=painted(frame.semantic, number),
        color=painted(frame.color, _GRAY),
    )
