"""Rooms, doors and the bed of a ThreeDWorld layout, rebuilt from where its objects lie.

1. Objects that one room's name covers are split where they are far apart (5 m between groups),
   into no more groups than the floor plan has rooms of that name (`room_types.json`, if there).
2. Rooms of the floor plan without any object, the bedroom as a rule, are each put into the middle
   of the largest circle that is still empty, the bedroom first.
3. The floor is the rectangle about all objects and starts, 1 m wider, in cells of 0.25 m; a cell
   belongs to the group of its nearest object (or middle of an empty room): rooms fill the floor, as
   the cells of Voronoi do.
4. Where two rooms share at least 0.8 m of border, a door is in the middle of that border.
5. The goal is a bed, for which the files have no position: in the middle of the largest empty
   circle in a bedroom, or on the floor where no bedroom is known of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial import cKDTree

from coterie_core.cooperation import Gate, HomeRoom

APART = 5.0
"""Groups of objects of one room's name farther apart than this are two rooms [m]."""
CELL = 0.25
DOOR = 0.8
MAX_CELLS = 4_000_000
BEDROOM = "bedroom"
Points = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FloorPlan:
    """Rooms, doors, where the bed stands (x, y) [m], and the room id of a point (x, y) [m]."""

    rooms: list[HomeRoom]
    gates: list[Gate]
    bed: tuple[float, float]
    room_at: Callable[[Sequence[float]], str]


def rebuilt(
    spots: Points,
    names: Sequence[str],
    starts: Sequence[tuple[float, float]],
    types: Sequence[str] | None = None,
) -> FloorPlan:
    """Return the floor plan of a layout; see the top of this module for how.

    Args:
        spots: Where objects lie (n, 2) [m].
        names: Of the rooms of these objects.
        starts: Where agents start (x, y) [m].
        types: Names of all rooms of the floor plan; None: unknown.

    Raises:
        ValueError: A floor too large to be one.
    """
    floor = _Floor(spots, starts)
    groups = _groups(spots, names, types)
    points, owner = spots, np.zeros(len(spots), dtype=np.int64)
    for k, (_, indices) in enumerate(groups):
        owner[indices] = k
    labels = [name for name, _ in groups]
    for name in _without_objects(labels, types):
        middle = floor.emptiest(points)
        points = np.concatenate([points, np.array([middle])])
        owner = np.append(owner, len(labels))
        labels.append(name)
    tree = cKDTree(points)
    grid = owner[tree.query(floor.cells.reshape(-1, 2))[1]].reshape(floor.shape)
    rooms = _rooms(labels, grid, floor.cells)

    def room_at(point: Sequence[float]) -> str:
        return rooms[int(owner[tree.query(np.asarray(point[:2]))[1]])].id

    beds = [k for k, label in enumerate(labels) if label.lower() == BEDROOM]
    where = np.isin(grid, beds) if types is not None and beds else None
    return FloorPlan(rooms, _gates(grid, floor.cells, rooms), floor.emptiest(spots, where), room_at)


class _Floor:
    """The rectangle about all objects and starts, in cells."""

    def __init__(self, spots: Points, starts: Sequence[tuple[float, float]]) -> None:
        everything = np.concatenate([spots, np.array(starts).reshape(-1, 2)])
        low, high = everything.min(axis=0) - 1.0, everything.max(axis=0) + 1.0
        nx, ny = (max(math.ceil(d / CELL), 1) for d in high - low)
        if nx * ny > MAX_CELLS:
            raise ValueError(f"a floor of {high[0] - low[0]:.0f} x {high[1] - low[1]:.0f} m")
        self.shape = (nx, ny)
        xs, ys = low[0] + CELL * (np.arange(nx) + 0.5), low[1] + CELL * (np.arange(ny) + 0.5)
        self.cells: Points = np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=2)
        inner = (self.cells > low + 1.0).all(axis=2) & (self.cells < high - 1.0).all(axis=2)
        self._inner: npt.NDArray[np.bool_] = inner if inner.any() else np.ones_like(inner)

    def emptiest(
        self, points: Points, where: npt.NDArray[np.bool_] | None = None
    ) -> tuple[float, float]:
        """Return the middle of the largest circle without a point, among the cells `where`."""
        allowed = self._inner if where is None else self._inner & where
        if not allowed.any() and where is not None:
            allowed = where
        cells = self.cells[allowed]
        best = cells[int(cKDTree(points).query(cells)[0].argmax())]
        return (float(best[0]), float(best[1]))


def _groups(
    spots: Points, names: Sequence[str], types: Sequence[str] | None
) -> list[tuple[str, Indices]]:
    """Objects of one room: (name of the room, indices), those far apart told apart."""
    found: list[tuple[str, Indices]] = []
    for name in dict.fromkeys(names):
        indices = np.flatnonzero(np.array(names) == name)
        labels = np.ones(len(indices), dtype=np.int64)
        if len(indices) > 1:
            tree = linkage(spots[indices], "single")
            labels = np.asarray(fcluster(tree, APART, "distance"), dtype=np.int64)
            most = sum(one == name for one in types) if types is not None else len(indices)
            if most and labels.max() > most:
                labels = np.asarray(fcluster(tree, most, "maxclust"), dtype=np.int64)
        for k in sorted(set(labels.tolist())):
            found.append((name, indices[labels == k]))
    return found


def _without_objects(labels: Sequence[str], types: Sequence[str] | None) -> list[str]:
    """Names of rooms of the floor plan in which no object lies, bedrooms first."""
    left = list(types or ())
    for label in labels:
        if label in left:
            left.remove(label)
    return sorted(left, key=lambda name: name.lower() != BEDROOM)


def _rooms(labels: Sequence[str], grid: Indices, cells: Points) -> list[HomeRoom]:
    rooms: list[HomeRoom] = []
    for k, name in enumerate(labels):
        inside = cells[grid == k]
        # The cell nearest the middle: of an L-shaped room the middle itself may be outside.
        center = inside[np.linalg.norm(inside - inside.mean(axis=0), axis=1).argmin()]
        (x0, y0), (x1, y1) = inside.min(axis=0) - CELL / 2, inside.max(axis=0) + CELL / 2
        number = 1 + sum(room.type == name.lower() for room in rooms)
        rooms.append(
            HomeRoom(
                f"{name.lower()}-{number}",
                f"{name.lower()} {number}",
                name.lower(),
                (float(center[0]), float(center[1]), 0.0),
                ((x0, y0), (x1, y0), (x1, y1), (x0, y1)),
            )
        )
    return rooms


def _gates(grid: Indices, cells: Points, rooms: Sequence[HomeRoom]) -> list[Gate]:
    borders: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for dx, dy in ((1, 0), (0, 1)):
        a, b = grid[: grid.shape[0] - dx, : grid.shape[1] - dy], grid[dx:, dy:]
        for i, j in zip(*np.nonzero(a != b), strict=True):
            pair = (int(min(a[i, j], b[i, j])), int(max(a[i, j], b[i, j])))
            middle = (cells[i, j] + cells[i + dx, j + dy]) / 2.0
            borders.setdefault(pair, []).append((float(middle[0]), float(middle[1])))
    gates = []
    for (one, other), found in sorted(borders.items()):
        if len(found) * CELL >= DOOR:
            points = np.array(found)
            middle = points[np.linalg.norm(points - points.mean(axis=0), axis=1).argmin()]
            at = (float(middle[0]), float(middle[1]), 0.0)
            gates.append(Gate(f"door-{one}-{other}", rooms[one].id, rooms[other].id, at, at))
    return gates
