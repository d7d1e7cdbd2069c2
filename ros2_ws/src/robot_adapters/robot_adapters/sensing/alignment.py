"""Where a robot's map lies in the team's map, found by matching objects that both maps have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Vec3, heading_axes, wrap_angle
from robot_adapters.sensing.plane import MapPose

Array = npt.NDArray[np.float64]

_MOST_REFINED = 150
"""Poses of the best scores that are refined."""


@dataclass(frozen=True, slots=True)
class Landmark:
    """A labelled object of a map: where its middle is [m]."""

    label: str
    at: Vec3


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """How maps are matched.

    Attributes:
        tolerance: Objects of both maps that come to lie nearer than this may be one [m].
        level: Their heights may differ by so much, besides what all heights differ by [m].
        least: Fewest objects that must match.
        share: Fraction of the robot's objects, of those whose label the team's map has where it
            looks, that must match (0..1).
        rival: A second pose that explains more than this fraction of what the best one explains
            makes the match ambiguous (0..1).
        apart: Poses that differ by more than this are different [m].
        apart_angle: Likewise [rad].
        baseline: Two objects must be so far apart to give a pose [m].
        hypotheses: Most pairs of objects that are tried.
        seed: Of the choice among them.
    """

    tolerance: float = 0.5
    level: float = 0.8
    least: int = 5
    share: float = 0.5
    rival: float = 0.75
    apart: float = 1.0
    apart_angle: float = 0.35
    baseline: float = 1.5
    hypotheses: int = 4000
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Alignment:
    """A pose of the robot's map in the team's, and how good it is.

    `error` [m] and `angle_error` [rad] are standard errors: of the position at the edge of what was
    matched, and of the turn. `matched` of `landmarks` objects lie on one of the team's; `residual`
    is the root mean square of what they are off [m].
    """

    pose: MapPose
    error: float
    angle_error: float
    matched: int
    landmarks: int
    residual: float

    def __str__(self) -> str:
        """Say so in one line."""
        p = self.pose
        return (
            f"map aligned at x {p.x:.2f} m, y {p.y:.2f} m, yaw {math.degrees(p.yaw):.1f} degrees "
            f"by {self.matched} of {self.landmarks} objects, to {self.error:.2f} m and "
            f"{math.degrees(self.angle_error):.1f} degrees"
        )


class AlignmentError(ValueError):
    """The maps cannot be matched: says why and what would help."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """A turn (2, 2), shift (2,) and rise, which objects they bring together, and their weight."""

    turn: Array
    shift: Array
    rise: float
    pairs: tuple[tuple[int, int], ...]
    score: float

    @property
    def yaw(self) -> float:
        return math.atan2(self.turn[1, 0], self.turn[0, 0])


def align(
    own: Sequence[Landmark], team: Sequence[Landmark], options: MatchOptions | None = None
) -> Alignment:
    """Find where the robot's map lies in the team's.

    Pairs of the robot's objects are laid onto pairs of the team's with the same labels and the same
    distance (RANSAC); the pose that brings most objects together is refined by least squares.
    Rare labels count more than frequent ones: a hundred chairs say little.

    Raises:
        AlignmentError: Too few objects match, or two poses explain them about equally well, as in a
            symmetrical building.
    """
    o = options or MatchOptions()
    theirs = Counter(one.label for one in team)
    usable = [one for one in own if theirs[one.label]]
    if len(usable) < o.least:
        raise AlignmentError(
            f"{len(usable)} objects of this robot's map have labels that the team's map has too, "
            f"{o.least} are needed: let it see more, or give in_team_map"
        )
    problem = _Problem(usable, team, o)
    fits = problem.search()
    best = fits[0] if fits else None
    if best is None or len(best.pairs) < o.least:
        most = len(best.pairs) if best is not None else 0
        raise AlignmentError(
            f"only {most} objects of the two maps come to lie on one another, {o.least} are "
            "needed: let the robot see more, or give in_team_map"
        )
    covered = problem.covered(best)
    if len(best.pairs) < o.share * covered:
        raise AlignmentError(
            f"only {len(best.pairs)} of {covered} objects fit where the maps overlap; the match "
            "may be chance: let the robot see more, or give in_team_map"
        )
    rival = next((f for f in fits[1:] if problem.differ(best, f)), None)
    if rival is not None and rival.score > o.rival * best.score:
        away, turned = problem.difference(best, rival)
        raise AlignmentError(
            f"ambiguous: {len(best.pairs)} objects match in one pose and {len(rival.pairs)} in "
            f"another, {away:.1f} m and {math.degrees(turned):.0f} degrees away (the building may "
            "be symmetrical): let the robot see more, or give in_team_map"
        )
    return problem.result(best)


class _Problem:
    """The objects of two maps as arrays."""

    def __init__(
        self, own: Sequence[Landmark], team: Sequence[Landmark], options: MatchOptions
    ) -> None:
        self.options = options
        self.a = np.array([one.at for one in own], dtype=np.float64)
        self.b = np.array([one.at for one in team], dtype=np.float64)
        self.same = np.array([[one.label == other.label for other in team] for one in own])
        counts = Counter(one.label for one in own) + Counter(one.label for one in team)
        self.weight = np.array([1.0 / math.sqrt(counts[one.label]) for one in own])
        self.middle = self.a[:, :2].mean(axis=0)
        self.rises = self.b[None, :, 2] - self.a[:, None, 2]

    def search(self) -> list[_Fit]:
        """Return the poses found, best first; alike ones once."""
        rng = np.random.default_rng(self.options.seed)
        kept: list[_Fit] = []
        tried: list[tuple[float, tuple[float, ...]]] = []
        for turn, shift, rise in self._hypotheses(rng):
            score = self._score(turn, shift, rise)
            if score > 0.0:
                tried.append((score, (turn[0, 0], turn[1, 0], *shift, rise)))
        tried.sort(reverse=True)
        for score, (c, s, x, y, rise) in tried[:_MOST_REFINED]:
            if kept and score < 0.4 * kept[0].score:
                break
            turn, shift = _turn(math.atan2(s, c)), np.array([x, y])
            if any(self._near(fit, turn, shift, rise) for fit in kept):
                continue
            fit = self._refined(turn, shift, rise)
            if not any(self._near(other, fit.turn, fit.shift, fit.rise) for other in kept):
                kept.append(fit)
        return sorted(kept, key=lambda fit: -fit.score)

    def _hypotheses(self, rng: np.random.Generator) -> list[tuple[Array, Array, float]]:
        """Poses that lay two of the robot's objects onto two of the team's."""
        o, a, b = self.options, self.a[:, :2], self.b[:, :2]
        first, second = np.triu_indices(len(a), 1)
        apart = np.hypot(*(a[first] - a[second]).T)
        pairs = np.flatnonzero(apart >= o.baseline)
        rare = self.weight[first[pairs]] * self.weight[second[pairs]]
        # Rare labels first; of equally rare ones those far apart, which give the turn best.
        keys = rare * (1.0 + 0.05 * apart[pairs]) * (1.0 + 0.2 * rng.random(len(pairs)))
        found: list[tuple[Array, Array, float]] = []
        rises = self.rises
        between = np.hypot(b[:, None, 0] - b[None, :, 0], b[:, None, 1] - b[None, :, 1])
        for k in pairs[np.argsort(-keys, kind="stable")].tolist():
            i, j = int(first[k]), int(second[k])
            fits = np.abs(between - apart[k]) <= o.tolerance
            fits &= self.same[i][:, None] & self.same[j][None, :]
            fits &= np.abs(rises[i][:, None] - rises[j][None, :]) <= o.level
            heading = math.atan2(*(a[j] - a[i])[::-1])
            for m, n in np.argwhere(fits).tolist():
                if m == n:
                    continue
                yaw = math.atan2(*(b[n] - b[m])[::-1]) - heading
                turn = _turn(yaw)
                shift = (b[m] + b[n]) / 2.0 - turn @ ((a[i] + a[j]) / 2.0)
                found.append((turn, shift, float(rises[i, m] + rises[j, n]) / 2.0))
                if len(found) >= o.hypotheses:
                    return found
        return found

    def _distances(self, turn: Array, shift: Array, rise: float) -> Array:
        """Distance [m] of each of the robot's objects to each of the team's of its label."""
        moved = self.a[:, :2] @ turn.T + shift
        away = np.hypot(moved[:, None, 0] - self.b[:, 0], moved[:, None, 1] - self.b[:, 1])
        level = np.abs(self.rises - rise) <= self.options.level
        return np.where(self.same & level, away, np.inf)

    def _score(self, turn: Array, shift: Array, rise: float) -> float:
        nearest = self._distances(turn, shift, rise).min(axis=1)
        close = np.clip(1.0 - nearest / self.options.tolerance, 0.0, 1.0)
        return float((self.weight * np.sqrt(close)).sum())

    def _pairs(self, turn: Array, shift: Array, rise: float) -> list[tuple[int, int]]:
        """Objects that come together, one to one, the nearest first."""
        away = self._distances(turn, shift, rise)
        near = np.argwhere(away <= self.options.tolerance)
        order = np.argsort(away[near[:, 0], near[:, 1]], kind="stable")
        left: set[int] = set()
        right: set[int] = set()
        pairs = []
        for i, m in near[order].tolist():
            if i not in left and m not in right:
                left.add(i)
                right.add(m)
                pairs.append((i, m))
        return pairs

    def _refined(self, turn: Array, shift: Array, rise: float) -> _Fit:
        pairs = self._pairs(turn, shift, rise)
        for _ in range(10):
            if len(pairs) < 2:
                break
            i, m = (np.array(side) for side in zip(*pairs, strict=True))
            turn, shift = _least_squares(self.a[i, :2], self.b[m, :2])
            rise = float(np.median(self.rises[i, m]))
            again = self._pairs(turn, shift, rise)
            if again == pairs:
                break
            pairs = again
        away = self._distances(turn, shift, rise)
        tolerance = self.options.tolerance
        score = sum(
            float(self.weight[i] * math.sqrt(max(1.0 - away[i, m] / tolerance, 0.0)))
            for i, m in pairs
        )
        return _Fit(turn, shift, rise, tuple(pairs), score)

    def covered(self, fit: _Fit) -> int:
        """Objects of the robot's that lie where the team's map has any within 2 m."""
        moved = self.a[:, :2] @ fit.turn.T + fit.shift
        away = np.hypot(moved[:, None, 0] - self.b[:, 0], moved[:, None, 1] - self.b[:, 1])
        away[np.abs(self.rises - fit.rise) > self.options.level] = np.inf
        return int((away.min(axis=1) <= 2.0).sum())

    def difference(self, fit: _Fit, other: _Fit) -> tuple[float, float]:
        """How far two poses put the middle of the robot's objects apart [m], and turned [rad]."""
        here, there = (f.turn @ self.middle + f.shift for f in (fit, other))
        return float(np.hypot(*(here - there))), abs(wrap_angle(fit.yaw - other.yaw))

    def differ(self, fit: _Fit, other: _Fit) -> bool:
        """Whether two poses are not the same but for noise."""
        away, turned = self.difference(fit, other)
        o = self.options
        level = abs(fit.rise - other.rise) > 2.0 * o.level
        return away > o.apart or turned > o.apart_angle or level

    def _near(self, fit: _Fit, turn: Array, shift: Array, rise: float) -> bool:
        yaw = math.atan2(turn[1, 0], turn[0, 0])
        away = float(np.hypot(*(fit.turn @ self.middle + fit.shift - turn @ self.middle - shift)))
        turned = abs(wrap_angle(fit.yaw - yaw))
        o = self.options
        level = abs(fit.rise - rise) <= o.level
        return level and away <= o.apart / 2.0 and turned <= o.apart_angle / 2.0

    def result(self, fit: _Fit) -> Alignment:
        """Return a pose with its standard errors."""
        i, m = (np.array(side) for side in zip(*fit.pairs, strict=True))
        moved = self.a[i, :2] @ fit.turn.T + fit.shift
        off = moved - self.b[m, :2]
        n = len(fit.pairs)
        variance = float((off**2).sum()) / max(2 * n - 3, 1)
        arm = self.a[i, :2] - self.a[i, :2].mean(axis=0)
        spread = float((arm**2).sum())
        angle = math.sqrt(variance / max(spread, 1e-9))
        reach = float(np.hypot(*arm.T).max())
        error = math.sqrt(variance / n + (angle * reach) ** 2)
        # Heights of boxes are rougher than the heights of floors: little is none.
        z = round(fit.rise, 3) if abs(fit.rise) > 0.5 else 0.0
        pose = MapPose(float(fit.shift[0]), float(fit.shift[1]), wrap_angle(fit.yaw), z)
        residual = math.sqrt(float((off**2).sum(axis=1).mean()))
        return Alignment(pose, error, angle, n, len(self.a), residual)


def _turn(yaw: float) -> Array:
    return heading_axes(yaw)[:2, :2]


def _least_squares(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the turn and shift that bring points (n, 2) nearest to others (n, 2)."""
    ca, cb = a.mean(axis=0), b.mean(axis=0)
    da, db = a - ca, b - cb
    sin = float((da[:, 0] * db[:, 1] - da[:, 1] * db[:, 0]).sum())
    cos = float((da * db).sum())
    turn = _turn(math.atan2(sin, cos))
    return turn, cb - turn @ ca
