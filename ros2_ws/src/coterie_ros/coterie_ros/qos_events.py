"""Nodes without handlers of QoS events, which an EventsExecutor of rclpy 7.1 does not survive.

A publisher or subscription has a handler that warns of partners whose QoS does not fit. When it is
destroyed while such an event waits to be worked on, the event holds the last reference to the
handler; the executor drops it without Python's lock, and the process crashes. `./coterie robot
check` and `ros2 doctor` tell of QoS that does not fit.
"""

from __future__ import annotations

from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node


class WithoutQosEvents:
    """Mix-in of a node: publishers and subscriptions hear no QoS events, unless asked to."""

    def create_publisher(self, *arguments: Any, **options: Any) -> Any:
        """Create rclpy's publisher."""
        options.setdefault("event_callbacks", PublisherEventCallbacks(use_default_callbacks=False))
        return super().create_publisher(*arguments, **options)  # type: ignore[misc]

    def create_subscription(self, *arguments: Any, **options: Any) -> Any:
        """Create rclpy's subscription."""
        silent = SubscriptionEventCallbacks(use_default_callbacks=False)
        options.setdefault("event_callbacks", silent)
        return super().create_subscription(*arguments, **options)  # type: ignore[misc]


class PlainNode(WithoutQosEvents, Node):
    """rclpy's node, for what needs no `AgentNode`."""
