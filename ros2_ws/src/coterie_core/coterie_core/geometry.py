"""Points, yaw angles, boxes and poses: metres, radians, z up, map frame (REP-103)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vec2 = tuple[float, float]
Vec3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


def wrap_angle(angle: float) -> float:
    """Return the angle in (-pi, pi] [rad] that points the same way."""
    wrapped = math.remainder(angle, math.tau)
    return math.pi if wrapped == -math.pi else wrapped


def distance(a: Vec3, b: Vec3) -> float:
    """Euclidean distance [m]."""
    return math.dist(a, b)


def yaw_to_quaternion(yaw: float) -> Quaternion:
    """Return the rotation by `yaw` [rad] about z as (x, y, z, w)."""
    return (0.0, 0.0, math.sin(yaw / 2.0), math.cos(yaw / 2.0))


def quaternion_to_yaw(quaternion: Quaternion) -> float:
    """Return the yaw [rad] of a rotation (x, y, z, w); roll and pitch are dropped."""
    x, y, z, w = quaternion
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a robot's base stands: position [m] of `base_link` in the map frame, yaw [rad]."""

    position: Vec3
    yaw: float = 0.0


def relative(origin: Pose, pose: Pose) -> Pose:
    """Return `pose` as seen from `origin`, both in one frame."""
    dx, dy, dz = (b - a for a, b in zip(origin.position, pose.position, strict=True))
    c, s = math.cos(origin.yaw), math.sin(origin.yaw)
    return Pose((c * dx + s * dy, -s * dx + c * dy, dz), wrap_angle(pose.yaw - origin.yaw))


def compose(origin: Pose, pose: Pose) -> Pose:
    """Return a pose seen from `origin` in the frame that `origin` is in."""
    c, s = math.cos(origin.yaw), math.sin(origin.yaw)
    (x, y, z), (px, py, pz) = origin.position, pose.position
    return Pose(
        (x + c * px - s * py, y + s * px + c * py, z + pz), wrap_angle(origin.yaw + pose.yaw)
    )


@dataclass(frozen=True, slots=True)
class Box:
    """A box that stands upright: centre [m], full edge lengths [m], yaw about z [rad]."""

    center: Vec3
    size: Vec3
    yaw: float = 0.0

    @property
    def bottom(self) -> float:
        """Height of the lower face [m]."""
        return self.center[2] - self.size[2] / 2.0

    @property
    def top(self) -> float:
        """Height of the upper face [m]."""
        return self.center[2] + self.size[2] / 2.0

    @property
    def volume(self) -> float:
        """Volume [m^3]."""
        return self.size[0] * self.size[1] * self.size[2]

    def footprint(self) -> tuple[Vec2, Vec2, Vec2, Vec2]:
        """Return the four corners (x, y) [m] of the base, counter-clockwise."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        hx, hy = self.size[0] / 2.0, self.size[1] / 2.0
        x, y = self.center[0], self.center[1]

        def corner(dx: float, dy: float) -> Vec2:
            return (x + c * dx - s * dy, y + s * dx + c * dy)

        return (corner(-hx, -hy), corner(hx, -hy), corner(hx, hy), corner(-hx, hy))

    def axis_aligned(self) -> tuple[Vec3, Vec3]:
        """Return the lowest and highest corner [m] of the axis-aligned box around this one."""
        xs, ys = zip(*self.footprint(), strict=True)
        return (min(xs), min(ys), self.bottom), (max(xs), max(ys), self.top)

    def contains(self, point: Vec3, margin: float = 0.0) -> bool:
        """Tell whether `point` [m] lies inside the box grown by `margin` [m] on every side."""
        return all(beyond <= margin for beyond in self._beyond(point))

    def distance(self, point: Vec3) -> float:
        """Return how far `point` [m] lies from the box [m]; 0 inside."""
        return math.hypot(*(max(0.0, beyond) for beyond in self._beyond(point)))

    def _beyond(self, point: Vec3) -> Vec3:
        """Return how far a point lies beyond the faces of each axis [m]; less than 0 inside."""
        dx, dy = point[0] - self.center[0], point[1] - self.center[1]
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        local = (c * dx + s * dy, -s * dx + c * dy, point[2] - self.center[2])
        x, y, z = (abs(p) - e / 2.0 for p, e in zip(local, self.size, strict=True))
        return x, y, z


def faces_along(box: Box, yaw: float) -> tuple[Vec3, Vec3]:
    """Return lowest and highest corner [m] of the box about a box, along the axes of a heading."""
    axes = heading_axes(yaw)
    middle = axes.T @ np.array(box.center)
    half = np.abs(axes.T @ heading_axes(box.yaw)) @ np.array(box.size) / 2.0
    return _vec(middle - half), _vec(middle + half)


def box_between(low: npt.ArrayLike, high: npt.ArrayLike, yaw: float) -> Box:
    """Return the box that has these lowest and highest corners [m] along the axes of a heading."""
    a, b = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    return Box(_vec(heading_axes(yaw) @ (a + b) / 2.0), _vec(b - a), yaw)


def spanning(box: Box, other: Box) -> Box:
    """Return the smallest box along the heading of the first that holds both."""
    a, b = faces_along(box, box.yaw), faces_along(other, box.yaw)
    return box_between(np.minimum(a[0], b[0]), np.maximum(a[1], b[1]), box.yaw)


def heading_axes(yaw: float) -> npt.NDArray[np.float64]:
    """Axes (3, 3), as columns, of a heading [rad]."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _vec(values: npt.NDArray[np.float64]) -> Vec3:
    x, y, z = (float(v) for v in values)
    return (x, y, z)


def containment(boxes: Sequence[Box], points: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Tell which points (n, 3) [m] lie in which of m boxes: (n, m), as `Box.contains` does."""
    if not boxes:
        return np.zeros((len(points), 0), dtype=bool)
    center = np.array([box.center for box in boxes])
    half = np.array([box.size for box in boxes]) / 2.0
    yaw = np.array([box.yaw for box in boxes])
    c, s = np.cos(yaw), np.sin(yaw)
    x, y, z = (points[:, None, k] - center[:, k] for k in range(3))
    local = np.stack([c * x + s * y, c * y - s * x, z], axis=-1)
    inside: npt.NDArray[np.bool_] = (np.abs(local) <= half).all(axis=-1)
    return inside


def crosses(box: Box, start: Vec3, end: Vec3) -> bool:
    """Tell whether the straight line between two points [m] passes through a box."""
    c, s = math.cos(box.yaw), math.sin(box.yaw)

    def local(point: Vec3) -> Vec3:
        dx, dy, dz = (p - q for p, q in zip(point, box.center, strict=True))
        return (c * dx + s * dy, -s * dx + c * dy, dz)

    a, b = local(start), local(end)
    enters, leaves = 0.0, 1.0
    for p, q, edge in zip(a, b, box.size, strict=True):
        half, way = edge / 2.0, q - p
        if abs(way) < 1e-12:
            if abs(p) > half:
                return False
            continue
        first, last = sorted(((-half - p) / way, (half - p) / way))
        enters, leaves = max(enters, first), min(leaves, last)
    return enters <= leaves


def iou(a: Box, b: Box) -> float:
    """Intersection over union of the axis-aligned boxes around `a` and `b` (0..1)."""
    (a0, a1), (b0, b1) = a.axis_aligned(), b.axis_aligned()
    inter = 1.0
    vol_a = vol_b = 1.0
    for k in range(3):
        inter *= max(0.0, min(a1[k], b1[k]) - max(a0[k], b0[k]))
        vol_a *= a1[k] - a0[k]
        vol_b *= b1[k] - b0[k]
    union = vol_a + vol_b - inter
    return inter / union if union > 0.0 else 0.0


def share_inside(box: Box, other: Box) -> float:
    """Return the share (0..1) of the upright box around a box that is in the one around `other`."""
    (low, high), (other_low, other_high) = box.axis_aligned(), other.axis_aligned()
    share = 1.0
    for a, b, c, d in zip(low, high, other_low, other_high, strict=True):
        share *= max(0.0, min(b, d) - max(a, c)) / max(b - a, 1e-9)
    return share


def grounds_meet(a: Box, b: Box, apart: float = 0.0) -> bool:
    """Tell whether the ground rectangles of two boxes overlap, or come nearer than `apart` [m].

    They do not if all of one lies beyond a side of the other. Beyond a corner `apart` is measured
    along the sides.
    """
    dx, dy = b.center[0] - a.center[0], b.center[1] - a.center[1]
    turn = b.yaw - a.yaw
    c, s = abs(math.cos(turn)), abs(math.sin(turn))
    for one, other in ((a, b), (b, a)):
        cos, sin = math.cos(one.yaw), math.sin(one.yaw)
        width, depth = other.size[:2]
        reach = (one.size[0] + c * width + s * depth, one.size[1] + s * width + c * depth)
        off = (abs(cos * dx + sin * dy), abs(cos * dy - sin * dx))
        if any(away >= both / 2.0 + apart for away, both in zip(off, reach, strict=True)):
            return False
    return True
