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
from coterie_safety.guard.fences import Fence, pieces_of
from coterie_safety.guard.leaving import Breach, Leaving
from coterie_safety.guard.limits import FloorLimit, KeepOut, Limits, RobotLimits
from coterie_world.scene import Room, SceneGraph
from coterie_world.scene.outlines import enclosed

Points = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_MARGIN = 0.5  # [m]
_FLOOR_MARGIN_M = 0.3
"""Largest depth below a floor's walking surface at which a point still counts as on it [m]."""
_MAX_HEIGHT_M = 1e5
"""Heights beyond this are no house's [m]."""
_PATH_STEP_M = 0.05
"""Distance between the points of a path that are checked [m]. Kept-out zones reach half of it
farther than they are drawn: no step passes over a narrow one, or between two that touch."""
_END_RADIUS_M = 0.5
"""Largest distance from the robot to a path's beginning, and from the goal to its end [m]."""


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
    """A piece of the floor plan with heights; no shape: all of the plan. `room` is its id."""

    shape: shapely.Geometry | None
    z: tuple[float, float] | None = None
    room: str = ""

    def holds(self, points: Points) -> Mask:
        """Tell which points (n, 3) [m] lie in it."""
        mask: Mask = np.ones(len(points), dtype=bool)
        if self.z is not None:
            mask &= (points[:, 2] >= self.z[0]) & (points[:, 2] <= self.z[1])
        if self.shape is not None and mask.any():
            mask &= shapely.contains_xy(self.shape, points[:, 0], points[:, 1])
        return mask

    def distance(self, point: Vec3) -> float:
        """Return how far a point lies from it [m]; 0 inside."""
        beside = 0.0 if self.shape is None else self.shape.distance(shapely.Point(point[:2]))
        low, high = self.z or (-math.inf, math.inf)
        return math.hypot(beside, max(low - point[2], point[2] - high, 0.0))


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

    def breach(self, point: Vec3, on: str = "") -> Breach:
        """Return how a point breaks it that does; `on` is said of the point."""
        return Breach(self.where, f"{at(point)}{on} {self.text}", self._away(point))

    def _away(self, point: Vec3) -> float:
        """Return how far a point that breaks it is from where it is kept [m]."""
        if self.inside:
            return min((zone.distance(point) for zone in self.zones), default=math.inf)
        one = np.array([point], dtype=float)
        shapes = [zone.shape for zone in self.zones if zone.holds(one)[0]]
        spot = shapely.Point(point[:2])
        return float(shapely.union_all([s for s in shapes if s]).boundary.distance(spot))


class Zones:
    """Where a robot may be by its limits, with the rooms and floors of a map.

    Args:
        limits: The limits.
        scene: The map that names of rooms and floors are of; None: none is known.
        before: The zones of the map before: what this one does not know any more is as it was.

    Attributes:
        unknown: Rooms and floors that the map does not know, by their place in the team file; while
            there is any, the robot must be nowhere.
    """

    def __init__(
        self, limits: RobotLimits, scene: SceneGraph | None, before: Zones | None = None
    ) -> None:
        self.unknown: dict[str, str] = {}
        self._scene = scene or SceneGraph()
        self._last = {rule.where: rule.zones for rule in before._rules} if before else {}
        self._rules: list[_Rule] = []
        for where, section in limits.layers:
            self._add(where, section)

    @property
    def fenced(self) -> bool:
        """Whether there is any limit of where the robot may be."""
        return bool(self._rules)

    def _add(self, where: str, section: Limits) -> None:
        if section.area and section.area != "anywhere":
            shape = self._allowed(section.area, f"{where}.area")
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

    def _allowed(self, polygons: Sequence[Sequence[Vec2]], where: str) -> shapely.Geometry:
        shapes = [shapely.Polygon(corners) for corners in polygons]
        for shape in shapes:
            if not shape.is_valid:
                why = shapely.is_valid_reason(shape).lower()
                self.unknown[where] = f"{where}: no polygon: {why}"
        return _prepared([shape for shape in shapes if shape.is_valid])

    def _floor(self, floor: FloorLimit, where: str) -> _Zone | None:
        shape = self._allowed(floor.area, f"{where}.area") if floor.area else None
        if floor.z is not None:
            return _Zone(shape, (floor.z[0] - _FLOOR_MARGIN_M, floor.z[1]))
        if floor.name not in self._scene.floors:
            known = ", ".join(self._scene.floors) or "none yet"
            self.unknown[where] = (
                f"{where}: the map has no floor {floor.name!r} (floors: {known}); give its heights "
                "as z: [lowest, highest], or a name of the map"
            )
            return None
        low, high = _heights(self._scene, floor.name)
        return _Zone(shape, (low - _FLOOR_MARGIN_M, high))

    def _kept_out(self, one: KeepOut, where: str) -> tuple[_Zone, ...]:
        if one.polygon:
            z = None if one.z is None else (one.z[0] - _FLOOR_MARGIN_M, one.z[1])
            return (_Zone(_grown(enclosed(one.polygon)), z),)
        drawn = {id_: shape for id_, room in self._scene.rooms.items()
                 if (shape := enclosed(room.polygon))}  # fmt: skip
        zones = [
            _Zone(_grown(drawn[room.id]), _storey(self._scene, room.floor), room.id)
            for room in _rooms_meant(self._scene, one.room)
            if room.id in drawn
        ]
        if not zones:
            names = ", ".join(r.name for r in self._scene.rooms.values() if r.polygon)
            self.unknown[where] = (
                f"{where}: the map has no outline of a room {one.room!r} (rooms: "
                f"{names or 'none yet'}); give a polygon, or a room of the map"
            )
        found = {zone.room for zone in zones}
        lost = [
            zone
            for zone in self._last.get(where, ())
            if zone.room not in found and not _meets(drawn.get(zone.room), zone)
        ]
        return (*zones, *lost)

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

    def breaches(self, point: Vec3) -> tuple[Breach, ...]:
        """Return the limits that a point [m] breaks; what the map does not know, it breaks."""
        one = np.array([point], dtype=float)
        found = [rule.breach(point) for rule in self._rules if rule.broken(one)[0]]
        return (*found, *(Breach(f"{where}?", text) for where, text in self.unknown.items()))

    def trouble(self, point: Vec3) -> str:
        """Return "" if a point [m] is allowed, else why not."""
        return next((one.text for one in self.breaches(point)), "")

    def step_trouble(self, here: Vec3, there: Vec3) -> str:
        """Return why a robot must not go on from a point [m] to one beside it; "": it may.

        Of the limits that it breaks already, it has to come nearer to where they are kept.
        """
        before = {one.where: one.away for one in self.breaches(here)}
        return next(
            (o.text for o in self.breaches(there) if not o.away < before.get(o.where, 0.0)), ""
        )

    def path_trouble(self, points: Sequence[Vec3]) -> str:
        """Return "" if a path over these points [m] is allowed, else where and why it is not.

        A path that begins where the robot must not be may lead out of there: see `Leaving`.
        """
        for why in self.unknown.values():
            return why
        if not self._rules:
            return ""
        dense = _dense(points)
        broken = np.stack([rule.broken(dense) for rule in self._rules])
        any_broken: Mask = broken.max(axis=0)
        leaving, k = Leaving(), 0
        for k in range(len(dense)):
            why = leaving.trouble(*self._found(dense, broken, k))
            if why:
                return why
            if not leaving.open:
                break
        else:  # it never gets out
            return self._found(dense, broken, 0)[1][0].text
        bad = np.flatnonzero(any_broken[k:])
        return self._found(dense, broken, k + int(bad[0]))[1][0].text if len(bad) else ""

    def _found(self, dense: Points, broken: Mask, k: int) -> tuple[Vec3, list[Breach]]:
        """Return a point of a path, and what it breaks."""
        x, y, z = dense[k].tolist()
        rules = [self._rules[int(j)] for j in np.flatnonzero(broken[:, k])]
        return (x, y, z), [rule.breach((x, y, z), " on the path") for rule in rules]


def ends_trouble(points: Sequence[Vec3], start: Vec3 | None, goal: Vec3 | None) -> str:
    """Return why points [m] are no path between two positions; "": they are one.

    Args:
        points: Points of the planned path [m].
        start: Position of the robot; None: not known.
        goal: Position that it is to go to; None: not known.
    """
    if len(points) < (1 if start is not None else 2):
        count = "one point" if points else "no points"
        return f"the path has {count}, so that nobody knows which way the robot would take"
    for end, one, name, verb in ((points[0], start, "robot", "begins"),
                                 (points[-1], goal, "goal", "ends")):  # fmt: skip
        if one is not None and not (off := math.dist(end[:2], one[:2])) <= _END_RADIUS_M:
            return (
                f"the path {verb} at {at(end)}, {off:.2f} m from the {name} at {at(one)} (at most "
                f"{_END_RADIUS_M:g} m), so that nobody knows which way the robot would take"
            )
    if not np.isfinite(points).all():
        return "the path has a point that is none, so that nobody knows which way it leads"
    return ""


def rooms_called(scene: SceneGraph, name: str) -> list[Room]:
    """Return the rooms that a name means: one by name or id, else all of that kind."""
    said = name.strip().lower()
    exact = [r for r in scene.rooms.values() if said in (r.name.lower(), r.id.lower())]
    return exact or [r for r in scene.rooms.values() if r.type.lower() == said]


def _rooms_meant(scene: SceneGraph, name: str) -> list[Room]:
    """Return all rooms that a name may mean, by name, id and kind.

    A room that somebody calls "bedroom" must not open the other bedrooms.
    """
    said = name.strip().lower()
    return [
        r for r in scene.rooms.values() if said in (r.name.lower(), r.id.lower(), r.type.lower())
    ]


def _heights(scene: SceneGraph, floor: str) -> tuple[float, float]:
    storey = scene.floors[floor]
    return storey.elevation, storey.elevation + storey.ceiling_height


def _storey(scene: SceneGraph, floor: str) -> tuple[float, float] | None:
    """Return the heights [m] that belong to a storey; None: the map does not know it, so all.

    Storeys leave no gap: what lies below the lowest belongs to that one, and what lies above the
    highest likewise. So a robot whose pose has no height is on the lowest that the map knows.
    """
    if floor not in scene.floors:
        return None
    low, high = _heights(scene, floor)
    others = [other.elevation for other in scene.floors.values()]
    above = min((one for one in others if one > low), default=_MAX_HEIGHT_M)
    return (
        low - _FLOOR_MARGIN_M if min(others) < low else -_MAX_HEIGHT_M,
        max(high, above - _FLOOR_MARGIN_M),
    )


def _prepared(shapes: Sequence[shapely.Geometry]) -> shapely.Geometry:
    shape = shapely.union_all(shapes)
    shapely.prepare(shape)
    return shape


def _meets(shape: shapely.Geometry | None, zone: _Zone) -> bool:
    """Whether a room's outline now is where its zone was; else it is another room of that id."""
    return shape is not None and zone.shape is not None and bool(shape.intersects(zone.shape))


def _grown(shape: shapely.Geometry) -> shapely.Geometry:
    return _prepared([shape.buffer(_PATH_STEP_M / 2.0, join_style="mitre")])


def _dense(points: Sequence[Vec3]) -> Points:
    """Return a path's points with further ones between them, at most `_PATH_STEP_M` apart."""
    pieces = [np.array(points[:1], dtype=float)]
    for a, b in itertools.pairwise(points):
        count = max(math.ceil(math.dist(a, b) / _PATH_STEP_M), 1)
        share = np.arange(1, count + 1)[:, None] / count
        pieces.append(np.array(a) + share * (np.array(b) - np.array(a)))
    return np.concatenate(pieces)
