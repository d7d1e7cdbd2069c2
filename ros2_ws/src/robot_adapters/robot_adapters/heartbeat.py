"""The adapter's heartbeat: while it beats, the adapter is able to end what its robot does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from std_msgs.msg import Header, String

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

HEARTBEAT = "heartbeat"
"""Topic of a robot by which its adapter says that it works (std_msgs/Header)."""
HALTED = "halted"
"""Topic on which the watchdog tells why it has halted the robot (std_msgs/String)."""
BEATS = "sensor_data"
"""QoS profile of heartbeats: one that comes late is worth nothing."""
_PERIOD = 0.2
_STUCK = 3.0
"""How long the node's executor may be busy before the heart stops [s]: a flood is no failure."""


def beat(node: AgentNode, halt: Callable[[str], None]) -> None:
    """Let the watchdog hear that the node's loop and executor run; for `on_start`.

    A topic, and no liveliness of DDS: it is the same for every middleware, `ros2 topic hz` shows
    it, and because the loop itself publishes it, a loop that is blocked is silent.

    Args:
        node: The adapter's node.
        halt: Ends what the robot does and what waits for it, with a reason; called in the loop
            when the watchdog has halted the robot. Without it the adapter, back at work, would go
            on with the drive that the watchdog has ended.
    """
    pulse = node.publisher(Header, HEARTBEAT, BEATS)
    answered = time.monotonic()

    def answer() -> None:
        nonlocal answered
        answered = time.monotonic()

    def tell() -> None:
        if time.monotonic() - answered < _STUCK:
            pulse.publish(Header(stamp=node.get_clock().now().to_msg()))
        node.post(answer)

    node.subscribe(String, HALTED, "messages", lambda message: halt(str(message.data)))
    node.every(_PERIOD, tell, "heartbeat")
