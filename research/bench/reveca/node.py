"""Nodes of the bench: a method's agents behind their services, and the referee who plays with them.

As a program it runs a team's agents.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence

from rclpy.context import Context

from coterie_core.cooperation import Agent, Environment
from coterie_ros.agent_node import AgentNode
from coterie_ros.lockstep import ACT, TIMEOUT, LockstepServer
from coterie_ros.main import ProcessOptions, run_nodes
from coterie_ros.remote_agent import RosAgent
from research.bench.reveca.trajectories import Course, follow, make_agents


class NoTeam(ConnectionError):
    """The agents' nodes do not come up: says which is missing."""


class LockstepNode(AgentNode):
    """`<robot>/agent`: any agent behind the services `begin_episode` and `act`.

    Args:
        agent: Who decides.
        namespace: Where; ends with the robot's name.
        context: rclpy context.
    """

    def __init__(self, agent: Agent, namespace: str, context: Context | None = None) -> None:
        super().__init__(
            "agent",
            namespace=namespace,
            context=context,
            parameters={"diagnostics_period": 0.0},
            light=True,
        )
        self.agent = agent
        self.server: LockstepServer

    def on_start(self) -> None:
        """Offer the services."""
        self.server = LockstepServer(self, self.agent)


class Referee(AgentNode):
    """A node with clients for all agents of a team; episodes run in its loop.

    Args:
        team: Their names.
        namespace: In which they live.
        context: rclpy context.
        timeout: How long a step may take [s].
    """

    def __init__(
        self,
        team: Sequence[str],
        namespace: str = "",
        context: Context | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        super().__init__(
            "referee",
            namespace=namespace or None,
            context=context,
            parameters={"diagnostics_period": 0.0},
            light=True,
        )
        self.team = tuple(team)
        self.agents: Mapping[str, RosAgent] = {}
        self._timeout = timeout

    def on_start(self) -> None:
        """Make the clients."""
        self.agents = {name: RosAgent(name, self, self._timeout) for name in self.team}

    async def assemble(self, timeout: float = 30.0) -> None:
        """Wait until all agents are there.

        Raises:
            NoTeam: One did not come in time [s].
        """
        there = await asyncio.gather(*(agent.wait(timeout) for agent in self.agents.values()))
        missing = [name for name, ready in zip(self.agents, there, strict=True) if not ready]
        if missing:
            raise NoTeam(
                f"agents: no service {self.get_namespace().rstrip('/')}/{missing[0]}/{ACT} within "
                f"{timeout:g} s ({len(missing)} of {len(self.team)} agents are missing)"
            )

    async def play(self, world: Environment, seed: int) -> Course:
        """Play an episode with the agents over ROS; call it in this node's loop."""
        course = await follow(world, self.agents, seed, together=True)
        for agent in self.agents.values():
            await agent.aclose()
            course.silent_steps += agent.silent_steps
        return course


def make_nodes(
    method: str, team: Sequence[str], namespace: str, context: Context | None = None
) -> list[LockstepNode]:
    """Return a node for each agent, `<namespace>/<robot>/agent`."""
    return [
        LockstepNode(agent, f"{namespace}/{name}", context)
        for name, agent in make_agents(method, team).items()
    ]


def main(args: Sequence[str] | None = None) -> int:
    """Run the agents of a team until SIGINT or SIGTERM, or until standard input ends."""
    return run_nodes(_nodes, args)


def _nodes(options: ProcessOptions) -> list[LockstepNode]:
    parser = argparse.ArgumentParser(prog="research.bench.reveca.node", description=__doc__)
    parser.add_argument("--method", default="reveca", help="one of the bench's methods")
    parser.add_argument("--team", nargs="+", required=True, help="names of the agents")
    parser.add_argument("--attached", action="store_true", help="end with standard input")
    wish = parser.parse_args(options.arguments)
    if wish.attached:
        threading.Thread(target=_end_with_input, name="stdin", daemon=True).start()
    return make_nodes(wish.method, wish.team, options.namespace, options.context)


def _end_with_input() -> None:
    """End when who started this process is gone, however it went."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
