"""A node of a program's own, spun in a thread while the program does something else."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import rclpy
from rclpy.context import Context
from rclpy.signals import SignalHandlerOptions

from coterie_ros.agent_node import AgentNode
from coterie_ros.executors import make_executor, spin
from coterie_ros.main import wind_down

NodeT = TypeVar("NodeT", bound=AgentNode)


class NotStarted(RuntimeError):
    """A node does not come up; says why."""


@contextlib.contextmanager
def spinning(make: Callable[[Context], NodeT], *, domain: int) -> Iterator[NodeT]:
    """Make a node in a context of its own and spin it in a thread while the block runs.

    Signals stay with the program. The block starts once `on_start` is through.

    Args:
        make: Makes the node in a context.
        domain: ROS domain.

    Raises:
        NotStarted: The node does not come up.
    """
    context = Context()
    rclpy.init(
        args=["--ros-args", "--disable-external-lib-logs"],  # else each leaves a log file for ever
        context=context,
        domain_id=domain,
        signal_handler_options=SignalHandlerOptions.NO,
    )
    stop = threading.Event()
    node = make(context)
    executor = make_executor(context)
    executor.add_node(node)

    def work() -> None:
        spin(executor, context, until=stop.is_set, period=0.1)

    thread = threading.Thread(target=work, name=node.get_name(), daemon=True)
    thread.start()
    try:
        # Not `node.active`: that is true while `on_start` is still at work.
        while node.state_label != "active" and not node.failure:
            time.sleep(0.005)
        if node.failure:
            raise NotStarted(f"the node {node.get_name()}: {node.failure}")
        yield node
    finally:
        stop.set()
        thread.join(5.0)
        wind_down([node], executor, context)
        node.destroy_node()
        executor.shutdown()
        context.try_shutdown()
        context.destroy()  # ends its DDS participant now, not when garbage is collected
