"""Frame join: depth, detections, color and poses of one camera put together to frames."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from coterie_core.detections import BoxDetection, ImageDetection, RgbdFrame
from coterie_core.transforms import (
    Matrix,
    TransformBuffer,
    TransformError,
    TransformNotYet,
    inverse,
)
from coterie_world.perception.boxes import masked, moved
from coterie_world.perception.pairing import FramePairs
from coterie_world.perception.registration import CameraModel, Depth, fitted, registered

Color = npt.NDArray[np.uint8]

_NEW_VIEW_M, _NEW_VIEW_RAD = 0.1, 0.15
"""A camera that has moved by so much shows something new."""
_SAME_EYE_M = 0.005
"""Cameras nearer than this see with one eye [m]."""
COLOR_PATIENCE = 1.0
"""How long a frame waits for its color image, where the camera sends any [s]."""


@dataclass(frozen=True, slots=True)
class DepthImage:
    """A depth image (rows, cols) [m], or what reads it when needed; optical frame, stamp [s]."""

    source: Depth | Callable[[], Depth]
    frame: str
    time: float

    def pixels(self) -> Depth:
        """Return the image.

        Raises:
            ValueError: It cannot be read.
        """
        return self.source() if callable(self.source) else self.source


@dataclass(frozen=True, slots=True)
class Detections:
    """What a detector found in an image: its stamp [s], optical frame, size [px] (0: not told)."""

    items: tuple[ImageDetection, ...]
    frame: str
    time: float
    size: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Boxes:
    """What a detector found in space: its stamp [s], and the frame that the boxes are in."""

    items: tuple[BoxDetection, ...]
    frame: str
    time: float


@dataclass(frozen=True, slots=True)
class JoinedFrame:
    """A frame ready for use.

    Attributes:
        frame: The images and their pose in the map. Of boxes without depth the depth image is one
            pixel without depth, and the pose that of the color image, or of the boxes' frame.
        detections: What a detector found in the image; None for one that no detector looked at.
        new_view: Whether the camera has moved since the last frame with a new view, or has stood
            still for a while.
        boxes: What a detector found in space, in the map, where no depth image narrows it; None
            for an image's frame.
    """

    frame: RgbdFrame
    detections: tuple[ImageDetection, ...] | None
    new_view: bool
    boxes: tuple[BoxDetection, ...] | None = None


@dataclass(slots=True)
class _Waiting:
    depth: DepthImage | None  # None: boxes alone
    found: Detections | Boxes | None
    due: float
    color_due: float
    missing: TransformNotYet | None = None  # what it waits for

    @property
    def time(self) -> float:
        one = self.depth or self.found
        assert one is not None
        return one.time


class MotionFilter:
    """Lets frames of a moving camera pass, and of one that stands still one per period.

    Args:
        period: Time between frames of a camera that stands still [s of the stamps].
        distance: Moved by less, it stands still [m].
        angle: Turned by less, it stands still [rad].
    """

    def __init__(self, period: float, distance: float = 0.02, angle: float = 0.02) -> None:
        self._period = period
        self._distance = distance
        self._least_trace = 1.0 + 2.0 * math.cos(angle)
        self._pose: npt.NDArray[np.float64] | None = None
        self._time = -math.inf

    def passes(self, pose: npt.NDArray[np.float64], time: float) -> bool:
        """Tell whether a frame taken at a pose (4, 4) and a time [s] is to be looked at."""
        old = self._pose
        if old is not None and 0.0 <= time - self._time < self._period:
            away = float(np.linalg.norm(pose[:3, 3] - old[:3, 3]))
            trace = float((old[:3, :3] * pose[:3, :3]).sum())
            if away < self._distance and trace > self._least_trace:
                return False
        self._pose, self._time = pose, time
        return True


def _no_report(counter: str, text: str) -> None:
    """Report nothing; the counters tell."""


@dataclass(slots=True)
class FrameJoin:
    """Joins what comes from one camera; the oldest goes where more comes than can be used.

    Args:
        name: For diagnostics.
        transforms: The robot's tf.
        map_frame: Frame of the map.
        patience: How long a frame waits for its transforms [s of the caller's clock].
        tolerance: How far stamps of depth and detections may be apart [s].
        limit: Most frames that wait for transforms or color.
        pair_limit: Most depth images, and most detections, that wait for each other. Detectors take
            their time: more than a second of images.
        still_period: A camera that stands still gives a new view, and its detector is listened to,
            so often [s].
        depth_alone: Whether frames that no detector looked at are given.
        robot: Whose camera it is, for the frames.
        report: Called with the counter and the text of what was dropped.

    Attributes:
        model: Of the depth images.
        detector_model: Of the images that the detector sees, where it tells one.
        counts: What was dropped, by reason.
    """

    name: str
    transforms: TransformBuffer
    map_frame: str
    patience: float = 1.0
    tolerance: float = 0.05
    limit: int = 10
    pair_limit: int = 40
    still_period: float = 0.5
    depth_alone: bool = True
    robot: str = ""
    report: Callable[[str, str], None] = _no_report
    model: CameraModel | None = None
    detector_model: CameraModel | None = None
    counts: dict[str, int] = field(default_factory=dict)
    pairs: FramePairs[DepthImage, Detections, tuple[Color, str]] = field(init=False)
    _box_pairs: FramePairs[DepthImage, Boxes, None] = field(init=False)
    _problems: dict[bool, str] = field(default_factory=dict)
    _waiting: deque[_Waiting] = field(default_factory=deque)
    _views: MotionFilter = field(init=False)
    _detected: MotionFilter = field(init=False)

    def __post_init__(self) -> None:
        """Make the queues."""
        self._views = MotionFilter(self.still_period, _NEW_VIEW_M, _NEW_VIEW_RAD)
        self._detected = MotionFilter(self.still_period)
        self.pairs = FramePairs(self.tolerance, self.pair_limit)
        self._box_pairs = FramePairs(self.tolerance, self.pair_limit)

    @property
    def problem(self) -> str:
        """What is wrong with the newest frames, with those of the detector first; "": nothing."""
        return self._problems.get(True) or self._problems.get(False, "")

    @property
    def waiting(self) -> int:
        """Number of frames that wait for transforms or color."""
        return len(self._waiting)

    def add_color(self, pixels: Color, frame: str, time: float) -> None:
        """Take a color image (rows, cols, 3), its optical frame and stamp [s]."""
        self.pairs.add_color(time, (pixels, frame))

    def add_depth(self, image: DepthImage, now: float) -> None:
        """Take a depth image; `now` [s] is the caller's clock."""
        if self.depth_alone:
            self._put(image, None, now)
        for _, depth, found in self.pairs.add_depth(image.time, image):
            self._put(depth, found, now)
        for _, depth, boxes in self._box_pairs.add_depth(image.time, image):
            self._put(depth, boxes, now)

    def add_detections(self, found: Detections, now: float) -> None:
        """Take what was found in an image: it is joined with depth of its moment."""
        for _, depth, one in self.pairs.add_detections(found.time, found):
            self._put(depth, one, now)

    def add_boxes(self, found: Boxes, now: float) -> None:
        """Take what was found in space, in any frame of tf.

        Where depth images come from the camera, they show which points of a box are the thing's;
        boxes along the camera's axes are wide.
        """
        if self.model is None or not self._box_pairs.expects(found.time):
            self._put(None, found, now)
            return
        for _, depth, one in self._box_pairs.add_detections(found.time, found):
            self._put(depth, one, now)

    def _put(self, depth: DepthImage | None, found: Detections | Boxes | None, now: float) -> None:
        self._waiting.append(_Waiting(depth, found, now + self.patience, now + COLOR_PATIENCE))
        # Depth alone is what there is most of: it goes before what a detector looked at.
        while len(self._waiting) > self.limit:
            at = next((k for k, w in enumerate(self._waiting) if w.found is None), 0)
            oldest = self._waiting[at]
            del self._waiting[at]
            self._give_up("dropped_too_many", oldest, oldest.missing)

    def ready(self, now: float, before: float = -np.inf) -> list[JoinedFrame]:
        """Return the frames whose poses are known by now; give up those that waited too long.

        Args:
            now: The caller's clock [s].
            before: Frames stamped earlier are dropped [s]: the robot was lost then.
        """
        out: list[JoinedFrame] = []
        still: deque[_Waiting] = deque()
        # Frames that a detector looked at go before those of the same moment without.
        for item in sorted(self._waiting, key=lambda w: (w.time, w.found is None)):
            if item.time < before:
                self.count("dropped_lost")
                continue
            if self._awaits_color(item, now):
                still.append(item)
                continue
            try:
                frame = self._frame(item)
            except TransformNotYet as error:
                item.missing = error
                if now < item.due:
                    still.append(item)
                else:
                    self._give_up("dropped_no_transform", item, error)
            except (TransformError, ValueError) as error:
                self._give_up("dropped_invalid", item, error)
            else:
                self._problems[item.found is not None] = ""
                if frame is not None:
                    out.append(frame)
        self._waiting = still
        return out

    def _awaits_color(self, item: _Waiting, now: float) -> bool:
        """Whether a frame is to wait for its color image.

        Where half of the queue waits it goes without, rather than be dropped.
        """
        few = 2 * len(self._waiting) <= self.limit
        return few and now < item.color_due and self.pairs.expects_color(item.time)

    def _give_up(self, counter: str, item: _Waiting, why: Exception | None) -> None:
        what = "frame" if item.found is None else "detections"
        text = f"{self.name}: {what} dropped: {why or 'frames come faster than they can be used'}"
        if why is not None:
            self._problems[item.found is not None] = text
        self.count(counter)
        self.report(counter, text)

    def count(self, counter: str, times: int = 1) -> None:
        """Count something for the diagnostics."""
        if times > 0:
            self.counts[counter] = self.counts.get(counter, 0) + times

    def _frame(self, item: _Waiting) -> JoinedFrame | None:
        """Return a frame; None for one that would show nothing new: it is not even read."""
        depth, found = item.depth, item.found
        if depth is None:
            assert isinstance(found, Boxes)
            return self._boxes_alone(found)
        if self.model is None:
            raise TransformNotYet("no camera_info has come")
        pose = self.transforms.lookup(self.map_frame, depth.frame, depth.time)
        # All transforms before the filters: what is tried again has not been looked at.
        to_found = np.eye(4)
        if found is not None:
            to_found = self.transforms.lookup(found.frame, depth.frame, depth.time)
        new_view = self._views.passes(pose, depth.time)
        if found is not None and not self._detected.passes(pose, depth.time):
            found = None  # of a camera that stands still the detector has told lately
        if found is None and not (new_view and self.depth_alone):
            return None
        pixels = depth.pixels()
        rows, cols = pixels.shape
        if self.model.size != (cols, rows):
            width, height = self.model.size
            raise ValueError(
                f"depth of {cols} x {rows} px, camera_info of {width} x {height} px; give the "
                "camera_info of the depth image"
            )
        detections, model, other_eye = None, self.model, False
        if isinstance(found, Detections):
            model, other_eye = self._detectors_view(depth, found, to_found)
            if other_eye:
                pixels = registered(pixels, self.model, to_found, model)
                pose = pose @ inverse(to_found)
            detections = fitted(found.items, self._detector_size(found), (cols, rows))
        color = None if other_eye else self._color(depth.time, (cols, rows))
        frame = RgbdFrame(pixels, model.intrinsics, pose, color, depth.time, self.robot)
        if isinstance(found, Boxes):
            detections = tuple(masked(frame, found.items, inverse(to_found)))
        return JoinedFrame(frame, detections, new_view)

    def _color(self, time: float, size: tuple[int, int]) -> Color | None:
        color = self.pairs.color_at(time)
        return color[0] if color is not None and color[0].shape[1::-1] == size else None

    def _boxes_alone(self, found: Boxes) -> JoinedFrame:
        """Bring boxes into the map, with the image that shows them, if there is one."""
        pose = self.transforms.lookup(self.map_frame, found.frame, found.time)
        boxes = tuple(moved(box, pose) for box in found.items)
        color, intrinsics = None, (1.0, 1.0, 0.0, 0.0)
        image = self.pairs.color_at(found.time)
        if image is not None and self.model and self.model.size == image[0].shape[1::-1]:
            color, intrinsics = image[0], self.model.intrinsics
            pose = self.transforms.lookup(self.map_frame, image[1], found.time)
        nothing = np.zeros((1, 1), np.float32)
        frame = RgbdFrame(nothing, intrinsics, pose, color, found.time, self.robot)
        return JoinedFrame(frame, None, False, boxes)

    def _detector_size(self, found: Detections) -> tuple[int, int]:
        if found.size[0]:
            return found.size
        model = self.detector_model or self.model
        assert model is not None
        return model.size

    def _detectors_view(
        self, depth: DepthImage, found: Detections, between: Matrix
    ) -> tuple[CameraModel, bool]:
        """Return the model of the detector's camera, and whether it is another than the depth's."""
        assert self.model is not None
        own, model = self.model, self.detector_model and self.detector_model.scaled(self.model.size)
        same = np.linalg.norm(between[:3, 3]) < _SAME_EYE_M and np.trace(between[:3, :3]) > 2.9999
        if same and (model is None or np.allclose(model.intrinsics, own.intrinsics, rtol=0.01)):
            return own, False
        if model is None:
            raise ValueError(
                f"detections in frame {found.frame!r}, depth in {depth.frame!r}: give the "
                "camera_info of the detector's image, or register the depth to it"
            )
        return model, True
