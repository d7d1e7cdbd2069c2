"""Appearance of a detection: the name of its color."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from coterie_core.colors import color_names, stated_color
from coterie_core.detections import ImageDetection

COLOR_SAMPLES = 64
"""Pixels of a detection whose colours are named."""
MIN_BRIGHTNESS = 160.0
"""Images darker than this (0..255) are taken for what they are: dark."""


def color_evidence(
    color: npt.NDArray[np.uint8] | None, detection: ImageDetection
) -> Mapping[str, float]:
    """Return colour name -> share of the detection (sums to 1; empty where nothing is known).

    What the detector says counts. Else pixels are named, as if what is brightest in the image were
    white; the darkest quarter is left out, since shade makes a white thing grey and never a grey
    one white.

    Args:
        color: The frame's image (rows, cols, 3) RGB, or None.
        detection: A detection of that frame.
    """
    told = stated_color(detection.attributes)
    if told:
        return {told: 1.0}
    if color is None:
        return {}
    rows, cols = color.shape[:2]
    u0, v0, width, height = detection.box
    left, top = max(u0, 0), max(v0, 0)
    right, bottom = min(u0 + width, cols), min(v0 + height, rows)
    if right <= left or bottom <= top:
        return {}
    if detection.mask is not None:
        mask = detection.mask[top - v0 : bottom - v0, left - u0 : right - u0]
        v, u = np.nonzero(mask)
    else:  # the middle of a box is mostly the thing
        span_v, span_u = (bottom - top) // 4, (right - left) // 4
        v, u = np.mgrid[span_v : bottom - top - span_v, span_u : right - left - span_u]
        v, u = v.ravel(), u.ravel()
    if not len(v):
        return {}
    chosen = np.linspace(0, len(v) - 1, min(COLOR_SAMPLES, len(v))).astype(np.int64)
    pixels = color[v[chosen] + top, u[chosen] + left].astype(np.float64)
    light = pixels.sum(axis=1)
    brightest = float(np.percentile(color[::16, ::16].max(axis=2), 95))
    pixels = (pixels * (255.0 / max(brightest, MIN_BRIGHTNESS))).clip(0.0, 255.0)
    names = color_names(pixels[light >= np.percentile(light, 25)])
    return {name: names.count(name) / len(names) for name in dict.fromkeys(names)}
