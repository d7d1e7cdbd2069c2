"""The perception node over real topics: what cameras send becomes detections, or is told."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from coterie_core.embodiment import Camera
from coterie_msgs.msg import Assignment, ImageDetections, Question, SubTask, TaskThing
from coterie_perception import fetch
from coterie_perception.node import PerceptionNode
from coterie_ros import conversions
from coterie_ros.qos import profile

pytestmark = pytest.mark.ros

MODULE = """
import time
from coterie_core.detections import Detector, ImageDetection
from coterie_perception.detector import ColorDetector

class Red(Detector):
    def __call__(self, frame):
        if frame.color[0, 0, 2]:
            raise RuntimeError("blue")
        return [ImageDetection((1, 2, 3, 4), {f"red {frame.depth[0, 0]:.1f}": 0.7})]

class Blind:
    pass

class Bright(ColorDetector):
    name = "bright-1"
    asked = []
    def __init__(self, options):
        self.least, self.slow = options.min_score, options.threads / 10
    def look_for(self, words):
        Bright.asked += words
    def detect(self, image):
        time.sleep(self.slow)
        score = image.max() / 255.0
        return [ImageDetection((1, 2, 3, 4), {"light": score})] if score > self.least else []
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_cart.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_cart", raising=False)


def node(ros, **camera):
    """A perception node of one camera, as a team file's plan starts it."""
    given = {"cameras": json.dumps([{"topic": "found", **camera}])}
    return ros.add(
        PerceptionNode("detector", namespace="/cart", context=ros.context, parameters=given)
    )


@pytest.fixture
def bright(monkeypatch):
    """A detector of the registry, as another one that comes with Coterie is one line there."""
    from coterie_perception import detector

    monkeypatch.setitem(detector.DETECTORS, "bright", "own_cart:Bright")
    return "bright"


def test_a_class_of_yours_looks_at_depth_and_color_of_one_moment(ros) -> None:
    helper, found = ros.node(), []
    make = helper.create_publisher
    out = {
        "info": make(CameraInfo, "/cart/info", profile("sensor_data")),
        "depth": make(Image, "/cart/depth", profile("sensor_data")),
        "color": make(Image, "/cart/color", profile("sensor_data")),
    }
    helper.create_subscription(ImageDetections, "/cart/found", found.append, profile("detections"))
    detector = node(ros, detector="own_cart:Red", depth="depth", info="info", color="color",
                    options={"max_rate": 100.0})  # fmt: skip
    ros.wait_active(detector)
    ros.wait_for_matched(*out.values())
    times, blue, rows = itertools.count(1), 0, 8

    def see() -> None:
        head = conversions.header(float(next(times)), "eye")
        out["info"].publish(conversions.camera_info_to_msg(Camera(width=8, height=8), head))
        depth = np.full((8, 8), head.stamp.sec % 100, np.float32)
        out["depth"].publish(conversions.image_to_msg(depth, head))
        color = np.full((rows, 8, 3), blue, np.uint8)
        out["color"].publish(conversions.image_to_msg(color, head))

    def failed(count: int) -> bool:
        return detector.diagnostics.counter("failures") > count

    helper.create_timer(0.05, see)
    ros.spin_until(lambda: found, what="detections")
    assert found[-1].header.frame_id == "eye" and found[-1].detector == "own_cart:Red"
    read = conversions.detections_from_msg(found[-1])
    (one,) = read.detections
    assert one.label == f"red {read.time % 100:.1f}" and one.box == (1, 2, 3, 4)
    # An image that it cannot take, or that does not fit, is told; the next one is looked at.
    blue = 9
    ros.spin_until(lambda: failed(0), what="a failure of the detector")
    blue, rows, count = 0, 4, detector.diagnostics.counter("failures") + 1
    ros.spin_until(lambda: failed(count), what="an image of another size")
    rows = 8
    found.clear()
    ros.spin_until(lambda: found, what="detections again")


@pytest.mark.parametrize("name", ["own_cart:Blind", "own_cart:Gone", "onnx"])
def test_what_is_no_detector_is_refused_by_its_field(ros, name: str) -> None:
    detector = node(ros, detector=name, depth="depth", info="info", color="color")
    ros.spin_until(lambda: detector.failure, what="the refusal")
    assert f"robots: cart: camera: detections.detector: {name}: " in detector.failure
    assert detector.misconfigured


@pytest.mark.parametrize(
    "given", ["[]", '[{"detector": "boxes"}]', '[{"colour": "x"}]', '{"a": 1}']
)
def test_cameras_that_are_none_are_refused(ros, given: str) -> None:
    detector = ros.add(
        PerceptionNode("detector", context=ros.context, parameters={"cameras": given})
    )
    ros.spin_until(lambda: detector.failure, what="the refusal")
    assert "parameter 'cameras'" in detector.failure


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.quick
def test_color_images_become_detections_with_their_stamp_and_frame(ros, bright, packed) -> None:
    helper, found = ros.node(), []
    topic = "color/compressed" if packed else "color"
    kind = CompressedImage if packed else Image
    out = helper.create_publisher(kind, f"/cart/{topic}", profile("sensor_data"))
    asked = helper.create_publisher(Question, "/question", profile("questions"))
    asked.publish(Question(id="1", object="keys"))
    given = helper.create_publisher(Assignment, "/assignment", profile("latched"))
    bring = SubTask(object=TaskThing(label="red mug"), has_object=True)
    bring.receptacle, bring.has_receptacle = TaskThing(label="shelf"), True
    given.publish(Assignment(task="1", sub_tasks=[bring, SubTask()]))
    helper.create_subscription(ImageDetections, "/cart/found", found.append, profile("detections"))
    detector = node(ros, detector=bright, color=topic, options={"max_rate": 100.0})
    ros.wait_active(detector)
    ros.wait_for_matched(out)
    times = itertools.count(1)

    def see() -> None:
        head = conversions.header(float(next(times)), "eye")
        pixels = np.zeros((6, 8, 3), np.uint8)
        pixels[2:, 1:4] = 255 if head.stamp.sec % 2 else 0
        make = conversions.packed_color_to_msg if packed else conversions.image_to_msg
        out.publish(make(pixels, head))

    helper.create_timer(0.05, see)
    ros.spin_until(lambda: len({one.header.stamp.sec % 2 for one in found}) == 2, what="both kinds")
    for message in found:
        assert message.header.frame_id == "eye" and message.detector == "bright-1"
        assert (message.image_width, message.image_height) == (8, 6)
        # Nothing found is told, too: only then it counts that nothing is there.
        assert [one.scores[0].label for one in message.detections] == ["light"] * (
            message.header.stamp.sec % 2
        )
    asked_for = sys.modules["own_cart"].Bright.asked
    words = {"keys", "red mug", "shelf"}
    ros.spin_until(lambda: words <= {*asked_for}, what="the words of a question and a task")
    assert "" not in asked_for


def test_a_slow_detector_looks_at_the_newest_image_and_says_how_late_it_is(ros, bright) -> None:
    helper, found = ros.node(), []
    out = helper.create_publisher(Image, "/cart/color", profile("sensor_data"))
    helper.create_subscription(ImageDetections, "/cart/found", found.append, profile("detections"))
    detector = node(ros, detector=bright, color="color", options={"threads": 5, "max_rate": 100.0})
    ros.wait_active(detector)
    ros.wait_for_matched(out)
    sent = []

    def see() -> None:
        head = conversions.header(detector.now(), "eye")
        sent.append(head.stamp)
        out.publish(conversions.image_to_msg(np.full((6, 8, 3), 200, np.uint8), head))

    helper.create_timer(0.02, see)
    ros.spin_until(lambda: len(found) >= 3, what="three images of a slow detector")
    stamps = [sent.index(one.header.stamp) for one in found]
    assert stamps == sorted(stamps) and stamps[2] - stamps[1] > 2  # those between are left out
    figures = {v.key: v.value for v in detector.diagnostics.status().values}
    assert float(figures["camera.seconds_per_image"]) >= 0.5
    assert float(figures["camera.late_s"]) >= 0.5


def test_a_silent_camera_is_told(ros, bright, monkeypatch) -> None:
    from coterie_perception import node as module

    monkeypatch.setattr(module, "_SILENT_S", 0.2)
    detector = node(ros, detector=bright, color="color")
    ros.wait_active(detector)
    ros.spin_until(
        lambda: "no image on color" in detector.diagnostics.status().message, what="the silence"
    )


def test_vision_msgs_go_out_where_they_are_asked_for(ros, bright) -> None:
    vision_msgs = pytest.importorskip("vision_msgs.msg")
    helper, found = ros.node(), []
    out = helper.create_publisher(Image, "/cart/color", profile("sensor_data"))
    helper.create_subscription(
        vision_msgs.Detection2DArray, "/cart/found", found.append, profile("detections")
    )
    detector = node(ros, detector=bright, color="color", type="vision_msgs/Detection2DArray")
    ros.wait_active(detector)
    ros.wait_for_matched(out)

    def see() -> None:
        head = conversions.header(5.0, "eye")
        out.publish(conversions.image_to_msg(np.full((6, 8, 3), 204, np.uint8), head))

    helper.create_timer(0.05, see)
    ros.spin_until(lambda: found, what="detections")
    read = conversions.detections_from_vision_msg(found[-1])
    (one,) = read.detections
    assert one.box == (1, 2, 3, 4) and one.scores == pytest.approx({"light": 0.8})
    assert (read.frame, read.time) == ("eye", 5.0)


def test_a_photograph_over_topics_has_its_cup(ros) -> None:
    """The walk of a lab's first day: a camera's image in, `box`'s detections out."""
    photos = Path(__file__).resolve().parents[5] / "shared" / "data" / "red_kitchen"
    pytest.importorskip("onnxruntime", reason="./coterie setup --with detector")
    try:
        fetch.read()
    except fetch.FetchError as error:
        pytest.skip(f"the network is not here: {error}")
    if not photos.is_dir():
        pytest.skip("no ../shared/data/red_kitchen")
    jpeg = (photos / "frame-000600.color.jpg").read_bytes()
    helper, found = ros.node(), []
    out = helper.create_publisher(CompressedImage, "/cart/color/compressed", profile("sensor_data"))
    helper.create_subscription(ImageDetections, "/cart/found", found.append, profile("detections"))
    detector = node(ros, detector="box", color="color/compressed")
    ros.wait_active(detector)
    ros.wait_for_matched(out)
    head = conversions.header(7.0, "eye")
    helper.create_timer(
        0.2, lambda: out.publish(CompressedImage(header=head, format="jpeg", data=jpeg))
    )
    ros.spin_until(lambda: found, what="detections in a photograph")
    read = conversions.detections_from_msg(found[-1])
    assert (read.frame, read.time, read.width, read.height) == ("eye", 7.0, 640, 480)
    assert {"cup", "chair"} <= {one.label for one in read.detections}
