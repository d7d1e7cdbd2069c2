"""Association: whether two sightings are of one object, by a gate and an assignment.

Every answer to "is this the same object?" comes from here: a row of the table of gates says which
pairs may be one, and `assign` chooses among them. Labels are compared by the callers, who know what
their labels mean; a gate that holds whatever the labels are says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from coterie_core.geometry import Box, Vec3, iou, share_inside

A = TypeVar("A", int, str)
B = TypeVar("B", int, str)


@dataclass(frozen=True, slots=True)
class Gate:
    """Which two boxes may be of one object: any of its bounds suffices.

    Attributes:
        distance_m: Largest distance of the centers [m].
        growth: Share of the diagonal of the larger box to which the distance grows: views of a
            large object show parts of it, whose centers are far apart.
        grows_to_m: Up to this distance [m].
        min_iou: Least overlap of the boxes (IoU, 0..1).
        min_inside: Least share of the smaller box that lies in the other (0..1).
    """

    distance_m: float = 0.0
    growth: float = 0.5
    grows_to_m: float = 0.0
    min_iou: float = math.inf
    min_inside: float = math.inf

    def limit(self, *boxes: Box) -> float:
        """Return the largest distance of the centers [m] for objects of these sizes."""
        largest = max((math.hypot(*box.size) for box in boxes), default=0.0)
        return max(self.distance_m, min(self.growth * largest, self.grows_to_m))

    def score(self, a: Box, b: Box) -> float:
        """Return how much speaks for one object: 0 outside of the gate, else 0.5 .. 2."""
        limit, away = self.limit(a, b), math.dist(a.center, b.center)
        # Boxes whose centers are farther apart than both half diagonals do not touch.
        touch = 2.0 * away <= math.hypot(*a.size) + math.hypot(*b.size)
        overlap = iou(a, b) if touch else 0.0
        if away <= limit:
            return 1.0 - (0.5 * away / limit if limit else 0.0) + overlap
        if overlap >= self.min_iou:
            return 0.5 + overlap
        if touch and self.min_inside <= 1.0:
            small, large = (a, b) if a.volume <= b.volume else (b, a)
            return 0.5 + overlap if share_inside(small, large) >= self.min_inside else 0.0
        return 0.0

    def nearest(self, at: Vec3, known: Iterable[tuple[B, Box]]) -> B | None:
        """Return which known object is at a point [m]; None where none is in the gate."""
        near = ((math.dist(at, box.center), key, box) for key, box in known)
        within = [(away, key) for away, key, box in near if away <= self.limit(box)]
        return min(within)[1] if within else None


SIGHTING = Gate(0.6)
"""A robot's report of a label and a place, against a map: two robots' poses are off by 0.1 to 0.3 m
each, and each saw another side of the object."""
LOOK = Gate(0.6, growth=0.4, grows_to_m=math.inf)
"""Detections of one look, against the map of the robot that looked: as SIGHTING, and a look shows a
part of large furniture. Two pieces stand side by side at less than half their diagonal."""
MISNAMED_FURNITURE = Gate(min_iou=0.4)
"""Solid furniture of another label: no two pieces fill one volume."""
MISNAMED_ITEM = Gate(min_iou=0.1)
"""An item of another label that both may have: boxes of small items hardly overlap."""
TWICE = Gate(0.15)
"""Two detections of one label in one look: items that stand side by side are farther apart."""
VIEW = Gate(0.5, min_iou=0.25)
"""Detections of one label in successive images of one robot, whose pose hardly changes between."""
MAPS = Gate(0.4, grows_to_m=1.0, min_iou=0.5)
"""Objects of two maps in one frame, each the mean of many looks; half an overlap holds whatever the
labels are."""
MEMORY = Gate(0.5, grows_to_m=1.0, min_iou=0.5)
"""Objects of the team's memory against a map: as MAPS, and the memory may be a day old."""
EVENT = Gate(0.6)
"""What a robot says that it picked, placed, opened or missed: the place is the robot's own."""
CORRECTION = Gate(0.4)
"""What a person corrected, in a newer map of the same frame, where its id is gone."""
PICTURE = Gate(0.5)
"""What another robot's map calls by a label, in one's own map."""
PICTURE_RENAMED = Gate(0.1)
"""The same where a person has renamed it: only the place tells."""
TARGET = Gate(0.5)
"""The target of a skill, among what the robot itself sees: the map that named it is another's."""
ANSWER = Gate(0.05, min_iou=0.25, min_inside=0.5)
"""Objects of one kind in one map that count as one in an answer: a part of it, mapped again."""
PERMIT_RADIUS_M = 0.3
"""A target of a permit is taken for what the map has so near to its box [m]: fail toward asking."""
MASS_RADIUS_M = 1.0
"""A target's mass is that of all of its label so near to it [m]: the heaviest counts."""
REST_SIGMA = 2.0
"""An object seen farther from its place than so many standard deviations has been moved."""


def at_rest(gap_m: float, *variances_m2: float) -> bool:
    """Tell whether errors of two places explain the gap between them.

    Args:
        gap_m: Distance of the two places [m].
        variances_m2: Variance of each of them, per axis [m^2].
    """
    return gap_m <= REST_SIGMA * math.sqrt(3.0 * sum(variances_m2))


def assign(scores: Mapping[tuple[A, B], float]) -> dict[A, B]:
    """Pair objects one to one so that the sum of their scores is largest.

    Args:
        scores: Score above 0 of each pair that may be one; pairs that are left out may not.

    Returns:
        The partner of each object that has one.
    """
    # Every node knows maps and few compare them: these take a quarter of a node's start to load.
    import numpy as np
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not scores:
        return {}
    lefts, rights = sorted({a for a, _ in scores}), sorted({b for _, b in scores})
    row, column = ({key: k for k, key in enumerate(side)} for side in (lefts, rights))
    edges = np.array([(row[a], len(lefts) + column[b]) for a, b in scores])
    size = len(lefts) + len(rights)
    links = coo_array((np.ones(len(edges)), edges.T), shape=(size, size))
    # Groups that share nothing are solved one by one: thousands of objects are no trouble.
    groups = connected_components(links, directed=False)[1]
    order = np.argsort(groups, kind="stable")
    pairs: dict[A, B] = {}
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        ours = [lefts[k] for k in members if k < len(lefts)]
        theirs = [rights[k - len(lefts)] for k in members if k >= len(lefts)]
        table = np.array([[scores.get((a, b), 0.0) for b in theirs] for a in ours])
        for i, j in zip(*linear_sum_assignment(table, maximize=True), strict=True):
            if table[i, j] > 0.0:
                pairs[ours[i]] = theirs[j]
    return pairs
