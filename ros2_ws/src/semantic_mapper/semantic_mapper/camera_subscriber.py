"""What comes in from one camera of a robot, put together to frames that can be mapped."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from coterie_core.detections import BoxDetection, ImageDetection, RgbdFrame
from coterie_core.transforms import TransformBuffer, TransformError, TransformNotYet
from coterie_msgs.msg import ImageDetections
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.conversions import DetectedBoxes, DetectedImage
from coterie_ros.conversions.detections import Detection2DArray, Detection3DArray
from coterie_world.perception.boxes import masked, moved
from coterie_world.perception.motion_filter import MotionFilter
from coterie_world.perception.pairing import FramePairs
from semantic_mapper.builder import MapBuilder

Model = tuple[tuple[int, int], tuple[float, float, float, float]]
COLOR_PATIENCE = 1.0
"""How long a frame waits for its color image, where the camera sends any [s]."""


@dataclass(frozen=True, slots=True)
class Depth:
    """A depth image (rows, cols) [m] and its frame."""

    pixels: npt.NDArray[np.float32]
    frame: str


@dataclass(frozen=True, slots=True)
class Job:
    """A frame to be mapped: with detections in its image, or boxes in the map."""

    frame: RgbdFrame
    detections: tuple[ImageDetection, ...] = ()
    boxes: tuple[BoxDetection, ...] = ()

    def add_to(self, builder: MapBuilder) -> None:
        """Add the frame to a map."""
        if self.boxes:
            builder.add_boxes(self.frame, self.boxes)
        else:
            builder.add(self.frame, self.detections)


@dataclass(slots=True)
class Waiting:
    """A frame of which something has not come yet.

    On the loop's clock [s]: pose and camera model are waited for until `due`, the color image until
    `color_due`.
    """

    time: float
    depth: Depth
    found: DetectedImage | DetectedBoxes
    due: float
    color_due: float


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
        offer: Callable[[Job], None],
        note: Callable[[str, str], None],
    ) -> None:
        self.node = node
        self.transforms = transforms
        self.offer = offer
        self.note = note
        self.robot = robot
        self.name = f"{robot}/{camera}"
        p = node.parameters
        self.pairs: FramePairs[Depth, DetectedImage, npt.NDArray[np.uint8]] = FramePairs(
            p["pair_tolerance"], p["queue"]
        )
        self._box_pairs: FramePairs[Depth, DetectedBoxes, None] = FramePairs(
            p["pair_tolerance"], p["queue"]
        )
        self.still = MotionFilter(p["still_period"])
        self._model: Model | None = None
        self._eye = ""
        self._hears_boxes = bool(p["boxes_topic"])
        self._waiting: deque[Waiting] = deque()
        self._boxes: deque[tuple[DetectedBoxes, float, float]] = deque(maxlen=p["queue"])
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

    def _on_info(self, model: Model) -> None:
        self._model = model

    def _on_color(self, stamped: tuple[float, npt.NDArray[np.uint8], str]) -> None:
        time, pixels, self._eye = stamped
        self.pairs.add_color(time, pixels)
        self.retry()

    def _on_boxes(self, found: DetectedBoxes) -> None:
        if self._model is not None and self._box_pairs.expects(found.time):
            # Depth shows which part is the thing's: boxes along the camera's axes are wide.
            self._joined(self._box_pairs.add_detections(found.time, found))
            return
        now = asyncio.get_running_loop().time()
        due = now + self.node.parameters["transform_patience"]
        self._boxes.append((found, due, now + COLOR_PATIENCE))
        self.retry()

    def _on_depth(self, stamped: tuple[float, Depth]) -> None:
        self._joined(self.pairs.add_depth(*stamped))
        if self._hears_boxes:
            self._joined(self._box_pairs.add_depth(*stamped))

    def _on_found(self, found: DetectedImage) -> None:
        self._joined(self.pairs.add_detections(found.time, found))

    def _joined(self, pairs: Sequence[tuple[float, Depth, DetectedImage | DetectedBoxes]]) -> None:
        now = asyncio.get_running_loop().time()
        due = now + self.node.parameters["transform_patience"]
        for time, depth, found in pairs:
            self._waiting.append(Waiting(time, depth, found, due, now + COLOR_PATIENCE))
        while len(self._waiting) > self.node.parameters["queue"]:
            self._waiting.popleft()
            self.note("frames_dropped", f"{self.name}: frames come faster than transforms")
        self.retry()

    def retry(self) -> None:
        """Hand on the frames that are whole by now; give up those that have waited too long."""
        now = asyncio.get_running_loop().time()
        self._retry_boxes(now)
        while self._waiting:
            item = self._waiting[0]
            if self._awaits_color(item.time, now < item.color_due, len(self._waiting)):
                return
            try:
                job = self._job(item)
            except TransformNotYet as error:
                if now < item.due:
                    return
                self.note("no_transform", f"{self.name}: frame dropped: {error}")
            except ValueError as error:
                self.note("frames_invalid", f"{self.name}: frame dropped: {error}")
            else:
                if job is not None:
                    self.offer(job)
            self._waiting.popleft()

    def _awaits_color(self, time: float, patient: bool, waiting: int) -> bool:
        """Whether what was seen at a moment [s] is to wait for its color image.

        Where half of the queue waits it goes without, rather than be dropped.
        """
        few = 2 * waiting <= self.node.parameters["queue"]
        return patient and few and self.pairs.expects_color(time)

    def _retry_boxes(self, now: float) -> None:
        while self._boxes:
            found, due, color_due = self._boxes[0]
            if self._awaits_color(found.time, now < color_due, len(self._boxes)):
                return
            try:
                job = self._boxes_job(found)
            except TransformError as error:
                if isinstance(error, TransformNotYet) and now < due:
                    return
                self.note("no_transform", f"{self.name}: boxes dropped: {error}")
            else:
                if job.boxes:
                    self.offer(job)
            self._boxes.popleft()

    def _boxes_job(self, found: DetectedBoxes) -> Job:
        """Bring boxes into the map, with the image that shows them, if there is one."""
        map_frame = self.node.parameters["map_frame"]
        pose = self.transforms.lookup(map_frame, found.frame, found.time)
        boxes = tuple(moved(box, pose) for box in found.boxes)
        color = self.pairs.color_at(found.time)
        intrinsics = (1.0, 1.0, 0.0, 0.0)
        if color is not None and self._model is not None and self._model[0] == color.shape[1::-1]:
            pose = self.transforms.lookup(map_frame, self._eye, found.time)
            intrinsics = self._model[1]
        else:
            color = None
        nothing = np.zeros((1, 1), np.float32)
        frame = RgbdFrame(nothing, intrinsics, pose, color, found.time, self.robot)
        return Job(frame, boxes=boxes)

    def _job(self, item: Waiting) -> Job | None:
        """Return a frame as a job; None where the camera has stood still.

        Raises:
            TransformNotYet: What is needed may still come.
            ValueError: The parts do not fit together.
        """
        if self._model is None:
            raise TransformNotYet("no camera_info has come")
        (width, height), intrinsics = self._model
        rows, cols = item.depth.pixels.shape
        found = item.found
        sizes = {(cols, rows), (width, height)}
        if isinstance(found, DetectedImage) and found.width:
            sizes.add((found.width, found.height))
        if len(sizes) > 1:
            raise ValueError(
                f"depth of {cols} x {rows}, camera_info of {width} x {height}, detections of "
                f"{found.width} x {found.height} px; all must be of one size: register the depth"
                if isinstance(found, DetectedImage)
                else f"depth of {cols} x {rows}, camera_info of {width} x {height} px; both must "
                "be of one size: give the camera_info of the depth image"
            )
        same_eye = found.frame.lstrip("/") == item.depth.frame.lstrip("/")
        if isinstance(found, DetectedImage) and not same_eye:
            raise ValueError(
                f"detections in frame {found.frame!r}, depth in {item.depth.frame!r}; they must "
                "see with one eye: register the depth to the detector's image"
            )
        try:
            pose = self.transforms.lookup(
                self.node.parameters["map_frame"], item.depth.frame, item.time
            )
            to_camera = np.eye(4)
            if not same_eye:
                to_camera = self.transforms.lookup(item.depth.frame, found.frame, item.time)
        except TransformNotYet:
            raise
        except TransformError as error:
            raise ValueError(str(error)) from None
        if not self.still.passes(pose, item.time):
            self.node.diagnostics.count("frames_still")
            return None
        color = self.pairs.color_at(item.time)
        if color is not None and color.shape[:2] != (rows, cols):
            color = None
        frame = RgbdFrame(item.depth.pixels, intrinsics, pose, color, item.time, self.robot)
        if isinstance(found, DetectedImage):
            return Job(frame, found.detections)
        return Job(frame, tuple(masked(frame, found.boxes, to_camera)))

    def figures(self) -> dict[str, object]:
        """Return what became of images and detections, for the diagnostics."""
        counts = self.pairs.counts
        return {
            "pairs": counts.pairs,
            "depth_alone": counts.depth_alone,
            "detections_alone": counts.detections_alone,
            "repeats": counts.repeats,
            "waiting": len(self._waiting),
        }


def _image_type(topic: str) -> Any:
    """CompressedImage where the topic's name says so, as image_transport names them."""
    packed = topic.rsplit("/", 1)[-1] in ("compressed", "compressedDepth")
    return CompressedImage if packed else Image


def _read_depth(message: Any, topic: str) -> tuple[float, Depth]:
    time = conversions.time_from_msg(message.header.stamp)
    return time, Depth(conversions.depth_from_msg(message, topic), message.header.frame_id)


def _read_color(message: Any, topic: str) -> tuple[float, npt.NDArray[np.uint8], str]:
    time = conversions.time_from_msg(message.header.stamp)
    return time, conversions.color_from_msg(message, topic), message.header.frame_id
