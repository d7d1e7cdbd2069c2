"""A robot's own arm and what its hand holds: cameras see them, and they are nowhere in the house.

A detection of furniture behind the hand takes its depth for the furniture's, so both leave depth
images.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np
from scipy.spatial.transform import Rotation

from coterie_core.detections import BoxDetection, ImageDetection
from coterie_core.geometry import Vec3
from coterie_core.household import load_household
from coterie_core.transforms import TransformBuffer, TransformError
from coterie_world.perception.frame_join import DepthImage
from coterie_world.perception.points import deprojected
from coterie_world.perception.registration import CameraModel, Depth, Intrinsics

_AROUND = 0.08
"""Fingers, and what the thing has slipped in them, reach so far beyond the thing [m]."""
_THICK = 0.08
"""Arms reach so far beyond the lines between their links' origins [m]."""
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
    """An arm that tells what its hand holds, and its `links` in tf, as far as they are known."""

    links: tuple[str, ...]

    @property
    def grasped(self) -> Grasped | None:
        """What the hand holds; None: nothing, or where the hand is nobody tells."""
        ...


@dataclass(frozen=True, slots=True)
class Capsule:
    """All points within a radius [m] of a line between two points, in a camera's frame [m]."""

    start: Vec3
    end: Vec3
    radius: float

    def cut_out(self, depth: Depth, intrinsics: Intrinsics) -> Depth:
        """Return a depth image (rows, cols) [m] with 0 where it shows one of the points."""
        rows, columns = depth.shape
        left, right = self._span(0, intrinsics[0], intrinsics[2], columns)
        top, bottom = self._span(1, intrinsics[1], intrinsics[3], rows)
        part = depth[top:bottom, left:right]
        v, u = np.nonzero(part > 0.0)  # False for NaN
        points = deprojected(u + left, v + top, part[v, u], intrinsics)
        along = np.subtract(self.end, self.start)
        share = (points - self.start) @ along / max(float(along @ along), 1e-12)
        nearest = self.start + np.clip(share, 0.0, 1.0)[:, None] * along
        hit = np.linalg.norm(points - nearest, axis=1) <= self.radius
        if not hit.any():
            return depth
        out = depth.copy()
        out[v[hit] + top, u[hit] + left] = 0.0
        return out

    def _span(self, axis: int, focal: float, center: float, count: int) -> tuple[int, int]:
        """Return the columns (axis 0) or rows of an image in which all of it lies."""
        ends = (self.start, self.end)
        if max(end[2] for end in ends) + self.radius <= 0.0:
            return 0, 0  # behind the camera
        if min(end[2] for end in ends) <= self.radius:
            return 0, count  # next to it
        # Its outline lies within those of the cubes around its ends.
        sides = [
            center + focal * (end[axis] + side) / (end[2] + ahead)
            for end in ends
            for side in (-self.radius, self.radius)
            for ahead in (-self.radius, self.radius)
        ]
        low, high = math.floor(min(sides)), math.ceil(max(sides)) + 1
        return min(max(low, 0), count), min(max(high, 0), count)


class OwnArm:
    """Tells the arm and what its hand holds from what is in the house, by where tf has them.

    Where tf does not have them, all counts as in the house.

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
        middle = self._point(frame, grasped.link, grasped.point)
        if middle is None:
            return None
        return middle, math.hypot(*grasped.size) / 2.0 + _AROUND

    def _point(self, frame: str, link: str, point: Vec3 = (0.0, 0.0, 0.0)) -> Vec3 | None:
        """Return a point of a link in a frame [m]; None: tf does not have it."""
        try:
            time = self._transforms.latest(frame, link)
            pose = self._transforms.lookup(frame, link, time if math.isfinite(time) else 0.0)
        except TransformError:
            return None
        x, y, z = (pose @ np.array([*point, 1.0]))[:3].tolist()
        return (x, y, z)

    def capsules(self, frame: str) -> list[Capsule]:
        """Return the arm and what its hand holds, in a frame."""
        links = self.arm.links if self.arm is not None else ()
        points = [at for link in links if (at := self._point(frame, link)) is not None]
        arm = [Capsule(a, b, _THICK) for a, b in pairwise(points)]
        held = self.sphere(frame)
        return arm if held is None else [*arm, Capsule(held[0], *held)]

    def cleared(self, image: DepthImage, model: CameraModel) -> DepthImage:
        """Return a depth image, to be read when needed, without arm and hand: 0 is there.

        Args:
            image: The image.
            model: Of the camera; it is scaled to the image's size.
        """
        capsules = self.capsules(image.frame)
        if not capsules:
            return image

        def read() -> Depth:
            depth = image.pixels()
            intrinsics = model.scaled(depth.shape[::-1]).intrinsics
            for capsule in capsules:
                depth = capsule.cut_out(depth, intrinsics)
            return depth

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
        """Return what a detector found in space, in a frame, without what the hand holds.

        That may be a box from the hand to the floor behind it: detectors put into one box what
        shows beside a thing.
        """
        held = self.sphere(frame)
        if held is None:
            return tuple(found)
        middle, radius = held

        def held_one(one: BoxDetection) -> bool:
            near = math.dist(one.center, middle) <= radius
            if near and max(one.size) <= 2.0 * _LARGER * radius:
                return True
            away = np.subtract(middle, one.center)
            inside = np.abs(Rotation.from_quat(one.rotation).inv().apply(away)) - _AROUND
            return bool((inside <= np.divide(one.size, 2.0)).all()) and min(one.size) <= radius

        return _others(found, held_one)


def _others(found: Sequence[Found], held: Callable[[Found], bool]) -> tuple[Found, ...]:
    """Return what is not held: that is none of the furniture."""
    household = load_household()
    return tuple(one for one in found if household.kind(one.label) == "furniture" or not held(one))
