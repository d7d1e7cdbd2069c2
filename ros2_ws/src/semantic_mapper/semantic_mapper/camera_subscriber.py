"""The mapper's subscriptions to one camera of a robot, joined to frames to be mapped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from coterie_core.transforms import TransformBuffer
from coterie_msgs.msg import ImageDetections
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.conversions import DetectedBoxes, DetectedImage
from coterie_ros.conversions.detections import Detection2DArray, Detection3DArray
from coterie_world.perception.frame_join import (
    Boxes,
    DepthImage,
    Detections,
    FrameJoin,
    JoinedFrame,
)
from coterie_world.perception.registration import CameraModel


class CameraSubscriber:
    """What comes in from one camera of a robot, up to whole frames; lives in the loop of a node.

    Args:
        node: Listens; has the mapper's parameters.
        robot: Whose camera it is.
        camera: Its name.
        transforms: Poses of the camera over time.
        labels: Names of the classes of vision_msgs by id.
        offer: Takes frames that are whole.
        note: Counts a problem under a name and reports it with a text.
    """

    def __init__(
        self,
        node: AgentNode,
        robot: str,
        camera: str,
        *,
        transforms: TransformBuffer,
        labels: Mapping[str, str],
        offer: Callable[[JoinedFrame], None],
        note: Callable[[str, str], None],
    ) -> None:
        self.node, self.offer, self.note = node, offer, note
        self.name = f"{robot}/{camera}"
        p = node.parameters
        self.join = FrameJoin(
            self.name, transforms, p["map_frame"], p["transform_patience"], p["pair_tolerance"],
            limit=p["queue"], pair_limit=p["queue"], still_period=p["still_period"],
            depth_alone=False, robot=robot, report=note,
        )  # fmt: skip
        topics = {
            name: p[f"{name}_topic"].replace("{robot}", robot).replace("{camera}", camera)
            for name in ("depth", "info", "color", "detections", "boxes")
        }
        depth, info, color = topics["depth"], topics["info"], topics["color"]
        # Large messages: few may wait.
        listen = partial(node.subscribe, limit=2 * p["queue"])
        convert = partial(_read_depth, topic=depth)
        images = partial(listen, rate=p["image_rate"])
        images(_image_type(depth), depth, "sensor_data", self._on_depth, convert=convert)
        model = partial(conversions.intrinsics_from_msg, topic=info)
        listen(CameraInfo, info, "sensor_data", self._on_info, convert=model, latched=True)
        if p["color"]:
            convert_color = partial(_read_color, topic=color)
            images(_image_type(color), color, "sensor_data", self._on_color, convert=convert_color)
        self._hear_detections(topics["detections"], labels)
        if topics["boxes"]:
            read = self._reader(conversions.boxes_from_vision_msg, topics["boxes"], labels=labels)
            listen(Detection3DArray, topics["boxes"], "detections", self._on_boxes, convert=read)

    def _reader(self, read: Callable[..., Any], topic: str, **more: Any) -> Callable[[Any], Any]:
        """Return what reads a detector's messages; of what cannot be used the others are kept."""

        def skip(error: ValueError) -> None:
            self.note(f"{topic}.skipped", f"{topic}: a detection was left out: {error}")

        return partial(read, topic=topic, skip=skip, **more)

    def _hear_detections(self, topic: str, labels: Mapping[str, str]) -> None:
        node = self.node
        if node.parameters["detections_type"] == "vision_msgs":
            read = self._reader(conversions.detections_from_vision_msg, topic, labels=labels)
            kind = Detection2DArray
        else:
            read = self._reader(conversions.detections_from_msg, topic)
            kind = ImageDetections
        limit = 10 * node.parameters["queue"]
        node.subscribe(kind, topic, "detections", self._on_found, convert=read, limit=limit)

    def _on_info(self, model: tuple[tuple[int, int], tuple[float, float, float, float]]) -> None:
        self.join.model = CameraModel(*model)

    def _on_color(self, read: tuple[npt.NDArray[np.uint8], str, float]) -> None:
        self.join.add_color(*read)
        self.retry()

    def _on_depth(self, image: DepthImage) -> None:
        self.join.add_depth(image, asyncio.get_running_loop().time())
        self.retry()

    def _on_found(self, found: DetectedImage) -> None:
        size = (found.width, found.height)
        items = Detections(found.detections, found.frame, found.time, size)
        self.join.add_detections(items, asyncio.get_running_loop().time())
        self.retry()

    def _on_boxes(self, found: DetectedBoxes) -> None:
        boxes = Boxes(found.boxes, found.frame, found.time)
        self.join.add_boxes(boxes, asyncio.get_running_loop().time())
        self.retry()

    def retry(self) -> None:
        """Hand on the frames that are whole by now; give up those that have waited too long."""
        for frame in self.join.ready(asyncio.get_running_loop().time()):
            if frame.boxes != ():
                self.offer(frame)

    def figures(self) -> dict[str, object]:
        """Return what became of images and detections, for the diagnostics."""
        counts = self.join.pairs.counts
        return {
            "pairs": counts.pairs,
            "depth_alone": counts.depth_alone,
            "detections_alone": counts.detections_alone,
            "repeats": counts.repeats,
            "waiting": self.join.waiting,
        }


def _image_type(topic: str) -> Any:
    """CompressedImage where the topic's name says so, as image_transport names them."""
    packed = topic.rsplit("/", 1)[-1] in ("compressed", "compressedDepth")
    return CompressedImage if packed else Image


def _read_depth(message: Any, topic: str) -> DepthImage:
    time = conversions.time_from_msg(message.header.stamp)
    return DepthImage(conversions.depth_from_msg(message, topic), message.header.frame_id, time)


def _read_color(message: Any, topic: str) -> tuple[npt.NDArray[np.uint8], str, float]:
    time = conversions.time_from_msg(message.header.stamp)
    return conversions.color_from_msg(message, topic), message.header.frame_id, time
