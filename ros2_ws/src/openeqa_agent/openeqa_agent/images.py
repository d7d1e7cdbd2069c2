"""Frames as images for a model: scaled down, and limited in bytes altogether."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image as Pictures

from coterie_llm import Image

SMALLEST_SIDE = 128
"""Longest side [px] below which images are left out rather than scaled down further."""
_QUALITY = 80


def encode(color: npt.NDArray[np.uint8], side: int) -> Image:
    """Return a color image (rows, cols, 3) as JPEG, its longer side at most `side` [px].

    Raises:
        ValueError: It is not an image of three colors.
    """
    if color.ndim != 3 or color.shape[2] != 3 or 0 in color.shape:
        raise ValueError(f"expected an image (rows, cols, 3) of uint8, got shape {color.shape}")
    picture = Pictures.fromarray(np.ascontiguousarray(color, dtype=np.uint8))
    picture.thumbnail((side, side))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=_QUALITY)
    return Image(file.getvalue(), "image/jpeg")


def encode_all(
    frames: Sequence[npt.NDArray[np.uint8]], side: int, most_bytes: int
) -> tuple[list[Image], list[int]]:
    """Return images within `most_bytes` in all, and which of the frames they are.

    Images are made smaller first, down to SMALLEST_SIDE; what still does not fit is left out
    evenly.
    """
    chosen = [k for k, frame in enumerate(frames) if frame.ndim == 3 and 0 not in frame.shape]
    size = side
    while chosen:
        images = [encode(frames[k], size) for k in chosen]
        total = sum(len(image.data) for image in images)
        if total <= most_bytes:
            return images, chosen
        if size > SMALLEST_SIDE:
            # Bytes grow about as the area does; a little less than that needs no second try.
            size = max(SMALLEST_SIDE, int(size * min(0.95 * (most_bytes / total) ** 0.5, 0.9)))
            continue
        keep = min(len(chosen) - 1, int(len(chosen) * most_bytes / total))
        spread = np.unique(np.linspace(0, len(chosen) - 1, max(keep, 0)).round().astype(int))
        chosen = [chosen[int(k)] for k in spread]
    return [], []
