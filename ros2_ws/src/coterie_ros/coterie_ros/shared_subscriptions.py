"""One subscription for all nodes of a process that listen to the same topic."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rclpy.context import Context
from rclpy.qos import DurabilityPolicy
from rclpy.subscription import Subscription

from coterie_ros.host import Host
from coterie_ros.qos import profile

Receive = Callable[[Any], None]
Key = tuple[str, type, str]


@dataclass(slots=True)
class _Shared:
    """A subscription on the node `host`, and who hears of its messages."""

    listeners: dict[object, tuple[Host, Receive]] = field(default_factory=dict)
    host: Host | None = None
    subscription: Subscription | None = None

    def receive(self, message: Any) -> None:
        """Hand a message to all listeners."""
        for _, receive in tuple(self.listeners.values()):
            receive(message)


_lock = threading.Lock()
_shared: weakref.WeakKeyDictionary[Context, dict[Key, _Shared]] = weakref.WeakKeyDictionary()


def can_share(node: Host, qos: str) -> bool:
    """Whether a node's subscriptions of a QoS profile may be shared with others of its process.

    Those of nodes that are made by the dozen: of a hundred robots each hears all others, which
    would be ten thousand subscriptions. A latched topic tells a late listener what was said
    before, which a subscription that is there already would not get again.
    """
    return node.light and profile(qos).durability == DurabilityPolicy.VOLATILE


def share(
    node: Host, message_type: type, topic: str, qos: str, receive: Receive
) -> Callable[[], None]:
    """Let a node hear a topic together with the others of its process.

    Args:
        node: Node that listens.
        message_type: Type of the messages.
        topic: Topic, relative to the node's namespace or absolute.
        qos: Name of the QoS profile.
        receive: Called in the executor's thread of one of the nodes with every message.

    Returns:
        Function that ends it. If the node had the subscription, another listener takes it over.
    """
    key = (node.resolve_topic_name(topic), message_type, qos)
    token = object()
    with _lock:
        shared = _shared.setdefault(node.context, {}).setdefault(key, _Shared())
        shared.listeners[token] = (node, receive)
        if shared.host is None:
            _host(shared, node, key)

    def end() -> None:
        with _lock:
            shared.listeners.pop(token, None)
            still_here = any(one is node for one, _ in shared.listeners.values())
            if shared.host is not node or still_here:
                return
            if shared.subscription is not None:
                node.destroy_subscription(shared.subscription)
            shared.host = shared.subscription = None
            # Where the process ends, every node would take over from the last one in turn.
            heirs = [one for one, _ in shared.listeners.values() if not one.ending]
            if heirs:
                _host(shared, heirs[0], key)
            elif not shared.listeners:
                _shared.get(node.context, {}).pop(key, None)

    return end


def _host(shared: _Shared, node: Host, key: Key) -> None:
    name, message_type, qos = key
    shared.host = node
    shared.subscription = node.create_subscription(message_type, name, shared.receive, profile(qos))
