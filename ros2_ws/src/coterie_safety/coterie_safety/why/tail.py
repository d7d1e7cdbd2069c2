"""Follows a journal: records that are appended from its first one onward."""

from __future__ import annotations

from pathlib import Path

from coterie_safety.why.record import NoRecord, Record, read_record

_MAX_BYTES = 4_000_000
"""Most that is read of one file at a time: the rest comes with the next call."""


class JournalTail:
    """Reads what is new in a journal of several processes.

    Args:
        folder: The journal's folder; it need not be there yet.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._at: dict[Path, int] = {}

    def read(self) -> list[Record]:
        """Return the records since the last call, in the order of time.

        Raises:
            OSError: A file cannot be read.
        """
        found: list[Record] = []
        for file in sorted(self.folder.glob("*.jsonl")):
            at = self._at.get(file, 0)
            try:
                with file.open("rb") as opened:
                    opened.seek(at)
                    data = opened.read(_MAX_BYTES)
            except FileNotFoundError:  # compressed or removed meanwhile
                continue
            whole = data[: data.rfind(b"\n") + 1]
            self._at[file] = at + len(whole)
            for line in whole.splitlines():
                try:
                    found.append(read_record(line))
                except NoRecord:
                    continue
        return sorted(found, key=lambda record: record.at)
