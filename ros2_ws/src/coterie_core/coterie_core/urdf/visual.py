"""What a robot looks like: the surfaces of its URDF's visual shapes, at rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie_core.urdf.meshes import Meshes
from coterie_core.urdf.reading import MAX_METERS
from coterie_core.urdf.tree import Shape, Tree

_MAX_FACES = 20_000
"""Most faces of one shape; of a finer one the convex hull is shown."""


def surfaces(tree: Tree, folders: Sequence[Path] = ()) -> list[Any]:
    """Return a robot's shapes, each a `trimesh.Trimesh` in the frame of its root [m].

    Of a link without visual shapes the collision shapes are taken; a mesh that cannot be read is
    left out.

    Args:
        tree: The robot.
        folders: Where meshes may lie: the URDF's folder and those of packages.
    """
    meshes, poses, parts = Meshes(folders), tree.poses(tree.resting()), []
    for name, link in tree.links.items():
        for shape in [one for one in link.shapes if not one.collision] or link.shapes:
            part = _surface(shape, meshes)
            if part is not None and len(part.faces) and np.abs(part.vertices).max() < MAX_METERS:
                parts.append(part.apply_transform(poses[name] @ shape.pose))
    return parts


def _surface(shape: Shape, meshes: Meshes) -> Any:
    import trimesh  # heavy

    size = shape.size
    if shape.kind == "mesh":
        read = meshes.surface(shape.file)
        if isinstance(read, str) or not np.isfinite(read[0]).all():
            return None
        mesh = trimesh.Trimesh(read[0] * np.array(size), read[1], process=False)
        return mesh if len(mesh.faces) <= _MAX_FACES else mesh.convex_hull
    if min(size) <= 0.0:
        return None
    if shape.kind == "box":
        return trimesh.creation.box(size)
    if shape.kind == "cylinder":
        return trimesh.creation.cylinder(size[0], size[1], sections=24)
    return trimesh.creation.icosphere(2, size[0])
