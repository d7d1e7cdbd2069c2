"""Whether stamps are of this machine's clock: topics whose clock differs are refused."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

AHEAD_OF_ODOMETRY = 1.5
"""How far localization may stamp its transform of the odometry frame ahead [s]: amcl does."""
_LEAST = 3
"""Messages that must all be late before they are refused."""
_SURE = 1.0
"""How long all have to be late before a clock is said to be behind [s]."""
_FALLS = 0.5
"""What waited gets less late by this and more as it is worked off [s]; a clock's offset stays."""


@dataclass(frozen=True, slots=True)
class ClockLimits:
    """How far stamps may be off: `ahead` of the clock here, `behind` it (latency included) [s]."""

    ahead: float = 0.5
    behind: float = 3.0


@dataclass(slots=True)
class _Late:
    """Since when a topic is late, by how much it was then, and when the last one came [s]."""

    since: float
    least: float
    last: float = 0.0


@dataclass(slots=True)
class ClockCheck:
    """The difference between a topic's stamps and the clock here.

    A message that is late may only have waited; a clock that differs shows in every message. The
    smallest delay of the last messages counts, so that a slow network is no clock. What is stamped
    ahead was not late: each such message is refused.

    What came while this process started, or was held up, is handed over at once afterwards, and
    all of it is late: it is refused, too, and nobody's clock is blamed before that has lasted.
    """

    limits: ClockLimits = field(default_factory=ClockLimits)
    window: int = 10
    _delays: dict[str, deque[float]] = field(default_factory=dict)
    _purpose: dict[str, float] = field(default_factory=dict)
    _late: dict[str, _Late] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def passes(
        self,
        topic: str,
        stamp: float,
        now: float,
        ahead: float = 0.0,
        wall: float | None = None,
    ) -> bool:
        """Note a message's stamp [s] at its arrival; tell whether the topic can be trusted.

        Args:
            topic: Where it came from.
            stamp: What it says [s].
            now: The clock here [s].
            ahead: How far its stamps lie ahead on purpose [s], as those of amcl's tf do.
            wall: Clock that goes on, also where simulated time stands still [s]; None: `now` does.
        """
        delays = self._delays.setdefault(topic, deque(maxlen=self.window))
        delays.append(now - stamp)
        self._note_late(topic, now - stamp, now if wall is None else wall)
        self._purpose[topic] = ahead
        return not self._wrong(delays, ahead)

    def problem(self, topic: str, *, sure: bool = True) -> str:
        """Say how far a topic's clock is off, "" where it is not.

        Args:
            topic: The topic.
            sure: Say nothing before it has lasted: messages may only have waited.
        """
        delays, ahead = self._delays.get(topic), self._purpose.get(topic, 0.0)
        if not delays or not self._wrong(delays, ahead):
            return ""
        late = self._late.get(topic)
        if sure and late is not None and late.last - late.since < _SURE:
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

    @property
    def suspects(self) -> dict[str, str]:
        """Topic -> the same, also for those that may only have waited: why something failed now."""
        told = {topic: self.problem(topic, sure=False) for topic in sorted(self._delays)}
        return {topic: text for topic, text in told.items() if text}

    def news(self, topic: str) -> str:
        """Say what is wrong with a topic when that is known, once; "" else."""
        problem = "" if topic in self._told else self.problem(topic)
        if problem:
            self._told.add(topic)
        return problem

    def forget(self) -> None:
        """Begin anew: the clock here was set."""
        self._delays.clear()
        self._late.clear()

    def _note_late(self, topic: str, delay: float, wall: float) -> None:
        """Keep since when all messages of a topic are late, and none much less than before."""
        if delay <= self.limits.behind:
            self._late.pop(topic, None)
            return
        late = self._late.get(topic)
        if late is None or delay < late.least - _FALLS:
            late = self._late[topic] = _Late(wall, delay)
        late.last = wall

    def _offset(self, delays: deque[float], ahead: float) -> float:
        """The newest delay where it is ahead; else the smallest one, which all of them share."""
        return delays[-1] if self._is_ahead(delays, ahead) else min(delays, key=abs)

    def _is_ahead(self, delays: deque[float], ahead: float) -> bool:
        return delays[-1] < -(self.limits.ahead + ahead)

    def _wrong(self, delays: deque[float], ahead: float) -> bool:
        late = len(delays) >= _LEAST and min(delays, key=abs) > self.limits.behind
        return late or self._is_ahead(delays, ahead)
