"""Extents of assets: glTF from its header alone, other meshes by trimesh, URDF joint by joint."""

from __future__ import annotations

import json
import struct
import xml.etree.ElementTree as Xml
from pathlib import Path
from typing import Any

import numpy as np

from coterie_core.urdf.tree import pose_of
from habitat_bridge.habitat.data_files import (
    JSON_LIMIT,
    MESH_LIMIT,
    Refused,
    confined,
    read_text,
)
from habitat_bridge.habitat.transforms import Array, corners, rotation_matrix
from habitat_bridge.simulator import WorldError

Bounds = tuple[Array, Array]
_MESH_SUFFIXES = {".obj", ".ply", ".stl", ".dae", ".off"}
_EXTENT_LIMIT = (
    1e4  # [asset's units] nothing in a home is as large in metres, inches or centimetres
)


def bounds(path: Path) -> Bounds:
    """Return the lowest and highest corner (3,) of an asset in its own frame and units.

    Raises:
        Refused: Missing, of unknown kind, broken, empty, or absurdly large.
    """
    suffix = path.suffix.lower()
    try:
        if suffix in (".glb", ".gltf"):
            low, high = _gltf_bounds(path)
        elif suffix in _MESH_SUFFIXES:
            low, high = _mesh_bounds(path)
        else:
            raise Refused(f"{path}: expected a mesh (.glb, .gltf, .obj, .ply, .stl, .dae)")
    except OSError as error:
        raise Refused(f"{path}: cannot be read ({error.strerror})") from None
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all()):
        raise Refused(f"{path}: holds no geometry")
    if float(np.abs(np.stack([low, high])).max()) > _EXTENT_LIMIT:
        raise Refused(f"{path}: an extent of over {_EXTENT_LIMIT:g} units is absurd")
    return low, high


def gltf_header(path: Path) -> dict[str, Any]:
    """Return the JSON part of a .glb or .gltf file; geometry and textures are not read.

    Raises:
        Refused: Not glTF, or the header is broken or too large.
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        magic = file.read(12)
        if magic[:4] == b"glTF":
            head = file.read(8)
            if len(head) < 8 or head[4:] != b"JSON":
                raise Refused(f"{path}: expected a JSON chunk first, as glTF 2 has")
            (length,) = struct.unpack("<I", head[:4])
        else:
            file.seek(0)
            length = path.stat().st_size
        if length > JSON_LIMIT:
            raise Refused(f"{path}: a header of {length} bytes is too large")
        text = file.read(length)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise Refused(f"{path}: expected glTF 2, its header is no JSON") from None
    if not isinstance(data, dict):
        raise Refused(f"{path}: expected glTF 2, its header is no JSON object")
    return data


def _gltf_bounds(path: Path) -> Bounds:
    """Corners of every primitive's extent, moved by its nodes (glTF demands min and max)."""
    data = gltf_header(path)
    points: list[Array] = []
    try:
        nodes, meshes = data.get("nodes", []), data.get("meshes", [])
        accessors = data.get("accessors", [])
        scenes = data.get("scenes") or [{"nodes": list(range(len(nodes)))}]
        roots = scenes[data.get("scene", 0)].get("nodes", [])
        stack = [(k, np.eye(4)) for k in roots]
        visits = 0
        while stack:
            k, parent = stack.pop()
            visits += 1
            if visits > 4 * len(nodes) + 16:
                raise Refused(f"{path}: nodes contain one another")
            node = nodes[k]
            matrix = parent @ _node_matrix(node)
            stack += [(child, matrix) for child in node.get("children", [])]
            if "mesh" not in node:
                continue
            for primitive in meshes[node["mesh"]]["primitives"]:
                accessor = accessors[primitive["attributes"]["POSITION"]]
                box = corners(accessor["min"], accessor["max"])
                points.append(box @ matrix[:3, :3].T + matrix[:3, 3])
    except Refused:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise Refused(f"{path}: broken glTF ({type(error).__name__}: {error})") from None
    if not points:
        raise Refused(f"{path}: holds no geometry")
    cloud = np.concatenate(points)
    return cloud.min(axis=0), cloud.max(axis=0)


def _node_matrix(node: dict[str, Any]) -> Array:
    if "matrix" in node:
        return np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
    matrix = np.eye(4)
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    scale = np.array(node.get("scale", (1.0, 1.0, 1.0)), dtype=np.float64)
    matrix[:3, :3] = rotation_matrix((w, x, y, z)) * scale
    matrix[:3, 3] = node.get("translation", (0.0, 0.0, 0.0))
    return matrix


def load_mesh(path: Path) -> Any:
    """Return a file's geometry as one trimesh in the file's frame.

    Raises:
        Refused: Missing, too large, of a kind that is not understood, or empty.
    """
    import trimesh  # Slow to load, and often not needed.

    try:
        size = path.stat().st_size
        if size > MESH_LIMIT:
            raise Refused(f"{path}: {size / 2**20:.0f} MB is over the limit for meshes")
        mesh = trimesh.load(path, force="mesh", process=False)
    except Refused:
        raise
    except Exception as error:  # Each of trimesh's readers has exceptions of its own.
        raise Refused(f"{path}: cannot be read as a mesh ({type(error).__name__})") from None
    if not len(getattr(mesh, "vertices", ())):
        raise Refused(f"{path}: holds no geometry")
    return mesh


def _mesh_bounds(path: Path) -> Bounds:
    low, high = np.asarray(load_mesh(path).bounds, dtype=np.float64)
    return low, high


def urdf_bounds(path: Path, root: Path) -> tuple[Bounds, int]:
    """Return the extent of an articulated object with all joints at zero, and how many can move.

    The frame is that of the URDF's root link; lengths [m].

    Raises:
        Refused: Not a URDF, no geometry, or links that contain one another.
    """
    tree = _urdf_tree(path)
    links = {link.get("name", ""): link for link in tree.iter("link")}
    parents: dict[str, tuple[str, Array]] = {}
    moving = 0
    for joint in tree.iter("joint"):
        parent, child = joint.find("parent"), joint.find("child")
        if parent is None or child is None:
            continue
        origin = _origin(path, joint)
        parents[child.get("link", "")] = (parent.get("link", ""), origin)
        moving += joint.get("type") in ("revolute", "prismatic", "continuous")
    points: list[Array] = []
    for name, link in links.items():
        matrix, link_name = np.eye(4), name
        for _ in range(len(links) + 1):
            if link_name not in parents:
                break
            link_name, origin = parents[link_name]
            matrix = origin @ matrix
        else:
            raise Refused(f"{path}: link {name!r} hangs on itself")
        for shape in (*link.iterfind("visual"), *link.iterfind("collision")):
            box = _shape_bounds(path, root, shape)
            if box is not None:
                whole = matrix @ _origin(path, shape)
                points.append(corners(*box) @ whole[:3, :3].T + whole[:3, 3])
    if not points:
        raise Refused(f"{path}: no link has a shape that can be read")
    cloud = np.concatenate(points)
    return (cloud.min(axis=0), cloud.max(axis=0)), moving


def _urdf_tree(path: Path) -> Xml.Element:
    try:
        text = read_text(path, "URDF")
    except WorldError as error:
        raise Refused(str(error)) from None
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise Refused(f"{path}: a URDF needs no document type or entities; it is not read")
    try:
        tree = Xml.fromstring(text)
    except Xml.ParseError as error:
        raise Refused(f"{path}: expected a URDF, it is no XML ({error})") from None
    if tree.tag != "robot":
        raise Refused(f"{path}: expected a URDF with the element robot, got {tree.tag!r}")
    return tree


def _shape_bounds(path: Path, root: Path, shape: Xml.Element) -> Bounds | None:
    """Return the extent of one visual or collision shape (None: missing or unreadable)."""
    geometry = shape.find("geometry")
    if geometry is None or not len(geometry):
        return None
    kind = geometry[0]
    half: Array
    if kind.tag == "box":
        half = _floats(path, kind, "size", 3, "1 1 1") / 2.0
    elif kind.tag == "sphere":
        half = np.full(3, _floats(path, kind, "radius", 1, "1")[0])
    elif kind.tag in ("cylinder", "capsule"):
        radius = _floats(path, kind, "radius", 1, "1")[0]
        half = np.array([radius, radius, _floats(path, kind, "length", 1, "1")[0] / 2.0])
    elif kind.tag == "mesh":
        scale = _floats(path, kind, "scale", 3, "1 1 1")
        name = kind.get("filename", "").removeprefix("file://")
        try:
            low, high = bounds(confined(root, path.parent, name))
        except Refused:
            return None
        ends = np.stack([low * scale, high * scale])
        return ends.min(axis=0), ends.max(axis=0)
    else:
        return None
    return -half, half


def _origin(path: Path, element: Xml.Element) -> Array:
    origin = element.find("origin")
    if origin is None:
        return np.eye(4)
    xyz, rpy = (_floats(path, origin, name, 3, "0 0 0").tolist() for name in ("xyz", "rpy"))
    return pose_of(xyz, rpy)


def _floats(path: Path, element: Xml.Element, name: str, count: int, default: str) -> Array:
    try:
        values = np.array([float(v) for v in element.get(name, default).split()])
    except ValueError:
        values = np.array([])
    if values.shape != (count,) or not np.isfinite(values).all():
        raise Refused(
            f"{path}: {element.tag}.{name}: expected {count} numbers, got {element.get(name)!r}"
        )
    return values
