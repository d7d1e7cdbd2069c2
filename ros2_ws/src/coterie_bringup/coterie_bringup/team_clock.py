"""The time of a running team, as a command's node hears it."""

from __future__ import annotations

from collections.abc import Callable

from rosgraph_msgs.msg import Clock

from coterie_ros.agent_node import AgentNode

_RATE = 20.0
"""How often simulated time is read [1/s]; simulators tell it up to a thousand times a second."""
_LONGEST = 365.0 * 86400.0
"""What is older is no age: its stamp is of another clock [s]."""
_AHEAD = 5.0
"""How far a stamp may lie ahead of the clock here, as clocks of two computers may [s]."""


class TeamClock:
    """Hears the simulated time of a team, where somebody tells it.

    Args:
        node: Listens; in the team's namespace.
        on_time: Called in the node's loop with the time [s].

    Attributes:
        time: The simulated time [s]; None: nobody has told it.
    """

    def __init__(
        self, node: AgentNode, on_time: Callable[[float], object] = lambda time: None
    ) -> None:
        self.time: float | None = None
        self._node, self._on_time = node, on_time
        node.subscribe(Clock, "clock", "clock", self._take, rate=_RATE, sampled=True)

    @property
    def told(self) -> bool:
        """Whether somebody is there who tells simulated time."""
        return self._node.count_publishers("clock") > 0

    def age(self, stamp: float) -> float | None:
        """Return how old something is [s]; None: its stamp is of a clock that is not known here.

        A team whose simulator tells its time may take this computer's all the same. The two lie
        decades apart, so the nearer clock is the one that the stamp is of.

        Args:
            stamp: When it was [s].
        """
        clocks = [self._node.now(), *(() if self.time is None else (self.time,))]
        age = min((now - stamp for now in clocks), key=abs)
        return max(age, 0.0) if -_AHEAD <= age <= _LONGEST else None

    def _take(self, message: Clock) -> None:
        self.time = message.clock.sec + message.clock.nanosec * 1e-9
        self._on_time(self.time)
