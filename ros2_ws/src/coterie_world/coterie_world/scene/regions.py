"""Rooms and floors of a map: which one a point lies in, by polygon and height."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import shapely
from shapely.geometry import Point, Polygon

from coterie_core.geometry import Vec3
from coterie_world.scene import SceneGraph

MAX_ROOM_DISTANCE_M = 0.6
"""Largest distance to the nearest room at which a thing outside of every room belongs to it [m]."""


class Regions:
    """The rooms of a scene graph, ready to be asked.

    Args:
        graph: Rooms with polygons (others are left out), floors, connections, places; objects and
            agents in it are not kept.
    """

    def __init__(self, graph: SceneGraph | None = None) -> None:
        self._graph = SceneGraph()
        if graph is not None:
            self._graph = copy.deepcopy(graph)
            self._graph.objects.clear()
            self._graph.agents.clear()
        self._polygons: Mapping[str, Polygon] = {
            room.id: Polygon(room.polygon)
            for room in self._graph.rooms.values()
            if len(room.polygon) >= 3
        }
        for polygon in self._polygons.values():
            shapely.prepare(polygon)

    @staticmethod
    def of(graph: SceneGraph) -> Regions:
        """Return the regions of a scene graph."""
        return Regions(graph)

    def graph(self) -> SceneGraph:
        """Return rooms, floors, connections and places as a scene graph of its own."""
        return copy.deepcopy(self._graph)

    def room_at(self, point: Vec3) -> str:
        """Id of the room that a point [m] lies in, or the nearest (MAX_ROOM_DISTANCE_M), or ""."""
        here = Point(point[0], point[1])
        best, room = MAX_ROOM_DISTANCE_M, ""
        for id_, polygon in self._polygons.items():
            floor = self._graph.floors.get(self._graph.rooms[id_].floor)
            if floor is not None:
                above = point[2] - floor.elevation
                if not -0.3 <= above <= floor.ceiling_height + 0.2:
                    continue
            if polygon.contains(here):
                return id_
            away = float(polygon.distance(here))
            if away < best:
                best, room = away, id_
        return room
