"""Which room each cell of a floor belongs to: rooms that are known, else regions of the grid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import ndimage
from shapely import Polygon, contains_xy, prepare

from coterie_core.geometry import Vec2, Vec3
from coterie_core.observation import RoomView
from coterie_world.free_space.partition import RegionSettings, outline, partition
from coterie_world.scene import Floor, Room
from coterie_world.scene.outlines import outline_trouble
from robot_adapters.sensing.grid_space import GridSpace
from robot_adapters.sensing.plane import MapPose

Labels = npt.NDArray[np.int32]

_PARTING_RADIUS = 0.2
"""Body that regions are parted for [m]: the same for all robots, so that regions agree."""
_REACH = 0.8
"""A thing that stands so far from the free space of a room still belongs to it [m]."""
_LEAST_REST = 2.0
"""Smallest region beside rooms that are known [m^2]: what is less, as a short corridor that nobody
drew, belongs to the nearest of them."""


@dataclass(slots=True)
class _Numbered:
    """A floor's cells by room number, and where they lie."""

    numbers: Labels
    nearest: Labels
    space: GridSpace


@dataclass(slots=True)
class RoomLayer:
    """Rooms of all floors of a robot's map.

    Attributes:
        prefix: What ids of computed regions begin with: robots with maps of their own part them
            differently.
        rooms: Number -> room; numbers stay. Outlines are in the team's map.
        known: Whether any room was given.
    """

    prefix: str = ""
    rooms: dict[int, Room] = field(default_factory=dict)
    known: bool = False
    _given: dict[str, int] = field(default_factory=dict)
    _outlines: dict[int, Polygon] = field(default_factory=dict)
    _floors: dict[str, _Numbered] = field(default_factory=dict)
    _regions: int = 0

    def give(self, rooms: Iterable[Room]) -> None:
        """Take rooms with outlines in the team's map: a person's, or the semantic map's."""
        given = {room.id: room for room in rooms if len(room.polygon) >= 3}
        for id_ in [k for k in self._given if k not in given]:
            number = self._given.pop(id_)
            self._outlines.pop(number, None)
        for id_, room in given.items():
            number = self._given.setdefault(id_, len(self.rooms) + 1)
            self.rooms[number] = room
            shape = Polygon(room.polygon).buffer(0)
            prepare(shape)
            self._outlines[number] = shape
        self.known = bool(self._given)

    def number(self, space: GridSpace, floor: Floor, place: MapPose) -> Labels:
        """Return the room number of each cell where a body may stand, 0 for none.

        Cells outside of all rooms that are known are parted at narrow passages; such regions are
        named "region_1" and so on and keep their numbers while most of their cells stay.
        """
        free = (~space.unknown) & (space.clearance >= min(_PARTING_RADIUS, space.radius))
        numbers = self._of_outlines(space, floor, place)
        rest = free & (numbers == 0)
        parted = partition(rest, RegionSettings(space.cell, _PARTING_RADIUS))
        edge = np.zeros(space.shape, dtype=bool)
        if self.known:
            sizes = np.bincount(parted.ravel()) * space.cell**2
            edge = (parted > 0) & (sizes[parted] < _LEAST_REST)
            parted[edge] = 0
        self._take_regions(parted, numbers, space, floor, place)
        away, (rows, cols) = ndimage.distance_transform_edt(numbers == 0, return_indices=True)
        near = edge | (away * space.cell <= _REACH)
        grown = np.where(near, numbers[rows, cols], 0).astype(np.int32)
        numbers = np.where(space.fits, grown, 0).astype(np.int32)
        self._floors[floor.id] = _Numbered(numbers, grown, space)
        return numbers

    def at(self, point: Vec3, floor: str, place: MapPose) -> RoomView | None:
        """Return the room that a point [m] of the robot's map lies in; None: none is known."""
        x, y, _ = place.to_team(point)
        for number, shape in self._outlines.items():
            room = self.rooms[number]
            if (not room.floor or room.floor == floor) and contains_xy(shape, x, y):
                return self.view(number)
        layer = self._floors.get(floor)
        cell = layer.space.cell_of(point) if layer is not None else None
        return self.view(int(layer.nearest[cell])) if layer is not None and cell else None

    def view(self, number: int) -> RoomView | None:
        """Return a room by number as observations have it; None for 0."""
        room = self.rooms.get(number)
        return RoomView(room.id, room.name, room.type) if room is not None else None

    def present(self) -> list[Room]:
        """Return the rooms that there are now, in the order of their numbers."""
        numbers = set(self._given.values())
        for layer in self._floors.values():
            numbers.update(np.unique(layer.numbers).tolist())
        return [self.rooms[k] for k in sorted(numbers) if k in self.rooms]

    def _of_outlines(self, space: GridSpace, floor: Floor, place: MapPose) -> Labels:
        numbers = np.zeros(space.shape, dtype=np.int32)
        if not self._outlines:
            return numbers
        cells = np.argwhere(~space.unknown)
        points = place.points_to_team((cells[:, ::-1] + 0.5) * space.cell + space.origin)
        for number, shape in self._outlines.items():
            if self.rooms[number].floor in ("", floor.id):
                inside = cells[contains_xy(shape, points[:, 0], points[:, 1])]
                numbers[inside[:, 0], inside[:, 1]] = number
        return numbers

    def _take_regions(
        self, parted: Labels, numbers: Labels, space: GridSpace, floor: Floor, place: MapPose
    ) -> None:
        """Number regions as most of their cells were numbered before, else anew."""
        before = self._before(floor.id, space)
        fixed = set(self._given.values())
        found: list[int] = [k for k in np.unique(parted).tolist() if k > 0]
        votes: list[tuple[int, int, int]] = []
        for region in found:
            counts = np.bincount(before[parted == region])
            votes += [(int(counts[k]), int(k), region) for k in np.flatnonzero(counts)]
        names: dict[int, int] = {}
        for _, old, region in sorted(votes, key=lambda v: (-v[0], v[1], v[2])):
            if old > 0 and old not in fixed and region not in names and old not in names.values():
                names[region] = old
        for region in found:
            cells = parted == region
            number = names.get(region) or self._new_region(floor)
            numbers[cells] = number
            ring = outline(cells, space.origin, space.cell, 0.15)
            corners = place.points_to_team(np.asarray(ring, np.float64).reshape(-1, 2))
            self.rooms[number].polygon = [(float(x), float(y)) for x, y in corners]

    def _before(self, floor: str, space: GridSpace) -> Labels:
        """Numbers that the cells of a grid had in the grid before it."""
        old = self._floors.get(floor)
        before = np.zeros(space.shape, dtype=np.int32)
        if old is None:
            return before
        rows = _shifted(space.shape[0], space.origin[1], space.cell, old, 1)
        cols = _shifted(space.shape[1], space.origin[0], space.cell, old, 0)
        inside = (rows >= 0)[:, None] & (cols >= 0)[None, :]
        values = old.nearest[rows.clip(0)][:, cols.clip(0)]
        return np.where(inside, values, 0).astype(np.int32)

    def _new_region(self, floor: Floor) -> int:
        self._regions += 1
        number = max(self.rooms, default=0) + 1
        name = f"{self.prefix}region_{self._regions}"
        self.rooms[number] = Room(name, name.replace("_", " "), "", floor.id)
        return number


def _shifted(
    count: int, origin: float, cell: float, old: _Numbered, axis: int
) -> npt.NDArray[np.intp]:
    """Index in an older grid of each row or column of a newer one, -1 where it had none."""
    middle = origin + (np.arange(count) + 0.5) * cell
    index = np.floor((middle - old.space.origin[axis]) / old.space.cell).astype(np.intp)
    size = old.space.shape[1 - axis]
    return np.where((index >= 0) & (index < size), index, -1)


def rooms_from_names(entries: Iterable[dict[str, object]], source: str) -> list[Room]:
    """Return rooms that a person drew: name, outline, and kind and floor where given.

    Args:
        entries: Each {"name": str, "polygon": [[x, y], ...], "type": str, "floor": str}.
        source: File and field, for errors.

    Raises:
        ValueError: An entry without a name or an outline; two of one name.
    """
    rooms: dict[str, Room] = {}
    for k, entry in enumerate(entries):
        where = f"{source}[{k}]"
        unknown = sorted(set(entry) - {"name", "polygon", "type", "floor"})
        if unknown:
            raise ValueError(f"{where}: no field {unknown[0]!r}; name, polygon, type, floor")
        name = str(entry.get("name") or "").strip()
        if not name:
            raise ValueError(f"{where}.name: expected what people call the room")
        corners = _corners(entry.get("polygon"), where)
        id_ = "_".join(name.lower().split())
        if id_ in rooms:
            raise ValueError(f"{where}.name: {name!r} is there already; names are unique")
        rooms[id_] = Room(
            id_, name, str(entry.get("type") or ""), str(entry.get("floor") or ""), corners
        )
    return list(rooms.values())


def _corners(value: object, where: str) -> list[Vec2]:
    expected = f"{where}.polygon: expected three or more corners [x, y] in the team's map [m]"
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{expected}, got {type(value).__name__}")
    corners: list[Vec2] = []
    for corner in value:
        try:
            x, y = (float(v) for v in corner)
        except (TypeError, ValueError):
            raise ValueError(f"{expected}, got {corner!r}") from None
        corners.append((x, y))
    if len(corners) < 3 or not np.isfinite(corners).all() or Polygon(corners).area < 1e-3:
        raise ValueError(f"{expected} around an area")
    if trouble := outline_trouble(corners):
        raise ValueError(f"{expected} in their order around it: {trouble}")
    return corners
