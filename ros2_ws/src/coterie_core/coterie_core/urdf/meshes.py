"""Surfaces and corners of mesh files, read only from the folders that were allowed.

A mesh path in a URDF is somebody's text: it is resolved below the URDF's own folder or the package
folders given, never fetched and never followed outside of them.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np
import numpy.typing as npt

from coterie_core.files import LFS_REMEDY, is_lfs_pointer
from coterie_core.urdf.xacro import package_of

Array = npt.NDArray[np.float64]
Faces = npt.NDArray[np.int64]

MAX_MESH_BYTES = 64 * 2**20
FORMATS = ("stl", "obj", "ply", "glb", "off", "dae")


class Meshes:
    """Reads meshes of one URDF; each file once.

    Args:
        folders: The URDF's folder and the folders of packages. The package that such a folder lies
            in counts, too, under the name in its package.xml.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [folder.resolve() for folder in folders]
        self._packages = dict(filter(None, map(package_of, folders)))
        self._cache: dict[str, Array | str] = {}

    def corners(self, name: str) -> Array | str:
        """Return the corners (n, 3) of a mesh's convex hull, unscaled, or why there are none."""
        if name not in self._cache:
            self._cache[name] = self._corners(name)
        return self._cache[name]

    def _corners(self, name: str) -> Array | str:
        read = self.surface(name)
        if isinstance(read, str):
            return read
        points = read[0][np.isfinite(read[0]).all(axis=1)]
        return hull_corners(points) if len(points) > 2 else "has no surface"

    def surface(self, name: str) -> tuple[Array, Faces] | str:
        """Return a mesh's vertices (n, 3), unscaled, and its faces (m, 3), or why there are none.

        A mesh of points alone has no faces.
        """
        path = self.find(name)
        if isinstance(path, str):
            return path
        kind = path.suffix.lower().lstrip(".")
        if kind not in FORMATS:
            return f"format {kind!r} is not read"
        try:
            if path.stat().st_size > MAX_MESH_BYTES:
                return f"larger than {MAX_MESH_BYTES // 2**20} MiB"
            import trimesh  # heavy, and most URDFs come without their meshes

            if is_lfs_pointer(path):
                return f"is a pointer of git-lfs: {LFS_REMEDY}"
            # From memory and without a resolver: materials and textures beside it stay unread.
            loaded = trimesh.load(io.BytesIO(path.read_bytes()), file_type=kind, process=False)
            mesh = loaded.to_mesh() if hasattr(loaded, "to_mesh") else loaded
            points = np.asarray(mesh.vertices, dtype=np.float64).reshape(-1, 3)
            faces = np.asarray(getattr(mesh, "faces", ()), dtype=np.int64).reshape(-1, 3)
            if kind == "dae":
                # COLLADA states its unit, which counts; its up axis is left aside, as RViz does.
                points = points * _unit(getattr(loaded, "units", None))
        except Exception as error:  # whatever a broken file makes the reader raise
            return f"cannot be read ({type(error).__name__})"
        return points, faces

    def find(self, name: str) -> Path | str:
        """Return the file that a mesh name of the URDF means, or why there is none."""
        url = urlparse(name)
        missing = "is missing"
        places = list(self._folders)
        if url.scheme in ("package", "model"):
            tails = [f"{url.netloc}{url.path}", url.path.lstrip("/")]
            if url.netloc in self._packages:
                places.insert(0, self._packages[url.netloc])
            else:
                missing += f": give the folder of package {url.netloc} (--package)"
        elif url.scheme == "file":
            tails = [unquote(url.path)]
        elif "://" in name:
            return "is not on this computer: meshes are never fetched"
        else:
            tails = [name]
        outside = False
        for folder in places:
            for tail in tails:
                try:
                    path = (folder / tail).resolve()
                    if not path.is_relative_to(folder):
                        outside = True
                    elif path.is_file():
                        return path
                except (OSError, ValueError):
                    continue
        return "lies outside of the URDF's folder" if outside else missing


def _unit(text: object) -> float:
    """Return the unit that trimesh read of a file [m], such as ``0.01 * meters``."""
    import trimesh

    return float(trimesh.units.unit_conversion(str(text or "meters"), "meters"))


def hull_corners(points: Array) -> Array:
    """Return the points on the convex hull; all of them when they lie in a plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        return points
