"""The executor that all nodes spin on: events where that works, a single thread elsewhere."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode


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
        executor: What to spin.
        context: Its context.
        until: Condition, tested after everything that the executor did.
        timeout: Longest time [s]; None for ever.
        period: How long the executor may wait for something to happen [s].
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


def wind_down(nodes: Sequence[AgentNode], executor: Executor, context: Context) -> None:
    """Halt nodes and end their tasks while their executor spins; then deactivate them.

    Where the executor cannot spin any more, what was halted by other ways is waited for all the
    same. Call `destroy_node` of each next.
    """
    for node in nodes:
        node.wind_down()

    def over() -> bool:
        return all(node.wound_down for node in nodes)

    try:
        spin(executor, context, until=over, period=0.02)
    except Exception:
        traceback.print_exc()
    while not over():
        time.sleep(0.02)
    for node in nodes:
        node.stop_work()


def _lives(context: Context) -> bool:
    """Whether a context is neither shut down nor destroyed."""
    try:
        return bool(context.ok())
    except InvalidHandle:
        return False
