"""The structure of a house as one surface for rays, and prisms for robots' bodies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from habitat_bridge.embedded.house import House
from habitat_bridge.embedded.mesh import ObjectMesh, structure_meshes

Surface = ObjectMesh
Floats = npt.NDArray[np.float32]


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
