"""Sight: spots and camera postures from which a thing is in the frustum and nothing hides it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Box, Vec3
from coterie_core.resume import ResumeCamera
from coterie_core.tasks import Obstacle
from coterie_execution.geometry.body import Body
from coterie_execution.geometry.configuration_space import BasePoses, ConfigurationSpace
from coterie_execution.geometry.grasp import around, gap_to, spread
from coterie_execution.geometry.line_of_sight import points_of
from coterie_execution.geometry.results import Sight

Floats = npt.NDArray[np.float64]
Clear = Callable[[Floats, Floats], npt.NDArray[np.bool_]]
"""Tells (n, m) which points (m, 3) [m] eyes (n, 3) [m] see; see `Sightlines.clear`."""

FARTHEST = 6.0
"""No farther spots [m] are looked from: detectors see little there."""
LEAST_PIXELS = 4.0
"""Least size of a thing in the image [px]."""
LEAST_SHARE = 0.3
"""Least share of a thing's points that must be in view (0..1)."""
CLEAR_SHARE = 0.6
"""A thing of which more of its points are in view is in clear view."""
_MIDDLE, _EDGE_COST = 0.7, 0.6  # what lies beyond so much of half the field may be cut off
_COARSE = 4  # spots tried lie on every fourth row and column
BEST_AWAY, FAR_AWAY = 1.2, 2.5
"""From so far one looks best; and from so far under what hides things from near by [m]."""
_MORE = 120  # spots tried if a thing is hidden from the best of all directions
_SAFE_ANGLE = math.radians(1.0)


def sights(
    space: ConfigurationSpace,
    clear: Clear,
    body: Body,
    box: Box,
    floor: int,
    components: frozenset[int] | None,
    away: float,
) -> Sight:
    """Return the best spot and camera posture from which a thing is seen, or why there is none.

    In view is what lies within half the field of view of the optical axis, up and down; sideways
    the robot turns toward it (EMOS, appendix A.1, equation 1). Postures are those that the
    camera's joints allow: heights, pitches.

    Args:
        space: Where the body stands.
        clear: Tells which points nothing hides.
        body: The body.
        box: The thing; without extent for a point.
        floor: Index of the floor of the thing and the eye.
        components: Components of free space that count; None: all.
        away: From how far to look best [m].
    """
    if not body.cameras:
        return Sight(Obstacle.NO_CAMERA, "it has no camera")
    best: Sight | None = None
    trouble: Sight | None = None
    stands = around(space, box, floor, FARTHEST, _COARSE).of_components(components)
    near = around(space, box, floor, 0.8).of_components(components)
    if not len(stands) and not len(near):
        return Sight(Obstacle.NO_PATH, f"there is no spot it gets to within {FARTHEST:.0f} m")
    for camera in body.cameras:
        for eye_height in _heights(camera):
            for candidates in (stands, near):
                height = eye_height + body.frame.base
                found = _look(space, clear, candidates, box, floor, camera, height, away)
                if found.feasible:
                    if best is None or found.share > best.share + 0.2:
                        best = found
                    break
                if trouble is None or found.obstacle is Obstacle.OCCLUDED:
                    trouble = found
            if best is not None and best.share > CLEAR_SHARE:
                return best
    if best is not None:
        return best
    assert trouble is not None
    return trouble


def _heights(camera: ResumeCamera) -> list[float]:
    """Return the heights [m] tried: at rest, highest, lowest."""
    low, high = camera.heights
    return list(dict.fromkeys([camera.height, max(high, camera.height), min(low, camera.height)]))


def _look(
    space: ConfigurationSpace,
    clear: Clear,
    stands: BasePoses,
    box: Box,
    floor: int,
    camera: ResumeCamera,
    eye_height: float,
    best_away: float,
) -> Sight:
    elevation = space.plan.elevation(floor)
    eye_z = elevation + eye_height
    away = np.hypot(stands.x - box.center[0], stands.y - box.center[1]) - camera.forward
    away = np.maximum(away, 0.05)
    drop = eye_z - box.center[2]
    needed = np.arctan2(drop, away)
    axis = np.clip(
        needed, min(camera.pitches[0], camera.pitch), max(camera.pitches[1], camera.pitch)
    )
    off = np.abs(needed - axis)
    slant = np.hypot(away, drop)
    focal = camera.width / (2.0 * math.tan(camera.hfov / 2.0))
    size = sorted(box.size)[1]
    small = focal * max(size, 0.05) / LEAST_PIXELS if size > 0.0 else FARTHEST
    farthest = min(camera.range[1], FARTHEST, small)
    half = camera.vfov / 2.0 - _SAFE_ANGLE
    in_range = (slant <= farthest) & (slant >= camera.range[0])
    ok = in_range & (off <= half)
    # Inside the thing's own footprint nobody stands.
    ok &= gap_to(box, stands.x, stands.y) > 0.0
    if not ok.any():
        return _out_of_view(camera, eye_height, box.center[2] - elevation, off, in_range, farthest)
    chosen = stands.where(ok)
    slant, axis, off = slant[ok], axis[ok], off[ok]
    score = np.minimum(chosen.clearance, 0.1) - 0.3 * np.abs(slant - best_away) - 0.2 * off
    score -= _EDGE_COST * np.maximum(off - _MIDDLE * half, 0.0)
    tried = spread(chosen, box, score, slant, _MORE)
    share, found = 0.0, -1
    for some in tried:
        if share < LEAST_SHARE and len(some):
            eyes = eyes_toward(camera, chosen.x[some], chosen.y[some], box.center, eye_z)
            shares = _shares(clear, eyes, points_of(box), axis[some], camera)
            k = int(np.argmax(np.minimum(shares, 0.7) + 0.001 * score[some]))
            if found < 0 or shares[k] > share:
                share, found = float(shares[k]), int(some[k])
    if share < LEAST_SHARE:
        return Sight(
            Obstacle.OCCLUDED,
            f"furniture or walls hide it from all of {sum(map(len, tried))} spots around, seen "
            f"from {eye_height:.2f} m above the floor",
            share=share,
        )
    n = found
    return Sight(
        None,
        f"camera {camera.name} at {eye_height:.2f} m, pitched {math.degrees(axis[n]):.0f} deg, "
        f"sees it from {slant[n]:.2f} m, {math.degrees(off[n]):.0f} deg off its axis (half its "
        f"field: {math.degrees(camera.vfov / 2.0):.0f} deg)",
        (float(chosen.x[n]), float(chosen.y[n]), elevation),
        share,
    )


def _shares(
    clear: Clear, eyes: Floats, points: Floats, axis: Floats, camera: ResumeCamera
) -> Floats:
    """Return the shares (0..1) of a thing's points (m, 3) [m] in view from eyes (n, 3) [m].

    What lies above or below the image, whose middle is pitched by `axis` [rad], is not in view.
    """
    away = np.hypot(*(points[None, :, :2] - eyes[:, None, :2]).transpose(2, 0, 1))
    down = np.arctan2(eyes[:, None, 2] - points[None, :, 2], np.maximum(away, 1e-3))
    seen = clear(eyes, points) & (np.abs(down - axis[:, None]) <= camera.vfov / 2.0)
    out: Floats = seen.mean(axis=1)
    return out


def eyes_toward(camera: ResumeCamera, x: Floats, y: Floats, point: Vec3, z: float) -> Floats:
    """Return where the camera is (n, 3) [m] of robots that stand at x, y and face a point.

    Args:
        camera: Which camera.
        x: Where the robots stand (n,) [m].
        y: The same.
        point: What they face [m].
        z: Height of the camera [m, map].
    """
    heading = np.arctan2(point[1] - y, point[0] - x)
    ahead, aside = camera.forward * np.cos(heading), camera.forward * np.sin(heading)
    return np.stack([x + ahead, y + aside, np.full(len(x), z)], axis=1)


def _out_of_view(
    camera: ResumeCamera,
    eye_height: float,
    height: float,
    off: Floats,
    in_range: npt.NDArray[np.bool_],
    farthest: float,
) -> Sight:
    if not in_range.any():
        words = f"camera {camera.name} gets no nearer than it sees, {farthest:.1f} m"
    else:
        angle = float(off[in_range].min())
        words = (
            f"{height:.2f} m above the floor; camera {camera.name} at {eye_height:.2f} m gets it "
            f"no nearer to its axis than {math.degrees(angle):.0f} deg, half its field is "
            f"{math.degrees(camera.vfov / 2.0):.0f} deg"
        )
    return Sight(Obstacle.OUT_OF_VIEW, words)
