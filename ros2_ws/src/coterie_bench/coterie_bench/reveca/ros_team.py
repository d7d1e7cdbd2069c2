"""Agents of a method as ROS nodes, each behind its services; a process of its own runs a team."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rclpy.context import Context

from coterie_bench.reveca.methods import METHODS
from coterie_core.cooperation import Agent
from coterie_ros.agent_node import AgentNode
from coterie_ros.lockstep import LockstepServer
from coterie_ros.main import ProcessOptions, run_nodes

NODE = "agent"


@dataclass(frozen=True, slots=True)
class _Roll:
    """What a method needs of a world to make its agents: their names."""

    team: tuple[str, ...]


class LockstepNode(AgentNode):
    """`<robot>/agent`: any agent behind the services `begin_episode` and `act`.

    Args:
        agent: Who decides.
        namespace: Where; ends with the robot's name.
        context: rclpy context.
    """

    def __init__(self, agent: Agent, namespace: str, context: Context | None = None) -> None:
        super().__init__(
            NODE,
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


def make_agents(method: str, team: Sequence[str]) -> Mapping[str, Agent]:
    """Return the agents of a method, for worlds that they do not see.

    Raises:
        ValueError: No such method, or one that reads the world itself.
    """
    if method not in METHODS:
        raise ValueError(f"method {method!r}: expected one of {', '.join(METHODS)}")
    if method == "oracle":
        raise ValueError("method 'oracle' reads the world itself and cannot be a ROS node")
    return METHODS[method].make(_Roll(tuple(team)), None)


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
    parser = argparse.ArgumentParser(prog="ros_team", description=__doc__)
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
