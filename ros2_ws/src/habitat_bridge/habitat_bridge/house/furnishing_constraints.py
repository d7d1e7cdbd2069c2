"""The free space of one room while it is being furnished: what is taken, what must stay free."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import shapely
from shapely.geometry import Polygon
from shapely.geometry import box as rectangle

from coterie_core.geometry import Box, Vec2
from coterie_world.scene import Room
from habitat_bridge.house.house import Door, House

HALF_WALL = 0.05
GAP = 0.01
# A robot of this radius [m] gets from every door to every other and near the room's middle.
RADIUS = 0.3
DOOR_DEPTH = 0.75
# Lower things are stepped on or driven over; things that hang higher are walked under.
FLAT = 0.03
OVERHEAD = 1.95

Span = tuple[float, float, float, float, float, float]  # x0, y0, z0, x1, y1, z1


@dataclass(frozen=True, slots=True)
class Edge:
    """A straight piece of a room's inner wall face: from `start`, `along` it, `normal` inward."""

    start: Vec2
    along: Vec2
    normal: Vec2
    length: float
    outer: bool

    @property
    def yaw(self) -> float:
        """Yaw [rad] of a thing with its back to this wall."""
        return math.atan2(self.normal[1], self.normal[0])

    def point(self, at: float, away: float) -> Vec2:
        """Return the point [m] at a distance along the wall and one away from it."""
        return (
            self.start[0] + self.along[0] * at + self.normal[0] * away,
            self.start[1] + self.along[1] * at + self.normal[1] * away,
        )


@dataclass(slots=True)
class RoomSpace:
    """Bookkeeping of one room. Furniture stands at right angles: footprints are axis-aligned."""

    room: Room
    floor_z: float
    ceiling: float
    polygon: Polygon
    inner: Polygon
    edges: list[Edge]
    doors: list[Vec2]
    taken: list[Span] = field(default_factory=list)
    keep_free: list[Span] = field(default_factory=list)
    keep_clear: list[Span] = field(default_factory=list)
    walk: Polygon = field(default_factory=Polygon)
    blocked: list[Span] = field(default_factory=list)
    outdoors: bool = False

    def fits(self, box: Box, *, floor_standing: bool = True, gap: float = GAP) -> bool:
        """Whether the box lies inside the room and touches nothing that is there."""
        span = span_of(box)
        grown = (span[0] - gap, span[1] - gap, span[2], span[3] + gap, span[4] + gap, span[5])
        if any(overlap(grown, other) for other in self.taken):
            return False
        if any(overlap(span, other) for other in self.keep_clear):
            return False
        if floor_standing and any(overlap(span, other) for other in self.keep_free):
            return False
        return self.inside(span)  # last: it takes longest

    def leaves_way(self, boxes: Iterable[Box]) -> bool:
        """Whether all doors and the room's middle stay joined for a robot of `RADIUS`."""
        added = [span_of(b) for b in boxes if hinders(b, self.floor_z)]
        return not added or ways_joined(self, self.blocked + added)

    def take(self, box: Box) -> None:
        """Note that a thing is there."""
        self.taken.append(span_of(box))
        if hinders(box, self.floor_z):
            self.blocked.append(span_of(box))

    def inside(self, span: Span) -> bool:
        """Whether the extent lies between the room's walls."""
        low_x, low_y, high_x, high_y = self.inner.bounds
        if span[0] < low_x or span[1] < low_y or span[3] > high_x or span[4] > high_y:
            return False
        shapely.prepare(self.inner)  # once; later calls find it done
        return bool(self.inner.covers(rectangle(span[0], span[1], span[3], span[4])))


def hinders(box: Box, floor_z: float) -> bool:
    """Whether a thing is in the way of who walks: not flat, not overhead, not flat on a wall."""
    if box.top - floor_z <= FLAT or box.bottom - floor_z >= OVERHEAD:
        return False
    return not (box.bottom - floor_z > 0.1 and min(box.size[:2]) < 0.15)


def ways_joined(space: RoomSpace, blocked: Sequence[Span]) -> bool:
    """Whether what is left to walk on joins all doors and comes near the room's middle."""
    left = space.walk
    if blocked:
        r = RADIUS
        grown = shapely.box(
            [b[0] - r for b in blocked],
            [b[1] - r for b in blocked],
            [b[3] + r for b in blocked],
            [b[4] + r for b in blocked],
        )
        left = left.difference(shapely.union_all(grown))
    parts = list(getattr(left, "geoms", [left]))
    middle = middle_of(space.polygon)
    near = middle_reach(space.polygon)
    for part in parts:
        if part.is_empty or part.distance(middle) > near:
            continue
        if all(part.distance(shapely.Point(p)) < 0.12 for p in space.doors):
            return True
    return False


def middle_of(polygon: Polygon) -> shapely.Point:
    """Return the point that stands for the middle of a room."""
    centroid = polygon.centroid
    return centroid if polygon.contains(centroid) else polygon.representative_point()


def middle_reach(polygon: Polygon) -> float:
    """Return how near the middle one must get [m]; a table may stand on the middle itself."""
    return float(max(0.5, 0.25 * math.sqrt(polygon.area)))


def span_of(box: Box) -> Span:
    """Return the axis-aligned extent of a box."""
    (x0, y0, z0), (x1, y1, z1) = box.axis_aligned()
    return (x0, y0, z0, x1, y1, z1)


def overlap(a: Span, b: Span, slack: float = 1e-6) -> bool:
    """Whether two extents share more than a face."""
    return (
        a[0] < b[3] - slack
        and b[0] < a[3] - slack
        and a[1] < b[4] - slack
        and b[1] < a[4] - slack
        and a[2] < b[5] - slack
        and b[2] < a[5] - slack
    )


def open_space(house: House, room: Room, others: Sequence[Polygon]) -> RoomSpace:
    """Return the empty room; `others` are the outlines of the other rooms on its floor."""
    floor = next(f for f in house.floors if f.id == room.floor)
    polygon = Polygon(room.polygon)
    inner = polygon.buffer(-HALF_WALL, join_style="mitre")
    neighbours = shapely.union_all([o.buffer(0.02, join_style="mitre") for o in others])
    space = RoomSpace(
        room=room,
        floor_z=floor.elevation,
        ceiling=floor.elevation + floor.ceiling_height,
        polygon=polygon,
        inner=inner,
        edges=[*_edges(inner, neighbours)],
        doors=[],
        outdoors=room.type == "balcony",
    )
    shapely.prepare(space.inner)
    space.walk = polygon.buffer(-HALF_WALL - RADIUS, join_style="mitre")
    z0, z1 = space.floor_z, space.floor_z + 2.2
    for door in house.doors:
        if room.id in (door.room_a, door.room_b):
            _keep_door(space, door)
    for stairs in house.stairs:
        if room.id not in (stairs.room_low, stairs.room_high):
            continue
        x0, y0 = min(p[0] for p in stairs.well), min(p[1] for p in stairs.well)
        x1, y1 = max(p[0] for p in stairs.well), max(p[1] for p in stairs.well)
        # Nothing stands on, before, behind or beside a flight; nothing hangs above its treads.
        reach = 1.2
        space.keep_free.append((x0 - reach, y0 - reach, z0, x1 + reach, y1 + reach, z1))
        near = 0.15
        space.keep_clear.append((x0 - near, y0 - near, z0, x1 + near, y1 + near, z1 + 2.0))
        space.blocked.append((x0, y0, z0, x1, y1, z1))
        here = stairs.bottom if room.id == stairs.room_low else stairs.top
        space.doors.append(here[:2])
    return space


def _edges(inner: Polygon, neighbours: Polygon) -> Iterable[Edge]:
    points = list(shapely.geometry.polygon.orient(inner, 1.0).exterior.coords)
    for p, q in itertools.pairwise(points):
        length = math.dist(p, q)
        if length < 0.05:
            continue
        along = ((q[0] - p[0]) / length, (q[1] - p[1]) / length)
        normal = (-along[1], along[0])
        behind = shapely.LineString(
            [
                (p[0] - normal[0] * 0.1, p[1] - normal[1] * 0.1),
                (q[0] - normal[0] * 0.1, q[1] - normal[1] * 0.1),
            ]
        )
        yield Edge(p, along, normal, length, not behind.intersects(neighbours))


def _keep_door(space: RoomSpace, door: Door) -> None:
    """Keep both the gap and the floor before it free; note where one stands inside the door."""
    upright = abs(math.sin(door.yaw)) > 0.5
    half, deep = door.width / 2.0 + 0.05, DOOR_DEPTH
    x, y, z = door.center
    hx, hy = (deep, half) if upright else (half, deep)
    space.keep_free.append((x - hx, y - hy, z, x + hx, y + hy, z + 2.1))
    cx, cy = (0.2, half) if upright else (half, 0.2)
    space.keep_clear.append((x - cx, y - cy, z, x + cx, y + cy, z + 2.15))
    away = HALF_WALL + RADIUS
    steps = ((away, 0.0), (-away, 0.0)) if upright else ((0.0, away), (0.0, -away))
    for dx, dy in steps:
        if space.polygon.contains(shapely.Point(x + dx, y + dy)):
            space.doors.append((x + dx, y + dy))
