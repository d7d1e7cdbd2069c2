"""Publishers that any thread may use."""

from __future__ import annotations

from typing import Any

from rclpy.action.server import RCLError as RCLError
from rclpy.duration import Duration
from rclpy.exceptions import InvalidHandle
from rclpy.publisher import Publisher

from coterie_ros.host import Host


class SafePublisher:
    """A publisher that any thread may use and that keeps silent once its node has ended."""

    def __init__(self, node: Host, publisher: Publisher) -> None:
        self._node = node
        self._publisher = publisher

    def publish(self, message: Any) -> None:
        """Publish a message."""
        try:
            self._publisher.publish(message)
        except (InvalidHandle, RCLError):
            if self._node.context.ok() and not self._node.loop.closed:
                raise

    def publish_last(self, message: Any, timeout: float) -> None:
        """Publish a message, and wait until it has come to all, at most so long [s]."""
        try:
            self._publisher.publish(message)
            self._publisher.wait_for_all_acked(Duration(seconds=timeout))
        except (InvalidHandle, RCLError):
            pass  # the node has ended before it

    @property
    def topic(self) -> str:
        """Full name of the topic."""
        return self._publisher.topic_name

    @property
    def subscribers(self) -> int:
        """Number of subscriptions that match."""
        try:
            return self._publisher.get_subscription_count()
        except InvalidHandle:
            return 0
