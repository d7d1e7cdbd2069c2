"""What there is to be drawn: the structure of a house, bodies of robots, soups of triangles."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Pose
from habitat_bridge.embedded.house import House
from habitat_bridge.embedded.mesh import ObjectMesh, structure_meshes

Surface = ObjectMesh
Floats = npt.NDArray[np.float32]

_LIGHT = np.array([0.351, 0.251, 0.902], dtype=np.float32)  # unit length
_ROBOT_COLOR = (235, 120, 40)
_SIDES = 12  # of a robot's body, and triangles per group of the structure: a box has so many


class Soup(NamedTuple):
    """Triangles of many surfaces, in groups that lie close together.

    vertices (N, 3) float32 [m], triangles (M, 3) uint32, colors (M, 3) uint8 RGB as they are lit,
    instances (M,) int32. groups (G, 4) int64: the first vertex of a group, the one after its last,
    and the same for triangles. boxes (G, 6) float64 [m]: low and high corner of each group. The
    first `solid` groups are the structure, which hides most of the rest.
    """

    vertices: Floats
    triangles: npt.NDArray[np.uint32]
    colors: npt.NDArray[np.uint8]
    instances: npt.NDArray[np.int32]
    groups: npt.NDArray[np.int64]
    boxes: npt.NDArray[np.float64]
    solid: int


def make_soup(
    structure: Surface,
    structure_instances: npt.NDArray[np.int32],
    things: Sequence[tuple[Surface, int]],
) -> Soup:
    """Return the soup of a structure, with an instance number per triangle, and of things."""
    parts = [structure, *(surface for surface, _ in things)]
    vertices = np.concatenate([part.vertices for part in parts])
    shift = np.cumsum([0, *(len(part.vertices) for part in parts)])
    triangles = np.concatenate(
        [part.triangles + np.uint32(k) for part, k in zip(parts, shift, strict=False)]
    ).astype(np.uint32)
    instances = np.concatenate(
        [
            structure_instances,
            *(np.full(len(surface.triangles), n, dtype=np.int32) for surface, n in things),
        ]
    ).astype(np.int32)
    count = len(structure.triangles)
    first = [*range(0, count, _SIDES)]
    solid = len(first)
    for surface, _ in things:
        first.append(count)
        count += len(surface.triangles)
    after = np.array([*first[1:], count])
    starts = np.array(first, dtype=np.int64)
    filled = starts < after
    solid = int(filled[:solid].sum())
    starts, after = starts[filled], after[filled]
    low = np.minimum.reduceat(triangles.min(axis=1), starts).astype(np.int64)
    high = np.maximum.reduceat(triangles.max(axis=1), starts).astype(np.int64) + 1
    corners = vertices[triangles]
    boxes = np.concatenate(
        [
            np.minimum.reduceat(corners.min(axis=1), starts),
            np.maximum.reduceat(corners.max(axis=1), starts),
        ],
        axis=1,
    ).astype(np.float64)
    colors = np.concatenate([part.color for part in parts])
    colors = (colors * _light(corners)[:, None]).astype(np.uint8)
    groups = np.stack([low, high, starts, after], axis=1)
    return Soup(vertices, triangles, colors, instances, groups, boxes, solid)


def join(soups: Sequence[Soup]) -> Soup:
    """Return one soup of several; none of it is taken for structure."""
    if not soups:
        return _NOTHING
    if len(soups) == 1:
        return soups[0]._replace(solid=0)
    points = np.cumsum([0, *(len(soup.vertices) for soup in soups)])
    faces = np.cumsum([0, *(len(soup.triangles) for soup in soups)])
    shifts = np.stack([points, points, faces, faces], axis=1)
    return Soup(
        np.concatenate([soup.vertices for soup in soups]),
        np.concatenate(
            [s.triangles + np.uint32(k) for s, k in zip(soups, points, strict=False)]
        ).astype(np.uint32),
        np.concatenate([soup.colors for soup in soups]),
        np.concatenate([soup.instances for soup in soups]),
        np.concatenate([s.groups + shift for s, shift in zip(soups, shifts, strict=False)]),
        np.concatenate([soup.boxes for soup in soups]),
        0,
    )


@functools.lru_cache(maxsize=64)
def cylinder(radius: float, height: float) -> Soup:
    """Return a robot's body [m] at the origin; its arrays are shared and not to be changed."""
    surface = robot_surface(Pose((0.0, 0.0, 0.0)), radius, height)
    nothing = Surface(surface.vertices[:0], surface.triangles[:0], surface.color[:0])
    return make_soup(nothing, np.zeros(0, dtype=np.int32), [(surface, 0)])


def robot_surface(pose: Pose, radius: float, height: float) -> Surface:
    """Return a robot's body as a cylinder [m]."""
    x, y, z = pose.position
    angles = np.arange(_SIDES) * (math.tau / _SIDES)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1) * radius + (x, y)
    return upright_prism(ring, z, z + height, _ROBOT_COLOR)


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
    parts = {name: mesh for name, mesh in structure_meshes(house).items() if len(mesh.triangles)}
    shift = np.cumsum([0, *(len(mesh.vertices) for mesh in parts.values())])
    surface = Surface(
        np.concatenate([mesh.vertices for mesh in parts.values()]),
        np.concatenate(
            [m.triangles + np.uint32(k) for m, k in zip(parts.values(), shift, strict=False)]
        ),
        np.concatenate([mesh.color for mesh in parts.values()]),
    )
    numbers = dict(enumerate(parts, start=1))
    counts = [len(mesh.triangles) for mesh in parts.values()]
    return surface, np.repeat(np.arange(1, len(parts) + 1, dtype=np.int32), counts), numbers


def _light(corners: Floats) -> Floats:
    """Return brightness (0..1) per triangle (M, 3, 3): two-sided Lambert with ambient light."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.sqrt((normals * normals).sum(axis=1))
    facing = np.abs((normals * _LIGHT).sum(axis=1)) / np.maximum(length, np.float32(1e-12))
    return (np.float32(0.62) + np.float32(0.38) * facing).astype(np.float32)


_NOTHING = Soup(
    np.zeros((0, 3), dtype=np.float32),
    np.zeros((0, 3), dtype=np.uint32),
    np.zeros((0, 3), dtype=np.uint8),
    np.zeros(0, dtype=np.int32),
    np.zeros((0, 4), dtype=np.int64),
    np.zeros((0, 6)),
    0,
)
