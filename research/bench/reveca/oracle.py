"""The oracle: sees everything, divides the work by search; a lower bound on steps in practice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    Wait,
)
from research.bench.reveca.oracle_loads import Handling, divide_loads
from research.bench.reveca.oracle_tours import NO_TOUR, Event, Job, Tour, Tours


def divide(job: Job, starts: Mapping[str, Spot]) -> dict[str, Tour]:
    """Return the tours of all agents with the least steps until the last one is done.

    Exact over which things are brought and who brings them; ties go to the least walking.
    """
    items = list(dict.fromkeys(item for free, _ in job.groups for item in free))
    search = Tours(job, items)
    known = {name: search.from_(spot) for name, spot in starts.items()}
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
        self._todo: list[Event] = []
        self.briefing: Briefing
        self._percept: Percept

    def begin(self, briefing: Briefing) -> None:
        """Divide the work once for the whole team."""
        self.briefing = briefing
        if self.name == briefing.team[0]:
            self._plans.clear()
            starts = {name: body.spot for name, body in self._world.bodies.items()}
            job = Job(self._world.things, briefing)
            if briefing.turn:
                self._plans |= divide_loads(job, starts, Handling.of(self._world.transport))
            else:
                self._plans |= divide(job, starts)
        self._todo = list(self._plans[self.name].events)

    def observe(self, percept: Percept) -> None:
        """Take a percept in."""
        self._percept = percept

    def receive(self, note: Note) -> None:
        """Messages do not matter to who knows everything."""

    async def act(self) -> Action:
        """Do the next thing of the tour."""
        while self._todo and self._done(self._todo[0]):
            self._todo.pop(0)
        if not self._todo:
            return Wait("done")
        things = self._world.things
        kind, item, target = self._todo[0]
        if kind == "load":
            return Put(item, target, "in")
        thing = things[item] if kind == "fetch" else things[target]
        if not self._near(thing.spot):
            return GoTo(thing.id, thing.spot)
        closed = things.get(thing.parent) if kind == "fetch" else thing
        if closed is not None and closed.is_open is False:
            return Open(closed.id)
        if kind == "fetch":
            return Grab(item)
        return Put(item, target, "in" if thing.kind == "container" else "on")

    def _done(self, event: Event) -> bool:
        kind, item, target = event
        things, hands = self._world.things, self._percept.hands
        if kind == "fetch":
            return item in hands
        if kind == "load":
            return bool(things[item].parent == target)
        if kind == "empty" and things[item].portable:
            return all(thing.parent != item for thing in things.values())
        if kind == "empty":
            return True  # it stays where it was put down
        return item not in hands and things[item].parent not in hands

    def _near(self, spot: Spot) -> bool:
        here = self._percept.spot
        near = math.dist(here.position[:2], spot.position[:2]) <= self.briefing.reach
        return here.room == spot.room and near


def oracle_team(world: Any, decider: object = None) -> dict[str, OracleAgent]:
    """Return a team of oracles that share one plan."""
    plans: dict[str, Tour] = {}
    return {name: OracleAgent(name, world, plans) for name in world.team}
