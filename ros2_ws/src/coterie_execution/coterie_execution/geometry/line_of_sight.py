"""Lines of sight in a scene graph: what furniture and walls hide from an eye."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Box, Vec3
from coterie_execution.geometry.body import DOOR_HEIGHT
from coterie_execution.geometry.floorplan import FloorPlan
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.surfaces import HOLLOW_SIDE, hollow_bottom

Floats = npt.NDArray[np.float64]
_ROUGH = 0.15
"""Boxes of furniture that robots only saw may be so much too large on each side [m]."""
_SHRINK = 0.002  # [m] that boxes are taken smaller, so that what touches them is not hidden
_THIN = 0.15  # [m] of the part of a wall that counts as its middle, across
_BOARD = 0.02  # [m] that boards of shelves are thick
_TABLE_TOP = 0.08  # [m] that the board of a table and its frame are thick
_FLUSH = 0.015  # [m] from the side of a box within which a surface reaches it
_WIDE, _TALL = 0.25, 0.3  # share of its size that a thing's points lie off its middle
_ON_FLOOR = 0.1  # [m] off a floor at which a thing was seen that stands on it
_DEEP = 0.1  # [m] that a surface lies below the top of its box if there is room above it


class _Room(NamedTuple):
    """Free room in a thing, in its frame: corners, and where its faces are while it is open."""

    low: Floats
    high: Floats
    front: tuple[Floats, Floats]


class Sightlines:
    """The things and walls of a scene that lines of sight can meet.

    Things are solid boxes, tables are boards; all but for the room above their surfaces: a seat, a
    basin, a mattress, a shelf. Where a thing looked at lies on such a surface, the line of sight
    has to come in there: from above if nothing is above it, and where the surface reaches the side
    of the box; into what can be opened, by its front (where its box looks along x, or else where
    there is room). An item that rests on nothing known is in a hand or a mistake; it hides nothing,
    but for baskets and bins on the floor.

    Args:
        scene: The scene.
        plan: Rasters of it.
        walls: Those of the same plan, if they are known.
    """

    def __init__(self, scene: SceneGraph, plan: FloorPlan, walls: list[Floats] | None = None):
        things = [
            thing
            for thing in scene.objects.values()
            if thing.box.volume > 0.0
            and (thing.kind != "item" or thing.support or thing.container or _stands(thing, plan))
        ]
        self._things = things
        self._row = {thing.id: k for k, thing in enumerate(things)}
        size = np.array([thing.box.size for thing in things]).reshape(-1, 3)
        self._center = np.array([thing.box.center for thing in things]).reshape(-1, 3)
        self._half = np.maximum(size / 2.0 - np.minimum(_SHRINK, 0.05 * size), 1e-4)
        for k, thing in enumerate(things):
            low = any(thing.box.top - r.surface.center[2] > 0.05 for r in thing.told_surfaces)
            if "table" in thing.label.top and thing.box.size[2] > 2.0 * _TABLE_TOP and not low:
                # One looks through below its top: its legs hide next to nothing.
                self._center[k, 2] = thing.box.top - _TABLE_TOP / 2.0
                self._half[k, 2] = _TABLE_TOP / 2.0
        self._yaw = np.array([thing.box.yaw for thing in things])
        self._spread = np.hypot(self._half[:, 0], self._half[:, 1])
        self._plan = plan
        self._low = np.zeros((len(things), 3))
        self._high = np.full((len(things), 3), -1.0)
        for k, thing in enumerate(things):
            if thing.told_surfaces:
                self._low[k], self._high[k] = self._room_above(thing)
        self._forgiving: Sightlines | None = None
        self.walls = walls or [_walls_of(scene, plan, k) for k in range(len(plan.floors))]

    def forgiving(self) -> Sightlines:
        """Return the same where furniture that robots only saw is smaller than its rough boxes.

        What a robot has seen is in view from somewhere, whatever its neighbours' boxes say.
        """
        if self._forgiving is None:
            items = (t.last_seen is not None and t.kind != "item" for t in self._things)
            seen = np.fromiter(items, dtype=bool)
            out = copy.copy(self)
            out._half = self._half.copy()
            out._half[seen, :2] = np.maximum(self._half[seen, :2] - _ROUGH, 1e-4)
            self._forgiving = out
        return self._forgiving

    def clear(
        self,
        eyes: Floats,
        points: Floats,
        floor: int,
        ignored_ids: Collection[str] = (),
        own: str = "",
    ) -> npt.NDArray[np.bool_]:
        """Tell which points can be seen from which eyes.

        Args:
            eyes: (n, 3) [m].
            points: (m, 3) [m], the first is the middle of the thing.
            floor: Index of the floor of both.
            ignored_ids: Ids of the thing itself, and of what it is in.
            own: Id of the thing itself.

        Returns:
            (n, m), true where nothing is in between.
        """
        n, m = len(eyes), len(points)
        start = np.repeat(eyes, m, axis=0)
        end = np.tile(points, (n, 1))
        hidden = self._by_walls(start, end, floor)
        low = np.minimum(eyes.min(axis=0), points.min(axis=0))
        high = np.maximum(eyes.max(axis=0), points.max(axis=0))
        reach = np.column_stack([self._spread, self._spread, self._half[:, 2]])
        near = ((self._center + reach > low) & (self._center - reach < high)).all(axis=1)
        middle = (float(points[0, 0]), float(points[0, 1]), float(points[0, 2]))
        rooms: dict[int, _Room] = {}
        for name in ignored_ids:
            row = self._row.get(name, -1)
            if row < 0:
                continue
            room = None if name == own else self._room_around(self._things[row], middle)
            near[row] = room is not None
            if room is not None:
                rooms[row] = room
        rows = np.flatnonzero(near)
        lines = np.flatnonzero(~hidden)
        if len(rows) and len(lines):
            first, last = self._low[rows], self._high[rows]
            face_low, face_high = -self._half[rows], self._half[rows]
            for k, number in enumerate(rows.tolist()):
                if number in rooms:
                    first[k], last[k] = rooms[number].low, rooms[number].high
                    face_low[k] = np.maximum(face_low[k], rooms[number].front[0])
                    face_high[k] = np.minimum(face_high[k], rooms[number].front[1])
            hidden[lines] = _by_boxes(
                start[lines],
                end[lines],
                self._center[rows],
                (face_low, face_high),
                self._yaw[rows],
                (first, last),
            )
        return ~hidden.reshape(n, m)

    def _room_above(self, thing: SceneObject) -> tuple[Floats, Floats]:
        """Return low and high corner of the room above a thing's one open surface, in its frame.

        Without such a surface, corners that hold nothing.
        """
        surfaces = [r.surface for r in thing.told_surfaces if not r.inside]
        nothing = np.zeros(3), np.full(3, -1.0)
        if len(surfaces) != len(thing.told_surfaces):
            return nothing
        lowest = min(surfaces, key=lambda s: s.center[2])
        if thing.box.top - lowest.center[2] < _DEEP or any(
            _over(thing.box, lowest, other) for other in surfaces if other is not lowest
        ):
            return nothing
        room = self._room(thing, lowest, math.inf, False)
        return room.low, room.high

    def _room_around(self, thing: SceneObject, point: Vec3) -> _Room | None:
        """Return the room in a thing that a point lies in, or None if it is not over a surface."""
        below = [
            r
            for r in thing.told_surfaces
            if r.surface.center[2] < point[2] + 0.01
            and Box(
                (*r.surface.center[:2], point[2]), (*r.surface.size[:2], 0.0), r.surface.yaw
            ).contains(point, 0.03)
        ]
        if not below:
            return None if thing.told_surfaces else _hollow(thing)
        own = max(below, key=lambda r: r.surface.center[2])
        above = [
            r.surface.center[2] - _BOARD
            for r in thing.told_surfaces
            if r is not own and _over(thing.box, own.surface, r.surface)
        ]
        top = min(above, default=thing.box.top - _BOARD if own.inside else math.inf)
        return self._room(thing, own.surface, top, own.inside)

    def _room(self, thing: SceneObject, surface: Box, top: float, inside: bool) -> _Room:
        """Return what is free above a surface, out to sides of the thing that it comes near."""
        box = thing.box
        c, s = math.cos(box.yaw), math.sin(box.yaw)
        dx, dy = surface.center[0] - box.center[0], surface.center[1] - box.center[1]
        middle = np.array([c * dx + s * dy, -s * dx + c * dy])
        half = np.array(surface.size[:2]) / 2.0
        low, high = middle - half, middle + half
        edge = np.array(box.size[:2]) / 2.0
        low = np.where(low + edge < _FLUSH, -edge - 1.0, low)
        high = np.where(edge - high < _FLUSH, edge + 1.0, high)
        front = np.full(3, -99.0), np.full(3, 99.0)
        if inside:
            # With its doors open a case ends where its boards do.
            axis, sign = self._front(thing)
            if sign > 0:
                front[1][axis], high[axis] = high[axis], edge[axis] + 1.0
            else:
                front[0][axis], low[axis] = low[axis], -edge[axis] - 1.0
        z = surface.center[2] - box.center[2] - 0.005
        return _Room(np.array([*low, z]), np.array([*high, min(top - box.center[2], 99.0)]), front)

    def _front(self, thing: SceneObject) -> tuple[int, int]:
        """Return axis and sign of the side of a thing that one opens."""
        box = thing.box
        c, s = math.cos(box.yaw), math.sin(box.yaw)
        floor = self._plan.floor_index(box.bottom)
        rooms = self._plan.room_raster(floor)
        own = rooms[self._plan.cell(*box.center[:2])]
        for axis, sign in ((0, 1), (0, -1), (1, 1), (1, -1)):
            away = sign * (box.size[axis] / 2.0 + 0.4)
            dx, dy = (away, 0.0) if axis == 0 else (0.0, away)
            x, y = box.center[0] + c * dx - s * dy, box.center[1] + s * dx + c * dy
            if rooms[self._plan.cell(x, y)] == own:
                return axis, sign
        return 0, 1

    def _by_walls(self, start: Floats, end: Floats, floor: int) -> npt.NDArray[np.bool_]:
        """Tell which lines cross a wall beside or above its doorways."""
        walls = self.walls[floor]
        if not len(walls):
            return np.zeros(len(start), dtype=bool)
        low = np.minimum(start[:, :2].min(axis=0), end[:, :2].min(axis=0))
        high = np.maximum(start[:, :2].max(axis=0), end[:, :2].max(axis=0))
        xs, ys = walls[:, [0, 2]], walls[:, [1, 3]]
        near = (xs.max(axis=1) > low[0]) & (xs.min(axis=1) < high[0])
        near &= (ys.max(axis=1) > low[1]) & (ys.min(axis=1) < high[1])
        walls = walls[near]
        if not len(walls):
            return np.zeros(len(start), dtype=bool)
        p, r = start[:, None, :2], (end - start)[:, None, :2]
        q, w = walls[:, :2], walls[:, 2:4] - walls[:, :2]
        cross = r[..., 0] * w[:, 1] - r[..., 1] * w[:, 0]
        cross = np.where(np.abs(cross) < 1e-12, 1e-12, cross)
        d = q - p
        t = (d[..., 0] * w[:, 1] - d[..., 1] * w[:, 0]) / cross
        u = (d[..., 0] * r[..., 1] - d[..., 1] * r[..., 0]) / cross
        z = start[:, None, 2] + t * (end - start)[:, None, 2]
        met: npt.NDArray[np.bool_] = (
            (t > 0.0) & (t < 1.0) & (u >= 0.0) & (u <= 1.0) & (z > walls[:, 4])
        ).any(axis=1)
        return met


def _by_boxes(
    start: Floats,
    end: Floats,
    center: Floats,
    faces: tuple[Floats, Floats],
    yaw: Floats,
    room: tuple[Floats, Floats],
) -> npt.NDArray[np.bool_]:
    """Tell which lines (k, 3) to (k, 3) go through boxes elsewhere than in their rooms.

    The slab test twice: a line is let through if it is within the room (a box in the box's frame)
    for as long as it is within the box.
    """
    c, s = np.cos(yaw), np.sin(yaw)

    def local(points: Floats) -> tuple[Floats, Floats, Floats]:
        x, y, z = (points[:, k, None] - center[:, k] for k in range(3))
        return c * x + s * y, c * y - s * x, z

    a = local(start)
    step = [np.where(np.abs(q - p) < 1e-9, 1e-9, q - p) for p, q in zip(a, local(end), strict=True)]

    def within(
        low: Floats, high: Floats, which: npt.NDArray[np.intp] | slice
    ) -> tuple[Floats, Floats]:
        enter, leave = np.float64(-np.inf), np.float64(np.inf)
        for k in range(3):
            t0 = (low[:, k] - a[k][:, which]) / step[k][:, which]
            t1 = (high[:, k] - a[k][:, which]) / step[k][:, which]
            enter = np.maximum(enter, np.minimum(t0, t1))
            leave = np.minimum(leave, np.maximum(t0, t1))
        return np.asarray(enter), np.asarray(leave)

    enter, leave = within(*faces, slice(None))
    enter, leave = np.maximum(enter, 0.0), np.minimum(leave, 1.0)
    met: npt.NDArray[np.bool_] = np.less(enter, leave)
    roomy = np.flatnonzero((room[0] < room[1]).all(axis=1) & met.any(axis=0))
    if len(roomy):
        first, last = within(room[0][roomy], room[1][roomy], roomy)
        # What ends in the room ends there: the far side of the box is behind the point looked at.
        met[:, roomy] &= ~(
            (first <= enter[:, roomy] + 1e-6) & (last >= leave[:, roomy] - 1e-6) & (first < last)
        )
    out: npt.NDArray[np.bool_] = np.any(met, axis=1)
    return out


def _stands(thing: SceneObject, plan: FloorPlan) -> bool:
    """Whether a thing is a hollow one that stands on a floor."""
    off = thing.box.bottom - plan.elevation(plan.floor_index(thing.box.bottom))
    return abs(off) < _ON_FLOOR and hollow_bottom(thing.label.top, thing.box) is not None


def _hollow(thing: SceneObject) -> _Room | None:
    """Return the room in a hollow thing of which only the box is known, None in any other."""
    bottom = hollow_bottom(thing.label.top, thing.box)
    if bottom is None:
        return None
    half = np.maximum(np.array(thing.box.size[:2]) / 2.0 - HOLLOW_SIDE, 0.0)
    low = np.array([*-half, bottom - thing.box.center[2] - 0.005])
    return _Room(low, np.array([*half, 99.0]), (np.full(3, -99.0), np.full(3, 99.0)))


def _over(box: Box, lower: Box, upper: Box) -> bool:
    """Tell whether a surface of a box lies above another one of it."""
    if upper.center[2] < lower.center[2] + 0.02:
        return False
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    dx, dy = upper.center[0] - lower.center[0], upper.center[1] - lower.center[1]
    x, y = abs(c * dx + s * dy), abs(-s * dx + c * dy)
    return x < 0.4 * (upper.size[0] + lower.size[0]) and y < 0.4 * (upper.size[1] + lower.size[1])


def _walls_of(scene: SceneGraph, plan: FloorPlan, floor: int) -> Floats:
    """Return walls (k, 5): x0, y0, x1, y1 and the height [m] from which they hide."""
    gaps: list[tuple[float, float, float]] = [
        (door.connection.position[0], door.connection.position[1], door.connection.width)
        for door in plan.doors
        if door.floor == floor
    ]
    walls: list[tuple[float, float, float, float, float]] = []
    base = plan.elevation(floor)
    for room in scene.rooms.values():
        if len(room.polygon) < 3 or plan.room_floor(room.id) != floor:
            continue
        for (px, py), (qx, qy) in itertools.pairwise([*room.polygon, room.polygon[0]]):
            length = math.hypot(qx - px, qy - py)
            if length < 1e-6:
                continue
            ux, uy = (qx - px) / length, (qy - py) / length
            cuts = []
            for x, y, width in gaps:
                along = (x - px) * ux + (y - py) * uy
                across = abs((x - px) * uy - (y - py) * ux)
                if across < _THIN and -width / 2.0 < along < length + width / 2.0:
                    cuts.append((max(0.0, along - width / 2.0), min(length, along + width / 2)))
            at = 0.0
            for first, last in sorted(cuts):
                if first > at:
                    walls.append((*_on(px, py, ux, uy, at), *_on(px, py, ux, uy, first), -9e9))
                lintel = base + DOOR_HEIGHT
                walls.append((*_on(px, py, ux, uy, first), *_on(px, py, ux, uy, last), lintel))
                at = max(at, last)
            if at < length:
                walls.append((*_on(px, py, ux, uy, at), qx, qy, -9e9))
    return np.array(walls, dtype=float).reshape(-1, 5)


def _on(x: float, y: float, ux: float, uy: float, at: float) -> tuple[float, float]:
    return x + ux * at, y + uy * at


def points_of(box: Box) -> Floats:
    """Return (12, 3) points [m] of a thing that stand for it, the first is its middle."""
    x, y, z = box.center
    high, low = z + _TALL * box.size[2], z - _TALL * box.size[2]
    hx, hy = _WIDE * box.size[0], _WIDE * box.size[1]
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    offsets = [(0.0, 0.0, z), (0.0, 0.0, high)]
    offsets += [(hx, 0.0, z), (-hx, 0.0, z), (0.0, hy, z), (0.0, -hy, z)]
    offsets += [(hx, hy, high), (-hx, -hy, high), (hx, -hy, high), (-hx, hy, high)]
    offsets += [(hx, hy, low), (-hx, -hy, low)]
    return np.array([(x + c * dx - s * dy, y + s * dx + c * dy, at) for dx, dy, at in offsets])
