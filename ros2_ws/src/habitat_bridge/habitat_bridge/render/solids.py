"""What there is to be drawn: the structure of a house, bodies of robots, soups of triangles."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Pose
from habitat_bridge.house.house import House
from habitat_bridge.render.mesh import ObjectMesh, structure_meshes

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


def make_soup(surface: Surface, instances: npt.NDArray[np.int32]) -> Soup:
    """Return the soup of a structure, with an instance number per triangle."""
    count = len(surface.triangles)
    corners = surface.vertices[surface.triangles]
    groups = np.zeros((-(-count // _SIDES), 4), dtype=np.int64)
    boxes = np.zeros((len(groups), 6))
    for k, first in enumerate(range(0, count, _SIDES)):
        after = min(first + _SIDES, count)
        used = surface.triangles[first:after]
        groups[k] = used.min(), int(used.max()) + 1, first, after
        points = corners[first:after].reshape(-1, 3)
        boxes[k] = *points.min(axis=0), *points.max(axis=0)
    colors = (surface.color * _light(corners)[:, None]).astype(np.uint8)
    return Soup(surface.vertices, surface.triangles, colors, instances, groups, boxes, len(groups))


def with_things(
    soup: Soup, things: Sequence[tuple[Surface, int]], boxes: npt.NDArray[np.float64]
) -> Soup:
    """Return a soup with things in it, one group each.

    Args:
        soup: What they are added to.
        things: Surface and instance number of each.
        boxes: Their low and high corners (N, 6) [m].
    """
    if not things:
        return soup
    surfaces = [surface for surface, _ in things]
    vertices = np.concatenate([soup.vertices, *(s.vertices for s in surfaces)])
    points = np.cumsum([len(soup.vertices), *(len(s.vertices) for s in surfaces)])
    faces = np.cumsum([len(soup.triangles), *(len(s.triangles) for s in surfaces)])
    shift = np.repeat(points[:-1].astype(np.uint32), np.diff(faces))
    triangles = np.concatenate([s.triangles for s in surfaces]) + shift[:, None]
    colors = np.concatenate([s.color for s in surfaces])
    numbers = np.array([number for _, number in things], dtype=np.int32)
    return Soup(
        vertices,
        np.concatenate([soup.triangles, triangles]),
        np.concatenate(
            [soup.colors, (colors * _light(vertices[triangles])[:, None]).astype(np.uint8)]
        ),
        np.concatenate([soup.instances, np.repeat(numbers, np.diff(faces))]),
        np.concatenate(
            [soup.groups, np.stack([points[:-1], points[1:], faces[:-1], faces[1:]], axis=1)]
        ),
        np.concatenate([soup.boxes, boxes]),
        soup.solid,
    )


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
    box = np.array([*surface.vertices.min(axis=0), *surface.vertices.max(axis=0)], dtype=float)
    return with_things(_NOTHING, [(surface, 0)], box[None])


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
    x, y, z = corners[..., 0], corners[..., 1], corners[..., 2]
    ux, uy, uz = x[:, 1] - x[:, 0], y[:, 1] - y[:, 0], z[:, 1] - z[:, 0]
    vx, vy, vz = x[:, 2] - x[:, 0], y[:, 2] - y[:, 0], z[:, 2] - z[:, 0]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    length = np.sqrt(nx * nx + ny * ny + nz * nz)
    along = np.abs(nx * _LIGHT[0] + ny * _LIGHT[1] + nz * _LIGHT[2])
    facing = along / np.maximum(length, np.float32(1e-12))
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
