"""Deadlines of answers: decisions end before the deadline of whoever waits for them."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from contextvars import ContextVar

_DUE: ContextVar[float] = ContextVar("coterie_due", default=math.inf)


@contextlib.contextmanager
def due_in(seconds: float) -> Iterator[None]:
    """Let the decisions of this block, all together, leave time to answer who waits so long.

    What a decision asks a model ends in time, and then its rule decides, as it does when the model
    is slow for another reason. It holds for the tasks that begin in the block, too. Of blocks
    within one another the earlier end counts.

    Args:
        seconds: Time that the caller waits from now [s]; 0 or less: nobody waits.
    """
    end = time.perf_counter() + time_to_think(seconds) if seconds > 0 else math.inf
    token = _DUE.set(min(_DUE.get(), end))
    try:
        yield
    finally:
        _DUE.reset(token)


@contextlib.contextmanager
def ends_in(seconds: float) -> Iterator[None]:
    """Let all decisions of this block end within so many seconds [s], with nothing kept back."""
    token = _DUE.set(min(_DUE.get(), time.perf_counter() + seconds))
    try:
        yield
    finally:
        _DUE.reset(token)


def time_left() -> float:
    """Return how long decisions may take from now on [s]; infinite where nobody waits."""
    return _DUE.get() - time.perf_counter()


def time_to_think(deadline: float) -> float:
    """Return how long models may take where somebody waits for `deadline` [s].

    A fifth of it, at least a third of a second of any deadline that has one to spare, is for the
    way there and back.
    """
    return max(0.5 * deadline, deadline - max(0.2 * deadline, 0.33))
