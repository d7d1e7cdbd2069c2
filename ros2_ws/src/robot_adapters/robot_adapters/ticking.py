"""Whether simulated time goes on: a simulator that is paused stops all that waits for its time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

_SILENT = 5.0
"""How long time may stand still before that is told [s of wall time]."""
_LOOK = 1.0
"""Time between two looks [s]."""
_STEP = 2.0
"""What the time between two looks counts at most [s]: who was held up heard no clock, either."""


class Ticking:
    """Compares simulated time with the wall clock.

    Args:
        topic: Name of the clock's topic.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._now = self._looked = self._silent = 0.0
        self._began = self._told = False

    @property
    def trouble(self) -> str:
        """Why nothing goes on; "": time goes on, or has not stood still for long."""
        if self._silent < _SILENT:
            return ""
        if self._now <= 0.0:
            return (
                f"no {self._topic} has come for {self._silent:.0f} s: does the simulator run? "
                "Nothing goes on until it comes"
            )
        return (
            f"{self._topic} says nothing for {self._silent:.0f} s: is the simulator paused, or did "
            "it end? Nothing goes on until it does"
        )

    def look(self, now: float, wall: float) -> str:
        """Take in what time it is, about once a second; return what is to be told.

        Args:
            now: Simulated time [s]; 0: none has come yet.
            wall: Clock that goes on, also where simulated time stands still [s].

        Returns:
            That time stands still, once, or that it goes on again; "": nothing is to be told.
        """
        passed = min(wall - self._looked, _STEP) if self._began else 0.0
        self._began, self._looked = True, wall
        if now != self._now:  # also back: the simulation began anew
            silent, told = self._silent + passed, self._told
            self._now, self._silent, self._told = now, 0.0, False
            return f"{self._topic} goes on again after {silent:.0f} s" if told else ""
        self._silent += passed
        if self._told or not self.trouble:
            return ""
        self._told = True
        return self.trouble


def watch_clock(node: AgentNode) -> None:
    """Tell when simulated time stands still, where the node takes it; for `on_start`."""
    if not node.get_parameter("use_sim_time").value:
        return
    ticking = Ticking(node.resolve_topic_name("/clock"))

    def look() -> None:
        if news := ticking.look(node.now(), time.monotonic()):
            node.problem(news)
        elif ticking.trouble:
            node.diagnostics.warn(ticking.trouble)

    async def look_there() -> None:
        # The executor's thread hears the clock: while it is held up nobody knows what time it is.
        if node.executor is not None:
            await node.in_executor(look)

    node.every(_LOOK, look_there, "clock")
