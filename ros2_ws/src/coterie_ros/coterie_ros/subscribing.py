"""Subscriptions of an AgentNode: handed to its loop, bounded in number and in rate."""

from __future__ import annotations

import asyncio
import inspect
import threading
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rclpy.context import Context
from rclpy.qos import DurabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from coterie_core.rate import Rate
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


_DISCOVERY_PERIOD_S = 1.0
"""Time between two looks for a publisher that latches [s]."""


def subscribe(
    node: Host,
    message_type: Any,
    topic: str,
    qos: str,
    callback: Callable[[Any], Awaitable[None] | None],
    *,
    convert: Callable[[Any], Any] | None,
    limit: int,
    rate: float | None,
    sampled: bool = False,
    latched: bool = False,
) -> Callable[[], object]:
    """Subscribe; see `AgentNode.subscribe`. Returns what ends it."""
    waiting = 0
    # What came while this node was busy, as at its start, is handed over at once: that is no flood
    # before it is more than a second brings.
    bucket = None if rate is None else Rate(rate, burst=2 if sampled else max(round(rate), 2))

    def receive(message: Any) -> None:
        nonlocal waiting
        if bucket is not None and not bucket.passes():
            if not sampled and node.diagnostics.count(f"{topic}.flood") == 1:
                node.problem(f"{topic}: more than {rate:g} messages a second; the rest is not read")
            return
        if waiting >= limit:
            if node.diagnostics.count(f"{topic}.dropped") == 1:
                node.problem(f"{topic}: more than {limit} messages wait; dropping new ones")
            return
        waiting += 1
        node.loop.call(deliver, message)

    def deliver(message: Any) -> None:
        nonlocal waiting
        waiting -= 1
        try:
            read = message if bucket is None else deserialize_message(message, message_type)
            value = read if convert is None else convert(read)
        except ValueError as error:
            if node.diagnostics.count(f"{topic}.invalid") <= 10:
                node.problem(f"{topic}: message dropped: {error}")
            return
        try:
            outcome = callback(value)
        except Exception as error:
            node.report_failure(f"subscription {topic}", error)
            return
        if inspect.iscoroutine(outcome):
            node.loop.spawn(outcome, f"subscription {topic}")

    node.diagnostics.add_source(topic, lambda: {"waiting": waiting})

    def listen(qos: str) -> Subscription:
        # Raw messages are bytes: what is dropped was never made into an object.
        raw = bucket is not None
        return node.create_subscription(message_type, topic, receive, profile(qos), raw=raw)

    if bucket is None and can_share(node, qos):
        end: Callable[[], object] = share(node, message_type, topic, qos, receive)
    else:
        end = partial(node.destroy_subscription, listen(qos))
    return _with_latched(node, topic, partial(listen, "latched"), end) if latched else end


def _with_latched(
    node: Host,
    topic: str,
    listen: Callable[[], Subscription],
    end: Callable[[], object],
) -> Callable[[], object]:
    """Subscribe once more as soon as a publisher of the topic latches; return what ends both.

    Not before: of a publisher that does not, a subscription that asks for it gets nothing, and
    both nodes warn of it.
    """
    second: list[Subscription] = []
    ended = False

    def look() -> bool:
        told = [] if ended else node.get_publishers_info_by_topic(topic)
        if any(one.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for one in told):
            second.append(listen())
        return bool(second)

    async def watch() -> None:
        while node.executor is None or not await node.in_executor(look):
            await asyncio.sleep(_DISCOVERY_PERIOD_S)

    watching = node.run(watch(), f"latched {topic}")

    def end_both() -> None:
        nonlocal ended
        ended = True
        watching.cancel()
        for subscription in second:
            node.destroy_subscription(subscription)
        end()

    return end_both
