"""Simulated time that never goes back: what was announced before a restart is remembered."""

from __future__ import annotations

import math
from pathlib import Path

from coterie_core.files import write_atomically

AHEAD = 60.0
"""How far ahead time is set aside, so that few ticks have to write a file [s of simulated time]."""

LATEST = 1e9
"""A time beyond this is none of ours [s]."""


class ClockFile:
    """Sets simulated time aside before it is announced; a restart begins after all of it.

    Listeners to tf drop whatever is older than what they know, and a clock that begins at 0 again
    would leave them deaf for as long as the simulation had run.

    Args:
        folder: Where the file is kept; None: nothing is kept, time begins at 0.
    """

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else folder / "clock"
        self._reserved = self.start = self._read()

    def announce(self, time: float) -> None:
        """Make sure that a restart begins later than `time` [s].

        Raises:
            OSError: The folder cannot be written.
        """
        if self._file is None or time < self._reserved:
            return
        self._reserved = time + AHEAD
        self._file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self._file, f"{self._reserved:.3f}\n")

    def _read(self) -> float:
        if self._file is None:
            return 0.0
        try:
            time = float(self._file.read_text("utf-8"))
        except (OSError, ValueError):  # there is none yet, or it is no number
            return 0.0
        return time if math.isfinite(time) and 0.0 <= time < LATEST else 0.0
