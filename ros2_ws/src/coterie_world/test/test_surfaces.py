"""Where there is room on furniture of which only a box is known."""

from dataclasses import replace

import pytest

from coterie_core.geometry import Box
from coterie_world.surfaces import free_points, reaching_over

OVEN = Box((2.04, 0.36, 0.5), (0.89, 0.61, 1.0))
"""Too wide: it reaches 0.3 m into the dishwasher."""
TOP = Box((2.04, 0.36, 1.0), (0.73, 0.45, 0.0))
DISHWASHER = Box((2.5, 0.36, 0.45), (0.62, 0.56, 0.9))
ITEM = Box((0.0, 0.0, 0.0), (0.1, 0.1, 0.3))


def test_nothing_is_put_where_other_furniture_may_be():
    """A faucet for an oven was put onto the dishwasher beside it (51301)."""
    points = free_points(TOP, ITEM, reaching_over(TOP, OVEN, [DISHWASHER]))
    assert len(points) and points[:, 0].max() + 0.05 < 2.19
    assert free_points(TOP, ITEM, [])[:, 0].max() > 2.3


@pytest.mark.parametrize(
    "other",
    [
        replace(DISHWASHER, center=(2.5, 0.36, 2.0)),  # it hangs above
        Box((2.3, 0.36, 0.2), (0.5, 0.5, 0.4)),  # it stands below
        Box((2.2, 0.36, 0.5), (0.2, 0.2, 1.0)),  # a part of the oven
        Box((2.4, 0.36, 0.5), (1.8, 0.6, 1.0)),  # the row of furniture that it is a part of
    ],
)
def test_what_is_not_beside_it_takes_no_room(other):
    assert reaching_over(TOP, OVEN, [other]) == []


def test_a_chair_that_stands_under_a_table_takes_room_with_its_back():
    table, chair = (
        Box((0.0, 0.0, 0.37), (1.4, 0.8, 0.75)),
        Box((0.0, 0.45, 0.45), (0.5, 0.5, 0.9)),
    )
    top = Box((0.0, 0.0, 0.75), (1.4, 0.8, 0.0))
    (over,) = reaching_over(top, table, [chair])
    assert over.bottom == pytest.approx(0.75) and over.size == chair.size
