"""A limit of simultaneous calls, first come first served, from any number of event loops."""

from __future__ import annotations

import asyncio
import collections
import threading
import time

from coterie_llm.errors import ModelTimeout
from coterie_llm.types import LanguageModel, ModelRequest, Reply, Wrapper

_Waiter = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]


class Slots:
    """Slots for calls, handed out in the order in which they were asked for.

    Unlike `asyncio.Semaphore` this works over several event loops: each robot's node has its own.

    Args:
        count: Calls that may run at a time.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"at least 1 call must be allowed at a time, not {count}")
        self._lock = threading.Lock()
        self._free = count
        self._waiting: collections.deque[_Waiter] = collections.deque()

    @property
    def waiting(self) -> int:
        """Calls in the queue."""
        return len(self._waiting)

    async def acquire(self, timeout_s: float | None, what: str) -> None:
        """Wait for a slot.

        Raises:
            ModelTimeout: None became free within `timeout_s` seconds.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            waiter: _Waiter = (loop, loop.create_future())
            self._waiting.append(waiter)
        future = waiter[1]

        def expire() -> None:
            if self._leave(waiter) and not future.done():
                message = f"{what}: no free slot within {timeout_s:.3g} s; raise max_concurrency?"
                future.set_exception(ModelTimeout(message, maybe_billed=False))

        timer = None if timeout_s is None else loop.call_later(timeout_s, expire)
        try:
            await future
        except asyncio.CancelledError:
            if not self._leave(waiter):
                self.release()  # the slot had been handed over just before
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def release(self) -> None:
        """Hand the slot to whoever waits longest."""
        with self._lock:
            while self._waiting:
                loop, future = self._waiting.popleft()
                try:
                    loop.call_soon_threadsafe(_grant, future)
                except RuntimeError:  # that loop is closed, nobody waits there any more
                    continue
                return
            self._free += 1

    def _leave(self, waiter: _Waiter) -> bool:
        """Leave the queue; False when a slot has been handed over already."""
        with self._lock:
            try:
                self._waiting.remove(waiter)
            except ValueError:
                return False
            return True


def _grant(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Limited(Wrapper):
    """Limits the calls that run at a time.

    Args:
        inner: The model.
        slots: Number of simultaneous calls, or slots shared with other models.
    """

    def __init__(self, inner: LanguageModel, slots: int | Slots) -> None:
        super().__init__(inner)
        self._slots = Slots(slots) if isinstance(slots, int) else slots

    async def complete(self, request: ModelRequest) -> Reply:
        """Answer the request when a slot is free; the time in the queue counts for its time-out.

        Raises:
            ModelTimeout: No slot in time.
            LanguageError: The inner model's.
        """
        started = time.monotonic()
        await self._slots.acquire(request.timeout_s, self.name)
        try:
            if request.timeout_s is not None:
                left_s = request.timeout_s - (time.monotonic() - started)
                request = request.with_timeout(max(left_s, 1e-3))
            return await self.inner.complete(request)
        finally:
            self._slots.release()
