"""Lookouts: from where a robot looks into what has a rim, such as a bathtub."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.embodiment import Camera
from coterie_core.geometry import Box, Pose, Vec3, compose
from coterie_core.scene import Room, SceneObject
from coterie_core.search_belief import inside_rim
from reveca_agent.standing import FreeFloor

FAR = 1.5
"""From how far at most one looks into a thing, from its box [m]."""
SPACING = 0.2
"""Between spots that are compared [m]."""
MOST = 3
"""From how many spots at most one looks into a thing: its near wall hides what is below."""
LEAST = 0.1
"""Share of its bottom that one more spot has to show."""
GRID = 8
"""Points along and across a bottom that stand for it."""
_EYES = Camera()  # of a robot whose cameras nobody has told


@dataclass(frozen=True, slots=True)
class Lookout:
    """Where to look from [m], and at what [m]; None: all around."""

    id: str
    position: Vec3
    faces: Vec3 | None = None


def lookouts(
    thing: SceneObject, room: Room, floor: FreeFloor, cameras: Sequence[Camera]
) -> list[Lookout]:
    """Return from where cameras see the bottom of a hollow thing, over its rim.

    The first one shows most of it, each further one most of the rest. None where it is not hollow,
    or cameras see into it from nowhere.
    """
    inside = inside_rim(thing)
    if inside is None:
        return []
    spots = floor.around(thing.box, room, FAR, SPACING)
    if not spots:
        return []
    points = _bottom(thing.box, inside.points[0][2])
    seen = np.zeros((len(spots), len(points)), dtype=bool)
    for k, (x, y, z) in enumerate(spots):
        yaw = math.atan2(thing.box.center[1] - y, thing.box.center[0] - x)
        body = Pose((x, y, z), yaw)
        for camera in cameras or (_EYES,):
            mount = Pose((camera.mount_forward, 0.0, camera.mount_height))
            eye = np.array([compose(body, mount).position])
            shown = [camera.shows(body, (px, py, pz)) for px, py, pz in points]
            seen[k] |= inside.over_rim(eye, points)[0] & shown
    out: list[Lookout] = []
    for k in range(MOST):
        best = int(np.argmax(seen.sum(axis=1)))
        if seen[best].sum() <= LEAST * len(points):
            break
        out.append(Lookout(f"{thing.id}/{k}", spots[best], thing.box.center))
        seen = seen & ~seen[best]
    return out


def _bottom(box: Box, height: float) -> npt.NDArray[np.float64]:
    """Return points (n, 3) [m] all over the bottom of a box, at a height [m]."""
    along = (np.arange(GRID) + 0.5) / GRID - 0.5
    dx, dy = (table.ravel() for table in np.meshgrid(along * box.size[0], along * box.size[1]))
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    x, y, _ = box.center
    return np.stack([x + c * dx - s * dy, y + s * dx + c * dy, np.full(len(dx), height)], axis=1)
