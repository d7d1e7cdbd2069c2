"""The thread that owns a world: takes commands, keeps time, and says when it is late."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from habitat_bridge.goal_scheduler import GoalScheduler, Step


class Listener(Protocol):
    """Hears from a driver, in the driver's thread."""

    def stepped(self, step: Step) -> None:
        """Simulated time moved on."""
        ...

    def idle(self) -> None:
        """Nothing happened for a moment."""
        ...

    def failed(self, error: Exception) -> None:
        """The world failed; the driver has ended."""
        ...


@dataclass(slots=True)
class Timing:
    """How well a driver keeps time."""

    ticks: int = 0
    late: int = 0
    worst: float = 0.0  # longest tick with the goals it started and all that followed from it [s]
    spent: float = 0.0  # in ticks altogether [s]


class SimThread(threading.Thread):
    """Ticks a conductor's world in a thread of its own.

    In real time a tick is due every `dt` of wall time. One that comes too late is counted, and the
    next is due `dt` from then: simulated time falls behind and never races to catch up. In
    lockstep it ticks as fast as it can, or at `pace` times real time, while the barrier is open.

    Args:
        conductor: Owns the world; used in this thread only, from now on.
        listener: Hears what happens.
        lockstep: Whether the conductor has a barrier.
        dt: Length of a tick [s].
        pace: Lockstep only: simulated seconds per second of wall time; 0: as fast as possible.
    """

    def __init__(
        self,
        conductor: GoalScheduler,
        listener: Listener,
        *,
        lockstep: bool,
        dt: float,
        pace: float = 0.0,
    ) -> None:
        super().__init__(name="world", daemon=True)
        self.timing = Timing()
        self._conductor = conductor
        self._listener = listener
        self._lockstep = lockstep
        self._dt = dt
        self._period = (dt / pace if pace > 0.0 else 0.0) if lockstep else dt
        self._commands: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._ended = threading.Event()

    def post(self, command: Callable[[], object]) -> None:
        """Have something done in the world's thread, between two ticks."""
        self._commands.put(command)

    def stop(self, timeout: float = 2.0) -> bool:
        """End the thread; False where it does not end in time [s]."""
        self._ended.set()
        self._commands.put(None)
        if self.is_alive():
            self.join(timeout)
        return not self.is_alive()

    def run(self) -> None:
        """Run until stopped, or until the world fails."""
        try:
            self._run()
        except Exception as error:
            self._conductor.close(f"the world failed: {error}")
            self._listener.failed(error)

    def _run(self) -> None:
        due = time.monotonic()
        while not self._ended.is_set():
            now, begin = time.monotonic(), time.perf_counter()
            if now >= due and self._conductor.ready(now):
                self._tick(begin)
                due += self._period
                after = time.monotonic()
                if due < after:
                    if not self._lockstep and after - due > 0.0:
                        self.timing.late += 1
                    due = after
                self._obey(0.0)
            else:
                if now >= due:  # the barrier is closed
                    due = now
                    wait = 0.1
                else:
                    wait = min(due - now, 0.1)
                if not self._obey(wait):
                    self._listener.idle()

    def _tick(self, begin: float) -> None:
        step = self._conductor.step(self._dt)
        self._listener.stepped(step)
        self._conductor.conclude()
        spent = time.perf_counter() - begin
        self.timing.ticks += 1
        self.timing.spent += spent
        self.timing.worst = max(self.timing.worst, spent)

    def _obey(self, wait: float) -> bool:
        """Do what was posted; wait for it at most so long [s]. False where nothing was posted."""
        try:
            command = (
                self._commands.get(timeout=wait) if wait > 0.0 else self._commands.get_nowait()
            )
        except queue.Empty:
            return False
        while True:
            if command is not None and not self._ended.is_set():
                command()
            try:
                command = self._commands.get_nowait()
            except queue.Empty:
                return True
