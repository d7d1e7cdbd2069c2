"""Images of two cameras near each other brought together: models, depth and detections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.detections import ImageDetection
from coterie_core.transforms import Matrix
from coterie_world.perception.points import deprojected

Depth = npt.NDArray[np.float32]
Intrinsics = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class CameraModel:
    """Columns and rows [px], (fx, fy, cx, cy) [px] with the first pixel's corner at 0."""

    size: tuple[int, int]
    intrinsics: Intrinsics

    def scaled(self, size: tuple[int, int]) -> CameraModel:
        """Return the model of the same camera with images of another size [px]."""
        x, y = size[0] / self.size[0], size[1] / self.size[1]
        fx, fy, cx, cy = self.intrinsics
        return CameraModel(size, (fx * x, fy * y, cx * x, cy * y))


def registered(depth: Depth, model: CameraModel, to_other: Matrix, other: CameraModel) -> Depth:
    """Return a depth image [m] as another camera near by sees it; 0 where it has no depth.

    Args:
        depth: (rows, cols) [m].
        model: Camera of `depth`.
        to_other: Optical frame of `depth` to that of the other camera (4, 4).
        other: The other camera; its size is that of the result.
    """
    v, u = np.nonzero(np.isfinite(depth) & (depth > 0.0))
    points = deprojected(u, v, depth[v, u], model.intrinsics)
    local = points @ to_other[:3, :3].T + to_other[:3, 3]
    gx, gy, dx, dy = other.intrinsics
    cols, rows = other.size
    ahead = local[:, 2] > 1e-3
    local = local[ahead]
    x = np.floor(local[:, 0] / local[:, 2] * gx + dx).astype(np.int64)
    y = np.floor(local[:, 1] / local[:, 2] * gy + dy).astype(np.int64)
    inside = (x >= 0) & (y >= 0) & (x < cols) & (y < rows)
    out = np.full((rows, cols), np.inf, dtype=np.float32)
    np.minimum.at(out, (y[inside], x[inside]), local[inside, 2].astype(np.float32))
    out[np.isinf(out)] = 0.0
    return out


def fitted(
    found: Sequence[ImageDetection], size: tuple[int, int], depth: tuple[int, int]
) -> tuple[ImageDetection, ...]:
    """Bring boxes and masks of an image of one size to the depth image's [px].

    Raises:
        ValueError: The images are of different shapes.
    """
    if size == depth:
        return tuple(found)
    x, y = depth[0] / size[0], depth[1] / size[1]
    if abs(x / y - 1.0) > 0.02:
        raise ValueError(
            f"detections of {size[0]} x {size[1]} px, depth of {depth[0]} x {depth[1]} px: the "
            "images do not show the same; register the depth to the detector's image"
        )
    return tuple(_scaled(one, x, y) for one in found)


def _scaled(one: ImageDetection, x: float, y: float) -> ImageDetection:
    u, v, width, height = one.box
    left, top = int(u * x), int(v * y)
    right, bottom = (
        max(int(np.ceil((u + width) * x)), left + 1),
        max(int(np.ceil((v + height) * y)), top + 1),
    )
    mask = None
    if one.mask is not None:
        rows = np.clip(((np.arange(top, bottom) + 0.5) / y - v).astype(int), 0, height - 1)
        cols = np.clip(((np.arange(left, right) + 0.5) / x - u).astype(int), 0, width - 1)
        mask = one.mask[rows][:, cols]
    return ImageDetection(
        (left, top, right - left, bottom - top), one.scores, mask, one.embedding, one.attributes
    )
