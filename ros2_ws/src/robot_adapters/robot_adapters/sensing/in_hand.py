"""What a robot's own hand holds: its cameras see that as well, and it is nowhere in the house.

A detection of furniture behind the hand takes its depth for the furniture's, so it leaves depth
images as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from coterie_core.detections import BoxDetection, ImageDetection
from coterie_core.geometry import Vec3
from coterie_core.household import load_household
from coterie_core.perception.points import deprojected
from coterie_core.transforms import TransformBuffer, TransformError
from robot_adapters.sensing.camera import CameraModel, Depth, DepthImage

_AROUND = 0.08
"""Fingers, and what the thing has slipped in them, reach so far beyond the thing [m]."""
_LARGER = 1.5
"""A detection so many times as large as the thing and the fingers is something behind them."""

Found = TypeVar("Found", ImageDetection, BoxDetection)


@dataclass(frozen=True, slots=True)
class Grasped:
    """What a hand holds.

    Attributes:
        size: Full edge lengths of the thing [m].
        link: The frame of the hand.
        point: Where it grasps, in that frame [m].
    """

    size: Vec3
    link: str
    point: Vec3 = (0.0, 0.0, 0.0)


class Holder(Protocol):
    """An arm that tells what its hand holds."""

    @property
    def grasped(self) -> Grasped | None:
        """What the hand holds; None: nothing, or where the hand is nobody tells."""
        ...


class InHand:
    """Tells what the hand holds from what is in the house, by where tf has the hand.

    Where tf does not have it, all counts as in the house.

    Args:
        transforms: The robot's tf.

    Attributes:
        arm: The robot's; None: it has none.
    """

    def __init__(self, transforms: TransformBuffer) -> None:
        self.arm: Holder | None = None
        self._transforms = transforms

    def sphere(self, frame: str) -> tuple[Vec3, float] | None:
        """Return the middle and the radius [m] of what the hand holds, with the fingers.

        As tf has it at last: while it drives a robot keeps its arm still.

        Args:
            frame: In which frame.
        """
        grasped = self.arm.grasped if self.arm is not None else None
        if grasped is None:
            return None
        try:
            time = self._transforms.latest(frame, grasped.link)
            pose = self._transforms.lookup(
                frame, grasped.link, time if math.isfinite(time) else 0.0
            )
        except TransformError:
            return None
        x, y, z = (pose @ np.array([*grasped.point, 1.0]))[:3].tolist()
        return (x, y, z), math.hypot(*grasped.size) / 2.0 + _AROUND

    def cleared(self, image: DepthImage, model: CameraModel) -> DepthImage:
        """Return a depth image, to be read when needed, without what the hand holds: 0 is there.

        Args:
            image: The image.
            model: Of the camera; it is scaled to the image's size.
        """
        held = self.sphere(image.frame)
        if held is None:
            return image

        def read() -> Depth:
            return _without(image.pixels(), model, *held)

        return DepthImage(read, image.frame, image.time)

    def in_image(
        self, found: Sequence[ImageDetection], frame: str, model: CameraModel | None
    ) -> tuple[ImageDetection, ...]:
        """Return what a detector found in an image, without what the hand holds.

        Args:
            found: The detections.
            frame: The camera's optical frame.
            model: Of the image; None: not known, and all counts.
        """
        held = self.sphere(frame)
        if held is None or model is None or held[0][2] <= 0.0:
            return tuple(found)
        (x, y, z), radius = held
        fx, fy, cx, cy = model.intrinsics
        middle, reach = (fx * x / z + cx, fy * y / z + cy), fx * radius / z

        def held_one(one: ImageDetection) -> bool:
            u, v, width, height = one.box
            off = math.dist(middle, (u + width / 2.0, v + height / 2.0))
            return off <= reach and max(width, height) <= 2.0 * _LARGER * reach

        return _others(found, held_one)

    def in_space(self, found: Sequence[BoxDetection], frame: str) -> tuple[BoxDetection, ...]:
        """Return what a detector found in space, in a frame, without what the hand holds."""
        held = self.sphere(frame)
        if held is None:
            return tuple(found)
        middle, radius = held

        def held_one(one: BoxDetection) -> bool:
            near = math.dist(one.center, middle) <= radius
            return near and max(one.size) <= 2.0 * _LARGER * radius

        return _others(found, held_one)


def _without(depth: Depth, model: CameraModel, middle: Vec3, radius: float) -> Depth:
    """Return depth (rows, cols) [m] with 0 for the points in a sphere in the camera's frame."""
    x, y, z = middle
    rows, columns = depth.shape
    fx, fy, cx, cy = model.scaled((columns, rows)).intrinsics
    if z + radius <= 0.0:
        return depth
    spans = []
    for focal, center, at, count in ((fx, cx, x, columns), (fy, cy, y, rows)):
        # The sphere's outline lies in the image of the cube around it.
        ends = [
            center + focal * (at + side) / (z + ahead)
            for side in (-radius, radius)
            for ahead in (-radius, radius)
        ]
        whole = z <= radius  # the camera is next to it
        low, high = (0, count) if whole else (math.floor(min(ends)), math.ceil(max(ends)) + 1)
        spans.append((min(max(low, 0), count), min(max(high, 0), count)))
    (left, right), (top, bottom) = spans
    part = depth[top:bottom, left:right]
    v, u = np.nonzero(part > 0.0)  # False for NaN
    points = deprojected(u + left, v + top, part[v, u], (fx, fy, cx, cy))
    hit = np.linalg.norm(points - np.array(middle), axis=1) <= radius
    out = depth.copy()
    out[v[hit] + top, u[hit] + left] = 0.0
    return out


def _others(found: Sequence[Found], held: Callable[[Found], bool]) -> tuple[Found, ...]:
    """Return what is not held: that is none of the furniture."""
    household = load_household()
    return tuple(one for one in found if household.kind(one.label) == "furniture" or not held(one))
