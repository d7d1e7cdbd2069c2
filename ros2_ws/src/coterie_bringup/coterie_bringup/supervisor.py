"""Keeps a team's programs running: starts, restarts, reports, ends them; knows no ROS."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coterie_bringup.child_process import Program, Running, describe_exit
from coterie_bringup.restarts import DEFAULT_PATIENCE, Patience, Restarts
from coterie_core.waiting import in_time

EventKind = Literal["started", "died", "restarting", "given_up", "failed", "ended"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened to a program. `lines` are its last lines of output, oldest first."""

    kind: EventKind
    program: str
    text: str
    lines: tuple[str, ...] = ()


class Supervisor:
    """Runs programs until it is told to stop, or until an essential one cannot be kept alive.

    Use `run()` for the whole life, or `async with supervisor.running():` around other work.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        logs: Path,
        *,
        on_line: Callable[[str, str], None] = lambda name, line: None,
        on_event: Callable[[Event], None] = lambda event: None,
        patience: Patience = DEFAULT_PATIENCE,
    ) -> None:
        """Args: `programs` to run, the folder for their `logs`, and who hears of lines and events.

        Raises:
            ValueError: Two programs have the same name.
        """
        names = [p.name for p in programs]
        doubled = sorted({n for n in names if names.count(n) > 1})
        if doubled:
            raise ValueError(f"programs must have different names; twice: {', '.join(doubled)}")
        self.programs = tuple(programs)
        self.logs = logs
        self.restarts: dict[str, int] = dict.fromkeys(names, 0)
        self._on_line = on_line
        self._on_event = on_event
        self._patience = patience
        self._running: dict[str, Running] = {}
        self._stop: asyncio.Event | None = None
        self._started = asyncio.Event()
        self._kill_now = False
        self._failed: list[str] = []
        self._keepers: dict[str, asyncio.Task[None]] = {}

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the programs that were given up."""
        return tuple(self._failed)

    def pid(self, name: str) -> int:
        """Process id of a program that runs now; 0 where it does not."""
        running = self._running.get(name)
        return running.pid if running is not None and not running.ended else 0

    def last_lines(self, name: str) -> tuple[str, ...]:
        """Return the last lines that a program wrote, oldest first."""
        running = self._running.get(name)
        return tuple(running.last_lines) if running is not None else ()

    def stop(self) -> None:
        """Ask everything to end; a second call kills at once."""
        if self._stop is not None:
            self._kill_now = self._stop.is_set()
            self._stop.set()

    async def run(self) -> int:
        """Run until stopped by `stop()`, Ctrl-C, SIGTERM or a closed terminal.

        Returns:
            Exit code for the command: 0, or 1 where an essential program was given up.
        """
        loop = asyncio.get_running_loop()
        async with self.running():
            assert self._stop is not None
            signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            for number in signals:
                loop.add_signal_handler(number, self.stop)
            try:
                await self._stop.wait()
                await self.close()
            finally:
                for number in signals:
                    loop.remove_signal_handler(number)
        return 1 if any(p.essential and p.name in self._failed for p in self.programs) else 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Supervisor]:
        """Keep the programs running while the block runs; all are gone when it is left."""
        self.logs.mkdir(parents=True, exist_ok=True)
        self._stop = asyncio.Event()
        self._keepers = {p.name: asyncio.create_task(self._keep(p)) for p in self.programs}
        self._started.set()
        try:
            yield self
        finally:
            await self.close()

    async def started(self) -> None:
        """Wait until the programs are being kept running."""
        await self._started.wait()

    async def stopped(self) -> None:
        """Wait until somebody asked everything to end."""
        assert self._stop is not None
        await self._stop.wait()

    async def close(self) -> None:
        """End all programs: SIGINT, then SIGTERM, then SIGKILL, until none is left."""
        if self._stop is None:
            return
        self._stop.set()
        patience = self._patience
        await self._end(False, patience.interrupt, patience.terminate)
        await self._end(True, patience.last, 0.0)
        keepers, self._keepers = list(self._keepers.values()), {}
        for keeper in keepers:
            keeper.cancel()
        for result in await asyncio.gather(*keepers, return_exceptions=True):
            if isinstance(result, Exception):
                raise result

    async def _end(self, last: bool, interrupt: float, terminate: float) -> None:
        """End those programs that end last, or all others, with these times for signals [s]."""
        names = [p.name for p in self.programs if p.last is last and p.name in self._keepers]
        steps = ((signal.SIGINT, interrupt), (signal.SIGTERM, terminate), (signal.SIGKILL, 1.0))
        for number, patience in steps:
            for name in names:
                running = self._running.get(name)
                if running is not None and not running.ended:
                    running.signal_group(number)
            keepers = [self._keepers[name] for name in names]
            # Nobody hurries who looks after what others, killed in a hurry, have left moving.
            if await self._all_gone(keepers, patience, hurry=not last and number != signal.SIGKILL):
                break

    async def _all_gone(
        self, keepers: Sequence[asyncio.Task[None]], patience: float, *, hurry: bool
    ) -> bool:
        end = time.monotonic() + patience
        pending = {k for k in keepers if not k.done()}
        while pending and time.monotonic() < end and not (hurry and self._kill_now):
            _, pending = await asyncio.wait(pending, timeout=0.05)
        return not pending

    async def _keep(self, program: Program) -> None:
        """Start a program, and start it again when it dies, up to its limit in a row."""
        assert self._stop is not None
        restarts = Restarts(program.restart_limit, self._patience)
        while not self._stop.is_set():
            log = self.logs / f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', program.name)}.log"
            running = Running(program, log, self._on_line, again=self.restarts[program.name] > 0)
            self._running[program.name] = running
            try:
                await running.start()
            except OSError as error:
                self._give_up(program, f"cannot be started: {error}", ())
                return
            self._tell("started", program, f"process {running.pid}")
            code = await running.wait()
            lines = tuple(running.last_lines)[-12:]
            if self._stop.is_set():
                self._tell("ended", program, describe_exit(code))
                return
            age = time.monotonic() - running.started
            self._tell("died", program, f"{describe_exit(code)} after {age:.1f} s", lines)
            verdict = restarts.died(code, age, describe_exit(code))
            if verdict.wait is None:
                self._give_up(program, verdict.text, lines)
                return
            self.restarts[program.name] += 1
            self._tell("restarting", program, verdict.text)
            with contextlib.suppress(asyncio.TimeoutError):
                await in_time(self._stop.wait(), verdict.wait)

    def _give_up(self, program: Program, text: str, lines: tuple[str, ...]) -> None:
        self._failed.append(program.name)
        self._tell("given_up", program, text, lines)
        if program.essential:
            text = f"the team cannot go on without {program.name}: ending"
            self._tell("failed", program, text)
            self.stop()
        elif all(p.name in self._failed for p in self.programs if not p.last):
            self._tell("failed", program, "nothing is left running: ending")
            self.stop()

    def _tell(
        self, kind: EventKind, program: Program, text: str, lines: tuple[str, ...] = ()
    ) -> None:
        self._on_event(Event(kind, program.name, text, lines))


def alive(pid: int) -> bool:
    """Whether a process with this id exists and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return pid > 0 and stat.rsplit(")", 1)[1].split()[0] != "Z" and os.path.exists(f"/proc/{pid}")
