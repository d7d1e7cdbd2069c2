"""Journal: appends what a process decides and does to files of bounded size, whatever happens.

Each process has files of its own in the team's folder: NAME-PID-NUMBER.jsonl, compressed (.gz)
once they are full. It holds a lock on the one that it writes. All files together stay within a
limit: the oldest that nobody writes goes, and `gone.json` tells how many records went, and until
when.
"""

from __future__ import annotations

import contextlib
import contextvars
import fcntl
import gzip
import json
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coterie_core.files import write_atomically
from coterie_llm.tracing import listen
from coterie_safety.why import capture
from coterie_safety.why.context import Belongs, current
from coterie_safety.why.record import Record, moment, new_id

ENVIRONMENT = "COTERIE_WHY"
"""Variable by which a team's processes know where to write: JSON of `JournalSettings`."""
GONE = "gone.json"
_LOCK = "lock"
_FILES = 32
"""Files that the limit is divided into."""
_LEAST_FILE_BYTES = 16_384
_MAX_FILES = 1000
_RETRY_PERIOD_S = 5.0
"""Time for which nothing is written after the disk was full [s]."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JournalSettings:
    """Where a journal is, and its bounds: of all its files together [MB], and of their age [d]."""

    folder: str
    megabytes: float = 64.0
    days: float = 30.0

    def to_json(self) -> str:
        """Return them as JSON."""
        return json.dumps(
            {"folder": self.folder, "megabytes": self.megabytes, "days": self.days}, sort_keys=True
        )


class Journal:
    """Appends records; never raises, and never keeps a robot from what it does.

    Args:
        settings: Folder and limits of the journal.
        name: Name of the process, for its files.
    """

    def __init__(self, settings: JournalSettings, name: str = "") -> None:
        self.folder = Path(settings.folder)
        self.limit = max(int(settings.megabytes * 1e6), 2 * _LEAST_FILE_BYTES)
        self.seconds = settings.days * 86_400.0
        self._file_bytes = max(self.limit // _FILES, _LEAST_FILE_BYTES)
        self._name = f"{re.sub(r'[^A-Za-z0-9_.]+', '_', name)[:40] or 'process'}-{os.getpid()}"
        self._lock = threading.Lock()
        self._handle = -1
        self._size = 0
        self._number = 0
        self._full: Path | None = None
        self._torn = False
        self._lost = 0
        self._quiet_until = 0.0

    def write(self, record: Record) -> str:
        """Append a record; return its id, "" where it could not be written."""
        line = record.to_line()
        with self._lock:
            if self._lost and time.monotonic() < self._quiet_until:
                self._lost += 1
                return ""
            try:
                self._append(line)
            except OSError as error:
                self._fail(error)
                return ""
        return record.id

    def close(self) -> None:
        """Let others have the file."""
        with self._lock:
            self._close()

    def _append(self, line: bytes) -> None:
        if self._handle < 0 or self._size + len(line) > self._file_bytes or self._removed():
            self._next_file()
        if self._lost:
            told = Record(new_id(), moment(), "lost", "", body={"records": self._lost})
            line = told.to_line() + line
        if self._torn:
            line = b"\n" + line
        written = 0
        try:
            while written < len(line):
                written += os.write(self._handle, line[written:])
        finally:
            self._size += written
            self._torn = 0 < written < len(line) or (self._torn and not written)
        self._lost = 0

    def _removed(self) -> bool:
        return os.fstat(self._handle).st_nlink == 0

    def _next_file(self) -> None:
        full, self._full = self._full, None
        self._close()
        if full is not None:
            # Not in the loop of a robot: it takes some 20 ms.
            threading.Thread(target=compress, args=(full,), daemon=True).start()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A file that is being compressed stands there twice.
        with _alone(self.folder):
            self._tidy(self._file_bytes * (1 if full is None else 2))
        while True:
            self._number += 1
            path = self.folder / f"{self._name}-{self._number:06d}.jsonl"
            with contextlib.suppress(FileExistsError):
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                self._handle = os.open(path, flags, 0o600)
                break
        fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._size, self._torn, self._full = 0, False, path

    def _close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _fail(self, error: OSError) -> None:
        if not self._lost:
            _LOG.warning(
                "decisions are not kept: %s (%s); the robots go on",
                self.folder,
                error.strerror or error,
            )
        self._lost += 1
        self._quiet_until = time.monotonic() + _RETRY_PERIOD_S
        if not self._torn:
            self._close()  # the folder may have been removed: begin anew

    def _tidy(self, room: int) -> None:
        """Remove the oldest files that nobody writes, until there is so much room [bytes]."""
        files = []
        for path in journal_files(self.folder):
            with contextlib.suppress(FileNotFoundError):  # another process compresses it
                files.append((path.stat(), path))
        files.sort(key=lambda one: one[0].st_mtime_ns)
        total = sum(stat.st_size for stat, _ in files) + room
        many = len(files) - _MAX_FILES
        for number, (stat, path) in enumerate(files):
            old = time.time() - stat.st_mtime > self.seconds
            if total <= self.limit and not old and number >= many:
                break
            with contextlib.suppress(FileNotFoundError):  # compressed meanwhile: it is still there
                if self._remove(path):
                    total -= stat.st_size

    def _remove(self, path: Path) -> bool:
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False  # somebody writes it
            data = file.read()
            with contextlib.suppress(OSError, EOFError):
                data = gzip.decompress(data) if path.suffix == ".gz" else data
            lines = data.splitlines()
            last = ""
            with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):
                last = str(json.loads(lines[-1])["at"])
            path.unlink()
        gone = read_gone(self.folder)
        until = max(gone.until, last)
        write_atomically(
            self.folder / GONE,
            json.dumps({"records": gone.records + len(lines), "until": until}),
        )
        return True


def journal_files(folder: Path) -> list[Path]:
    """Return the files of a journal, of all processes."""
    return sorted((*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")))


def compress(file: Path) -> None:
    """Compress a file that nobody writes any more; where that cannot be, it stays as it is."""
    part = file.with_suffix(".part")
    try:
        with file.open("rb") as whole:
            # Locked, so that nobody removes and counts it while its compressed twin comes.
            fcntl.flock(whole, fcntl.LOCK_EX | fcntl.LOCK_NB)
            stat = os.fstat(whole.fileno())
            if not stat.st_nlink:
                return
            part.write_bytes(gzip.compress(whole.read(), 1))
            os.utime(part, ns=(stat.st_mtime_ns, stat.st_mtime_ns))
            part.replace(file.with_suffix(".jsonl.gz"))
            file.unlink()
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()


@dataclass(frozen=True, slots=True)
class Gone:
    """What was removed to stay within the limits: how many records, the last one of when."""

    records: int = 0
    until: str = ""


def read_gone(folder: Path) -> Gone:
    """Return what was removed from a journal."""
    try:
        data = json.loads((folder / GONE).read_bytes())
        return Gone(int(data["records"]), str(data["until"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Gone()


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / _LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# -- the journal of this process -------------------------------------------------------------------

_journal: Journal | None = None
_own: contextvars.ContextVar[Journal | None] = contextvars.ContextVar("journal", default=None)


def open_journal(settings: JournalSettings, name: str = "") -> Journal:
    """Keep what this process decides and does from now on."""
    global _journal
    close_journal()
    _journal = Journal(settings, name)
    listen(_keep_decision)
    return _journal


def close_journal() -> None:
    """Keep nothing any more."""
    global _journal
    listen(None)
    if _journal is not None:
        _journal.close()
    _journal = None


def settings_from(environment: Mapping[str, str]) -> JournalSettings | None:
    """Return where an environment says that a journal is; None: nowhere, or it is wrong."""
    given = environment.get(ENVIRONMENT, "")
    if not given:
        return None
    try:
        data = json.loads(given)
        return JournalSettings(str(data["folder"]), float(data["megabytes"]), float(data["days"]))
    except (ValueError, KeyError, TypeError):
        _LOG.warning("%s is %r: expected JSON of folder, megabytes, days", ENVIRONMENT, given)
        return None


def journal_from_environment(name: str = "") -> Journal | None:
    """Open the journal that the environment names, if it names one; a wrong one is left alone."""
    settings = settings_from(os.environ)
    return open_journal(settings, name or Path(sys.argv[0]).name) if settings is not None else None


@contextlib.contextmanager
def kept_in(journal: Journal | None) -> Iterator[None]:
    """Keep in that journal what happens here: a program may speak to several teams."""
    before = _own.set(journal)
    try:
        yield
    finally:
        _own.reset(before)


def keeping() -> bool:
    """Whether anything is kept: no need to collect what nobody keeps."""
    return (_own.get() or _journal) is not None


def note(
    kind: str,
    who: str,
    body: Mapping[str, Any],
    *,
    id: str = "",
    task: str | None = None,
    sub_task: str | None = None,
    question: str | None = None,
    because: str | None = None,
) -> str:
    """Keep that something happened; return the record's id, "" where nothing is kept.

    What it belongs to is what the work in hand belongs to (`about`, `follow`), unless given here.
    """
    journal = _own.get() or _journal
    if journal is None:
        return ""
    now = current()
    of = Belongs(
        now.goal,
        now.task if task is None else task,
        now.sub_task if sub_task is None else sub_task,
        now.question if question is None else question,
        now.because if because is None else because,
    )
    try:
        return journal.write(Record(id or new_id(), moment(), kind, who, of, body))
    except Exception:  # a record that cannot be made must not stop a robot
        _LOG.exception("a record of kind %s was not kept", kind)
        return ""


def _keep_decision(trace: Any) -> str:
    return note("decision", trace.who, capture.of_decision(trace))
