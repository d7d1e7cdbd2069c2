"""Where there is room on furniture of which only a box is known."""

from coterie_core.geometry import Box
from coterie_world.surfaces import free_points

TOP = Box((2.0, 0.4, 1.0), (0.8, 0.4, 0.0))
ITEM = Box((0.0, 0.0, 0.0), (0.1, 0.1, 0.3))


def test_what_stands_on_a_surface_takes_its_room_and_what_hangs_above_does_not():
    standing = Box((2.3, 0.4, 1.1), (0.2, 0.4, 0.2))
    hanging = Box((1.7, 0.4, 2.1), (0.2, 0.4, 0.2))
    points = free_points(TOP, ITEM, [standing, hanging])
    assert len(points) and points[:, 0].max() + 0.05 < 2.2
    assert points[:, 0].min() < 1.7
    assert not len(free_points(TOP, Box((0.0, 0.0, 0.0), (0.1, 0.5, 0.3)), []))
