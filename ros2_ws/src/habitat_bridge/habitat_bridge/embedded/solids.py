"""Surfaces made of upright prisms, and the structure of a house as one."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.scene import SceneObject
from habitat_bridge.embedded.house import House

Floats = npt.NDArray[np.float32]


@dataclass(slots=True)
class Surface:
    """Triangles: vertices (V, 3) [m], triangles (T, 3), RGB per triangle (T, 3) uint8."""

    vertices: Floats
    triangles: npt.NDArray[np.uint32]
    color: npt.NDArray[np.uint8]


def upright_prism(
    ring: npt.NDArray[np.float64], low: float, high: float, color: tuple[int, int, int]
) -> Surface:
    """Return the convex prism over a polygon.

    Args:
        ring: Outline (N, 2) [m].
        low: Height of the base [m].
        high: Height of the top [m].
        color: RGB.
    """
    count = len(ring)
    vertices = np.zeros((2 * count, 3), dtype=np.float32)
    vertices[:count, :2], vertices[count:, :2] = ring, ring
    vertices[:count, 2], vertices[count:, 2] = low, high
    k = np.arange(count)
    after = (k + 1) % count
    fan = np.arange(1, count - 1)
    triangles = np.concatenate(
        [
            np.stack([k, after, after + count], axis=1),
            np.stack([k, after + count, k + count], axis=1),
            np.stack([np.zeros_like(fan), fan + 1, fan], axis=1),
            np.stack([np.full_like(fan, count), fan + count, fan + 1 + count], axis=1),
        ]
    ).astype(np.uint32)
    colors = np.broadcast_to(np.array(color, dtype=np.uint8), (len(triangles), 3)).copy()
    return Surface(vertices, triangles, colors)


def structure_surface(
    house: House,
) -> tuple[Surface, npt.NDArray[np.int32], dict[int, str]]:
    """Return walls, floors, ceilings and stairs: surface, instance per triangle, labels."""
    import shapely

    from coterie_core.geometry import Box

    parts: list[tuple[Surface, int]] = []
    for wall in house.walls:
        dx, dy = wall.end[0] - wall.start[0], wall.end[1] - wall.start[1]
        center = ((wall.start[0] + wall.end[0]) / 2, (wall.start[1] + wall.end[1]) / 2, 0.0)
        slab = Box(
            center, (float(np.hypot(dx, dy)), wall.thickness, 0.0), float(np.arctan2(dy, dx))
        )
        ring = np.array(slab.footprint())
        parts.append((upright_prism(ring, wall.base, wall.base + wall.height, (225, 220, 210)), 1))
    wells = [shapely.Polygon(stairs.well) for stairs in house.stairs if stairs.well]
    for floor in house.floors:
        for room in house.rooms:
            if room.floor != floor.id:
                continue
            shape = shapely.Polygon(room.polygon)
            for well in wells:
                shape = shape.difference(well) if floor.index > 0 else shape
            for tri in shapely.get_parts(shapely.constrained_delaunay_triangles(shape)):
                ring = np.array(tri.exterior.coords)[:3]
                z = floor.elevation
                parts.append((upright_prism(ring, z - 0.02, z, (180, 150, 120)), 2))
    for stairs in house.stairs:
        for tread in stairs.treads:
            ring = np.array(tread.footprint())
            parts.append((upright_prism(ring, tread.bottom, tread.top, (150, 120, 90)), 3))
    shift = np.cumsum([0, *(len(s.vertices) for s, _ in parts)])
    surface = Surface(
        np.concatenate([s.vertices for s, _ in parts]),
        np.concatenate(
            [s.triangles + np.uint32(k) for (s, _), k in zip(parts, shift, strict=False)]
        ),
        np.concatenate([s.color for s, _ in parts]),
    )
    instances = np.concatenate([np.full(len(s.triangles), n, dtype=np.int32) for s, n in parts])
    return surface, instances, {1: "wall", 2: "floor", 3: "stairs"}


def thing_surface(thing: SceneObject) -> Surface:
    """Return a thing's surface; an open container has no front."""
    ring = np.array(thing.box.footprint())
    seed = zlib.crc32(thing.label.top.encode())
    color = (80 + seed % 150, 80 + (seed >> 8) % 150, 80 + (seed >> 16) % 150)
    full = upright_prism(ring, thing.box.bottom, thing.box.top, color)
    if thing.is_open:
        keep = np.ones(len(full.triangles), dtype=bool)
        keep[[0, 4]] = False
        return Surface(full.vertices, full.triangles[keep], full.color[keep])
    return full
