"""Everything that is kept of a team's run: records of all its processes, and its log of goals."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from coterie_safety.ledger import Entry, LedgerFault, entries, read_head
from coterie_safety.why.journal import Gone, journal_files, read_gone
from coterie_safety.why.record import LINE_BYTES, NoRecord, Record, read_record


@dataclass(slots=True)
class Story:
    """What is kept of a run, in the order of time.

    Attributes:
        records: Records of all processes.
        entries: The log of goals, permits and results.
        gone: Summary of what was removed to stay within the limits.
        lost: Number of records that could not be written (a full disk).
        damaged: Number of lines that are no records: cut off, or altered.
        log_fault: Description of what is wrong with the log of goals; "": nothing.
    """

    records: list[Record] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    gone: Gone = field(default_factory=Gone)
    lost: int = 0
    damaged: int = 0
    log_fault: str = ""
    _by_id: dict[str, Record] = field(default_factory=dict)
    _by_action: dict[str, list[Entry]] = field(default_factory=dict)

    def get(self, id_: str) -> Record | None:
        """Return the record with this id."""
        return self._by_id.get(id_)

    def of_kind(self, *kinds: str) -> Iterator[Record]:
        """Yield the records of some kinds, the latest first."""
        return (record for record in reversed(self.records) if record.kind in kinds)

    def log_of(self, action: str) -> list[Entry]:
        """Return what the log says of the goal of an action, first to last."""
        return self._by_action.get(action, [])

    def index(self) -> None:
        """Sort the records, and find what belongs together; after records were added."""
        self.records.sort(key=lambda record: record.at)
        # A goal that is sent again keeps its id, and a file may be there twice while it is
        # compressed: the first record counts.
        self._by_id = {record.id: record for record in reversed(self.records)}
        self.records = [one for one in self.records if self._by_id[one.id] is one]
        self._by_action = {}
        for entry in self.entries:
            action = entry.body.get("action")
            if isinstance(action, str) and action:
                self._by_action.setdefault(action, []).append(entry)


def read_story(folder: Path, log: Path | None = None) -> Story:
    """Read what is kept of a run; also while it runs.

    Args:
        folder: Folder of the journal.
        log: Folder of the log of goals; None: none.

    Raises:
        OSError: A file cannot be read.
    """
    story = Story(gone=read_gone(folder))
    files = journal_files(folder) if folder.is_dir() else []
    for file in files:
        try:
            _read_file(file, story)
        except FileNotFoundError:  # compressed meanwhile, or removed
            packed = file.with_suffix(".jsonl.gz")
            with contextlib.suppress(FileNotFoundError):
                if packed not in files:
                    _read_file(packed, story)
    if log is not None and log.is_dir():
        head = read_head(log)
        try:
            for entry in entries(log):
                story.entries.append(entry)
                if head is not None and entry.seq == head.seq:
                    break  # what is being written just now is none of ours
        except LedgerFault as fault:
            story.log_fault = str(fault)
    story.index()
    return story


def _read_file(file: Path, story: Story) -> None:
    try:
        if file.suffix == ".gz":
            with gzip.open(file) as unpacked:
                _read_lines(unpacked, story)
        else:
            with file.open("rb") as lines:
                _read_lines(lines, story)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        story.damaged += 1


def _read_lines(lines: gzip.GzipFile | BinaryIO, story: Story) -> None:
    while line := lines.readline(2 * LINE_BYTES):
        if not line.strip():
            continue
        try:
            record = read_record(line)
        except NoRecord:
            # The last one may be being written just now.
            story.damaged += line.endswith(b"\n")
            continue
        if record.kind == "lost":
            count = record.body.get("records")
            story.lost += count if isinstance(count, int) else 1
        else:
            story.records.append(record)
