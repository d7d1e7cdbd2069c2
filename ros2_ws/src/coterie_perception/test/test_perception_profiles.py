"""What robots believe of detectors before they run."""

import pytest

from coterie_core.confidence import load_confidence
from coterie_core.detector_options import DETECTORS, DetectorOptions
from coterie_perception.coco import COCO, INDOORS
from coterie_perception.profiles import labels_of, profile_of
from coterie_requests.detector_vocabulary import DetectorVocabulary

pytestmark = pytest.mark.quick


def test_box_is_believed_to_miss_as_often_as_it_did_on_photographs():
    usual, box = load_confidence().detector, profile_of("box")
    assert box is not None and 0.4 < box.miss < 0.7 and 0.1 < box.false < 0.4
    assert (box.hidden, box.shift, box.slope) == (usual.hidden, usual.shift, usual.slope)
    # A second look helps less where each misses more.
    assert box.overlooked(2) > usual.overlooked(2)
    assert [name for name in DETECTORS if profile_of(name)] == ["box"]


def test_labels_that_are_known_make_not_seen_say_something(tmp_path):
    assert labels_of("box", DetectorOptions()) == COCO and INDOORS[0] == "bottle"
    words = DetectorVocabulary.of(COCO)
    assert words.check("mug").reportable and not words.check("broom").reportable
    file = tmp_path / "labels.txt"
    file.write_text("broom\n\nbucket\n")
    assert labels_of("onnx", DetectorOptions(labels=str(file))) == ("broom", "bucket")
    assert labels_of("onnx", DetectorOptions(labels=str(tmp_path / "none.txt"))) is None
    assert labels_of("vlm", DetectorOptions()) is None
