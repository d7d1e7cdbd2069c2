"""Waiting with a deadline that holds and cancellation that gets through, on any Python."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from coterie_llm.errors import ModelTimeout, ModelUnavailable

T = TypeVar("T")

# How long a cancelled call may take to clean up before it is left behind.
_GRACE_S = 1.0


async def within(
    work: Coroutine[Any, Any, T], timeout_s: float | None, what: str, *, grace_s: float = 0.0
) -> T:
    """Await `work` for at most `timeout_s`.

    `asyncio.wait_for` of Python 3.10 and 3.11 can swallow a cancellation that arrives as the work
    ends, and waits without limit for work that resists being cancelled; this does neither.

    Args:
        work: The coroutine.
        timeout_s: Seconds [s]; None: no limit.
        what: Names the work in the error.
        grace_s: Seconds after that in which the work may still end by itself, so that it can report
            a time-out of its own when the loop is late [s].

    Raises:
        ModelTimeout: Not done in time; the work has been cancelled.
        ModelUnavailable: The work was cancelled by somebody else than the caller.
        asyncio.CancelledError: The caller was cancelled; so is the work.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=timeout_s)
        if grace_s and not task.done():
            await asyncio.wait({task}, timeout=grace_s)
    except asyncio.CancelledError:
        await _stop(task)
        raise
    if not task.done():
        await _stop(task)
        raise ModelTimeout(f"{what}: no reply within {timeout_s:.3g} s")
    if task.cancelled():
        raise ModelUnavailable(f"{what}: the call was cancelled from inside", maybe_billed=True)
    return task.result()


async def _stop(task: asyncio.Future[Any]) -> None:
    task.cancel()
    try:
        await asyncio.wait({task}, timeout=_GRACE_S)
    finally:
        if task.done() and not task.cancelled():
            task.exception()  # fetched, so that the loop does not report it as lost
