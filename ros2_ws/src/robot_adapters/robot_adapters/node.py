"""The adapter node: puts one real robot on Coterie's topics and actions."""

from __future__ import annotations

from typing import Any

from coterie_ros.agent_node import AgentNode
from coterie_ros.main import ProcessOptions, nodes_of_robots, run_nodes
from coterie_ros.parameters import Parameters, ParameterSpec

ADAPTER_PARAMETERS = (
    ParameterSpec("robot", "", "Name of the robot; empty: that of the node's namespace."),
)


class AdapterNode(AgentNode):
    """The adapter of one robot: serves its skills, and publishes what it observes.

    Args:
        name: The node's name.
        **options: Those of AgentNode.
    """

    PARAMETERS = ADAPTER_PARAMETERS

    def __init__(self, name: str = "adapter", **options: Any) -> None:
        super().__init__(name, **options)

    def on_setup(self, parameters: Parameters) -> None:
        """Refuse to run: no backend can be chosen yet."""
        raise ValueError("robot_adapters has no backends yet")


def make_nodes(options: ProcessOptions) -> list[AdapterNode]:
    """Make the adapters of one process: one per robot that it serves."""
    return nodes_of_robots(options, AdapterNode, "adapter", __doc__)


def main() -> None:
    """Run the adapters of one process."""
    raise SystemExit(run_nodes(make_nodes))


if __name__ == "__main__":
    main()
