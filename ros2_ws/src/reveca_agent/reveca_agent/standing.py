"""Where a robot stands: free floor of a map's rooms, and spots from which a thing is reached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from shapely import (
    LineString,
    MultiLineString,
    MultiPolygon,
    Point,
    Polygon,
    contains_xy,
    distance,
    prepare,
)
from shapely import points as shapely_points
from shapely.geometry.base import BaseGeometry
from shapely.ops import nearest_points, unary_union

from coterie_core.geometry import Box, Vec3
from coterie_world.free_space.free_cells import FreeCells
from coterie_world.scene import Room, SceneGraph

OVERHEAD = 1.5
"""What hangs higher than this above the floor is in nobody's way [m]."""
DOOR = 0.6
"""How far from a door's middle a room's floor may begin, beside the robot's radius [m]."""
_SIDES = 16
_RINGS = 5
MARGIN = 0.05
"""Floor this near to where the robot just does not fit is left alone [m]."""
SAFE = 0.05
"""That a robot may stand off and still reach [m]."""
APART = 0.25
"""Spots that are tried one after the other lie at least so far apart [m]."""
ROUGH = 0.15
"""Boxes of furniture that cameras saw may be too wide by so much, on each side [m]."""
CELL = 0.05
"""Edge of a cell where free floor is told in cells [m]."""
_MOST_CELLS = 4_000_000  # of one floor
_BLOCKING = ("furniture", "fixture")


class FreeFloor:
    """The floor on which a robot fits, by the outlines of a map's rooms and furniture.

    Args:
        scene: The map.
        radius: Of the robot's footprint [m].
        trail: Straight pieces that the robot has driven [m]: there it fits, whatever the map says.
    """

    def __init__(
        self, scene: SceneGraph, radius: float, trail: Sequence[tuple[Vec3, Vec3]] = ()
    ) -> None:
        self._scene, self._radius, self._trail = scene, radius + MARGIN, trail
        self._free = lru_cache(maxsize=None)(self._free_of)

    def elevation(self, room: Room) -> float:
        """Return the height of a room's floor [m]."""
        floor = self._scene.floors.get(room.floor)
        return floor.elevation if floor is not None else 0.0

    def middle(self, room: Room) -> Vec3 | None:
        """Return where one stands in the middle of a room [m]; None: its outline is unknown."""
        free = self._free(room.id)
        if free.is_empty:
            return None
        center = Polygon(room.polygon).centroid
        spot = center if free.contains(center) else nearest_points(free, center)[0]
        return (float(spot.x), float(spot.y), self.elevation(room))

    def beside(self, box: Box, room: Room, reach: float, most: int = 6) -> list[Vec3]:
        """Return spots in a room from which a hand gets to a box [m], nearest to it first.

        They lie on different sides. Where the map shows no free floor within reach of it, boxes of
        furniture that cameras saw count as too wide by `ROUGH`; then floor counts that furniture
        seems to cut off from the doors; if that does not help either, it is the nearest floor that
        there is.

        Args:
            box: Of the thing.
            room: The room it is in.
            reach: Of the hand, sideways from the robot's middle [m].
            most: How many.
        """
        free = self._free(room.id)
        z = self.elevation(room)
        if free.is_empty:
            return [(box.center[0], box.center[1], z)]
        foot = Polygon(box.footprint()) if min(box.size[:2]) > 0.0 else Point(box.center[:2])
        spots: list[Vec3] = []
        for ground in (free, self._free(room.id, ROUGH), self._free(room.id, ROUGH, True)):
            spots = self._around(foot, ground, reach, z)
            if spots:
                break
        else:
            point = nearest_points(free, foot)[0]
            spots = [(float(point.x), float(point.y), z)]
        return spots[:most]

    def _around(self, foot: BaseGeometry, free: BaseGeometry, reach: float, z: float) -> list[Vec3]:
        """Return spots on free floor within reach of a footprint, the nearest rings first."""
        spots: list[Vec3] = []
        for gap in np.linspace(min(self._radius, reach), reach - SAFE, _RINGS):
            ring = foot.buffer(max(float(gap), 0.01)).exterior
            for k in range(_SIDES):
                point = ring.interpolate(k / _SIDES, normalized=True)
                if not free.contains(point):
                    continue
                spot = (float(point.x), float(point.y), z)
                if all(math.dist(spot, other) > APART for other in spots):
                    spots.append(spot)
        return spots

    def around(self, box: Box, room: Room, far: float, spacing: float) -> list[Vec3]:
        """Return a grid of spots [m] on a room's free floor that are at most `far` from a box."""
        free = self._free(room.id).intersection(Polygon(box.footprint()).buffer(far))
        if free.is_empty:
            return []
        x0, y0, x1, y1 = free.bounds
        xs, ys = np.arange(x0, x1 + spacing, spacing), np.arange(y0, y1 + spacing, spacing)
        x, y = (table.ravel() for table in np.meshgrid(xs, ys))
        inside = contains_xy(free, x, y)
        z = self.elevation(room)
        return [(float(a), float(b), z) for a, b in zip(x[inside], y[inside], strict=True)]

    def nearest(self, box: Box, room: Room) -> Vec3:
        """Return the spot on a room's floor that is nearest to a box [m]."""
        free = self._free(room.id)
        if free.is_empty:
            return (box.center[0], box.center[1], self.elevation(room))
        point = nearest_points(free, Polygon(box.footprint()))[0]
        return (float(point.x), float(point.y), self.elevation(room))

    def away(self, points: npt.NDArray[np.float64], room: Room) -> npt.NDArray[np.float64]:
        """Return the distances of points (n, 2) [m] from where one may stand in a room (n) [m]."""
        free = self._free(room.id)
        if free.is_empty:
            return np.zeros(len(points))
        return np.asarray(distance(free, shapely_points(points)), dtype=np.float64)

    def gap(self, box: Box, spot: Vec3) -> float:
        """Return the sideways distance from a spot to a box [m]."""
        return float(Polygon(box.footprint()).distance(Point(spot[:2])))

    def cells(self, height: float, rough: float = 0.0) -> FreeCells | None:
        """Return where the robot's middle can be on the floor at a height [m], in doors too.

        None: no room there has an outline, or they span what no raster holds.

        Args:
            height: Of the floor [m].
            rough: By how much boxes of furniture that cameras saw count as too wide [m].
        """
        level = {
            room.id: self._free(room.id, rough)
            for room in self._scene.rooms.values()
            if abs(self.elevation(room) - height) < OVERHEAD
        }
        parts = {id_: free for id_, free in level.items() if not free.is_empty}
        ways = []
        for way in self._scene.connections.values():
            sides = [parts[id_] for id_ in (way.room_a, way.room_b) if id_ in parts]
            if len(sides) < 2 or 0.0 < way.width < 2.0 * (self._radius - MARGIN):
                continue
            door = Point(way.position[:2])
            # Where it has driven may be a part of its own, nearer to the door than the rest.
            near = (part for side in sides for part in self._at_door(side, door) or [side])
            ends = [nearest_points(part, door)[0] for part in near]
            ways += [LineString([end, door]).buffer(CELL) for end in ends]
        ground = unary_union([*parts.values(), *ways])
        if ground.is_empty:
            return None
        x0, y0, x1, y1 = ground.bounds
        rows, cols = math.ceil((y1 - y0) / CELL), math.ceil((x1 - x0) / CELL)
        if rows * cols > _MOST_CELLS:
            return None
        prepare(ground)
        xs, ys = x0 + CELL * (np.arange(cols) + 0.5), y0 + CELL * (np.arange(rows) + 0.5)
        free = contains_xy(ground, xs[None, :], ys[:, None])
        elevation = self.elevation(self._scene.rooms[next(iter(parts))])
        return FreeCells(free, (x0, y0), CELL, elevation)

    def forget(self) -> None:
        """Furniture has changed: look at the map again."""
        self._free.cache_clear()

    def _at_door(self, ground: BaseGeometry, door: Point) -> list[BaseGeometry]:
        """Return the parts of free floor that begin at a door."""
        parts = getattr(ground, "geoms", (ground,))
        return [part for part in parts if part.distance(door) <= self._radius + DOOR]

    def _free_of(self, room_id: str, rough: float = 0.0, cut_off: bool = False) -> BaseGeometry:
        """Return a room's free floor; with `cut_off` also what boxes that cameras saw cut off."""
        room = self._scene.rooms.get(room_id)
        if room is None or len(room.polygon) < 3:
            return Polygon()
        floor = self.elevation(room)
        blocking = [
            thing
            for thing in self._scene.objects.values()
            if thing.room == room_id
            and thing.kind in _BLOCKING
            and thing.box.bottom - floor < OVERHEAD
            and thing.box.top - floor > 0.05
        ]
        blocked = [
            Polygon(thing.box.footprint()).buffer(
                self._radius - (rough if thing.last_seen is not None else 0.0)
            )
            for thing in blocking
        ]
        free: BaseGeometry = Polygon(room.polygon).buffer(0).buffer(-self._radius)
        if blocked:
            free = free.difference(unary_union(blocked))
        driven = [(a[:2], b[:2]) for a, b in self._trail if abs(a[2] - floor) < OVERHEAD]
        if driven:
            trail = MultiLineString(driven).buffer(MARGIN)
            free = free.union(trail.intersection(Polygon(room.polygon).buffer(0)))
        if cut_off and any(thing.last_seen is not None for thing in blocking):
            return free
        parts = list(free.geoms) if isinstance(free, MultiPolygon) else [free]
        doors = [
            Point(way.position[:2])
            for way in self._scene.connections.values()
            if room_id in (way.room_a, way.room_b)
        ]
        # Corners that furniture cuts off are nowhere to stand: one does not get there.
        open_ = [part for door in doors for part in self._at_door(free, door)]
        if open_:
            return unary_union(open_)
        return max(parts, key=lambda part: part.area, default=Polygon())
