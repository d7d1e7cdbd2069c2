"""Frames that tf does not tell: the base by a topic with its pose, sensors by where they sit."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from scipy.spatial.transform import Rotation

from coterie_core.geometry import Quaternion, Vec3
from coterie_ros import conversions

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode
    from robot_adapters.settings_base import MountSettings
    from robot_adapters.settings_sensing import FrameSettings

Transform = tuple[str, str, Vec3, Quaternion, float]
"""Parent, child, position [m], rotation (x, y, z, w), stamp [s]."""

_KINDS: dict[str, Any] = {
    "nav_msgs/Odometry": Odometry,
    "geometry_msgs/PoseStamped": PoseStamped,
    "geometry_msgs/PoseWithCovarianceStamped": PoseWithCovarianceStamped,
}
# From the axes of a body (x ahead, y left, z up) to those of an optical frame (REP 103).
_OPTICAL = Rotation.from_euler("xyz", (-math.pi / 2.0, 0.0, -math.pi / 2.0))


def hear_pose(
    node: AgentNode, frames: FrameSettings, take: Callable[[list[Transform]], None]
) -> None:
    """Take the poses of a topic for transforms from the map to the base; needs `frames.pose`."""
    read = partial(transform_of_pose, topic=frames.pose, parent=frames.map, child=frames.base)
    node.subscribe(
        _KINDS[frames.pose_type], frames.pose, "sensor_data", lambda one: take([one]), convert=read
    )


def transform_of_pose(message: Any, *, topic: str, parent: str, child: str) -> Transform:
    """Return the pose of a message as a transform; the frames that it names itself do not count.

    Raises:
        ValueError: Numbers that are not finite, or no rotation.
    """
    pose = message.pose if isinstance(message, PoseStamped) else message.pose.pose
    p, o = pose.position, pose.orientation
    numbers = (p.x, p.y, p.z, o.x, o.y, o.z, o.w)
    if not all(map(math.isfinite, numbers)) or abs(math.hypot(*numbers[3:]) - 1.0) > 0.01:
        raise ValueError(
            f"{topic}: expected a finite position and a rotation of length 1, got {numbers}"
        )
    stamp = conversions.time_from_msg(message.header.stamp)
    return parent, child, (p.x, p.y, p.z), (o.x, o.y, o.z, o.w), stamp


def mounted(at: MountSettings, base: str, frame: str, *, optical: bool) -> Transform:
    """Return where a sensor's frame sits on the base; optical: it is a camera's (REP 103)."""
    turned = Rotation.from_euler("xyz", (at.roll, at.pitch, at.yaw))
    if optical:
        turned = turned * _OPTICAL
    x, y, z, w = turned.as_quat().tolist()
    return base, frame, (at.x, at.y, at.z), (x, y, z, w), 0.0
