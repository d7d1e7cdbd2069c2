"""Where furniture was seen to be level enough to put something down."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from coterie_core.detections import RgbdFrame
from coterie_core.geometry import Box, Vec3
from coterie_fixtures.drawn_scenes import pitched, view
from robot_adapters.sensing.height_map import HeightMap

TABLE = Box((1.0, 0.0, 0.375), (1.2, 1.2, 0.75))  # as it was taken to be: 0.3 m too wide
FLOOR = ((-5.0, -5.0, -0.1), (5.0, 5.0, 0.0))
HERE = (0.0, 0.0, 0.0)
REAL = Box((1.15, 0.0, 0.35), (0.9, 0.6, 0.7))


def seen(*boxes: Box, time: float = 1.0, behind: bool = False) -> RgbdFrame:
    """Return what a camera 1.2 m above the floor at x = 0 (behind: 2.4) shows of boxes."""
    drawn = {f"box#{k}": box.axis_aligned() for k, box in enumerate(boxes)}
    at = (2.4, 0.0, 1.2, math.pi) if behind else (0.0, 0.0, 1.2, 0.0)
    frame, _ = view({"floor": FLOOR, **drawn}, pitched(*at, 0.7), time=time)
    return frame


def height_map(*boxes: Box) -> HeightMap:
    made = HeightMap()
    made.add(seen(*boxes))
    return made


def level(made: HeightMap, *args: Any, **options: Any) -> Vec3 | None:
    """Return the spot that the hand gets to; None: there is none."""
    found = made.level_spot(*args, **options)
    return found.point if found is not None and found.reached else None


def test_a_thing_goes_onto_the_table_and_not_into_its_box_beside_it() -> None:
    spot = level(height_map(REAL), (1.2, 0.45, 0.75), TABLE, 0.05, HERE)
    assert spot is not None
    x, y, z = spot
    assert z == pytest.approx(0.7, abs=0.02), "as high as was seen, and not as the box has it"
    assert y < 0.3 and math.dist((x, y), (1.2, 0.45)) < 0.3


def test_where_it_is_level_it_stays_where_it_was_meant() -> None:
    spot = level(height_map(REAL), (1.1, 0.1, 0.75), TABLE, 0.05, HERE)
    assert spot is not None and math.dist(spot[:2], (1.1, 0.1)) < 0.04


def test_what_stands_there_is_not_level() -> None:
    vase = Box((1.1, 0.0, 0.8), (0.1, 0.1, 0.2))
    spot = level(height_map(REAL, vase), (1.1, 0.0, 0.75), TABLE, 0.05, HERE)
    assert spot is not None and math.dist(spot[:2], (1.1, 0.0)) > 0.08
    assert spot[2] == pytest.approx(0.7, abs=0.02)


def test_a_thing_goes_where_there_is_room_around_it_rather_than_into_a_narrow_strip() -> None:
    """A television leaves 0.12 m before it: a hand that errs a little lets go beside that."""
    television = Box((1.21, -0.15, 0.95), (0.78, 0.3, 0.5))
    spot = level(height_map(REAL, television), (0.76, -0.15, 0.7), TABLE, 0.05, HERE)
    assert spot is not None
    assert spot[2] == pytest.approx(0.7, abs=0.02)
    assert spot[1] > 0.05 and spot[0] > 0.74, "beside it"
    # Where there is no better one, the strip will do.
    wide = Box((1.21, 0.0, 0.95), (0.78, 0.6, 0.5))
    strip = level(height_map(REAL, wide), (0.76, -0.15, 0.7), TABLE, 0.05, HERE)
    assert strip is not None and strip[0] < 0.82 and strip[2] == pytest.approx(0.7, abs=0.02)


def test_of_two_heights_the_one_that_was_meant() -> None:
    """A toilet: the box ends at the tank's top, and the point meant lies over the seat."""
    toilet = Box((1.0, 0.0, 0.4), (0.7, 0.4, 0.8))
    tank = Box((1.25, 0.0, 0.4), (0.2, 0.4, 0.8))
    bowl = Box((0.9, 0.0, 0.2), (0.5, 0.4, 0.4))
    made = height_map(tank, bowl)
    on_tank = level(made, (0.95, 0.0, 0.8), toilet, 0.03, HERE)
    assert on_tank is not None
    assert on_tank[2] == pytest.approx(0.8, abs=0.02) and on_tank[0] > 1.15
    on_seat = level(made, (0.95, 0.0, 0.4), toilet, 0.03, HERE)
    assert on_seat is not None and on_seat[2] == pytest.approx(0.4, abs=0.02)


def test_a_narrow_tank_goes_before_the_wide_basket_beside_it_that_its_box_takes_in() -> None:
    toilet = Box((1.0, 0.1, 0.35), (0.7, 0.7, 0.7))  # 0.3 m too wide
    tank = Box((1.25, 0.0, 0.375), (0.14, 0.4, 0.75))
    bowl = Box((0.9, 0.0, 0.2), (0.5, 0.4, 0.4))
    lid = Box((1.1, 0.45, 0.31), (0.4, 0.4, 0.62))
    spot = level(
        height_map(tank, bowl, lid), (1.2, 0.15, 0.7), toilet, 0.05, HERE, at_its_height=True
    )
    assert spot is not None and spot[2] == pytest.approx(0.75, abs=0.02), spot


def test_a_seat_alone_in_view_bears_nothing_where_only_the_top_does() -> None:
    toilet = Box((1.0, 0.0, 0.4), (0.7, 0.4, 0.8))
    made = height_map(Box((0.9, 0.0, 0.2), (0.5, 0.4, 0.4)))  # the tank is not in view
    at = (0.95, 0.0, 0.8)
    assert level(made, at, toilet, 0.03, HERE) is not None
    assert level(made, at, toilet, 0.03, HERE, at_its_height=True) is None
    assert made.height(at, toilet, 0.03) == pytest.approx(0.4, abs=0.02)
    assert made.height((1.25, 0.0, 0.8), toilet, 0.03) is None, "nothing was seen there"


def test_a_spot_far_beyond_the_one_that_was_meant_is_none() -> None:
    """The table is full but for its far end, where the hand does not get to."""
    full = Box((1.05, 0.0, 0.85), (0.7, 0.6, 0.3))
    made = height_map(REAL, full)
    made.add(seen(REAL, full, behind=True))
    near = (0.8, 0.0, 0.7)
    assert level(made, near, TABLE, 0.05, HERE, at_its_height=True) is None
    there = level(made, near, TABLE, 0.05, (2.2, 0.0, 0.0), at_its_height=True)
    assert there is not None and there[0] > 1.4


def test_of_a_large_table_the_part_that_the_hand_gets_to() -> None:
    """The robot came to stand on another side than was meant."""
    meant = (1.5, 0.0, 0.75)
    near = level(height_map(REAL), meant, TABLE, 0.05, HERE, reach=0.9)
    assert near is not None and 0.7 < near[0] <= 0.9
    assert level(height_map(REAL), meant, TABLE, 0.05, HERE, reach=0.5) is None


def test_where_the_hand_does_not_get_to_any_the_nearest_one_is_told() -> None:
    found = height_map(REAL).level_spot((0.8, 0.0, 0.75), TABLE, 0.05, HERE, reach=0.5)
    assert found is not None and not found.reached
    x, y, z = found.point
    assert z == pytest.approx(0.7, abs=0.02) and 0.7 < x < 0.9 and abs(y) < 0.1
    # A stool in the table's box is not what bears things on it.
    stool = Box((1.15, 0.0, 0.25), (0.9, 0.6, 0.5))
    assert height_map(stool).level_spot((0.8, 0.0, 0.75), TABLE, 0.05, HERE, reach=0.5) is None
    assert (
        height_map(REAL).level_spot((0.8, 0.0, 0.75), TABLE, 0.05, HERE, [TABLE], reach=0.5) is None
    )


def test_a_strip_hardly_wider_than_the_thing_bears_it_where_nothing_else_does() -> None:
    """Things look shorter from one side than they are."""
    television = Box((0.96, 0.0, 0.95), (0.28, 0.6, 0.5))  # leaves 0.12 m before it
    made = height_map(REAL, television)
    at = (0.76, 0.0, 0.7)
    found = made.level_spot(at, TABLE, 0.055, HERE, reach=0.9)
    assert found is not None and found.reached and found.point[0] < 0.82
    made.add(seen(REAL, television, behind=True))
    found = made.level_spot(at, TABLE, 0.055, HERE, reach=0.9)
    assert found is not None and not found.reached and found.point[0] > 1.1, (
        "behind it there is room"
    )


def test_cameras_look_down_on_what_is_lower_than_they_are() -> None:
    assert not HeightMap().overlooks(0.7), "nothing came"
    assert height_map(REAL).overlooks(0.7) and not height_map(REAL).overlooks(1.1)


def test_of_a_row_the_piece_that_is_meant() -> None:
    """The table's box reaches into a second one of its height beside it."""
    beside = Box((1.15, 0.5, 0.35), (0.9, 0.5, 0.7))
    made = height_map(REAL, beside)
    at = (1.1, 0.35, 0.75)
    spot = level(made, at, TABLE, 0.05, HERE)
    assert spot is not None and spot[1] > 0.25
    spot = level(made, at, TABLE, 0.05, HERE, [beside])
    assert spot is not None and spot[1] < 0.25


def test_what_is_level_on_anothers_surface_bears_nothing() -> None:
    at, low = (1.1, 0.0, 0.75), Box((1.15, 0.0, 0.45), (0.9, 0.6, 0.2))
    assert level(height_map(REAL), at, TABLE, 0.05, HERE, not_on=[low]) is not None, (
        "lower than that"
    )
    half = Box((1.15, 0.15, 0.7), (0.9, 0.3, 0.2))
    spot = level(height_map(REAL), (1.1, 0.1, 0.75), TABLE, 0.05, HERE, not_on=[half])
    assert spot is not None and spot[1] <= 0.02
    assert level(height_map(REAL), at, TABLE, 0.05, HERE, not_on=[REAL]) is not None
    surface = Box((1.15, 0.0, 0.7), (0.9, 0.6, 0.2))
    assert height_map(REAL).level_spot(at, TABLE, 0.05, HERE, not_on=[surface]) is None


@pytest.mark.parametrize("robot", [(0.0, 0.0, 0.0), (2.4, 0.0, 0.0)])
def test_of_spots_as_far_away_the_one_nearer_to_the_robot(robot: tuple[float, ...]) -> None:
    vase = Box((1.2, 0.0, 0.8), (0.04, 0.3, 0.2))
    made = height_map(REAL, vase)
    made.add(seen(REAL, vase, behind=True))
    spot = level(made, (1.2, 0.0, 0.75), TABLE, 0.05, robot)
    assert spot is not None and (spot[0] < 1.2) is (robot[0] < 1.2)


@pytest.mark.parametrize("radius", [0.05, 0.6])
def test_where_nothing_was_seen_nothing_is_known(radius: float) -> None:
    assert level(HeightMap(), (1.0, 0.0, 0.75), TABLE, radius, HERE) is None
    far = Box((1.0, 3.0, 0.375), (1.2, 1.2, 0.75))
    assert level(height_map(REAL), (1.0, 3.0, 0.75), far, radius, HERE) is None
    assert level(height_map(REAL), (1.0, 0.0, 0.75), TABLE, 0.6, HERE) is None, "it is too large"


def test_what_the_hand_has_taken_is_no_height_any_more() -> None:
    made = height_map(REAL, Box((1.1, 0.1, 0.8), (0.24, 0.24, 0.2)))
    at = (1.1, 0.1, 0.7)
    assert made.height(at, TABLE, 0.05) == pytest.approx(0.9, abs=0.03)
    made.clear(at)
    assert made.height(at, TABLE, 0.05) is None
    spot = level(made, at, TABLE, 0.05, HERE)
    assert spot is not None and math.dist(spot[:2], at[:2]) < 0.4, "beside it it is level"


def test_what_is_long_ago_is_forgotten() -> None:
    made = height_map(REAL)
    made.add(seen(time=2.0))
    made.forget(before=1.5)
    assert level(made, (1.1, 0.1, 0.75), TABLE, 0.05, HERE) is None
    made.forget()
    assert level(made, (1.1, 0.1, 0.75), TABLE, 0.05, HERE) is None


def test_numbers_that_are_none_show_nothing() -> None:
    frame = seen(REAL)
    frame.depth[:] = np.nan
    made = HeightMap()
    made.add(frame)
    assert level(made, (1.1, 0.1, 0.75), TABLE, 0.05, HERE) is None
