"""A detection and its depth become points in the map, without background (OpenEQA, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_world.perception.foreground import in_middle, segmented, shared_pixels
from coterie_world.perception.lift_options import LiftOptions
from coterie_world.perception.points import clusters, deprojected, thinned

Points = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Lifted:
    """A detection in the map.

    Attributes:
        detection: Detection in the image; a box has the mask that depth gives it.
        points: Thinned points, (n, 3) [m].
        depth: Their median depth [m].
        touches_edge: Whether the image cuts it off.
        drawn: Whether the detector drew the mask.
        shared: Pixels of its box, (height, width), that are not of the mask for another box has
            them as well; None: there are none.
    """

    detection: ImageDetection
    points: Points
    depth: float
    touches_edge: bool
    drawn: bool = True
    shared: npt.NDArray[np.bool_] | None = None


def lift(
    frame: RgbdFrame, detections: Sequence[ImageDetection], options: LiftOptions
) -> list[Lifted]:
    """Return those detections that have enough depth, as points in the map.

    A mask is taken as it is; a box without one gets one by depth (see `segmented`), without what
    another such box has as well (see `shared_pixels`). Depth below `near` and what is not finite is
    left out. So is what is farther than `far`, by the median of its pixels, or farther than the
    camera measures (infinite depth, REP 117): what stands before it is no part of it.
    """
    rows, cols = frame.depth.shape
    inside = [one for one in detections if _reaches_into(one.box, rows, cols)]
    found = [segmented(frame, one, options) if one.mask is None else one for one in inside]
    by_depth = [k for k, one in enumerate(inside) if one.mask is None]
    shared = dict(zip(by_depth, shared_pixels([found[k] for k in by_depth]), strict=True))
    lifted = []
    for k, detection in enumerate(found):
        u0, v0, width, height = detection.box
        left, top = max(u0, 0), max(v0, 0)
        right, bottom = min(u0 + width, cols), min(v0 + height, rows)
        window = frame.depth[top:bottom, left:right]
        drawn, others = k not in shared, shared.get(k)
        if detection.mask is not None and others is not None:
            detection = replace(detection, mask=detection.mask & ~others)
        valid = np.isfinite(window) & (window >= options.near)
        if detection.mask is not None:
            mask = detection.mask[top - v0 : bottom - v0, left - u0 : right - u0]
            if drawn:
                sides = (left == 0, top == 0, right == cols, bottom == rows)
                inner = without_rim(mask, sides)
                if not inner.any():
                    continue
                mask = _smooth_rim(window, mask, inner, options.step)
            valid &= mask
        v, u = np.nonzero(valid)
        if len(v) < options.least or _unmeasured(window, mask if drawn else None):
            continue
        reach = float(np.median(window[v, u]))
        if reach > options.far:
            continue
        within = window[v, u] <= options.far
        v, u = v[within], u[within]
        if len(v) > options.stride:
            # Every k-th pixel: deterministic, and even over the detection.
            step = -(-len(v) // options.stride)
            v, u = v[::step], u[::step]
        depth = window[v, u].astype(np.float64)
        camera = deprojected(u + left, v + top, depth, frame.intrinsics)
        thin, _ = thinned(camera, options.voxel)
        kept = _main_cluster(thin, options, reach)
        if len(kept) < options.least:
            continue
        points = kept @ frame.camera_to_map[:3, :3].T + frame.camera_to_map[:3, 3]
        edge = left == 0 or top == 0 or right == cols or bottom == rows
        lifted.append(Lifted(detection, points.astype(np.float32), reach, edge, drawn, others))
    return lifted


def _reaches_into(box: tuple[int, int, int, int], rows: int, cols: int) -> bool:
    left, top, width, height = box
    return max(left, 0) < min(left + width, cols) and max(top, 0) < min(top + height, rows)


def _unmeasured(window: npt.NDArray[np.float32], mask: npt.NDArray[np.bool_] | None) -> bool:
    """Whether most of a thing's pixels, in its mask or the middle, are beyond what is measured."""
    beyond = np.isposinf(window)
    if not beyond.any():
        return False
    if mask is None:
        v, u = np.nonzero(np.ones(window.shape, dtype=bool))
        mask = np.reshape(in_middle((0, 0, window.shape[1], window.shape[0]), u, v), window.shape)
    return bool((beyond & mask).sum() > (np.isfinite(window) & (window > 0.0) & mask).sum())


def without_rim(
    mask: npt.NDArray[np.bool_], open_sides: tuple[bool, bool, bool, bool]
) -> npt.NDArray[np.bool_]:
    """Return a mask without its outermost pixels: there a detector takes in what lies behind.

    Args:
        mask: (rows, cols), cut to the image.
        open_sides: Whether left, top, right and bottom are the image's own edges, beyond which the
            thing goes on.
    """
    left, top, right, bottom = open_sides
    inner = mask.copy()
    inner[1:] &= mask[:-1]
    inner[:-1] &= mask[1:]
    inner[:, 1:] &= mask[:, :-1]
    inner[:, :-1] &= mask[:, 1:]
    inner[:, :1] &= left
    inner[:, -1:] &= right
    inner[:1] &= top
    inner[-1:] &= bottom
    return inner


def _smooth_rim(
    depth: npt.NDArray[np.float32],
    mask: npt.NDArray[np.bool_],
    inner: npt.NDArray[np.bool_],
    step: float,
) -> npt.NDArray[np.bool_]:
    """The inner pixels of a mask, and those of its rim that go on at the depth of one of them."""
    kept = inner.copy()
    rim = mask & ~inner
    before, after = slice(None, -1), slice(1, None)
    everything = slice(None)
    with np.errstate(invalid="ignore"):
        for here, there in (
            ((before, everything), (after, everything)),
            ((after, everything), (before, everything)),
            ((everything, before), (everything, after)),
            ((everything, after), (everything, before)),
        ):
            near = np.abs(depth[here] - depth[there]) <= step * depth[there]
            kept[here] |= rim[here] & inner[there] & near
    return kept


def _main_cluster(
    points: npt.NDArray[np.float64],
    options: LiftOptions,
    reach: float,
) -> npt.NDArray[np.float64]:
    """The cluster of DBSCAN that is the thing: the largest.

    Other clusters with at least a third of its points within reach of it are parts of the same
    thing (a chair's back and seat).
    """
    if len(points) < options.least:
        return points[:0]
    # Far things have sparser pixels: neighbours are as far apart as the pixels are.
    eps = max(options.eps, 0.035 * reach)
    labels = clusters(points, eps, options.min_points)
    if labels.max(initial=-1) < 0:
        return points if len(points) < 4 * options.min_points else points[:0]
    sizes = np.bincount(labels[labels >= 0])
    main = int(sizes.argmax())
    keep = labels == main
    low, high = points[keep].min(axis=0) - 3 * eps, points[keep].max(axis=0) + 3 * eps
    for other in np.flatnonzero(sizes * 3 >= sizes[main]):
        part = labels == other
        middle = points[part].mean(axis=0)
        if other != main and bool(((middle >= low) & (middle <= high)).all()):
            keep |= part
    return points[keep]
