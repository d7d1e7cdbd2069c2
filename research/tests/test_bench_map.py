"""The mapping bench: matching with the truth, and one generated house from images to map."""

import numpy as np
import pytest

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.geometry import Box
from coterie_fixtures.map_score import compare
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from research.bench.mapping.bench import main, map_house
from research.bench.mapping.errors import SensorErrors


def graph(*things):
    made = SceneGraph()
    for id_, label, x, size in things:
        made.add_object(
            SceneObject(id_, LabelBelief({label: 1.0}), Box((x, 0.0, 0.5), (size, size, size)), "r")
        )
    return made


def test_comparison_counts_each_thing_once():
    truth = graph(("a", "chair", 0.0, 0.5), ("b", "table", 3.0, 1.0), ("c", "mug", 6.0, 0.1))
    ours = graph(
        ("1", "chair", 0.05, 0.5),
        ("2", "chair", -0.05, 0.5),
        ("3", "desk", 3.0, 1.0),
        ("4", "cat", 9.0, 0.3),
    )
    score = compare(ours, truth, ["a", "b", "c"])
    assert (score["things"], score["seen"], score["duplicates"]) == (4, 3, 1)
    assert score["precision"] == pytest.approx(0.5)
    assert score["recall"] == pytest.approx(2 / 3)
    assert score["labels"] == pytest.approx(0.5)


def test_a_house_is_mapped():
    """Few looks at small images: most of what was seen is there, and little that is not."""
    scene, score = map_house(3, noise="low", size=(160, 120), headings=4)
    assert score.precision > 0.85 and score.recall > 0.6
    assert score.labels > 0.9 and score.rooms > 0.95
    assert score.duplicates <= 4 and score.box_error < 0.1
    assert len(scene.rooms) >= 4


def test_overlap_of_boxes_is_counted_apart_from_near_centers():
    truth = graph(("a", "mug", 0.0, 0.1), ("b", "table", 3.0, 1.0))
    ours = graph(("1", "mug", 0.09, 0.1), ("2", "table", 3.3, 1.0))
    score = compare(ours, truth, ["a", "b"])
    assert score["precision"] == 1.0, "centers are near for the size"
    assert (score["precision_25"], score["recall_25"]) == (0.5, 0.5)
    assert (score["precision_50"], score["recall_50"]) == (0.5, 0.5)


def test_errors_of_sensors():
    rng = np.random.default_rng(5)
    depth = np.full((60, 80), 2.0, np.float32)
    depth[:, 40:] = 3.5
    frame = RgbdFrame(depth, (70.0, 70.0, 40.0, 30.0), np.eye(4))
    mask = np.ones((4, 6), bool)
    one = ImageDetection((1, 10, 6, 4), {"mug": 0.9}, mask)
    errors = SensorErrors(depth=1.0, position=0.05, rotation=2.0, leak=3)
    spoiled, (grown,) = errors.spoil(frame, [one], rng)
    assert grown.box == (0, 7, 10, 10) and grown.mask.shape == (10, 10)
    assert grown.mask[3:7, 1:7].all() and not grown.mask[0, 0]
    known = spoiled.depth[:, :30]
    assert 0.001 < np.std(known[known > 0] - 2.0) < 0.1
    assert (spoiled.depth[:, 38:42] == 0).any(), "edges lie in the shade of the pattern"
    assert np.allclose(spoiled.camera_to_map[:3, :3] @ spoiled.camera_to_map[:3, :3].T, np.eye(3))
    assert not np.allclose(spoiled.camera_to_map, np.eye(4))
    same, (plain,) = SensorErrors(boxes=True).spoil(frame, [one], rng)
    assert same.depth is depth and plain.mask is None


def test_mistakes_are_told(capsys):
    assert main(["--noise", "loud"]) == 2
    assert "low, normal" in capsys.readouterr().err
    assert main(["--room", "/nowhere"]) == 2
    assert "7-Scenes" in capsys.readouterr().err
