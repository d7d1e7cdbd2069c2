"""Check a house as an inspector would: every problem in words, none if all is well."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import shapely
from shapely.geometry import Polygon

from coterie_core.geometry import Box
from coterie_core.household import load_household
from coterie_world.scene import Room, SceneObject
from habitat_bridge.embedded.reach import LEGS_RADIUS, reachable_rooms, ways_in_room
from habitat_bridge.house.house import House, Stairs

LEVEL = 0.02
RISERS = (0.15, 0.20)
DOOR_WIDTHS = (0.5, 3.0)
HEADROOM = 2.0
SLACK = 0.004
# Rugs and mats are walked on and may lie partly under furniture's overhang.
FLAT = 0.03


def validate_house(house: House) -> list[str]:
    """Return what is wrong with a house, in words; empty if nothing is."""
    if not house.rooms or not house.floors:
        return ["the house has no rooms or no floors"]
    problems = [*check_ids(house), *_rooms(house)]
    if problems:
        # What follows needs rooms and ids that are as they should be.
        return problems
    problems += _doors(house)
    for stairs in house.stairs:
        problems += _stairs(house, stairs)
    problems += _objects(house)
    problems += _collisions(house)
    problems += _ways(house)
    return problems


def check_ids(house: House) -> Iterator[str]:
    """Yield what is wrong with names: empty ones, twice the same, and ids that do not exist."""
    for what, ids in (
        ("floor", [f.id for f in house.floors]),
        ("room", [r.id for r in house.rooms]),
        ("door", [d.id for d in house.doors]),
        ("stairs", [s.id for s in house.stairs]),
        ("object", [t.id for t in house.objects]),
        ("receptacle", [r.id for t in house.objects for r in t.receptacles]),
    ):
        for name, count in Counter(ids).items():
            if count > 1:
                yield f"{what} id {name!r} is used {count} times"
            if not name:
                yield f"a {what} has no id"
    for name, count in Counter(r.name for r in house.rooms).items():
        if count > 1:
            yield f"room name {name!r} is used {count} times"
    floors, rooms = {f.id for f in house.floors}, {r.id for r in house.rooms}
    for room in house.rooms:
        if room.floor not in floors:
            yield f"{room.name}: no floor {room.floor!r}"
    for door in house.doors:
        for end in (door.room_a, door.room_b):
            if end not in rooms:
                yield f"{door.id}: no room {end!r}"
    for stairs in house.stairs:
        for end in (stairs.room_low, stairs.room_high):
            if end not in rooms:
                yield f"{stairs.id}: no room {end!r}"
    for thing in house.objects:
        if thing.room not in rooms:
            yield f"{thing.id}: no room {thing.room!r}"


def _rooms(house: House) -> Iterator[str]:
    types = load_household().room_types
    shapes = {}
    for room in house.rooms:
        if room.type not in types:
            yield f"{room.name}: unknown room type {room.type!r}"
        shape = Polygon(room.polygon) if len(room.polygon) >= 3 else Polygon()
        if shape.is_empty or not shape.is_valid or shape.area < 1.0:
            yield f"{room.name}: its outline is no room (area {shape.area:.2f} m2)"
            continue
        if not shape.exterior.is_ccw:
            yield f"{room.name}: its outline runs clockwise"
        shapes[room.id] = shape
    for a, b in itertools.combinations(house.rooms, 2):
        if a.floor == b.floor and a.id in shapes and b.id in shapes:
            shared = shapes[a.id].intersection(shapes[b.id]).area
            if shared > 1e-4:
                yield f"{a.name} and {b.name} overlap by {shared:.2f} m2"


def _doors(house: House) -> Iterator[str]:
    rooms = {room.id: room for room in house.rooms}
    levels = {floor.id: floor.elevation for floor in house.floors}
    for door in house.doors:
        if not DOOR_WIDTHS[0] <= door.width <= DOOR_WIDTHS[1]:
            yield f"{door.id} is {door.width:.2f} m wide, expected {DOOR_WIDTHS}"
        if door.height < HEADROOM:
            yield f"{door.id} is {door.height:.2f} m high, expected {HEADROOM} or more"
        if door.floor not in levels or abs(levels[door.floor] - door.center[2]) > 1e-6:
            yield f"{door.id} does not stand on its floor"
        c, s = math.cos(door.yaw), math.sin(door.yaw)
        x, y, _ = door.center
        half = door.width / 2.0
        gap = shapely.LineString([(x - c * half, y - s * half), (x + c * half, y + s * half)])
        for end in (door.room_a, door.room_b):
            away = gap.difference(Polygon(rooms[end].polygon).boundary.buffer(0.02)).length
            if away > 0.01:
                yield f"{door.id} is not in a wall of {rooms[end].name}"
        for wall in house.walls:
            if wall.floor != door.floor or wall.base > door.center[2] + door.height - 0.01:
                continue
            blocked = shapely.LineString([wall.start, wall.end]).buffer(0.01).intersection(gap)
            if blocked.length > 0.03:
                yield f"{door.id} is walled up"
                break


def _stairs(house: House, stairs: Stairs) -> Iterator[str]:
    rooms = {room.id: room for room in house.rooms}
    floors = {floor.id: floor for floor in house.floors}
    low, high = (floors[rooms[r].floor] for r in (stairs.room_low, stairs.room_high))
    if high.index != low.index + 1:
        yield f"{stairs.id} joins floors {low.index} and {high.index}, expected neighbours"
        return
    if not RISERS[0] - 1e-6 <= stairs.riser <= RISERS[1] + 1e-6:
        yield f"{stairs.id}: riser {stairs.riser:.3f} m, expected {RISERS[0]} to {RISERS[1]}"
    tops = [low.elevation, *(tread.top for tread in stairs.treads), high.elevation]
    for k, (a, b) in enumerate(itertools.pairwise(tops)):
        if abs(b - a - stairs.riser) > 0.005:
            yield f"{stairs.id}: step {k + 1} rises {b - a:.3f} m, expected {stairs.riser:.3f}"
            break
    well = Polygon(stairs.well)
    for tread in stairs.treads:
        shape = Polygon(tread.footprint())
        room_above = high.elevation - 0.3 - tread.top
        if room_above < HEADROOM and not well.buffer(0.01).covers(shape):
            yield f"{stairs.id}: no headroom over the step at {tread.top - low.elevation:.2f} m"
            break
    for name, end, room in (
        ("bottom", stairs.bottom, rooms[stairs.room_low]),
        ("top", stairs.top, rooms[stairs.room_high]),
    ):
        outline = Polygon(room.polygon)
        stand = shapely.Point(end[:2]).buffer(LEGS_RADIUS)
        if not outline.buffer(-0.05, join_style="mitre").covers(stand):
            yield f"{stairs.id}: one cannot stand at its {name} in {room.name}"
        if not outline.buffer(0.01).covers(well):
            yield f"{stairs.id} does not lie within {room.name}"
    for thing in house.objects:
        if thing.room not in (stairs.room_low, stairs.room_high) or thing.label.top == "railing":
            continue
        shape = Polygon(thing.box.footprint())
        if thing.box.size[2] > FLAT or thing.room == stairs.room_high:
            spans = low.elevation - 0.01 < thing.box.center[2] < high.elevation + HEADROOM
            if spans and shape.intersection(well).area > 1e-4:
                yield f"{thing.id} is on or over {stairs.id}"


def _objects(house: House) -> Iterator[str]:
    rooms = {room.id: room for room in house.rooms}
    inner = {
        room.id: Polygon(room.polygon).buffer(-0.05 + SLACK, join_style="mitre")
        for room in house.rooms
    }
    floors = {floor.id: floor for floor in house.floors}
    things = {thing.id: thing for thing in house.objects}
    for thing in house.objects:
        floor = floors[rooms[thing.room].floor]
        name = f"{thing.id} in {rooms[thing.room].name}"
        if min(thing.box.size) <= 0.0:
            yield f"{name} has no size"
            continue
        if not inner[thing.room].covers(Polygon(thing.box.footprint())):
            yield f"{name} reaches into a wall or out of its room"
        above = thing.box.top - floor.elevation - floor.ceiling_height
        if above > 1e-6:
            yield f"{name} reaches {above:.2f} m through the ceiling"
        if thing.box.bottom < floor.elevation - 1e-6:
            yield f"{name} reaches {floor.elevation - thing.box.bottom:.2f} m into the floor"
        yield from _support(house, thing, things, name, rooms[thing.room], floor.elevation)


def _support(
    house: House,
    thing: SceneObject,
    things: dict[str, SceneObject],
    name: str,
    room: Room,
    elevation: float,
) -> Iterator[str]:
    mount = thing.properties.get("mount", "")
    if thing.support:
        owner = things.get(thing.support)
        if owner is None:
            yield f"{name} stands on {thing.support!r}, which does not exist"
            return
        if owner.room != thing.room:
            yield f"{name} stands on {owner.id}, which is in another room"
        inside = bool(thing.container)
        if inside and thing.container != thing.support:
            yield f"{name} is in {thing.container} but stands on {thing.support}"
        if inside and owner.is_open is None:
            yield f"{name} is in {owner.id}, which is no container"
        for receptacle in owner.receptacles:
            off = abs(receptacle.surface.center[2] - thing.box.bottom)
            area = Polygon(receptacle.surface.footprint()).buffer(0.005, join_style="mitre")
            covers = area.covers(Polygon(thing.box.footprint()))
            if off <= LEVEL and covers and receptacle.inside == inside:
                return
        yield f"{name} does not rest on any {'inner ' if inside else ''}surface of {owner.id}"
        return
    if thing.container:
        yield f"{name} is in {thing.container} but stands on nothing"
    if mount == "wall":
        back = _back_distance(thing.box, Polygon(room.polygon).buffer(-0.05, join_style="mitre"))
        if back > LEVEL:
            yield f"{name} hangs {back:.2f} m away from the wall"
    elif mount == "ceiling":
        floor = next(f for f in house.floors if f.id == room.floor)
        gap = elevation + floor.ceiling_height - thing.box.top
        if gap > LEVEL:
            yield f"{name} hangs {gap:.2f} m below the ceiling"
    elif abs(thing.box.bottom - elevation) > LEVEL:
        yield f"{name} floats {thing.box.bottom - elevation:.2f} m above the floor"


def _back_distance(box: Box, inner: Polygon) -> float:
    """Return how far the middle of the back face is from the nearest wall face [m]."""
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    half = box.size[0] / 2.0
    point = shapely.Point(box.center[0] - c * half, box.center[1] - s * half)
    return float(inner.exterior.distance(point))


def _collisions(house: House) -> Iterator[str]:
    by_room: dict[str, list[SceneObject]] = {}
    for thing in house.objects:
        by_room.setdefault(thing.room, []).append(thing)
    for things in by_room.values():
        shapes = [Polygon(t.box.footprint()) for t in things]
        tree = shapely.STRtree(shapes)
        for i, j in zip(*tree.query(shapes, predicate="intersects"), strict=True):
            if i >= j:
                continue
            a, b = things[i], things[j]
            if _belongs(a, b) or _belongs(b, a):
                continue
            tall = min(a.box.top, b.box.top) - max(a.box.bottom, b.box.bottom)
            if tall > SLACK and shapes[i].intersection(shapes[j]).area > 4e-4:
                yield f"{a.id} is inside {b.id}"
    for door in house.doors:
        gap = Box(
            (door.center[0], door.center[1], door.center[2] + door.height / 2.0),
            (door.width, 0.3, door.height),
            door.yaw,
        )
        shape = Polygon(gap.footprint())
        for room in (door.room_a, door.room_b):
            for thing in by_room.get(room, ()):
                low = thing.box.bottom < gap.top - 0.05 and thing.box.size[2] > FLAT
                if low and shape.intersection(Polygon(thing.box.footprint())).area > 1e-3:
                    yield f"{thing.id} stands in {door.id}"


def _belongs(a: SceneObject, b: SceneObject) -> bool:
    """Whether `a` stands on or in `b`: their boxes may share space, as in a shelf."""
    return b.id in (a.support, a.container)


def _ways(house: House) -> Iterator[str]:
    reached = reachable_rooms(house, LEGS_RADIUS)
    for room in house.rooms:
        if room.id not in reached:
            yield f"{room.name} cannot be reached on legs (radius {LEGS_RADIUS} m)"
    for room in house.rooms:
        if not ways_in_room(house, room, 0.3):
            yield f"{room.name}: a robot of radius 0.3 m does not get from its doors to its middle"
