"""The sensing bench: a few looks around in one house, and maps that are aligned or refused."""

from __future__ import annotations

from research.bench.sensing.bench import score_places, try_alignment


def test_depth_shows_the_places_that_the_simulator_says_are_in_view() -> None:
    score = score_places(21, most_looks=3)
    assert score.looks == 3
    assert score.both >= 5
    assert score.extra + score.missed <= 1
    assert score.quality_error < 0.01
    assert 0.5 * score.simulator_places <= score.places <= 1.5 * score.simulator_places


def test_a_map_is_found_with_its_error_and_that_of_another_house_is_not() -> None:
    found = try_alignment(31, 25, 0.1)
    assert found.outcome == "found"
    assert found.error < 5.0 * found.said
    assert try_alignment(31, 15, 0.0, other_house=True).outcome == "refused"
