"""Areas: the extent of a house, and the zones that limits allow or keep robots out of."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import shapely

from coterie_core.geometry import Vec2, Vec3
from coterie_core.guard.fences import Fence, pieces_of
from coterie_core.guard.limits import FloorLimit, KeepOut, Limits, RobotLimits
from coterie_core.scene import Room, SceneGraph

Points = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_MARGIN = 0.5  # [m]
_BELOW = 0.3
"""How far below a floor's walking surface a point still counts as on it [m]."""
_STEP = 0.05
"""Distance between the points of a path that are checked [m]."""


@dataclass(frozen=True, slots=True)
class AllowedArea:
    """The box that robots may act in, map frame: its lowest and highest corner [m]."""

    low: Vec3
    high: Vec3

    @staticmethod
    def of(scene: SceneGraph) -> AllowedArea:
        """Return the area of a house: what its rooms, floors, places and objects span.

        Raises:
            ValueError: The house has no extent.
        """
        points: list[Vec3] = [place.position for place in scene.places.values()]
        for room in scene.rooms.values():
            if room.floor in scene.floors:
                points += [(x, y, z) for x, y in room.polygon for z in _heights(scene, room.floor)]
        for thing in scene.objects.values():
            points += thing.box.axis_aligned()
        if not points:
            raise ValueError("allowed area: the house has neither rooms with outlines nor places")
        spans = [[p[k] for p in points] for k in range(3)]
        low, high = [min(s) - _MARGIN for s in spans], [max(s) + _MARGIN for s in spans]
        return AllowedArea((low[0], low[1], low[2]), (high[0], high[1], high[2]))

    def trouble(self, point: Vec3) -> str:
        """Return "" if a point [m] is allowed, else why not."""
        if all(a <= p <= b for a, p, b in zip(self.low, point, self.high, strict=True)):
            return ""
        return f"{at(point)} is outside the house"


def at(point: Sequence[float]) -> str:
    """Return a position as texts show it."""
    return f"({point[0]:.2f}, {point[1]:.2f}, {point[2]:.2f})"


@dataclass(frozen=True, slots=True)
class _Zone:
    """A piece of the floor plan with heights; no shape: all of the plan."""

    shape: shapely.Geometry | None
    z: tuple[float, float] | None = None

    def holds(self, points: Points) -> Mask:
        """Tell which points (n, 3) [m] lie in it."""
        mask: Mask = np.ones(len(points), dtype=bool)
        if self.z is not None:
            mask &= (points[:, 2] >= self.z[0]) & (points[:, 2] <= self.z[1])
        if self.shape is not None and mask.any():
            mask &= shapely.contains_xy(self.shape, points[:, 0], points[:, 1])
        return mask


@dataclass(frozen=True, slots=True)
class _Rule:
    """Zones that points must be in (`inside`) or must not be in, and what to say otherwise.

    `where` is its place in the team file, `name` the room that is meant.
    """

    zones: tuple[_Zone, ...]
    inside: bool
    text: str
    where: str
    name: str = ""

    def broken(self, points: Points) -> Mask:
        held: Mask = np.zeros(len(points), dtype=bool)
        for zone in self.zones:
            held |= zone.holds(points)
        wrong: Mask = np.not_equal(held, self.inside)
        return wrong


class Zones:
    """Where a robot may be by its limits, with the rooms and floors of a map.

    Args:
        limits: The limits.
        scene: The map that names of rooms and floors are of; None: none is known.

    Attributes:
        unknown: Names that the map does not know, each with its place in the team file.
    """

    def __init__(self, limits: RobotLimits, scene: SceneGraph | None) -> None:
        self.unknown: list[str] = []
        self._scene = scene or SceneGraph()
        self._rules: list[_Rule] = []
        for where, section in limits.layers:
            self._add(where, section)

    def _add(self, where: str, section: Limits) -> None:
        if section.area and section.area != "anywhere":
            shape = _union(section.area)
            text = f"is outside the allowed area ({where}.area)"
            self._rules.append(_Rule((_Zone(shape),), True, text, f"{where}.area"))
        if section.floors:
            storeys = [self._floor(f, f"{where}.floors[{k}]") for k, f in enumerate(section.floors)]
            text = f"is on no allowed floor, or outside its area ({where}.floors)"
            known = tuple(z for z in storeys if z is not None)
            self._rules.append(_Rule(known, True, text, f"{where}.floors"))
        for k, one in enumerate(section.keep_out):
            place = f"{where}.keep_out[{k}]"
            zones = self._kept_out(one, place)
            name = f"the room {one.room!r}" if one.room else "a zone"
            text = f"is in {name} that robots keep out of ({place})"
            self._rules.append(_Rule(zones, False, text, place, one.room))

    def _floor(self, floor: FloorLimit, where: str) -> _Zone | None:
        shape = _union(floor.area) if floor.area else None
        if floor.z is not None:
            return _Zone(shape, (floor.z[0] - _BELOW, floor.z[1]))
        if floor.name not in self._scene.floors:
            known = ", ".join(self._scene.floors) or "none yet"
            self.unknown.append(
                f"{where}: the map has no floor {floor.name!r} (floors: {known}); give its heights "
                "as z: [lowest, highest], or a name of the map"
            )
            return None
        low, high = _heights(self._scene, floor.name)
        return _Zone(shape, (low - _BELOW, high))

    def _kept_out(self, one: KeepOut, where: str) -> tuple[_Zone, ...]:
        if one.polygon:
            return (_Zone(_union((one.polygon,)), one.z),)
        rooms = [r for r in rooms_called(self._scene, one.room) if len(r.polygon) > 2]
        if not rooms:
            names = ", ".join(r.name for r in self._scene.rooms.values() if r.polygon)
            self.unknown.append(
                f"{where}: the map has no outline of a room {one.room!r} (rooms: "
                f"{names or 'none yet'}); give a polygon, or a room of the map"
            )
        zones = []
        for room in rooms:
            z = None
            if room.floor in self._scene.floors:
                low, high = _heights(self._scene, room.floor)
                z = (low - _BELOW, high)
            zones.append(_Zone(_union((tuple(room.polygon),)), z))
        return tuple(zones)

    def fences(self) -> tuple[Fence, ...]:
        """Return all limits as outlines."""
        return tuple(
            Fence(
                keep_out=not rule.inside,
                where=rule.where,
                name=rule.name,
                pieces=tuple(p for zone in rule.zones for p in pieces_of(zone.shape, zone.z)),
            )
            for rule in self._rules
        )

    def trouble(self, point: Vec3) -> str:
        """Return "" if a point [m] is allowed, else why not."""
        one = np.array([point], dtype=float)
        for rule in self._rules:
            if rule.broken(one)[0]:
                return f"{at(point)} {rule.text}"
        return ""

    def path_trouble(self, points: Sequence[Vec3]) -> str:
        """Return "" if a path over these points [m] is allowed, else where and why it is not.

        A path that begins where the robot must not be may lead out of there.
        """
        if not self._rules or not points:
            return ""
        dense = _dense(points)
        broken = np.stack([rule.broken(dense) for rule in self._rules])
        any_broken: Mask = broken.max(axis=0)
        fine = np.flatnonzero(~any_broken)
        first = int(fine[0]) if len(fine) else 0
        bad = np.flatnonzero(any_broken[first:])
        if not len(bad):
            return ""
        k = first + int(bad[0])
        rule = self._rules[int(np.flatnonzero(broken[:, k])[0])]
        return f"{at(dense[k].tolist())} on the path {rule.text}"


def rooms_called(scene: SceneGraph, name: str) -> list[Room]:
    """Return the rooms that a name means: one by name or id, else all of that kind."""
    said = name.strip().lower()
    exact = [r for r in scene.rooms.values() if said in (r.name.lower(), r.id.lower())]
    return exact or [r for r in scene.rooms.values() if r.type.lower() == said]


def _heights(scene: SceneGraph, floor: str) -> tuple[float, float]:
    storey = scene.floors[floor]
    return storey.elevation, storey.elevation + storey.ceiling_height


def _union(polygons: Sequence[Sequence[Vec2]]) -> shapely.Geometry:
    shape = shapely.union_all([shapely.Polygon(p).buffer(0) for p in polygons])
    shapely.prepare(shape)
    return shape


def _dense(points: Sequence[Vec3]) -> Points:
    """Return a path's points with further ones between them, at most `_STEP` apart."""
    pieces = [np.array(points[:1], dtype=float)]
    for a, b in itertools.pairwise(points):
        count = max(math.ceil(math.dist(a, b) / _STEP), 1)
        share = np.arange(1, count + 1)[:, None] / count
        pieces.append(np.array(a) + share * (np.array(b) - np.array(a)))
    return np.concatenate(pieces)
