"""Waiting with a deadline through which a cancellation always gets, on any Python."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def in_time(work: Awaitable[T], timeout: float | None) -> T:
    """Await `work` for at most `timeout` [s]; None: without limit.

    `asyncio.wait_for` of Python 3.10 and 3.11 swallows a cancellation that arrives in the moment in
    which the work ends: the caller goes on although it was cancelled. This does not.

    Raises:
        asyncio.TimeoutError: Not done in time; the work has been cancelled.
        asyncio.CancelledError: The caller was cancelled, and so is the work.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=timeout)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not task.done():
        task.cancel()
        # Let the work clean up, but do not wait for one that refuses to end.
        await asyncio.wait({task}, timeout=1.0)
        if not task.done() or task.cancelled():
            raise asyncio.TimeoutError
    return task.result()
