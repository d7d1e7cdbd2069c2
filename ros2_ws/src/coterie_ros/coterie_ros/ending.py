"""The end of nodes: what they move is halted while their executor still spins."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence

from rclpy.context import Context
from rclpy.executors import Executor

from coterie_ros.agent_node import AgentNode
from coterie_ros.executors import spin


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
