"""Interface of a node to its parts: services, actions, publishers, diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Protocol

from coterie_ros.loop import LoopThread


class Host(Protocol):
    """A node with a loop of its own; `coterie_ros.agent_node.AgentNode` is one."""

    loop: LoopThread
    diagnostics: Any
    context: Any
    executor: Any
    waitables: Any
    light: bool
    ending: bool
    failure: str

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

    def create_subscription(self, *arguments: Any, **options: Any) -> Any:
        """Create rclpy's subscription."""

    def destroy_subscription(self, subscription: Any) -> Any:
        """Destroy rclpy's subscription."""

    def create_service(self, *arguments: Any) -> Any:
        """Create rclpy's service."""

    def get_clock(self) -> Any:
        """Return the node's clock."""

    def run(self, work: Coroutine[Any, Any, Any], name: str = "") -> Future[Any]:
        """Run a coroutine in the loop until it is over or the node is deactivated."""
        ...

    async def in_executor(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a short function in the executor's thread, and return what it does."""

    def resolve_topic_name(self, topic: str) -> str:
        """Return a topic's whole name."""
        ...

    def get_publishers_info_by_topic(self, topic: str) -> Any:
        """Return what discovery knows of a topic's publishers."""

    def get_name(self) -> str:
        """Return the node's name."""
        ...

    def get_namespace(self) -> str:
        """Return the node's namespace."""
        ...

    def get_fully_qualified_name(self) -> str:
        """Return the node's name with its namespace."""
        ...
