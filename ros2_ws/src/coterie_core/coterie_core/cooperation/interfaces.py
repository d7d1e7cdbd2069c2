"""Agents and environments of cooperative worlds, and the lockstep that runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from coterie_core.cooperation.messages import Note
from coterie_core.cooperation.world import Action, Briefing, Metrics, Percept


class Agent(Protocol):
    """Decides for itself from what it perceives; a benchmark or a ROS node drives it.

    One round is: `observe` (with the messages in the percept), then `act`. `receive` is for
    messages that come between percepts; it must give the same as finding them in the next percept.
    """

    name: str

    def begin(self, briefing: Briefing) -> None:
        """Start an episode: forget what belongs to another one."""

    def observe(self, percept: Percept) -> None:
        """Take in a percept."""

    async def act(self) -> Action:
        """Choose the next action."""

    def receive(self, note: Note) -> None:
        """Take in a message."""


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
