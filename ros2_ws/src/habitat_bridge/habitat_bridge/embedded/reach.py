"""What a round robot can reach in a house: free space as polygons, floor by floor, and stairs."""

from __future__ import annotations

import math

import networkx as nx
import shapely
from shapely.geometry import Polygon

from coterie_world.scene import Floor, Room
from habitat_bridge.house.furnishing_constraints import hinders, middle_of, middle_reach
from habitat_bridge.house.house import Door, House

HALF_WALL = 0.05
LEGS_RADIUS = 0.25


def free_floor(house: House, floor: Floor) -> Polygon:
    """Return where a point may be on a floor: rooms and door gaps, less what stands there."""
    rooms = [room for room in house.rooms if room.floor == floor.id]
    free = [Polygon(room.polygon).buffer(-HALF_WALL, join_style="mitre") for room in rooms] + [
        door_gap(door) for door in house.doors if door.floor == floor.id
    ]
    return shapely.union_all(free).difference(
        shapely.union_all([shape for room in rooms for shape in obstacles(house, room, floor)])
    )


def obstacles(house: House, room: Room, floor: Floor) -> list[Polygon]:
    """Return the footprints of what one cannot walk through in a room, wells and flights too."""
    found = [
        Polygon(thing.box.footprint())
        for thing in house.objects
        if thing.room == room.id and hinders(thing.box, floor.elevation)
    ]
    for stairs in house.stairs:
        if room.id in (stairs.room_low, stairs.room_high):
            found.append(Polygon(stairs.well))
    return found


def door_gap(door: Door) -> Polygon:
    """Return the floor of a door's gap, a little longer than the wall is thick."""
    c, s = math.cos(door.yaw), math.sin(door.yaw)
    x, y, _ = door.center
    half, deep = door.width / 2.0, HALF_WALL + 0.01
    return Polygon(
        [
            (x + c * a - s * b, y + s * a + c * b)
            for a, b in ((-half, -deep), (half, -deep), (half, deep), (-half, deep))
        ]
    )


def reachable_rooms(house: House, radius: float, *, climbs: bool = True) -> set[str]:
    """Return the ids of rooms whose middle a robot of this radius [m] comes near.

    It starts in the part of the house from which most rooms can be reached. Stairs count if it
    `climbs`.
    """
    graph: nx.Graph = nx.Graph()
    parts: dict[str, list[Polygon]] = {}
    for floor in house.floors:
        walkable = free_floor(house, floor).buffer(-radius)
        parts[floor.id] = [g for g in getattr(walkable, "geoms", [walkable]) if not g.is_empty]
        graph.add_nodes_from((floor.id, k) for k in range(len(parts[floor.id])))
    floors = {room.id: room.floor for room in house.rooms}
    if climbs:
        for stairs in house.stairs:
            ends = []
            for room_id, point in (
                (stairs.room_low, stairs.bottom),
                (stairs.room_high, stairs.top),
            ):
                floor_id, here = floors[room_id], shapely.Point(point[:2])
                away = [(part.distance(here), k) for k, part in enumerate(parts[floor_id])]
                if away and min(away)[0] < 0.1:
                    ends.append((floor_id, min(away)[1]))
            if len(ends) == 2:
                graph.add_edge(*ends)
    rooms: dict[tuple[str, int], set[str]] = {node: set() for node in graph}
    for room in house.rooms:
        outline = Polygon(room.polygon)
        middle, near = middle_of(outline), middle_reach(outline)
        for k, part in enumerate(parts[room.floor]):
            if part.intersection(outline).distance(middle) <= near:
                rooms[room.floor, k].add(room.id)
    groups = [set().union(*(rooms[n] for n in nodes)) for nodes in nx.connected_components(graph)]
    return max(groups, key=len, default=set())


def ways_in_room(house: House, room: Room, radius: float) -> bool:
    """Whether a robot of this radius [m], once inside, gets from each door to the room's middle."""
    floor = next(f for f in house.floors if f.id == room.floor)
    outline = Polygon(room.polygon)
    walkable = (
        outline.buffer(-HALF_WALL, join_style="mitre")
        .difference(shapely.union_all(obstacles(house, room, floor)))
        .buffer(-radius)
    )
    doors = []
    for door in house.doors:
        if room.id in (door.room_a, door.room_b):
            c, s = math.cos(door.yaw), math.sin(door.yaw)
            away = HALF_WALL + radius + 0.02
            for sign in (1.0, -1.0):
                point = shapely.Point(
                    door.center[0] - sign * s * away, door.center[1] + sign * c * away
                )
                if outline.contains(point):
                    doors.append(point)
    middle, near = middle_of(outline), middle_reach(outline)
    for part in getattr(walkable, "geoms", [walkable]):
        if part.is_empty or part.distance(middle) > near:
            continue
        if all(part.distance(door) < 0.15 for door in doors):
            return True
    return False
