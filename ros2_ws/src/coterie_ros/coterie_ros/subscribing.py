"""Subscriptions of an AgentNode: handed to its loop, bounded in number and in rate."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from rclpy.qos import DurabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from coterie_core.rate import Rate
from coterie_ros.host import Host
from coterie_ros.qos import profile
from coterie_ros.shared_subscriptions import can_share, share

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
