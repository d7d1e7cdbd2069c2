"""Geometry between boxes: how near, what stands on, in, under, before or behind what."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from coterie_core.geometry import Box

RelationKind = Literal[
    "near",
    "far from",
    "on",
    "in",
    "under",
    "above",
    "in front of",
    "behind",
    "left of",
    "right of",
    "between",
]
"""Spatial relation of one thing to another."""

NEAR_GAP_M = 1.5
"""Gap between two boxes [m] up to which they are near one another."""
FAR_GAP_M = 2.0
"""Gap [m] from which they are far apart."""
CONTACT_SLACK_M = 0.15
"""Slack of supports and containers [m]: what detectors and maps get wrong."""
IN_FRONT_RADIUS_M = 5.0
"""Largest distance at which something still is in front of a thing [m]."""
_FLAT = 0.6
"""A side shorter than this share of the other shows where a thing faces."""


def gap(a: Box, b: Box) -> float:
    """Distance between the axis-aligned boxes about `a` and `b` [m]; 0 where they touch."""
    (a0, a1), (b0, b1) = a.axis_aligned(), b.axis_aligned()
    return math.dist((0, 0, 0), [max(0.0, b0[k] - a1[k], a0[k] - b1[k]) for k in range(3)])


def shared_ground(a: Box, b: Box, slack: float = 0.0) -> float:
    """Share (0..1) of `a`'s ground rectangle that lies over `b`'s, grown by `slack` [m]."""
    (a0, a1), (b0, b1) = a.axis_aligned(), b.axis_aligned()
    area, whole = 1.0, 1.0
    for k in (0, 1):
        area *= max(0.0, min(a1[k], b1[k] + slack) - max(a0[k], b0[k] - slack))
        whole *= max(a1[k] - a0[k], 1e-6)
    return min(area / whole, 1.0)


def near(a: Box, b: Box) -> float:
    """1 where they touch, 0.5 at NEAR_GAP_M, 0 beyond."""
    away = gap(a, b)
    return 1.0 - 0.5 * away / NEAR_GAP_M if away <= NEAR_GAP_M else 0.0


def far_from(a: Box, b: Box) -> float:
    """0 below FAR_GAP_M, then growing towards 1."""
    away = gap(a, b)
    return 1.0 - 0.5 * FAR_GAP_M / away if away >= FAR_GAP_M else 0.0


def on(a: Box, b: Box) -> float:
    """How surely `a` stands on `b`: its base at b's top, or within b but not below its middle.

    A map's box of a table reaches as high as what stands on it, so that a base between the middle
    and the top counts too.
    """
    if (
        not b.center[2] - CONTACT_SLACK_M <= a.bottom <= b.top + CONTACT_SLACK_M
        or a.top <= b.top - b.size[2] / 2
    ):
        return 0.0
    share = shared_ground(a, b, CONTACT_SLACK_M)
    return share if share >= 0.3 and a.volume < b.volume else 0.0


def inside(a: Box, b: Box) -> float:
    """Share of `a` that lies within `b`, grown by a third of CONTACT_SLACK_M."""
    (a0, a1), (b0, b1) = a.axis_aligned(), b.axis_aligned()
    share, slack = 1.0, CONTACT_SLACK_M / 3.0
    for k in range(3):
        overlap = max(0.0, min(a1[k], b1[k] + slack) - max(a0[k], b0[k] - slack))
        share *= min(overlap / max(a1[k] - a0[k], 1e-6), 1.0)
    return share if share >= 0.6 and a.volume < b.volume else 0.0


def under(a: Box, b: Box) -> float:
    """How surely `a` is below `b`: over one another, a's middle below b's."""
    share = max(shared_ground(a, b), shared_ground(b, a))
    return share if share >= 0.2 and a.center[2] < b.center[2] - CONTACT_SLACK_M else 0.0


def in_front_of(a: Box, b: Box) -> float:
    """How surely `a` is before `b`: within 45 degrees of its front and IN_FRONT_RADIUS_M of it.

    Maps do not say which way a thing faces; a flat one (a television) faces along its thin side,
    to either of both, and others any way.
    """
    dx, dy = a.center[0] - b.center[0], a.center[1] - b.center[1]
    away = math.hypot(dx, dy)
    if away > IN_FRONT_RADIUS_M or away < 1e-6 or abs(a.center[2] - b.center[2]) > 2.0:
        return 0.0
    width, depth = b.size[0], b.size[1]
    angle = 0.0
    if min(width, depth) < _FLAT * max(width, depth):
        facing = b.yaw + (0.0 if width < depth else math.pi / 2.0)
        angle = abs(math.remainder(math.atan2(dy, dx) - facing, math.pi))
    if angle > math.pi / 4.0:
        return 0.0
    return (1.0 - 0.5 * away / IN_FRONT_RADIUS_M) * (1.0 - 0.4 * angle / (math.pi / 4.0))


def behind(a: Box, b: Box) -> float:
    """As `in_front_of`: where things face is not known, but closer means likelier hidden by it."""
    before = in_front_of(a, b)
    return before if gap(a, b) <= NEAR_GAP_M else 0.0


def left_of(a: Box, b: Box) -> float:
    """Beside and near one another: left and right need a viewer, which a map does not name."""
    return near(a, b) if abs(a.center[2] - b.center[2]) < 1.0 else 0.0


PAIRS: Mapping[RelationKind, Callable[[Box, Box], float]] = {
    "near": near,
    "far from": far_from,
    "on": on,
    "in": inside,
    "under": under,
    "above": lambda a, b: under(b, a),
    "in front of": in_front_of,
    "behind": behind,
    "left of": left_of,
    "right of": left_of,
}
"""Relation -> how surely it holds from `a` to `b` (0..1)."""


def between(a: Box, ends: Sequence[Box]) -> float:
    """How surely `a` lies between two others: near the line that joins their centres."""
    p, q = ends[0].center, ends[1].center
    length = math.dist(p[:2], q[:2])
    if length < 1e-6:
        return 0.0
    ux, uy = (q[0] - p[0]) / length, (q[1] - p[1]) / length
    along = (a.center[0] - p[0]) * ux + (a.center[1] - p[1]) * uy
    aside = abs((a.center[1] - p[1]) * ux - (a.center[0] - p[0]) * uy)
    if not 0.0 < along < length or aside > max(NEAR_GAP_M / 2.0, length / 4.0):
        return 0.0
    return 1.0 - 0.5 * aside / max(NEAR_GAP_M / 2.0, length / 4.0)
