"""The detector `onnx`: exports of YOLO, DETR and RT-DETR, told apart by their outputs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy.special import expit, softmax

from coterie_core.detections import ImageDetection
from coterie_core.detector_options import DetectorOptions
from coterie_perception.detector import (
    ColorDetector,
    DetectorError,
    Floats,
    Pixels,
    checked,
    detections,
)
from coterie_perception.networks import resized, session

_SIDE = 640
"""Rows and columns of the image where the network takes any [px]."""
_PADDING = 114.0
"""Gray around an image that keeps its shape, as YOLO is trained with."""
_IMAGENET_MEAN, _IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
_UNIT_BOX = 1.5
"""Boxes with no edge beyond this are in fractions of the image, not in pixels."""


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Boxes (N, 4) left, top, right, bottom [px of the network's image], scores (N, K).

    `in_image`: the boxes are in pixels of the camera's image already. `masks` (N, M) are the
    coefficients of `prototypes` (M, rows, cols), whose sum is a mask where it is positive.
    """

    boxes: Floats
    scores: Floats
    in_image: bool = False
    masks: Floats | None = None
    prototypes: Floats | None = None


class OnnxDetector(ColorDetector):
    """A network of the user's in an .onnx file.

    Raises:
        DetectorError: The file, its labels or its outputs are not what is expected.
    """

    def __init__(self, options: DetectorOptions) -> None:
        if not options.file:
            raise DetectorError("give the .onnx file of the network: file (--network)")
        path = Path(options.file).expanduser()
        if not path.is_file():
            raise DetectorError(f"file: {path} is no file")
        self._session = session(path, options.threads)
        self.name, self._min_score = path.stem, options.min_score
        self.labels = _labels(self._session, options.labels)
        images = [one for one in self._session.get_inputs() if len(one.shape) == 4]
        if len(images) != 1 or images[0].type not in _TYPES:
            came = _said(self._session.get_inputs())
            raise DetectorError(f"{path.name}: expected one input (1, 3, rows, cols), {came}")
        self._image = images[0]
        self._last = self._image.shape[3] == 3  # (1, rows, cols, 3)
        shape = self._image.shape[1:3] if self._last else self._image.shape[2:4]
        rows, cols = (side if isinstance(side, int) else _SIDE for side in shape)
        self._size = (cols, rows)
        self._outputs = [one.name for one in self._session.get_outputs()]
        self._decode = _decoder(self._session.get_outputs(), len(self.labels), path.name)

    def detect(self, image: Pixels) -> list[ImageDetection]:
        """Return what is in an image (rows, cols, 3), RGB."""
        rows, cols = checked(image).shape[:2]
        boxed = self._decode in (_yolo, _whole)
        pixels, scale, shift = self._fitted(image, boxed)
        given = {self._image.name: self._tensor(pixels)} | self._beside((rows, cols))
        made = dict(zip(self._outputs, self._session.run(None, given), strict=True))
        labels = self.labels or ()
        found = self._decode(made, len(labels), self._size)
        boxes = (
            found.boxes if found.in_image else (found.boxes - [*shift, *shift]) / [*scale, *scale]
        )
        names = [*labels, *[""] * (found.scores.shape[1] - len(labels))]
        masks = self._masks(found, scale, shift, (cols, rows)) if found.masks is not None else None
        return detections(
            boxes.astype(np.float32), found.scores, names, (cols, rows), self._min_score, masks
        )

    def _fitted(self, image: Pixels, boxed: bool) -> tuple[Floats, Floats, Floats]:
        """Return (3, rows, cols) 0..255, and how image pixels become its pixels: scale, shift."""
        rows, cols = image.shape[:2]
        scale = np.array(self._size, np.float32) / (cols, rows)
        if not boxed:
            return resized(image, self._size), scale, np.zeros(2, np.float32)
        scale[:] = scale.min()
        width, height = (max(round(v), 1) for v in (cols * scale[0], rows * scale[1]))
        left, top = (self._size[0] - width) // 2, (self._size[1] - height) // 2
        out = np.full((3, self._size[1], self._size[0]), _PADDING, np.float32)
        out[:, top : top + height, left : left + width] = resized(image, (width, height))
        return out, scale, np.array([left, top], np.float32)

    def _tensor(self, pixels: Floats) -> npt.NDArray[Any]:
        kind = _TYPES[self._image.type]
        if kind != np.uint8:
            pixels = pixels / np.float32(255.0)
            if self._decode is _detr:
                mean, std = (
                    np.array(v, np.float32)[:, None, None] for v in (_IMAGENET_MEAN, _IMAGENET_STD)
                )
                pixels = (pixels - mean) / std
        made: npt.NDArray[Any] = pixels.transpose(1, 2, 0) if self._last else pixels
        return made[None].astype(kind)

    def _beside(self, size: tuple[int, int]) -> dict[str, npt.NDArray[Any]]:
        """What else some exports take: RT-DETR the image's size, DETR a mask of its pixels."""
        given: dict[str, npt.NDArray[Any]] = {}
        for one in self._session.get_inputs():
            if len(one.shape) == 2:
                given[one.name] = np.array([[size[1], size[0]]], np.int64)
            elif len(one.shape) == 3:
                given[one.name] = np.ones((1, self._size[1], self._size[0]), np.int64)
        return given

    def _masks(
        self, found: _Candidates, scale: Floats, shift: Floats, size: tuple[int, int]
    ) -> Mapping[int, npt.NDArray[np.bool_]]:
        """Masks of the camera's image (rows, cols) by candidate."""
        assert found.masks is not None and found.prototypes is not None
        _, rows, cols = found.prototypes.shape
        cell = np.array([cols, rows]) / self._size  # of the network's image to prototypes
        low = shift * cell
        high = low + np.array(size) * scale * cell
        masks = {}
        for k in np.flatnonzero(found.scores.max(axis=1, initial=0.0) >= self._min_score):
            heat = np.tensordot(found.masks[k], found.prototypes, axes=1).astype(np.float32)
            box = (*low.tolist(), *high.tolist())
            whole = Image.fromarray(heat).resize(size, Image.Resampling.BILINEAR, box)
            masks[int(k)] = np.asarray(whole) > 0.0
        return masks


Decode = Callable[[Mapping[str, Any], int, tuple[int, int]], _Candidates]


def _labels(loaded: Any, file: str) -> tuple[str, ...]:
    """Return the network's labels: those of a file, or what Ultralytics writes into its own."""
    if file:
        try:
            lines = Path(file).expanduser().read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DetectorError(f"labels: {file} cannot be read ({error})") from None
        found = tuple(line.strip() for line in lines)
    else:
        text = loaded.get_modelmeta().custom_metadata_map.get("names", "")
        try:
            named = ast.literal_eval(text)
            found = tuple(str(named[k]) for k in range(len(named)))
        except (ValueError, SyntaxError, KeyError, TypeError):
            raise DetectorError(
                "the file names no labels: give a text file with one a line: labels (--labels)"
            ) from None
    if not any(found):
        raise DetectorError(f"labels: {file or 'those in the .onnx file'} are empty")
    return found


def _said(nodes: Sequence[Any]) -> str:
    return "got " + ", ".join(f"{one.name} {tuple(one.shape)} of {one.type}" for one in nodes)


def _decoder(outputs: Sequence[Any], count: int, file: str) -> Decode:
    """Return what reads a network's outputs; tells by names and shapes which family it is of.

    Raises:
        DetectorError: It is none of those known.
    """
    shapes = {one.name: one.shape for one in outputs}
    if {"labels", "boxes", "scores"} <= shapes.keys():
        return _sorted
    if {"logits", "pred_boxes"} <= shapes.keys():
        width = shapes["logits"][-1]
        if width in (count, count + 1):
            return _detr if width == count + 1 else _rt_detr
        raise DetectorError(f"{file}: {width} logits a box, and {count} labels")
    first = next(iter(shapes.values()))
    if len(first) == 3 and first[-1] == 6 and first[-1] not in (4 + count, 5 + count):
        return _whole
    wide = {4 + count, 5 + count, 4 + count + 32}
    if len(first) == 3 and any(side in wide for side in first[1:]):
        return _yolo
    raise DetectorError(
        f"{file}: {count} labels, and outputs of no family that is known (YOLO, DETR, RT-DETR): "
        f"{_said(outputs)}; is the list of labels the network's own?"
    )


def _corners(boxes: Floats, size: tuple[int, int]) -> Floats:
    """Return boxes (N, 4) of middle and size as left, top, right, bottom [px]."""
    half = boxes[:, 2:] / 2.0
    found = np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)
    unit = not found.size or float(np.abs(found).max()) <= _UNIT_BOX
    return found * np.array([*size, *size], np.float32) if unit else found


def _yolo(made: Mapping[str, Any], count: int, size: tuple[int, int]) -> _Candidates:
    """YOLOv8 and later (1, 4 + K, N), YOLOv5 (1, N, 5 + K) with objectness, or with masks."""
    first, *rest = made.values()
    raw = np.asarray(first[0], np.float32)
    masked = bool(rest) and rest[0].ndim == 4
    wide = {4 + count, 5 + count} if not masked else {4 + count + rest[0].shape[1]}
    if raw.shape[1] not in wide or (raw.shape[0] in wide and raw.shape[0] < raw.shape[1]):
        raw = raw.T
    boxes, scores = raw[:, :4], raw[:, 4:]
    if not masked and raw.shape[1] == 5 + count:
        scores = raw[:, 5:] * raw[:, 4:5]
    if not masked:
        return _Candidates(_corners(boxes, size), scores)
    scores, coefficients = raw[:, 4 : 4 + count], raw[:, 4 + count :]
    prototypes = np.asarray(rest[0][0], np.float32)
    return _Candidates(_corners(boxes, size), scores, masks=coefficients, prototypes=prototypes)


def _whole(made: Mapping[str, Any], count: int, size: tuple[int, int]) -> _Candidates:
    """YOLOv10 and later with their own selection (1, N, 6): box, score, class."""
    raw = np.asarray(next(iter(made.values()))[0], np.float32)
    return _Candidates(raw[:, :4], _spread(raw[:, 5], raw[:, 4], count))


def _sorted(made: Mapping[str, Any], count: int, size: tuple[int, int]) -> _Candidates:
    """RT-DETR's own export: labels, boxes in pixels of the camera's image, scores."""
    kinds, scores = (np.asarray(made[name][0], np.float32) for name in ("labels", "scores"))
    boxes = np.asarray(made["boxes"][0], np.float32)
    return _Candidates(boxes, _spread(kinds, scores, count), in_image=True)


def _rt_detr(made: Mapping[str, Any], count: int, size: tuple[int, int]) -> _Candidates:
    """RT-DETR of transformers: a probability for each class."""
    boxes = _corners(np.asarray(made["pred_boxes"][0], np.float32), size)
    return _Candidates(boxes, expit(np.asarray(made["logits"][0], np.float32)))


def _detr(made: Mapping[str, Any], count: int, size: tuple[int, int]) -> _Candidates:
    """DETR of transformers: one class of all, the last of which is no thing."""
    boxes = _corners(np.asarray(made["pred_boxes"][0], np.float32), size)
    return _Candidates(boxes, softmax(np.asarray(made["logits"][0], np.float32), axis=1)[:, :count])


def _spread(kinds: Floats, scores: Floats, count: int) -> Floats:
    """Return scores (N, K), 0 but for the class that was chosen; unknown classes are no thing."""
    out = np.zeros((len(kinds), count), np.float32)
    known = (kinds >= 0) & (kinds < count)
    out[np.flatnonzero(known), kinds[known].astype(int)] = np.clip(scores[known], 0.0, 1.0)
    return out
