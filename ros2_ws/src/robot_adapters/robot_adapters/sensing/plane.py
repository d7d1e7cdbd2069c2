"""Where a robot's map lies in the team's: a turn and a shift of the floor plan."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Box, Pose, Vec3, heading_axes, wrap_angle

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MapPose:
    """Pose of a robot's map in the team's map: shift [m] and turn about z [rad]."""

    x: float = 0.0
    y: float = 0.0
    yaw: float = 0.0
    z: float = 0.0

    def to_team(self, point: Vec3) -> Vec3:
        """Return a point [m] of the robot's map in the team's."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return (
            self.x + c * point[0] - s * point[1],
            self.y + s * point[0] + c * point[1],
            self.z + point[2],
        )

    def to_robot(self, point: Vec3) -> Vec3:
        """Return a point [m] of the team's map in the robot's."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        dx, dy = point[0] - self.x, point[1] - self.y
        return (c * dx + s * dy, -s * dx + c * dy, point[2] - self.z)

    def pose_to_team(self, pose: Pose) -> Pose:
        """Return a pose of the robot's map in the team's."""
        return Pose(self.to_team(pose.position), wrap_angle(pose.yaw + self.yaw))

    def pose_to_robot(self, pose: Pose) -> Pose:
        """Return a pose of the team's map in the robot's: for goals."""
        return Pose(self.to_robot(pose.position), wrap_angle(pose.yaw - self.yaw))

    def box_to_team(self, box: Box) -> Box:
        """Return a box of the robot's map in the team's."""
        return Box(self.to_team(box.center), box.size, wrap_angle(box.yaw + self.yaw))

    def box_to_robot(self, box: Box) -> Box:
        """Return a box of the team's map in the robot's."""
        return Box(self.to_robot(box.center), box.size, wrap_angle(box.yaw - self.yaw))

    def points_to_team(self, points: npt.NDArray[np.floating]) -> Array:
        """Return points (n, 2) [m] of the robot's map in the team's."""
        turned = points @ heading_axes(self.yaw)[:2, :2].T
        return np.asarray(turned + np.array([self.x, self.y]), dtype=np.float64)
