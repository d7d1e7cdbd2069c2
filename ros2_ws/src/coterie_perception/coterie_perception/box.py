"""The detector `box`: a small network with the 80 classes of COCO, on one core and offline."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from coterie_core.detections import ImageDetection
from coterie_core.detector_options import DetectorOptions
from coterie_perception import fetch
from coterie_perception.coco import COCO
from coterie_perception.detector import (
    ColorDetector,
    DetectorError,
    Floats,
    Pixels,
    checked,
    detections,
)
from coterie_perception.networks import SETUP, resized, session

_OUTPUTS = ("tower_0/keypoints", "tower_0/wh")
_SIDE = 512
"""Rows and columns of the image that the network takes [px]."""
_STRIDE = 4
"""Pixels of that image for each cell of the network's output."""


class BoxDetector(ColorDetector):
    """MobileNetV3-CenterNet ("Objects as Points", Zhou et al. 2019).

    A cell of the heat map (80, 128, 128) that is the highest of its neighborhood is the middle of
    a thing; the second output has its distances to the left, upper, right and lower edge.

    Raises:
        DetectorError: The network or what runs it is not here and cannot be fetched.
    """

    name = "centernet-mobilenetv3-coco"
    labels = COCO

    def __init__(self, options: DetectorOptions) -> None:
        try:
            from coterie_perception.tfjs import onnx_of
        except ImportError:
            raise DetectorError(f"onnx is not installed; run: {SETUP}") from None
        try:
            files = fetch.fetch()
        except fetch.FetchError as error:
            raise DetectorError(str(error)) from None
        model = onnx_of(files["centernet.json"], files["centernet.bin"], _OUTPUTS)
        self._session = session(model, options.threads)
        self._min_score = options.min_score

    def detect(self, image: Pixels) -> list[ImageDetection]:
        """Return what is in an image (rows, cols, 3), RGB."""
        rows, cols = checked(image).shape[:2]
        heat, edges = self._session.run(None, {"images": resized(image, (_SIDE, _SIDE))[None]})
        boxes, scores = decoded(heat[0], edges[0], self._min_score)
        scale = np.array([cols, rows, cols, rows], np.float32) / _SIDE
        return detections(boxes * scale, scores, COCO, (cols, rows), self._min_score)


def decoded(heat: Floats, edges: Floats, min_score: float) -> tuple[Floats, Floats]:
    """Return boxes (N, 4) [px of the network's image] and scores (N, K) of the peaks.

    Args:
        heat: (K, rows, cols) how likely the middle of a thing is in each cell.
        edges: (4, rows, cols) how far its edges are away [px].
        min_score: Least height of a peak.
    """
    peaks = (heat >= min_score) & (heat == ndimage.maximum_filter(heat, size=(1, 3, 3)))
    row, col = np.nonzero(peaks.any(axis=0))
    middle = np.stack([col, row], axis=1) * np.float32(_STRIDE)
    away = edges[:, row, col].T
    boxes = np.concatenate([middle - away[:, :2], middle + away[:, 2:]], axis=1)
    return boxes, heat[:, row, col].T
