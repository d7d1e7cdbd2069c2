"""What a frame shows of a place in the map, and what stands on what by the boxes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coterie_core.detections import RgbdFrame
from coterie_world.scene import SceneGraph
from coterie_world.sightings import carries_before, edge_of, lowest_on


def seen_through(
    frame: RgbdFrame,
    to_camera: npt.NDArray[np.float64],
    points: npt.NDArray[np.float32],
    margin: float = 0.12,
) -> bool | None:
    """Whether a frame looks through the place of points: True, False (something is there), or None.

    None: the place is not in view, or hidden behind something nearer.

    Args:
        frame: The frame.
        to_camera: Map to optical frame (4, 4).
        points: (n, 3) [m] in the map.
        margin: How much farther the measured depth must be [m].
    """
    chosen = points[:: max(len(points) // 64, 1)].astype(np.float64)
    local = chosen @ to_camera[:3, :3].T + to_camera[:3, 3]
    rows, cols = frame.depth.shape
    fx, fy, cx, cy = frame.intrinsics
    z = local[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.floor(local[:, 0] / z * fx + cx)
        v = np.floor(local[:, 1] / z * fy + cy)
    inside = (z > 0.1) & (u >= 0) & (u < cols) & (v >= 0) & (v < rows)
    if inside.mean() < 0.7:
        return None
    measured = frame.depth[v[inside].astype(np.int64), u[inside].astype(np.int64)]
    expected = z[inside]
    known = np.isfinite(measured) & (measured > 0.0)
    if known.mean() < 0.7:
        return None
    nearer = (measured < expected - margin)[known].mean()
    through = (measured > expected + margin)[known].mean()
    if nearer > 0.5:
        return None
    return bool(through > 0.7)


def crop(
    color: npt.NDArray[np.uint8], box: tuple[int, int, int, int], longest: int
) -> npt.NDArray[np.uint8]:
    """A picture of a detection with a margin of a tenth, its longest side at most `longest` px."""
    u0, v0, width, height = box
    mu, mv = width // 10 + 2, height // 10 + 2
    part = color[max(v0 - mv, 0) : v0 + height + mv, max(u0 - mu, 0) : u0 + width + mu]
    step = max(-(-max(part.shape[:2]) // longest), 1)
    return part[::step, ::step].copy()


def set_supports(graph: SceneGraph, slack: float = 0.08) -> None:
    """Say of every thing what it stands on or in, by boxes: the smallest that carries it."""
    things = sorted(graph.objects.values(), key=lambda t: t.box.volume)
    if len(things) < 2:
        return
    lows = np.array([t.box.axis_aligned()[0] for t in things])
    highs = np.array([t.box.axis_aligned()[1] for t in things])
    lowest = np.array([[lowest_on(t), lowest_on(t, at_edge=True)] for t in things])
    edges = np.array([[edge_of(t)] for t in things])
    for k, thing in enumerate(things):
        middle = np.array(thing.box.center[:2])
        over = ((lows[:, :2] <= middle) & (highs[:, :2] >= middle)).all(axis=1)
        over &= np.arange(len(things)) > k  # only larger ones carry it
        inner = (lows[:, :2] + edges <= middle) & (highs[:, :2] - edges >= middle)
        deep = np.where(inner.all(axis=1), lowest[:, 0], lowest[:, 1])
        top = np.abs(highs[:, 2] - lows[k, 2]) <= slack
        within = (
            (lows[:, 2] - slack <= lows[k, 2])
            & (deep - slack <= lows[k, 2])
            & (highs[:, 2] + slack >= highs[k, 2])
        )
        carriers = np.flatnonzero(over & top)
        holders = np.flatnonzero(over & within & ~top)
        below, around = ([things[int(i)] for i in found] for found in (carriers, holders))
        thing.support = min(below, key=carries_before).id if below else ""
        thing.container = min(around, key=carries_before).id if around and not below else ""
