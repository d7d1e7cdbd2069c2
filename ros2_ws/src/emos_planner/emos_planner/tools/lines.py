"""Lines of sight in a scene graph: what furniture and walls hide from an eye."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Box
from coterie_core.scene import SceneGraph
from emos_planner.tools.body import DOOR_HEIGHT
from emos_planner.tools.floorplan import FloorPlan

Floats = npt.NDArray[np.float64]
_SHRINK = 0.02  # [m] that boxes are taken smaller, so that what touches them is not hidden
_THIN = 0.15  # [m] of the part of a wall that counts as its middle, across
_PLATE = 0.005  # [m] below a receptacle's surface where its board hides what is above


class Sightlines:
    """The furniture, boards and walls of a scene that lines of sight can meet.

    Furniture is taken as solid, except what the thing looked at stands on or in; of that, only its
    boards (the surfaces of its receptacles) hide things.
    """

    def __init__(self, scene: SceneGraph, plan: FloorPlan) -> None:
        things = [
            thing
            for thing in scene.objects.values()
            if thing.kind != "item"
            and min(thing.box.size) > 2.0 * _SHRINK
            and thing.box.volume > 0.0
        ]
        self._ids = [thing.id for thing in things]
        self._row = {name: k for k, name in enumerate(self._ids)}
        self._center = np.array([thing.box.center for thing in things]).reshape(-1, 3)
        self._half = np.array([thing.box.size for thing in things]).reshape(-1, 3) / 2.0 - _SHRINK
        yaw = np.array([thing.box.yaw for thing in things])
        self._cos, self._sin = np.cos(yaw), np.sin(yaw)
        self._boards = {
            thing.id: [receptacle.surface for receptacle in thing.receptacles] for thing in things
        }
        self._walls = [self._walls_of(scene, plan, k) for k in range(len(plan.floors))]
        self._plan = plan

    def clear(
        self, eyes: Floats, points: Floats, floor: int, through: Collection[str] = ()
    ) -> npt.NDArray[np.bool_]:
        """Tell which points can be seen from which eyes.

        Args:
            eyes: (n, 3) [m].
            points: (m, 3) [m].
            floor: Index of the floor of both.
            through: Ids of furniture that only hides by its boards.

        Returns:
            (n, m), true where nothing is in between.
        """
        n, m = len(eyes), len(points)
        start = np.repeat(eyes, m, axis=0)
        end = np.tile(points, (n, 1))
        hidden = self._by_walls(start, end, floor)
        low = np.minimum(eyes.min(axis=0), points.min(axis=0))
        high = np.maximum(eyes.max(axis=0), points.max(axis=0))
        if len(self._ids):
            spread = np.hypot(self._half[:, 0], self._half[:, 1])
            near = (self._center[:, 0] + spread > low[0]) & (self._center[:, 0] - spread < high[0])
            near &= (self._center[:, 1] + spread > low[1]) & (self._center[:, 1] - spread < high[1])
            near &= self._center[:, 2] + self._half[:, 2] > low[2]
            near &= self._center[:, 2] - self._half[:, 2] < high[2]
            for name in through:
                if name in self._row:
                    near[self._row[name]] = False
            rows = np.flatnonzero(near)
            if len(rows):
                hidden |= self._by_boxes(start, end, rows)
        for name in through:
            for surface in self._boards.get(name, ()):
                hidden |= _by_board(start, end, surface)
        return ~hidden.reshape(n, m)

    def _by_boxes(
        self, start: Floats, end: Floats, rows: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.bool_]:
        """Tell which lines (k, 3) to (k, 3) go through any of the boxes: the slab test."""
        c, s = self._cos[rows], self._sin[rows]

        def local(points: Floats) -> Floats:
            d = points[:, None, :] - self._center[rows]
            return np.stack(
                [c * d[..., 0] + s * d[..., 1], -s * d[..., 0] + c * d[..., 1], d[..., 2]], axis=-1
            )

        a = local(start)
        step = local(end) - a
        step = np.where(np.abs(step) < 1e-9, 1e-9, step)
        t0 = (-self._half[rows] - a) / step
        t1 = (self._half[rows] - a) / step
        enter = np.minimum(t0, t1).max(axis=-1)
        leave = np.maximum(t0, t1).min(axis=-1)
        met: npt.NDArray[np.bool_] = ((enter < leave) & (leave > 0.0) & (enter < 1.0)).any(axis=1)
        return met

    def _by_walls(self, start: Floats, end: Floats, floor: int) -> npt.NDArray[np.bool_]:
        """Tell which lines cross a wall beside or above its doorways."""
        walls = self._walls[floor]
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

    @staticmethod
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


def _by_board(start: Floats, end: Floats, surface: Box) -> npt.NDArray[np.bool_]:
    """Tell which lines go through a level board under a surface."""
    z = surface.center[2] - _PLATE
    rise = end[:, 2] - start[:, 2]
    rise = np.where(np.abs(rise) < 1e-9, 1e-9, rise)
    t = (z - start[:, 2]) / rise
    x = start[:, 0] + t * (end[:, 0] - start[:, 0]) - surface.center[0]
    y = start[:, 1] + t * (end[:, 1] - start[:, 1]) - surface.center[1]
    c, s = math.cos(surface.yaw), math.sin(surface.yaw)
    met: npt.NDArray[np.bool_] = (
        (t > 0.0)
        & (t < 1.0)
        & (np.abs(c * x + s * y) < surface.size[0] / 2.0)
        & (np.abs(-s * x + c * y) < surface.size[1] / 2.0)
    )
    return met


def points_of(box: Box) -> Floats:
    """Return (9, 3) points [m] of a thing that stand for it: middle, top, and upper corners."""
    x, y, z = box.center
    top = box.top - 0.1 * box.size[2]
    points = [(x, y, z), (x, y, top)]
    hx, hy = 0.4 * box.size[0], 0.4 * box.size[1]
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    for dx, dy in ((hx, 0.0), (-hx, 0.0), (0.0, hy), (0.0, -hy)):
        points.append((x + c * dx - s * dy, y + s * dx + c * dy, z))
    for dx, dy in ((hx, hy), (-hx, -hy), (hx, -hy)):
        points.append((x + c * dx - s * dy, y + s * dx + c * dy, top))
    return np.array(points)
