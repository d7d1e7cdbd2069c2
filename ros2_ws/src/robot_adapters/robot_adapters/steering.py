"""How a base that takes velocities follows a path, and the room in front of it; ROS-free."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Pose, Vec2, wrap_angle

Points = npt.NDArray[np.float64]

_LOOKAHEAD = 0.45
"""How far along its path the robot steers for [m]."""
_SPACING = 0.1
"""Distance of the points that a path is brought to [m]."""
_TURN_FIRST = 0.6
"""Beyond this angle to its path the robot turns on the spot [rad]."""
_TURN_GAIN = 2.0
_CREEP = 0.05
"""Slowest speed that wheels take [m/s]."""


@dataclass(frozen=True, slots=True)
class Motion:
    """How fast a base drives.

    Attributes:
        speed: Highest speed [m/s].
        turn: Highest turn rate [rad/s].
        braking: Deceleration that the base manages [m/s^2].
        radius: Radius of the body [m].
        margin: Distance to obstacles at which it stands still [m].
    """

    speed: float = 0.4
    turn: float = 0.8
    braking: float = 0.5
    radius: float = 0.25
    margin: float = 0.15

    @property
    def beside(self) -> float:
        """How far beside the body obstacles stop it [m]; see `room_ahead`."""
        return 0.3 * self.margin


class PathFollower:
    """Follows one path in the robot's map.

    Args:
        path: Points (x, y) [m], from where the robot is to the goal.
        straight: Whether the body can go straight between two points, by the map.
    """

    def __init__(
        self, path: Sequence[Vec2], straight: Callable[[Vec2, Vec2], bool] = lambda a, b: True
    ) -> None:
        self._points = _resampled(path)
        steps = np.hypot(*np.diff(self._points, axis=0).T)
        self._ahead = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
        self._straight = straight
        self._at = 0

    def remaining(self, here: Sequence[float]) -> float:
        """Return how far it is to the end of the path [m]."""
        self._advance(here)
        to_path = math.dist(here[:2], self._points[self._at])
        return float(self._ahead[self._at]) + to_path

    def off(self, here: Sequence[float]) -> float:
        """Return how far the robot is from its path [m]."""
        self._advance(here)
        return math.dist(here[:2], self._points[self._at])

    def command(self, pose: Pose, free: float, motion: Motion) -> tuple[float, float]:
        """Return speed [m/s] and turn rate [rad/s], counter-clockwise.

        Args:
            pose: Where the base is.
            free: Room in front of the body [m]; see `room_ahead`.
            motion: How fast it may be.
        """
        here = (pose.position[0], pose.position[1])
        left = self.remaining(here)
        aim = self._aim(here)
        angle = wrap_angle(math.atan2(aim[1] - here[1], aim[0] - here[0]) - pose.yaw)
        turn = min(max(_TURN_GAIN * angle, -motion.turn), motion.turn)
        if abs(angle) > _TURN_FIRST:
            return 0.0, turn
        room = free - motion.margin
        if room <= 0.0:
            return 0.0, turn
        braked = math.sqrt(2.0 * motion.braking * min(left, room))
        speed = min(motion.speed, max(braked, _CREEP)) * math.cos(angle)
        return speed, turn

    def _advance(self, here: Sequence[float]) -> None:
        """Go on to the nearest point of what lies ahead; never back."""
        window = self._points[self._at : self._at + int(1.0 / _SPACING)]
        away = np.hypot(window[:, 0] - here[0], window[:, 1] - here[1])
        self._at += int(np.argmin(away))

    def _aim(self, here: Vec2) -> Vec2:
        """Return the farthest point within the lookahead that can be driven to straight."""
        aim = self._points[min(self._at + 1, len(self._points) - 1)]
        for point in self._points[self._at + 1 : self._at + 1 + int(_LOOKAHEAD / _SPACING)]:
            if not self._straight(here, (float(point[0]), float(point[1]))):
                break
            aim = point
        return (float(aim[0]), float(aim[1]))


def turn_rate(angle: float, motion: Motion) -> float:
    """Return the turn rate [rad/s] for an angle that is left [rad]."""
    rate = min(max(_TURN_GAIN * angle, -motion.turn), motion.turn)
    least = min(0.2, motion.turn)
    return math.copysign(max(abs(rate), least), angle)


def room_ahead(points: Points, motion: Motion) -> float:
    """Return the room in front of a body that drives straight ahead [m]; infinite: all of it.

    Args:
        points: Obstacles (n, 2) in the base frame [m]; those inside of the body are the body's own.
        motion: Radius and margin of the body.
    """
    if not len(points):
        return math.inf
    away = np.hypot(points[:, 0], points[:, 1])
    half = motion.radius + motion.beside
    mask = (points[:, 0] > 0.0) & (np.abs(points[:, 1]) < half) & (away > 0.8 * motion.radius)
    if not mask.any():
        return math.inf
    inside = points[mask]
    # The front of a round body is nearer to what lies straight ahead.
    front = np.sqrt(np.maximum(motion.radius**2 - inside[:, 1] ** 2, 0.0))
    return float(np.min(inside[:, 0] - front))


def scan_points(ranges: Points, first: float, step: float, nearest: float, most: float) -> Points:
    """Return the points (n, 3) of a laser scan in the scanner's frame [m].

    Args:
        ranges: (rays,) [m]; those that are no numbers or out of range say nothing.
        first: Angle of the first ray [rad].
        step: Angle between two rays [rad].
        nearest: Least range that counts [m].
        most: Greatest range that counts [m].
    """
    angles = first + step * np.arange(len(ranges))
    good = np.isfinite(ranges) & (ranges >= nearest) & (ranges <= most)
    r, a = ranges[good], angles[good]
    return np.stack([r * np.cos(a), r * np.sin(a), np.zeros(len(r))], axis=1)


def depth_points(
    depth: npt.NDArray[np.float32], intrinsics: Sequence[float], stride: int = 6
) -> Points:
    """Return points (n, 3) of a depth image in its optical frame [m].

    Args:
        depth: (rows, cols) [m]; what is no number or 0 says nothing.
        intrinsics: (fx, fy, cx, cy) [px] with the first pixel's corner at 0.
        stride: Every so many rows and columns.
    """
    fx, fy, cx, cy = intrinsics
    rows, cols = np.meshgrid(
        np.arange(0, depth.shape[0], stride), np.arange(0, depth.shape[1], stride), indexing="ij"
    )
    z = depth[rows, cols].astype(np.float64)
    good = np.isfinite(z) & (z > 0.05)
    x = (cols[good] + 0.5 - cx) / fx * z[good]
    y = (rows[good] + 0.5 - cy) / fy * z[good]
    return np.stack([x, y, z[good]], axis=1)


def _resampled(path: Sequence[Vec2]) -> Points:
    points = np.asarray(path, dtype=np.float64).reshape(-1, 2)
    if len(points) == 1:
        return np.concatenate([points, points])
    steps = np.hypot(*np.diff(points, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    count = max(2, int(along[-1] / _SPACING) + 1)
    at = np.linspace(0.0, along[-1], count)
    return np.stack([np.interp(at, along, points[:, k]) for k in (0, 1)], axis=1)
