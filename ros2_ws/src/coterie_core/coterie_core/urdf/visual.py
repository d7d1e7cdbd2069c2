"""What a robot looks like: the surface of its URDF's visual shapes, at rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from coterie_core.urdf.meshes import Faces, Meshes
from coterie_core.urdf.reading import MAX_METERS
from coterie_core.urdf.tree import Shape, Tree

Array = npt.NDArray[np.float64]
_MAX_FACES = 20_000
"""Most faces of one shape; of a finer one the convex hull is shown."""

_NOTHING = np.empty((0, 3)), np.empty((0, 3), np.int64)


def surface(tree: Tree, folders: Sequence[Path] = ()) -> tuple[Array, Faces]:
    """Return a robot's vertices (n, 3), in the frame of its root [m], and its faces (m, 3).

    Of a link without visual shapes the collision shapes are taken; a mesh that cannot be read is
    left out.

    Args:
        tree: The robot.
        folders: Where meshes may lie: the URDF's folder and those of packages.
    """
    meshes, poses = Meshes(folders), tree.poses(tree.resting())
    points, faces, count = [_NOTHING[0]], [_NOTHING[1]], 0
    for name, link in tree.links.items():
        shapes = [shape for shape in link.shapes if not shape.collision] or link.shapes
        for shape in shapes:
            vertices, triangles = _surface(shape, meshes)
            pose = poses[name] @ shape.pose
            points.append(vertices @ pose[:3, :3].T + pose[:3, 3])
            faces.append(triangles + count)
            count += len(vertices)
    return np.concatenate(points), np.concatenate(faces)


def _surface(shape: Shape, meshes: Meshes) -> tuple[Array, Faces]:
    import trimesh  # heavy

    size = shape.size
    if shape.kind == "mesh":
        read = meshes.surface(shape.file)
        if isinstance(read, str) or not np.isfinite(read[0]).all():
            return _NOTHING
        mesh = trimesh.Trimesh(read[0] * np.array(size), read[1], process=False)
        if len(mesh.faces) > _MAX_FACES:
            mesh = mesh.convex_hull
    elif min(size) <= 0.0:
        return _NOTHING
    elif shape.kind == "box":
        mesh = trimesh.creation.box(size)
    elif shape.kind == "cylinder":
        mesh = trimesh.creation.cylinder(size[0], size[1], sections=24)
    else:
        mesh = trimesh.creation.icosphere(2, size[0])
    if not len(mesh.faces) or np.abs(mesh.vertices).max() > MAX_METERS:
        return _NOTHING
    return np.asarray(mesh.vertices, np.float64), np.asarray(mesh.faces, np.int64)
