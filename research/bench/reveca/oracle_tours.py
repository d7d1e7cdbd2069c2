"""Shortest tours of one agent that knows everything: what the oracle divides among a team."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coterie_core.cooperation import Briefing, Spot, Thing, advance

Event = tuple[str, str, str]
"""What is done next: `fetch`, `load` or `put`, the thing, and the target or container ("")."""


@dataclass(frozen=True, slots=True)
class Tour:
    """What one agent does, in order, and the steps that it takes."""

    steps: float
    events: tuple[Event, ...] = ()


NO_TOUR = Tour(0.0)


@dataclass(slots=True)
class Job:
    """What is to be brought in an episode, and how far everything is."""

    things: Mapping[str, Thing]
    briefing: Briefing
    groups: list[tuple[list[str], int]] = field(default_factory=list)
    """For every sub-goal: things that can serve it, and how many are lacking."""
    targets: dict[str, list[Thing]] = field(default_factory=dict)
    """Item -> where it belongs."""
    _walks: dict[tuple[Spot, Spot], tuple[float, Spot]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        goal = self.briefing.goal
        for sub in goal.subgoals:
            places = [
                t
                for t in self.things.values()
                if sub.target in (t.label, t.id) and t.kind != "item"
            ]
            ids = {t.id for t in places}
            of_kind = [t for t in self.things.values() if t.label == sub.item and t.portable]
            there = [t for t in of_kind if t.parent in ids and t.relation == sub.relation]
            free = [t.id for t in of_kind if t not in there]
            lacking = sub.count - len(there)
            if lacking > 0:
                self.groups.append((free, lacking))
                self.targets |= dict.fromkeys(free, places)

    def near(self, here: Spot, there: Spot) -> bool:
        """Whether a spot is within reach."""
        far = math.dist(here.position[:2], there.position[:2])
        return here.room == there.room and far <= self.briefing.reach

    def walk(self, a: Spot, b: Spot) -> tuple[float, Spot]:
        """Steps from a spot until another one is within reach, and where one stands then."""
        known = self._walks.get((a, b))
        if known is None:
            known = self._walks[a, b] = self._walk(a, b)
        return known

    def _walk(self, a: Spot, b: Spot) -> tuple[float, Spot]:
        ways, stride = self.briefing.ways, self.briefing.stride
        far = ways.distance(a, b)
        if not math.isfinite(far):
            return math.inf, a
        if self.near(a, b):
            return 0.0, a
        legs, here = ways.route(a, b), a
        # As many steps at once as cannot lead into reach; from there on one by one, as one walks.
        steps = max(0, int((far - self.briefing.reach) / stride) - 1)
        if steps:
            here, _ = advance(here, legs, steps * stride)
        while legs and not self.near(here, b):
            here, _ = advance(here, legs, stride)
            steps += 1
        return float(steps), here


class Tours:
    """The shortest tours of one agent, for every set of things that it may bring.

    Shortest ways (Dijkstra) over states: what is brought, in hands and opened, and where one was.
    Steps are those that the world counts. Things for different places may be carried together.

    Args:
        job: What there is to do.
        items: Things that may be brought.
    """

    def __init__(self, job: Job, items: Sequence[str]) -> None:
        self.job, self.items = job, items
        bit = {item: 1 << k for k, item in enumerate(items)}
        self.limits = [(sum(bit[i] for i in free), most) for free, most in job.groups]
        self.places = {t.id: t for item in items for t in job.targets[item]}
        self.belongs = {
            place: sum(bit[i] for i in items if any(t.id == place for t in job.targets[i]))
            for place in self.places
        }
        self.things = [job.things[item] for item in items]
        boxes = {t.parent for t in self.things} | set(self.places)
        shut = sorted(b for b in boxes if b in job.things and job.things[b].is_open is False)
        self.shut = {box: 1 << k for k, box in enumerate(shut)}
        """Closed thing that is opened for one of the items -> its bit."""

    def from_(self, start: Spot) -> dict[frozenset[str], Tour]:
        """Return the tours from a spot."""
        job, hands = self.job, self.job.briefing.hands
        out: dict[int, Tour] = {}
        order = itertools.count()
        State = tuple[float, int, int, int, int, str, Spot, tuple[Event, ...]]
        queue: list[State] = [(0.0, next(order), 0, 0, 0, "", start, ())]
        settled: set[tuple[int, int, int, str]] = set()
        while queue:
            steps, _, done, held, opened, at, here, events = heapq.heappop(queue)
            if (done, held, opened, at) in settled:
                continue
            settled.add((done, held, opened, at))
            if not held:
                out.setdefault(done, Tour(steps, events))
            if held.bit_count() < hands:
                for k in self._wanted(done | held):
                    thing, one = self.things[k], 1 << k
                    far, spot = job.walk(here, thing.spot)
                    box = self.shut.get(thing.parent, 0)
                    cost = steps + far + 1.0 + bool(box & ~opened)
                    event = ("fetch", thing.id, "")
                    state = (done, held | one, opened | box, thing.id)
                    if math.isfinite(cost) and state not in settled:
                        heapq.heappush(queue, (cost, next(order), *state, spot, (*events, event)))
            for place, fits in self.belongs.items():
                brought = held & fits
                if not brought:
                    continue
                target = self.places[place]
                far, spot = job.walk(here, target.spot)
                box = self.shut.get(place, 0)
                cost = steps + far + brought.bit_count() + bool(box & ~opened)
                puts = tuple(("put", self.items[k], place) for k in _bits(brought))
                state = (done | brought, held & ~brought, opened | box, place)
                if math.isfinite(cost) and state not in settled:
                    heapq.heappush(queue, (cost, next(order), *state, spot, (*events, *puts)))
        return {frozenset(self.items[k] for k in _bits(done)): t for done, t in out.items()}

    def _wanted(self, had: int) -> Iterator[int]:
        """Yield the things that may be brought as well, without more of a kind than lacks."""
        for k in range(len(self.items)):
            one = 1 << k
            full = any(m & one and (had & m).bit_count() >= most for m, most in self.limits)
            if not had & one and not full:
                yield k


def _bits(mask: int) -> list[int]:
    return [k for k in range(mask.bit_length()) if mask >> k & 1]
