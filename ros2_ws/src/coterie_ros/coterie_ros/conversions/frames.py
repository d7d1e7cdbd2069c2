"""Frames of a robot (REP-105): names, odometry, transforms, to messages and back."""

from __future__ import annotations

import math

from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry

from coterie_core.embodiment import Camera
from coterie_core.geometry import (
    Pose,
    Vec3,
    yaw_to_quaternion,
)
from coterie_core.geometry import (
    Quaternion as QuaternionTuple,
)
from coterie_ros.conversions.basics import (
    header,
    pose_from_msg,
    pose_to_msg,
    time_from_msg,
    time_to_msg,
)
from coterie_ros.conversions.checks import FAR, Checks
from tf2_msgs.msg import TFMessage

MAP = "map"


def odom_frame(robot: str) -> str:
    """Name of a robot's odometry frame."""
    return f"{robot}/odom"


def base_frame(robot: str) -> str:
    """Name of a robot's base frame."""
    return f"{robot}/base_link"


def camera_frame(robot: str, camera: str) -> str:
    """Name of a camera's body frame (x ahead, z up)."""
    return f"{robot}/{camera}_link"


def optical_frame(robot: str, camera: str) -> str:
    """Name of a camera's optical frame (x right, y down, z ahead)."""
    return f"{robot}/{camera}_optical_frame"


def transform_to_msg(parent: str, child: str, pose: Pose, time: float) -> TransformStamped:
    """Return the pose of frame `child` in frame `parent` at `time` [s] as a transform."""
    return rigid_to_msg(parent, child, pose.position, yaw_to_quaternion(pose.yaw), time)


def transforms_from_msg(
    message: TFMessage, topic: str = "/tf"
) -> list[tuple[str, str, Vec3, QuaternionTuple, float]]:
    """Return what a tf message holds: (parent, child, position [m], quaternion, time [s]) each.

    Raises:
        ConversionError: Too many of them, a number that is not finite, no rotation, no name.
    """
    checks = Checks(topic)
    out = []
    for k, item in enumerate(checks.items("transforms", message.transforms)):
        part = checks.at(f"transforms[{k}]")
        parent = part.text("header.frame_id", item.header.frame_id, empty=False)
        child = part.text("child_frame_id", item.child_frame_id, empty=False)
        t = item.transform.translation
        x, y, z = (part.number(f"translation.{a}", getattr(t, a), -FAR, FAR) for a in "xyz")
        rotation = part.rotation("rotation", item.transform.rotation)
        out.append((parent, child, (x, y, z), rotation, time_from_msg(item.header.stamp)))
    return out


def camera_transforms(robot: str, camera: Camera, time: float) -> list[TransformStamped]:
    """Return the fixed transforms base -> camera body -> camera optical frame."""
    half = camera.pitch / 2.0
    body = rigid_to_msg(
        base_frame(robot),
        camera_frame(robot, camera.name),
        (camera.mount_forward, 0.0, camera.mount_height),
        (0.0, math.sin(half), 0.0, math.cos(half)),  # pitch about y: down is positive
        time,
    )
    optical = rigid_to_msg(
        camera_frame(robot, camera.name),
        optical_frame(robot, camera.name),
        (0.0, 0.0, 0.0),
        (-0.5, 0.5, -0.5, 0.5),  # REP-103: z ahead, x right, y down
        time,
    )
    return [body, optical]


_DEVIATION = 0.01  # of position [m] and yaw [rad], for the covariance of odometry


def odometry_to_msg(
    robot: str,
    pose: Pose,
    linear: Vec3,
    angular: float,
    time: float,
) -> Odometry:
    """Return a robot's odometry as a message.

    Args:
        robot: Its name.
        pose: Of the base in its odometry frame.
        linear: Velocity in the odometry frame [m/s]; in the message it is in the base frame.
        angular: Turning rate about z [rad/s].
        time: Stamp [s].
    """
    message = Odometry(header=header(time, odom_frame(robot)), child_frame_id=base_frame(robot))
    message.pose.pose = pose_to_msg(pose)
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    message.twist.twist.linear.x = c * linear[0] + s * linear[1]
    message.twist.twist.linear.y = -s * linear[0] + c * linear[1]
    message.twist.twist.linear.z = float(linear[2])
    message.twist.twist.angular.z = float(angular)
    diagonal = [_DEVIATION**2] * 3 + [1e-9, 1e-9, _DEVIATION**2]
    covariance = [0.0] * 36
    covariance[::7] = diagonal
    message.pose.covariance = covariance
    message.twist.covariance = covariance
    return message


def odometry_from_msg(message: Odometry, topic: str = "odom") -> tuple[Pose, Vec3, float]:
    """Return (pose in the odometry frame, velocity in that frame [m/s], turning rate [rad/s]).

    Raises:
        ConversionError: A number that is not finite, or no rotation.
    """
    checks = Checks(topic)
    pose = pose_from_msg(message.pose.pose, checks, "pose.pose")
    twist = message.twist.twist
    x, y, z = (
        checks.number(f"twist.twist.linear.{a}", getattr(twist.linear, a), -1e3, 1e3) for a in "xyz"
    )
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    rate = checks.number("twist.twist.angular.z", twist.angular.z, -1e3, 1e3)
    return pose, (c * x - s * y, s * x + c * y, z), rate


def rigid_to_msg(
    parent: str, child: str, position: Vec3, rotation: QuaternionTuple, time: float
) -> TransformStamped:
    """Return where frame `child` is in frame `parent` at `time` [s]: position [m], quaternion."""
    # Filled in, for a constructor makes what it is given once more, and there are thousands.
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id, message.header.stamp = parent, time_to_msg(time)
    at, turned = message.transform.translation, message.transform.rotation
    at.x, at.y, at.z = (float(value) for value in position)
    turned.x, turned.y, turned.z, turned.w = rotation
    return message
