"""A semantic map from above, as plain data for a page: floors, rooms, ways, things."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coterie_console.text import plain
from coterie_core.tasks import SubTask
from coterie_world.scene import SceneGraph, SceneObject

MAX_ROOMS, MAX_WAYS, MAX_THINGS = 500, 1000, 3000
"""Most rooms, ways and things of a map that a page gets; the kinds of things that are largest go
first."""
MAX_HIGHLIGHTED = 50
_CORNERS = 200
_ABOVE = 0.5
"""A robot counts to the highest floor that is at most so far above its position [m]."""


def plan_of(scene: SceneGraph) -> dict[str, Any]:
    """Return a map from above: positions in the map frame [m], all texts plain and short."""
    floors = sorted(scene.floors.values(), key=lambda one: (one.elevation, one.id))
    objects = sorted(scene.objects.values(), key=lambda one: (-one.box.volume, one.id))
    return {
        "frame": plain(scene.frame),
        "floors": [
            {"id": one.id, "name": f"Floor {k}", "z": round(one.elevation, 2)}
            for k, one in enumerate(floors)
        ],
        "rooms": [
            {
                "id": room.id,
                "name": plain(room.name),
                "type": plain(room.type),
                "floor": room.floor if room.floor in scene.floors else "",
                "outline": [_point(*corner) for corner in room.polygon[:_CORNERS]],
            }
            for room in list(scene.rooms.values())[:MAX_ROOMS]
        ],
        "ways": [
            {
                "kind": way.kind,
                "at": _point(*way.position[:2]),
                "floor": floor_at(scene, way.position[2]),
                "width": round(way.width, 2),
            }
            for way in list(scene.connections.values())[:MAX_WAYS]
        ],
        "things": [_thing(one, scene) for one in objects[:MAX_THINGS]],
        "left_out": max(len(objects) - MAX_THINGS, 0),
    }


def floor_at(scene: SceneGraph, z: float) -> str:
    """Return the id of the highest floor below a height [m]; "" where the map has no floors."""
    if not scene.floors:
        return ""
    below = [one for one in scene.floors.values() if one.elevation <= z + _ABOVE]
    if below:
        return max(below, key=lambda one: (one.elevation, one.id)).id
    return min(scene.floors.values(), key=lambda one: (one.elevation, one.id)).id


def lit_by(sub_tasks: Sequence[SubTask], scene: SceneGraph) -> dict[str, Any]:
    """Return what a task is about, to be lit up: things of the map, marks elsewhere, rooms."""
    things: dict[str, None] = {}
    rooms: dict[str, None] = {}
    marks: list[dict[str, Any]] = []
    for one in sub_tasks[:MAX_HIGHLIGHTED]:
        for thing in (one.object, one.receptacle):
            if thing is not None and thing.id in scene.objects:
                things[plain(thing.id)] = None
            elif thing is not None and thing.position is not None:
                at = [round(v, 2) for v in thing.position]
                marks.append({"at": at, "label": plain(thing.label, 40)})
        named = (scene.rooms.get(room) for room in one.rooms)
        rooms |= {plain(room.name): None for room in named if room is not None}
    return {"things": list(things), "marks": marks, "rooms": list(rooms)}


def _thing(thing: SceneObject, scene: SceneGraph) -> dict[str, Any]:
    room = scene.rooms.get(thing.room)
    known = room is not None and room.floor in scene.floors
    labels = list(thing.label.distribution().items())[:3]
    seen = thing.last_seen
    return {
        "id": thing.id,
        "label": plain(thing.label.top, 40),
        "labels": [[plain(label, 40), round(share, 2)] for label, share in labels],
        "kind": thing.kind,
        "floor": room.floor if known and room else floor_at(scene, thing.box.bottom),
        "room": plain(room.name) if room else "",
        "at": [round(v, 2) for v in thing.box.center],
        "corners": [_point(*corner) for corner in thing.box.footprint()],
        "open": thing.is_open,
        "looks": thing.observations,
        "by": plain(seen.robot) if seen else "",
        "on": thing.container or thing.support,
    }


def _point(x: float, y: float) -> list[float]:
    return [round(x, 2), round(y, 2)]
