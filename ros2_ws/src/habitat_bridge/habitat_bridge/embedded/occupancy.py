"""Where a body can be in a house: rasters of rooms and obstacles, 5 cm cells, one set per floor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import shapely
from scipy import ndimage

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Box, Vec2, Vec3
from habitat_bridge.house.house import Door, House, Wall

CELL = 0.05
"""Edge of a raster cell [m]."""
DOOR_MARGIN = 0.03
"""Room [m] a body needs on either side of a doorway, besides its own width."""
_BORDER = 0.5  # [m] of raster around the house
_DOORWAY = 0.4  # [m] across a wall up to which a door's frame decides how much room there is
_RUG = 0.03  # [m] lower things are driven over by any body on the ground

Mask = npt.NDArray[np.bool_]
Cell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class BodyKey:
    """What navigation needs to know of a body; bodies with equal keys share all rasters and ways.

    `low` and `high` [m] are the lowest and highest part that can hit something, above the floor.
    """

    moves: str
    radius: float
    low: float
    high: float
    step: float
    base: float

    @staticmethod
    def of(embodiment: Embodiment) -> BodyKey:
        """Return the key of an embodiment; `base` [m] is base_link's height above the floor."""
        flies = embodiment.mobility == "air"
        base = embodiment.flight_height if flies else 0.0
        step = 9.9 if flies else embodiment.step_height
        low = max(0.0, base - 0.05) if flies else max(_RUG, step)
        moves = embodiment.mobility if embodiment.mobility != "fixed" else "wheels"
        return BodyKey(moves, embodiment.radius, low, base + embodiment.height, step, base)

    def passes(self, door: Door) -> str:
        """Return "" if the body fits through a door, else why not."""
        need = 2.0 * (self.radius + DOOR_MARGIN)
        if door.width < need - 1e-9:
            return (
                f"door {door.id} ({door.width:.2f} m) is too narrow for radius {self.radius:.2f} m "
                f"(needs {need:.2f} m)"
            )
        if door.height < self.high:
            return (
                f"door {door.id} ({door.height:.2f} m high) is too low for a top at "
                f"{self.high:.2f} m"
            )
        return ""


@dataclass(slots=True)
class _Layer:
    """Obstacle cells within a window of the raster, from `low` to `high` [m] above the floor."""

    rows: slice
    cols: slice
    mask: Mask
    low: float
    high: float


@dataclass(slots=True)
class _FloorRaster:
    elevation: float
    ceiling: float
    inside: Mask
    room: npt.NDArray[np.int16]  # index of the nearest room
    layers: list[_Layer]
    walls: list[_Layer]
    doors: list[tuple[Door, _Layer]]


class Occupancy:
    """Rasters of a house: which room a spot belongs to, and how far obstacles are for a body.

    All floors share one raster geometry: cell (row, col) has its centre at
    `origin + ((col + 0.5) CELL, (row + 0.5) CELL)`.

    Args:
        house: The house. Furniture and fixtures are obstacles; items are not: small things on the
            floor are pushed aside.
    """

    def __init__(self, house: House) -> None:
        self.house = house
        self.rooms = list(house.rooms)
        points = [p for room in house.rooms for p in room.polygon]
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        self.origin: Vec2 = (min(xs) - _BORDER, min(ys) - _BORDER)
        self.shape: Cell = (
            int(np.ceil((max(ys) + _BORDER - self.origin[1]) / CELL)),
            int(np.ceil((max(xs) + _BORDER - self.origin[0]) / CELL)),
        )
        self.floors = [floor.id for floor in house.floors]
        self._elevations = np.array([floor.elevation for floor in house.floors])
        self._rasters = [self._raster(k) for k in range(len(house.floors))]
        self._clearance: dict[BodyKey, list[npt.NDArray[np.float32]]] = {}

    def floor_index(self, z: float) -> int:
        """Return the index of the floor whose storey contains height `z` [m]."""
        return max(0, int(np.searchsorted(self._elevations, z + 0.3, side="right")) - 1)

    def elevation(self, floor: int) -> float:
        """Height of a floor's walking surface [m]."""
        return float(self._elevations[floor])

    def ceiling(self, floor: int) -> float:
        """Height of a floor's ceiling above its walking surface [m]."""
        return self._rasters[floor].ceiling

    def cell(self, x: float, y: float) -> Cell:
        """Return the cell (row, col) of a point [m], clipped to the raster."""
        row = int((y - self.origin[1]) / CELL)
        col = int((x - self.origin[0]) / CELL)
        return min(max(row, 0), self.shape[0] - 1), min(max(col, 0), self.shape[1] - 1)

    def point(self, cell: Cell) -> Vec2:
        """Return the centre (x, y) [m] of a cell."""
        return (
            self.origin[0] + (float(cell[1]) + 0.5) * CELL,
            self.origin[1] + (float(cell[0]) + 0.5) * CELL,
        )

    def room_index(self, point: Vec3) -> int:
        """Index of the room a point [m] lies in (nearest room for walls, -1 far outside)."""
        row, col = self.cell(point[0], point[1])
        return int(self._rasters[self.floor_index(point[2])].room[row, col])

    def room_id(self, point: Vec3) -> str:
        """Id of the room a point [m] lies in ("" far outside)."""
        index = self.room_index(point)
        return self.rooms[index].id if index >= 0 else ""

    def room_raster(self, floor: int) -> npt.NDArray[np.int16]:
        """Index of the nearest room per cell, -1 where none is near."""
        return self._rasters[floor].room

    def clearance(self, key: BodyKey) -> list[npt.NDArray[np.float32]]:
        """Distance [m] of every cell to the nearest obstacle for a body, per floor (0: blocked)."""
        if key not in self._clearance:
            self._clearance[key] = [self._distances(k, key) for k in range(len(self.floors))]
        return self._clearance[key]

    def _distances(self, floor: int, key: BodyKey) -> npt.NDArray[np.float32]:
        raster = self._rasters[floor]
        free = raster.inside.copy()
        if key.moves == "air" and key.high > raster.ceiling:
            free[:] = False
        for layer in raster.layers:
            if layer.low < key.high and layer.high > key.low:
                free[layer.rows, layer.cols] &= ~layer.mask
        unwalled = _edt(free)
        for layer in raster.walls:
            if layer.low < key.high and layer.high > key.low:
                free[layer.rows, layer.cols] &= ~layer.mask
        open_doors = [(door, layer) for door, layer in raster.doors if not key.passes(door)]
        for door, layer in raster.doors:
            if key.passes(door):
                free[layer.rows, layer.cols] &= ~layer.mask
        out = _edt(free)
        for door, _ in open_doors:
            self._widen(out, unwalled, door)
        return out

    def _widen(
        self, out: npt.NDArray[np.float32], unwalled: npt.NDArray[np.float32], door: Door
    ) -> None:
        """Give the cells in a doorway their exact distance to its frame.

        The raster is too coarse to tell 0.56 m from 0.60 m, and a body that fits must get through.
        """
        way = Box(door.center, (door.width, 2.0 * _DOORWAY, 0.0), door.yaw)
        layer = self._polygon(way.footprint())
        rows, cols = np.nonzero(layer.mask)
        rows, cols = rows + layer.rows.start, cols + layer.cols.start
        xs = self.origin[0] + (cols + 0.5) * CELL - door.center[0]
        ys = self.origin[1] + (rows + 0.5) * CELL - door.center[1]
        along = np.abs(xs * np.cos(door.yaw) + ys * np.sin(door.yaw))
        frame = np.minimum(door.width / 2.0 - along, unwalled[rows, cols])
        out[rows, cols] = np.maximum(out[rows, cols], frame)

    def _raster(self, floor: int) -> _FloorRaster:
        house, info = self.house, self.house.floors[floor]
        room = np.full(self.shape, -1, dtype=np.int16)
        for index, entry in enumerate(self.rooms):
            if entry.floor == info.id and entry.polygon:
                layer = self._polygon(entry.polygon)
                room[layer.rows, layer.cols][layer.mask] = index
        inside = room >= 0
        doors: list[tuple[Door, _Layer]] = []
        for door in house.doors:
            if door.floor == info.id:
                gap = Box(door.center, (door.width, 0.3, 0.0), door.yaw)
                layer = self._polygon(gap.footprint())
                inside[layer.rows, layer.cols] |= layer.mask
                doors.append((door, layer))
        gap_to, (near_row, near_col) = ndimage.distance_transform_edt(room < 0, return_indices=True)
        nearest = room[near_row, near_col]
        nearest[gap_to * CELL > 0.6] = -1
        walls = [self._wall(wall, info.elevation) for wall in house.walls if wall.floor == info.id]
        layers: list[_Layer] = []
        for thing in house.objects:
            if thing.kind == "item" or self.floor_index(thing.box.bottom) != floor:
                continue
            low, high = thing.box.bottom - info.elevation, thing.box.top - info.elevation
            layers.append(self._polygon(thing.box.footprint(), low, high))
        for stairs in house.stairs:
            if self.floor_index(stairs.bottom[2]) == floor:
                # The whole flight is closed to walking across; it is used end to end only.
                layers += [self._polygon(tread.footprint(), 0.0, 9.9) for tread in stairs.treads]
            if self.floor_index(stairs.top[2]) == floor and stairs.well:
                layers.append(self._polygon(stairs.well, -9.9, 9.9))
        return _FloorRaster(
            info.elevation, info.ceiling_height, inside, nearest, layers, walls, doors
        )

    def _wall(self, wall: Wall, elevation: float) -> _Layer:
        dx, dy = wall.end[0] - wall.start[0], wall.end[1] - wall.start[1]
        center = ((wall.start[0] + wall.end[0]) / 2.0, (wall.start[1] + wall.end[1]) / 2.0, 0.0)
        # At least two cells thick, so that no wall falls between cell centres.
        slab = Box(
            center,
            (float(np.hypot(dx, dy)), max(wall.thickness, 2 * CELL), 0.0),
            float(np.arctan2(dy, dx)),
        )
        low = wall.base - elevation
        return self._polygon(slab.footprint(), low, low + wall.height)

    def _polygon(
        self, corners: tuple[Vec2, ...] | list[Vec2], low: float = 0.0, high: float = 9.9
    ) -> _Layer:
        """Return the cells whose centre lies within a polygon (x, y) [m]."""
        xs, ys = [c[0] for c in corners], [c[1] for c in corners]
        r0, c0 = self.cell(min(xs), min(ys))
        r1, c1 = self.cell(max(xs), max(ys))
        gx = self.origin[0] + (np.arange(c0, c1 + 1) + 0.5) * CELL
        gy = self.origin[1] + (np.arange(r0, r1 + 1) + 0.5) * CELL
        grid_x, grid_y = np.meshgrid(gx, gy)
        mask = shapely.contains_xy(shapely.Polygon(corners), grid_x.ravel(), grid_y.ravel())
        return _Layer(slice(r0, r1 + 1), slice(c0, c1 + 1), mask.reshape(grid_x.shape), low, high)


def _edt(free: Mask) -> npt.NDArray[np.float32]:
    """Distance [m] of every free cell to the nearest one that is not."""
    out: npt.NDArray[np.float32] = ndimage.distance_transform_edt(free).astype(np.float32)
    out *= CELL
    return out
