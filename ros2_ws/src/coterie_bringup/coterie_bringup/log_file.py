"""The log of a process: bounded, and going on after the disk was full."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

LARGEST_LOG = 20_000_000
"""A log file that grows beyond this [bytes] is renamed to `.1` and begun anew."""


class LogFile:
    """Appends lines to a file; lines that cannot be written are counted, and left out.

    Args:
        path: The file.
        tell: Hears once of every gap, when it begins.
    """

    def __init__(self, path: Path, tell: Callable[[str], object]) -> None:
        self._path, self._tell = path, tell
        self._handle = -1
        self._missing = 0

    def write(self, line: str) -> None:
        """Append a line; never raises OSError."""
        data = (line + "\n").encode("utf-8", "replace")
        if self._missing:  # the first piece may be torn
            data = f"\n({self._missing} lines are missing here)\n".encode() + data
        try:
            self._append(data)
        except OSError as error:
            if not self._missing:
                self._tell(f"(its log leaves lines out while it cannot be written: {error})")
            self._missing += 1
        else:
            self._missing = 0

    def close(self) -> None:
        """Close the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _append(self, data: bytes) -> None:
        if self._handle >= 0 and os.fstat(self._handle).st_size > LARGEST_LOG:
            self.close()
            self._path.replace(self._path.with_suffix(self._path.suffix + ".1"))
        if self._handle < 0:
            self._handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        left = memoryview(data)
        while left:
            left = left[os.write(self._handle, left) :]
