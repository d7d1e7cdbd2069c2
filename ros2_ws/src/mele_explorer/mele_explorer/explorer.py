"""Explorer: walks a house hop by hop so as to see as much of it as possible (augmented LGX)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import networkx as nx

from coterie_core.observation import Observation, PlaceView
from coterie_core.skills import NavigateTo, Outcome, Skill, SkillResult
from coterie_llm import Decider, RulesModel
from coterie_safety.why import follow
from mele_explorer.choose_place import (
    ChoosePlace,
    ChooseState,
    PlaceOption,
    RoomViews,
    Unexplored,
)
from mele_explorer.memory import Memory

_PATIENCE = 20  # hops without a new place after which the rule decides instead of a model
_TRIES = 3  # of a hop that fails
_IMPOSSIBLE = (Outcome.UNREACHABLE, Outcome.UNKNOWN_TARGET, Outcome.UNSUPPORTED, Outcome.REFUSED)
_JITTER = 0.1  # largest share by which equal promises are told apart at random
_WAYS_ON = 0.15  # worth of a place that was seen, for the ways that may go on from it
_NEW_LABEL = 0.25  # worth of a label not seen before, in places


@dataclass(frozen=True, slots=True)
class ExplorerLimits:
    """When to stop: hops (10 in the paper), simulated seconds, coverage (0..1); None: no limit."""

    steps: int | None = 10
    seconds: float | None = None
    coverage: float | None = None

    def __post_init__(self) -> None:
        """Refuse limits that make no sense."""
        if self.steps is not None and self.steps < 0:
            raise ValueError(f"steps must be at least 0, got {self.steps}")
        if self.seconds is not None and not self.seconds >= 0.0:
            raise ValueError(f"seconds must be at least 0, got {self.seconds}")
        if self.coverage is not None and not 0.0 <= self.coverage <= 1.0:
            raise ValueError(f"coverage must be within 0..1, got {self.coverage}")


@dataclass(frozen=True, slots=True)
class Feedback:
    """How far an exploration is: coverage of the known places (0..1), and counts."""

    steps: int
    coverage: float
    places: int
    rooms: int
    objects: int
    labels: int


class Explorer:
    """One robot's exploration: `observe`, then `next_skill`, until that returns None.

    Args:
        robot: Name of the robot.
        decider: Who chooses the next place; None: the rule.
        limits: When to stop.
        seed: For ties; robots with different names break them differently.
        memory: Memory to go on with; None: an empty one.
    """

    def __init__(
        self,
        robot: str,
        decider: Decider | None = None,
        limits: ExplorerLimits | None = None,
        seed: int = 0,
        memory: Memory | None = None,
    ) -> None:
        self.robot = robot
        self.limits = limits or ExplorerLimits()
        self.memory = memory or Memory(robot)
        self.steps = 0
        self.stopped = ""
        self.path: list[str] = []
        self.coverage_curve: list[float] = []
        self.chosen_by: dict[str, int] = {"model": 0, "rule": 0}
        self._decider = decider or Decider(RulesModel(), who=robot)
        self.seed = seed
        self._last: Observation | None = None
        self._started: float | None = None
        self._failures: dict[tuple[str, str], int] = {}  # hop -> how often it failed
        self._tolerance = 1  # failures from which a hop is avoided
        self._tastes: dict[str, float] = {}
        self._idle = 0  # hops since the last new place
        self._met: set[str] = set()  # labels in all observations but the last

    def observe(self, observation: Observation) -> None:
        """Take in what the robot perceives now."""
        if self._last is not None:
            self._met |= {detection.label for detection in self._last.detections}
        self.memory.update(observation)
        self._last = observation
        if self._started is None:
            self._started = observation.time
        if not self.path or self.path[-1] != observation.place:
            self._idle = self._idle + 1 if observation.place in self.path else 0
            self.path.append(observation.place)
        self.coverage_curve.append(self.memory.coverage)

    def skill_ended(self, skill: Skill, result: SkillResult) -> None:
        """Learn how a skill ended.

        A hop that failed is tried again only when nothing else is left, and at most three times;
        one that the world calls impossible, never.
        """
        if isinstance(skill, NavigateTo) and not result.ok and self._last is not None:
            hop = (self._last.place, skill.place)
            failures = self._failures.get(hop, 0) + 1
            self._failures[hop] = _TRIES if result.outcome in _IMPOSSIBLE else failures

    async def next_skill(self) -> Skill | None:
        """Return the next hop, or None when a limit is reached or nothing is left (`stopped`).

        Raises:
            RuntimeError: Called before the first observation.
        """
        if self._last is None:
            raise RuntimeError(f"{self.robot}: observe() must come before next_skill()")
        self.stopped = self._limit_reached(self._last)
        if self.stopped:
            return None
        state = self._state(self._last)
        while not any(option.promise > 0.0 for option in state.options):
            if self._tolerance >= _TRIES or not self._failures:
                self.stopped = "everything that can be reached was seen"
                return None
            self._tolerance += 1
            state = self._state(self._last)
        if self._idle >= _PATIENCE:
            decided = self._decider.decide_by_rule(ChoosePlace(), state)
        else:
            decided = await self._decider.decide(ChoosePlace(), state)
        follow(decided.trace)
        self.chosen_by[decided.decided_by] += 1
        self.steps += 1
        return NavigateTo(place=decided.reply.place)

    def feedback(self) -> Feedback:
        """Return how far the exploration is."""
        memory = self.memory
        return Feedback(
            self.steps,
            memory.coverage,
            len(memory.visits),
            len(memory.looks),
            len(memory.graph.objects),
            len(memory.labels),
        )

    def _limit_reached(self, last: Observation) -> str:
        limits = self.limits
        if limits.steps is not None and self.steps >= limits.steps:
            return f"limit of {limits.steps} steps"
        if limits.seconds is not None and last.time - (self._started or 0.0) >= limits.seconds:
            return f"limit of {limits.seconds:g} s"
        if limits.coverage is not None and self.memory.coverage >= limits.coverage:
            return f"coverage of {limits.coverage:g} reached"
        return ""

    def _state(self, last: Observation) -> ChooseState:
        memory = self.memory
        known = self._known_ways()
        values = self._frontier_values(last)
        if last.place in known:
            known.remove_node(last.place)
        views = [
            view
            for view in sorted(last.neighbours, key=lambda view: view.id)
            if not self._avoided(last.place, view.id)
        ]
        hops = {view.id: _hops_from(view.id, known) for view in views}
        options = [self._option(view, hops[view.id], values) for view in views]
        left = None if self.limits.steps is None else self.limits.steps - self.steps
        return ChooseState(
            self.robot,
            last.place,
            last.room.name if last.room is not None else "",
            tuple(sorted({detection.label for detection in last.detections})),
            tuple(options),
            self._rooms(),
            len(memory.labels),
            left,
            tuple(self.path[:-1]),
            tuple(
                Unexplored(
                    place,
                    self._room_of(place),
                    memory.seen.get(place, 0.0),
                    {via: 1 + far[place] for via, far in hops.items() if place in far},
                )
                for place in sorted(values)
            ),
        )

    def _rooms(self) -> tuple[RoomViews, ...]:
        """Return the rooms that were looked into, or in which something was seen, by name."""
        memory = self.memory
        return tuple(
            sorted(
                (
                    RoomViews(room.name, memory.looks.get(room.id, 0), len(kinds))
                    for room in memory.graph.rooms.values()
                    if (kinds := memory.sightings.get(room.id, {})) or memory.looks.get(room.id)
                ),
                key=lambda one: one.name,
            )
        )

    def _room_of(self, place: str) -> str:
        room = self.memory.graph.rooms.get(self.memory.graph.places[place].room)
        return room.name if room is not None else ""

    def _avoided(self, a: str, b: str) -> bool:
        return self._failures.get((a, b), 0) >= self._tolerance

    def _known_ways(self) -> nx.Graph:
        """Return the ways between known places, without those that failed."""
        graph = nx.Graph()
        graph.add_nodes_from(self.memory.graph.places)
        for a, links in self.memory.graph.links.items():
            graph.add_edges_from(
                (a, b) for b in links if not self._avoided(a, b) and not self._avoided(b, a)
            )
        return graph

    def _frontier_values(self, last: Observation) -> dict[str, float]:
        """Return place -> worth of standing there, for known places the robot never stood at.

        A place is worth more the less it was seen, the fewer looks its room got, and the more
        labels not met before lie toward it. One that was seen well from elsewhere is still worth
        a little, since the ways that go on from it are unknown.
        """
        memory = self.memory
        fresh = {view.id: len(self._new_labels(view)) for view in last.neighbours}
        values: dict[str, float] = {}
        for place in memory.graph.places.values():
            seen = memory.seen.get(place.id, 0.0)
            if memory.visits.get(place.id):
                continue
            looks = memory.looks.get(place.room, 0) if place.room else 1
            worth = 0.5 + 1.5 / (1 + looks) + _NEW_LABEL * fresh.get(place.id, 0)
            values[place.id] = max(1.0 - seen, _WAYS_ON) * worth * self._taste(place.id)
        return values

    def _taste(self, place: str) -> float:
        """Return 1 to 1.1: how a robot's liking for a place differs; the same every time."""
        if place not in self._tastes:
            draw = random.Random(f"{self.seed}/{self.robot}/{place}").random()
            self._tastes[place] = 1.0 + _JITTER * draw
        return self._tastes[place]

    def _new_labels(self, view: PlaceView) -> list[str]:
        """Return the labels toward a place that were seen in no other observation than the last."""
        return [label for label in view.labels if label not in self._met]

    def _option(
        self, view: PlaceView, hops: Mapping[str, int], values: dict[str, float]
    ) -> PlaceOption:
        """Rate a neighbour by the unexplored place on its side that is worth most per hop.

        `hops`: place -> hops from the neighbour without the own place. Since a place's worth does
        not change on the way to it, every hop brings a greater promise until the place is reached:
        no pacing up and down.
        """
        memory = self.memory
        best, goal, far = 0.0, "", 0
        for place, count in hops.items():
            worth = values.get(place, 0.0) / (1 + count)
            if (worth, place) > (best, goal):
                best, goal, far = worth, place, count
        return PlaceOption(
            view.id,
            view.room.name if view.room is not None else "",
            view.distance,
            view.labels,
            tuple(self._new_labels(view)),
            memory.visits.get(view.id, 0),
            memory.seen.get(view.id, 0.0),
            view.id in values,
            far,
            best,
        )


def _hops_from(place: str, ways: nx.Graph) -> Mapping[str, int]:
    """Return place -> hops to it."""
    hops: Mapping[str, int] = (
        nx.single_source_shortest_path_length(ways, place) if place in ways else {}
    )
    return hops
