"""From a layout to walls, doors, stairs and named rooms (seeded)."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import shapely
from shapely.geometry import LineString, MultiLineString, Polygon
from shapely.geometry import box as rectangle
from shapely.geometry.polygon import orient

from coterie_core.geometry import Box, Vec2
from coterie_core.household import Household
from coterie_world.scene import Floor, Room
from habitat_bridge.house.house import Door, House, Stairs, Wall
from habitat_bridge.house.layout import Layout, PlannedFlight

WALL = 0.1
DOOR_HEIGHT = 2.05
PARAPET = 1.0
NARROW_TYPES = ("closet", "pantry", "toilet", "bathroom", "laundry room")
OPEN_PAIRS = {
    frozenset(("living room", "dining room")): 0.75,
    frozenset(("kitchen", "dining room")): 0.7,
    frozenset(("kitchen", "living room")): 0.5,
    frozenset(("entryway", "hallway")): 0.7,
    frozenset(("entryway", "living room")): 0.6,
    frozenset(("living room", "hallway")): 0.5,
    frozenset(("dining room", "hallway")): 0.35,
    frozenset(("kitchen", "hallway")): 0.25,
}
EXTRA_DOORS = {
    frozenset(("living room", "dining room")): 0.9,
    frozenset(("kitchen", "dining room")): 0.95,
    frozenset(("kitchen", "living room")): 0.6,
    frozenset(("entryway", "living room")): 0.4,
    frozenset(("garage", "laundry room")): 0.5,
    frozenset(("kitchen", "laundry room")): 0.3,
    frozenset(("bedroom", "bathroom")): 0.35,
}

Segment = tuple[Vec2, Vec2]


def build_structure(
    rng: np.random.Generator, household: Household, layout: Layout, seed: int
) -> House:
    """Return a house without objects: floors, named rooms, doors, stairs, walls."""
    floors = [
        Floor(f"floor-{k}", k, round(k * layout.storey, 4), layout.ceiling)
        for k in range(1 + max(room.floor for room in layout.rooms))
    ]
    shapes = [shapely.union_all([rectangle(*r) for r in room.rects]) for room in layout.rooms]
    rooms = name_rooms(layout, shapes, floors)
    house = House(seed, floors, rooms, [], [], [], [])
    for flight in layout.flights:
        house.stairs.append(build_stairs(flight, layout, house))
    _join_rooms(rng, layout, house, shapes)
    for floor in floors:
        members = [k for k, room in enumerate(layout.rooms) if room.floor == floor.index]
        _raise_walls(house, floor, [house.rooms[k] for k in members], [shapes[k] for k in members])
    return house


def name_rooms(layout: Layout, shapes: Sequence[Polygon], floors: Sequence[Floor]) -> list[Room]:
    """Return rooms with unique names: "bedroom 1", "bedroom 2", but "kitchen" if there is one."""
    totals = Counter(room.type for room in layout.rooms)
    seen: Counter[str] = Counter()
    rooms = []
    for planned, shape in zip(layout.rooms, shapes, strict=True):
        seen[planned.type] += 1
        word = "landing" if planned.type == "stairs" else planned.type
        number = f" {seen[planned.type]}" if totals[planned.type] > 1 else ""
        name = word + number
        corners = list(orient(shape.simplify(0.0), 1.0).exterior.coords)[:-1]
        polygon = [(round(float(x), 4), round(float(y), 4)) for x, y in corners]
        rooms.append(
            Room(name.replace(" ", "-"), name, planned.type, floors[planned.floor].id, polygon)
        )
    return rooms


def build_stairs(flight: PlannedFlight, layout: Layout, house: House) -> Stairs:
    """Return the flight with solid treads; the well spans the treads and nothing else."""
    low = house.floors[flight.floor].elevation
    high = house.floors[flight.floor + 1].elevation
    riser = (high - low) / layout.risers
    x0, y0, x1, y1 = flight.rect
    along_y = abs(flight.end[1] - flight.start[1]) > abs(flight.end[0] - flight.start[0])
    forward = flight.end[1] > flight.start[1] if along_y else flight.end[0] > flight.start[0]
    count = layout.risers - 1
    depth = ((y1 - y0) if along_y else (x1 - x0)) / count
    treads = []
    for k in range(count):
        step = k if forward else count - 1 - k
        height = riser * (k + 1)
        if along_y:
            center = ((x0 + x1) / 2.0, y0 + (step + 0.5) * depth)
            size = (x1 - x0, depth)
        else:
            center = (x0 + (step + 0.5) * depth, (y0 + y1) / 2.0)
            size = (depth, y1 - y0)
        treads.append(Box((*center, low + height / 2.0), (*size, height)))
    hubs = [room for room, plan in zip(house.rooms, layout.rooms, strict=True) if plan.hub]
    ids = [room.id for room in hubs]
    return Stairs(
        id=f"stairs-{flight.floor + 1}",
        room_low=ids[flight.floor],
        room_high=ids[flight.floor + 1],
        bottom=(*flight.start, low),
        top=(*flight.end, high),
        width=(x1 - x0) if along_y else (y1 - y0),
        riser=riser,
        treads=treads,
        well=[(x0, y0), (x1, y0), (x1, y1), (x0, y1)],
    )


def shared_edges(a: Polygon, b: Polygon) -> list[Segment]:
    """Return the straight pieces of boundary that two rooms share, longest first."""
    shared = a.boundary.intersection(b.boundary)
    lines = [
        g
        for g in getattr(shared, "geoms", [shared])
        if isinstance(g, LineString) and not g.is_empty
    ]
    if not lines:
        return []
    merged = shapely.line_merge(MultiLineString(lines))
    pieces: list[Segment] = []
    for line in getattr(merged, "geoms", [merged]):
        points = list(line.simplify(0.0).coords)
        pieces += [(p, q) for p, q in itertools.pairwise(points)]
    return sorted(pieces, key=lambda s: (-math.dist(*s), s))


def _join_rooms(
    rng: np.random.Generator, layout: Layout, house: House, shapes: Sequence[Polygon]
) -> None:
    """Cut the doors that are needed, then those that are pleasant to have."""
    plan = layout.rooms
    hubs = {room.floor: k for k, room in enumerate(plan) if room.hub}
    joined: set[frozenset[int]] = set()
    for k, room in enumerate(plan):
        if room.hub:
            continue
        to = hubs[room.floor] if room.parent is None else room.parent
        if not _cut_door(rng, house, shapes, k, to):
            raise ValueError(f"{house.rooms[k].name} has no wall for a door")
        joined.add(frozenset((k, to)))
    for a in range(len(plan)):
        for b in range(a + 1, len(plan)):
            pair = frozenset((plan[a].type, plan[b].type))
            wanted = EXTRA_DOORS.get(pair, 0.0)
            if plan[a].floor != plan[b].floor or frozenset((a, b)) in joined:
                continue
            if wanted and rng.random() < wanted:
                _cut_door(rng, house, shapes, a, b)


def _cut_door(
    rng: np.random.Generator, house: House, shapes: Sequence[Polygon], a: int, b: int
) -> bool:
    """Put a door between two rooms; False if no shared wall is long enough."""
    types = (house.rooms[a].type, house.rooms[b].type)
    opening = rng.random() < OPEN_PAIRS.get(frozenset(types), 0.0)
    width = round(float(rng.uniform(1.2, 2.2) if opening else rng.uniform(0.76, 0.98)), 2)
    if not opening and rng.random() < (0.2 if set(types) & set(NARROW_TYPES) else 0.05):
        width = round(float(rng.uniform(0.56, 0.65)), 2)
    margin = 0.15
    pieces = shared_edges(shapes[a], shapes[b])
    if not pieces:
        return False
    longest = math.dist(*pieces[0])
    if longest < width + 2.0 * margin:
        if opening and longest >= 0.76 + 2.0 * margin:
            width, opening = 0.76, False
        elif longest >= 0.56 + 2.0 * margin:
            width, opening = round(min(width, longest - 2.0 * margin), 2), False
        else:
            return False
    fits = [s for s in pieces if math.dist(*s) >= width + 2.0 * margin]
    (px, py), (qx, qy) = fits[int(rng.integers(len(fits)))]
    length = math.dist((px, py), (qx, qy))
    at = _door_position(rng, length, width, margin)
    ux, uy = (qx - px) / length, (qy - py) / length
    floor = next(f for f in house.floors if f.id == house.rooms[a].floor)
    house.doors.append(
        Door(
            id=f"door-{len(house.doors) + 1}",
            floor=floor.id,
            room_a=house.rooms[a].id,
            room_b=house.rooms[b].id,
            center=(round(px + ux * at, 4), round(py + uy * at, 4), floor.elevation),
            yaw=math.pi / 2.0 if abs(uy) > abs(ux) else 0.0,
            width=width,
            height=DOOR_HEIGHT,
            kind="opening" if opening else "door",
        )
    )
    return True


def _door_position(rng: np.random.Generator, length: float, width: float, margin: float) -> float:
    """Return where along the wall a door's middle goes: mostly near an end; walls stay free."""
    low, high = width / 2.0 + margin, length - width / 2.0 - margin
    draw = float(rng.random())
    if draw < 0.4:
        return low + min(0.15, high - low) * float(rng.random())
    if draw < 0.8:
        return high - min(0.15, high - low) * float(rng.random())
    return float(rng.uniform(low, high))


def _raise_walls(
    house: House, floor: Floor, rooms: Sequence[Room], shapes: Sequence[Polygon]
) -> None:
    """Put walls on all outlines of a floor's rooms, with gaps for doors and a piece above each."""
    net = shapely.union_all([shape.boundary for shape in shapes])
    runs: dict[tuple[tuple[int, ...], bool, float], list[tuple[float, float]]] = {}
    for line in getattr(net, "geoms", [net]):
        points = list(line.coords)
        for p, q in itertools.pairwise(points):
            upright = abs(q[1] - p[1]) > abs(q[0] - p[0])
            middle = ((p[0] + q[0]) / 2.0, (p[1] + q[1]) / 2.0)
            off = (0.02, 0.0) if upright else (0.0, 0.02)
            sides = tuple(
                _room_at(shapes, (middle[0] + s * off[0], middle[1] + s * off[1])) for s in (-1, 1)
            )
            if sides[0] == sides[1]:
                continue
            fixed, ends = (p[0], sorted((p[1], q[1]))) if upright else (p[1], sorted((p[0], q[0])))
            runs.setdefault((sides, upright, round(fixed, 4)), []).append((ends[0], ends[1]))
    for (sides, upright, fixed), pieces in sorted(runs.items()):
        outside = -1 in sides
        types = {rooms[s].type for s in sides if s >= 0}
        low_wall = outside and types == {"balcony"}
        height = PARAPET if low_wall else floor.ceiling_height
        for start, end in _merged(pieces):
            _raise_run(house, floor, upright, fixed, start, end, height)


def _raise_run(
    house: House, floor: Floor, upright: bool, fixed: float, start: float, end: float, height: float
) -> None:
    gaps = []
    for door in house.doors:
        if door.floor != floor.id or (abs(math.sin(door.yaw)) > 0.5) != upright:
            continue
        across, along = (door.center[:2]) if upright else (door.center[1], door.center[0])
        if abs(across - fixed) < 1e-3 and start < along < end:
            gaps.append((along - door.width / 2.0, along + door.width / 2.0, door.height))

    def add(a: float, b: float, base: float, tall: float) -> None:
        p, q = ((fixed, a), (fixed, b)) if upright else ((a, fixed), (b, fixed))
        p = (round(p[0], 4), round(p[1], 4))
        q = (round(q[0], 4), round(q[1], 4))
        house.walls.append(Wall(floor.id, p, q, round(base, 4), round(tall, 4), WALL))

    # Corners are filled by half a wall's thickness at both ends of a run, not at doors.
    at = start - WALL / 2.0
    for g0, g1, tall in sorted(gaps):
        add(at, g0, floor.elevation, height)
        if height > tall:
            add(g0, g1, floor.elevation + tall, height - tall)
        at = g1
    add(at, end + WALL / 2.0, floor.elevation, height)


def _room_at(shapes: Sequence[Polygon], point: Vec2) -> int:
    here = shapely.Point(point)
    return next((k for k, shape in enumerate(shapes) if shape.contains(here)), -1)


def _merged(pieces: list[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for start, end in sorted(pieces):
        if merged and start <= merged[-1][1] + 1e-6:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
