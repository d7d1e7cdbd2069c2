"""Pictures for models: encoded, and small enough to be sent."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image as Pictures

from coterie_llm.types import Image

_QUALITY = 85
"""Of a JPEG; small print stays legible."""


def encode(color: npt.NDArray[Any], side: int) -> Image:
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
