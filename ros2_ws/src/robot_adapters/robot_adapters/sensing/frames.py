"""Where the robot is in its map, by tf: how old that is, and whether it jumped."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from coterie_core.geometry import Pose, wrap_angle
from coterie_core.transforms import Matrix, TransformBuffer, TransformError, inverse


@dataclass(frozen=True, slots=True)
class FrameNames:
    """Names of a robot's frames, as its tf has them (REP-105).

    Plain names on a topic of the robot's own, as Nav2 has them, or names with a prefix on one /tf.
    `odom` may be "": then jumps are told by the robot's speed alone.
    """

    map: str = "map"
    base: str = "base_link"
    odom: str = "odom"


@dataclass(frozen=True, slots=True)
class Jump:
    """The pose in the map changed without motion: when [s], how far [m], how much [rad]."""

    time: float
    distance: float
    angle: float

    def __str__(self) -> str:
        """Say so in one line."""
        return (
            f"localization jumped by {self.distance:.2f} m and {math.degrees(self.angle):.0f} "
            f"degrees at {self.time:.2f} s"
        )


# A correction of the pose by more is a jump.
_JUMP_DISTANCE = 0.25  # [m]
_JUMP_ANGLE = 0.2  # [rad]


class Localization:
    """The robot's pose in its map over time.

    Args:
        transforms: The robot's tf.
        names: Its frames.
        stale_after: How old the newest pose may be [s].
        speed: Fastest that the robot can drive [m/s]; for jumps where there is no odometry.
    """

    def __init__(
        self,
        transforms: TransformBuffer,
        names: FrameNames,
        *,
        stale_after: float = 1.0,
        speed: float = 2.0,
    ) -> None:
        self.transforms, self.names = transforms, names
        self.stale_after = stale_after
        self._speed = speed
        self._last: tuple[float, Matrix, Matrix | None] | None = None

    def pose_at(self, time: float) -> Pose:
        """Return where the base was at a time [s].

        Raises:
            TransformError: That is not known (TransformNotYet: not yet).
        """
        return pose_of(self.transforms.lookup(self.names.map, self.names.base, time))

    def pose(self, now: float) -> tuple[Pose, float]:
        """Return where the base is and the stamp of that [s].

        Raises:
            TransformError: It is not known, or too old; says for how long.
        """
        names = self.names
        newest = self.transforms.latest(names.map, names.base)
        if newest + self.stale_after < now:
            raise TransformError(
                f"tf {names.map!r} -> {names.base!r} is stale: newest from {newest:.2f} s, "
                f"{now - newest:.1f} s ago; is localization running?"
            )
        time = min(newest, now)
        return self.pose_at(time), time

    def check_jump(self) -> Jump | None:
        """Return a jump since the last call, None where there was none.

        A correction is what the way map -> base changed by beyond what odometry drove.
        """
        names = self.names
        try:
            time = self.transforms.latest(names.map, names.base)
            if not math.isfinite(time):
                return None
            base = self.transforms.lookup(names.map, names.base, time)
        except TransformError:
            return None
        odom = self._odom(time)
        last, self._last = self._last, (time, base, odom)
        if last is None or time <= last[0]:
            return None
        before, old, old_odom = last
        slack = 0.0
        expected = old
        if odom is not None and old_odom is not None:
            expected = old @ inverse(old_odom) @ odom
        else:
            slack = self._speed * (time - before)
        distance = float(np.linalg.norm((base - expected)[:2, 3]))
        angle = abs(wrap_angle(pose_of(base).yaw - pose_of(expected).yaw))
        if distance <= _JUMP_DISTANCE + slack and (angle <= _JUMP_ANGLE or slack > 0.0):
            return None
        return Jump(time, distance, angle)

    def _odom(self, time: float) -> Matrix | None:
        if not self.names.odom:
            return None
        try:
            return self.transforms.lookup(self.names.odom, self.names.base, time)
        except TransformError:
            return None


def pose_of(matrix: Matrix) -> Pose:
    """Return position [m] and yaw [rad] of a rigid matrix (4, 4); roll and pitch are dropped."""
    x, y, z = matrix[:3, 3].tolist()
    return Pose((x, y, z), math.atan2(matrix[1, 0], matrix[0, 0]))
