"""Places of rooms of any size: as a table of all pairs gives them, without its memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from habitat_bridge.embedded.places import _COARSE, _COVER, _COVERED, _NEAR, _ROOMY, _Builder


def floor(width: float, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Cells of an empty floor, row by row [m]."""
    ys, xs = np.mgrid[0.025:length:0.05, 0.025:width:0.05]
    return xs.ravel(), ys.ravel()


def covered(xs, ys, space) -> _Builder:
    builder = object.__new__(_Builder)
    builder.spots, builder.room_of = [], []
    builder._cover(xs, ys, space, 0.0, "r")
    return builder


def by_table(xs, ys, space) -> list[tuple[float, float]]:
    """The greedy cover, in full: every candidate counted anew in every round."""
    px, py, roomy = xs[::_COARSE], ys[::_COARSE], space[::_COARSE] >= _ROOMY
    cx, cy, cs = px[roomy], py[roomy], space[::_COARSE][roomy]
    reach = (cx[:, None] - px) ** 2 + (cy[:, None] - py) ** 2 <= _COVER**2
    left, spots = np.ones(len(px), bool), []
    while left.sum() > (1.0 - _COVERED) * len(px):
        gain = (reach & left).sum(axis=1) + 0.5 * np.minimum(cs, 1.0)
        best = int(np.argmax(gain))
        if gain[best] < 1.0:
            break
        at = (float(cx[best]), float(cy[best]))
        if all(np.hypot(at[0] - x, at[1] - y) >= _NEAR for x, y in spots):
            spots.append(at)
        left &= ~reach[best]
    return spots


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_places_are_those_of_the_full_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    xs, ys = floor(*rng.uniform(3.0, 7.0, 2))
    kept = rng.random(len(xs)) < 0.8
    xs, ys = xs[kept], ys[kept]
    space = np.round(rng.uniform(0.1, 1.5, len(xs)), 1)
    assert [(x, y) for x, y, _ in covered(xs, ys, space).spots] == by_table(xs, ys, space)


def test_a_hall_takes_no_table_of_all_pairs() -> None:
    xs, ys = floor(15.0, 12.0)  # 18 000 candidates: 324 million pairs
    tracemalloc.start()
    builder = covered(xs, ys, np.full(len(xs), 1.0))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 500e6  # the table alone would have 2.6 GB
    away = np.min([np.hypot(xs - x, ys - y) for x, y, _ in builder.spots], axis=0)
    assert (away <= _COVER).mean() >= _COVERED - 0.01
