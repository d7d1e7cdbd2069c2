"""What candidates of a network become detections."""

import numpy as np
import pytest

from coterie_core.detections import Detector, ImageDetection, RgbdFrame
from coterie_core.detector_options import DETECTORS, DetectorOptions, detector_name
from coterie_perception.detector import ColorDetector, DetectorError, detections, make_detector

pytestmark = pytest.mark.quick

LABELS = ("cup", "bowl", "")


def found(boxes, scores, least=0.3):
    return detections(np.array(boxes, float), np.array(scores, float), LABELS, (100, 50), least)


def test_a_thing_is_reported_once_and_with_its_other_labels():
    one, other = found(
        [[10, 10, 30, 30], [11, 10, 31, 30], [60, 10, 80, 30]],
        [[0.8, 0.2, 0], [0.6, 0.1, 0], [0.05, 0.5, 0]],
    )
    assert one == ImageDetection((10, 10, 20, 20), {"cup": 0.8, "bowl": 0.2})
    assert other.scores == {"bowl": 0.5} and other.box == (60, 10, 20, 20)


def test_two_kinds_in_one_place_stay_two():
    kinds = found([[10, 10, 30, 30], [10, 10, 30, 30]], [[0.8, 0, 0], [0, 0.7, 0]])
    assert [one.label for one in kinds] == ["cup", "bowl"]


@pytest.mark.parametrize(
    "box", [[np.nan, 0, 9, 9], [200, 0, 300, 40], [10, 10, 10.4, 30], [30, 10, 10, 30]]
)
def test_boxes_that_show_nothing_are_left_out(box):
    assert found([box], [[0.9, 0, 0]]) == []


def test_what_is_no_thing_or_not_sure_is_left_out_and_boxes_are_cut_at_the_edge():
    assert found([[1, 1, 9, 9]], [[0.2, 0.1, 0.9]]) == []
    (one,) = found([[-5, -5, 20, 90]], [[0.9, 0, 0]])
    assert one.box == (0, 0, 20, 50)
    assert found(np.zeros((0, 4)), np.zeros((0, 3))) == []


def test_every_detector_is_one_of_frames_too_and_says_what_it_needs():
    class Red(ColorDetector):
        name = "red"

        def detect(self, image):
            return [ImageDetection((0, 0, 1, 1), {"red": 0.5})]

    red: Detector = Red()
    frame = RgbdFrame(np.ones((2, 2), np.float32), (1, 1, 1, 1), np.eye(4))
    with pytest.raises(DetectorError, match="red looks at color images"):
        red(frame)
    colored = RgbdFrame(
        np.ones((2, 2), np.float32), (1, 1, 1, 1), np.eye(4), np.zeros((2, 2, 3), np.uint8)
    )
    assert red(colored)[0].label == "red"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("onnx", "give the .onnx file"),
        ("open_vocabulary", "give the model that transformers is to load"),
        ("vlm", "name a model profile"),
        ("bx", "expected one of box, onnx"),
    ],
)
def test_what_a_detector_lacks_is_told_by_its_field(name, why):
    with pytest.raises(DetectorError, match=f"team: .*{why}"):
        make_detector(name, DetectorOptions(), "team")


def test_names_are_those_of_the_registry_or_classes():
    assert [detector_name(name) for name in DETECTORS] == list(DETECTORS)
    assert detector_name("my.eye:Red") == "my.eye:Red"
    with pytest.raises(ValueError, match="expected box, onnx"):
        detector_name("boxes")
