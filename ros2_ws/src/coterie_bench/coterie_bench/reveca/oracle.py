"""The oracle: sees everything, divides the work by search; a lower bound on steps in practice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coterie_core.cooperation import (
    Action,
    Briefing,
    GoTo,
    Grab,
    Note,
    Open,
    Percept,
    Put,
    Spot,
    Thing,
    Wait,
)


@dataclass(frozen=True, slots=True)
class Trip:
    """Fetch up to two things and bring them to a target."""

    items: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True)
class Tour:
    """Trips of one agent, and the steps that they take."""

    steps: float
    trips: tuple[Trip, ...] = ()


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

    def walk(self, a: Spot, b: Spot) -> float:
        """Steps from a spot until another one is within reach."""
        far = self.briefing.ways.distance(a, b)
        return math.ceil(max(0.0, far - 0.9 * self.briefing.reach) / self.briefing.stride)

    def fetch(self, item: str) -> float:
        """Steps to take a thing once it is within reach."""
        owner = self.things.get(self.things[item].parent)
        return 1.0 + (owner is not None and owner.is_open is False)


def tours(job: Job, start: Spot, items: Sequence[str]) -> dict[frozenset[str], Tour]:
    """Return the shortest tour for every set of at most five things, trips of two at most.

    Dynamic programming over the set brought and the target where the agent stands then.
    """
    most = sum(lacking for _, lacking in job.groups)
    best: dict[tuple[frozenset[str], str], Tour] = {(frozenset(), ""): Tour(0.0)}
    out: dict[frozenset[str], Tour] = {frozenset(): NO_TOUR}
    hands = min(2, job.briefing.hands)
    loads = [c for n in range(1, hands + 1) for c in itertools.permutations(items, n)]
    frontier = dict(best)
    while frontier:
        grown: dict[tuple[frozenset[str], str], Tour] = {}
        for (done, at), tour in frontier.items():
            here = job.things[at].spot if at else start
            for load in loads:
                if len(done) + len(load) > most or not done.isdisjoint(load):
                    continue
                cost, spot = tour.steps, here
                for item in load:
                    cost += job.walk(spot, job.things[item].spot) + job.fetch(item)
                    spot = job.things[item].spot
                for target in job.targets[load[-1]]:
                    if any(target not in job.targets[item] for item in load):
                        continue
                    first = target.is_open is False and not done
                    steps = cost + job.walk(spot, target.spot) + len(load) + first
                    key = (done | frozenset(load), target.id)
                    known = grown.get(key) or best.get(key)
                    if known is None or steps < known.steps - 1e-9:
                        grown[key] = Tour(steps, (*tour.trips, Trip(load, target.id)))
        best |= grown
        frontier = grown
    for (done, _), tour in best.items():
        if done not in out or tour.steps < out[done].steps:
            out[done] = tour
    return out


def divide(job: Job, starts: Mapping[str, Spot]) -> dict[str, Tour]:
    """Return the tours of all agents with the least steps until the last one is done.

    Exact over which things are brought and who brings them; ties go to the least walking.
    """
    items = [item for free, _ in job.groups for item in free]
    known = {name: tours(job, spot, items) for name, spot in starts.items()}
    names = list(starts)
    best: tuple[float, float] = (math.inf, math.inf)
    chosen: dict[str, Tour] = dict.fromkeys(names, NO_TOUR)
    for wanted in _choices(job.groups):
        for tour_of in _shares(names, wanted, known, best):
            steps = [tour.steps for tour in tour_of.values()]
            value = (max(steps), sum(steps))
            if value < best:
                best, chosen = value, tour_of
    return chosen


def _choices(groups: Sequence[tuple[list[str], int]]) -> Iterator[tuple[str, ...]]:
    per_group = [list(itertools.combinations(free, n)) for free, n in groups]
    for combination in itertools.product(*per_group):
        yield tuple(dict.fromkeys(itertools.chain.from_iterable(combination)))


def _shares(
    names: Sequence[str],
    wanted: tuple[str, ...],
    known: Mapping[str, Mapping[frozenset[str], Tour]],
    best: tuple[float, float],
) -> Iterable[dict[str, Tour]]:
    """Yield the ways to share things among agents that are not worse than the best so far."""

    def go(k: int, left: frozenset[str]) -> Iterator[dict[str, Tour]]:
        name = names[k]
        if k == len(names) - 1:
            tour = known[name].get(left)
            if tour is not None and tour.steps <= best[0]:
                yield {name: tour}
            return
        for n in range(len(left) + 1):
            for part in itertools.combinations(sorted(left), n):
                tour = known[name].get(frozenset(part))
                if tour is None or tour.steps > best[0]:
                    continue
                for rest in go(k + 1, left - set(part)):
                    yield {name: tour, **rest}

    return go(0, frozenset(wanted))


class OracleAgent:
    """Carries out its tour; looks up in the world's truth what is open by now.

    Args:
        name: Its name.
        world: A world with `things`, the truth.
        plans: Tours by name, filled by the first agent of the team that begins.
    """

    def __init__(self, name: str, world: Any, plans: dict[str, Tour]) -> None:
        self.name = name
        self._world, self._plans = world, plans
        self._todo: list[tuple[str, str]] = []
        self.briefing: Briefing
        self._percept: Percept

    def begin(self, briefing: Briefing) -> None:
        """Divide the work once for the whole team."""
        self.briefing = briefing
        if self.name == briefing.team[0]:
            self._plans.clear()
            starts = {name: body.spot for name, body in self._world.bodies.items()}
            self._plans |= divide(Job(self._world.things, briefing), starts)
        self._todo = []
        for trip in self._plans[self.name].trips:
            self._todo += [("fetch", item) for item in trip.items]
            self._todo += [(trip.target, item) for item in trip.items]

    def observe(self, percept: Percept) -> None:
        """Take a percept in."""
        self._percept = percept

    def receive(self, note: Note) -> None:
        """Messages do not matter to who knows everything."""

    async def act(self) -> Action:
        """Do the next thing of the tour."""
        things, hands = self._world.things, self._percept.hands
        while self._todo:
            what, item = self._todo[0]
            if (what == "fetch") == (item in hands):
                self._todo.pop(0)
                continue
            break
        else:
            return Wait("done")
        what, item = self._todo[0]
        thing = things[item] if what == "fetch" else things[what]
        if not self._near(thing.spot):
            return GoTo(thing.id, thing.spot)
        closed = things.get(thing.parent) if what == "fetch" else thing
        if closed is not None and closed.is_open is False:
            return Open(closed.id)
        if what == "fetch":
            return Grab(item)
        return Put(item, thing.id, "in" if thing.kind == "container" else "on")

    def _near(self, spot: Spot) -> bool:
        here = self._percept.spot
        near = math.dist(here.position[:2], spot.position[:2]) <= self.briefing.reach
        return here.room == spot.room and near


def oracle_team(world: Any, decider: object = None) -> dict[str, OracleAgent]:
    """Return a team of oracles that share one plan."""
    plans: dict[str, Tour] = {}
    return {name: OracleAgent(name, world, plans) for name in world.team}
