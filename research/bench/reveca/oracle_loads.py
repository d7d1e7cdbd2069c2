"""The oracle where containers can be carried (transport): trips of several things, divided.

Everything goes to one place. A trip is at most four things where one carries a container (three in
it, one in the other hand), else as many as there are hands. The best order of every trip, the best
partition into trips and the best division among agents are searched; that a container is fetched,
if at all, on the first trip is what keeps this a bound in practice and no proof.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie_core.cooperation import Spot, Thing
from research.bench.reveca.oracle_tours import NO_TOUR, Event, Job, Tour
from research.bench.reveca.transport import TransportOptions

MOST = 12
"""Most things for which all sets are looked at."""
Steps = npt.NDArray[np.float64]
Way = tuple[float, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Handling:
    """What handling takes [steps], and whether a container stays at the goal."""

    grasp: float = 1.0
    load: float = 1.0
    drop: float = 1.0
    lost: bool = False

    @staticmethod
    def of(options: TransportOptions) -> Handling:
        """Return that of a transport world."""
        return Handling(options.grasp, options.load, options.drop, options.lost)


class Loads:
    """Trips of one job.

    Args:
        job: What there is to do; all things of a kind are needed, all go to one place.
        items: Ids of the things.
        target: Where they go.
        handling: What handling takes.
    """

    def __init__(self, job: Job, items: Sequence[str], target: Thing, handling: Handling) -> None:
        self.job, self.items, self.target = job, list(items), target
        self.costs = handling
        self.spots = [job.things[item].spot for item in items]
        self.hands = job.briefing.hands
        self.most = job.briefing.carry + self.hands - 1
        self.size = 1 << len(items)
        self.home = [self._steps(spot, target.spot) for spot in self.spots]
        self.between = [[self._steps(a, b) for b in self.spots] for a in self.spots]
        again = self.ways(target.spot, self.most)
        self.bare = {
            m: self.finish(m, w, 0) for m, w in again.items() if m.bit_count() <= self.hands
        }
        if handling.lost:  # a container serves one trip; then one has two hands
            self.loaded = self.bare
        else:
            self.loaded = {mask: self.finish(mask, way, 1) for mask, way in again.items()}
        self.later = (self._partition(self.bare), self._partition(self.loaded))

    def _steps(self, a: Spot, b: Spot) -> float:
        return self.job.walk(a, b)[0]

    def ways(self, start: Spot, most: int) -> dict[int, dict[int, Way]]:
        """Return, for every set of so many things, the shortest way to get them by the last one."""
        found: dict[int, dict[int, Way]] = {}
        layer: dict[int, dict[int, Way]] = {
            1 << k: {k: (self._steps(start, spot) + self.costs.grasp, (k,))}
            for k, spot in enumerate(self.spots)
        }
        for _ in range(most):
            found |= layer
            grown: dict[int, dict[int, Way]] = {}
            for mask, ends in layer.items():
                for last, (steps, order) in ends.items():
                    for k in range(len(self.items)):
                        if mask >> k & 1:
                            continue
                        cost = steps + self.between[last][k] + self.costs.grasp
                        best = grown.setdefault(mask | 1 << k, {})
                        if k not in best or cost < best[k][0]:
                            best[k] = (cost, (*order, k))
            layer = grown
        return found

    def finish(self, mask: int, ends: Mapping[int, Way], container: int) -> Way:
        """Return the whole trip of a set: bring it, load and put down what has to be."""
        n, costs = mask.bit_count(), self.costs
        if container and n > 1:
            # All but the last go into the container; it is emptied at once.
            actions = (n - 1) * costs.load + 2 * costs.drop
        else:
            actions = n * costs.drop
        return min(
            (steps + self.home[last] + actions, order) for last, (steps, order) in ends.items()
        )

    def first(self, start: Spot, container: Thing | None) -> dict[int, Way]:
        """Return the first trips from a spot, by way of a container if there is one.

        In an order -1 stands for the container: first, or after one thing.
        """
        if container is None:
            straight = self.ways(start, self.hands)
            return {mask: self.finish(mask, ends, 0) for mask, ends in straight.items()}
        grasp = self.costs.grasp
        there = self._steps(start, container.spot) + grasp
        after = self.ways(container.spot, self.most)
        out = {
            mask: (there + steps, (-1, *order))
            for mask, ends in after.items()
            for steps, order in [self.finish(mask, ends, 1)]
        }
        for k, spot in enumerate(self.spots):
            one = 1 << k
            begin = self._steps(start, spot) + self._steps(spot, container.spot) + 2 * grasp
            for mask, ends in after.items():
                if mask & one or mask.bit_count() >= self.most:
                    continue
                n = mask.bit_count() + 1
                steps, order = min(
                    (steps + self.home[last], order) for last, (steps, order) in ends.items()
                )
                whole = begin + steps + (n - 1) * self.costs.load + 2 * self.costs.drop
                if whole < out.get(mask | one, (math.inf, ()))[0]:
                    out[mask | one] = (whole, (k, -1, *order))
        return out

    def _partition(self, trips: Mapping[int, Way]) -> tuple[Steps, list[int]]:
        """Return the fewest steps to bring every set from the target on, and the trip to begin."""
        steps = np.full(self.size, math.inf)
        begin = [0] * self.size
        steps[0] = 0.0
        by_low: dict[int, list[tuple[int, float]]] = {}
        for sub, (cost, _) in trips.items():
            by_low.setdefault(sub & -sub, []).append((sub, cost))
        for mask in range(1, self.size):
            for sub, cost in by_low[mask & -mask]:
                if sub & ~mask == 0 and cost + steps[mask ^ sub] < steps[mask]:
                    steps[mask], begin[mask] = cost + steps[mask ^ sub], sub
        return steps, begin

    def whole(self, start: Spot, container: Thing | None) -> tuple[Steps, Any, dict[int, Way]]:
        """Return the fewest steps of one agent for every set, with the first trips behind them."""
        first = self.first(start, container)
        later, _ = self.later[container is not None]
        steps = np.full(self.size, math.inf)
        begin = np.zeros(self.size, dtype=np.int64)
        steps[0] = 0.0
        masks = np.arange(self.size)
        for sub, (cost, _) in first.items():
            rest = masks[masks & sub == 0]
            value = cost + later[rest]
            better = value < steps[rest | sub]
            steps[(rest | sub)[better]] = value[better]
            begin[(rest | sub)[better]] = sub
        return steps, begin, first

    def events(self, mask: int, container: Thing | None, found: Any) -> tuple[Event, ...]:
        """Return what to do for a set, trip by trip."""
        _, begin, first = found
        _, following = self.later[container is not None]
        trips = self.loaded if container is not None else self.bare
        out: list[Event] = []
        sub = int(begin[mask])
        while mask:
            has = container if not (out and self.costs.lost) else None
            out += self._trip((trips if out else first)[sub][1], has)
            mask ^= sub
            sub = following[mask]
        return tuple(out)

    def _trip(self, order: Sequence[int], container: Thing | None) -> list[Event]:
        out: list[Event] = []
        names = [self.items[k] for k in order if k >= 0]
        loose = [] if container is None or len(names) == 1 else names[:-1]
        held: list[str] = []
        has = container is not None and -1 not in order
        for k in order:
            if k < 0 and container is not None:
                out.append(("fetch", container.id, ""))
                has = True
            else:
                out.append(("fetch", self.items[k], ""))
                held.append(self.items[k])
            if has and container is not None:
                for item in [item for item in held if item in loose]:
                    out.append(("load", item, container.id))
                    held.remove(item)
        if loose and container is not None:
            out.append(("empty", container.id, self.target.id))
        out += [("put", item, self.target.id) for item in held]
        return out


def divide_loads(
    job: Job, starts: Mapping[str, Spot], handling: Handling | None = None
) -> dict[str, Tour]:
    """Return the tours of all agents with the least steps until the last one is done.

    Raises:
        ValueError: Not a job of this kind: more than twelve things, or several places.
    """
    items = [item for free, _ in job.groups for item in free]
    places = {t.id: t for found in job.targets.values() for t in found}
    if len(items) > MOST or len(places) != 1 or any(len(f) != n for f, n in job.groups):
        raise ValueError(
            f"oracle: up to {MOST} things, all of them needed, for one place; "
            f"here are {len(items)} for {len(places)}"
        )
    if not items:
        return dict.fromkeys(starts, NO_TOUR)
    loads = Loads(job, items, next(iter(places.values())), handling or Handling())
    carriers: list[Thing | None] = [
        t for t in job.things.values() if t.kind == "container" and t.portable
    ]
    known: dict[tuple[str, str], Any] = {}
    for name, spot in starts.items():
        for one in (None, *carriers):
            known[name, one.id if one else ""] = loads.whole(spot, one)
    best, chosen, share = math.inf, {}, {}
    for taken in _carriers(list(starts), carriers):
        value, masks = _share([known[n, c.id if c else ""][0] for n, c in taken.items()])
        if value < best:
            best, chosen, share = value, taken, dict(zip(taken, masks, strict=True))
    return {
        name: Tour(
            float(known[name, c.id if c else ""][0][share[name]]),
            loads.events(share[name], c, known[name, c.id if c else ""]),
        )
        for name, c in chosen.items()
    }


def _carriers(
    names: Sequence[str], carriers: Sequence[Thing | None]
) -> list[dict[str, Thing | None]]:
    """Return who may take which container: all ways for two, some for more."""
    n = len(names)
    ways: Iterable[Sequence[Thing | None]]
    if n <= 2:
        ways = itertools.product([None, *carriers], repeat=n)
    else:
        some = [*carriers[:n], *[None] * (n - len(carriers))]
        ways = [*([*some[k:], *some[:k]] for k in range(n)), [None] * n]
    out = []
    for way in ways:
        ids = [c.id for c in way if c is not None]
        if len(set(ids)) == len(ids):
            out.append(dict(zip(names, way, strict=True)))
    return out


def _share(steps: Sequence[Steps]) -> tuple[float, list[int]]:
    """Share all things among agents: the fewest steps of the busiest one, and who has which."""
    size = len(steps[0])
    masks = np.arange(size)
    so_far = steps[0]
    taken: list[npt.NDArray[np.int64]] = []
    for mine in steps[1:]:
        merged, choice = np.full(size, math.inf), np.zeros(size, dtype=np.int64)
        last = len(taken) == len(steps) - 2
        for sub in range(size):
            rest = np.array([size - 1 ^ sub]) if last else masks[masks & sub == 0]
            value = np.maximum(so_far[rest], mine[sub])
            better = value < merged[rest | sub]
            merged[(rest | sub)[better]] = value[better]
            choice[(rest | sub)[better]] = sub
        so_far = merged
        taken.append(choice)
    mask, out = size - 1, []
    for choice in reversed(taken):
        sub = int(choice[mask])
        out.append(sub)
        mask ^= sub
    return float(so_far[size - 1]), [mask, *reversed(out)]
