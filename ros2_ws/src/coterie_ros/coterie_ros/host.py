"""Interface of a node to its parts: services, actions, publishers, diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from coterie_ros.loop import LoopThread


class Host(Protocol):
    """A node with a loop of its own; `coterie_ros.agent_node.AgentNode` is one."""

    loop: LoopThread
    context: Any
    executor: Any
    waitables: Any

    @property
    def state_label(self) -> str:
        """The lifecycle state's name."""
        ...

    @property
    def active(self) -> bool:
        """Whether the node works."""
        ...

    def post(self, function: Callable[[], object]) -> None:
        """Run a short function in the executor's thread soon, from any thread."""

    def problem(self, text: str) -> None:
        """Log a problem that the node works around, and show it."""

    def report_failure(self, what: str, error: BaseException) -> None:
        """Log an exception that nobody awaits, and show it."""

    def create_publisher(self, *arguments: Any) -> Any:
        """Create rclpy's publisher."""

    def create_service(self, *arguments: Any) -> Any:
        """Create rclpy's service."""

    def get_clock(self) -> Any:
        """Return the node's clock."""

    def get_fully_qualified_name(self) -> str:
        """Return the node's name with its namespace."""
        ...
