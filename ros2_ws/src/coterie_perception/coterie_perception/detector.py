"""What all detectors of color images have in common, and how one is made by its name."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.detector_options import DETECTORS, DetectorOptions
from coterie_core.own_classes import load_class

Pixels = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.floating[Any]]

MOST_DETECTIONS = 100
"""Most detections that are reported of one image, the surest first."""
_SAME_THING_IOU = 0.5
"""Overlap from which two boxes with one best label show one thing, as in COCO's evaluation."""
_LEAST_OTHER = 0.1
"""Least score of a further label of a detection."""


class DetectorError(ValueError):
    """A detector cannot be used; says what is missing and what to do."""


class ColorDetector(abc.ABC):
    """Finds things in color images.

    It also is a `coterie_core.detections.Detector`, which looks at the color of a frame.

    Attributes:
        name: Name of the network, for messages and maps.
        labels: What it can report; None: not known.
    """

    name: str
    labels: tuple[str, ...] | None = None

    @abc.abstractmethod
    def detect(self, image: Pixels) -> list[ImageDetection]:
        """Return what is in an image (rows, cols, 3), RGB; boxes and masks in its pixels.

        Raises:
            DetectorError: The image cannot be looked at.
        """

    def look_for(self, words: Sequence[str]) -> None:  # noqa: B027
        """Be told what the team looks for; matters to detectors with prompt words only."""

    def __call__(self, frame: RgbdFrame) -> list[ImageDetection]:
        """Return what is in a frame's color image.

        Raises:
            DetectorError: It has none.
        """
        if frame.color is None:
            raise DetectorError(f"{self.name} looks at color images, and the frame has none")
        return self.detect(frame.color)


def make_detector(name: str, options: DetectorOptions, field: str = "detector") -> ColorDetector:
    """Return a detector that comes with Coterie.

    Args:
        name: One of `coterie_core.detector_options.DETECTORS`.
        options: What it is told.
        field: Where it is named, for errors.

    Raises:
        DetectorError: There is none of that name, or what it needs is not there.
    """
    if name not in DETECTORS:
        raise DetectorError(f"{field}: {name!r}: expected one of {', '.join(DETECTORS)}")
    made = load_class(DETECTORS[name], field, ColorDetector)  # type: ignore[type-abstract]
    try:
        return made(options)  # type: ignore[call-arg]
    except DetectorError as error:
        raise DetectorError(f"{field}: {name}: {error}") from error


def checked(image: Pixels) -> Pixels:
    """Return an image as it came.

    Raises:
        DetectorError: It is not (rows, cols, 3) of uint8.
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or not image.size:
        raise DetectorError(
            f"expected an image (rows, cols, 3) of uint8, got {image.shape} of {image.dtype}"
        )
    return image


def detections(
    boxes: Floats,
    scores: Floats,
    labels: Sequence[str],
    size: tuple[int, int],
    min_score: float,
    masks: Mapping[int, npt.NDArray[np.bool_]] | None = None,
) -> list[ImageDetection]:
    """Return a network's candidates as detections: the sure ones, each thing once.

    Args:
        boxes: (N, 4) left, top, right, bottom [px].
        scores: (N, K) probability of each label, 0..1.
        labels: K labels; "" is no thing.
        size: Columns and rows of the image [px].
        min_score: Least score of the best label.
        masks: Masks of the whole image (rows, cols) by candidate, where there are any.
    """
    columns = [k for k, label in enumerate(labels) if label]
    scores = scores[:, columns]
    if not scores.size:
        return []
    best, top = scores.argmax(axis=1), scores.max(axis=1, initial=0.0)
    # A box that is not a number, or lies outside, shows nothing.
    clipped = np.clip(np.nan_to_num(boxes), 0, [*size, *size])
    sure = (top >= min_score) & np.isfinite(boxes).all(axis=1)
    sure &= (clipped[:, 2:] - clipped[:, :2] >= 1.0).all(axis=1)
    order = [int(k) for k in np.argsort(-top, kind="stable") if sure[k]]
    found: list[ImageDetection] = []
    for k in _distinct(clipped, best, order)[:MOST_DETECTIONS]:
        left, top_row = (int(v) for v in np.floor(clipped[k, :2]))
        right, bottom = (int(v) for v in np.ceil(clipped[k, 2:]))
        named = {
            labels[columns[c]]: float(min(scores[k, c], 1.0))
            for c in np.argsort(-scores[k], kind="stable")[:3]
            if c == best[k] or scores[k, c] >= _LEAST_OTHER
        }
        mask = None if masks is None else masks.get(k)
        window = None if mask is None else mask[top_row:bottom, left:right]
        box = (left, top_row, right - left, bottom - top_row)
        found.append(ImageDetection(box, named, window))
    return found


def named_detections(
    boxes: Floats, names: Sequence[str], scores: Floats, size: tuple[int, int], min_score: float
) -> list[ImageDetection]:
    """Return candidates with one name each as detections; see `detections`.

    Args:
        boxes: (N, 4) left, top, right, bottom [px].
        names: N labels in words of a model.
        scores: (N,) how sure it is.
        size: Columns and rows of the image [px].
        min_score: Least score.
    """
    plain = [" ".join(name.lower().split()) for name in names]
    labels = sorted(set(plain))
    spread = np.zeros((len(plain), len(labels)), np.float32)
    spread[range(len(plain)), [labels.index(name) for name in plain]] = scores
    return detections(np.reshape(boxes, (-1, 4)), spread, labels, size, min_score)


def _distinct(boxes: Floats, kind: npt.NDArray[np.int64], order: Sequence[int]) -> list[int]:
    """Candidates without those that a surer one of their kind overlaps (greedy suppression)."""
    kept: list[int] = []
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for k in order:
        same = [j for j in kept if kind[j] == kind[k]]
        low, high = (
            np.maximum(boxes[same, :2], boxes[k, :2]),
            np.minimum(boxes[same, 2:], boxes[k, 2:]),
        )
        common = np.clip(high - low, 0.0, None).prod(axis=1)
        if not (common > _SAME_THING_IOU * (area[same] + area[k] - common)).any():
            kept.append(k)
    return kept
