"""Shapes of a map to draw: boxes, edges and room floors as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from coterie_world.scene import SceneGraph, SceneObject
from semantic_mapper.files import color_of

MIN_EDGE_M = 0.03
"""Edge length [m] that thinner boxes are drawn with, so that they can be seen and clicked."""
MAX_SHELLS = 30
"""Largest boxes that are looked at for being around much of the rest."""

VIEW_RAD = np.radians(75.0)
"""Vertical field of view [rad]: that of viser's camera."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes as arrays, in the same order as `ids`.

    Attributes:
        ids: (N,) ids of the objects.
        centers: (N, 3) [m] relative to the shapes' origin.
        sizes: (N, 3) [m], at least `MIN_EDGE_M`.
        yaws: (N,) [rad].
        colors: (N, 3) 0..255, one colour per label.
    """

    ids: tuple[str, ...]
    centers: Floats
    sizes: Floats
    yaws: Floats
    colors: NDArray[np.uint8]

    def quaternions(self) -> Floats:
        """Return the rotations, (N, 4) as (w, x, y, z)."""
        zero = np.zeros_like(self.yaws)
        return np.stack([np.cos(self.yaws / 2), zero, zero, np.sin(self.yaws / 2)], axis=1)

    def edges(self, grow: float = 0.0) -> Floats:
        """Return the twelve edges of each box, (12 N, 2, 3) [m], grown by `grow` on each side."""
        signs = np.array([[x, y, z] for z in (-1, 1) for x, y in _CORNERS], dtype=float)
        half = self.sizes / 2 + grow
        local = signs[None] * half[:, None]
        c, s = np.cos(self.yaws)[:, None], np.sin(self.yaws)[:, None]
        x = c * local[..., 0] - s * local[..., 1]
        y = s * local[..., 0] + c * local[..., 1]
        corners = np.stack([x, y, local[..., 2]], axis=-1) + self.centers[:, None]
        return np.asarray(corners[:, _EDGES].reshape(-1, 2, 3))


@dataclass(frozen=True, slots=True)
class RoomShape:
    """A room's floor: name, triangles (vertices (V, 3), faces (F, 3)) and outline (E, 2, 3)."""

    id: str
    name: str
    vertices: Floats
    faces: NDArray[np.uint32]
    outline: Floats
    middle: Floats


@dataclass(frozen=True, slots=True)
class Storey:
    """What belongs to one floor of a house, or to none (`id` "").

    `shells` are boxes around much of the rest, as mappers make them of walls: drawn as edges only,
    and not clicked, since they would hide everything.
    """

    id: str
    name: str
    elevation: float
    solid: Boxes
    shells: Boxes
    rooms: tuple[RoomShape, ...]


@dataclass(frozen=True, slots=True)
class MapShapes:
    """A map to be drawn.

    Attributes:
        origin: Position that is subtracted from all others [m], so that far maps keep their
            precision.
        low: Lowest corner of everything, relative to the origin [m].
        high: Highest corner [m].
        storeys: The floors from below; a map without floors has one.
    """

    origin: Floats
    low: Floats
    high: Floats
    storeys: tuple[Storey, ...]


def map_shapes(scene: SceneGraph) -> MapShapes:
    """Return a map's shapes; an empty map has a floor of 4 x 4 m."""
    things = list(scene.objects.values())
    corners = [c for t in things for c in t.box.axis_aligned()]
    heights = {f.id: f.elevation for f in scene.floors.values()}
    corners += [
        (x, y, heights.get(r.floor, 0.0)) for r in scene.rooms.values() for x, y in r.polygon
    ]
    if not corners:
        corners = [(-2.0, -2.0, 0.0), (2.0, 2.0, 0.0)]
    points = np.array(corners, dtype=float)
    low, high = points.min(axis=0), points.max(axis=0)
    origin = np.round((low + high) / 2) * np.array([1.0, 1.0, 0.0])
    shells = _shells(things)
    storeys = []
    for floor_id, name, elevation in _storeys(scene):
        mine = [t for t in things if _floor_of(t, scene) == floor_id]
        rooms = [r for r in scene.rooms.values() if r.floor == floor_id and r.polygon]
        standing = shapely.union_all([shapely.Polygon(t.box.footprint()) for t in mine])
        shapes = [_room(r.id, r.name, r.polygon, elevation, origin, standing) for r in rooms]
        storeys.append(
            Storey(
                floor_id,
                name,
                elevation,
                _boxes([t for t in mine if t.id not in shells], origin),
                _boxes([t for t in mine if t.id in shells], origin),
                tuple(s for s in shapes if s is not None),
            )
        )
    return MapShapes(origin, low - origin, high - origin, tuple(storeys))


_CORNERS = ((-1, -1), (1, -1), (1, 1), (-1, 1))
_EDGES = [
    *([k, (k + 1) % 4] for k in range(4)),
    *([k + 4, (k + 1) % 4 + 4] for k in range(4)),
    *([k, k + 4] for k in range(4)),
]


def _boxes(things: Sequence[SceneObject], origin: Floats) -> Boxes:
    n = len(things)
    return Boxes(
        tuple(t.id for t in things),
        np.array([t.box.center for t in things], float).reshape(n, 3) - origin,
        np.maximum(np.array([t.box.size for t in things], float).reshape(n, 3), MIN_EDGE_M),
        np.array([t.box.yaw for t in things], float),
        np.array([color_of(t.label.top) for t in things], np.uint8).reshape(n, 3),
    )


def _shells(things: Sequence[SceneObject]) -> set[str]:
    """Ids of the boxes that hold the middles of a third of all other things, of six and more."""
    middles = np.array([t.box.center for t in things], float).reshape(-1, 3)
    found = set()
    for thing in sorted(things, key=lambda t: (-t.box.volume, t.id))[:MAX_SHELLS]:
        low, high = thing.box.axis_aligned()
        held = int(((middles > low) & (middles < high)).all(axis=1).sum()) - 1
        if held >= max(6, (len(things) - 1) / 3):
            found.add(thing.id)
    return found


def _storeys(scene: SceneGraph) -> list[tuple[str, str, float]]:
    floors = sorted(scene.floors.values(), key=lambda f: (f.elevation, f.id))
    named = [(f.id, f"Floor {k}", f.elevation) for k, f in enumerate(floors)]
    loose = any(r.floor not in scene.floors for r in scene.rooms.values())
    if named and not loose:
        return named
    bottoms = [t.box.bottom for t in scene.objects.values()]
    return [*named, ("", "Elsewhere" if named else "All", min(bottoms, default=0.0))]


def _floor_of(thing: SceneObject, scene: SceneGraph) -> str:
    """The floor of a thing's room; without one the highest floor that is below its middle."""
    room = scene.rooms.get(thing.room)
    if room is not None and (room.floor in scene.floors or room.floor == ""):
        return room.floor
    below = [f for f in scene.floors.values() if f.elevation <= thing.box.center[2]]
    lowest = min(scene.floors.values(), key=lambda f: f.elevation, default=None)
    best = max(below, key=lambda f: f.elevation, default=lowest)
    return best.id if best else ""


def _room(
    id_: str,
    name: str,
    polygon: Sequence[tuple[float, float]],
    z: float,
    origin: Floats,
    standing: Any,
) -> RoomShape | None:
    """A room's shape, its middle where least stands; None if its outline is no area."""
    if len(polygon) < 3 or not np.isfinite(np.array(polygon)).all():
        return None
    area = shapely.make_valid(shapely.Polygon(polygon))
    if area.area <= 0.0:
        return None
    triangles = [np.array(t.exterior.coords)[:3] for t in _triangles(area)]
    flat = np.array(triangles, float).reshape(-1, 2)
    vertices = np.concatenate([flat, np.full((len(flat), 1), z)], axis=1) - origin
    faces = np.arange(len(flat), dtype=np.uint32).reshape(-1, 3)
    ring = np.array([(x, y, z) for x, y in polygon], float) - origin
    outline = np.stack([ring, np.roll(ring, -1, axis=0)], axis=1)
    free = area.difference(standing.buffer(0.05))
    parts = [one for one in shapely.get_parts(free) if one.geom_type == "Polygon" and one.area]
    largest = max(parts or [area.convex_hull], key=lambda one: float(one.area))
    x, y = shapely.maximum_inscribed_circle(largest, tolerance=0.05).coords[0]
    return RoomShape(id_, name, vertices, faces, outline, np.array([x, y, z]) - origin)


def _triangles(area: Any) -> list[Any]:
    return [t for t in shapely.constrained_delaunay_triangles(area).geoms if not t.is_empty]


def look_from(low: Floats, high: Floats, aspect: float = 1.5) -> tuple[Floats, Floats]:
    """Return where to stand and what to look at [m] to see all between two corners.

    Args:
        low: Lowest corner [m].
        high: Highest corner [m].
        aspect: Width of the view by its height.
    """
    if float(np.linalg.norm(high - low)) < 4.0:  # a thing: keep some of what is around it in view
        low, high = low - 1.0, high + 1.0
    middle = (low + high) / 2
    back = np.array([-0.12, -0.6, 0.79]) / np.linalg.norm([-0.12, -0.6, 0.79])
    right = np.cross([0.0, 0.0, 1.0], back) / np.linalg.norm(np.cross([0.0, 0.0, 1.0], back))
    signs = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    corners, half = signs * (high - low), np.tan(VIEW_RAD / 2)
    across = np.abs(corners @ right) / (half * aspect)
    along = np.abs(corners @ np.cross(back, right)) / half
    far = float((corners @ back + np.maximum(across, along)).max())
    return middle + 1.05 * far * back, middle
