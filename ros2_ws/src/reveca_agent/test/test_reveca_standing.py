"""Where a robot stands: free floor, within reach, not where furniture cuts a corner off."""

import math

import numpy as np
import pytest
from scipy import ndimage
from shapely import Point, Polygon

from coterie_core.geometry import Box
from coterie_fixtures.two_room_map import KITCHEN, LIVING, furniture, two_rooms
from coterie_world.scene import Connection, Floor, Room, SceneGraph, Sighting
from reveca_agent.standing import FreeFloor

RADIUS, REACH = 0.2, 0.7


@pytest.fixture
def scene():
    return two_rooms()


def blockers(scene, room):
    return [
        Polygon(thing.box.footprint())
        for thing in scene.objects.values()
        if thing.room == room and thing.box.bottom < 1.5
    ]


@pytest.mark.parametrize("name", ["counter-1", "cabinet-1", "table-1", "shelf-1"])
def test_stands_are_free_and_within_reach(scene, name):
    floor, thing = FreeFloor(scene, RADIUS), scene.objects[name]
    room = scene.rooms[thing.room]
    stands = floor.beside(thing.box, room, REACH)
    assert stands
    for stand in stands:
        at = Point(stand[:2])
        assert Polygon(room.polygon).exterior.distance(at) >= RADIUS
        assert all(shape.distance(at) >= RADIUS for shape in blockers(scene, thing.room))
        assert floor.gap(thing.box, stand) <= REACH
        assert stand[2] == 0.0
    assert all(math.dist(a, b) > 0.2 for a in stands for b in stands if a is not b)


@pytest.mark.parametrize("seen", [True, False])
def test_boxes_that_cameras_saw_do_not_keep_a_robot_from_what_lies_behind_them(scene, seen):
    """A box that is a decimeter too wide left no floor within reach of the sink."""
    rough = furniture("box", "bench", "living", (7.1, 0.5, 0.2), (3.8, 0.44, 0.4))
    rough.last_seen = Sighting(1.0, "rover") if seen else None
    del scene.objects["table-1"]
    wall = furniture("wall", "shelf", "living", (7.1, 2.0, 0.5), (3.8, 1.7, 1.0))
    for one in (rough, wall):
        scene.add_object(one)
    floor, room = FreeFloor(scene, RADIUS), scene.rooms["living"]
    thing = Box((6.5, 0.9, 0.45), (0.1, 0.1, 0.1))
    gaps = [floor.gap(thing, stand) for stand in floor.beside(thing, room, 0.4)]
    assert (max(gaps) <= 0.4) is seen


def test_what_stands_free_is_reached_from_several_sides(scene):
    box = scene.objects["table-1"].box
    stands = FreeFloor(scene, RADIUS).beside(box, scene.rooms["living"], REACH)
    assert len({(s[0] > box.center[0], s[1] > box.center[1]) for s in stands}) >= 3


def test_a_corner_that_furniture_cuts_off_is_nowhere_to_stand(scene):
    # A row of shelves from wall to wall: behind it there is floor, but no way to it.
    scene.add_object(furniture("row", "bookcase", "living", (7.6, 2.0, 0.5), (0.3, 4.0, 1.0)))
    floor = FreeFloor(scene, RADIUS)
    far = Box((8.7, 0.5, 0.4), (0.1, 0.1, 0.1))
    assert all(x < 7.45 for x, _, _ in floor.beside(far, scene.rooms["living"], REACH))
    assert floor.middle(scene.rooms["living"])[0] < 7.45


def test_what_boxes_that_cameras_saw_cut_off_is_tried_where_there_is_no_other_spot(scene):
    """A towel on a kitchen shelf was given up without a try: rough boxes closed the way to it."""
    row = furniture("row", "bookcase", "living", (7.6, 2.0, 0.5), (0.5, 4.0, 1.0))
    row.last_seen = Sighting(1.0, "rover")
    scene.add_object(row)
    floor = FreeFloor(scene, RADIUS)
    far = Box((8.7, 0.5, 0.4), (0.1, 0.1, 0.1))
    assert all(x > 7.8 for x, _, _ in floor.beside(far, scene.rooms["living"], REACH))
    near = Box((6.9, 0.5, 0.4), (0.1, 0.1, 0.1))
    assert all(x < 7.4 for x, _, _ in floor.beside(near, scene.rooms["living"], REACH))


def test_spots_around_a_box_are_free_and_near_it(scene):
    box = scene.objects["table-1"].box
    floor = FreeFloor(scene, RADIUS)
    spots = floor.around(box, scene.rooms["living"], 1.0, 0.25)
    assert len(spots) > 10
    assert all(RADIUS <= floor.gap(box, spot) <= 1.0 for spot in spots)
    assert not floor.around(Box((30.0, 0.0, 0.0), (1.0, 1.0, 1.0)), scene.rooms["living"], 1.0, 0.2)


def test_what_hangs_high_and_what_lies_flat_is_in_nobodys_way(scene):
    before = FreeFloor(scene, RADIUS).middle(scene.rooms["living"])
    scene.add_object(furniture("lamp", "lamp", "living", (5.0, 2.0, 2.2), (3.0, 3.0, 0.4)))
    scene.add_object(furniture("rug", "rug", "living", (5.0, 2.0, 0.005), (3.0, 3.0, 0.01)))
    assert FreeFloor(scene, RADIUS).middle(scene.rooms["living"]) == before


def test_a_room_without_outline_has_no_middle_but_stands_are_given():
    scene = two_rooms(outlines=False)
    floor, box = FreeFloor(scene, RADIUS), scene.objects["table-1"].box
    assert floor.middle(scene.rooms["living"]) is None
    assert floor.beside(box, scene.rooms["living"], REACH) == [(6.5, 2.0, 0.0)]
    assert floor.nearest(box, scene.rooms["living"]) == (6.5, 2.0, 0.0)


@pytest.mark.parametrize(
    "polygon",
    [
        [(0.0, 0.0), (0.3, 0.0), (0.3, 0.3), (0.0, 0.3)],  # no robot fits
        [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)],  # no area
        [(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0)],  # crosses itself
    ],
)
def test_odd_outlines_do_no_harm(polygon):
    scene = SceneGraph()
    scene.add_floor(Floor("f0", 0, 0.0))
    scene.add_room(Room("r", "r", "hall", "f0", polygon))
    floor, box = FreeFloor(scene, RADIUS), Box((0.1, 0.1, 0.5), (0.2, 0.2, 0.2))
    room = scene.rooms["r"]
    for stand in (*floor.beside(box, room, REACH), floor.nearest(box, room)):
        assert all(map(math.isfinite, stand))


def test_a_room_full_of_furniture_has_no_free_floor(scene):
    scene.add_object(furniture("all", "table", "living", (6.5, 2.0, 0.4), (5.0, 4.0, 0.8)))
    floor = FreeFloor(scene, RADIUS)
    assert floor.middle(scene.rooms["living"]) is None


@pytest.mark.parametrize("size", [(0.0, 0.0, 0.0), (1.0, 0.0, 0.1)])
def test_things_without_extent_have_stands_too(scene, size):
    floor, box = FreeFloor(scene, RADIUS), Box((6.5, 2.0, 0.8), size)
    stands = floor.beside(box, scene.rooms["living"], REACH)
    assert all(map(math.isfinite, (*stands[0], *floor.nearest(box, scene.rooms["living"]))))
    assert math.isfinite(floor.gap(box, stands[0]))


def test_heights_are_those_of_the_floor(scene):
    scene.add_floor(Floor("f1", 1, 2.8))
    scene.add_room(Room("attic", "attic", "attic", "f1", [(0, 0), (4, 0), (4, 4), (0, 4)]))
    scene.add_connection(Connection("s", "living", "attic", "stairs", (4.0, 1.0, 2.8), 0.9, 0.17))
    floor = FreeFloor(scene, RADIUS)
    box = Box((2.0, 2.0, 3.4), (0.1, 0.1, 0.1))
    assert all(z == 2.8 for _, _, z in floor.beside(box, scene.rooms["attic"], REACH))


def test_where_it_has_driven_in_a_door_cuts_no_room_off(scene):
    """A bit of its trail lay nearer to the door than the room's floor, and was all of the room."""
    (door,) = scene.connections.values()
    x, y, _ = door.position
    here = (x + 0.1, y, 0.0)
    cells = FreeFloor(scene, RADIUS, [(here, (x + 0.11, y, 0.0))]).cells(0.0)
    parts, _ = ndimage.label(cells.free, np.ones((3, 3)))
    assert len({parts[cells.cell(point)] for point in (KITCHEN, here, LIVING)}) == 1
