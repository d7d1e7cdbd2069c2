"""Whether a robot hears its team; cut off from it, a robot takes no new work."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray

from coterie_ros.parameters import ParameterSpec

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

LINK_PARAMETERS = (
    ParameterSpec(
        "team_nodes",
        "",
        "Full names of nodes on other hosts whose diagnostics tell that the team is reached, with "
        "commas; empty: none.",
    ),
    ParameterSpec(
        "cut_off",
        0.0,
        "Longest silence of all of them, after which skills are refused; 0: never.",
        "s",
        minimum=0.0,
    ),
)


class TeamLink:
    """Listens for the team's nodes on other hosts; for `on_start`.

    Args:
        node: The robot's adapter.
        now: Clock [s]; wall time, as links are cut in it.
    """

    def __init__(self, node: AgentNode, now: Callable[[], float] = time.monotonic) -> None:
        names = str(node.parameters["team_nodes"]).split(",")
        self._names = {name.strip().lstrip("/") for name in names} - {""}
        self._longest = float(node.parameters["cut_off"])
        self._now = now
        self._heard = now()
        if self._names and self._longest > 0.0:
            node.subscribe(DiagnosticArray, "/diagnostics", "diagnostics", self._hear)

    @property
    def trouble(self) -> str:
        """Why new work is refused; "" where the team is heard, or need not be."""
        silent = self._now() - self._heard
        if not self._names or self._longest <= 0.0 or silent <= self._longest:
            return ""
        return (
            f"cut off from the team: {', '.join(sorted(self._names))} not heard for {silent:.0f} s "
            f"(hosts, cut_off: {self._longest:g} s)"
        )

    def _hear(self, message: DiagnosticArray) -> None:
        if any(status.name in self._names for status in message.status):
            self._heard = self._now()
