"""Cameras and detectors of the lab's robots: images, packed ones too, vision_msgs, yolo_msgs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from std_msgs.msg import Header
from vision_msgs.msg import Detection2DArray, Detection3DArray

from coterie_core.detections import BoxDetection, ImageDetection
from coterie_core.embodiment import Camera
from coterie_ros import conversions
from coterie_ros.safe_publisher import SafePublisher
from habitat_bridge.image_detector import ImageDetector
from habitat_bridge.lab.robot import LabRobotNode
from habitat_bridge.simulator import Frame, FrameRequest

YOLO = "yolo_msgs/DetectionArray"


class LabCamera:
    """The topics of one camera, and of the detector that looks at its images.

    Args:
        robot: Whose camera.
        camera: The camera.
    """

    def __init__(self, robot: LabRobotNode, camera: Camera) -> None:
        self.robot = robot
        self.camera = camera
        node, topic = robot.node, robot.settings.topic
        self._frame = robot.settings.frame(f"{camera.name}_optical_frame")
        images = topic(f"{camera.name}/color/image_raw")
        depth = topic(f"{camera.name}/depth/image_raw")
        self._color = node.publisher(Image, images, "sensor_data")
        self._jpeg = node.publisher(CompressedImage, f"{images}/compressed", "sensor_data")
        self._depth = node.publisher(Image, depth, "sensor_data")
        self._png = node.publisher(CompressedImage, f"{depth}/compressedDepth", "sensor_data")
        self._infos = [
            node.publisher(CameraInfo, topic(f"{camera.name}/{channel}/camera_info"), "sensor_data")
            for channel in ("color", "depth")
        ]
        yolo = robot.settings.detections.get(camera.name) == YOLO
        self._found = (
            partial(detections_yolo, camera=camera)
            if yolo
            else conversions.detections_to_vision_msg
        )
        kind = conversions.detection_type(YOLO) if yolo else Detection2DArray
        if kind is None:
            raise ValueError(f"robot {robot.name}: its detector speaks {YOLO}, not installed here")
        self._flat = node.publisher(kind, topic(f"{camera.name}/detections"), "detections")
        self._solid = node.publisher(
            Detection3DArray, topic(f"{camera.name}/detections_3d"), "detections"
        )

    @property
    def silent(self) -> bool:
        """Whether no image comes."""
        return bool(self.robot.suffers("camera_silent") or self.robot.suffers("link_cut"))

    def request(self) -> FrameRequest | None:
        """Return the image that somebody waits for, None where nobody does."""
        if self.silent:
            return None
        channels: set[Any] = set()
        if self._color.subscribers or self._jpeg.subscribers:
            channels.add("color")
        if self._depth.subscribers or self._png.subscribers:
            channels.add("depth")
        if self._flat.subscribers or self._solid.subscribers:
            channels |= {"depth", "semantic"}
        if not channels:
            return None
        return FrameRequest(self.robot.name, self.camera.name, tuple(sorted(channels)))

    def publish_infos(self) -> None:
        """Publish the camera's model."""
        if not self.silent:
            message = conversions.camera_info_to_msg(self.camera, self.robot.header(self._frame))
            for publisher in self._infos:
                publisher.publish(message)

    def publish(self, frame: Frame, detector: ImageDetector | None) -> None:
        """Publish an image, and what the detector finds in it; a flooding camera repeats itself."""
        head = self.robot.header(self._frame)
        frame = self.robot.plant.with_held(self.robot.name, frame)
        flood = self.robot.suffers("camera_flooding")
        copies = max(int(flood.size), 1) if flood is not None else 1
        for publisher, make in self._messages(frame, detector, head):
            if publisher.subscribers:
                message = make()
                for _ in range(copies):
                    publisher.publish(message)

    def _messages(
        self, frame: Frame, detector: ImageDetector | None, head: Header
    ) -> Iterator[tuple[SafePublisher, Callable[[], Any]]]:
        color, depth = frame.color, frame.depth
        if color is not None:
            yield self._color, lambda: conversions.image_to_msg(color, head)
            yield self._jpeg, lambda: conversions.packed_color_to_msg(color, head)
        if depth is not None:
            yield self._depth, lambda: conversions.image_to_msg(depth, head)
            yield self._png, lambda: conversions.packed_depth_to_msg(depth, head)
        if frame.semantic is not None and depth is not None and detector is not None:
            found = self._seen(detector, frame)
            yield self._flat, lambda: self._found(found, head)
            yield self._solid, lambda: detections_3d(found, frame, head)

    def _seen(self, detector: ImageDetector, frame: Frame) -> list[ImageDetection]:
        if self.robot.suffers("detector_absent"):
            return []
        found = detector.detect(frame, number=round(1e3 * frame.time))
        if not self.robot.suffers("detector_wrong"):
            return found
        labels = detector.labels or ["thing"]
        shifted = {name: labels[(k + 7) % len(labels)] for k, name in enumerate(labels)}
        return [
            ImageDetection(
                one.box,
                {shifted.get(label, labels[0]): score for label, score in one.scores.items()},
                one.mask,
            )
            for one in found
        ]


def detections_yolo(found: Sequence[ImageDetection], head: Header, camera: Camera) -> Any:
    """Return detections as yolo_ros has them: one class each, with the outline of its mask [px]."""
    message = conversions.detection_type(YOLO)(header=head)
    kind = conversions.detection_type("yolo_msgs/Detection")
    point = conversions.detection_type("yolo_msgs/Point2D")
    for k, one in enumerate(found):
        x, y, width, height = one.box
        item = kind(class_name=one.label, score=float(one.scores[one.label]), id=str(k))
        middle, size = item.bbox.center.position, item.bbox.size
        middle.x, middle.y = x + width / 2.0, y + height / 2.0
        size.x, size.y = float(width), float(height)
        if one.mask is not None and one.mask.any():
            item.mask.width, item.mask.height = camera.width, camera.height
            item.mask.data = [point(x=float(u + x), y=float(v + y)) for u, v in _outline(one.mask)]
        message.detections.append(item)
    return message


def _outline(mask: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The corners (column, row) around a mask: down its right edge, and up its left one."""
    rows = np.flatnonzero(mask.any(axis=1))
    lefts = mask[rows].argmax(axis=1)
    rights = mask.shape[1] - 1 - mask[rows, ::-1].argmax(axis=1)
    down = list(zip(rights.tolist(), rows.tolist(), strict=True))
    up = list(zip(lefts.tolist(), rows.tolist(), strict=True))
    return down + up[::-1]


def detections_3d(found: Sequence[ImageDetection], frame: Frame, head: Header) -> Detection3DArray:
    """Return detections as boxes in the camera's optical frame [m], from the depth image.

    A box stands along the frame's axes around the points between the 5th and 95th percentile, as
    segmenting detectors with depth make it.
    """
    boxes: list[BoxDetection] = []
    assert frame.depth is not None
    focal = frame.camera.focal
    for one in found:
        x, y, width, height = one.box
        rows, cols = slice(max(y, 0), max(y + height, 0)), slice(max(x, 0), max(x + width, 0))
        depth = frame.depth[rows, cols]
        mask = np.ones(depth.shape, dtype=bool)
        if one.mask is not None:
            mask = one.mask[max(-y, 0) :, max(-x, 0) :][: depth.shape[0], : depth.shape[1]]
        v, u = np.nonzero(mask & (depth > 0.0))
        if len(v) < 4:
            continue
        z = depth[v, u]
        px = (u + cols.start - (frame.camera.width - 1) / 2.0) * z / focal
        py = (v + rows.start - (frame.camera.height - 1) / 2.0) * z / focal
        low, high = np.percentile(np.stack([px, py, z]), [5.0, 95.0], axis=1)
        center, size = ((low + high) / 2.0).tolist(), np.maximum(high - low, 0.01).tolist()
        boxes.append(BoxDetection(tuple(center), (0.0, 0.0, 0.0, 1.0), tuple(size), one.scores))
    return conversions.boxes_to_vision_msg(boxes, head)
