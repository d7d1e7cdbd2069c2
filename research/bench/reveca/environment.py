"""Worlds of households in lockstep: what they offer, how they are run, how an episode went."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from coterie_core.cooperation.interfaces import Agent
from coterie_core.cooperation.world import Action, Briefing, Percept, Result


class Environment(Protocol):
    """A world in lockstep: all agents act, then all perceive."""

    @property
    def done(self) -> bool:
        """The goal is met, or the horizon is reached."""

    def reset(self, seed: int) -> Mapping[str, Briefing]:
        """Make the episode of a seed; return what each agent is told. The same seed, the same."""

    def percepts(self) -> Mapping[str, Percept]:
        """What each agent perceives now (before the first step, too)."""

    def step(self, actions: Mapping[str, Action]) -> Mapping[str, Percept]:
        """Let all agents act at once; who gives no action waits."""

    def metrics(self) -> Metrics:
        """How the episode went so far."""


async def run_episode(
    world: Environment, agents: Mapping[str, Agent], seed: int, *, together: bool = False
) -> Metrics:
    """Run one episode in lockstep.

    Args:
        world: The environment.
        agents: Agent by name; all names of the world's team.
        seed: Random seed of the episode.
        together: Let agents decide at the same time (with models that answer over a network);
            the result is the same.

    Raises:
        ValueError: An agent of the team is missing.
    """
    briefings = world.reset(seed)
    missing = [name for name in briefings if name not in agents]
    if missing:
        raise ValueError(
            f"agents: expected one for each of {sorted(briefings)}, none for {missing}"
        )
    for name, briefing in briefings.items():
        agents[name].begin(briefing)
    percepts = world.percepts()
    while not world.done:
        for name, percept in percepts.items():
            agents[name].observe(percept)
        if together:
            chosen = await asyncio.gather(*(agents[name].act() for name in percepts))
            actions = dict(zip(percepts, chosen, strict=True))
        else:
            actions = {name: await agents[name].act() for name in percepts}
        percepts = world.step(actions)
    return world.metrics()


UNDER_WAY = Result(True, False)


@dataclass(slots=True)
class Metrics:
    """How an episode went (REVECA, experiments).

    Attributes:
        success: All sub-goals are met.
        steps: SS: steps until the goal was met, or the horizon.
        distance: TD: mean over the agents of how far they walked [m].
        notes: CS: steps spent on messages, of all agents.
        characters: CC: characters sent, of all agents.
        placed: Things brought, over all sub-goals (TOTAL), and their number.
        groups: Group (`food`, `stuff`) -> things brought, number.
        failures: Actions that failed, by reason.
    """

    success: bool = False
    steps: int = 0
    distance: float = 0.0
    notes: int = 0
    characters: int = 0
    placed: tuple[int, int] = (0, 0)
    groups: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
