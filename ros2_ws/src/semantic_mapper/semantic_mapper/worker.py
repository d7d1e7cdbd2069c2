"""The thread that owns a map: takes frames from a bounded queue, and does what it is asked."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

J = TypeVar("J")
R = TypeVar("R")


class Worker(threading.Thread, Generic[J]):
    """Works off jobs one after the other; when they come too fast, the oldest are left out.

    Args:
        work: Does a job.
        idle: Called now and then, between jobs and while there are none.
        failed: Called with what `work` or `idle` raised; the thread goes on.
        limit: Most jobs that wait.
        period: Time between calls of `idle` [s].
    """

    def __init__(
        self,
        work: Callable[[J], None],
        idle: Callable[[], None],
        failed: Callable[[str, Exception], None],
        limit: int = 10,
        period: float = 0.2,
    ) -> None:
        super().__init__(name="mapping", daemon=True)
        self._work = work
        self._idle = idle
        self._failed = failed
        self._limit = limit
        self._period = period
        self._jobs: deque[J] = deque()
        self._calls: deque[Callable[[], None]] = deque()
        self._news = threading.Condition()
        self._ended = False
        self.done = 0
        self.dropped = 0
        self.spent = 0.0  # in jobs [s]

    @property
    def waiting(self) -> int:
        """Number of jobs that wait."""
        return len(self._jobs)

    def offer(self, job: J) -> None:
        """Add a job; the oldest that waits is left out if there are too many."""
        with self._news:
            self._jobs.append(job)
            while len(self._jobs) > self._limit:
                self._jobs.popleft()
                self.dropped += 1
            self._news.notify()

    def call(self, function: Callable[[], R]) -> Future[R]:
        """Have a function called in the thread, before the next job."""
        future: Future[R] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function())
            except Exception as error:
                future.set_exception(error)

        with self._news:
            if self._ended:
                future.set_exception(RuntimeError("the mapping thread has ended"))
            else:
                self._calls.append(run)
                self._news.notify()
        return future

    def stop(self, timeout: float = 3.0) -> bool:
        """End the thread after what it is doing; False where it does not end in time [s]."""
        with self._news:
            self._ended = True
            self._news.notify()
        if self.is_alive():
            self.join(timeout)
        return not self.is_alive()

    def run(self) -> None:
        """Work until stopped; calls that wait are still done then, jobs are not."""
        due = time.monotonic()
        while True:
            with self._news:
                if not self._calls and not self._jobs and not self._ended:
                    self._news.wait(self._period)
                ended = self._ended
                calls = list(self._calls)
                self._calls.clear()
                job = self._jobs.popleft() if self._jobs and not ended else None
            for call in calls:
                call()
            if ended:
                return
            if job is not None:
                self._try_job(job)
            if time.monotonic() >= due:
                due = time.monotonic() + self._period
                self._try("idle", self._idle)

    def _try_job(self, job: J) -> None:
        begun = time.perf_counter()
        self._try("frame", lambda: self._work(job))
        self.spent += time.perf_counter() - begun
        self.done += 1

    def _try(self, what: str, function: Callable[[], None]) -> None:
        try:
            function()
        except Exception as error:
            self._failed(what, error)
