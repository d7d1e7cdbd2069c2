"""Whether stamps are of this machine's clock: topics whose clock differs are refused."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

AHEAD_OF_ODOMETRY = 1.5
"""How far localization may stamp its transform of the odometry frame ahead [s]: amcl does."""
_LEAST = 3
"""Messages that must all be late before a clock is said to be behind."""


@dataclass(frozen=True, slots=True)
class ClockLimits:
    """How far stamps may be off: `ahead` of the clock here, `behind` it (latency included) [s]."""

    ahead: float = 0.5
    behind: float = 3.0


@dataclass(slots=True)
class ClockCheck:
    """The difference between a topic's stamps and the clock here.

    A message that is late may only have waited; a clock that differs shows in every message. The
    smallest delay of the last messages counts, so that a slow network is no clock. What is stamped
    ahead was not late: each such message is refused.
    """

    limits: ClockLimits = field(default_factory=ClockLimits)
    window: int = 10
    _delays: dict[str, deque[float]] = field(default_factory=dict)
    _purpose: dict[str, float] = field(default_factory=dict)

    def passes(self, topic: str, stamp: float, now: float, ahead: float = 0.0) -> bool:
        """Note a message's stamp [s] at its arrival; tell whether the topic can be trusted.

        Args:
            topic: Where it came from.
            stamp: What it says [s].
            now: The clock here [s].
            ahead: How far its stamps lie ahead on purpose [s], as those of amcl's tf do.
        """
        delays = self._delays.setdefault(topic, deque(maxlen=self.window))
        delays.append(now - stamp)
        self._purpose[topic] = ahead
        return not self._wrong(delays, ahead)

    def problem(self, topic: str) -> str:
        """Say how far a topic's clock is off, "" where it is not."""
        delays, ahead = self._delays.get(topic), self._purpose.get(topic, 0.0)
        if not delays or not self._wrong(delays, ahead):
            return ""
        off = self._offset(delays, ahead)
        side = "ahead of" if off < 0.0 else "behind"
        return (
            f"{topic}: stamps are {abs(off):.1f} s {side} the clock here; its messages are "
            "refused. Synchronize the clocks (chrony), or set use_sim_time alike on both sides"
        )

    @property
    def problems(self) -> dict[str, str]:
        """Topic -> what is wrong, for those that are refused."""
        return {topic: text for topic in sorted(self._delays) if (text := self.problem(topic))}

    def forget(self) -> None:
        """Begin anew: the clock here was set."""
        self._delays.clear()

    def _offset(self, delays: deque[float], ahead: float) -> float:
        """The newest delay where it is ahead; else the smallest one, which all of them share."""
        return delays[-1] if self._is_ahead(delays, ahead) else min(delays, key=abs)

    def _is_ahead(self, delays: deque[float], ahead: float) -> bool:
        return delays[-1] < -(self.limits.ahead + ahead)

    def _wrong(self, delays: deque[float], ahead: float) -> bool:
        late = len(delays) >= _LEAST and min(delays, key=abs) > self.limits.behind
        return late or self._is_ahead(delays, ahead)
