"""Where a scene graph leaves room to stand: rooms, walls, furniture and doors on rasters, 5 cm."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import shapely
from scipy import ndimage

from coterie_core.geometry import Box, Vec2, Vec3
from coterie_execution.geometry.body import Frame
from coterie_world.scene import Connection, Floor, Room, SceneGraph

CELL = 0.05
"""Edge of a raster cell [m]."""
ANY_WIDTH = 10.0
"""Clear width of ways that nobody has measured, and of those wider than matters [m]."""
HALF_WALL = 0.05
"""Room outlines lie on the middle of walls so thick [m] on either side."""
_BORDER = 0.3  # [m] of raster around the rooms
_DOORWAY = 0.4  # [m] across a wall up to which a door's frame decides how much room there is
_FLIGHT_END = 0.45  # [m] from where one stands before stairs to the first tread
_LARGEST = 4_000_000  # cells of one floor's raster

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Doorway:
    """A way between two rooms of one floor: middle [m], direction of its wall [rad], widths [m]."""

    connection: Connection
    floor: int
    yaw: float
    depth: float


@dataclass(frozen=True, slots=True)
class Flight:
    """Stairs between two floors: where one stands before and after them [m]."""

    connection: Connection
    bottom: Vec3
    top: Vec3


@dataclass(frozen=True, slots=True)
class Driven:
    """Floor that is known to be free, since a robot has driven there.

    Attributes:
        ways: Straight pieces, from where to where [m].
        radius: Of the robot's footprint [m].
    """

    ways: tuple[tuple[Vec3, Vec3], ...] = ()
    radius: float = 0.0


@dataclass(slots=True)
class _Layer:
    rows: slice
    cols: slice
    mask: Mask
    low: float
    high: float
    seen: bool = False  # furniture that robots saw, whose box is rough

    def has(self, row: int, col: int) -> bool:
        inside = self.rows.start <= row < self.rows.stop and self.cols.start <= col < self.cols.stop
        return inside and bool(self.mask[row - self.rows.start, col - self.cols.start])


@dataclass(slots=True)
class _Storey:
    rooms: npt.NDArray[np.int16]  # index of the room a cell lies in, -1 outside
    furniture: list[_Layer]
    walls: list[_Layer]


class FloorPlan:
    """Rasters of a scene's floors, shared by all bodies.

    Cell (row, col) has its centre at `origin + ((col + 0.5) CELL, (row + 0.5) CELL)`. Rooms without
    an outline are not in it; what knows of them goes by places alone.

    Args:
        scene: What is known of the house; rooms' outlines, doors, stairs and furniture count.
        driven: Where a robot has driven: boxes of furniture that was seen only do not count there.

    Raises:
        ValueError: The rooms span an area that no raster can hold: positions are not in metres.
    """

    def __init__(self, scene: SceneGraph, driven: Driven | None = None) -> None:
        self.driven = driven or Driven()
        self.floors = floors_of(scene)
        self._elevations = np.array([floor.elevation for floor in self.floors])
        self.rooms = list(scene.rooms.values())
        self.room_number = {room.id: k for k, room in enumerate(self.rooms)}
        outlined = [room for room in self.rooms if len(room.polygon) >= 3]
        points = [p for room in outlined for p in room.polygon] or [(0.0, 0.0)]
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        self.origin: Vec2 = (min(xs) - _BORDER, min(ys) - _BORDER)
        height = math.ceil((max(ys) + _BORDER - self.origin[1]) / CELL)
        width = math.ceil((max(xs) + _BORDER - self.origin[0]) / CELL)
        if height * width > _LARGEST:
            raise ValueError(
                f"the rooms of this scene span {width * CELL:.0f} x {height * CELL:.0f} m; "
                f"expected a house in meters of at most {_LARGEST * CELL * CELL:.0f} m2 a floor"
            )
        self.shape = (height, width)
        self.outlined = {self.floor_of(room, scene) for room in outlined}
        self._room_floor = {room.id: self.floor_of(room, scene) for room in self.rooms}
        self.doors: list[Doorway] = []
        self.flights: list[Flight] = []
        for way in scene.connections.values():
            low, high = self._room_floor.get(way.room_a, 0), self._room_floor.get(way.room_b, 0)
            if way.kind == "stairs" or low != high:
                self.flights.append(self._flight(scene, way, low, high))
            else:
                self.doors.append(self._doorway(scene, way, low))
        self.rough = any(
            t.last_seen is not None and t.kind != "item" for t in scene.objects.values()
        )
        self._storeys = [self._storey(k, scene) for k in range(len(self.floors))]
        self._clearance: dict[tuple[Frame, int], npt.NDArray[np.float32]] = {}
        self._bare: FloorPlan | None = None

    def without_seen(self) -> FloorPlan:
        """Return the same where furniture that robots saw, in rough boxes, hinders nobody."""
        if self._bare is None:
            self._bare = copy.copy(self)
            self._bare.rough, self._bare._clearance = False, {}
        return self._bare

    def closes(self, ways: Sequence[tuple[Vec3, Vec3]]) -> bool:
        """Whether furniture that was seen stands where straight pieces of a way lead [m]."""
        for (ax, ay, z), (bx, by, _) in ways if self.rough else ():
            seen = [one for one in self._storeys[self.floor_index(z)].furniture if one.seen]
            for share in np.linspace(0.0, 1.0, int(math.dist((ax, ay), (bx, by)) / CELL) + 2):
                at = self.cell(ax + share * (bx - ax), ay + share * (by - ay))
                if any(layer.has(*at) for layer in seen):
                    return True
        return False

    def floor_index(self, z: float) -> int:
        """Return the index of the floor whose storey contains height `z` [m]."""
        return max(0, int(np.searchsorted(self._elevations, z + 0.3, side="right")) - 1)

    def elevation(self, floor: int) -> float:
        """Height of a floor's walking surface [m]."""
        return float(self._elevations[floor])

    def floor_of(self, room: Room, scene: SceneGraph) -> int:
        """Return the index of a room's floor; of its places where the room does not say."""
        for k, floor in enumerate(self.floors):
            if floor.id == room.floor:
                return k
        heights = [p.position[2] for p in scene.places.values() if p.room == room.id]
        return self.floor_index(min(heights)) if heights else 0

    def room_floor(self, room: str) -> int:
        """Return the index of the floor of a room (0 for an unknown one)."""
        return self._room_floor.get(room, 0)

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Return the cell of a point [m], clipped to the raster."""
        row = math.floor((y - self.origin[1]) / CELL)
        col = math.floor((x - self.origin[0]) / CELL)
        return min(max(row, 0), self.shape[0] - 1), min(max(col, 0), self.shape[1] - 1)

    def room_raster(self, floor: int) -> npt.NDArray[np.int16]:
        """Return the index of the room per cell, -1 outside."""
        return self._storeys[floor].rooms

    def room_at(self, point: Vec3) -> str:
        """Return the id of the room a point [m] lies in ("" outside of all outlines)."""
        row, col = self.cell(point[0], point[1])
        index = int(self._storeys[self.floor_index(point[2])].rooms[row, col])
        return self.rooms[index].id if index >= 0 else ""

    def numbers_at(self, floor: int, x: Floats, y: Floats) -> npt.NDArray[np.int16]:
        """Return the indices of the rooms that points (n,) [m] of a floor lie in, -1 outside."""
        rows = ((y - self.origin[1]) / CELL).astype(np.intp).clip(0, self.shape[0] - 1)
        cols = ((x - self.origin[0]) / CELL).astype(np.intp).clip(0, self.shape[1] - 1)
        out: npt.NDArray[np.int16] = self._storeys[floor].rooms[rows, cols]
        return out

    def clearance(self, frame: Frame, floor: int) -> npt.NDArray[np.float32]:
        """Return the distance [m] of every cell to the nearest thing that hinders a body."""
        key = (frame, floor)
        if key not in self._clearance:
            self._clearance[key] = self._distances(frame, floor)
        return self._clearance[key]

    def _distances(self, frame: Frame, floor: int) -> npt.NDArray[np.float32]:
        storey = self._storeys[floor]
        free = storey.rooms >= 0
        ways = [door for door in self.doors if door.floor == floor]
        passable = [door for door in ways if not frame.door_trouble("", door.connection.width)]
        gaps = [self._polygon(_gap(door, door.depth).footprint()) for door in passable]
        for gap in gaps:
            free[gap.rows, gap.cols] |= gap.mask
        for layer in storey.furniture:
            counts = self.rough or not layer.seen
            if layer.low < frame.high and layer.high > frame.low and counts:
                free[layer.rows, layer.cols] &= ~layer.mask
        unwalled = _edt(free)
        for layer in storey.walls:
            if layer.low < frame.high and layer.high > frame.low:
                free[layer.rows, layer.cols] &= ~layer.mask
        for gap in gaps:  # doorways in the walls, except where furniture stands in them
            free[gap.rows, gap.cols] |= gap.mask & (unwalled[gap.rows, gap.cols] > 0.0)
        standing = _edt(free)
        for door in passable:
            self._widen(standing, unwalled, door)
        return standing

    def _widen(
        self, out: npt.NDArray[np.float32], unwalled: npt.NDArray[np.float32], door: Doorway
    ) -> None:
        """Give cells in a doorway their exact distance to its frame: the raster is too coarse."""
        way = door.connection
        layer = self._polygon(_gap(door, max(_DOORWAY, door.depth)).footprint())
        rows, cols = np.nonzero(layer.mask)
        rows, cols = rows + layer.rows.start, cols + layer.cols.start
        xs = self.origin[0] + (cols + 0.5) * CELL - way.position[0]
        ys = self.origin[1] + (rows + 0.5) * CELL - way.position[1]
        along = np.abs(xs * math.cos(door.yaw) + ys * math.sin(door.yaw))
        frame = np.minimum(way.width / 2.0 - along, unwalled[rows, cols])
        out[rows, cols] = np.maximum(out[rows, cols], frame)

    def _doorway(self, scene: SceneGraph, way: Connection, floor: int) -> Doorway:
        """Return a door with the direction of the nearest piece of wall."""
        x, y, _ = way.position
        best, yaw, depth = math.inf, 0.0, 0.15
        for room in (scene.rooms.get(way.room_a), scene.rooms.get(way.room_b)):
            if room is None or len(room.polygon) < 3:
                continue
            near = math.inf
            for p, q in itertools.pairwise([*room.polygon, room.polygon[0]]):
                away = shapely.LineString([p, q]).distance(shapely.Point(x, y))
                near = min(near, away)
                if away < best - 1e-6 and math.dist(p, q) > 1e-6:
                    best, yaw = away, math.atan2(q[1] - p[1], q[0] - p[0])
            depth = max(depth, min(near + 0.1, 1.0))
        return Doorway(way, floor, yaw, depth)

    def _flight(self, scene: SceneGraph, way: Connection, low: int, high: int) -> Flight:
        """Return stairs with their other end, which the link of places across floors tells."""
        low, high = min(low, high), max(low, high)
        pairs = (
            (scene.places[a].position, scene.places[b].position)
            for a, links in scene.links.items()
            for b in links
        )
        between = (
            (p, q)
            for p, q in pairs
            if self.floor_index(p[2]) == low and self.floor_index(q[2]) == high
        )
        x, y, _ = way.position
        none = ((x, y, self.elevation(low)), (x, y, self.elevation(high)))
        nearest = min(
            between, key=lambda ends: min(math.dist(p, way.position) for p in ends), default=none
        )
        return Flight(way, *nearest)

    def _storey(self, floor: int, scene: SceneGraph) -> _Storey:
        rooms = np.full(self.shape, -1, dtype=np.int16)
        walls: list[_Layer] = []
        for index, room in enumerate(self.rooms):
            if self._room_floor[room.id] != floor or len(room.polygon) < 3:
                continue
            layer = self._polygon(room.polygon)
            rooms[layer.rows, layer.cols][layer.mask] = index
            for p, q in itertools.pairwise([*room.polygon, room.polygon[0]]):
                if math.dist(p, q) > 1e-6:
                    middle = ((p[0] + q[0]) / 2.0, (p[1] + q[1]) / 2.0, 0.0)
                    yaw = math.atan2(q[1] - p[1], q[0] - p[0])
                    size = (math.dist(p, q), 2.0 * max(HALF_WALL, CELL), 0.0)
                    walls.append(self._polygon(Box(middle, size, yaw).footprint()))
        furniture = []
        base = self.elevation(floor)
        driven = self._known_free(floor, scene)
        for thing in scene.objects.values():
            if thing.kind == "item" or thing.box.volume <= 0.0:
                continue
            if self.floor_index(thing.box.bottom) == floor:
                low, high = thing.box.bottom - base, thing.box.top - base
                layer = self._polygon(thing.box.footprint(), low, high)
                if thing.last_seen is not None:
                    layer.seen = True
                    layer.mask = layer.mask & ~driven[layer.rows, layer.cols]
                furniture.append(layer)
        for flight in self.flights:
            if floor in (self.floor_index(flight.bottom[2]), self.floor_index(flight.top[2])):
                outline = flight_outline(flight)
                if outline is not None:
                    furniture.append(self._polygon(outline, -9.9, 9.9))
        return _Storey(rooms, furniture, walls)

    def _known_free(self, floor: int, scene: SceneGraph) -> Mask:
        """Return the cells of a floor that are free: a robot drove there, or its grid tells.

        Grids tell by the clear widths of ways between places. Boxes of furniture that a detector
        saw are rough, and close narrow ways that robots drive.
        """
        out = np.zeros(self.shape, dtype=bool)
        for a, b in self.driven.ways:
            if self.floor_index(a[2]) == floor:
                self._free_along(out, a, b, self.driven.radius + CELL)
        for link in (link for near in scene.links.values() for link in near.values()):
            a, b = scene.places[link.a].position, scene.places[link.b].position
            floors = {self.floor_index(a[2]), self.floor_index(b[2])}
            if link.width >= ANY_WIDTH or floors != {floor}:
                continue
            reach = link.width / 2.0 + CELL
            straight = link.length <= math.dist(a, b) + CELL
            for p, q in ((a, b),) if straight else ((a, a), (b, b)):
                self._free_along(out, p, q, reach)
        return out

    def _free_along(self, free: Mask, a: Vec3, b: Vec3, reach: float) -> None:
        """Mark the cells not farther than `reach` [m] from a straight piece of a way [m]."""
        low, high = np.minimum(a[:2], b[:2]) - reach, np.maximum(a[:2], b[:2]) + reach
        r0, c0 = self.cell(*low)
        r1, c1 = self.cell(*high)
        x = self.origin[0] + (np.arange(c0, c1 + 1) + 0.5) * CELL - a[0]
        y = self.origin[1] + (np.arange(r0, r1 + 1)[:, None] + 0.5) * CELL - a[1]
        dx, dy = b[0] - a[0], b[1] - a[1]
        along = np.clip((x * dx + y * dy) / max(dx * dx + dy * dy, 1e-12), 0.0, 1.0)
        near = np.hypot(x - along * dx, y - along * dy) <= reach
        free[r0 : r1 + 1, c0 : c1 + 1] |= near

    def _polygon(
        self, corners: tuple[Vec2, ...] | list[Vec2], low: float = -9.9, high: float = 9.9
    ) -> _Layer:
        """Return the cells whose center lies within a polygon (x, y) [m]."""
        xs, ys = zip(*corners, strict=True)
        first, last = self.cell(min(xs), min(ys)), self.cell(max(xs), max(ys))
        mask = _inside(tuple(corners), self.origin, first, last)
        rows, cols = slice(first[0], last[0] + 1), slice(first[1], last[1] + 1)
        return _Layer(rows, cols, mask, low, high)


@lru_cache(maxsize=4096)  # a house's walls stay, whatever a robot sees
def _inside(
    corners: tuple[Vec2, ...], origin: Vec2, first: tuple[int, int], last: tuple[int, int]
) -> Mask:
    """Return which cells from `first` to `last` (row, column) lie within a polygon; read-only."""
    gx = origin[0] + (np.arange(first[1], last[1] + 1) + 0.5) * CELL
    gy = origin[1] + (np.arange(first[0], last[0] + 1) + 0.5) * CELL
    x, y = np.meshgrid(gx, gy)
    mask: Mask = shapely.contains_xy(shapely.Polygon(corners), x.ravel(), y.ravel())
    mask = mask.reshape(x.shape)
    mask.flags.writeable = False
    return mask


def floors_of(scene: SceneGraph) -> list[Floor]:
    """Return the floors from the lowest up; made from places' heights where there are none."""
    if scene.floors:
        return sorted(scene.floors.values(), key=lambda f: (f.elevation, f.id))
    heights = sorted({round(place.position[2], 1) for place in scene.places.values()})
    levels: list[float] = []
    for z in heights:
        if not levels or z - levels[-1] > 1.5:
            levels.append(z)
    return [Floor(f"level-{k}", k, z) for k, z in enumerate(levels or [0.0])]


def flight_outline(flight: Flight) -> tuple[Vec2, ...] | None:
    """Return the rectangle (x, y) [m] that treads and well take; None where it is not known."""
    (ax, ay, _), (bx, by, _) = flight.bottom, flight.top
    length = math.hypot(bx - ax, by - ay)
    if length < 2.5 * _FLIGHT_END:
        return None
    middle = ((ax + bx) / 2.0, (ay + by) / 2.0, 0.0)
    size = (length - 2.0 * _FLIGHT_END, flight.connection.width, 0.0)
    return Box(middle, size, math.atan2(by - ay, bx - ax)).footprint()


def _gap(door: Doorway, depth: float) -> Box:
    way = door.connection
    return Box(way.position, (way.width, 2.0 * depth, 0.0), door.yaw)


def _edt(free: Mask) -> npt.NDArray[np.float32]:
    """Distance [m] of every free cell to the nearest one that is not."""
    out: npt.NDArray[np.float32] = ndimage.distance_transform_edt(free).astype(np.float32)
    out *= CELL
    return out
