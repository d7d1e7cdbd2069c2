"""The truth about a house as a scene graph: what does not change of it, and how it is now."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from coterie_world.scene import AgentState, Connection, SceneGraph, SceneObject
from coterie_world.scene.model import ConnectionKind
from habitat_bridge.embedded.places import PlaceMap
from habitat_bridge.house.house import House


def house_scene(house: House, places: PlaceMap) -> SceneGraph:
    """Return floors, rooms, connections, places and links of a house (no objects, no agents)."""
    scene = SceneGraph()
    for floor in house.floors:
        scene.add_floor(floor)
    for room in house.rooms:
        scene.add_room(room)
    for door in house.doors:
        kind: ConnectionKind = "opening" if door.kind == "opening" else "door"
        scene.add_connection(
            Connection(door.id, door.room_a, door.room_b, kind, door.center, door.width)
        )
    for stairs in house.stairs:
        scene.add_connection(
            Connection(
                stairs.id,
                stairs.room_low,
                stairs.room_high,
                "stairs",
                stairs.bottom,
                stairs.width,
                stairs.riser,
            )
        )
    for place in places.places.values():
        scene.add_place(place)
    for link in places.links.values():
        scene.add_link(link)
    return scene


def scene_now(
    fixed: SceneGraph, things: Iterable[SceneObject], agents: Iterable[AgentState]
) -> SceneGraph:
    """Return a house as it is now; a copy of what may change.

    Args:
        fixed: What does not change.
        things: All things of the house.
        agents: The robots.
    """
    scene = SceneGraph(
        fixed.frame,
        dict(fixed.floors),
        dict(fixed.rooms),
        dict(fixed.connections),
        dict(fixed.places),
        {place: dict(links) for place, links in fixed.links.items()},
    )
    for thing in things:
        scene.add_object(copy.deepcopy(thing))
    scene.agents.update((agent.name, agent) for agent in agents)
    return scene
