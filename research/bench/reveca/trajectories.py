"""How an episode goes step by step, whoever plays it, and where two of them part."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from coterie_core.cooperation import Action, Agent, Environment, Metrics, run_episode
from research.bench.reveca.methods import method as method_of


@dataclass(slots=True)
class Course:
    """How an episode went, step by step.

    Attributes:
        metrics: Its metrics.
        actions: What each agent did, by step.
        silent_steps: Steps in which an agent gave no usable answer, over all agents.
    """

    metrics: Metrics
    actions: Mapping[str, list[Action]] = field(default_factory=dict)
    silent_steps: int = 0

    def difference(self, other: Course) -> str:
        """Say where two episodes part; "" where they are the same, step for step."""
        first, what = math.inf, ""
        for name, mine in self.actions.items():
            theirs = other.actions.get(name, [])
            for step, (a, b) in enumerate(zip(mine, theirs, strict=False)):
                if a != b and step < first:
                    first, what = step, f"step {step}, {name}: {a} and {b}"
        if not what and self.actions != other.actions:
            what = f"{self.metrics.steps} and {other.metrics.steps} steps"
        if not what and self.metrics != other.metrics:
            what = f"{self.metrics} and {other.metrics}"
        return what


class _Followed:
    """An agent whose actions are kept."""

    def __init__(self, agent: Agent, actions: list[Action]) -> None:
        self.name = agent.name
        self.begin, self.observe, self.receive = agent.begin, agent.observe, agent.receive
        self._agent, self._actions = agent, actions

    async def act(self) -> Action:
        action = await self._agent.act()
        self._actions.append(action)
        return action


async def follow(
    world: Environment, agents: Mapping[str, Agent], seed: int, *, together: bool = False
) -> Course:
    """Play an episode and keep what everybody did; see `run_episode`."""
    actions: dict[str, list[Action]] = {name: [] for name in agents}
    followed = {name: _Followed(agent, actions[name]) for name, agent in agents.items()}
    metrics = await run_episode(world, followed, seed, together=together)
    return Course(metrics, actions)


def make_agents(method: str, team: Sequence[str]) -> Mapping[str, Agent]:
    """Return the agents of a method, for worlds that they do not see.

    Raises:
        ValueError: No such method, or one that reads the world itself.
    """
    chosen = method_of(method)
    if method == "oracle":
        raise ValueError("method 'oracle' reads the world itself and cannot be a ROS node")
    return chosen.make(_Roll(tuple(team)), None)


@dataclass(frozen=True, slots=True)
class _Roll:
    """What a method needs of a world to make its agents: their names."""

    team: tuple[str, ...]
