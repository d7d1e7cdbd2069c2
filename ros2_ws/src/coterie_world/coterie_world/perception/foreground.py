"""A detector's box, without a mask, parted by depth: the thing, what is behind it and before it.

A box around a table shows the floor before it and the wall behind it as well. Both go on around
the box: planes that are fitted to what is seen next to it, and that nothing in it lies behind, are
background. Of what is left the cluster counts that fills the box's middle, but for one that goes on
beyond the box where another one ends with it: a chair's back hides a table.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.household import load_household
from coterie_world.perception.lift_options import LiftOptions
from coterie_world.perception.points import clusters, deprojected, thinned

Array = npt.NDArray[np.float64]
Plane = tuple[Array, float]
"""Normal towards the eye, and offset along it [m]."""

_RING = 0.15
"""Width of the ring around a box that is looked at, as a share of the box's longer side."""
_RING_PX = (3, 40)
"""Its least and greatest width [px]."""
_MAX_RING_POINTS = 400
"""Points of the ring that count; more are sampled."""
_MAX_PIXELS_AROUND = 4000
"""Pixels around a box in which clusters may go on; of more every k-th is looked at."""
_GOES_ON = 0.2
"""A cluster of which more than this share lies around the box is something else's, if it can be."""
_ENDS = 0.1
"""One of which no more than this share does ends with the box, as the thing itself does."""
_PART = 0.05
"""Least share of the box's pixels of such a one."""
_PLANES = 3
"""Most planes: the floor and two walls."""
_TRIES = 60
"""Planes that are tried, of each direction."""
_SUPPORT = 0.12
"""Least share of the ring's points that a plane of the background holds."""
_BEHIND = 0.05
"""Greatest share of the box's points behind a plane of the background."""
_MIDDLE = 0.25
"""Pixels nearer to the box's middle than this share of it are surely the thing's."""
_FLAT = 0.5
"""A thing whose middle lies in a plane by more than this share is itself in it: a rug, a door."""
_SAME_SEGMENT = 0.5
"""Two masks that overlap by more than this (intersection over union) are of one thing."""
_SMALL = 0.35
"""An item's mask smaller than this share of another one is of what stands on or before that."""
_SLACK = (0.02, 0.005)
"""Largest distance of a plane's points from it: [m], and per squared metre of depth [1/m]."""


def segmented(frame: RgbdFrame, detection: ImageDetection, options: LiftOptions) -> ImageDetection:
    """Return a detection with the mask that depth gives it; itself where there is no depth in it.

    Args:
        frame: Its image; the map's z axis points up.
        detection: One without a mask, that reaches into the image.
        options: How it is lifted. Depth beyond `far` counts here, too: of a thing that is far away
            a box may show less than of what stands before it.
    """
    least = options.min_points
    u0, v0, width, height = detection.box
    rows, cols = frame.depth.shape
    left, top = max(u0, 0), max(v0, 0)
    right, bottom = min(u0 + width, cols), min(v0 + height, rows)
    step = max(int(np.ceil(np.sqrt((right - left) * (bottom - top) / options.stride))), 1)
    depth = frame.depth[top:bottom:step, left:right:step]
    valid = np.isfinite(depth) & (depth >= options.near)
    v, u = np.nonzero(valid)
    if len(v) < least:
        return detection
    rows_of, cols_of = v * step + top, u * step + left
    planes = _background_planes(frame, detection.box, cols_of, rows_of)
    kept = ~_in_planes(frame, planes, cols_of, rows_of)
    if kept.sum() < least:
        kept[:] = True
    points = deprojected(cols_of, rows_of, depth[v, u], frame.intrinsics)
    middle = in_middle(detection.box, cols_of, rows_of)
    thin, voxels = thinned(points[kept], options.voxel)
    central = np.bincount(voxels, middle[kept], minlength=len(thin))
    apart = max(options.eps, 0.035 * float(np.median(depth[v, u])))
    labels = clusters(thin, apart, least)
    if labels.max(initial=-1) >= 0:
        # The size decides between clusters that the middle does not tell apart.
        weight = np.bincount(labels[labels >= 0], central[labels >= 0] + 1e-3)
        best = int(weight.argmax())
        own = labels[voxels]
        large = np.bincount(own[own >= 0], minlength=len(weight)) >= _PART * kept.sum()
        if np.delete(large, best).any():  # another one could be the thing
            around = _around(frame, detection.box, planes, options.voxel)
            beyond = _beyond(thin, labels, around, apart, least)
            ends = large & (beyond <= _ENDS)
            if beyond[best] > _GOES_ON and ends.any():
                best = int(np.where(ends, weight, -1.0).argmax())
        kept[kept] = own == best
    small = np.zeros(depth.shape, dtype=bool)
    small[v[kept], u[kept]] = True
    window = np.repeat(np.repeat(small, step, axis=0), step, axis=1)
    mask = np.zeros((height, width), dtype=bool)
    mask[top - v0 : bottom - v0, left - u0 : right - u0] = window[: bottom - top, : right - left]
    return replace(detection, mask=mask)


def shared_pixels(
    found: Sequence[ImageDetection],
) -> list[npt.NDArray[np.bool_] | None]:
    """Return of each mask that depth gave the pixels that another one has too, (height, width).

    Of an oven that stands beside a dishwasher a box shows a strip of the dishwasher, and depth does
    not part them; and the box of one behind it shows little but oven. Whose such pixels are is left
    open, but for small things, as a kettle on a stove: those are their own.

    Args:
        found: Detections in one image; those without a mask share nothing.

    Returns:
        Shared pixels of each; None: it shares none.
    """
    out: list[npt.NDArray[np.bool_] | None] = [None] * len(found)
    sizes = [0 if one.mask is None else int(one.mask.sum()) for one in found]
    small = [load_household().kind(one.label) == "item" for one in found]
    for i, k in itertools.combinations(range(len(found)), 2):
        windows = _windows(found[i], found[k])
        if windows is None:
            continue
        one, other = windows
        both = found[i].mask[one] & found[k].mask[other]  # type: ignore[index]
        count = int(both.sum())
        if not count or count > _SAME_SEGMENT * (sizes[i] + sizes[k] - count):
            continue
        for j, window, than in ((i, one, k), (k, other, i)):
            if not (small[j] and sizes[j] < _SMALL * sizes[than]):
                mine = out[j]
                if mine is None:
                    mine = out[j] = np.zeros(found[j].box[:1:-1], dtype=bool)
                mine[window] |= both
    return out


def _windows(
    one: ImageDetection, other: ImageDetection
) -> tuple[tuple[slice, slice], tuple[slice, slice]] | None:
    """Return where in the window of each of two masks both boxes are; None: nowhere."""
    if one.mask is None or other.mask is None:
        return None
    (u, v, width, height), (x, y, wide, high) = one.box, other.box
    left, top = max(u, x), max(v, y)
    right, bottom = min(u + width, x + wide), min(v + height, y + high)
    if left >= right or top >= bottom:
        return None
    return (
        (slice(top - v, bottom - v), slice(left - u, right - u)),
        (slice(top - y, bottom - y), slice(left - x, right - x)),
    )


def _around(
    frame: RgbdFrame, box: tuple[int, int, int, int], planes: list[Plane], voxel: float
) -> Array:
    """Return what is seen around a box beside the planes of the background, thinned out, (n, 3)."""
    u, v = _ring(frame, box)
    aside = ~_in_planes(frame, planes, u, v)
    u, v = u[aside], v[aside]
    if not len(u):
        return np.zeros((0, 3))
    return thinned(deprojected(u, v, frame.depth[v, u], frame.intrinsics), voxel)[0]


def _beyond(
    points: Array, labels: npt.NDArray[np.int64], around: Array, apart: float, least: int
) -> Array:
    """Return for each cluster the share of it that is seen around the box: it goes on there.

    A chair's back before a table does, the table does not.
    """
    whole = clusters(np.concatenate([points, around]), apart, least)
    inside, outside = whole[: len(points)], whole[len(points) :]
    shares = np.zeros(int(labels.max()) + 1)
    for k in range(len(shares)):
        here = inside[labels == k]
        joined = here[here >= 0]
        more = int((outside == np.bincount(joined).argmax()).sum()) if len(joined) else 0
        shares[k] = more / (len(here) + more)
    return shares


def background(
    frame: RgbdFrame,
    box: tuple[int, int, int, int],
    u: npt.NDArray[np.int64],
    v: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Return which pixels of a detection show floor or walls that go on around it, (n,).

    Args:
        frame: Its image; the map's z axis points up.
        box: The detection's box: (first column, first row, width, height) [px].
        u: Columns of the pixels, (n,); each has depth.
        v: Their rows, (n,).
    """
    return _in_planes(frame, _background_planes(frame, box, u, v), u, v)


def _background_planes(
    frame: RgbdFrame,
    box: tuple[int, int, int, int],
    u: npt.NDArray[np.int64],
    v: npt.NDArray[np.int64],
) -> list[Plane]:
    """Return the planes of floor and walls that go on around a detection's pixels (n,)."""
    eye = frame.camera_to_map[:3, 3]
    points = _in_map(frame, u, v)
    middle = in_middle(box, u, v)
    ring = _ring(frame, box)
    if len(ring[0]) > _MAX_RING_POINTS:
        chosen = np.linspace(0, len(ring[0]) - 1, _MAX_RING_POINTS).astype(np.int64)
        ring = ring[0][chosen], ring[1][chosen]
    planes = []
    for normal, offset in _planes(_in_map(frame, *ring), eye):
        away = points @ normal - offset
        slack = _slack(points, eye)
        on = np.abs(away) <= slack
        behind = (away < -slack).mean()
        if behind <= _BEHIND and (middle & on).sum() <= _FLAT * middle.sum():
            planes.append((normal, offset))
    return planes


def _in_planes(
    frame: RgbdFrame,
    planes: list[Plane],
    u: npt.NDArray[np.int64],
    v: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Return which pixels (n,) show any of some planes."""
    points = _in_map(frame, u, v)
    slack = _slack(points, frame.camera_to_map[:3, 3])
    found = np.zeros(len(points), dtype=bool)
    for normal, offset in planes:
        found |= np.abs(points @ normal - offset) <= slack
    return found


def in_middle(
    box: tuple[int, int, int, int], u: npt.NDArray[np.int64], v: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return which pixels, (n,), are near enough to a box's middle to be surely its thing's."""
    u0, v0, width, height = box
    off = np.hypot((u + 0.5 - u0) / width - 0.5, (v + 0.5 - v0) / height - 0.5)
    return np.asarray(off < _MIDDLE)


def _in_map(frame: RgbdFrame, u: npt.NDArray[np.int64], v: npt.NDArray[np.int64]) -> Array:
    local = deprojected(u, v, frame.depth[v, u], frame.intrinsics)
    return np.asarray(local @ frame.camera_to_map[:3, :3].T + frame.camera_to_map[:3, 3])


def _slack(points: Array, eye: Array) -> Array:
    away = ((points - eye) ** 2).sum(axis=1)
    return np.asarray(_SLACK[0] + _SLACK[1] * away)


def _ring(
    frame: RgbdFrame, box: tuple[int, int, int, int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Columns and rows of the pixels with depth around a box; of many every k-th."""
    left, top, width, height = box
    wide = int(np.clip(round(_RING * max(width, height)), *_RING_PX))
    u0, v0 = max(left - wide, 0), max(top - wide, 0)
    window = frame.depth[v0 : top + height + wide, u0 : left + width + wide]
    around = np.isfinite(window) & (window > 0.0)
    around[max(top - v0, 0) : top + height - v0, max(left - u0, 0) : left + width - u0] = False
    v, u = np.nonzero(around)
    step = max(-(-len(v) // _MAX_PIXELS_AROUND), 1)
    return u[::step] + u0, v[::step] + v0


def _planes(points: Array, eye: Array) -> Iterator[Plane]:
    """Yield level and upright planes that hold much of some points, the largest first.

    By RANSAC with always the same draws. A plane is its normal, towards the eye, and its offset.
    """
    draw = np.random.default_rng(0)
    enough = max(_SUPPORT * len(points), 8.0)
    for _ in range(_PLANES):
        if len(points) < enough:
            return
        first, second = draw.integers(len(points), size=(2, _TRIES))
        along = points[second] - points[first]
        upright = np.stack([-along[:, 1], along[:, 0], np.zeros(_TRIES)], axis=1)
        length = np.linalg.norm(upright, axis=1, keepdims=True)
        # Points above one another tell no direction.
        upright = np.where(length > 0.05, upright / np.maximum(length, 1e-9), np.nan)
        level = np.broadcast_to([0.0, 0.0, 1.0], (_TRIES, 3))
        normals = np.concatenate([level, upright])
        offsets = np.einsum("ij,ij->i", normals, np.concatenate([points[first]] * 2))
        off = np.abs(points @ normals.T - offsets)
        near = off <= _slack(points, eye)[:, None]
        best = int(near.sum(axis=0).argmax())
        held = near[:, best]
        if held.sum() < enough:
            return
        normal = normals[best]
        offset = float((points[held] @ normal).mean())
        towards = 1.0 if eye @ normal >= offset else -1.0
        yield towards * normal, towards * offset
        points = points[~held]
