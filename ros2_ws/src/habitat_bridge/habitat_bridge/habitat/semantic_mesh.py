"""Boxes of annotated objects from a semantic mesh, by the colours of its vertices or face ids."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie_core.frames import yup_to_zup
from coterie_core.geometry import Box
from habitat_bridge.habitat.assets import load_mesh
from habitat_bridge.habitat.data_files import Refused
from habitat_bridge.habitat.transforms import Array

_REACH = 1e4  # [m] nothing in a home lies farther from the origin
_FACE_IDS = ("object_id", "objectid", "segment_id")


def colour_boxes(
    path: Path, rotation: Array, offset: Array, known: Collection[int] = ()
) -> dict[int, Box]:
    """Return colour (RRGGBB as a number) -> upright box in the map frame [m].

    Vertex colours are taken where the mesh has them, else the colour of its texture at each
    vertex. A vertex between two objects counts for the colour that it has. Vertex colours of glTF
    are linear and habitat-sim takes them so, but not every writer does: read both ways, that counts
    in which more of the `known` colours occur.

    Args:
        path: A mesh as HM3D's `.semantic.glb`.
        rotation: (3, 3) from the mesh's frame to the y-up world.
        offset: (3,) then added [m].
        known: The colours that are looked for; none: they are taken as they are.

    Raises:
        Refused: The mesh cannot be read, or has neither vertex colours nor a texture.
    """
    places, plain, linear = [], [], []
    for geometry, matrix in _geometries(path):
        share, texture = _vertex_colors(geometry)
        if share is None:
            continue
        corners = np.asarray(geometry.vertices, dtype=np.float64)
        corners = corners @ matrix[:3, :3].T + matrix[:3, 3]
        places.append(yup_to_zup(corners @ rotation.T + offset))
        plain.append(_codes(share))
        linear.append(plain[-1] if texture else _codes(_encoded(share)))
    if not plain:
        raise Refused(f"{path}: expected vertex colours or a texture, it has neither")
    points = np.concatenate(places)
    readings = [np.concatenate(plain), np.concatenate(linear)]
    wanted = np.array(sorted(known), dtype=np.int64)
    return _boxes_by(max(readings, key=lambda codes: int(np.isin(wanted, codes).sum())), points)


def face_boxes(path: Path, rotation: Array, offset: Array) -> dict[int, Box]:
    """Return object number -> box of a mesh whose faces carry numbers, as `_semantic.ply` does.

    Raises:
        Refused: The mesh cannot be read, or its faces carry no numbers.
    """
    mesh = load_mesh(path)
    raw = mesh.metadata.get("_ply_raw", {}).get("face", {}).get("data")
    ids = None
    if raw is not None:
        names = raw.dtype.names or () if hasattr(raw, "dtype") else tuple(raw)
        name = next((n for n in _FACE_IDS if n in names), None)
        ids = None if name is None else np.asarray(raw[name]).reshape(-1)
    if ids is None or len(ids) != len(mesh.faces):
        raise Refused(f"{path}: expected faces with one of {', '.join(_FACE_IDS)}")
    points = yup_to_zup(np.asarray(mesh.triangles, dtype=np.float64) @ rotation.T + offset)
    return _boxes_by(np.repeat(ids.astype(np.int64), 3), points.reshape(-1, 3))


def _boxes_by(codes: npt.NDArray[np.int64], points: Array) -> dict[int, Box]:
    sound = (np.abs(points) < _REACH).all(axis=1)  # False for what is not a number, too
    codes, points = codes[sound], points[sound]
    if not len(codes):
        return {}
    order = np.argsort(codes, kind="stable")
    codes, points = codes[order], points[order]
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
    low = np.minimum.reduceat(points, starts)
    high = np.maximum.reduceat(points, starts)
    boxes = {}
    for code, a, b in zip(codes[starts], low, high, strict=True):
        c, s = (a + b) / 2.0, b - a
        boxes[int(code)] = Box(
            (float(c[0]), float(c[1]), float(c[2])), (float(s[0]), float(s[1]), float(s[2]))
        )
    return boxes


def _geometries(path: Path) -> list[tuple[Any, Array]]:
    """Return each mesh of a file with the (4, 4) that puts it into the file's frame."""
    import trimesh

    if path.suffix.lower() not in (".glb", ".gltf"):
        return [(load_mesh(path), np.eye(4))]
    from habitat_bridge.habitat.data_files import MESH_LIMIT

    try:
        if path.stat().st_size > MESH_LIMIT:
            raise Refused(f"{path}: over the limit for meshes")
        scene = trimesh.load(path, force="scene", process=False)
        found = []
        for node in scene.graph.nodes_geometry:
            matrix, name = scene.graph[node]
            found.append((scene.geometry[name], np.asarray(matrix, dtype=np.float64)))
        return found
    except Refused:
        raise
    except Exception as error:  # Each of trimesh's readers has exceptions of its own.
        raise Refused(f"{path}: cannot be read as a mesh ({type(error).__name__})") from None


def _vertex_colors(mesh: Any) -> tuple[Array | None, bool]:
    """Return red, green, blue (0..1) at each vertex, and whether they are those of a texture."""
    visual = mesh.visual
    attributes = getattr(visual, "vertex_attributes", {}) or {}
    rgba, texture = None, False
    if visual.kind == "vertex":
        rgba = np.asarray(visual.vertex_colors)
    elif "color" in attributes:
        rgba = np.asarray(attributes["color"])
    elif visual.kind == "texture":
        rgba, texture = _texel_colors(visual), True
    if rgba is None or rgba.ndim != 2 or len(rgba) != len(mesh.vertices):
        return None, texture
    whole = 1.0 if rgba.dtype.kind == "f" else float(np.iinfo(rgba.dtype).max)
    return rgba[:, :3].astype(np.float64) / whole, texture


def _encoded(share: Array) -> Array:
    """Return linear light as the sRGB values of it, both 0..1."""
    low = share <= 0.0031308
    return np.where(low, 12.92 * share, 1.055 * np.maximum(share, 0.0) ** (1.0 / 2.4) - 0.055)


def _codes(share: Array) -> npt.NDArray[np.int64]:
    rgb = np.round(np.clip(share, 0.0, 1.0) * 255.0).astype(np.int64)
    return np.asarray((rgb[:, 0] << 16) | (rgb[:, 1] << 8) | rgb[:, 2], dtype=np.int64)


def _texel_colors(visual: Any) -> npt.NDArray[Any] | None:
    """The texel at each vertex, unfiltered: mixed colours would be those of other objects."""
    image = getattr(visual.material, "baseColorTexture", None)
    if image is None:
        image = getattr(visual.material, "image", None)
    if image is None or visual.uv is None:
        return None
    pixels = np.asarray(image.convert("RGB"))
    uv = np.asarray(visual.uv, dtype=np.float64) % 1.0
    rows = np.clip(((1.0 - uv[:, 1]) * pixels.shape[0]).astype(int), 0, pixels.shape[0] - 1)
    columns = np.clip((uv[:, 0] * pixels.shape[1]).astype(int), 0, pixels.shape[1] - 1)
    return np.asarray(pixels[rows, columns])
