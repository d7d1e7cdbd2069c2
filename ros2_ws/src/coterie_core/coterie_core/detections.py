"""Detections in one image: boxes or masks in pixels, with scores of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from coterie_core.embedding import Embedding
from coterie_core.geometry import Quaternion, Vec3
from coterie_core.own_classes import load_made


@dataclass(frozen=True, slots=True)
class ImageDetection:
    """A thing in an image.

    `box` is (first column, first row, width, height) [px]. `mask` is a boolean window of that
    height and width, True where the thing is; None where the detector gives boxes only. `scores`
    maps labels to scores (0..1, best first not required). `embedding` tells how it looks, by
    the detector's network; None where there is none. `attributes` holds what else the
    detector says of it, such as {"color": "red", "opening": "open"}.
    """

    box: tuple[int, int, int, int]
    scores: Mapping[str, float]
    mask: npt.NDArray[np.bool_] | None = None
    embedding: Embedding | None = field(default=None, compare=False)
    attributes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no detector can mean."""
        _, _, width, height = self.box
        if width < 1 or height < 1:
            raise ValueError(f"box {self.box}: width and height must be at least 1 px")
        if self.mask is not None and self.mask.shape != (height, width):
            raise ValueError(f"mask of {self.mask.shape} does not fit the box's {height} x {width}")
        for label, score in self.scores.items():
            if not 0.0 <= score <= 1.0:
                raise ValueError(f"score of {label!r} must be within 0..1, got {score}")

    @property
    def label(self) -> str:
        """The label of the highest score ("" without scores; ties go to the first in alphabet)."""
        return _best(self.scores)


@dataclass(frozen=True, slots=True)
class BoxDetection:
    """A thing in space: a box in the frame of its message, which may be tilted.

    `center` [m], `rotation` (x, y, z, w), full edge lengths `size` [m], `scores` as in an image.
    """

    center: Vec3
    rotation: Quaternion
    size: Vec3
    scores: Mapping[str, float]

    @property
    def label(self) -> str:
        """The label of the highest score ("" without scores; ties go to the first in alphabet)."""
        return _best(self.scores)


def _best(scores: Mapping[str, float]) -> str:
    return min(scores, key=lambda k: (-scores[k], k)) if scores else ""


@dataclass(frozen=True, slots=True)
class RgbdFrame:
    """Color and depth images of one moment, and where they were taken.

    `depth` (rows, cols) [m] along the optical axis, 0 or not finite where unknown; `color`
    (rows, cols, 3) uint8 RGB or None; `intrinsics` (fx, fy, cx, cy) [px]; `camera_to_map` (4, 4)
    takes the optical frame (x right, y down, z ahead) to the map; `time` [s]; `robot` who saw it.
    """

    depth: npt.NDArray[np.float32]
    intrinsics: tuple[float, float, float, float]
    camera_to_map: npt.NDArray[np.float64]
    color: npt.NDArray[np.uint8] | None = None
    time: float = 0.0
    robot: str = ""


class Detector(Protocol):
    """Finds things in a frame: boxes or masks in pixels of `frame.depth`, labels with scores."""

    def __call__(self, frame: RgbdFrame) -> Sequence[ImageDetection]:
        """Return what is in a frame; called with the frames in their order."""
        ...


def load_detector(name: str, field: str = "--detector") -> Detector:
    """Return the detector that the user's `my_package.module:make` makes; see `load_made`."""
    expected = "a detector: a callable that takes an RgbdFrame and returns ImageDetections"
    made: Detector = load_made(name, field, expected, callable)
    return made


def clipped(one: ImageDetection, cols: int, rows: int) -> ImageDetection | None:
    """The part of a detection that lies in an image of a size [px]; None for no part."""
    u, v, width, height = one.box
    left, top = max(u, 0), max(v, 0)
    right, bottom = min(u + width, cols), min(v + height, rows)
    if right <= left or bottom <= top:
        return None
    mask = None if one.mask is None else one.mask[top - v : bottom - v, left - u : right - u]
    return replace(one, box=(left, top, right - left, bottom - top), mask=mask)


def runs_of(mask: npt.NDArray[np.bool_]) -> list[int]:
    """Return a mask's run lengths, row by row: outside, inside, outside, ... (the first may be 0).

    Args:
        mask: (rows, cols), at least one pixel.
    """
    flat = mask.reshape(-1)
    turns = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    ends = np.concatenate([[0], turns, [flat.size]])
    runs: list[int] = np.diff(ends).tolist()
    return [0, *runs] if flat[0] else runs


def mask_of(runs: Sequence[int], width: int, height: int) -> npt.NDArray[np.bool_]:
    """Return the mask (height, width) of run lengths; see `runs_of`.

    Raises:
        ValueError: They do not fill the box.
    """
    # Each run but the first has a pixel; 64 bits, so that no sum wraps around to the right one.
    lengths = np.asarray(runs, dtype=np.int64)
    if len(lengths) > width * height + 1 or (lengths < 0).any():
        raise ValueError(f"run lengths of a {width} x {height} mask, each at least 0")
    if int(lengths.sum()) != width * height:
        raise ValueError(f"run lengths that sum to {width * height}, got {int(lengths.sum())}")
    inside = np.arange(len(lengths)) % 2 == 1
    mask: npt.NDArray[np.bool_] = np.repeat(inside, lengths).reshape(height, width)
    return mask
