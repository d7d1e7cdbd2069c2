"""One supervised program: its process group, its output, its log file; knows nothing of ROS."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coterie_bringup.log_file import LogFile

PR_SET_PDEATHSIG = 1
LAST_LINES = 60
"""Lines of a program's output that are kept in memory."""

LONGEST_LINE = 4000
"""Characters of one line that are kept; the rest of it is cut."""

_UNPRINTABLE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Program:
    """What to run and how often it may be started again.

    `essential`: the team cannot go on without it. `environment` is laid over the supervisor's own.
    `ignore_sigint_until_ready`: SIGINT is ignored until the program handles it itself: an
    interpreter that is still importing would otherwise end with a page of traceback. `last`: it
    is ended after all others, and is not killed with the supervisor; it goes by its parent,
    COTERIE_PARENT, itself, and knows by COTERIE_RESTARTED that it was started before.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None
    restart_limit: int = 3
    essential: bool = False
    ignore_sigint_until_ready: bool = False
    last: bool = False


class Running:
    """A program that was started: reads its output until it ends.

    The child leads a session and process group of its own, so that a terminal's Ctrl-C does not
    reach it past the supervisor, and it is killed by the kernel when the supervisor dies, unless
    it is one that ends last.
    """

    def __init__(
        self,
        program: Program,
        log: Path,
        on_line: Callable[[str, str], None],
        *,
        again: bool = False,
    ) -> None:
        self.program = program
        self._again = again
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self.started = 0.0
        self._log = log
        self._on_line = on_line
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """Process (and group) id; 0 before the start."""
        return self._process.pid if self._process else 0

    @property
    def ended(self) -> bool:
        """Whether the program is not running (any more)."""
        return self._process is None or self._process.returncode is not None

    async def start(self) -> None:
        """Start the program.

        Raises:
            OSError: It cannot be started (no such file, no right to run it).
        """
        program = self.program
        self.started = time.monotonic()
        own = {"COTERIE_PARENT": str(os.getpid())} if program.last else {}
        if program.last and self._again:
            own["COTERIE_RESTARTED"] = "1"
        self._process = await asyncio.create_subprocess_exec(
            *program.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **program.environment, **own},
            cwd=program.directory,
            start_new_session=True,
            preexec_fn=_Leash(
                os.getpid(), deaf=program.ignore_sigint_until_ready, last=program.last
            ),
        )

    async def wait(self) -> int:
        """Read the output to its end and return the exit code (negative: the signal's number)."""
        process = self._process
        assert process is not None and process.stdout is not None
        reading = asyncio.create_task(self._read(process.stdout))
        code = await process.wait()
        # A grandchild may hold the pipe open after its parent's end; it goes with the group.
        self.signal_group(signal.SIGKILL)
        done, _ = await asyncio.wait({reading}, timeout=0.5)
        if not done:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reading
        elif (error := reading.exception()) is not None:
            self._on_line(self.program.name, f"(its log cannot be written: {error})")
        return code

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the program and all that it started in its group."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    async def _read(self, stream: asyncio.StreamReader) -> None:
        rest = ""
        log = LogFile(self._log, lambda text: self._on_line(self.program.name, text))
        try:
            while chunk := await stream.read(65536):
                *lines, rest = (rest + chunk.decode("utf-8", "replace")).split("\n")
                if len(rest) > LONGEST_LINE:
                    lines, rest = [*lines, rest], ""
                for line in lines:
                    self._take(line, log)
            if rest:
                self._take(rest, log)
        finally:
            log.close()

    def _take(self, line: str, log: LogFile) -> None:
        clean = printable(line.rstrip("\r"))
        log.write(clean)
        if clean.strip():
            self.last_lines.append(clean)
            self._on_line(self.program.name, clean)


class _Leash:
    """Runs in the child before it becomes the program: ties its life to the supervisor's."""

    def __init__(self, parent: int, *, deaf: bool = False, last: bool = False) -> None:
        self._parent, self._last = parent, last
        self._interrupt = signal.SIG_IGN if deaf else signal.SIG_DFL

    def __call__(self) -> None:
        if not self._last:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != self._parent:  # it died before the leash was on
            os._exit(127)
        # A supervisor that runs in a shell's background ignores SIGINT, and children inherit that.
        signal.signal(signal.SIGINT, self._interrupt)


def printable(line: str) -> str:
    """Return a line without escape sequences and control characters, cut to `LONGEST_LINE`.

    Output may hold what a model wrote: it must not steer the operator's terminal.
    """
    return _UNPRINTABLE.sub("", line)[:LONGEST_LINE]


def describe_exit(code: int) -> str:
    """Return an exit code in words: `exit code 3`, `killed by SIGSEGV`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
