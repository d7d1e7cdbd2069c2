"""The executor that all nodes spin on: events where that works, a single thread elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor


def make_executor(context: Context | None = None) -> Executor:
    """Return an EventsExecutor, or a SingleThreadedExecutor where rclpy has none.

    Events cost a fifth of the processor time of waiting on sets. Awaiting an rclpy future inside
    a callback burns a whole core on it, so nothing in this stack does that: see AgentNode. For
    debugging, COTERIE_EXECUTOR=single in the environment asks for the latter.
    """
    if os.environ.get("COTERIE_EXECUTOR") == "single":
        return SingleThreadedExecutor(context=context)
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)


def spin(
    executor: Executor,
    context: Context,
    *,
    until: Callable[[], bool],
    timeout: float | None = None,
    period: float = 0.5,
) -> bool:
    """Spin until the condition holds (True), or time is up or the context is shut down (False).

    `EventsExecutor.spin()` and `spin_once()` without a time-out are broken in the wheels of rclpy:
    this loop is what works everywhere.

    Args:
        executor: Executor to spin.
        context: Its context.
        until: Condition, tested after everything that the executor did.
        timeout: Longest time [s]; None for ever.
        period: Longest time that the executor waits for something to happen [s].
    """
    end = None if timeout is None else time.monotonic() + timeout
    while _lives(context):
        if until():
            return True
        left = period if end is None else min(period, end - time.monotonic())
        if left <= 0.0:
            return until()
        try:
            executor.spin_once(timeout_sec=left)
        except (ExternalShutdownException, InvalidHandle):
            return until()
    return until()


def _lives(context: Context) -> bool:
    """Whether a context is neither shut down nor destroyed."""
    try:
        return bool(context.ok())
    except InvalidHandle:
        return False
