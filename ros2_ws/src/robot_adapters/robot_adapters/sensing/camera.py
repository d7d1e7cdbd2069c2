"""One camera of a robot: depth, detections and poses put together to frames."""

from __future__ import annotations

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
from coterie_world.perception.boxes import masked
from coterie_world.perception.motion_filter import MotionFilter
from coterie_world.perception.pairing import FramePairs

Depth = npt.NDArray[np.float32]
Intrinsics = tuple[float, float, float, float]

_NEW_VIEW_M, _NEW_VIEW_RAD = 0.1, 0.15
"""A camera that has moved by so much shows something new."""
_OTHER_EYE_M = 0.005
"""Cameras farther apart than this do not see with one eye [m]."""


@dataclass(frozen=True, slots=True)
class CameraModel:
    """Columns and rows [px], (fx, fy, cx, cy) [px] with the first pixel's corner at 0."""

    size: tuple[int, int]
    intrinsics: Intrinsics

    def scaled(self, size: tuple[int, int]) -> CameraModel:
        """Return the model of the same camera with images of another size [px]."""
        x, y = size[0] / self.size[0], size[1] / self.size[1]
        fx, fy, cx, cy = self.intrinsics
        return CameraModel(size, (fx * x, fy * y, cx * x, cy * y))


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
class SeenFrame:
    """A frame ready for use; `detections` is None for one that no detector looked at.

    `new_view` tells whether the camera has moved since the last frame with a new view, or has stood
    still for a while.
    """

    frame: RgbdFrame
    detections: tuple[ImageDetection, ...] | None
    new_view: bool


@dataclass(slots=True)
class _Waiting:
    depth: DepthImage
    found: Detections | Boxes | None
    due: float
    missing: TransformNotYet | None = None  # what it waits for


@dataclass(slots=True)
class CameraFeed:
    """Joins what comes from one camera; the oldest goes where more comes than can be used.

    Args:
        name: For diagnostics.
        transforms: The robot's tf.
        map_frame: Frame of the robot's map.
        patience: How long a frame waits for its transforms [s of the caller's clock].
        tolerance: How far stamps of depth and detections may be apart [s].
        limit: Most frames that wait.
        still_period: A camera that stands still gives a new view, and its detector is listened to,
            so often [s].
    """

    name: str
    transforms: TransformBuffer
    map_frame: str
    patience: float = 1.0
    tolerance: float = 0.05
    limit: int = 5
    still_period: float = 0.5
    model: CameraModel | None = None
    detector_model: CameraModel | None = None
    counts: dict[str, int] = field(default_factory=dict)
    _problems: dict[bool, str] = field(default_factory=dict)
    _pairs: FramePairs[DepthImage, Detections | Boxes, Depth] = field(init=False)
    _waiting: deque[_Waiting] = field(default_factory=deque)
    _views: MotionFilter = field(init=False)
    _detected: MotionFilter = field(init=False)

    def __post_init__(self) -> None:
        """Make the queues."""
        self._views = MotionFilter(self.still_period, _NEW_VIEW_M, _NEW_VIEW_RAD)
        self._detected = MotionFilter(self.still_period)
        # Detectors take their time: images of more than a second wait for them.
        self._pairs = FramePairs(self.tolerance, 8 * self.limit)

    @property
    def problem(self) -> str:
        """What is wrong with the newest frames, with those of the detector first; "": nothing."""
        return self._problems.get(True) or self._problems.get(False, "")

    def add_depth(self, image: DepthImage, now: float) -> None:
        """Take a depth image; `now` [s] is the caller's clock."""
        self._put(_Waiting(image, None, now + self.patience))
        self._put_pairs(self._pairs.add_depth(image.time, image), now)

    def has_depth(self, time: float) -> bool:
        """Whether the depth image of a moment [s] is there, or may come."""
        return self.model is not None and self._pairs.expects(time)

    def add_detections(self, found: Detections | Boxes, now: float) -> None:
        """Take what was found in an image, or in space: it is joined with depth of its moment."""
        self._put_pairs(self._pairs.add_detections(found.time, found), now)

    def _put_pairs(
        self, pairs: list[tuple[float, DepthImage, Detections | Boxes]], now: float
    ) -> None:
        for _, depth, found in pairs:
            self._put(_Waiting(depth, found, now + self.patience))

    def _put(self, item: _Waiting) -> None:
        self._waiting.append(item)
        # Depth alone is what there is most of: it goes before what a detector looked at.
        while len(self._waiting) > 2 * self.limit:
            at = next((k for k, w in enumerate(self._waiting) if w.found is None), 0)
            oldest = self._waiting[at]
            del self._waiting[at]
            self._give_up("dropped_too_many", oldest, oldest.missing)

    def ready(self, now: float, before: float = -np.inf) -> list[SeenFrame]:
        """Return the frames whose poses are known by now; give up those that waited too long.

        Args:
            now: The caller's clock [s].
            before: Frames stamped earlier are dropped [s]: the robot was lost then.
        """
        out: list[SeenFrame] = []
        still: deque[_Waiting] = deque()
        # Frames that a detector looked at go before those of the same moment without.
        for item in sorted(self._waiting, key=lambda w: (w.depth.time, w.found is None)):
            if item.depth.time < before:
                self.count("dropped_lost")
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

    def _give_up(self, counter: str, item: _Waiting, why: Exception | None) -> None:
        if why is not None:
            what = "frame" if item.found is None else "detections"
            self._problems[item.found is not None] = f"{self.name}: {what} dropped: {why}"
        self.count(counter)

    def count(self, counter: str, times: int = 1) -> None:
        """Count something for the diagnostics."""
        if times > 0:
            self.counts[counter] = self.counts.get(counter, 0) + times

    def _frame(self, item: _Waiting) -> SeenFrame | None:
        """Return a frame; None for one that would show nothing new: it is not even read."""
        if self.model is None:
            raise TransformNotYet("no camera_info has come")
        depth, found = item.depth, item.found
        pose = self.transforms.lookup(self.map_frame, depth.frame, depth.time)
        # All transforms before the filters: what is tried again has not been looked at.
        to_found = np.eye(4)
        if found is not None:
            to_found = self.transforms.lookup(found.frame, depth.frame, depth.time)
        new_view = self._views.passes(pose, depth.time)
        if found is not None and not self._detected.passes(pose, depth.time):
            found = None  # of a camera that stands still the detector has told lately
        if found is None and not new_view:
            return None
        pixels = depth.pixels()
        rows, cols = pixels.shape
        if self.model.size != (cols, rows):
            width, height = self.model.size
            raise ValueError(
                f"depth of {cols} x {rows} px, camera_info of {width} x {height} px; give the "
                "camera_info of the depth image"
            )
        if isinstance(found, Boxes):
            frame = RgbdFrame(pixels, self.model.intrinsics, pose, time=depth.time)
            boxes = tuple(masked(frame, found.items, inverse(to_found)))
            return SeenFrame(frame, boxes, new_view)
        model, fitted = self.model, None
        if found is not None:
            model, pixels, pose = self._for_detector(depth, pixels, found, pose, to_found)
            fitted = _fitted(found, self._detector_size(found, (cols, rows)), (cols, rows))
        frame = RgbdFrame(pixels, model.intrinsics, pose, time=depth.time)
        return SeenFrame(frame, fitted, new_view)

    def _detector_size(self, found: Detections, size: tuple[int, int]) -> tuple[int, int]:
        if found.size[0]:
            return found.size
        return self.detector_model.size if self.detector_model is not None else size

    def _for_detector(
        self, depth: DepthImage, pixels: Depth, found: Detections, pose: Matrix, between: Matrix
    ) -> tuple[CameraModel, Depth, Matrix]:
        """Return the depth as the detector's camera sees it: model, image, pose."""
        assert self.model is not None
        own, model = self.model, self.detector_model and self.detector_model.scaled(self.model.size)
        same = np.linalg.norm(between[:3, 3]) < _OTHER_EYE_M and np.trace(between[:3, :3]) > 2.9999
        if same and (model is None or np.allclose(model.intrinsics, own.intrinsics, rtol=0.01)):
            return own, pixels, pose
        if model is None:
            raise ValueError(
                f"detections in frame {found.frame!r}, depth in {depth.frame!r}: give the "
                "camera_info of the detector's image, or register the depth to it"
            )
        return model, registered(pixels, own, between, model), pose @ inverse(between)


def registered(depth: Depth, model: CameraModel, to_other: Matrix, other: CameraModel) -> Depth:
    """Return a depth image [m] as another camera near by sees it; 0 where it has no depth.

    Args:
        depth: (rows, cols) [m].
        model: Camera of `depth`.
        to_other: Optical frame of `depth` to that of the other camera (4, 4).
        other: The other camera; its size is that of the result.
    """
    v, u = np.nonzero(np.isfinite(depth) & (depth > 0.0))
    z = depth[v, u].astype(np.float64)
    fx, fy, cx, cy = model.intrinsics
    points = np.stack([(u + 0.5 - cx) / fx * z, (v + 0.5 - cy) / fy * z, z], axis=1)
    local = points @ to_other[:3, :3].T + to_other[:3, 3]
    gx, gy, dx, dy = other.intrinsics
    cols, rows = other.size
    ahead = local[:, 2] > 1e-3
    local = local[ahead]
    x = np.floor(local[:, 0] / local[:, 2] * gx + dx).astype(np.int64)
    y = np.floor(local[:, 1] / local[:, 2] * gy + dy).astype(np.int64)
    inside = (x >= 0) & (y >= 0) & (x < cols) & (y < rows)
    out = np.full((rows, cols), np.inf, dtype=np.float32)
    np.minimum.at(out, (y[inside], x[inside]), local[inside, 2].astype(np.float32))
    out[np.isinf(out)] = 0.0
    return out


def _fitted(
    found: Detections, size: tuple[int, int], depth: tuple[int, int]
) -> tuple[ImageDetection, ...]:
    """Bring boxes and masks of an image of one size to the depth image's [px]."""
    if size == depth:
        return found.items
    x, y = depth[0] / size[0], depth[1] / size[1]
    if abs(x / y - 1.0) > 0.02:
        raise ValueError(
            f"detections of {size[0]} x {size[1]} px, depth of {depth[0]} x {depth[1]} px: the "
            "images do not show the same; register the depth to the detector's image"
        )
    return tuple(_scaled(one, x, y) for one in found.items)


def _scaled(one: ImageDetection, x: float, y: float) -> ImageDetection:
    u, v, width, height = one.box
    left, top = int(u * x), int(v * y)
    right, bottom = (
        max(int(np.ceil((u + width) * x)), left + 1),
        max(int(np.ceil((v + height) * y)), top + 1),
    )
    mask = None
    if one.mask is not None:
        rows = np.clip(((np.arange(top, bottom) + 0.5) / y - v).astype(int), 0, height - 1)
        cols = np.clip(((np.arange(left, right) + 0.5) / x - u).astype(int), 0, width - 1)
        mask = one.mask[rows][:, cols]
    return ImageDetection(
        (left, top, right - left, bottom - top), one.scores, mask, one.embedding, one.attributes
    )
