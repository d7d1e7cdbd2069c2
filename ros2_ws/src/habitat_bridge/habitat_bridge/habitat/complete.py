"""Rooms and ways that a scene's data set does not tell, computed from its navmesh."""

from __future__ import annotations

import copy

import numpy.typing as npt

from coterie_world.free_space.partition import RegionSettings
from coterie_world.scene import SceneGraph
from habitat_bridge.habitat.description import SceneDescription
from habitat_bridge.habitat.regions import (
    connections_from_navmesh,
    regions_from_navmesh,
)
from habitat_bridge.habitat.scene_rooms import guess_types, name_rooms, place_objects


def with_regions(
    scene: SceneDescription, triangles: npt.ArrayLike, settings: RegionSettings | None = None
) -> SceneDescription:
    """Return a copy of a scene in which rooms and the ways between them are known.

    A scene without regions gets computed ones, "region 3 (kitchen)", with kinds guessed from
    their objects; one with regions but without connections gets these only. Stairs are computed
    where a scene has several storeys and connections, but none between two storeys: Matterport3D's
    portals are doors. The notes say what is computed.

    Args:
        scene: The scene.
        triangles: (n, 3, 3) corners of the navmesh's triangles in the z-up map frame [m].
        settings: How the floor is parted; `agent_radius` must be that of the navmesh.

    Raises:
        ValueError: `triangles` is no such array, or it holds no area.
    """
    if scene.graph.rooms and scene.graph.connections and _storeys_joined(scene.graph):
        return scene
    result = copy.deepcopy(scene)
    graph = result.graph
    if graph.rooms:
        ways = connections_from_navmesh(graph.rooms, graph.floors, triangles, settings)
        what = "ways between rooms"
        if graph.connections:
            ways, what = [way for way in ways if way.kind == "stairs"], "flights of stairs"
        result.notes = [n for n in result.notes if "with_regions" not in n]
        result.notes.append(f"{len(ways)} {what} are computed from the navmesh")
        for way in ways:
            graph.add_connection(way)
        return result
    found = regions_from_navmesh(triangles, settings)
    result.notes = [n for n in result.notes if "with_regions" not in n] + found.notes
    graph.floors = {floor.id: floor for floor in found.floors}
    for room in found.rooms:
        graph.add_room(room)
    for way in found.connections:
        graph.add_connection(way)
    lost = place_objects(graph)
    if lost:
        result.notes.append(f"{lost} objects lie in no region")
    guessed = guess_types(graph)
    if guessed:
        result.notes.append(f"kinds of {len(guessed)} regions are guessed from their objects")
    name_rooms(graph, computed=True)
    result.regions = "computed"
    return result


def _storeys_joined(graph: SceneGraph) -> bool:
    """Whether the connections lead from one storey to another, where there are several."""
    floors = {room.id: room.floor for room in graph.rooms.values()}
    return len(set(floors.values())) < 2 or any(
        floors.get(way.room_a) != floors.get(way.room_b) for way in graph.connections.values()
    )
