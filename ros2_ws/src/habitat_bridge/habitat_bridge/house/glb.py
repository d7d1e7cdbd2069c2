"""Write coloured triangles as binary glTF 2.0: y up, unlit, a named node per mesh."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie_core.frames import zup_to_yup
from habitat_bridge.render.mesh import ObjectMesh

_FLOAT, _USHORT, _UINT = 5126, 5123, 5125
_ARRAY_BUFFER, _INDEX_BUFFER = 34962, 34963


def glb_bytes(meshes: Sequence[tuple[str, ObjectMesh]], *, linear: bool = True) -> bytes:
    """Return a GLB file of named meshes given in a z-up frame.

    Corners are not shared, so that each triangle keeps its own colour and its edges stay sharp.

    Args:
        meshes: (node name, mesh); empty meshes are left out.
        linear: Whether colours are converted from sRGB to linear, as glTF demands and viewers
            expect. habitat-sim shows vertex colours as they are: give it False.
    """
    blob = bytearray()
    views: list[dict[str, Any]] = []
    accessors: list[dict[str, Any]] = []
    nodes: list[dict[str, Any]] = []
    gltf_meshes: list[dict[str, Any]] = []

    def accessor(data: npt.NDArray[Any], kind: str, component: int, **more: Any) -> int:
        views.append(
            {
                "buffer": 0,
                "byteOffset": len(blob),
                "byteLength": data.nbytes,
                "target": _INDEX_BUFFER if component == _UINT else _ARRAY_BUFFER,
            }
        )
        blob.extend(data.tobytes())
        blob.extend(b"\0" * (-len(blob) % 4))
        entry = {"bufferView": len(views) - 1, "componentType": component, "type": kind}
        accessors.append({**entry, "count": len(data), **more})
        return len(accessors) - 1

    for name, mesh in meshes:
        if not len(mesh.triangles):
            continue
        corners = mesh.vertices[mesh.triangles.astype(np.int64)].astype(np.float64)
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        # A triangle without area has no normal; any unit vector is valid.
        normals = np.where(length > 1e-12, normals / np.maximum(length, 1e-12), (0.0, 0.0, 1.0))
        points = zup_to_yup(corners.reshape(-1, 3)).astype("<f4")
        upright = zup_to_yup(np.repeat(normals, 3, axis=0)).astype("<f4")
        attributes = {
            "POSITION": accessor(
                points, "VEC3", _FLOAT, min=points.min(0).tolist(), max=points.max(0).tolist()
            ),
            "NORMAL": accessor(upright, "VEC3", _FLOAT),
            "COLOR_0": accessor(_colors(mesh, linear), "VEC4", _USHORT, normalized=True),
        }
        # Needless as such, but habitat-sim collides and walks on indexed meshes only.
        indices = accessor(np.arange(len(points), dtype="<u4"), "SCALAR", _UINT)
        primitive = {"attributes": attributes, "indices": indices, "material": 0, "mode": 4}
        gltf_meshes.append({"name": name, "primitives": [primitive]})
        nodes.append({"name": name, "mesh": len(gltf_meshes) - 1})
    root = {
        "asset": {"version": "2.0", "generator": "coterie"},
        "scene": 0,
        "scenes": [{"nodes": list(range(len(nodes)))}],
        "nodes": nodes,
        "meshes": gltf_meshes,
        "materials": [
            {
                "name": "unlit",
                "doubleSided": True,
                "pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 0.9},
                "extensions": {"KHR_materials_unlit": {}},
            }
        ],
        "extensionsUsed": ["KHR_materials_unlit"],
        "buffers": [{"byteLength": len(blob)}],
        "bufferViews": views,
        "accessors": accessors,
    }
    text = json.dumps(root, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    total = 12 + 8 + len(text) + 8 + len(blob)
    return b"".join(
        (
            struct.pack("<4sII", b"glTF", 2, total),
            struct.pack("<I4s", len(text), b"JSON"),
            text,
            struct.pack("<I4s", len(blob), b"BIN\0"),
            bytes(blob),
        )
    )


def _colors(mesh: ObjectMesh, linear: bool) -> npt.NDArray[np.uint16]:
    """Return RGBA (3 M, 4) of all corners, 16 bits a channel."""
    share = mesh.color.astype(np.float64) / 255.0
    if linear:
        share = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    rgba = np.hstack([share, np.ones((len(share), 1))])
    return np.repeat(np.round(rgba * 65535.0), 3, axis=0).astype("<u2")
