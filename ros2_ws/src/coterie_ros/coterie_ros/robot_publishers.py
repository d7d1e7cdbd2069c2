"""The topics of one robot's body: odometry, frames, cameras, description, resume, observations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import CameraInfo, Image, PointCloud2
from std_msgs.msg import String

from coterie_core.detections import ImageDetection
from coterie_core.embodiment import Camera, Embodiment
from coterie_core.geometry import Pose, Quaternion, Vec3
from coterie_core.observation import Observation
from coterie_msgs.msg import ImageDetections
from coterie_msgs.msg import Observation as ObservationMsg
from coterie_ros import conversions
from tf2_msgs.msg import TFMessage

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

Channel = Literal["color", "depth", "semantic"]
Link = tuple[str, str, Vec3, Quaternion]
CHANNELS: tuple[Channel, ...] = ("color", "depth", "semantic")


class CameraPublishers:
    """The topics of one camera of a robot."""

    def __init__(self, node: AgentNode, robot: str, camera: Camera, with_cloud: bool) -> None:
        self.camera = camera
        self._frame = conversions.optical_frame(robot, camera.name)
        base = f"{robot}/{camera.name}"
        self._images = {
            channel: node.publisher(Image, f"{base}/{channel}/image_raw", "sensor_data")
            for channel in CHANNELS
        }
        self._infos = {
            channel: node.publisher(CameraInfo, f"{base}/{channel}/camera_info", "sensor_data")
            for channel in CHANNELS
        }
        self._labels = node.publisher(String, f"{base}/semantic/labels", "latched")
        self._label_info = (
            node.publisher(conversions.LabelInfo, f"{base}/semantic/label_info", "latched")
            if conversions.LabelInfo is not None
            else None
        )
        self._known: dict[int, str] = {}
        self._detections = node.publisher(ImageDetections, f"{base}/detections", "detections")
        self._cloud = (
            node.publisher(PointCloud2, f"{robot}/scan_points", "sensor_data")
            if with_cloud
            else None
        )

    @property
    def wanted(self) -> tuple[Channel, ...]:
        """Channels whose pixels somebody listens to."""
        channels: list[Channel] = [c for c in CHANNELS if self._images[c].subscribers]
        if self._cloud is not None and self._cloud.subscribers and "depth" not in channels:
            channels.append("depth")
        return tuple(channels)

    @property
    def detections_wanted(self) -> int:
        """How many listen to what a detector finds in the images."""
        return self._detections.subscribers

    def publish_detections(
        self, time: float, found: Sequence[ImageDetection], detector: str
    ) -> None:
        """Publish what a detector found in the images of a moment [s]."""
        size = (self.camera.width, self.camera.height)
        head = conversions.header(time, self._frame)
        self._detections.publish(conversions.detections_to_msg(found, head, size, detector))

    @property
    def infos_wanted(self) -> tuple[Channel, ...]:
        """Channels whose camera model somebody listens to."""
        return tuple(channel for channel in CHANNELS if self._infos[channel].subscribers)

    def publish_infos(self, time: float) -> None:
        """Publish the camera's model for a moment [s] to those who listen, images or none."""
        wanted = self.infos_wanted
        if wanted:
            head = conversions.header(time, self._frame)
            message = conversions.camera_info_to_msg(self.camera, head)
            for channel in wanted:
                self._infos[channel].publish(message)

    def publish(
        self,
        time: float,
        images: dict[Channel, npt.NDArray[Any]],
        labels: Mapping[int, str] | None = None,
    ) -> None:
        """Publish images of one moment [s] to those who listen.

        Args:
            time: Their moment [s].
            images: Images by channel.
            labels: Labels of the numbers in the semantic image; new ones are published.
        """
        head = conversions.header(time, self._frame)
        pixels = images.get("semantic")
        if labels and pixels is not None and self._images["semantic"].subscribers:
            # Only what was in an image: a world's whole list would tell what nobody has seen.
            seen = {int(n): labels[int(n)] for n in np.unique(pixels) if int(n) in labels}
            if not seen.items() <= self._known.items():
                self._known |= seen
                self._labels.publish(conversions.semantic_labels_to_msg(self._known))
                if self._label_info is not None:
                    self._label_info.publish(conversions.label_info_to_msg(self._known, head))
        for channel, pixels in images.items():
            if self._images[channel].subscribers:
                self._images[channel].publish(conversions.image_to_msg(pixels, head))
        depth = images.get("depth")
        if depth is not None and self._cloud is not None and self._cloud.subscribers:
            points = conversions.depth_to_points(depth.astype(np.float32, copy=False), self.camera)
            self._cloud.publish(conversions.cloud_to_msg(points, head))


class ObservationPublishers:
    """What agents are told of one robot: description, resume and observations.

    Args:
        node: Node that publishes the topics.
        robot: The robot's name.
        body: Its embodiment.
        base: Prefix of the topics; the node's own namespace for "".
    """

    def __init__(self, node: AgentNode, robot: str, body: Embodiment, base: str) -> None:
        self._node = node
        self.robot = robot
        self.body = body
        self._base = base
        self._observations = node.publisher(ObservationMsg, f"{base}observation", "observations")
        self._last: ObservationMsg | None = None
        self._listeners = 0

    def describe(self, urdf: str, summary: str = "", *, with_resume: bool = True) -> None:
        """Publish the latched description, and the resume unless a resume node does."""
        if urdf:
            description = self._node.publisher(String, f"{self._base}robot_description", "latched")
            description.publish(String(data=urdf))
        if with_resume:
            # Made here: a publisher that stays silent would look like a second source.
            resume = self._node.publisher(String, f"{self._base}resume", "latched")
            resume.publish(conversions.resume_to_msg(self.robot, self.body, summary=summary))

    def publish_observation(self, observation: Observation) -> None:
        """Publish an observation; it is repeated to those who come later."""
        self._last = conversions.observation_to_msg(observation, conversions.MAP)
        self._listeners = self._observations.subscribers
        self._observations.publish(self._last)

    def repeat_observation(self, *, to_new_only: bool = False) -> None:
        """Publish the last observation again (same `step`), or only if somebody new listens."""
        listeners = self._observations.subscribers
        newcomers = listeners > self._listeners
        self._listeners = listeners
        if self._last is not None and listeners and (newcomers or not to_new_only):
            self._observations.publish(self._last)


class RobotPublishers(ObservationPublishers):
    """The topics of one robot, in the namespace of its name.

    The odometry frame is where the robot started: `map -> odom` is fixed, as far as the source of
    the poses knows where it is.

    Args:
        node: Node that publishes the topics.
        robot: The robot's name.
        body: Its embodiment.
        start: Start pose in the map frame.
        pixels: Whether there are images.
    """

    def __init__(
        self, node: AgentNode, robot: str, body: Embodiment, start: Pose, *, pixels: bool
    ) -> None:
        super().__init__(node, robot, body, f"{robot}/")
        self._start = start
        self._odometry = node.publisher(Odometry, f"{robot}/odom", "odometry")
        self.cameras = (
            [CameraPublishers(node, robot, camera, k == 0) for k, camera in enumerate(body.cameras)]
            if pixels
            else []
        )

    def fixed_frames(self, time: float = 0.0, links: Sequence[Link] = ()) -> list[TransformStamped]:
        """Return the transforms that never change: map -> odom, base -> cameras, and links.

        Args:
            time: Stamp [s].
            links: Links of the robot's description at rest, with their names there: parent, child,
                position [m], quaternion. A frame of a camera stays where the camera is.
        """
        odom = conversions.odom_frame(self.robot)
        frames = [conversions.transform_to_msg(conversions.MAP, odom, self._start, time)]
        for camera in self.body.cameras:
            frames += conversions.camera_transforms(self.robot, camera, time)
        known = {frame.child_frame_id for frame in frames}
        for parent, child, position, rotation in links:
            name = f"{self.robot}/{child}"
            if name not in known:
                known.add(name)
                frames.append(
                    conversions.rigid_to_msg(
                        f"{self.robot}/{parent}", name, position, rotation, time
                    )
                )
        return frames

    def moving_frame(self, pose: Pose, time: float) -> TransformStamped:
        """Return the transform odom -> base for a pose in the map frame."""
        return conversions.transform_to_msg(
            conversions.odom_frame(self.robot),
            conversions.base_frame(self.robot),
            conversions.relative(self._start, pose),
            time,
        )

    def publish_odometry(self, pose: Pose, linear: Vec3, angular: float, time: float) -> None:
        """Publish odometry if somebody listens; pose and velocity [m/s] are in the map frame."""
        if not self._odometry.subscribers:
            return
        turned = conversions.relative(Pose((0.0, 0.0, 0.0), self._start.yaw), Pose(linear)).position
        here = conversions.relative(self._start, pose)
        self._odometry.publish(conversions.odometry_to_msg(self.robot, here, turned, angular, time))


class FramePublisher:
    """/tf and /tf_static for all robots of a node."""

    def __init__(self, node: AgentNode) -> None:
        self._moving = node.publisher(TFMessage, "/tf", "tf")
        self._fixed = node.publisher(TFMessage, "/tf_static", "tf_static")

    def publish_fixed(self, transforms: Iterable[TransformStamped]) -> None:
        """Publish the transforms that never change, all in one latched message."""
        self._fixed.publish(TFMessage(transforms=list(transforms)))

    def publish(self, transforms: Iterable[TransformStamped]) -> None:
        """Publish transforms of this moment, if somebody listens."""
        if self._moving.subscribers:
            self._moving.publish(TFMessage(transforms=list(transforms)))
