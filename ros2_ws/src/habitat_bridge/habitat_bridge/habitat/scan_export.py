"""Houses written the way scans come: one mesh with annotated parts, as HM3D and Matterport3D are.

For tests of such scenes on the real simulator: these data sets cannot be given away.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import shapely

from coterie_core.frames import yup_to_zup
from coterie_core.geometry import Box
from coterie_world.scene import Room
from habitat_bridge.habitat.house_file import MP3D_ROOMS
from habitat_bridge.house.glb import glb_bytes
from habitat_bridge.house.house import House
from habitat_bridge.render.mesh import ObjectMesh, object_mesh, structure_meshes

HM3D_HEADER = "HM3D Semantic Annotations"
# Odd, so that numbers below 2^24 keep apart: neighbours in the list get unlike colours.
_SPREAD = 0x9E3779


@dataclass(frozen=True, slots=True)
class Part:
    """One annotated part of a scan: a thing's id ("" for structure), label, region (-1: none)."""

    thing: str
    label: str
    region: int
    mesh: ObjectMesh
    box: Box


def scan_parts(house: House) -> list[Part]:
    """Return the parts of a house in the order of their numbers, which begin at 1.

    Every room has a floor of its own; other structure belongs to no region.
    """
    rooms = {room.id: k for k, room in enumerate(house.rooms)}
    parts = []
    for name, mesh in structure_meshes(house).items():
        if name == "floor":
            parts += [
                Part("", "floor", k, piece, _extent(piece))
                for k, piece in _by_room(house, mesh)
                if len(piece.triangles)
            ]
        else:
            parts.append(Part("", name, -1, mesh, _extent(mesh)))
    for thing in house.objects:
        mesh = object_mesh(thing, thing.is_open)
        region = rooms.get(thing.room, -1)
        parts.append(Part(thing.id, thing.label.top, region, mesh, _extent(mesh)))
    return parts


def save_hm3d(house: House, folder: Path, name: str = "00001-House") -> Path:
    """Write a house in the layout of HM3D with semantics; return the data set's config.

    `<id>.basis.glb` is what is seen and stood on, z up; `<id>.semantic.glb` the same triangles,
    each part in one colour (linear, as glTF wants them); `<id>.semantic.txt` tells number, colour,
    label and region of each.

    Raises:
        OSError: The folder cannot be written.
    """
    place = folder / "minival" / name
    place.mkdir(parents=True)
    scene = name.rpartition("-")[2]
    parts = scan_parts(house)
    lines = [HM3D_HEADER]
    painted = []
    for number, part in enumerate(parts, start=1):
        code = number * _SPREAD & 0xFFFFFF
        lines.append(f'{number},{code:06X},"{part.label}",{part.region}')
        color = np.array([code >> 16, code >> 8 & 255, code & 255], dtype=np.uint8)
        painted.append(_dyed(part.mesh, color))
    (place / f"{scene}.basis.glb").write_bytes(_scan_glb([p.mesh for p in parts]))
    (place / f"{scene}.semantic.glb").write_bytes(_scan_glb(painted, linear=True))
    (place / f"{scene}.semantic.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return _save_config(
        folder / "hm3d_annotated_basis.scene_dataset_config.json",
        "minival/*/*.basis.glb",
        {
            "semantic_descriptor_filename": "%%CONFIG_NAME_AS_ASSET_FILENAME%%.semantic.txt",
            "semantic_asset": "%%CONFIG_NAME_AS_ASSET_FILENAME%%.semantic.glb",
        },
    )


def save_mp3d(house: House, folder: Path, name: str = "house") -> Path:
    """Write a house in the layout of Matterport3D; return the data set's config.

    `<id>.glb` is what is seen, z up; `<id>_semantic.ply` has the number of its object at every
    face; `<id>.house` tells levels, regions with outlines, doors as portals, categories, objects.

    Raises:
        OSError: The folder cannot be written.
    """
    place = folder / name
    place.mkdir(parents=True)
    parts = scan_parts(house)
    (place / f"{name}.glb").write_bytes(_scan_glb([p.mesh for p in parts]))
    _write_ply(place / f"{name}_semantic.ply", parts)
    (place / f"{name}.house").write_text(_house_text(house, parts, name), encoding="ascii")
    # habitat-sim 0.2.2 turns the PLY upright by itself: the stage's z up must not turn it again.
    return _save_config(
        folder / "mp3d.scene_dataset_config.json",
        "*/*.glb",
        {
            "semantic_descriptor_filename": "%%CONFIG_NAME_AS_ASSET_FILENAME%%.house",
            "semantic_asset": "%%CONFIG_NAME_AS_ASSET_FILENAME%%_semantic.ply",
            "semantic_up": [0, 1, 0],
            "semantic_front": [0, 0, -1],
        },
    )


def _by_room(house: House, floors: ObjectMesh) -> list[tuple[int, ObjectMesh]]:
    """Deal out the triangles of all floors: each to the nearest room of its storey."""
    middle = floors.vertices[floors.triangles.astype(np.int64)].mean(axis=1)
    levels = {floor.id: floor.elevation for floor in house.floors}
    points = shapely.points(middle[:, :2])

    def off(room: Room) -> npt.NDArray[np.float64]:
        flat = shapely.distance(shapely.Polygon(room.polygon), points)
        return np.asarray(flat + 100.0 * np.abs(middle[:, 2] - levels[room.floor]))

    nearest = np.argmin([off(room) for room in house.rooms], axis=0)
    return [
        (k, ObjectMesh(floors.vertices, floors.triangles[nearest == k], floors.color[nearest == k]))
        for k in range(len(house.rooms))
    ]


def _extent(mesh: ObjectMesh) -> Box:
    points = mesh.vertices[np.unique(mesh.triangles)].astype(np.float64)
    low, high = points.min(axis=0), points.max(axis=0)
    (x, y, z), (a, b, c) = ((low + high) / 2.0).tolist(), (high - low).tolist()
    return Box((x, y, z), (a, b, c))


def _dyed(mesh: ObjectMesh, color: npt.NDArray[np.uint8]) -> ObjectMesh:
    return ObjectMesh(mesh.vertices, mesh.triangles, np.tile(color, (len(mesh.triangles), 1)))


def _merged(meshes: Sequence[ObjectMesh]) -> ObjectMesh:
    offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    return ObjectMesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate(
            [m.triangles + np.uint32(o) for m, o in zip(meshes, offsets, strict=False)]
        ).astype(np.uint32),
        np.concatenate([mesh.color for mesh in meshes]),
    )


def _scan_glb(meshes: Sequence[ObjectMesh], *, linear: bool = False) -> bytes:
    """A GLB whose own z points up, as those of scans: turned, so that the writer turns it back."""
    whole = _merged(meshes)
    turned = yup_to_zup(whole.vertices.astype(np.float64)).astype(np.float32)
    return glb_bytes([("scan", ObjectMesh(turned, whole.triangles, whole.color))], linear=linear)


def _save_config(path: Path, stages: str, attributes: dict[str, object]) -> Path:
    attributes = {
        "shader_type": "flat",
        "up": [0, 0, 1],
        "front": [0, 1, 0],
        "origin": [0, 0, 0],
        **attributes,
    }
    data = {"stages": {"default_attributes": attributes, "paths": {".glb": [stages]}}}
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return path


def _write_ply(path: Path, parts: Sequence[Part]) -> None:
    """Binary PLY: corners with colour, faces with the number of their object."""
    whole = _merged([part.mesh for part in parts])
    corners = np.zeros(
        3 * len(whole.triangles),
        dtype=[("at", "<f4", 3), ("rgb", "u1", 3)],
    )
    corners["at"] = whole.vertices[whole.triangles.reshape(-1).astype(np.int64)]
    corners["rgb"] = np.repeat(whole.color, 3, axis=0)
    faces = np.zeros(
        len(whole.triangles), dtype=[("count", "u1"), ("corner", "<i4", 3), ("object_id", "<i4")]
    )
    faces["count"] = 3
    faces["corner"] = np.arange(len(corners), dtype=np.int32).reshape(-1, 3)
    faces["object_id"] = np.repeat(
        np.arange(1, len(parts) + 1), [len(part.mesh.triangles) for part in parts]
    )
    head = [
        "ply",
        "format binary_little_endian 1.0",
        f"element vertex {len(corners)}",
        *(f"property float {axis}" for axis in "xyz"),
        *(f"property uchar {channel}" for channel in ("red", "green", "blue")),
        f"element face {len(faces)}",
        "property list uchar int vertex_indices",
        "property int object_id",
        "end_header\n",
    ]
    path.write_bytes("\n".join(head).encode() + corners.tobytes() + faces.tobytes())


def _house_text(house: House, parts: Sequence[Part], name: str) -> str:
    """Return the `.house` file: ASCII 1.1 with its lines H, L, R, P, S, V, C, O."""
    codes = {label: code for code, label in MP3D_ROOMS.items()}
    levels = {floor.id: k for k, floor in enumerate(house.floors)}
    rooms = {room.id: k for k, room in enumerate(house.rooms)}
    labels = sorted({part.label for part in parts})
    corners = [(k, point) for k, room in enumerate(house.rooms) for point in room.polygon]
    zeros = "0 0 0 0 0"
    lines = []
    for floor in house.floors:
        inside = [room for room in house.rooms if room.floor == floor.id]
        box = _bounds(inside, floor.elevation, floor.elevation + floor.ceiling_height)
        lines.append(f"L {levels[floor.id]} {len(inside)} l {box[0]} {box[1]} {zeros}")
    for room in house.rooms:
        floor = house.floors[levels[room.floor]]
        box = _bounds([room], floor.elevation, floor.elevation + floor.ceiling_height)
        k, code, high = rooms[room.id], codes.get(room.type, "x"), floor.ceiling_height
        lines.append(f"R {k} {levels[room.floor]} 0 0 {code} {box[0]} {box[1]} {high} 0 0 0 0")
    for k, door in enumerate(house.doors):
        (x, y, z), half = door.center, door.width / 2.0
        span = f"{x - half} {y - half} {z} {x + half} {y + half} {z + door.height}"
        lines.append(f"P {k} {rooms[door.room_a]} {rooms[door.room_b]} d {span} 0 0 0 0")
    for room in house.rooms:
        k, z = rooms[room.id], house.floors[levels[room.floor]].elevation
        box = _bounds([room], z, z)
        lines.append(f"S {k} {k} 0 {box[0]} 0 0 1 {box[1]} {zeros}")
    for number, (k, (x, y)) in enumerate(corners):
        z = house.floors[levels[house.rooms[k].floor]].elevation
        lines.append(f"V {number} {k} 0 {x} {y} {z} 0 0 1 0 0 0")
    for k, label in enumerate(labels):
        word = label.replace(" ", "#")
        lines.append(f"C {k} {k} {word} {k} {word} {zeros}")
    # Numbers begin at 1: 0 in an image is nothing. So the first is a stand-in.
    lines.append("O 0 -1 -1 0 0 0 1 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0")
    for number, part in enumerate(parts, start=1):
        center = " ".join(f"{v:.4f}" for v in part.box.center)
        radii = " ".join(f"{v / 2.0:.4f}" for v in part.box.size)
        category = labels.index(part.label)
        lines.append(
            f"O {number} {part.region} {category} {center} 1 0 0 0 1 0 {radii} 0 0 0 0 0 0 0 0"
        )
    whole = _bounds(house.rooms, 0.0, house.floors[-1].elevation + 3.0)
    counts = (
        f"0 0 {len(corners)} {len(house.rooms)} 0 {len(parts) + 1} {len(labels)} "
        f"{len(house.rooms)} {len(house.doors)} {len(house.floors)}"
    )
    head = f"H {name} {name} {counts} 0 0 0 0 0 {whole[1]} 0 0 0 0 0"
    return "\n".join(["ASCII 1.1", head, *lines]) + "\n"


def _bounds(rooms: Sequence[Room], low: float, high: float) -> tuple[str, str]:
    """Return the middle at the bottom and the extent of rooms as text [m]."""
    xs = [x for room in rooms for x, _ in room.polygon]
    ys = [y for room in rooms for _, y in room.polygon]
    mid = f"{(min(xs) + max(xs)) / 2.0} {(min(ys) + max(ys)) / 2.0} {low}"
    return mid, f"{min(xs)} {min(ys)} {low} {max(xs)} {max(ys)} {high}"
