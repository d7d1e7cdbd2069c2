"""An asyncio loop in a thread of its own: ROS callbacks never wait for what an agent does."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for callbacks of other threads; knows all of them and can cancel them.

    Args:
        name: Name of the thread, for stack dumps.
        on_failure: Called in the loop's thread with a task's name and the exception it raised
            where nobody awaits the task.
    """

    def __init__(self, name: str, on_failure: Callable[[str, BaseException], None]) -> None:
        self._on_failure = on_failure
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._main, name=f"loop {name}", daemon=True)
        self._thread.start()

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.set_exception_handler(self._raised)
        self.loop.run_forever()

    @property
    def running(self) -> int:
        """Number of tasks that have not ended."""
        return len(self._tasks)

    @property
    def closed(self) -> bool:
        """Whether it takes no more work."""
        return self._closing

    @property
    def inside(self) -> bool:
        """Whether the caller runs in the loop's thread."""
        return threading.current_thread() is self._thread

    def run(self, work: Coroutine[Any, Any, T], name: str = "") -> concurrent.futures.Future[T]:
        """Start a coroutine from any thread; cancelling the future cancels the coroutine."""
        outcome: concurrent.futures.Future[T] = concurrent.futures.Future()

        def start() -> None:
            if outcome.cancelled():
                work.close()
                return
            task = self.spawn(work, name)
            task.add_done_callback(lambda done: _copy(done, outcome))
            outcome.add_done_callback(
                lambda future: self.call(task.cancel) if future.cancelled() else None
            )

        if not self.call(start):
            work.close()
            outcome.cancel()
        return outcome

    def spawn(self, work: Coroutine[Any, Any, T], name: str = "") -> asyncio.Task[T]:
        """Start a coroutine from inside the loop."""
        task = self.loop.create_task(work, name=name or getattr(work, "__qualname__", "task"))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def call(self, function: Callable[..., Any], *arguments: Any) -> bool:
        """Call a function in the loop's thread soon; False where the loop is closed."""
        if self._closing:
            return False
        try:
            self.loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:  # closed this very moment
            return False
        return True

    async def elsewhere(
        self, post: Callable[[Callable[[], None]], object], function: Callable[[], T]
    ) -> T:
        """Run a function in the thread that `post` gives it to, and await it."""
        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def settle(value: T | None, error: BaseException | None) -> None:
            if outcome.done():
                return
            if error is not None:
                outcome.set_exception(error)
            else:
                outcome.set_result(value)  # type: ignore[arg-type]

        def work() -> None:
            try:
                value = function()
            except Exception as error:
                self.call(settle, None, error)
            else:
                self.call(settle, value, None)

        post(work)
        return await outcome

    def cancel_soon(self) -> None:
        """Cancel all tasks; returns at once, from any thread."""

        def cancel() -> None:
            for task in tuple(self._tasks):
                task.cancel()

        self.call(cancel)

    def cancel_all(self, timeout: float = 2.0) -> bool:
        """Cancel all tasks and wait for their end [s]; False where some did not end in time."""
        if self.loop.is_closed() or self.inside:
            return True
        done: concurrent.futures.Future[None] = concurrent.futures.Future()

        async def cancel() -> None:
            tasks = [task for task in self._tasks if not task.done()]
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks, timeout=timeout)
            done.set_result(None)

        try:
            self.loop.call_soon_threadsafe(lambda: self.loop.create_task(cancel()))
            done.result(timeout + 0.5)
        except (RuntimeError, concurrent.futures.TimeoutError):
            return False
        return not any(not task.done() for task in set(self._tasks))

    def close(self, timeout: float = 2.0) -> bool:
        """Cancel all tasks, end the thread, close the loop; False where it hung [s]."""
        if self._closing:
            return True
        clean = self.cancel_all(timeout)
        self._closing = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        if not self.inside:
            self._thread.join(timeout)
        if not self._thread.is_alive():
            self.loop.close()
        return clean and not self._thread.is_alive()

    def _raised(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None:
            error = RuntimeError(context.get("message", "unknown"))
        self._on_failure("callback", error)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self._on_failure(task.get_name(), error)


def _copy(task: asyncio.Task[T], outcome: concurrent.futures.Future[T]) -> None:
    if outcome.done():
        return
    if task.cancelled():
        outcome.cancel()
        return
    error = task.exception()
    if error is not None:
        outcome.set_exception(error)
    else:
        outcome.set_result(task.result())
