"""Fences of a robot on a topic, as the node that moves it enforces them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from std_msgs.msg import String

from coterie_safety.guard import Fences

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

FENCES = "fences"
"""Topic below a robot, latched, of `Fences` as JSON (std_msgs/String)."""


class FenceTeller:
    """Tells which fences hold for a robot, when they have changed; for `on_start`.

    Args:
        node: The node whose guard enforces them.
        prefix: Prefix of the robot's topics, such as `rover/`; "": the node is in its namespace.
    """

    def __init__(self, node: AgentNode, prefix: str = "") -> None:
        self._out = node.publisher(String, prefix + FENCES, "latched")
        self._told: Fences | None = None

    def tell(self, fences: Fences) -> None:
        """Publish fences, unless they are what was told last."""
        if fences != self._told:
            self._told = fences
            self._out.publish(String(data=fences.to_json()))
