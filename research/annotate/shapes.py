"""Which box a click means, and where some boxes of a map are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from coterie_console.map_shapes import Boxes, Floats, MapShapes
from coterie_core.geometry import Vec3


def subset(boxes: Boxes, keep: Sequence[int]) -> Boxes:
    """Return some of the boxes."""
    rows = np.asarray(keep, dtype=np.intp)
    return Boxes(
        tuple(boxes.ids[k] for k in keep),
        boxes.centers[rows],
        boxes.sizes[rows],
        boxes.yaws[rows],
        boxes.colors[rows],
    )


def hit(boxes: Boxes, origin: Vec3, direction: Vec3) -> list[tuple[float, str]]:
    """Return how far [lengths of `direction`] a ray goes to which boxes, nearest first.

    Boxes that it begins in are left out.

    Args:
        origin: Start of the ray [m], relative to the shapes' origin.
        direction: Direction of the ray; of any length but 0.
    """
    if not boxes.ids:
        return []
    start, way = np.asarray(origin, float) - boxes.centers, np.asarray(direction, float)
    c, s = np.cos(boxes.yaws), np.sin(boxes.yaws)
    p = np.stack(
        [c * start[:, 0] + s * start[:, 1], c * start[:, 1] - s * start[:, 0], start[:, 2]], 1
    )
    d = np.stack([c * way[0] + s * way[1], c * way[1] - s * way[0], np.full_like(c, way[2])], 1)
    d = np.where(np.abs(d) < 1e-12, 1e-12, d)
    a, b = (-boxes.sizes / 2 - p) / d, (boxes.sizes / 2 - p) / d
    near, far = np.minimum(a, b).max(axis=1), np.maximum(a, b).min(axis=1)
    rows = np.flatnonzero((near <= far) & (near > 0))
    return sorted((float(near[k]), boxes.ids[k]) for k in rows)


def bounds(shapes: MapShapes, names: Iterable[str]) -> tuple[Floats, Floats]:
    """Return the lowest and highest corner of some floors [m]; of all if they are empty."""
    parts = [
        points
        for storey in shapes.storeys
        if storey.name in set(names)
        for points in (
            storey.solid.centers - storey.solid.sizes / 2,
            storey.solid.centers + storey.solid.sizes / 2,
            *(room.vertices for room in storey.rooms),
        )
    ]
    points = np.concatenate([*parts, np.zeros((0, 3))])
    return (points.min(axis=0), points.max(axis=0)) if len(points) else (shapes.low, shapes.high)


def on_floor(shapes: MapShapes, name: str) -> frozenset[str]:
    """Return the ids of all objects of a floor, by the floor's name."""
    return frozenset(
        id_
        for storey in shapes.storeys
        if storey.name == name
        for part in (storey.solid, storey.shells)
        for id_ in part.ids
    )


def boxes_of(shapes: MapShapes, ids: Iterable[str]) -> Boxes:
    """Return the boxes of some objects, in this order; those the map lacks are left out."""
    found: dict[str, Boxes] = {}
    wanted = list(dict.fromkeys(ids))
    for storey in shapes.storeys:
        for part in (storey.solid, storey.shells):
            place = {i: k for k, i in enumerate(part.ids)}
            found |= {i: subset(part, [place[i]]) for i in wanted if i in place}
    return _joined([found[i] for i in wanted if i in found])


def _joined(parts: Sequence[Boxes]) -> Boxes:
    if not parts:
        nothing = np.zeros((0, 3))
        return Boxes((), nothing, nothing, np.zeros(0), np.zeros((0, 3), np.uint8))
    return Boxes(
        tuple(i for part in parts for i in part.ids),
        np.concatenate([part.centers for part in parts]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.yaws for part in parts]),
        np.concatenate([part.colors for part in parts]),
    )
