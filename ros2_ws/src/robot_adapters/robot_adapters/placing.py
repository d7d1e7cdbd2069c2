"""Where a robot's frames are: by its tf, by a topic with its pose, by where its sensors sit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from scipy.spatial.transform import Rotation

from coterie_core.geometry import Quaternion, Vec3
from coterie_ros import conversions
from robot_adapters.sensing.clocks import AHEAD_OF_ODOMETRY
from tf2_msgs.msg import TFMessage

if TYPE_CHECKING:
    from coterie_core.transforms import TransformBuffer
    from coterie_ros.agent_node import AgentNode
    from robot_adapters.relay import Relay
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


class RobotFrames:
    """Takes what a robot tells of its frames, by tf or by a topic with its pose.

    Args:
        node: Listens.
        frames: Topics and names.
        transforms: Gets them.
        relay: Passes them on to the team.
        trusted: Tells whether a topic's stamp [s], which may be ahead on purpose [s], fits to the
            clock here.
    """

    def __init__(
        self,
        node: AgentNode,
        frames: FrameSettings,
        transforms: TransformBuffer,
        relay: Relay,
        trusted: Callable[[str, float, float], bool],
    ) -> None:
        self._node, self._frames, self._transforms = node, frames, transforms
        self._relay, self._trusted = relay, trusted
        self._posed = -math.inf  # [s] of the newest pose
        for topic, qos, take in (
            (frames.tf, "tf", self._take),
            (f"{frames.tf}_static", "tf_static", self.fix),
        ):
            node.subscribe(
                TFMessage, topic, qos, partial(self._on_tf, topic, take),
                convert=partial(conversions.transforms_from_msg, topic=topic),
            )  # fmt: skip
        read = partial(transform_of_pose, topic=frames.pose, parent=frames.map, child=frames.base)
        if frames.pose:  # who tells it only when the robot has moved latches it
            node.subscribe(
                _KINDS[frames.pose_type], frames.pose, "sensor_data", self._on_pose,
                convert=read, latched=True,
            )  # fmt: skip

    def fix(self, transforms: Sequence[Transform], *, ours: bool = False) -> None:
        """Take transforms that hold at all times; ours: which the robot itself does not tell."""
        for transform in transforms:
            self._transforms.add(*transform, fixed=True)
        self._relay.transforms(transforms, fixed=True, ours=ours)

    def _on_tf(
        self, topic: str, take: Callable[[list[Transform]], None], transforms: list[Transform]
    ) -> None:
        """Take what is the robot's own, without where its base is if `frames.pose` tells that."""
        frames, own = self._frames, []
        for transform in transforms:
            parent, child = (name.lstrip("/") for name in transform[:2])
            if self._relay.sent_by_adapters(child):
                continue
            if not frames.pose or child != frames.base:
                own.append(transform)
            elif (
                parent != self._relay.name(frames.map)  # else it is what the relay has sent
                and self._node.diagnostics.count(f"{topic}.base_unused") == 1
            ):
                self._node.problem(
                    f"{topic}: where {child} is in {parent} is not used, since frames.pose "
                    f"({frames.pose}) tells where it is; leave out frames.pose if tf connects "
                    f"{frames.map} with {child}"
                )
        take(own)

    def _on_pose(self, transform: Transform) -> None:
        # A topic that latches and goes on comes by both subscriptions.
        if transform[-1] != self._posed:
            self._posed = transform[-1]
            self._take([transform], ours=True)

    def _take(self, transforms: Sequence[Transform], *, ours: bool = False) -> None:
        own = {self._frames.odom: AHEAD_OF_ODOMETRY, self._frames.base: 0.0}
        passed = []
        for transform in transforms:
            parent, child, _, _, stamp = transform
            # Of a tf that all robots share only this one's own clock matters here.
            name = child.lstrip("/")
            if name in own and not self._trusted(f"tf {parent} -> {child}", stamp, own[name]):
                continue
            self._transforms.add(*transform)
            passed.append(transform)
        self._relay.transforms(passed, fixed=False, ours=ours)


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
