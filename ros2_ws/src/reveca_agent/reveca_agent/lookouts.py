"""Lookouts: from where a robot sees what it looks for: in a bathtub, near a spot, in a room."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from shapely import Polygon, contains_xy

from coterie_core.embodiment import Camera
from coterie_core.geometry import Box, Pose, Vec3, compose, wrap_angle
from coterie_core.household import load_household
from coterie_execution.geometry.grasp import gap_to
from coterie_world.scene import Room, SceneObject
from coterie_world.search_belief import inside_rim
from coterie_world.surfaces import board_heights

FAR = 1.5
"""From how far at most one looks at a thing, from its box [m]."""
CLOSE = 1.5
"""From so near cameras and detectors see small things [m]."""
SPACING = 0.2
"""Between spots that are compared [m]."""
MOST = 3
"""From how many spots at most one looks into a thing: its near wall hides what is below."""
LEAST = 0.1
"""Share of its bottom that one more spot has to show."""
GRID = 8
"""Points along and across a bottom that stand for it."""
ABOUT = 0.6
"""How far from where a robot stands the things are that it handles [m]."""
HEIGHTS = (0.1, 0.8)
"""At which such things lie, on the floor and on tables [m]."""
SIDES = math.pi / 2.0
"""Angle between two sides from which a robot looks [rad]."""
_EYES = Camera()  # of a robot whose cameras nobody has told

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lookout:
    """Where to look from [m], and at what [m]; None: all around."""

    id: str
    position: Vec3
    faces: Vec3 | None = None


def lookouts(thing: SceneObject, free: Sequence[Vec3], cameras: Sequence[Camera]) -> list[Lookout]:
    """Return from where cameras see the bottom of a hollow thing, over its rim, or its boards.

    The first one shows most of it, each further one most of the rest. None where it has neither,
    or cameras see into it from nowhere.
    """
    inside = inside_rim(thing)
    category = load_household().category(thing.label.top)
    if inside is not None:
        points = _bottom(thing.box, inside.points[0][2])
    elif category is not None and category.boards and category.opens is False:
        points = np.array([(*thing.box.center[:2], z) for z in board_heights(thing.box)])
    else:
        return []
    spots = _around(thing.box, free)
    clear = inside.over_rim if inside is not None else None
    seen = _shown(spots, thing.box.center, points, cameras, clear)
    best = _best(seen, MOST, LEAST * len(points))
    return [Lookout(f"{thing.id}/{k}", spots[i], thing.box.center) for k, i in enumerate(best)]


def close_views(room: Room, spots: Sequence[Vec3]) -> list[Lookout]:
    """Return from where a robot that looks around has all of a room near by.

    The first one has most of it within `CLOSE`, each further one most of the rest. What is near to
    no free floor stays out, and furniture in between does not count: maps show it roughly.
    """
    if len(room.polygon) < 3 or not spots:
        return []
    x0, y0, x1, y1 = Polygon(room.polygon).bounds
    x, y = np.meshgrid(np.arange(x0, x1, 2.0 * SPACING), np.arange(y0, y1, 2.0 * SPACING))
    inside = contains_xy(Polygon(room.polygon), x, y)
    points = np.stack([x[inside], y[inside]], axis=1)
    away = np.linalg.norm(np.array(spots)[:, None, :2] - points[None], axis=2)
    best = _best(away <= CLOSE, len(spots), LEAST / MOST * len(points))
    return [Lookout(f"{room.id}/near/{k}", spots[i]) for k, i in enumerate(best)]


def overlooking(
    spot: Vec3, here: Vec3, free: Sequence[Vec3], cameras: Sequence[Camera], most: int = 3
) -> list[Vec3]:
    """Return from where cameras see what can be handled from a spot [m], best first.

    What lies at a robot's feet is in no image of a camera on its mast. They lie on different sides,
    since the back of a chair may hide what lies on it; of equally good ones the nearest to `here`
    comes first.
    """
    turns = np.arange(GRID) * (2.0 * math.pi / GRID)
    x, y = spot[0] + ABOUT * np.cos(turns), spot[1] + ABOUT * np.sin(turns)
    points = np.concatenate(
        [np.stack([x, y, np.full(GRID, spot[2] + height)], axis=1) for height in HEIGHTS]
    )
    spots = _around(Box(spot, (ABOUT, ABOUT, 0.1)), free)
    shown = _shown(spots, spot, points, cameras).sum(axis=1)
    out: list[Vec3] = []
    for _, _, view in sorted(
        (-int(count), math.dist(view, here), view)
        for view, count in zip(spots, shown, strict=True)
        if count
    ):
        if len(out) < most and all(_between(view, spot, other) >= SIDES for other in out):
            out.append(view)
    return out


def _around(box: Box, free: Sequence[Vec3]) -> list[Vec3]:
    """Return the spots of free floor [m] that are at most `FAR` from a box."""
    if not free:
        return []
    x, y, _ = np.array(free).T
    near = gap_to(box, x, y) <= FAR
    return [spot for spot, good in zip(free, near, strict=True) if good]


def _shown(
    spots: Sequence[Vec3],
    faces: Vec3,
    points: Floats,
    cameras: Sequence[Camera],
    clear: Callable[[Floats, Floats], Bools] | None = None,
) -> Bools:
    """Return which points (m, 3) [m] cameras show from spots (n) facing a point [m], (n, m)."""
    seen = np.zeros((len(spots), len(points)), dtype=bool)
    for k, (x, y, z) in enumerate(spots):
        body = Pose((x, y, z), math.atan2(faces[1] - y, faces[0] - x))
        for camera in cameras or (_EYES,):
            mount = Pose((camera.mount_forward, 0.0, camera.mount_height))
            eye = np.array([compose(body, mount).position])
            shown = np.array([camera.shows(body, (px, py, pz)) for px, py, pz in points])
            seen[k] |= shown if clear is None else shown & clear(eye, points)[0]
    return seen


def _between(one: Vec3, spot: Vec3, other: Vec3) -> float:
    """Return the angle between the ways from a spot to two others, seen from above [rad]."""
    a, b = (math.atan2(end[1] - spot[1], end[0] - spot[0]) for end in (one, other))
    return abs(wrap_angle(a - b))


def _best(seen: Bools, most: int, least: float) -> list[int]:
    """Return the rows that together show most, each at least `least` more than those before."""
    out: list[int] = []
    left = seen.copy()
    while len(left) and len(out) < most:
        best = int(np.argmax(left.sum(axis=1)))
        if left[best].sum() <= least:
            break
        out.append(best)
        left &= ~left[best]
    return out


def _bottom(box: Box, height: float) -> Floats:
    """Return points (n, 3) [m] all over the bottom of a box, at a height [m]."""
    along = (np.arange(GRID) + 0.5) / GRID - 0.5
    dx, dy = (table.ravel() for table in np.meshgrid(along * box.size[0], along * box.size[1]))
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    x, y, _ = box.center
    return np.stack([x + c * dx - s * dy, y + s * dx + c * dy, np.full(len(dx), height)], axis=1)
