"""The validator sees what is wrong: a good house is broken in one way at a time."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable

import pytest

from coterie_core.geometry import Box
from coterie_fixtures.house_inspector import validate_house
from coterie_world.scene import LabelBelief, SceneObject
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.house import House

GOOD = generate_house(8, floors=2, rooms=12)


def moved(thing: SceneObject, dx: float = 0.0, dy: float = 0.0, dz: float = 0.0) -> None:
    x, y, z = thing.box.center
    thing.box = dataclasses.replace(thing.box, center=(x + dx, y + dy, z + dz))


def of_kind(house: House, mount: str, kind: str = "furniture") -> SceneObject:
    return next(
        t
        for t in house.objects
        if t.properties["mount"] == mount and t.kind == kind and t.label.top != "railing"
    )


def standing(house: House) -> SceneObject:
    """A piece of furniture that does not open and on which nothing stands."""
    supports = {t.support for t in house.objects}
    return next(
        t
        for t in house.objects
        if t.kind == "furniture"
        and t.properties["mount"] == "floor"
        and t.id not in supports
        and t.box.size[2] > 0.3
    )


def crate(house: House, room: str, x: float, y: float, z: float, size: float = 0.3) -> None:
    house.objects.append(
        SceneObject(
            "crate",
            LabelBelief.of("box"),
            Box((x, y, z + size / 2), (size, size, size)),
            room,
            properties={"mount": "floor"},
        )
    )


def overlap_rooms(house: House) -> None:
    room = next(r for r in house.rooms if r.type == "bedroom")
    room.polygon = [(x + 0.5, y) for x, y in room.polygon]


def turn_outline(house: House) -> None:
    house.rooms[0].polygon.reverse()


def same_object_id(house: House) -> None:
    house.objects[1].id = house.objects[0].id


def same_room_name(house: House) -> None:
    house.rooms[1].name = house.rooms[0].name


def unknown_room(house: House) -> None:
    house.objects[0].room = "nowhere"


def unknown_type(house: House) -> None:
    house.rooms[0].type = "ballroom"


def wall_up_door(house: House) -> None:
    door = next(d for d in house.doors if d.kind == "door")
    for wall in house.walls:
        above = wall.base > door.center[2] + 1.0 and wall.floor == door.floor
        middle = tuple((a + b) / 2 for a, b in zip(wall.start, wall.end, strict=True))
        if above and all(abs(m - c) < 0.01 for m, c in zip(middle, door.center, strict=False)):
            wall.base, wall.height = door.center[2], 2.5


def take_door_away(house: House) -> None:
    counts = {r.id: 0 for r in house.rooms}
    for door in house.doors:
        counts[door.room_a] += 1
        counts[door.room_b] += 1
    single = next(d for d in house.doors if 1 in (counts[d.room_a], counts[d.room_b]))
    house.doors.remove(single)


def thin_door(house: House) -> None:
    house.doors[0].width = 0.4


def door_in_a_room(house: House) -> None:
    x, y, z = house.doors[0].center
    house.doors[0].center = (x + 0.7, y + 0.7, z)


def crate_in_door(house: House) -> None:
    door = house.doors[0]
    crate(house, door.room_a, *door.center)


def take_stairs_away(house: House) -> None:
    house.stairs.clear()


def steep_stairs(house: House) -> None:
    stairs = house.stairs[0]
    stairs.treads = stairs.treads[::2]
    stairs.riser *= 2


def uneven_stairs(house: House) -> None:
    tread = house.stairs[0].treads[3]
    house.stairs[0].treads[3] = dataclasses.replace(
        tread, size=(tread.size[0], tread.size[1], tread.size[2] + 0.1)
    )


def close_the_well(house: House) -> None:
    (x0, y0), *_ = house.stairs[0].well
    house.stairs[0].well = [(x0, y0), (x0 + 0.9, y0), (x0 + 0.9, y0 + 0.9), (x0, y0 + 0.9)]


def crate_on_stairs(house: House) -> None:
    stairs = house.stairs[0]
    x, y, _ = stairs.treads[4].center
    crate(house, stairs.room_low, x, y, stairs.treads[4].top)


def crate_over_well(house: House) -> None:
    stairs = house.stairs[0]
    x, y, _ = stairs.treads[2].center
    crate(house, stairs.room_high, x, y, stairs.top[2])


def into_the_wall(house: House) -> None:
    moved(standing(house), dx=20.0)


def float_up(house: House) -> None:
    moved(standing(house), dz=0.1)


def sink_in(house: House) -> None:
    moved(standing(house), dz=-0.1)


def through_the_ceiling(house: House) -> None:
    lamp = of_kind(house, "ceiling", "fixture")
    moved(lamp, dz=0.5)


def below_the_ceiling(house: House) -> None:
    moved(of_kind(house, "ceiling", "fixture"), dz=-0.2)


def off_the_wall(house: House) -> None:
    picture = next(t for t in house.objects if t.label.top == "picture")
    c = picture.box
    house_room = house.room(picture.room)
    xs = [p[0] for p in house_room.polygon]
    ys = [p[1] for p in house_room.polygon]
    middle = ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
    moved(picture, middle[0] - c.center[0], middle[1] - c.center[1])


def above_its_support(house: House) -> None:
    moved(next(t for t in house.objects if t.support and not t.container), dz=0.05)


def beside_its_support(house: House) -> None:
    thing = next(t for t in house.objects if t.support)
    owner = next(t for t in house.objects if t.id == thing.support)
    moved(thing, owner.box.size[0], owner.box.size[1])


def support_is_gone(house: House) -> None:
    next(t for t in house.objects if t.support).support = "nothing"


def wrong_container(house: House) -> None:
    next(t for t in house.objects if t.container).container = house.objects[0].id


def not_a_container(house: House) -> None:
    inner = next(t for t in house.objects if t.container)
    next(t for t in house.objects if t.id == inner.container).is_open = None


def two_in_one(house: House) -> None:
    a = standing(house)
    crate(house, a.room, a.box.center[0], a.box.center[1], a.box.bottom)


def no_size(house: House) -> None:
    thing = standing(house)
    thing.box = dataclasses.replace(thing.box, size=(0.0, 1.0, 1.0))


def fill_a_room(house: House) -> None:
    """A row of crates across a bedroom: its middle is cut off from its door."""
    room = next(r for r in house.rooms if r.type == "bedroom")
    house.objects = [t for t in house.objects if t.room != room.id]
    elevation = next(f.elevation for f in house.floors if f.id == room.floor)
    xs, ys = [p[0] for p in room.polygon], [p[1] for p in room.polygon]
    middle = ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
    size = min(max(xs) - min(xs), max(ys) - min(ys)) - 0.5
    crate(house, room.id, middle[0], middle[1], elevation, size)


BREAKAGES: list[tuple[Callable[[House], None], str]] = [
    (overlap_rooms, "overlap by"),
    (turn_outline, "runs clockwise"),
    (same_object_id, "is used 2 times"),
    (same_room_name, "room name"),
    (unknown_room, "no room 'nowhere'"),
    (unknown_type, "unknown room type"),
    (wall_up_door, "walled up"),
    (take_door_away, "cannot be reached on legs"),
    (thin_door, "wide, expected"),
    (door_in_a_room, "not in a wall"),
    (crate_in_door, "stands in door"),
    (take_stairs_away, "cannot be reached on legs"),
    (steep_stairs, "riser"),
    (uneven_stairs, "step"),
    (close_the_well, "no headroom"),
    (crate_on_stairs, "is on or over stairs"),
    (crate_over_well, "is on or over stairs"),
    (into_the_wall, "out of its room"),
    (float_up, "above the floor"),
    (sink_in, "into the floor"),
    (through_the_ceiling, "through the ceiling"),
    (below_the_ceiling, "below the ceiling"),
    (off_the_wall, "away from the wall"),
    (above_its_support, "does not rest on"),
    (beside_its_support, "does not rest on"),
    (support_is_gone, "does not exist"),
    (wrong_container, "but stands on"),
    (not_a_container, "is no container"),
    (two_in_one, "is inside"),
    (no_size, "has no size"),
    (fill_a_room, "to its middle"),
]


def test_the_good_house_is_good():
    assert validate_house(GOOD) == []


@pytest.mark.parametrize(("breakage", "words"), BREAKAGES, ids=[b.__name__ for b, _ in BREAKAGES])
def test_a_broken_house_is_found_out(breakage, words):
    house = copy.deepcopy(GOOD)
    breakage(house)
    problems = validate_house(house)
    assert any(words in problem for problem in problems), problems[:5]


def test_an_empty_house_is_no_house():
    assert validate_house(House(0, [], [], [], [], [], [])) == [
        "the house has no rooms or no floors"
    ]
