"""Run the long commands of the set-up: output to a log file, progress on the terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from bootstrap.errors import SetupError

#: Without a terminal, a line of progress at most this often [s].
QUIET_INTERVAL = 15.0


class Progress:
    """A step's line of progress: redrawn in place on a terminal, now and then in a log."""

    def __init__(self, title: str, stream: TextIO | None = None) -> None:
        self.title = title
        self._stream = stream if stream is not None else sys.stderr
        self._live = self._stream.isatty()
        self._started = time.monotonic()
        self._shown = self._started
        self._say(f"{title} ...", end="" if self._live else "\n")

    def _say(self, text: str, end: str = "\n") -> None:
        start = "\r\x1b[2K" if self._live else ""
        self._stream.write(f"{start}{text}{end}")
        self._stream.flush()

    def update(self, detail: str) -> None:
        """Show what the step is at."""
        now = time.monotonic()
        if now - self._shown >= (0.1 if self._live else QUIET_INTERVAL):
            self._shown = now
            text = f"{self.title} ... {detail} ({now - self._started:.0f} s)"
            self._say(text[:100], end="" if self._live else "\n")

    def done(self, detail: str = "done") -> None:
        """Close the line."""
        self._say(f"{self.title}: {detail} ({time.monotonic() - self._started:.0f} s)")

    def fail(self) -> None:
        """Close the line; the error follows."""
        self._say(f"{self.title}: failed")


def _end(process: subprocess.Popen[str]) -> None:
    """End a command and everything that it started."""
    for ending in (signal.SIGTERM, signal.SIGKILL):
        # The group may be gone already.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, ending)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
            return


def run(
    command: Sequence[str],
    *,
    title: str,
    log: Path,
    environ: Mapping[str, str],
    cwd: Path | None = None,
    describe: Callable[[str], str | None] = lambda _: None,
    advise: Callable[[str], Sequence[str]] = lambda _: (),
) -> None:
    """Run ``command`` with its output in ``log`` and its progress on the terminal.

    Args:
        command: Program and arguments; never passes through a shell.
        title: What the step is called.
        log: Written anew.
        environ: The whole environment of the command.
        cwd: Working directory.
        describe: Turns a line of output into what to show, None to show nothing.
        advise: Turns the whole output of a failed command into lines of advice.

    Raises:
        SetupError: The command cannot be started or fails.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    progress = Progress(title)
    with log.open("w", encoding="utf-8", errors="replace") as out:
        out.write(f"$ {' '.join(command)}\n")
        try:
            process = subprocess.Popen(
                command,
                env=dict(environ),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                # A group of its own: what the command starts ends with it.
                start_new_session=True,
            )
        except OSError as error:
            progress.fail()
            raise SetupError(f"{title}: cannot start {command[0]}: {error}") from error
        assert process.stdout is not None
        try:
            for line in process.stdout:
                out.write(line)
                detail = describe(line.rstrip())
                if detail:
                    progress.update(detail)
            code = process.wait()
        except BaseException:
            _end(process)
            progress.fail()
            raise
    if code != 0:
        progress.fail()
        advice = advise(log.read_text(encoding="utf-8", errors="replace"))
        raise SetupError(f"{title} failed (exit code {code})", *advice, log=log)
    progress.done()
