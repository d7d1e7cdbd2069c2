"""Detections of vision_msgs in bags: boxes in the image, and boxes in space."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie_core.detections import BoxDetection, ImageDetection, RgbdFrame
from coterie_world.perception.boxes import masked
from coterie_world.recording.types import RecordingError

Camera = tuple[float, float, float, float]
_MOST = 1000
_MAX_SIDE_M = 100.0
_ROUNDING = 1e-6


def boxes_2d(
    message: Any, source: str | Path, seen: Camera | None, camera: Camera
) -> tuple[ImageDetection, ...]:
    """Return what a vision_msgs/Detection2DArray holds, in pixels of the depth image.

    Args:
        message: The message; a turned box counts as the upright one about it.
        source: File and topic, for errors.
        seen: Camera (fx, fy, cx, cy) [px] of the image that the detector saw, where it is another
            than `camera`; None: the same.
        camera: Camera of the depth image.

    Raises:
        RecordingError: A box or score that no detector can mean.
    """
    fx, fy, cx, cy = camera
    gx, gy, dx, dy = seen or camera
    found = []
    for one in _items(message, source):
        center, turn = one.bbox.center.position, float(one.bbox.center.theta)
        width, height = float(one.bbox.size_x), float(one.bbox.size_y)
        values = (float(center.x), float(center.y), turn, width, height)
        if not all(map(math.isfinite, values)) or min(width, height) <= 0.0:
            raise RecordingError(source, f"detections: box of {values}: expected finite pixels")
        cos, sin = abs(math.cos(turn)), abs(math.sin(turn))
        across, down = cos * width + sin * height, sin * width + cos * height
        left = (values[0] - across / 2.0 - dx) / gx * fx + cx
        top = (values[1] - down / 2.0 - dy) / gy * fy + cy
        u, v = math.floor(left + _ROUNDING), math.floor(top + _ROUNDING)
        right = math.ceil(left + across / gx * fx - _ROUNDING)
        bottom = math.ceil(top + down / gy * fy - _ROUNDING)
        found.append(
            ImageDetection((u, v, max(right - u, 1), max(bottom - v, 1)), _scores(one, source))
        )
    return tuple(found)


def boxes_3d(
    message: Any,
    source: str | Path,
    frame: RgbdFrame,
    to_camera: npt.NDArray[np.float64],
) -> tuple[ImageDetection, ...]:
    """Return what a vision_msgs/Detection3DArray holds, as masks of the depth image.

    A mask holds the pixels whose points lie within the box in space; boxes that hold none (behind
    the camera, hidden, out of view) are left out.

    Args:
        message: The message.
        source: File and topic, for errors.
        frame: The depth image.
        to_camera: Frame of the message to the optical frame (4, 4).

    Raises:
        RecordingError: A box or score that no detector can mean.
    """
    boxes = []
    for one in _items(message, source):
        p, q, size = one.bbox.center.position, one.bbox.center.orientation, one.bbox.size
        edges, spot, turn = (size.x, size.y, size.z), (p.x, p.y, p.z), (q.x, q.y, q.z, q.w)
        good = all(map(math.isfinite, (*edges, *spot, *turn))) and math.hypot(*turn) > 1e-6
        if not good or min(edges) <= 0.0 or max(edges) > _MAX_SIDE_M:
            raise RecordingError(source, "detections: a box in space without a size or a pose")
        boxes.append(BoxDetection(spot, turn, edges, _scores(one, source)))
    return tuple(masked(frame, boxes, to_camera))


def _items(message: Any, source: str | Path) -> list[Any]:
    if len(message.detections) > _MOST:
        raise RecordingError(source, f"detections: over {_MOST} in one image")
    return list(message.detections)


def _scores(one: Any, source: str | Path) -> dict[str, float]:
    """Label -> score; of a label named twice the higher one."""
    scores: dict[str, float] = {}
    for result in one.results[:_MOST]:
        score = float(result.hypothesis.score)
        if not 0.0 <= score <= 1.0:
            raise RecordingError(source, f"detections: score {score}: expected 0..1")
        label = str(result.hypothesis.class_id)[:200]
        scores[label] = max(score, scores.get(label, 0.0))
    return scores
