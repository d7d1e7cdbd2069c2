"""The mapping bench: matching with the truth, and one generated house from images to map."""

import pytest

from coterie_bench.mapping import compare, main, map_house
from coterie_core.geometry import Box
from coterie_core.scene import LabelBelief, SceneGraph, SceneObject


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


def test_mistakes_are_told(capsys):
    assert main(["--noise", "loud"]) == 2
    assert "low, normal" in capsys.readouterr().err
