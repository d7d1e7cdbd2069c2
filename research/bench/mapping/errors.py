"""What real sensors do to frames and masks: depth noise of a Kinect, poses that are off, leaks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage
from scipy.spatial.transform import Rotation

from coterie_core.detections import ImageDetection, RgbdFrame

DISPARITY_M, DISPARITY_STEP = 585.0 * 0.075, 0.125
"""Of the Kinect: focal length [px] times its base [m], and its disparities' step [px]."""


@dataclass(frozen=True, slots=True)
class SensorErrors:
    """Errors of the sensors; all are drawn anew for each frame, by seed.

    Attributes:
        depth: Times the noise of a Kinect; 0: exact depth.
        position: Standard deviation of the camera's position, each axis [m].
        rotation: Standard deviation of its rotation, each axis [deg].
        leak: Pixels by which masks reach beyond their objects [px].
        boxes: Whether masks are dropped and their boxes stay.
    """

    depth: float = 0.0
    position: float = 0.0
    rotation: float = 0.0
    leak: int = 0
    boxes: bool = False

    def __str__(self) -> str:
        said = [f"depth noise x{self.depth:g}"] if self.depth else []
        if self.position or self.rotation:
            said.append(f"poses off by {100 * self.position:g} cm, {self.rotation:g} deg")
        said += [f"masks leak {self.leak} px"] if self.leak else []
        said += ["boxes without masks"] if self.boxes else []
        return ", ".join(said) or "exact sensors"

    def spoil(
        self, frame: RgbdFrame, found: Sequence[ImageDetection], rng: np.random.Generator
    ) -> tuple[RgbdFrame, list[ImageDetection]]:
        """Return a frame and its detections as such sensors would give them."""
        depth, pose = frame.depth, frame.camera_to_map
        if self.depth:
            depth = kinect(depth, self.depth, rng)
        if self.position or self.rotation:
            off = np.eye(4)
            turn = rng.normal(0.0, math.radians(self.rotation), 3)
            off[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
            off[:3, 3] = rng.normal(0.0, self.position, 3)
            pose = pose @ off
        spoiled = dataclasses.replace(frame, depth=depth, camera_to_map=pose)
        grown = [grow(one, self.leak, depth.shape) for one in found] if self.leak else list(found)
        if self.boxes:
            grown = [dataclasses.replace(one, mask=None) for one in grown]
        return spoiled, grown


EXACT = SensorErrors()
LADDER = (
    EXACT,
    SensorErrors(depth=1.0),
    SensorErrors(depth=1.0, leak=2),
    SensorErrors(depth=1.0, leak=4),
    SensorErrors(depth=1.0, position=0.02, rotation=1.0),
    SensorErrors(depth=1.0, position=0.05, rotation=2.0),
    SensorErrors(depth=1.0, position=0.1, rotation=3.0),
    SensorErrors(depth=1.0, boxes=True),
)
"""Dose and response: from exact sensors to bad ones."""


def kinect(
    depth: npt.NDArray[np.float32], times: float, rng: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Return depth [m] as a Kinect measures it.

    Axial noise after Nguyen, Izadi and Lovell (2012), sigma = 0.0012 + 0.0019 (z - 0.4)^2 m;
    disparity in steps of an eighth of a pixel; a shift by half a pixel, so that edges are ragged;
    nothing at steps of depth, where the pattern is in the shade.

    Args:
        depth: (rows, cols) [m], 0 where unknown.
        times: Factor on noise and shift.
        rng: Source of the noise.
    """
    rows, cols = depth.shape
    v, u = np.mgrid[0:rows, 0:cols]
    shift = rng.normal(0.0, 0.5 * times, (2, rows, cols)).round().astype(np.int64)
    noisy = depth[(v + shift[0]).clip(0, rows - 1), (u + shift[1]).clip(0, cols - 1)]
    sigma = 0.0012 + 0.0019 * (noisy - 0.4) ** 2
    noisy = noisy + times * sigma * rng.normal(size=depth.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        disparity = np.round(DISPARITY_M / noisy / DISPARITY_STEP) * DISPARITY_STEP
        noisy = np.where(disparity > 0.0, DISPARITY_M / disparity, 0.0)
    jump = ndimage.maximum_filter(depth, 3) - ndimage.minimum_filter(depth, 3)
    shade = (jump > 0.1 * depth) & (rng.random(depth.shape) < 0.5)
    return np.where(shade | (depth <= 0.0), 0.0, noisy).astype(np.float32)


def grow(detection: ImageDetection, pixels: int, shape: tuple[int, int]) -> ImageDetection:
    """Return a detection whose mask reaches `pixels` further, within an image (rows, cols)."""
    u, v, width, height = detection.box
    left, top = max(u - pixels, 0), max(v - pixels, 0)
    right, bottom = min(u + width + pixels, shape[1]), min(v + height + pixels, shape[0])
    box = (left, top, right - left, bottom - top)
    if detection.mask is None:
        return dataclasses.replace(detection, box=box)
    mask = np.pad(detection.mask, pixels)
    mask = ndimage.binary_dilation(mask, iterations=pixels)
    row, column = top - (v - pixels), left - (u - pixels)
    mask = mask[row : row + box[3], column : column + box[2]]
    return dataclasses.replace(detection, box=box, mask=mask)
