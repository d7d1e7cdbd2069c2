"""Where a body can go according to habitat's navmesh, in the form the embedded house has it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from coterie_core.frames import yup_to_zup, zup_to_yup
from coterie_core.geometry import Box, Vec3
from habitat_bridge.embedded.navigation import BodySpace, Disc, NoWay, Route
from habitat_bridge.embedded.occupancy import CELL, BodyKey, Occupancy
from habitat_bridge.house.house import Door, House

VOXEL = 0.02
"""Edge and height of the voxels that navmeshes are made of [m]."""
_LEVEL = 0.12  # [m] the navmesh may lie above or below a floor
_WHEELS_CLIMB = 0.1  # [m] higher steps stop wheels however large these are
_SILL = 0.3  # [m] across a wall that a shut door takes
_NEAR = 0.25  # [m] off the raster's free cells a body may stand and still be where they are


class Navmeshes(Protocol):
    """What is asked of habitat here; points are y up."""

    def navmesh(
        self, key: str, *, radius: float, height: float, climb: float, cell: float, rise: float
    ) -> object:
        """Compute a navmesh."""
        ...

    def navigable(
        self, key: str, points: npt.NDArray[np.floating], tolerance: float
    ) -> npt.NDArray[np.bool_]:
        """Tell which points lie on it."""
        ...

    def paths(self, key: str, pairs: Sequence[tuple[Vec3, Vec3]]) -> list[list[Vec3] | None]:
        """Return shortest ways on it."""
        ...


def _voxels(radius: float) -> int:
    """Return how many voxels a body's radius [m] takes.

    One less than it measures: a voxel counts as solid as soon as anything touches it, and the
    embedded house's cells are as lenient. Whether a body fits through a door is decided exactly,
    from the door's width (`BodyKey.passes`): no voxel is small enough to tell 0.56 m from 0.60 m.
    """
    return max(1, round(radius / VOXEL - 1.0 + 1e-6))


def navmesh_name(key: BodyKey) -> str:
    """Return the name of the navmesh of a kind of body."""
    return f"{key.moves}-{key.radius:.3f}-{key.high:.3f}-{key.step:.3f}"


class NavOccupancy(Occupancy):
    """A house whose free space is what habitat's navmesh says; rooms and floors are the house's.

    Drones fly where the navmesh knows nothing: for them the house's own solids count.
    """

    def __init__(self, house: House, backend: Navmeshes) -> None:
        super().__init__(house)
        self._backend = backend
        self._made: dict[BodyKey, list[npt.NDArray[np.float32]]] = {}

    def clearance(self, key: BodyKey) -> list[npt.NDArray[np.float32]]:
        """Distance [m] of every cell to what a body cannot stand on or pass, per floor."""
        if key.moves == "air":
            return super().clearance(key)
        if key not in self._made:
            name = navmesh_name(key)
            climb = min(key.step, _WHEELS_CLIMB) if key.moves == "wheels" else key.step
            self._backend.navmesh(
                name,
                radius=_voxels(key.radius) * VOXEL - 1e-3,
                height=key.high,
                climb=climb + VOXEL,  # heights of steps are rounded up to voxels
                cell=VOXEL,
                rise=VOXEL,
            )
            self._made[key] = [self._floor(name, key, k) for k in range(len(self.floors))]
        return self._made[key]

    def _floor(self, name: str, key: BodyKey, floor: int) -> npt.NDArray[np.float32]:
        inside = np.argwhere(self.room_raster(floor) >= 0)
        points = np.empty((len(inside), 3))
        points[:, 0] = self.origin[0] + (inside[:, 1] + 0.5) * CELL
        points[:, 1] = self.origin[1] + (inside[:, 0] + 0.5) * CELL
        points[:, 2] = self.elevation(floor)
        free = np.zeros(self.shape, dtype=bool)
        on = self._backend.navigable(name, zup_to_yup(points), _LEVEL)
        free[inside[on, 0], inside[on, 1]] = True
        for door in self.house.doors:
            if door.floor == self.house.floors[floor].id and key.passes(door):
                self._shut(free, door)
        inner = ndimage.distance_transform_edt(free) * CELL
        outer = ndimage.distance_transform_edt(~free) * CELL
        # The navmesh is where the body's middle may be: its edge is a radius away from things.
        out = np.where(free, inner - 0.5 * CELL + key.radius, key.radius - outer)
        return np.maximum(out, 0.0).astype(np.float32)

    def _shut(self, free: npt.NDArray[np.bool_], door: Door) -> None:
        """Mark the cells of a door's gap as not free."""
        gap = Box(door.center, (door.width, _SILL, 0.0), door.yaw)
        (x0, y0, _), (x1, y1, _) = gap.axis_aligned()
        (r0, c0), (r1, c1) = self.cell(x0, y0), self.cell(x1, y1)
        free[r0 : r1 + 1, c0 : c1 + 1] = False


class HabitatSpace(BodySpace):
    """Where one kind of body can go; ways of bodies on the ground come from habitat's navmesh."""

    def __init__(self, occupancy: NavOccupancy, key: BodyKey, backend: Navmeshes) -> None:
        self._backend = backend
        self._name = navmesh_name(key)
        super().__init__(occupancy, key)
        if key.moves != "air":
            for name in [name for name in self._stairs if not self._climbs(name)]:
                del self._stairs[name]
            self._joined = self._join_parts()
        self._shut = [door for door in self.house.doors if key.passes(door)]

    def connected(self, a: Vec3, b: Vec3) -> bool:
        """Tell whether there is a way between two points [m] that are free or hardly off it."""
        return super().connected(self._on(a), self._on(b))

    def plan(self, start: Vec3, goal: Vec3, avoid: Sequence[Disc] = ()) -> Route:
        """Return the shortest way between two points [m] where the body fits.

        Around other robots it is the raster's way, else the navmesh's.

        Raises:
            NoWay: There is none; says what is in the way.
        """
        if self.key.moves == "air":
            return super().plan(start, goal, avoid)
        if not self.connected(start, goal):
            raise NoWay(self.why_not(start, goal))
        if avoid:
            on = self._on(start)
            points = super().plan(on, goal, avoid).points
            return Route(points if on == start else (start, *points))
        path = self._backend.paths(self._name, [(_up(start), _up(goal))])[0]
        if path is None:
            raise NoWay(self.why_not(start, goal))
        way = self._cleaned(start, path, goal)
        if any(_goes_through(way, door) for door in self._shut):
            return super().plan(self._on(start), goal)
        return Route(way)

    def _on(self, point: Vec3) -> Vec3:
        """Return the point itself where it is free, else the nearest free one, if it is near."""
        if self.is_free(point):
            return point
        return self.nearest_free(point, _NEAR, same_room=False) or point

    def _climbs(self, name: str) -> bool:
        _, low, high = self._stairs[name]
        path = self._backend.paths(self._name, [(_up(low), _up(high))])[0]
        if path is None:
            return False
        length = sum(math.dist(a, b) for a, b in itertools.pairwise(path))
        return length <= 1.5 * math.dist(low, high) + 2.0

    def _cleaned(self, start: Vec3, path: list[Vec3], goal: Vec3) -> tuple[Vec3, ...]:
        """Return a way in the map frame: on the floors where the navmesh is a voxel above them."""
        points = [start]
        for x, y, z in yup_to_zup(path[1:-1]).tolist() if len(path) > 2 else []:
            floor = self.occupancy.elevation(self.occupancy.floor_index(z))
            points.append((x, y, floor if abs(z - floor) <= _LEVEL else z))
        points.append(goal)
        return tuple(
            p for k, p in enumerate(points) if k == 0 or math.dist(p, points[k - 1]) > 1e-6
        )


def _goes_through(way: Sequence[Vec3], door: Door) -> bool:
    """Tell whether a way leads through a door."""
    c, s = math.cos(door.yaw), math.sin(door.yaw)
    for a, b in itertools.pairwise(way):
        if not min(a[2], b[2]) - 0.3 <= door.center[2] <= max(a[2], b[2]) + 0.3:
            continue
        (ax, ay), (bx, by) = (
            (
                c * (p[0] - door.center[0]) + s * (p[1] - door.center[1]),
                -s * (p[0] - door.center[0]) + c * (p[1] - door.center[1]),
            )
            for p in (a, b)
        )
        if (ay > 0.0) != (by > 0.0):
            cross = ax + (bx - ax) * ay / (ay - by)
            if abs(cross) <= door.width / 2.0:
                return True
    return False


def _up(point: Vec3) -> Vec3:
    x, y, z = zup_to_yup(point).tolist()
    return (x, y, z)
