"""What a robot's cameras see, for the team: the semantic mapper's topics, in frames of the team.

Robots with a /tf of their own all have a `base_link` and a `map`. For the team their frames get the
robot's name in front, and hang below the team's map frame where the robot's map lies in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, TransformStamped
from nav_msgs.msg import Odometry
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from coterie_core.geometry import Pose, Quaternion, Vec3
from coterie_msgs.msg import ImageDetections
from coterie_ros import conversions
from coterie_ros.conversions import DetectedBoxes, DetectedImage
from coterie_ros.safe_publisher import SafePublisher
from coterie_world.perception.frame_join import DepthImage
from robot_adapters.sensing.clocks import AHEAD_OF_ODOMETRY
from robot_adapters.sensing.plane import MapPose
from robot_adapters.settings import RELAYED, AdapterSettings
from robot_adapters.settings_sensing import CameraSettings
from tf2_msgs.msg import TFMessage

if TYPE_CHECKING:
    from coterie_core.transforms import TransformBuffer
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

DEPTH, INFO, DETECTIONS = "depth/image_raw", "depth/camera_info", "detections"
COLOR, BOXES = "color/image_raw", "boxes"
_REPEAT = 1.0
"""A camera's model that its robot tells no more is told again so often [s]."""


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


class Relay:
    """Publishes depth, camera models, detections and transforms for the team.

    Args:
        node: Publishes; made in its `on_start`.
        settings: Frames and cameras.
        robot: The robot's name.
    """

    def __init__(self, node: AgentNode, settings: AdapterSettings, robot: str) -> None:
        self._node, self._frames = node, settings.frames
        self._robot = robot
        self._on_teams_tf = settings.frames.tf == "/tf"
        # On a /tf for all robots their frames have different names already. Where a topic tells
        # the pose, nobody but the adapter puts it onto a tf.
        shared = self._on_teams_tf and not settings.frames.pose
        self._prefix = "" if shared else f"{robot}/"
        self._infos: dict[str, CameraInfo] = {}
        self._outputs: dict[tuple[str, str], SafePublisher] = {}
        for camera in settings.sensors.all_cameras():
            outputs = [
                (DEPTH, Image, "sensor_data"),
                (INFO, CameraInfo, "sensor_data"),
                (DETECTIONS, ImageDetections, "detections"),
            ]
            if camera.color:
                outputs.append((COLOR, Image, "sensor_data"))
            if camera.detections.in_space:
                outputs.append((BOXES, conversions.detections.Detection3DArray, "detections"))
            for name, kind, qos in outputs:
                topic = f"{RELAYED}/{camera.name}/{name}"
                self._outputs[camera.name, name] = node.publisher(kind, topic, qos)
        self._moving = None if shared else node.publisher(TFMessage, "/tf", "tf")
        self._fixed = node.publisher(TFMessage, "/tf_static", "tf_static")
        self._known: dict[str, TransformStamped] = {}

    def name(self, frame: str) -> str:
        """Return the team's name of a frame of the robot."""
        frame = frame.lstrip("/")
        return frame if frame.startswith(self._prefix) else f"{self._prefix}{frame}"

    def own(self, frame: str) -> str:
        """Return the robot's name of a frame that the adapter makes; no other robot has it."""
        return frame if self._prefix else f"{self._robot}/{frame}"

    def sent_by_adapters(self, child: str) -> bool:
        """Whether an adapter, this one or another robot's, has put a frame onto the robot's tf.

        Such names begin with a robot's; those of the robot itself are plain, or as that of its
        base.
        """
        if not (self._on_teams_tf and self._prefix):
            return False
        space = self._frames.base.rpartition("/")[0]
        return "/" in child and not (space and child.startswith(f"{space}/"))

    def place(self, pose: MapPose) -> None:
        """Publish where the robot's map lies in the team's."""
        child = self.name(self._frames.map)
        if child == conversions.MAP:
            if pose != MapPose():
                self._node.problem(
                    f"frames.map is {child!r}, as the team's map: give the robot's map another "
                    "name, or its own tf topic (frames.tf), for in_team_map to hold"
                )
            return
        at = Pose((pose.x, pose.y, pose.z), pose.yaw)
        self._fix([conversions.transform_to_msg(conversions.MAP, child, at, self._node.now())])

    def transforms(
        self, transforms: Iterable[Transform], *, fixed: bool, ours: bool = False
    ) -> None:
        """Pass on what the robot's own tf tells, or what nobody but the team file tells (ours)."""
        if not fixed and (self._moving is None or not self._moving.subscribers):
            return  # nobody hears them
        named = [
            conversions.rigid_to_msg(self.name(parent), self.name(child), position, rotation, time)
            for parent, child, position, rotation, time in transforms
            # What has its name already is on the team's tf.
            if ours or not self._on_teams_tf or self.name(child) != child.lstrip("/")
        ]
        if not named:
            return
        if fixed:
            self._fix(named)
        elif self._moving is not None:
            self._moving.publish(TFMessage(transforms=named))

    def _fix(self, transforms: Iterable[TransformStamped]) -> None:
        # One latched message holds all: who comes later gets the last message only.
        self._known |= {one.child_frame_id: one for one in transforms}
        self._fixed.publish(TFMessage(transforms=list(self._known.values())))

    def info(self, camera: CameraSettings, message: CameraInfo) -> None:
        """Pass on a camera's model."""
        message.header.frame_id = self.name(message.header.frame_id)
        self._infos[camera.name] = message
        self._outputs[camera.name, INFO].publish(message)

    def _repeat_info(self, camera: CameraSettings, time: float) -> None:
        """Tell a camera's model again by an image's time [s], where the robot told it but once."""
        message = self._infos.get(camera.name)
        if message is not None and time - conversions.time_from_msg(message.header.stamp) > _REPEAT:
            message.header.stamp = conversions.time_to_msg(time)
            self._outputs[camera.name, INFO].publish(message)

    def depth(self, camera: CameraSettings, image: DepthImage) -> None:
        """Pass on a depth image."""
        self._repeat_info(camera, image.time)
        out = self._outputs[camera.name, DEPTH]
        if out.subscribers:
            head = conversions.header(image.time, self.name(image.frame))
            try:
                out.publish(conversions.image_to_msg(image.pixels(), head))
            except ValueError as error:
                self._node.diagnostics.warn(f"{camera.depth}: not passed on: {error}")

    def wants_color(self, camera: CameraSettings) -> bool:
        """Whether somebody listens to a camera's color images."""
        return bool(self._outputs[camera.name, COLOR].subscribers)

    def color(self, camera: CameraSettings, message: Image | CompressedImage) -> None:
        """Pass on a color image, as plain RGB.

        Raises:
            ConversionError: It is no color image.
        """
        pixels = conversions.color_from_msg(message, camera.color)
        stamp = conversions.time_from_msg(message.header.stamp)
        head = conversions.header(stamp, self.name(message.header.frame_id))
        self._outputs[camera.name, COLOR].publish(conversions.image_to_msg(pixels, head))

    def boxes(self, camera: CameraSettings, found: DetectedBoxes) -> None:
        """Pass on what a detector found in space."""
        self._repeat_info(camera, found.time)
        out = self._outputs[camera.name, BOXES]
        if out.subscribers:
            head = conversions.header(found.time, self.name(found.frame))
            out.publish(conversions.boxes_to_vision_msg(found.boxes, head))

    def detections(self, camera: CameraSettings, found: DetectedImage) -> None:
        """Pass on what a detector found in an image."""
        out = self._outputs[camera.name, DETECTIONS]
        size = (found.width, found.height)
        if not all(size) and camera.name in self._infos:
            info = self._infos[camera.name]
            size = (int(info.width), int(info.height))
        if out.subscribers and all(size):
            head = conversions.header(found.time, self.name(found.frame))
            kind = camera.detections.type
            out.publish(conversions.detections_to_msg(found.detections, head, size, kind))
