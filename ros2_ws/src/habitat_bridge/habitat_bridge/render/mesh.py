"""A house as triangles: one mesh with an instance number and a colour per triangle."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import shapely
from shapely.geometry import Polygon

from coterie_core.colors import color_names
from coterie_core.geometry import Box
from coterie_world.scene import SceneObject
from habitat_bridge.house.house import Door, House, Wall
from habitat_bridge.house.surfaces import level_of
from habitat_bridge.render.mesh_parts import Parts, Rgb, parse_color, shade
from habitat_bridge.render.mesh_shapes import build_shape

STRUCTURE = ("", "wall", "floor", "ceiling", "door frame", "stairs")
WALL_COLORS: tuple[Rgb, ...] = ((232, 228, 218), (226, 230, 232), (236, 230, 222), (228, 232, 222))
FLOOR_COLORS: dict[str, Rgb] = {
    "kitchen": (188, 182, 172),
    "bathroom": (176, 188, 194),
    "toilet": (176, 188, 194),
    "laundry room": (182, 184, 186),
    "garage": (140, 140, 142),
    "balcony": (150, 146, 138),
    "gym": (110, 114, 120),
    "entryway": (168, 156, 142),
}
WOOD_FLOORS: tuple[Rgb, ...] = ((176, 136, 96), (158, 120, 82), (190, 152, 110), (136, 100, 70))
CEILING: Rgb = (242, 242, 238)
FRAME: Rgb = (206, 200, 188)
STAIR: Rgb = (150, 112, 78)


@dataclass(slots=True)
class ObjectMesh:
    """Triangles of one object in the map frame.

    vertices (N, 3) float32 [m], triangles (M, 3) uint32, color (M, 3) uint8 RGB per triangle.
    """

    vertices: npt.NDArray[np.float32]
    triangles: npt.NDArray[np.uint32]
    color: npt.NDArray[np.uint8]


def object_mesh(
    thing: SceneObject, is_open: bool | None = None, *, box: Box | None = None
) -> ObjectMesh:
    """Return the mesh of one object, inside its box.

    Args:
        thing: The object; its properties "shape", "color" and "level" say what it looks like.
        is_open: Whether a container is drawn without its front; None: as `thing.is_open` says.
        box: Where it is now, if not at `thing.box`.
    """
    at = box or thing.box
    opened = bool(thing.is_open if is_open is None else is_open)
    color = parse_color(thing.properties.get("color", ""))
    shape = thing.properties.get("shape", "box")
    parts = build_shape(shape, at.size, color, opened, level_of(thing))
    vertices, triangles, colors = parts.arrays()
    c, s = math.cos(at.yaw), math.sin(at.yaw)
    turned = vertices @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    turned += (at.center[0], at.center[1], at.bottom)
    return ObjectMesh(turned.astype(np.float32), triangles.astype(np.uint32), colors)


def shown_colors(thing: SceneObject) -> dict[str, float]:
    """Return the name of every color that an object is drawn with, with its share of the surface.

    Args:
        thing: The object, as for `object_mesh`.
    """
    mesh = object_mesh(thing)
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    shares: dict[str, float] = {}
    for name, area in zip(color_names(mesh.color), areas / areas.sum(), strict=True):
        shares[name] = shares.get(name, 0.0) + float(area)
    return shares


def structure_meshes(house: House) -> dict[str, ObjectMesh]:
    """Return the structure's meshes by what they are: wall, floor, ceiling, door frame, stairs."""
    parts = {name: Parts() for name in STRUCTURE[1:]}
    for wall in house.walls:
        _add_wall(parts["wall"], wall, _pick(WALL_COLORS, wall.floor, house.seed))
    for door in house.doors:
        if door.kind == "door":
            _add_frame(parts["door frame"], door)
    _add_slabs(parts, house)
    for stairs in house.stairs:
        for k, tread in enumerate(stairs.treads):
            (x0, y0, z0), (x1, y1, z1) = tread.axis_aligned()
            color = STAIR if k % 2 else shade(STAIR, 0.92)
            parts["stairs"].box((x0, x1), (y0, y1), (z0, z1), color)
    meshes = {}
    for name, part in parts.items():
        vertices, triangles, colors = part.arrays()
        meshes[name] = ObjectMesh(vertices.astype(np.float32), triangles.astype(np.uint32), colors)
    return meshes


def _add_wall(parts: Parts, wall: Wall, color: Rgb) -> None:
    half = wall.thickness / 2.0
    (x0, y0), (x1, y1) = wall.start, wall.end
    x, y = (min(x0, x1), max(x0, x1)), (min(y0, y1), max(y0, y1))
    if x[1] - x[0] > y[1] - y[0]:
        y = (y[0] - half, y[1] + half)
    else:
        x = (x[0] - half, x[1] + half)
    parts.box(x, y, (wall.base, wall.base + wall.height), color)


def _add_frame(parts: Parts, door: Door) -> None:
    """Jambs and lintel outside the clear width, a little proud of the wall."""
    # 2 mm within the gap: faces that lie in the wall's own would flicker in images.
    half, wide, deep = door.width / 2.0 - 0.002, 0.052, 0.06
    z, top = door.center[2], door.center[2] + door.height - 0.002
    upright = abs(math.sin(door.yaw)) > 0.5
    x, y = door.center[:2]
    for a0, a1, z0, z1 in (
        (-half - wide, -half, z, top + wide),
        (half, half + wide, z, top + wide),
        (-half, half, top, top + wide),
    ):
        along, across = (a0, a1), (-deep, deep)
        xs, ys = (across, along) if upright else (along, across)
        parts.box((x + xs[0], x + xs[1]), (y + ys[0], y + ys[1]), (z0, z1), FRAME)


def _add_slabs(parts: dict[str, Parts], house: House) -> None:
    levels = {floor.id: floor for floor in house.floors}
    for room in house.rooms:
        floor = levels[room.floor]
        outline = Polygon(room.polygon)
        below = [Polygon(s.well) for s in house.stairs if s.room_high == room.id]
        above = [Polygon(s.well) for s in house.stairs if s.room_low == room.id]
        color = FLOOR_COLORS.get(room.type) or _pick(WOOD_FLOORS, floor.id, house.seed)
        _add_plane(parts["floor"], outline, below, floor.elevation, color, up=True)
        if room.type != "balcony":
            ceiling = floor.elevation + floor.ceiling_height
            _add_plane(parts["ceiling"], outline, above, ceiling, CEILING, up=False)
        for stairs in house.stairs:
            if stairs.room_high == room.id:
                low = levels[next(r.floor for r in house.rooms if r.id == stairs.room_low)]
                _add_rim(parts["floor"], stairs.well, low.elevation + low.ceiling_height,
                         floor.elevation)  # fmt: skip


def _add_plane(
    parts: Parts, outline: Polygon, holes: list[Polygon], z: float, color: Rgb, *, up: bool
) -> None:
    shape = outline.difference(shapely.union_all(holes)) if holes else outline
    for triangle in shapely.get_parts(shapely.constrained_delaunay_triangles(shape)):
        ring = np.array(triangle.exterior.coords)[:3]
        ccw = bool(triangle.exterior.is_ccw)
        order = (0, 1, 2) if ccw == up else (0, 2, 1)
        parts.add(np.column_stack([ring, np.full(3, z)]), [order], color)


def _add_rim(parts: Parts, well: list[tuple[float, float]], z0: float, z1: float) -> None:
    """The slab's cut faces around a well, as thin boards that do not narrow it."""
    x0, y0 = min(p[0] for p in well), min(p[1] for p in well)
    x1, y1 = max(p[0] for p in well), max(p[1] for p in well)
    t = 0.01
    for x, y in (
        ((x0 - t, x0), (y0, y1)),
        ((x1, x1 + t), (y0, y1)),
        ((x0, x1), (y0 - t, y0)),
        ((x0, x1), (y1, y1 + t)),
    ):
        parts.box(x, y, (z0, z1), shade(CEILING, 0.92))


def _pick(colors: tuple[Rgb, ...], name: str, seed: int) -> Rgb:
    return colors[zlib.crc32(f"{seed}/{name}".encode()) % len(colors)]
