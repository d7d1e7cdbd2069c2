"""Follows a ledger: entries that are appended from its last ones onward."""

from __future__ import annotations

from pathlib import Path

from coterie_safety.ledger import Entry, LedgerFault, file_of, parse_line, read_head

_FIRST_BYTES = 200_000
_MAX_BYTES = 1_000_000


class LedgerTail:
    """Reads what is new in a ledger; the chain is for `coterie_safety.ledger.check` to check.

    Args:
        folder: The ledger's folder; it need not be there yet.

    Attributes:
        fault: Description of a line that was wrong, and left out ("": none yet).
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.fault = folder, ""
        self._file, self._at = 0, 0

    def read(self) -> list[Entry]:
        """Return the entries since the last call; at first the last 200 kB of the last file.

        Raises:
            OSError: A file cannot be read.
        """
        head = read_head(self.folder)
        if head is None:
            return []
        if not self._file:
            self._file, self._at = head.file, max(head.size - _FIRST_BYTES, 0)
            if self._at:
                self._to_line()
        found: list[Entry] = []
        while self._file <= head.file:
            end = head.size if self._file == head.file else None
            found += self._of_file(end)
            if self._file == head.file:
                break
            self._file, self._at = self._file + 1, 0
        return found

    def _to_line(self) -> None:
        with file_of(self.folder, self._file).open("rb") as file:
            file.seek(self._at)
            self._at += len(file.readline())

    def _of_file(self, end: int | None) -> list[Entry]:
        found = []
        with file_of(self.folder, self._file).open("rb") as file:
            file.seek(self._at)
            data = file.read(_MAX_BYTES if end is None else max(end - self._at, 0))
        whole = data[: data.rfind(b"\n") + 1]
        self._at += len(whole)
        for line in whole.splitlines():
            try:
                found.append(parse_line(line))
            except LedgerFault as fault:
                self.fault = str(fault)
        return found
