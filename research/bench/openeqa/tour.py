"""Episode histories of generated houses, and the shortest way to see what answers a question."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np

from coterie_core.geometry import Pose, Vec3
from coterie_recordings import RecordedFrame
from coterie_world.scene import SceneGraph
from habitat_bridge.embedded.navigation import NoWay
from research.bench.openeqa.world import (
    HEADINGS,
    LOOK_STEPS,
    TURN,
    Home,
    Seeker,
    grid_yaw,
    turns,
    way_steps,
)

LONGER = 10.0
"""Least length of a tour [m] (OpenEQA, appendix II.A)."""
CURVED = 1.1
"""Least length of its first leg as a multiple of the straight line."""
VISIBLE = 60
"""Pixels of a thing, at most 4 m away, from which it counts as in view."""
_ENOUGH = 0.7  # share of the rooms that a tour shall enter, as far as its legs allow
_LEGS = 5


@dataclass(slots=True)
class Episode:
    """The history of a tour: frames (a `Recording`), the map they gave, and what they truly show.

    `pixels` is the largest number of pixels that any frame shows of a thing, `looks` in how many
    frames it is in view (by true id); `start` and `yaw` [rad] are where it
    starts, and an active agent with it; `length` [m] is that of the way of a tour.
    """

    name: str
    start: str
    yaw: float
    frames: list[RecordedFrame]
    scene: SceneGraph | None
    map: SceneGraph
    pixels: Counter[str]
    looks: Counter[str]
    rooms: frozenset[str]
    length: float = 0.0
    problems: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.frames)

    def __getitem__(self, index: int) -> RecordedFrame:
        """Return a frame."""
        return self.frames[index]


def make_tour(home: Home, seed: int) -> Episode:
    """Walk through a house as the paper's tours do: scans of up to 180 degrees every metre.

    The first leg is a shortest way of more than 10 m, at least 1.1 times the straight line; where
    it enters few rooms, further legs lead to the nearest rooms not entered yet.
    """
    rng = np.random.default_rng([0x70E2, seed])
    places = _legs(home, rng)
    points: list[Vec3] = [home.stands[places[0]]]
    for a, b in itertools.pairwise(places):
        points += home.route(home.stands[a], home.stands[b])[1:]
    yaw = _heading(points)
    seeker = Seeker(home, places[0], yaw)
    seeker.observe(around=False)
    length = 0.0
    for at, heading, step in _each_metre(points):
        length += step
        home.put(at, heading)
        seeker.face(heading)
        half = int(rng.integers(2, 4))  # 60 or 90 degrees to either side
        for k in range(-half, half + 1):
            seeker.face(heading + k * TURN)
            seeker.see()
        seeker.face(heading)
        seeker.observe(around=False)
    episode = episode_of(seeker, f"house-{home.seed}")
    episode.length = length
    return episode


def episode_of(seeker: Seeker, name: str) -> Episode:
    """Return what a body has seen so far as an episode history."""
    pixels: Counter[str] = Counter()
    looks: Counter[str] = Counter()
    frames = []
    for k, (shown, place) in enumerate(seeker.frames):
        for thing, count in shown.pixels.items():
            pixels[thing] = max(pixels[thing], count)
            looks[thing] += count >= VISIBLE
        frames.append(RecordedFrame(f"{k:05d}", shown.rgbd, shown.detections, place))
    return Episode(
        name,
        seeker.start,
        seeker.yaw,
        frames,
        None,
        seeker.scene(),
        pixels,
        looks,
        frozenset(seeker.rooms),
    )


def _legs(home: Home, rng: np.random.Generator) -> list[str]:
    """Choose the places between which a tour goes."""
    ids = sorted(home.stands)
    room = {k: home.truth.places[k].room for k in ids}
    ways: dict[tuple[str, str], float] = {}

    def way(a: str, b: str) -> float:
        if (a, b) not in ways:
            try:
                points = home.route(home.stands[a], home.stands[b])
                ways[a, b] = sum(math.dist(p, q) for p, q in itertools.pairwise(points))
            except NoWay:
                ways[a, b] = math.inf
        return ways[a, b]

    pairs = []
    for a, b in itertools.permutations(ids, 2):
        straight = math.dist(home.stands[a], home.stands[b])
        if straight > LONGER / 2.0:
            pairs.append((a, b, straight))
    order = rng.permutation(len(pairs))
    first: tuple[str, str] | None = None
    longest = -1.0
    for k in order[:60]:
        a, b, straight = pairs[k]
        length = way(a, b)
        if math.isinf(length):
            continue
        if length > LONGER and length >= CURVED * straight:
            first = (a, b)
            break
        if length > longest:
            longest, first = length, (a, b)
    if first is None:  # a house of hardly more than a room
        first = (ids[0], max(ids, key=lambda k: (way(ids[0], k), k)))
    places = list(first)
    rooms = set(room.values())
    for _ in range(_LEGS):
        entered = _entered(home, places)
        total = sum(way(a, b) for a, b in itertools.pairwise(places))
        if len(entered) >= _ENOUGH * len(rooms) and total > LONGER:
            break
        left = [k for k in ids if room[k] not in entered] or [k for k in ids if k != places[-1]]
        left = [k for k in left if not math.isinf(way(places[-1], k))]
        if not left:
            break
        places.append(min(left, key=lambda k: (way(places[-1], k), k)))
    return places


def _entered(home: Home, places: list[str]) -> set[str]:
    """Ids of the rooms that a tour enters."""
    found: set[str] = set()
    for a, b in itertools.pairwise(places):
        for point, _, _ in _each_metre(list(home.route(home.stands[a], home.stands[b]))):
            view = home.world.room_view(point)
            if view is not None:
                found.add(view.id)
    return found


def _each_metre(points: list[Vec3]) -> Iterator[tuple[Vec3, float, float]]:
    """Yield points about a metre apart along a way, the heading there, and how far it was [m]."""
    for a, b in itertools.pairwise(points):
        length = math.dist(a[:2], b[:2])
        if length < 0.3 and b != points[-1]:
            continue
        pieces = max(round(length), 1)
        heading = math.atan2(b[1] - a[1], b[0] - a[0])
        for k in range(pieces):
            t = k / pieces
            at = (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2])
            yield at, heading, length / pieces


def _heading(points: list[Vec3]) -> float:
    for a, b in itertools.pairwise(points):
        if math.dist(a[:2], b[:2]) > 0.02:
            return math.atan2(b[1] - a[1], b[0] - a[0])
    return 0.0


class Sight:
    """What is truly in view from every place of a house, found by drawing it.

    Args:
        home: The house.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._views: dict[str, list[frozenset[str]]] = {}

    def views(self, place: str) -> list[frozenset[str]]:
        """Return per heading of a look around the ids of the things in view."""
        if place not in self._views:
            views = []
            for k in range(HEADINGS):
                pose = Pose(self.home.stands[place], grid_yaw(k))
                self.home.put(pose.position, pose.yaw)
                shown = self.home.shown().pixels
                views.append(frozenset(i for i, n in shown.items() if n >= VISIBLE))
            self._views[place] = views
        return self._views[place]

    def reference(
        self, start: str, yaw: float, evidence: Collection[str], anyone: bool = False
    ) -> int | None:
        """Return the fewest atomic steps from a start to where the evidence is in view.

        The way to a place by the shortest route, and there the turns until all of the evidence
        (or with `anyone` one of it) has been in view. None: no place shows it. At least 1, since
        Eq. 2 divides by it.
        """
        best: int | None = None
        wanted = frozenset(evidence)
        spots = sorted(
            self.home.stands, key=lambda k: math.dist(self.home.stands[k], self.home.stands[start])
        )
        for place in spots:
            straight = math.dist(self.home.stands[place], self.home.stands[start]) / 0.25
            if best is not None and straight >= best:
                break
            views = self.views(place)
            union = frozenset().union(*views)
            if not (wanted & union if anyone else wanted <= union):
                continue
            try:
                way = self.home.route(self.home.stands[start], self.home.stands[place])
            except NoWay:
                continue
            steps, heading = way_steps(way, yaw)
            steps += _sweep(views, heading, wanted, anyone)
            best = steps if best is None else min(best, steps)
        return None if best is None else max(best, 1)


def _sweep(
    views: list[frozenset[str]], heading: float, wanted: frozenset[str], anyone: bool
) -> int:
    """Fewest turns from a heading until the wanted things have been in view."""
    best = turns(0.0, math.pi) + LOOK_STEPS
    for first in range(HEADINGS):
        for direction in (1, -1):
            seen: set[str] = set()
            for count in range(HEADINGS):
                seen |= views[(first + direction * count) % HEADINGS]
                if wanted & seen if anyone else wanted <= seen:
                    cost = turns(heading, grid_yaw(first)) + 2 * count
                    best = min(best, cost)
                    break
    return best
