"""Where a robot believes to be: its own map frame, its odometry, and how its localization errs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from coterie_core.geometry import Pose, compose, relative

_ORIGIN = Pose((0.0, 0.0, 0.0))
_GOOD = 0.05  # [m] of a localization that works
_GOOD_YAW = 0.03  # [rad]


@dataclass(slots=True)
class Localization:
    """A robot's belief about where it is.

    The house has a frame that nobody in the lab knows; each robot has a map of its own in it.

    Attributes:
        map_origin: The robot's map frame in the house.
        start: Where its odometry began, in the house.
        error: Pose of the true map frame in the believed one: nothing while localization works.
        deviation: Standard deviation of the believed position [m].
    """

    map_origin: Pose
    start: Pose
    error: Pose = _ORIGIN
    deviation: float = _GOOD

    @property
    def yaw_deviation(self) -> float:
        """Standard deviation of the believed heading [rad]."""
        return _GOOD_YAW if self.deviation <= _GOOD else math.pi / 2.0

    def believed(self, pose: Pose) -> Pose:
        """Return the pose in the robot's map that it believes to have at a pose in the house."""
        return compose(self.error, relative(self.map_origin, pose))

    def true(self, pose: Pose) -> Pose:
        """Return the pose in the house that belongs to a believed one in the robot's map."""
        return compose(self.map_origin, relative(self.error, pose))

    def odometry(self, pose: Pose) -> Pose:
        """Return a pose in the house in the odometry frame."""
        return relative(self.start, pose)

    def map_to_odom(self) -> Pose:
        """Return the odometry frame in the robot's map, as its localization corrects it."""
        return self.believed(self.start)

    def jump(self, distance: float) -> None:
        """Err by a distance [m] from now on."""
        self.error = Pose((0.8 * distance, -0.6 * distance, 0.0), 0.0)

    def believe(self, believed: Pose, pose: Pose) -> None:
        """Believe a pose from now on that a person tells (initialpose), at one in the house."""
        seen = relative(self.map_origin, pose)
        self.error = compose(believed, relative(seen, _ORIGIN))
        self.deviation = _GOOD

    def recover(self) -> None:
        """Be right again."""
        self.error, self.deviation = _ORIGIN, _GOOD
