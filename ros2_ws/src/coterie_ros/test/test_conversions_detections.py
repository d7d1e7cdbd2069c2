"""Detections in images as messages: there and back, and everything that can be wrong with them."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from coterie_core.detections import ImageDetection
from coterie_core.embedding import UNNAMED, Embedding

pytestmark = pytest.mark.ros
pytest.importorskip("rclpy")

SIZE = (64, 48)


def message(**changes: Any) -> Any:
    """A message of one good detection, with fields of that detection changed."""
    from coterie_ros import conversions

    mask = np.zeros((4, 5), dtype=bool)
    mask[1:3, 2:] = True
    one = ImageDetection(
        (10, 20, 5, 4),
        {"cup": 0.8, "vase": 0.1},
        mask,
        Embedding.of("clip", [0.6, 0.8]),
        {"color": "red"},
    )
    out = conversions.detections_to_msg([one], conversions.header(12.5, "r/cam"), SIZE, "d")
    for name, value in changes.items():
        setattr(out.detections[0], name, value)
    return out


def read(item: Any) -> Any:
    from coterie_ros import conversions

    return conversions.detections_from_msg(item)


def test_there_and_back() -> None:
    found = read(message())
    assert (found.time, found.frame, found.width, found.height) == (12.5, "r/cam", 64, 48)
    (one,) = found.detections
    assert one.box == (10, 20, 5, 4)
    assert one.scores == pytest.approx({"cup": 0.8, "vase": 0.1})
    assert one.mask is not None and one.mask[1:3, 2:].all() and one.mask.sum() == 6
    assert one.embedding == Embedding.of("clip", [0.6, 0.8])
    assert one.attributes == {"color": "red"}


def test_embeddings_are_of_one_network_and_a_detector_without_one_gives_its_name() -> None:
    from coterie_ros import conversions

    item = message()
    item.embedding_model = ""
    assert read(item).detections[0].embedding.model == "d"
    item.detector = ""
    assert read(item).detections[0].embedding.model == UNNAMED
    two = [
        ImageDetection((0, 0, 2, 2), {"cup": 0.8}, None, Embedding.of(model, [1.0, 0.0]))
        for model in ("clip", "siglip")
    ]
    with pytest.raises(ValueError, match="one model, got clip, siglip"):
        conversions.detections_to_msg(two, conversions.header(1.0, "c"), SIZE)


def test_any_mask_survives_the_wire() -> None:
    from rclpy.serialization import deserialize_message, serialize_message

    from coterie_msgs.msg import ImageDetections
    from coterie_ros import conversions

    rng = np.random.default_rng(3)
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        mask = rng.random((17, 23)) < share
        one = ImageDetection((1, 2, 23, 17), {"a": 1.0}, mask)
        out = conversions.detections_to_msg([one], conversions.header(0.0, "c"), SIZE)
        back = read(deserialize_message(serialize_message(out), ImageDetections))
        assert (back.detections[0].mask == mask).all()


def test_what_reaches_beyond_the_image_is_cut_off() -> None:
    from coterie_ros import conversions

    mask = np.arange(20).reshape(4, 5) % 3 == 0
    corner = ImageDetection((-2, -1, 5, 4), {"a": 0.5}, mask)
    outside = ImageDetection((64, 0, 5, 4), {"a": 0.5})
    out = conversions.detections_to_msg([corner, outside], conversions.header(0.0, "c"), SIZE)
    (one,) = read(out).detections
    assert one.box == (0, 0, 3, 3)
    assert (one.mask == mask[1:, 2:]).all()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"mask": [3, 4]}, "mask: expected run lengths that sum to 20, got 7"),
        ({"mask": [2**32 - 1, 21]}, "mask: expected run lengths that sum to 20, got 4294967316"),
        ({"mask": [1] * 22}, "mask: expected at most 21 items"),
        ({"x": 60}, "x, y, width, height: expected a box .* within 64 x 48 px, got 60, 20, 5, 4"),
        ({"width": 0}, "a box of at least 1 x 1 px"),
        ({"y": 2**32 - 2}, "a box of at least 1 x 1 px within"),
        ({"embedding": [math.nan, 1.0]}, "embedding: expected finite numbers"),
        ({"embedding": [0.0, 0.0]}, "embedding: expected finite numbers, not all of them 0"),
        ({"embedding": [0.1] * 9000}, "embedding: expected at most 8192 items"),
        ({"attributes": ["red"]}, r"detections\[0\].attributes\[0\]: expected name=value"),
        ({"attributes": ["color=red", "color=blue"]}, "each name once"),
    ],
)
def test_a_malformed_detection_is_refused(changes: dict[str, Any], error: str) -> None:
    from coterie_ros.conversions import ConversionError

    with pytest.raises(ConversionError, match=error):
        read(message(**changes))


@pytest.mark.parametrize("score", [math.nan, math.inf, -0.5, 1.5])
def test_a_score_that_is_none_is_refused(score: float) -> None:
    from coterie_ros.conversions import ConversionError

    bad = message()
    bad.detections[0].scores[0].score = score
    with pytest.raises(ConversionError, match=r"detections\[0\].scores\[0\].score"):
        read(bad)


def test_absurd_sizes_are_refused() -> None:
    from coterie_msgs.msg import ImageDetection as Item
    from coterie_ros.conversions import ConversionError

    bad = message()
    bad.image_width = 100_000
    with pytest.raises(ConversionError, match="image_width: expected a number from 1 to 8192"):
        read(bad)
    bad = message()
    bad.image_width = bad.image_height = 8192
    bad.detections = [Item(width=8192, height=8192, mask=[0, 8192 * 8192])] * 4
    with pytest.raises(ConversionError, match="masks of at most 200000000 pixels in all"):
        read(bad)
    bad.detections = [Item(width=1, height=1)] * 1001
    with pytest.raises(ConversionError, match="detections: expected at most 1000 items"):
        read(bad)
    bad = message()
    bad.header.frame_id = ""
    with pytest.raises(ConversionError, match=r"header\.frame_id"):
        read(bad)


def test_with_skip_one_that_cannot_be_used_is_left_out_unless_all_are() -> None:
    from coterie_ros import conversions

    item, left_out = message(), []
    item.detections = [*item.detections, *message(width=0).detections]
    with pytest.raises(conversions.ConversionError, match=r"detections\[1\]"):
        read(item)
    found = conversions.detections_from_msg(item, skip=left_out.append)
    assert [one.box for one in found.detections] == [(10, 20, 5, 4)]
    assert [str(why).partition(":")[0] for why in left_out] == [
        "detections, field detections[1].x, y, width, height"
    ]
    item.detections = item.detections[1:]
    with pytest.raises(conversions.ConversionError, match=r"detections\[0\]"):
        conversions.detections_from_msg(item, skip=left_out.append)
    assert not conversions.detections_from_msg(message(), skip=left_out.append).detections[1:]
    assert len(left_out) == 1


@pytest.mark.parametrize("changes", [{"size_x": 0.3, "size_y": 0.3}, {"score": 1.2}])
def test_with_skip_the_good_ones_of_vision_msgs_stay(changes: dict[str, float]) -> None:
    from coterie_ros import conversions

    item, left_out = vision_message(), []
    item.detections += vision_message(**changes).detections
    item.header.frame_id = ""
    with pytest.raises(conversions.ConversionError, match=r"header\.frame_id"):
        conversions.detections_from_vision_msg(item, skip=left_out.append)
    del left_out[:]
    found = conversions.detections_from_vision_msg(item, frame="eye", skip=left_out.append)
    assert len(found.detections) == len(left_out) == 1 and found.frame == "eye"


def vision_message(**changes: Any) -> Any:
    """The fields of a vision_msgs/Detection2DArray (4.1), which is not among the wheels."""
    from coterie_ros import conversions

    box = {"x": 30.0, "y": 20.0, "theta": 0.0, "size_x": 10.0, "size_y": 4.0, **changes}
    hypothesis = SimpleNamespace(class_id="41", score=changes.get("score", 0.75))
    bbox = SimpleNamespace(
        center=SimpleNamespace(
            position=SimpleNamespace(x=box["x"], y=box["y"]), theta=box["theta"]
        ),
        size_x=box["size_x"],
        size_y=box["size_y"],
    )
    return SimpleNamespace(
        header=conversions.header(3.0, "cam"),
        detections=[
            SimpleNamespace(results=[SimpleNamespace(hypothesis=hypothesis)], bbox=bbox, id="")
        ],
    )


def test_detections_of_vision_msgs() -> None:
    from coterie_ros import conversions

    found = conversions.detections_from_vision_msg(vision_message(), labels={"41": "cup"})
    assert (found.time, found.frame, found.width) == (3.0, "cam", 0)
    (one,) = found.detections
    assert one.box == (25, 18, 10, 4)
    assert one.scores == {"cup": 0.75}
    turned = conversions.detections_from_vision_msg(vision_message(theta=math.pi / 2))
    assert turned.detections[0].box == (28, 15, 4, 10)
    assert turned.detections[0].label == "41"


@pytest.mark.parametrize(
    "changes", [{"x": math.nan}, {"size_x": 0.0}, {"size_y": 1e9}, {"score": 2.0}]
)
def test_malformed_detections_of_vision_msgs_are_refused(changes: dict[str, float]) -> None:
    from coterie_ros import conversions

    with pytest.raises(conversions.ConversionError, match=r"detections\[0\]"):
        conversions.detections_from_vision_msg(vision_message(**changes))


def yolo(**changes: Any) -> Any:
    """A message of yolo_ros with one thing, whose outline is the left half of its box."""
    msg = pytest.importorskip("yolo_msgs.msg")
    from coterie_ros import conversions

    item = msg.Detection(class_id=41, class_name="cup", score=0.7, id="3")
    item.bbox.center.position = msg.Point2D(x=20.0, y=30.0)
    item.bbox.size = msg.Vector2(x=10.0, y=20.0)
    item.mask = msg.Mask(width=64, height=48)
    item.mask.data = [
        msg.Point2D(x=float(x), y=float(y)) for x, y in ((15, 20), (19, 20), (19, 39), (15, 39))
    ]
    for name, value in changes.items():
        setattr(item, name, value)
    return msg.DetectionArray(header=conversions.header(12.5, "eye"), detections=[item])


def test_what_yolo_ros_sends_is_read_as_it_comes() -> None:
    from coterie_ros import conversions

    read_yolo = conversions.DETECTION_READERS["yolo_msgs/DetectionArray"]
    found = read_yolo(yolo())
    assert (found.time, found.frame, found.width, found.height) == (12.5, "eye", 64, 48)
    (one,) = found.detections
    assert one.box == (15, 20, 10, 20) and one.scores == {"cup": 0.7}
    assert one.mask is not None and one.mask[:, :5].all() and not one.mask[:, 5:].any()
    numbered = read_yolo(yolo(class_name=""), labels={"41": "mug"})
    assert numbered.detections[0].scores == {"mug": 0.7}
    empty = type(yolo())(header=conversions.header(1.0, "eye"))
    assert read_yolo(empty).detections == ()
    with pytest.raises(conversions.ConversionError, match=r"detections\[0\].score"):
        read_yolo(yolo(score=math.nan))


def test_what_ultralytics_ros_sends_has_the_header_of_its_image() -> None:
    """The package is not here: its message is a header and a Detection2DArray, as they are."""
    vision = pytest.importorskip("vision_msgs.msg")
    from coterie_ros import conversions

    item = vision.Detection2D()
    item.bbox.center.position.x, item.bbox.center.position.y = 20.0, 30.0
    item.bbox.size_x, item.bbox.size_y = 10.0, 20.0
    guess = vision.ObjectHypothesisWithPose()
    guess.hypothesis.class_id, guess.hypothesis.score = "cup", 0.7
    item.results = [guess]
    message = SimpleNamespace(
        header=conversions.header(12.5, "eye"),
        detections=vision.Detection2DArray(detections=[item]),
    )
    found = conversions.DETECTION_READERS["ultralytics_ros/YoloResult"](message)
    assert (found.time, found.frame) == (12.5, "eye")
    assert found.detections[0].box == (15, 20, 10, 20)


def test_a_type_whose_package_is_missing_is_none() -> None:
    from coterie_ros import conversions

    assert conversions.detection_type("nobody_msgs/Nothing") is None
    assert conversions.detection_type("coterie_msgs/ImageDetections") is not None
