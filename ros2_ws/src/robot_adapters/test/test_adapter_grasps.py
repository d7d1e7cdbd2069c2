"""Where a hand grips a thing."""

from __future__ import annotations

import math

import pytest

from robot_adapters.backends.arm import DOWN, grip_point, ways

PAN = (0.26, 0.3, 0.05)


@pytest.mark.parametrize(
    ("far", "reach", "at"),
    [
        (0.7, 0.9, 0.7),  # its middle
        (0.95, 0.9, 0.88),  # nearer to the rim
        (1.3, 0.9, 1.19),  # two centimetres of it, though out of reach: the arm says so
        (0.95, math.inf, 0.95),
        (0.0, 0.0, 0.0),
    ],
)
@pytest.mark.parametrize("ahead", [0.0, 2.0])
def test_a_hand_grips_the_rim_of_what_is_a_little_too_far(
    far: float, reach: float, at: float, ahead: float
) -> None:
    point = grip_point((far * math.cos(ahead), far * math.sin(ahead), 0.9), PAN, reach)
    assert point == pytest.approx((at * math.cos(ahead), at * math.sin(ahead), 0.9))


def test_small_things_are_gripped_at_their_middle() -> None:
    assert grip_point((1.0, 0.0, 0.5), (0.03, 0.1, 0.2), 0.9) == (1.0, 0.0, 0.5)


def test_a_hand_comes_from_above_first_and_then_from_where_the_robot_stands() -> None:
    first, second, *others = ways(math.pi / 2.0)
    assert first == DOWN and second == pytest.approx((0.0, 1.0, 0.0), abs=1e-9)
    assert all(math.hypot(*way) == pytest.approx(1.0) for way in others)
