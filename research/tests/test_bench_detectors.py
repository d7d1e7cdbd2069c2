"""How detectors are scored against what is in an image."""

import pytest

from coterie_core.detections import ImageDetection
from research.bench.mapping.detectors import Sight, overlap, profile_of, renamed


def thing(label, box, score=0.8):
    return ImageDetection(box, {label: score})


def test_overlap_is_intersection_over_union():
    assert overlap((0, 0, 10, 10), (0, 0, 10, 10)) == 1.0
    assert overlap((0, 0, 10, 10), (5, 0, 10, 10)) == pytest.approx(1 / 3)
    assert overlap((0, 0, 10, 10), (20, 0, 10, 10)) == 0.0


def test_each_outline_is_found_once_and_the_rest_is_missed_or_wrong():
    truth = [
        thing("mug", (0, 0, 10, 10)),
        thing("chair", (50, 0, 40, 80)),
        thing("mug", (30, 0, 9, 9)),
    ]
    found = renamed([
        thing("cup", (1, 0, 10, 10), 0.9), thing("cup", (0, 0, 10, 9), 0.5),
        thing("tv", (50, 0, 40, 80)), thing("book", (0, 0, 5, 5)),
    ])  # fmt: skip
    sight = Sight()
    sight.add(truth, found)
    assert (sight.seen["mug"], sight.wrong["mug"], sight.missed["mug"]) == (1, 1, 1)
    assert (sight.missed["chair"], sight.wrong["television"]) == (1, 1)
    assert sight.recall(("mug",)) == 0.5 and sight.precision(
        ("mug", "television")
    ) == pytest.approx(1 / 3)
    assert profile_of(sight) == {"miss": pytest.approx(0.667), "false": pytest.approx(0.667)}
