"""A token bucket that limits how often something may happen."""

from __future__ import annotations

import time
from collections.abc import Callable


class Rate:
    """Lets a stream through up to a rate, and short bursts above it.

    Args:
        limit: Largest mean rate [1/s].
        burst: Largest number of events at once, after a pause.
        clock: Steady clock [s].
    """

    def __init__(
        self, limit: float, burst: int = 2, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit, self._burst, self._clock = limit, burst, clock
        self._left, self._last = float(burst), clock()

    def passes(self) -> bool:
        """Whether the next one may pass now."""
        now = self._clock()
        self._left = min(self._left + (now - self._last) * self._limit, self._burst)
        self._last = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
