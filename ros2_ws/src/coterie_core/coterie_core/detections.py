"""What a detector finds in one image: boxes or masks in pixels, with scores of labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class ImageDetection:
    """A thing in an image.

    `box` is (first column, first row, width, height) [px]. `mask` is a boolean window of that
    height and width, True where the thing is; None where the detector gives boxes only. `scores`
    maps labels to scores (0..1, best first not required). `embedding` is a unit vector of any
    length that tells how it looks; None where there is none. `attributes` holds what else the
    detector says of it, such as {"color": "red", "opening": "open"}.
    """

    box: tuple[int, int, int, int]
    scores: Mapping[str, float]
    mask: npt.NDArray[np.bool_] | None = None
    embedding: npt.NDArray[np.float32] | None = field(default=None, compare=False)
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
        return min(self.scores, key=lambda k: (-self.scores[k], k)) if self.scores else ""


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
