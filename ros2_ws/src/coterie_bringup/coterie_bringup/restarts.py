"""Whether a program that died is started again: `./coterie up` and `ros2 launch` decide alike."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """Times of whoever keeps programs running [s].

    A program that ran for `healthy` starts with a clean slate; the n-th restart in a row waits
    `backoff * 2**(n-1)`, at most `longest_backoff`. On the way out everybody gets SIGINT, after
    `interrupt` SIGTERM and after `terminate` SIGKILL: together well below 5 s. Those that end last
    get SIGINT then, and have `last` for what they do.
    """

    backoff: float = 0.5
    longest_backoff: float = 10.0
    healthy: float = 60.0
    interrupt: float = 2.0
    terminate: float = 1.2
    last: float = 4.0


DEFAULT_PATIENCE = Patience()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a program: it starts again after `wait` [s], or, None, it is given up."""

    wait: float | None
    text: str


class Restarts:
    """Counts the deaths in a row of one program.

    Args:
        limit: Restarts in a row.
        patience: Times.
    """

    def __init__(self, limit: int, patience: Patience = DEFAULT_PATIENCE) -> None:
        self.limit = limit
        self.in_a_row = 0
        self._patience = patience

    def died(self, code: int, age: float, described: str) -> Verdict:
        """Decide about a program that ended by itself.

        Args:
            code: Its exit code.
            age: How long it ran [s].
            described: The code in words.
        """
        if age >= self._patience.healthy:
            self.in_a_row = 0
        if code == os.EX_CONFIG:
            return Verdict(None, f"given up: it cannot do what it was told ({described})")
        if self.in_a_row >= self.limit:
            times = f"{self.in_a_row} restart{'' if self.in_a_row == 1 else 's'}"
            return Verdict(None, f"given up after {times} ({described})")
        self.in_a_row += 1
        wait = self._patience.backoff * 2 ** (self.in_a_row - 1)
        wait = min(wait, self._patience.longest_backoff)
        return Verdict(wait, f"restart {self.in_a_row} of {self.limit} in {wait:g} s")
