"""Networks for rendered pictures: what they are trained with, and how."""

import numpy as np
import pytest

from coterie_core.detector_options import DetectorOptions
from coterie_perception.detector import make_detector
from habitat_bridge.image_detector import NO_THINGS
from research.tools.rendered_images import SIZE, pictures_of


@pytest.fixture(scope="module")
def pictures():
    return [one for seed in (400, 401) for one in pictures_of(seed, 12)]


def test_pictures_repeat_and_have_boxes_around_what_shows(pictures):
    again = next(iter(pictures_of(400, 1)))
    assert np.array_equal(again.color, pictures[0].color) and again.labels == pictures[0].labels
    for one in pictures:
        assert one.color.shape == (SIZE[1], SIZE[0], 3) and len(one.labels) == len(one.boxes)
        assert not NO_THINGS & set(one.labels)
        assert (one.boxes >= 0).all() and (one.boxes <= [*SIZE, *SIZE]).all()
        assert (one.boxes[:, :2] < one.boxes[:, 2:]).all()
    assert sum(one.counts.sum() for one in pictures) > 3 * len(pictures)


def test_training_makes_a_file_that_the_detector_onnx_runs(tmp_path):
    pytest.importorskip("torch", reason="pip install torch")
    pytest.importorskip("onnxruntime", reason="./coterie setup --with detector")
    from research.tools import train_detector as tool

    pictures = tool.Pictures(tmp_path, 1)
    assert len(pictures.colors) == tool.PER_HOUSE and list(tmp_path.glob("*.npz"))
    labels = pictures.commonest(3)
    pixels, heat, asked, weight, target, kind = next(
        tool.batches(pictures, labels, 8, np.random.default_rng(0))
    )
    cells = (8, tool.INPUT[1] // tool.STRIDE, tool.INPUT[0] // tool.STRIDE)
    assert pixels.shape == (8, 3, tool.INPUT[1], tool.INPUT[0])
    assert heat.shape == asked.shape == weight.shape == kind.shape == cells
    # The weights of a thing add up to one, less below what lies before it.
    assert (weight.sum(dim=(1, 2)) <= (heat == 1).sum(dim=(1, 2)) + 1e-4).all()
    assert (asked[heat == 1] == 1).all() and (kind <= len(labels)).all()
    low, high = target[:, :2].movedim(1, -1), target[:, 2:].movedim(1, -1)
    assert (high[weight > 0] > low[weight > 0]).all()
    file = tmp_path / "made.onnx"
    tool.train(
        pictures, labels, 4, 8, 0, lambda network: tool.write(network, labels, file, "a test")
    )
    detector = make_detector("onnx", DetectorOptions(file=str(file), min_score=0.01))
    assert list(detector.labels) == labels == file.with_suffix(".txt").read_text().split("\n")[:-1]
    for one in detector.detect(pictures.colors[0]):
        assert one.label in labels
