"""Regions of a house from its navmesh: the floor is parted where it is narrow, as at doors.

Many data sets say nothing of rooms. The connectivity of regions that EMOS's first layer needs is
then computed here from the navigable area of each storey: a watershed of the distance to the
nearest wall, in which basins run together unless the neck between them is narrow.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from coterie_core.geometry import Vec2, Vec3
from coterie_world.free_space.partition import Labels, RegionSettings, outline, partition
from coterie_world.scene import Connection, Floor, Room
from habitat_bridge.habitat.navgrid import Array, NavGrid, rasterise


@dataclass(slots=True)
class Regions:
    """Computed storeys, regions (rooms without a kind) and ways between them, in the map frame."""

    floors: list[Floor] = field(default_factory=list)
    rooms: list[Room] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def regions_from_navmesh(
    triangles: npt.ArrayLike, settings: RegionSettings | None = None
) -> Regions:
    """Part the navigable area of a house into regions and find the ways between them.

    Args:
        triangles: (n, 3, 3) corners of the navmesh's triangles in the z-up map frame [m].
        settings: How to part it.

    Raises:
        ValueError: Not such an array, or it holds no area.
    """
    settings = settings or RegionSettings()
    grid = rasterise(triangles, settings.cell)
    result = Regions(
        floors=[Floor(f"floor-{k}", k, round(z, 4)) for k, z in enumerate(grid.elevations)]
    )
    labels: list[Labels] = []
    for k, mask in enumerate(grid.masks):
        parted = partition(mask, settings)
        base = len(result.rooms)
        layer = np.zeros(mask.shape, dtype=np.int32)
        for region in range(1, int(parted.max(initial=0)) + 1):
            cells = parted == region
            ring = outline(cells, grid.origin, settings.cell, settings.outline_tolerance)
            if len(ring) < 3:
                continue
            number = len(result.rooms) + 1
            layer[cells] = number
            result.rooms.append(
                Room(f"region_{number}", f"region {number}", "", f"floor-{k}", ring)
            )
        labels.append(layer)
        if len(result.rooms) == base:
            result.notes.append(f"floor {k}: no region of {settings.min_area} m^2 or more")
    result.connections = _connections(grid, labels, settings)
    result.notes.append(
        f"{len(result.rooms)} regions and {len(result.connections)} ways between them are computed"
        " from the navmesh; the data set has none"
    )
    return result


def connections_from_navmesh(
    rooms: dict[str, Room],
    floors: dict[str, Floor],
    triangles: npt.ArrayLike,
    settings: RegionSettings | None = None,
) -> list[Connection]:
    """Find the ways between rooms with known outlines: where the navmesh crosses over.

    Args:
        rooms: Rooms by id; those without an outline are left out.
        floors: Their storeys.
        triangles: (n, 3, 3) corners of the navmesh's triangles in the z-up map frame [m].
        settings: Cell size and the robot's radius.

    Raises:
        ValueError: `triangles` is no such array, or it holds no area.
    """
    settings = settings or RegionSettings()
    grid = rasterise(triangles, settings.cell)
    names = list(rooms)
    labels = []
    for mask, elevation in zip(grid.masks, grid.elevations, strict=True):
        storey = min(floors.values(), key=lambda f: abs(f.elevation - elevation), default=None)
        layer = np.zeros(mask.shape, dtype=np.int32)
        for number, name in enumerate(names, start=1):
            room = rooms[name]
            if len(room.polygon) < 3 or (storey and room.floor and room.floor != storey.id):
                continue
            layer[grid.inside(room.polygon) & mask] = number
        # Doorways lie between outlines: each free cell goes to the room that it is nearest to.
        labels.append(_grown(layer, mask, reach=0.6 / settings.cell))
    found = _connections(grid, labels, settings)
    for way in found:
        way.room_a = names[int(way.room_a.split("_")[1]) - 1]
        way.room_b = names[int(way.room_b.split("_")[1]) - 1]
    return found


def _grown(layer: Labels, mask: npt.NDArray[np.bool_], reach: float) -> Labels:
    if not layer.any():
        return layer
    away, (rows, columns) = ndimage.distance_transform_edt(layer == 0, return_indices=True)
    grown = np.where(mask & (away <= reach), layer[rows, columns], 0)
    return np.asarray(grown, dtype=np.int32)


def _connections(grid: NavGrid, labels: list[Labels], settings: RegionSettings) -> list[Connection]:
    """Ways between regions that touch, and by flights of stairs between storeys."""
    found: list[Connection] = []
    for layer, elevation in zip(labels, grid.elevations, strict=True):
        for (a, b), cells in sorted(_borders(layer).items()):
            for group in _groups(cells):
                centre = group.mean(axis=0)
                spread = float(np.linalg.norm(np.ptp(group, axis=0)) + 1.0) * settings.cell
                x, y = grid.point(centre)
                width = round(spread + 2.0 * settings.agent_radius, 3)
                kind = "door" if width < settings.door_width else "opening"
                at: Vec3 = (x, y, elevation)
                found.append(
                    Connection(
                        f"way_{len(found) + 1}",
                        f"region_{a}",
                        f"region_{b}",
                        "door" if kind == "door" else "opening",
                        at,
                        width,
                    )
                )
    for flight in grid.flights:
        ends = [(k, layer, cells) for k, cells in flight.touches for layer in (labels[k],)]
        regions: dict[int, tuple[int, Vec2]] = {}
        for k, layer, touched in ends:
            numbers = layer[touched[:, 0], touched[:, 1]]
            numbers = numbers[numbers > 0]
            if len(numbers):
                x, y = grid.point(touched.mean(axis=0))
                regions[k] = (int(np.bincount(numbers).argmax()), (x, y))
        storeys = sorted(regions)
        for low, high in pairwise(storeys):
            (a, (x, y)), (b, _) = regions[low], regions[high]
            found.append(
                Connection(
                    f"way_{len(found) + 1}",
                    f"region_{a}",
                    f"region_{b}",
                    "stairs",
                    (x, y, grid.elevations[low]),
                    round(flight.width + 2.0 * settings.agent_radius, 3),
                    flight.riser,
                )
            )
    return found


def _borders(layer: Labels) -> dict[tuple[int, int], list[tuple[float, float]]]:
    """Return for each pair of regions the midpoints (row, column) of the edges they share."""
    borders: defaultdict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for dr, dc in ((1, 0), (0, 1)):
        a = layer[: layer.shape[0] - dr, : layer.shape[1] - dc]
        b = layer[dr:, dc:]
        for r, c in np.argwhere((a != b) & (a > 0) & (b > 0)):
            p, q = int(a[r, c]), int(b[r, c])
            borders[min(p, q), max(p, q)].append((r + dr / 2.0, c + dc / 2.0))
    return dict(borders)


def _groups(points: list[tuple[float, float]]) -> list[Array]:
    """Split border points into runs whose points are at most 2 cells apart."""
    from scipy.cluster.hierarchy import fcluster, linkage

    array = np.array(points, dtype=np.float64)
    if len(array) == 1:
        return [array]
    numbers = fcluster(linkage(array, "single"), 2.0, "distance")
    groups = [array[numbers == k] for k in range(1, int(numbers.max()) + 1)]
    return [g for g in groups if len(g) > 1 or len(groups) == 1]
