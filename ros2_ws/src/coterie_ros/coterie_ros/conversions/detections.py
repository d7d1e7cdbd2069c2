"""What a detector finds in an image, to messages and back; vision_msgs and YOLO's too."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw
from std_msgs.msg import Header

from coterie_core.detections import BoxDetection, ImageDetection, clipped, mask_of, runs_of
from coterie_core.embedding import UNNAMED, Embedding
from coterie_msgs.msg import ImageDetection as ImageDetectionMsg
from coterie_msgs.msg import ImageDetections, LabelScore
from coterie_ros.conversions.basics import (
    point_from_msg,
    point_to_msg,
    stamp_from_msg,
)
from coterie_ros.conversions.checks import Checks, ConversionError

try:
    from vision_msgs.msg import BoundingBox2D, Detection2D, Detection3D, ObjectHypothesisWithPose
    from vision_msgs.msg import Detection2DArray as Detection2DArray
    from vision_msgs.msg import Detection3DArray as Detection3DArray
    from vision_msgs.msg import LabelInfo as LabelInfo
except ImportError:  # not among the wheels: such topics cannot be listened to then
    Detection2DArray = Detection3DArray = Detection2D = Detection3D = LabelInfo = None
    BoundingBox2D = ObjectHypothesisWithPose = None

T = TypeVar("T")
Skip = Callable[[ConversionError], object]

MOST_DETECTIONS = 1000
"""Most detections in one image."""
MAX_PIXELS = 200_000_000
"""Most pixels that all masks of one image may cover, so that run lengths cannot fill the memory."""
LONGEST_SIDE = 8192
"""Of an image [px]."""
LARGEST_M = 100.0
"""Longest edge of a box in space [m]."""
_MAX_EMBEDDING_LENGTH = 8192
_MOST_ATTRIBUTES = 64
_LEAST_SCORE = 0.1
"""Least score of a label beside the best one."""
_MOST_CORNERS = 10_000
"""Most points of the outline of one thing."""


@dataclass(frozen=True, slots=True)
class DetectedImage:
    """What was found in one image.

    `time` [s] and `frame` are those of the image; `width` and `height` [px] its size, 0 where the
    message does not tell (vision_msgs).
    """

    time: float
    frame: str
    width: int
    height: int
    detections: tuple[ImageDetection, ...]
    detector: str = ""


@dataclass(frozen=True, slots=True)
class DetectedBoxes:
    """What was found in space at a time [s], in a frame."""

    time: float
    frame: str
    boxes: tuple[BoxDetection, ...]


def detections_to_msg(
    detections: Sequence[ImageDetection],
    head: Header,
    size: tuple[int, int],
    detector: str = "",
) -> ImageDetections:
    """Return detections as a message; what reaches beyond the image is cut off.

    Args:
        detections: What was found.
        head: Stamp and optical frame of the image.
        size: Columns and rows of the image [px].
        detector: Name of the detector.

    Raises:
        ValueError: Embeddings of two models.
    """
    inside = (clipped(one, *size) for one in detections)
    models = sorted({one.embedding.model for one in detections if one.embedding is not None})
    if len(models) > 1:
        raise ValueError(f"embeddings of one image: expected one model, got {', '.join(models)}")
    return ImageDetections(
        header=head,
        detector=detector,
        image_width=size[0],
        image_height=size[1],
        detections=[_to_msg(one) for one in inside if one is not None],
        embedding_model=models[0] if models else "",
    )


def detections_from_msg(
    message: ImageDetections,
    topic: str = "detections",
    *,
    frame: str = "",
    skip: Skip | None = None,
) -> DetectedImage:
    """Return what was found in an image.

    Args:
        message: The message.
        topic: Where it came from, for errors.
        frame: Counts where the message names none.
        skip: Takes why a detection is left out, where others of the message can be used; without it
            one that cannot be used is an error.

    Raises:
        ConversionError: No image size, a box outside of the image, a mask that does not fill its
            box, a score outside of 0..1, a vector without direction, an attribute without "=".
    """
    checks = Checks(topic)
    width = int(checks.number("image_width", message.image_width, 1, LONGEST_SIDE))
    height = int(checks.number("image_height", message.image_height, 1, LONGEST_SIDE))
    items = checks.items("detections", message.detections, MOST_DETECTIONS)
    masked = sum(int(i.width) * int(i.height) for i in items if len(i.mask))
    if masked > MAX_PIXELS:
        raise checks.fail("detections", f"masks of at most {MAX_PIXELS} pixels in all", masked)
    detector = checks.text("detector", message.detector)
    model = checks.text("embedding_model", message.embedding_model) or detector or UNNAMED
    return DetectedImage(
        stamp_from_msg(message.header.stamp, checks),
        checks.text("header.frame_id", message.header.frame_id or frame, empty=False),
        width,
        height,
        _usable(items, lambda one, at: _from_msg(one, (width, height), model, at), checks, skip),
        detector,
    )


def detections_from_vision_msg(
    message: Any,
    topic: str = "detections",
    labels: Mapping[str, str] | None = None,
    *,
    frame: str = "",
    skip: Skip | None = None,
) -> DetectedImage:
    """Return what a `vision_msgs/Detection2DArray` holds; a turned box counts as the upright one.

    Args:
        message: The message.
        topic: Where it came from, for errors.
        labels: Class id -> label, for detectors that report numbers; ids that are not in it stay.
        frame: Counts where the message names none.
        skip: As for `detections_from_msg`.

    Raises:
        ConversionError: A number that is not finite, a box without size, a bad score.
    """
    checks = Checks(topic)
    items = checks.items("detections", message.detections, MOST_DETECTIONS)

    def read(item: Any, part: Checks) -> ImageDetection:
        scores = _hypotheses(item, part, labels)
        return ImageDetection(_upright(item.bbox, part.at("bbox")), scores)

    return DetectedImage(
        stamp_from_msg(message.header.stamp, checks),
        checks.text("header.frame_id", message.header.frame_id or frame, empty=False),
        0,
        0,
        _usable(items, read, checks, skip),
    )


def detections_from_yolo_msg(
    message: Any,
    topic: str = "detections",
    labels: Mapping[str, str] | None = None,
    *,
    frame: str = "",
    skip: Skip | None = None,
) -> DetectedImage:
    """Return what a `yolo_msgs/DetectionArray` of yolo_ros holds; an outline becomes a mask.

    Args, errors: Those of `detections_from_vision_msg`; `labels` are by class name, or by class id
        where the network names no classes.
    """
    checks = Checks(topic)
    items = checks.items("detections", message.detections, MOST_DETECTIONS)

    def read(item: Any, part: Checks) -> ImageDetection:
        name = part.text("class_name", item.class_name) or str(item.class_id)
        scores = {(labels or {}).get(name, name): part.share("score", item.score)}
        middle, size, box = item.bbox.center, item.bbox.size, part.at("bbox")
        upright = _bounds(middle.position, middle.theta, size.x, size.y, box)
        outline = part.items("mask.data", item.mask.data, _MOST_CORNERS)
        return ImageDetection(upright, scores, _filled(outline, upright, part))

    sizes = {(int(i.mask.width), int(i.mask.height)) for i in items if len(i.mask.data)}
    width, height = sizes.pop() if len(sizes) == 1 else (0, 0)
    return DetectedImage(
        stamp_from_msg(message.header.stamp, checks),
        checks.text("header.frame_id", message.header.frame_id or frame, empty=False),
        width,
        height,
        _usable(items, read, checks, skip),
    )


def detections_from_ultralytics_msg(message: Any, *args: Any, **options: Any) -> DetectedImage:
    """Return the boxes of an `ultralytics_ros/YoloResult`, whose own header is the image's.

    Args, errors: Those of `detections_from_vision_msg`.
    """
    found = message.detections
    if not found.header.frame_id:
        found.header = message.header
    return detections_from_vision_msg(found, *args, **options)


def boxes_from_vision_msg(
    message: Any,
    topic: str = "detections",
    labels: Mapping[str, str] | None = None,
    *,
    frame: str = "",
    skip: Skip | None = None,
) -> DetectedBoxes:
    """Return what a `vision_msgs/Detection3DArray` holds.

    Args:
        message: The message.
        topic: Where it came from, for errors.
        labels: Class id -> label, for detectors that report numbers; ids that are not in it stay.
        frame: Counts where the message names none.
        skip: As for `detections_from_msg`.

    Raises:
        ConversionError: A number that is not finite, no rotation, a box without size, a bad score.
    """
    checks = Checks(topic)
    items = checks.items("detections", message.detections, MOST_DETECTIONS)

    def read(item: Any, part: Checks) -> BoxDetection:
        box, edges = part.at("bbox"), part.at("bbox.size")
        x, y, z = (edges.number(a, getattr(item.bbox.size, a), 1e-4, LARGEST_M) for a in "xyz")
        pose = item.bbox.center
        return BoxDetection(
            point_from_msg(pose.position, box, "center.position"),
            box.rotation("center.orientation", pose.orientation),
            (x, y, z),
            _hypotheses(item, part, labels),
        )

    return DetectedBoxes(
        stamp_from_msg(message.header.stamp, checks),
        checks.text("header.frame_id", message.header.frame_id or frame, empty=False),
        _usable(items, read, checks, skip),
    )


def detections_to_vision_msg(found: Sequence[ImageDetection], head: Header) -> Any:
    """Return detections as a `vision_msgs/Detection2DArray`: class ids are labels, no masks."""
    message = Detection2DArray(header=head)
    for k, one in enumerate(found):
        x, y, width, height = one.box
        box = BoundingBox2D(size_x=float(width), size_y=float(height))
        box.center.position.x, box.center.position.y = x + width / 2.0, y + height / 2.0
        message.detections.append(
            Detection2D(header=head, id=str(k), bbox=box, results=hypotheses_to_msg(one.scores))
        )
    return message


def hypotheses_to_msg(scores: Mapping[str, float]) -> list[Any]:
    """Return scores of labels as vision_msgs has them: the best, and others that are likely."""
    out: list[Any] = []
    for label, score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        if score >= _LEAST_SCORE or not out:
            guess = ObjectHypothesisWithPose()
            guess.hypothesis.class_id, guess.hypothesis.score = label, float(score)
            out.append(guess)
    return out


DETECTION_READERS: dict[str, Callable[..., DetectedImage | DetectedBoxes]] = {
    "coterie_msgs/ImageDetections": detections_from_msg,
    "vision_msgs/Detection2DArray": detections_from_vision_msg,
    "vision_msgs/Detection3DArray": boxes_from_vision_msg,
    "yolo_msgs/DetectionArray": detections_from_yolo_msg,
    "ultralytics_ros/YoloResult": detections_from_ultralytics_msg,
}
"""What reads the messages of detectors, by their type."""


def detection_type(name: str) -> Any:
    """Return the class of messages of a type `package/Name`; None: its package is missing."""
    package, _, kind = name.partition("/")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), kind)
    except ImportError:
        return None


def boxes_to_vision_msg(boxes: Sequence[BoxDetection], head: Header) -> Any:
    """Return detections in space as a `vision_msgs/Detection3DArray`; labels are class ids."""
    message = Detection3DArray(header=head)
    for k, one in enumerate(boxes):
        item = Detection3D(header=head, id=str(k))
        item.bbox.center.position = point_to_msg(one.center)
        turn = item.bbox.center.orientation
        turn.x, turn.y, turn.z, turn.w = one.rotation
        item.bbox.size.x, item.bbox.size.y, item.bbox.size.z = map(float, one.size)
        item.results = hypotheses_to_msg(one.scores)
        for guess in item.results:
            guess.pose.pose = item.bbox.center
        message.detections.append(item)
    return message


def labels_from_msg(message: Any, topic: str = "label_info") -> dict[str, str]:
    """Return class id -> label of a `vision_msgs/LabelInfo`.

    Raises:
        ConversionError: Too many classes, or a name that is empty or too long.
    """
    checks = Checks(topic)
    return {
        str(item.class_id): checks.text(f"class_map[{k}].class_name", item.class_name, empty=False)
        for k, item in enumerate(checks.items("class_map", message.class_map))
    }


def _usable(
    items: Sequence[Any], read: Callable[[Any, Checks], T], checks: Checks, skip: Skip | None
) -> tuple[T, ...]:
    """Read detections; with `skip`, those that cannot be used are left out if others can be."""
    good: list[T] = []
    bad: list[ConversionError] = []
    for k, item in enumerate(items):
        try:
            good.append(read(item, checks.at(f"detections[{k}]")))
        except ConversionError as error:
            bad.append(error)
    if bad and (skip is None or not good):
        raise bad[0]
    if skip is not None:
        for why in bad:
            skip(why)
    return tuple(good)


def _hypotheses(item: Any, checks: Checks, labels: Mapping[str, str] | None) -> dict[str, float]:
    """Label -> score of a detection of vision_msgs; of a label named twice the higher one."""
    scores: dict[str, float] = {}
    for n, result in enumerate(checks.items("results", item.results, 1000)):
        inner = checks.at(f"results[{n}].hypothesis")
        id_ = inner.text("class_id", result.hypothesis.class_id, empty=False)
        label = (labels or {}).get(id_, id_)
        score = inner.share("score", result.hypothesis.score)
        scores[label] = max(score, scores.get(label, 0.0))
    return scores


def _to_msg(one: ImageDetection) -> ImageDetectionMsg:
    x, y, width, height = one.box
    ranked = sorted(one.scores.items(), key=lambda item: (-item[1], item[0]))
    message = ImageDetectionMsg(
        x=x,
        y=y,
        width=width,
        height=height,
        scores=[LabelScore(label=label, score=float(score)) for label, score in ranked],
        attributes=[f"{name}={value}" for name, value in one.attributes.items()],
    )
    # Arrays of numbers go over as they are; lists would be looked at one by one.
    if one.mask is not None:
        message.mask = np.array(runs_of(one.mask), np.uint32)
    if one.embedding is not None:
        message.embedding = one.embedding.vector
    return message


def _from_msg(
    message: ImageDetectionMsg, size: tuple[int, int], model: str, checks: Checks
) -> ImageDetection:
    x, y, width, height = (int(v) for v in (message.x, message.y, message.width, message.height))
    if width < 1 or height < 1 or x + width > size[0] or y + height > size[1]:
        raise checks.fail(
            "x, y, width, height",
            f"a box of at least 1 x 1 px within {size[0]} x {size[1]} px",
            f"{x}, {y}, {width}, {height}",
        )
    scores: dict[str, float] = {}
    for k, item in enumerate(checks.items("scores", message.scores, 1000)):
        part = checks.at(f"scores[{k}]")
        label = part.text("label", item.label, empty=False)
        scores[label] = max(part.share("score", item.score), scores.get(label, 0.0))
    return ImageDetection(
        (x, y, width, height),
        scores,
        _mask(message.mask, width, height, checks),
        _embedding(message.embedding, model, checks),
        _attributes(message.attributes, checks),
    )


def _mask(
    runs: Sequence[int], width: int, height: int, checks: Checks
) -> npt.NDArray[np.bool_] | None:
    if not len(runs):
        return None
    # Each run but the first has a pixel.
    lengths = checks.items("mask", runs, width * height + 1)
    try:
        return mask_of(lengths, width, height)
    except ValueError as error:
        raise checks.fail("mask", str(error), f"{len(lengths)} run lengths") from None


def _embedding(values: Sequence[float], model: str, checks: Checks) -> Embedding | None:
    if not len(values):
        return None
    vector = np.asarray(checks.items("embedding", values, _MAX_EMBEDDING_LENGTH), np.float64)
    length = float(np.linalg.norm(vector))
    if not math.isfinite(length) or not 1e-6 <= length <= 1e6:
        raise checks.fail("embedding", "finite numbers, not all of them 0", f"length {length:g}")
    return Embedding.of(model, vector)


def _attributes(texts: Sequence[str], checks: Checks) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for k, text in enumerate(checks.items("attributes", texts, _MOST_ATTRIBUTES)):
        name, equals, value = checks.text(f"attributes[{k}]", text).partition("=")
        if not name or not equals or name in attributes:
            raise checks.fail(f"attributes[{k}]", "name=value, each name once", text)
        attributes[name] = value
    return attributes


def _filled(
    outline: Sequence[Any], box: tuple[int, int, int, int], checks: Checks
) -> npt.NDArray[np.bool_] | None:
    """The window of a box [px] that an outline encloses; None: it has none, or encloses nothing."""
    if len(outline) < 3:
        return None
    left, top, width, height = box
    limit = 2.0 * LONGEST_SIDE
    corners = [
        (
            checks.number("mask.data.x", point.x, -limit, limit) - left,
            checks.number("mask.data.y", point.y, -limit, limit) - top,
        )
        for point in outline
    ]
    window = Image.new("1", (width, height))
    ImageDraw.Draw(window).polygon(corners, fill=1)
    mask = np.array(window)
    return mask if mask.any() else None


def _upright(box: Any, checks: Checks) -> tuple[int, int, int, int]:
    middle = box.center
    return _bounds(middle.position, middle.theta, box.size_x, box.size_y, checks)


def _bounds(
    middle: Any, theta: float, size_x: float, size_y: float, checks: Checks
) -> tuple[int, int, int, int]:
    """The upright box [px] around one with a middle, a turn [rad] and sizes [px]."""
    limit = 2.0 * LONGEST_SIDE
    x = checks.number("center.position.x", middle.x, -limit, limit)
    y = checks.number("center.position.y", middle.y, -limit, limit)
    turn = checks.number("center.theta", theta, -1e3, 1e3)
    across = checks.number("size_x", size_x, 0.0, limit)
    along = checks.number("size_y", size_y, 0.0, limit)
    c, s = abs(math.cos(turn)), abs(math.sin(turn))
    width, height = c * across + s * along, s * across + c * along
    if width < 1.0 or height < 1.0:
        raise checks.fail("size_x, size_y", "at least 1 px", f"{across:g}, {along:g}")
    left, top = math.floor(x - width / 2.0 + 1e-6), math.floor(y - height / 2.0 + 1e-6)
    return (left, top, max(round(width), 1), max(round(height), 1))
