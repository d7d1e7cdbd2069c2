"""Generated houses as homes of cooperative worlds: rooms, ways, furniture that holds things."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import lru_cache

from coterie_core.cooperation import Gate, HomeRoom, Spot, Thing, Walkways
from coterie_core.geometry import Vec2, Vec3
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.house import House

BOX = "box"
_ARM = 0.45
"""How far from a piece of furniture one stands [m]."""


@dataclass(frozen=True, slots=True)
class Home:
    """What does not move: ways, and furniture as closed containers and surfaces (id -> thing)."""

    name: str
    ways: Walkways
    fixed: dict[str, Thing]


@lru_cache(maxsize=64)
def generated_home(seed: int, rooms: int | None = None, floors: int = 1) -> Home:
    """Return the embedded house of a seed as a home (kept: houses are asked for again and again).

    Args:
        seed: Of the house.
        rooms: How many; None: 5 to 7, by the seed.
        floors: Storeys.
    """
    house = generate_house(
        seed, floors=floors, rooms=rooms if rooms is not None else 5 + seed % 3, clutter=0.0
    )
    return home_of(house)


def with_boxes(home: Home, count: int, seed: int) -> Home:
    """Return a home in which closed boxes stand about, each beside a piece of furniture."""
    draw = random.Random(f"boxes {seed} {home.name}")
    places = list(home.fixed.values())
    boxes = {}
    for k in range(1, count + 1):
        spot = draw.choice(places).spot
        boxes[f"box-{k}"] = Thing(f"box-{k}", BOX, "container", spot, is_open=False)
    return Home(f"{home.name}+{count}@{seed}", home.ways, home.fixed | boxes)


def home_of(house: House) -> Home:
    """Return a house as a home: every room, door and flight; furniture with surfaces or doors."""
    elevation = {floor.id: floor.elevation for floor in house.floors}
    rooms = {}
    for room in house.rooms:
        outline = tuple(room.polygon)
        x, y = _middle(outline)
        rooms[room.id] = HomeRoom(
            room.id, room.name, room.type, (x, y, elevation.get(room.floor, 0.0)), outline
        )
    gates = [Gate(d.id, d.room_a, d.room_b, d.center, d.center) for d in house.doors]
    gates += [Gate(s.id, s.room_low, s.room_high, s.bottom, s.top) for s in house.stairs]
    fixed = {}
    for thing in house.objects:
        where = rooms.get(thing.room)
        closes = thing.is_open is not None
        if where is None or not (closes or (thing.receptacles and thing.kind != "item")):
            continue
        spot = Spot(where.id, _beside(thing.box.center, thing.box.size, where))
        fixed[thing.id] = Thing(
            thing.id,
            thing.label.top,
            "container" if closes else "surface",
            spot,
            is_open=False if closes else None,
        )
    return Home(f"house-{house.seed}", Walkways(rooms.values(), gates), fixed)


def _middle(outline: tuple[Vec2, ...]) -> Vec2:
    """Return a point in the middle of a room: the centroid, by the shoelace formula [m]."""
    area = x = y = 0.0
    for (ax, ay), (bx, by) in zip(outline, (*outline[1:], outline[0]), strict=True):
        cross = ax * by - bx * ay
        area += cross
        x += (ax + bx) * cross
        y += (ay + by) * cross
    return (x / (3.0 * area), y / (3.0 * area))


def _beside(center: Vec3, size: Vec3, room: HomeRoom) -> Vec3:
    """Return where one stands to handle a piece: beside it, towards the middle of the room [m]."""
    dx, dy = room.center[0] - center[0], room.center[1] - center[1]
    far = math.hypot(dx, dy)
    away = min(far, min(size[0], size[1]) / 2.0 + _ARM)
    if far < 1e-6:
        return (center[0], center[1], room.center[2])
    return (center[0] + dx / far * away, center[1] + dy / far * away, room.center[2])
