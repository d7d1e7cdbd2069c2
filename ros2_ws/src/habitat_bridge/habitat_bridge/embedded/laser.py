"""Planar laser scanners: where a URDF has one, and what its rays meet in a house."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Pose
from coterie_core.transforms import inverse
from coterie_core.urdf.tree import Tree
from habitat_bridge.embedded.sensors import Sensors
from habitat_bridge.links import base_of
from habitat_bridge.render.views import Pillar

LASER_LINK = "laser_link"
"""The link of the scanner in descriptions that Coterie makes."""
_NAMES = re.compile(r"(^|_)(laser|lidar|scan|scanner|lds|rplidar|hokuyo|sick|tim\d+)(\d*)(_|$)")
_PARTS = re.compile(r"mount|plate|bracket|support|motor")


@dataclass(frozen=True, slots=True)
class Laser:
    """A scanner: the link it is in, its pose in the base frame [m], [rad], and its optics.

    Attributes:
        frame: Name of the link.
        pose: Of the scanner in the base frame.
        rays: Rays of a turn, counter-clockwise from straight back.
        near: Nothing nearer is measured [m].
        far: Nothing farther is measured [m].
    """

    frame: str
    pose: Pose
    rays: int = 360
    near: float = 0.05
    far: float = 12.0

    @property
    def increment(self) -> float:
        """Angle between two rays [rad]."""
        return math.tau / self.rays


def laser_of(tree: Tree) -> Laser | None:
    """Return the scanner that a robot's links name, None for none; the joints are at rest."""
    named = [child for child in tree.links if _NAMES.search(child.lower())]
    named.sort(key=lambda name: (bool(_PARTS.search(name.lower())), len(name)))
    if not named:
        return None
    poses = tree.poses(tree.resting())
    pose = inverse(poses[base_of(tree)]) @ poses[named[0]]
    x, y, z = pose[:3, 3].tolist()
    return Laser(named[0], Pose((x, y, z), math.atan2(pose[1, 0], pose[0, 0])))


def scan(
    sensors: Sensors, laser: Laser, base: Pose, robots: Sequence[Pillar]
) -> npt.NDArray[np.float32]:
    """Return the ranges (rays,) [m] that a scanner measures; infinite where nothing is in range.

    Args:
        sensors: Sight into the house.
        laser: The scanner.
        base: Where the robot's base is, map frame.
        robots: The other robots' bodies.
    """
    c, s = math.cos(base.yaw), math.sin(base.yaw)
    (x, y, z), (dx, dy, dz) = base.position, laser.pose.position
    eye = (x + c * dx - s * dy, y + s * dx + c * dy, z + dz)
    angles = base.yaw + laser.pose.yaw - math.pi + np.arange(laser.rays) * laser.increment
    rays = np.zeros((laser.rays, 3), dtype=np.float32)
    rays[:, 0], rays[:, 1] = np.cos(angles), np.sin(angles)
    far, _ = sensors.meets(eye, rays)
    for robot in robots:
        if robot.position[2] <= eye[2] <= robot.position[2] + robot.height:
            far = np.minimum(far, _to_disc(eye, rays, robot))
    inside = (far >= laser.near) & (far <= laser.far)
    return np.where(inside, far, np.inf).astype(np.float32)


def _to_disc(
    eye: tuple[float, float, float], rays: npt.NDArray[np.float32], robot: Pillar
) -> npt.NDArray[np.float32]:
    """Return where rays of 1 m enter a round body (rays,) [m]; infinite where they do not."""
    px, py = robot.position[0] - eye[0], robot.position[1] - eye[1]
    along = rays[:, 0] * px + rays[:, 1] * py
    beside = px * px + py * py - along * along
    depth = robot.radius**2 - beside
    enters = along - np.sqrt(np.maximum(depth, 0.0))
    return np.where((depth > 0.0) & (enters > 0.0), enters, np.inf).astype(np.float32)
