"""Rooms and floors of a map: which one a point lies in, by polygon and height."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping

import shapely
from shapely.geometry import Point, Polygon

from coterie_core.geometry import Vec2, Vec3
from coterie_world.scene.graph import SceneGraph
from coterie_world.scene.model import Room

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


SAME_ROOM_OVERLAP = 0.6
"""Fraction of the smaller of two regions that the other covers, from which they are one room.

Regions are parted at narrow passages: neighbors share no more than an error of alignment, and of a
room that one robot has seen in part only, that part lies within what the other has seen.
"""
_REGION = re.compile(r"(.+_)?region_\d+")


def is_region(room: Room) -> bool:
    """Whether a room is a region that some robot parted the floor into: it comes and goes."""
    return not room.type and _REGION.fullmatch(room.id) is not None


def same_region(room: Room, others: Iterable[Room]) -> Room | None:
    """Return the region among others that is the same room as a region; None: there is none.

    Args:
        room: A region with an outline, in the frame of the others.
        others: Rooms; only regions on the same floor count.
    """
    if not is_region(room) or len(room.polygon) < 3:
        return None
    shape = _shape(room.polygon)
    best, found = SAME_ROOM_OVERLAP, None
    for other in others:
        if not is_region(other) or len(other.polygon) < 3:
            continue
        if room.floor and other.floor and room.floor != other.floor:
            continue
        theirs = _shape(other.polygon)
        least = min(shape.area, theirs.area)
        share = shape.intersection(theirs).area / least if least > 0.0 else 0.0
        if share > best or (share == best and found is None):
            best, found = share, other
    return found


def joined(room: Room, other: Room) -> list[Vec2]:
    """Return the outline of two regions that are one room: what either covers [m]."""
    whole = shapely.union(_shape(room.polygon), _shape(other.polygon))
    if not isinstance(whole, shapely.Polygon):  # they touch in parts: the largest is the room
        whole = max(whole.geoms, key=lambda part: float(part.area))
    return [(float(x), float(y)) for x, y in whole.exterior.coords[:-1]]


def _shape(polygon: Iterable[Vec2]) -> shapely.Geometry:
    return shapely.Polygon(list(polygon)).buffer(0)
