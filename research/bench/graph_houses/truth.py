"""Turns a topological house into the scene graph that a referee uses as the truth."""

from __future__ import annotations

import math
from typing import Literal

from coterie_core.geometry import Box, Vec3
from coterie_core.household import load_household
from coterie_world.scene import (
    Connection,
    Floor,
    LabelBelief,
    Place,
    PlaceLink,
    Room,
    SceneGraph,
    SceneObject,
)
from research.bench.graph_houses.model import GraphHouse, Viewpoint
from research.bench.graph_houses.rooms import room_id

STEEP = 0.25  # rise over run from which a way counts as stairs
STAIR_RISER = 0.18  # [m], the files do not tell; the middle of what building codes allow
_STOREY_GAP = 1.5  # [m] between floor levels that belong to two storeys
_REACH = 1.5  # [m], assumed distance of an object: objects are listed up to 3 m away


def scene_of(house: GraphHouse) -> SceneGraph:
    """Return rooms, places, ways and objects of a house.

    The files tell from where an object is seen, not where it is: its box is a guessed point, and an
    object seen from two rooms becomes one entry per room, since a room holds what is seen from it
    (MELE, section 4.1). Such entries have the id "<object>@<room id>".
    """
    scene = SceneGraph()
    levels = _levels(house)
    for index, level in enumerate(levels):
        scene.add_floor(Floor(f"floor_{index}", index, level))
    household = load_household()
    rooms: dict[str, Room] = {}
    for view in house.viewpoints.values():
        floor = _floor(view.position, levels)
        if view.room is not None and room_id(view.room) not in rooms:
            kind = household.room_type(view.room) or view.room
            rooms[room_id(view.room)] = Room(room_id(view.room), view.room, kind, floor)
        room = room_id(view.room) if view.room is not None else ""
        scene.add_place(Place(view.id, view.position, room, floor))
    for key in sorted(rooms):
        scene.add_room(rooms[key])
    for a, b, data in house.graph.edges(data=True):
        riser = riser_of(house.viewpoints[a].position, house.viewpoints[b].position)
        scene.add_link(PlaceLink(a, b, data["length"], riser=riser))
        _connect(scene, a, b, riser)
    scene.extend(_objects(house))
    return scene


def riser_of(a: Vec3, b: Vec3) -> float:
    """Return the riser height [m] to expect between two viewpoints: 0 for a level way."""
    run = math.dist(a[:2], b[:2])
    rise = abs(a[2] - b[2])
    return STAIR_RISER if rise > 0.1 and rise > STEEP * run else 0.0


def _levels(house: GraphHouse) -> list[float]:
    """Return the heights [m] of the storeys, lowest first: clusters of viewpoint heights."""
    flat = [view.position[2] for view in house.viewpoints.values() if view.room != "stairs"] or [
        view.position[2] for view in house.viewpoints.values()
    ]
    groups: list[list[float]] = []
    for height in sorted(flat):
        if groups and height - groups[-1][0] < _STOREY_GAP:
            groups[-1].append(height)
        else:
            groups.append([height])
    return [sorted(group)[len(group) // 2] for group in groups]


def _floor(position: Vec3, levels: list[float]) -> str:
    nearest = min(range(len(levels)), key=lambda k: (abs(levels[k] - position[2]), k))
    return f"floor_{nearest}"


def _connect(scene: SceneGraph, a: str, b: str, riser: float) -> None:
    """Note that the way between two places joins their rooms."""
    first, second = sorted((scene.places[a].room, scene.places[b].room))
    if not first or first == second:
        return
    key = f"{first}--{second}"
    known = scene.connections.get(key)
    if known is None or (known.riser > 0.0 and riser == 0.0):
        p, q = scene.places[a].position, scene.places[b].position
        middle = ((p[0] + q[0]) / 2.0, (p[1] + q[1]) / 2.0, (p[2] + q[2]) / 2.0)
        kind: Literal["opening", "stairs"] = "stairs" if riser > 0.0 else "opening"
        scene.add_connection(Connection(key, first, second, kind, middle, 1.0, riser))


def _objects(house: GraphHouse) -> list[SceneObject]:
    sightings: dict[tuple[str, str], list[tuple[Viewpoint, Vec3, str]]] = {}
    for view in house.viewpoints.values():
        room = room_id(view.room) if view.room is not None else ""
        for thing in view.objects:
            x, y, z = view.position
            if thing.bearing is not None:
                x, y = x + _REACH * math.cos(thing.bearing), y + _REACH * math.sin(thing.bearing)
            sightings.setdefault((thing.id, room), []).append((view, (x, y, z + 0.8), thing.label))
    rooms_of: dict[str, int] = {}
    for thing_id, _ in sightings:
        rooms_of[thing_id] = rooms_of.get(thing_id, 0) + 1
    objects: list[SceneObject] = []
    for (thing_id, room), seen in sightings.items():
        n = len(seen)
        centre = (
            sum(p[0] for _, p, _ in seen) / n,
            sum(p[1] for _, p, _ in seen) / n,
            sum(p[2] for _, p, _ in seen) / n,
        )
        belief = LabelBelief()
        for _, _, label in seen:
            belief.add(LabelBelief.of(label))
        key = thing_id if rooms_of[thing_id] == 1 else f"{thing_id}@{room or 'nowhere'}"
        objects.append(
            SceneObject(
                key,
                belief,
                Box(centre, (0.0, 0.0, 0.0)),
                room,
                observations=n,
                properties={"position": "guessed from where it is seen"},
            )
        )
    return objects
