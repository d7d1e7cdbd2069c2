"""Waiting in time: results, time-outs, and cancellations that arrive as the work ends."""

from __future__ import annotations

import asyncio

import pytest

from coterie_core.waiting import in_time


async def test_gives_the_result_and_the_error_of_the_work() -> None:
    async def fail() -> None:
        raise KeyError("x")

    assert await in_time(asyncio.sleep(0, "done"), 5.0) == "done"
    with pytest.raises(KeyError):
        await in_time(fail(), None)


async def test_cancels_what_is_late() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(60.0)
        finally:
            ended.set()

    with pytest.raises(asyncio.TimeoutError):
        await in_time(work(), 0.01)
    assert ended.is_set()


async def test_a_cancellation_in_the_moment_of_the_end_gets_through() -> None:
    done = asyncio.get_running_loop().create_future()

    async def caller() -> str:
        await in_time(done, 5.0)
        return "went on"

    task = asyncio.ensure_future(caller())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    done.set_result(None)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
