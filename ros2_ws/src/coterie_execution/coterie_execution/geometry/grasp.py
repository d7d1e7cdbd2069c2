"""Reach: spots from which a hand gets to a thing, best first, or what is in the way."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Box
from coterie_core.tasks import Obstacle
from coterie_execution.geometry.body import Body, Hand
from coterie_execution.geometry.configuration_space import BasePoses, ConfigurationSpace
from coterie_execution.geometry.results import Reach

Floats = npt.NDArray[np.float64]

_SAFE = 0.04  # [m] that a robot may stand off and still reach
_SIDES = 16  # directions about a thing from which spots are tried
_RINGS = 3  # and so many distances

_MORE = 250  # spots tried if a thing is hidden from all of those

FEW = _SIDES * _RINGS
"""Of a grip's spots, so many are the best of all directions; the others come after them."""


@dataclass(frozen=True, slots=True)
class Grip:
    """Spots (n, 2) [m] from which a hand gets to a box at a height, best first."""

    spots: Floats
    gaps: Floats
    hand: Hand
    height: float
    floor: int
    farthest: float


def gap_to(box: Box, x: Floats, y: Floats) -> Floats:
    """Return the sideways distances [m] from points to a box's footprint (0 inside)."""
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    dx, dy = x - box.center[0], y - box.center[1]
    a = np.maximum(np.abs(c * dx + s * dy) - box.size[0] / 2.0, 0.0)
    b = np.maximum(np.abs(-s * dx + c * dy) - box.size[1] / 2.0, 0.0)
    out: Floats = np.hypot(a, b)
    return out


def around(
    space: ConfigurationSpace, box: Box, floor: int, reach: float, every: int = 1
) -> BasePoses:
    """Return the spots within `reach` [m] of the axis-aligned extent of a box."""
    (x0, y0, _), (x1, y1, _) = box.axis_aligned()
    return space.within(floor, (x0 - reach, y0 - reach), (x1 + reach, y1 + reach), every)


def spread(
    stands: BasePoses, box: Box, score: Floats, gaps: Floats, more: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the best spots (indices) of all directions, near and far, and about `more` others.

    The best come first.
    """
    angle = np.arctan2(stands.y - box.center[1], stands.x - box.center[0])
    side = ((angle + math.pi) / math.tau * _SIDES).astype(np.intp) % _SIDES
    near = (gaps / (float(gaps.max()) + 1e-6) * _RINGS).astype(np.intp)
    side = side * _RINGS + near
    order = np.argsort(-score, kind="stable")
    first = order[np.unique(side[order], return_index=True)[1]]
    best = first[np.argsort(-score[first], kind="stable")]
    rest = np.setdiff1d(order, best, assume_unique=True)
    return best, rest[:: max(1, len(rest) // more)]


def grips(
    space: ConfigurationSpace,
    body: Body,
    box: Box,
    z: float,
    floor: int,
    components: frozenset[int] | None,
) -> tuple[list[Grip], Reach]:
    """Return where to stand so that a hand reaches the box, for each arm that does, and why not.

    A hand reaches a box if it can be at the height `z` [m] at the distance of the nearest point of
    the box's footprint (EMOS, section 3.3: the workspace is what sampled hands have reached).

    Args:
        space: Where the body stands.
        body: The body.
        box: What to reach; without extent for a point.
        z: Height of the hand [m, map].
        floor: Index of the floor to stand on.
        components: Components of free space that count; None: all.

    Returns:
        The grips, and if there are none the tool's answer that says why.
    """
    height = z - space.plan.elevation(floor)
    if not body.hands:
        return [], Reach(Obstacle.NO_ARM, "it has no arm")
    found = []
    trouble: Reach | None = None
    for hand in body.hands:
        row = hand.row(height)
        if row is None:
            trouble = trouble or _wrong_height(hand, height)
            continue
        farthest = hand.farthest(row)
        stands = around(space, box, floor, farthest).of_components(components)
        gaps = gap_to(box, stands.x, stands.y)
        ok = hand.reaches(row, gaps)
        if not ok.any():
            trouble = _too_far(space, box, height, floor, farthest, components)
            continue
        stands, gaps = stands.where(ok), gaps[ok]
        safe = hand.reaches(row, gaps + _SAFE) & hand.reaches(row, np.maximum(gaps - _SAFE, 0.0))
        clearance = np.minimum(stands.clearance, 0.15)
        score = safe + clearance + 0.5 * np.minimum(farthest - gaps, 0.2)
        best = np.concatenate(spread(stands, box, score, gaps, _MORE))
        found.append(
            Grip(
                np.stack([stands.x[best], stands.y[best]], axis=1),
                gaps[best],
                hand,
                height,
                floor,
                farthest,
            )
        )
    if found:
        return found, Reach()
    assert trouble is not None
    return [], trouble


def reach_of(grip: Grip, k: int, elevation: float, what: str) -> Reach:
    """Return the tool's answer for spot `k` of a grip; `what` names the thing."""
    words = (
        f"the {grip.hand.name or 'arm'} reaches {what} at {grip.height:.2f} m above the floor from "
        f"{grip.gaps[k]:.2f} m away (it reaches {grip.farthest:.2f} m at that height)"
    )
    x, y = grip.spots[k]
    gap = float(grip.gaps[k])
    return Reach(None, words, (float(x), float(y), elevation), grip.farthest - gap)


def _wrong_height(hand: Hand, height: float) -> Reach:
    nearest = hand.nearest_height(height)
    high = nearest < height
    span = f"{hand.low:.2f} to {hand.high:.2f} m"
    if hand.low <= height <= hand.high:
        words = f"at {height:.2f} m above the floor the hand gets nowhere, within {span} elsewhere"
    else:
        words = f"{height:.2f} m above the floor; the hand gets to {span}"
    return Reach(Obstacle.TOO_HIGH if high else Obstacle.TOO_LOW, words)


def _too_far(
    space: ConfigurationSpace,
    box: Box,
    height: float,
    floor: int,
    farthest: float,
    components: frozenset[int] | None,
) -> Reach:
    stands = around(space, box, floor, farthest + 3.0, 2).of_components(components)
    if not len(stands):
        words = f"there is no spot to stand on within {farthest + 3.0:.1f} m"
        return Reach(Obstacle.TOO_FAR_IN, words)
    gaps = gap_to(box, stands.x, stands.y)
    nearest = float(gaps.min())
    if nearest <= farthest:
        words = (
            f"at {height:.2f} m above the floor the hand reaches {farthest:.2f} m but not near the "
            "body, and there is no spot at a distance between"
        )
    else:
        words = (
            f"the nearest spot to stand on is {nearest:.2f} m away; at {height:.2f} m above the "
            f"floor the hand reaches {farthest:.2f} m"
        )
    return Reach(Obstacle.TOO_FAR_IN, words)
