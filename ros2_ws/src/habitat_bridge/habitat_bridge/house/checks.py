"""What a saved house must be like before anything is computed from it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from shapely.geometry import Polygon

from coterie_core.geometry import Vec2
from coterie_world.scene.limits import beyond_limits
from habitat_bridge.house.house import House

MAX_EXTENT_M = 200.0
"""Longest edge of a house [m]; rasters have 5 cm cells."""

MAX_FLOORS = 10
MAX_CORNERS = 1000
SMALLEST_ROOM = 0.25
"""Smallest floor of a room [m2]."""


def unusable(house: House) -> str:
    """Return the first reason why worlds cannot be made of a house, "" if there is none."""
    return next(_problems(house), "")


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


def _problems(house: House) -> Iterator[str]:
    if not house.rooms or not 1 <= len(house.floors) <= MAX_FLOORS:
        yield f"expected rooms and 1 to {MAX_FLOORS} floors"
    yield from check_ids(house)
    for room in house.rooms:
        yield from _outline(f"rooms[{room.id!r}].polygon", room.polygon)
    for stairs in house.stairs:
        if stairs.well:
            yield from _outline(f"stairs[{stairs.id!r}].well", stairs.well)
        if not (0.0 < stairs.width <= 50.0 and 0.0 < stairs.riser <= 5.0):
            yield f"stairs[{stairs.id!r}]: expected a width and a riser above 0 m"
    heights = [floor.elevation for floor in house.floors]
    if heights != sorted(set(heights)):
        yield "floors: expected rising elevations"
    for floor in house.floors:
        if not 0.5 <= floor.ceiling_height <= 50.0:
            yield f"floors[{floor.id!r}].ceiling_height: expected 0.5 to 50 m"
    floors = {floor.id for floor in house.floors}
    for k, wall in enumerate(house.walls):
        sizes = (wall.height, wall.thickness)
        if wall.floor not in floors or not all(0.0 < size <= 50.0 for size in sizes):
            yield f"walls[{k}]: expected a floor of the house, height and thickness above 0 m"
    for door in house.doors:
        sizes = (door.width, door.height)
        if door.floor not in floors or not all(0.0 < size <= 50.0 for size in sizes):
            yield f"doors[{door.id!r}]: expected a floor of the house, width and height above 0 m"
    yield from beyond_limits(house.truth())
    yield from _extent(house)


def _outline(where: str, corners: list[Vec2]) -> Iterator[str]:
    if not 3 <= len(corners) <= MAX_CORNERS:
        yield f"{where}: expected 3 to {MAX_CORNERS} corners, got {len(corners)}"
        return
    if max(max(abs(x), abs(y)) for x, y in corners) > 1e5:
        yield f"{where}: expected corners within 100 km"
        return
    shape = Polygon(corners)
    if not shape.is_valid or shape.area < SMALLEST_ROOM:
        yield f"{where}: expected an outline that does not cross itself, of {SMALLEST_ROOM} m2"


def _extent(house: House) -> Iterator[str]:
    """Everything must lie in and about the rooms, and those on a raster that fits in memory."""
    corners = [corner for room in house.rooms for corner in room.polygon]
    (x0, x1), (y0, y1) = ((min(v), max(v)) for v in zip(*corners, strict=True))
    z0, z1 = house.floors[0].elevation, house.floors[-1].elevation
    if max(x1 - x0, y1 - y0, z1 - z0) > MAX_EXTENT_M:
        yield f"expected a house of at most {MAX_EXTENT_M:g} m, got {x1 - x0:g} by {y1 - y0:g} m"
    points = {
        **{f"walls[{k}]": (*w.start, w.base) for k, w in enumerate(house.walls)},
        **{f"walls[{k}].end": (*w.end, w.base) for k, w in enumerate(house.walls)},
        **{f"doors[{d.id!r}]": d.center for d in house.doors},
        **{f"stairs[{s.id!r}].bottom": s.bottom for s in house.stairs},
        **{f"stairs[{s.id!r}].top": s.top for s in house.stairs},
        **{f"stairs[{s.id!r}].treads": t.center for s in house.stairs for t in s.treads},
        **{f"objects[{t.id!r}].box": t.box.center for t in house.objects},
    }
    middle = ((x0 + x1) / 2.0, (y0 + y1) / 2.0, (z0 + z1) / 2.0)
    for where, point in points.items():
        if math.dist(point, middle) > MAX_EXTENT_M:
            yield f"{where}: lies more than {MAX_EXTENT_M:g} m away from the rooms"
    for thing in house.objects:
        if max(thing.box.size) > MAX_EXTENT_M:
            yield f"objects[{thing.id!r}].box.size: expected at most {MAX_EXTENT_M:g} m"
    for stairs in house.stairs:
        if any(not 0.0 <= edge <= MAX_EXTENT_M for t in stairs.treads for edge in t.size):
            yield f"stairs[{stairs.id!r}].treads: expected sizes of 0 to {MAX_EXTENT_M:g} m"
