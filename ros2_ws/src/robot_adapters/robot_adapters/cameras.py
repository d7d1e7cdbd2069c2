"""Subscriptions of a real robot's cameras and detectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from std_msgs.msg import Header

from coterie_msgs.msg import ImageDetections
from coterie_ros import conversions
from coterie_ros.conversions import DetectedBoxes, DetectedImage
from coterie_ros.conversions import detections as vision
from robot_adapters.placing import mounted
from robot_adapters.reading import read_model
from robot_adapters.relay import Relay
from robot_adapters.sensing.camera import Boxes, CameraModel, DepthImage, Detections

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode
    from robot_adapters.sensors import Sensors
    from robot_adapters.settings import AdapterSettings
    from robot_adapters.settings_sensing import CameraSettings

_KEPT = {"images": 60, "color": 5, "detections": 50}
"""Messages of a topic that wait for the Observer's thread; the oldest go."""


class Cameras:
    """Hands what cameras and detectors send to the robot's sensors.

    Args:
        node: Listens.
        settings: Topics.
        sensors: The robot's.
        relay: Passes it on to the team.

    Attributes:
        on_depth: Called, in the loop, with every camera's name, depth image and model.
    """

    def __init__(
        self, node: AgentNode, settings: AdapterSettings, sensors: Sensors, relay: Relay
    ) -> None:
        self._node, self._settings, self._sensors, self._relay = node, settings, sensors, relay
        self.on_depth: list[Callable[[str, DepthImage, CameraModel], object]] = []
        self._models: dict[str, CameraModel] = {}
        self._detectors: dict[str, CameraModel] = {}  # of images that detectors see
        self._labels: dict[str, dict[str, str]] = {}
        self._mounted: dict[str, str] = {}  # cameras with a mount -> their optical frames
        self._told: dict[str, dict[str, str]] = {}  # camera -> topic -> frame of its images
        for camera in settings.sensors.all_cameras():
            if camera.mount is not None:
                frame = relay.own(f"{camera.name}_mounted_optical_frame")
                self._mounted[camera.name] = frame
                place = mounted(camera.mount, settings.frames.base, frame, optical=True)
                sensors.on_fixed([place], ours=True)
            self._hear_camera(camera)

    def _frame(self, camera: CameraSettings, topic: str, head: Header) -> str:
        """Return the optical frame of an image: with a mount the camera's own, else as told."""
        self._told.setdefault(camera.name, {})[topic] = head.frame_id.lstrip("/")
        return self._mounted.get(camera.name, head.frame_id)

    def _frame_of_boxes(self, camera: CameraSettings, frame: str) -> str:
        """Return the frame of boxes in space: the mounted camera's, where they are told in it."""
        told, names = self._told.get(camera.name, {}).values(), self._settings.frames
        frame = frame.lstrip("/")
        # Of a camera without images nothing else tells the optical frame.
        alone = not told and not camera.depth and frame not in (names.map, names.odom, names.base)
        return self._mounted.get(camera.name, frame) if alone or frame in told else frame

    def _hear_camera(self, camera: CameraSettings) -> None:
        node, found = self._node, camera.detections
        for topic, detector in ((camera.info, False), (found.info, True)):
            if topic:
                node.subscribe(
                    CameraInfo, topic, "sensor_data", partial(self._on_info, camera, detector),
                    convert=partial(read_model, topic=topic), latched=True,
                )  # fmt: skip
        images = partial(node.subscribe, limit=_KEPT["images"],
                         rate=self._settings.sensors.max_rate)  # fmt: skip
        for topic, use in ((camera.depth, self._on_depth), (camera.color, self._on_color)):
            if topic:
                packed = "compressed" in topic.lower()
                kind = CompressedImage if packed else Image
                images(kind, topic, "sensor_data", partial(use, camera))
        if found.topic:
            self._hear_detections(camera)

    def _hear_detections(self, camera: CameraSettings) -> None:
        node, found, table = self._node, camera.detections, dict(camera.detections.labels)
        self._labels[camera.name] = table
        kind: Any = ImageDetections
        work: Callable[..., None] = self._on_found
        if found.type != "coterie_msgs/ImageDetections":
            kind = getattr(vision, found.type.rpartition("/")[2])
            if kind is None:
                raise ValueError(
                    f"sensors: {found.topic} sends {found.type}, and vision_msgs is not installed: "
                    "run ./coterie setup --with robots, or install ros-jazzy-vision-msgs"
                )
            work = self._on_boxes if found.in_space else self._on_found
            if found.label_info:
                node.subscribe(
                    vision.LabelInfo, found.label_info, "latched", table.update,
                    convert=partial(conversions.labels_from_msg, topic=found.label_info),
                )  # fmt: skip
        readers: dict[str, Callable[..., Any]] = {
            "coterie_msgs/ImageDetections": conversions.detections_from_msg,
            "vision_msgs/Detection2DArray": conversions.detections_from_vision_msg,
            "vision_msgs/Detection3DArray": conversions.boxes_from_vision_msg,
        }
        named = {} if kind is ImageDetections else {"labels": table}
        read = partial(
            readers[found.type], topic=found.topic, frame=self._mounted.get(camera.name, ""),
            skip=partial(self._on_skipped, found.topic), **named,
        )  # fmt: skip
        node.subscribe(
            kind, found.topic, "detections", partial(work, camera),
            convert=read, limit=_KEPT["detections"],
        )  # fmt: skip

    def _on_info(
        self, camera: CameraSettings, detector: bool, read: tuple[CameraModel, CameraInfo]
    ) -> None:
        model, message = read
        topic = camera.detections.info if detector else camera.info
        message.header.frame_id = self._frame(camera, topic, message.header)
        if not detector:
            self._models[camera.name] = model
            self._relay.info(camera, message)
        else:
            self._detectors[camera.name] = model
        work = partial(self._sensors.observer.feed_info, camera.name, model, detector=detector)
        self._sensors.feed(f"{camera.name} info {detector}", 1, work)

    def _on_depth(self, camera: CameraSettings, message: Any) -> None:
        stamp = conversions.time_from_msg(message.header.stamp)
        if not self._sensors.trusted(camera.depth, stamp):
            return
        # Read when it is used, if it is: most images of a fast camera are not.
        read = partial(conversions.depth_from_msg, message, camera.depth)
        image = DepthImage(read, self._frame(camera, camera.depth, message.header), stamp)
        if camera.name in self._models:
            image = self._sensors.observer.own_arm.cleared(image, self._models[camera.name])
        if self._sensors.steady:
            self._relay.depth(camera, image)
        if camera.name in self._models:
            for callback in self.on_depth:
                callback(camera.name, image, self._models[camera.name])
        now = self._node.now()
        work = partial(self._sensors.observer.add_depth, camera.name, image, now)
        self._sensors.feed(camera.depth, _KEPT["images"], work)

    def _on_color(self, camera: CameraSettings, message: Any) -> None:
        """Pass on a color image; read in the Observer's thread, if anybody listens."""
        stamp = conversions.time_from_msg(message.header.stamp)
        if self._relay.wants_color(camera) and self._sensors.trusted(camera.color, stamp):
            message.header.frame_id = self._frame(camera, camera.color, message.header)
            work = partial(self._relay.color, camera, message)
            self._sensors.feed(camera.color, _KEPT["color"], work)

    def _on_skipped(self, topic: str, error: ValueError) -> None:
        """Count a detection that cannot be used, and say so of the first; the others are used."""
        if self._node.diagnostics.count(f"{topic}.skipped") == 1:
            self._node.problem(f"{topic}: a detection was left out: {error}")

    def _on_found(self, camera: CameraSettings, found: DetectedImage) -> None:
        topic, observer = camera.detections.topic, self._sensors.observer
        if not self._sensors.trusted(topic, found.time):
            return
        frame, size = self._mounted.get(camera.name, found.frame), (found.width, found.height)
        model = self._detectors.get(camera.name, self._models.get(camera.name))
        if model is not None and all(size):
            model = model.scaled(size)
        others = observer.own_arm.in_image(found.detections, frame, model)
        found = replace(found, frame=frame, detections=others)
        self._relay.detections(camera, found)
        items = Detections(others, frame, found.time, size)
        if camera.depth:
            work = partial(observer.add_detections, camera.name, items, self._node.now())
        else:
            work = partial(observer.feed_labels, items)
        self._sensors.feed(topic, _KEPT["detections"], work)

    def _on_boxes(self, camera: CameraSettings, found: DetectedBoxes) -> None:
        topic = camera.detections.topic
        if self._sensors.trusted(topic, found.time):
            frame = self._frame_of_boxes(camera, found.frame)
            others = self._sensors.observer.own_arm.in_space(found.boxes, frame)
            found = replace(found, frame=frame, boxes=others)
            if self._sensors.steady:
                self._relay.boxes(camera, found)
            items = Boxes(others, frame, found.time)
            add, now = self._sensors.observer.add_boxes, self._node.now()
            work = partial(add, camera.name, items, now)
            self._sensors.feed(topic, _KEPT["detections"], work)
