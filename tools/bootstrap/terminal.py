"""Run the long commands of the set-up: output to a log file, progress on the terminal."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, TextIO

from bootstrap import machine
from bootstrap.errors import SetupError

#: Without a terminal, a line of progress at most this often [s].
QUIET_INTERVAL = 15.0


class Progress:
    """A step's line of progress: redrawn in place on a terminal, now and then in a log.

    Steps that run side by side share the terminal's last line.
    """

    _running: ClassVar[list[Progress]] = []
    _lock: ClassVar[threading.RLock] = threading.RLock()

    def __init__(self, title: str, stream: TextIO | None = None, expected: float = 0.0) -> None:
        """Show that a step begins; ``expected`` is how long it takes on two cores [s]."""
        self.title = title
        self.expected = expected
        self._stream = stream if stream is not None else sys.stderr
        self._live = self._stream.isatty()
        self._started = self._shown = time.monotonic()
        self._detail = ""
        self._running.append(self)
        if self._live:
            self._redraw()
        else:
            about = f" (about {expected:.0f} s)" if expected else ""
            self._print(f"{title} ...{about}")

    def _print(self, text: str) -> None:
        with self._lock:
            self._stream.write(("\r\x1b[2K" if self._live else "") + f"{text}\n")
            self._stream.flush()
            if self._live and self._running:
                self._redraw()

    def _redraw(self) -> None:
        with self._lock:
            columns = shutil.get_terminal_size().columns
            text = " | ".join(step._state() for step in self._running)
            self._stream.write(f"\r\x1b[2K{text[: columns - 1]}")
            self._stream.flush()

    def _state(self) -> str:
        passed = time.monotonic() - self._started
        seconds = f"{passed:.0f} s"
        if 0.0 < self.expected < passed:
            seconds += f", longer than the usual {self.expected:.0f} s; it goes on"
        elif self.expected:
            seconds = f"{passed:.0f} of about {self.expected:.0f} s"
        return " ".join(
            part for part in (f"{self.title} ...", self._detail, f"({seconds})") if part
        )

    def update(self, detail: str) -> None:
        """Show what the step is at."""
        self._detail = detail
        now = time.monotonic()
        if now - self._shown >= (0.1 if self._live else QUIET_INTERVAL):
            self._shown = now
            if self._live:
                self._redraw()
            else:
                self._print(self._state()[:100])

    def done(self, detail: str = "done") -> None:
        """Close the line."""
        self._close(f"{self.title}: {detail} ({time.monotonic() - self._started:.0f} s)")

    def fail(self) -> None:
        """Close the line; the error follows."""
        self._close(f"{self.title}: failed")

    def _close(self, text: str) -> None:
        with self._lock:
            if self in self._running:
                self._running.remove(self)
                self._print(text)


class Job:
    """A command that runs, with its output in ``log`` and its progress on the terminal.

    Leaving it as a context waits for it, or ends it where an exception goes through; it ends with
    everything that it started, also where this process is killed (see ``child``).
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        title: str,
        log: Path,
        environ: Mapping[str, str],
        cwd: Path | None = None,
        describe: Callable[[str], str | None] = lambda _: None,
        advise: Callable[[str], Sequence[str]] = lambda _: (),
        marker: Path | None = None,
        expected: float = 0.0,
    ) -> None:
        """Start ``command``.

        Args:
            command: Program and arguments; never passes through a shell.
            title: What the step is called.
            log: Written anew.
            environ: The whole environment of the command.
            cwd: Working directory.
            describe: Turns a line of output into what to show, None to show nothing.
            advise: Turns the whole output of a failed command into lines of advice.
            marker: A file that remains where the command could not be ended in order.
            expected: How long it takes on two cores [s].

        Raises:
            SetupError: The command cannot be started.
        """
        if shutil.which(command[0], path=environ.get("PATH", os.defpath)) is None:
            raise SetupError(f"{title}: cannot start {command[0]}: it does not exist")
        self.title, self.log, self._describe, self._advise = title, log, describe, advise
        log.parent.mkdir(parents=True, exist_ok=True)
        self._out = log.open("w", buffering=1, encoding="utf-8", errors="replace")
        self._out.write(f"$ {' '.join(command)}\n")
        child = str(Path(__file__).with_name("child.py"))
        wrapper = [machine.base_python(), "-E", "-s", "-S", child]
        self._process = subprocess.Popen(
            [*wrapper, str(os.getpid()), str(marker or "-"), *command],
            env=dict(environ),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # A group of its own: what the command starts ends with it.
            start_new_session=True,
            # Of our files only the set-up's lock is inheritable: held until the child has ended.
            close_fds=False,
        )
        self._failure: BaseException | None = None
        self._progress = Progress(title, expected=expected)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._out.write(line)
                detail = self._describe(line.rstrip())
                if detail:
                    self._progress.update(detail)
            # Told here, because whoever waits may be busy with another command.
            if self._process.wait() == 0:
                self._progress.done()
        except BaseException as error:
            self._failure = error

    def __enter__(self) -> Job:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.wait()
        else:
            self.end()

    def wait(self) -> None:
        """Wait until the command has ended.

        Raises:
            SetupError: It failed.
        """
        try:
            self._reader.join()
            if self._failure is not None:
                raise self._failure
            code = self._process.wait()
        except BaseException:
            self.end()
            raise
        self._out.close()
        if code != 0:
            self._progress.fail()
            advice = self._advise(self.log.read_text(encoding="utf-8", errors="replace"))
            raise SetupError(f"{self.title} failed (exit code {code})", *advice, log=self.log)

    def end(self) -> None:
        """End the command and everything that it started."""
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            # The group may be gone already.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._progress.fail()
