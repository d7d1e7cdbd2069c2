"""Houses that robots have explored, wholly or in part, and what the team then knows of them."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import Any

from coterie_core.household import load_household
from coterie_core.observation import Observation
from coterie_fixtures.explorations import run_exploration
from coterie_world.association import SIGHTING
from coterie_world.coverage import Coverage, PlacesSeen
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.team_memory import TeamMemory
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.prior import prior_map
from habitat_bridge.robots import EMBODIMENTS

ROBOTS = ("rover", "walker")
BODIES = {True: "legs", False: "wheels"}
"""Legs take stairs and get everywhere; wheels never see another floor."""
STEPS = {True: 40, False: 3}


@dataclass(frozen=True)
class Situation:
    """A house, and what a team knows of it.

    `truth` is the whole house, `known` the team's map, `seen` what of its places was seen;
    `whole`: the team went everywhere it could.
    """

    seed: int
    whole: bool
    truth: SceneGraph
    known: SceneGraph
    seen: PlacesSeen

    @property
    def name(self) -> str:
        """What it is called in records."""
        return f"{self.seed}{'' if self.whole else ' in part'}"

    @property
    def coverage(self) -> Coverage:
        """How much of each room was looked at."""
        return Coverage(self.known, self.seen, given=True)

    def true_things(self, label: str) -> list[SceneObject]:
        """Return the true things that a label means."""
        return _of(self.truth, label)

    def known_things(self, label: str) -> list[SceneObject]:
        """Return what the team's map has of a label."""
        return _of(self.known, label)

    def stands_for(self, thing: SceneObject, label: str) -> str:
        """Return the id of the true thing that a mapped one stands for; "": it is none of those."""
        near = [
            (math.dist(thing.box.center, true.box.center), true.id)
            for true in self.true_things(label)
        ]
        return min(near)[1] if near and min(near)[0] <= SIGHTING.distance_m else ""


class _Watched:
    """A world whose observations are kept as they are made."""

    def __init__(self, world: EmbeddedWorld, memory: TeamMemory, seen: PlacesSeen) -> None:
        self._world, self._memory, self._seen = world, memory, seen

    def observe(self, robot: str) -> Observation:
        """Return what a robot perceives."""
        observation = self._world.observe(robot)
        self._memory.observe(observation)
        self._seen.observe(observation)
        return observation

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)


def explored(seed: int, whole: bool) -> Situation:
    """Return what a team with a usual detector knows of a generated house after a while."""
    world = EmbeddedWorld(generate_house(seed, floors=1 + seed % 2), seed=seed, threads=1)
    truth = world.truth()
    for robot in ROBOTS:
        world.add_robot(robot, EMBODIMENTS[BODIES[whole]])
    memory, seen = TeamMemory(), PlacesSeen()
    memory.adopt(prior_map(truth, "rooms"))
    watched: Any = _Watched(world, memory, seen)
    asyncio.run(run_exploration(watched, ROBOTS, steps=STEPS[whole], seed=seed))
    return Situation(seed, whole, truth, memory.scene(), seen)


def _of(scene: SceneGraph, label: str) -> list[SceneObject]:
    household = load_household()
    name = household.canonical(label)
    return [
        thing
        for _, thing in sorted(scene.objects.items())
        if household.canonical(thing.label.top) == name
    ]
