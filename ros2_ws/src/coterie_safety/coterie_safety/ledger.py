"""Ledger: an append-only log whose entries are chained by hash, so that no change goes unseen.

A folder of files `000001.jsonl`, ...: one entry a line, as JSON with `seq`, `at`, `kind`, `robot`,
`body`, the hash of the entry before (`prev`), and last its own `hash`: the SHA-256 of the line's
bytes before it. The chain goes on from file to file. `head.json` keeps number, hash and place of
the last entry, so that a cut end is seen.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import json
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

KINDS = (
    "goal", "request", "permit", "refusal", "revocation", "result", "stop", "release", "healed",
)  # fmt: skip
"""Kinds of entries; healed: the end of a line that was being written when the power went."""
FIRST = "0" * 64
"""Hash that the first entry has as that of the one before."""
_HEAD, _LOCK = "head.json", "lock"
_FILE_BYTES = 4_000_000
_LOCK_PERIOD_S = 0.005
"""Time between two attempts to get the lock [s]."""
_WRITER_TIMEOUT_S = 0.5
"""Longest time that a writer waits for the lock [s]: a goal is refused sooner than it waits for
long."""
_READER_TIMEOUT_S = 2.0
"""Longest time that a reader waits for the lock [s]."""
_LINE_BYTES = 65_536
_HEAD_BYTES = 200
_END = re.compile(rb',"hash":"([0-9a-f]{64})"\}')


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its number from 1, when [ISO 8601, UTC], of what kind, of whom, and what."""

    seq: int
    at: str
    kind: str
    robot: str
    body: Mapping[str, Any]
    prev: str
    hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """Where a ledger ends: number and hash of its last entry, the file and its size [bytes]."""

    seq: int = 0
    hash: str = FIRST
    file: int = 1
    size: int = 0

    def to_bytes(self) -> bytes:
        """Return the one text that it has."""
        fields = {"seq": self.seq, "hash": self.hash, "file": self.file, "size": self.size}
        return json.dumps(fields).encode().ljust(_HEAD_BYTES - 1) + b"\n"

    @staticmethod
    def of(data: bytes) -> Head:
        """Read what `to_bytes` wrote.

        Raises:
            ValueError: It is something else.
        """
        try:
            fields = json.loads(data)
            head = Head(*(fields[key] for key in ("seq", "hash", "file", "size")))
        except (KeyError, TypeError, RecursionError):
            raise ValueError("no head of a ledger") from None
        whole = all(type(n) is int and n >= 0 for n in (head.seq, head.file, head.size))
        if not whole or not isinstance(head.hash, str) or head.to_bytes() != data:
            raise ValueError("no head of a ledger")
        return head


def _locked(lock: IO[Any], how: int, deadline: float) -> bool:
    """Lock an open file as soon as nobody else holds it; return whether that was in time."""
    while True:
        try:
            fcntl.flock(lock, how | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOCK_PERIOD_S)


class LedgerFault(ValueError):
    """A ledger is not as it was written: names the first entry that is wrong, and how."""


class Ledger:
    """Appends entries; several threads and processes of one computer may, one after the other.

    Args:
        folder: Its folder; it is made.
        file_bytes: Size from which a new file is begun.
    """

    def __init__(self, folder: Path, *, file_bytes: int = _FILE_BYTES) -> None:
        self.folder = folder
        self._file_bytes = file_bytes
        self._thread = threading.Lock()

    def write(self, kind: str, robot: str, body: Mapping[str, object]) -> Entry:
        """Append an entry; it outlasts this process.

        Args:
            kind: One of `KINDS`.
            robot: Robot that it concerns; "": the team.
            body: Plain data.

        Raises:
            OSError: It cannot be written, or somebody held the log for too long.
            ValueError: No such kind, or more than 64 KiB.
        """
        if kind not in KINDS:
            raise ValueError(f"no kind of entry: {kind!r}; one of {', '.join(KINDS)}")
        deadline = time.monotonic() + _WRITER_TIMEOUT_S
        if not self._thread.acquire(timeout=_WRITER_TIMEOUT_S):
            raise self._busy()
        try:
            with self._alone(deadline):
                return self._append(self._healed(), kind, robot, body)[1]
        finally:
            self._thread.release()

    @contextlib.contextmanager
    def _alone(self, deadline: float) -> Iterator[None]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.folder / _LOCK).open("a") as lock:
            if not _locked(lock, fcntl.LOCK_EX, deadline):
                raise self._busy()
            yield

    def _busy(self) -> OSError:
        return OSError(
            errno.EAGAIN,
            f"another process holds the log, and did so for {_WRITER_TIMEOUT_S:g} s: look for a "
            "`log verify` or a debugger that stands still",
            str(self.folder / _LOCK),
        )

    def _append(
        self, head: Head, kind: str, robot: str, body: Mapping[str, object]
    ) -> tuple[Head, Entry]:
        at = datetime.now(timezone.utc).isoformat(timespec="microseconds")
        fields = {
            "seq": head.seq + 1,
            "at": at,
            "kind": kind,
            "robot": robot,
            "body": body,
            "prev": head.hash,
        }
        text = json.dumps(fields, separators=(",", ":"), ensure_ascii=True)
        content = text[:-1].encode("ascii")
        digest = hashlib.sha256(content).hexdigest()
        line = content + f',"hash":"{digest}"}}\n'.encode("ascii")
        if len(line) > _LINE_BYTES:
            raise ValueError(f"an entry has at most {_LINE_BYTES} bytes, got {len(line)}")
        number, size = head.file, head.size
        if size and size + len(line) > self._file_bytes:
            number, size = number + 1, 0
        with file_of(self.folder, number).open("ab") as file:
            if file.tell() != size:
                raise OSError(f"{file.name}: {file.tell()} bytes, and not {size} as head.json says")
            file.write(line)
        new = Head(head.seq + 1, digest, number, size + len(line))
        # In its place, at one go: to replace a file takes a busy disk 50 ms.
        handle = os.open(self.folder / _HEAD, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(handle, new.to_bytes(), 0)
        finally:
            os.close(handle)
        return new, Entry(new.seq, at, kind, robot, dict(body), head.hash, digest)

    def _healed(self) -> Head:
        """Return where to go on, after what a writer that died left half done.

        A whole entry whose head was not written counts. Half a line is cut off, and an entry tells
        of it. Whatever else is wrong stays as it is, for `check` to find, and a new file is begun.
        """
        head = read_head(self.folder)
        if head is None and not any(self.folder.glob("*.jsonl")):
            return Head()
        head = head or Head()
        file, following = (file_of(self.folder, head.file + k) for k in (0, 1))
        if _size(file) == head.size and following.exists():
            file, head = following, Head(head.seq, head.hash, head.file + 1, 0)
        if _size(file) == head.size:
            return head
        data = file.read_bytes() if file.exists() else b""
        end = f',"hash":"{head.hash}"}}\n'.encode("ascii")
        tail = data[head.size :]
        if tail.count(b"\n") > 1 or (head.size and not data[: head.size].endswith(end)):
            return self._anew(head)
        line, whole, rest = tail.partition(b"\n")
        if whole and not rest:
            with contextlib.suppress(LedgerFault):
                entry = parse_line(line)
                if (entry.seq, entry.prev) == (head.seq + 1, head.hash):
                    return Head(entry.seq, entry.hash, head.file, len(data))
        if whole or not tail:
            return self._anew(head)
        os.truncate(file, head.size)
        torn = {"bytes": len(tail), "sha256": hashlib.sha256(tail).hexdigest()}
        shown = tail[:2000].decode("utf-8", "replace")
        return self._append(head, "healed", "", {**torn, "was": shown})[0]

    def _anew(self, head: Head) -> Head:
        """Go on in a file of its own."""
        number = head.file
        while file_of(self.folder, number).exists():
            number += 1
        return Head(head.seq, head.hash, number, 0)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def file_of(folder: Path, number: int) -> Path:
    """Return the file of a ledger with this number, from 1."""
    return folder / f"{number:06d}.jsonl"


def read_head(folder: Path) -> Head | None:
    """Return where a ledger says that it ends; None where it says nothing, or nothing readable."""
    try:
        return Head.of((folder / _HEAD).read_bytes())
    except (OSError, ValueError):
        return None


def parse_line(line: bytes) -> Entry:
    """Read one line of a ledger, without its line feed; its hash is checked.

    Raises:
        LedgerFault: It is no entry, or its hash is not that of its bytes.
    """
    content, end = line[:-75], _END.fullmatch(line[-75:])
    if end is None:
        raise LedgerFault("is no entry of a ledger")
    if hashlib.sha256(content).hexdigest().encode() != end[1]:
        raise LedgerFault("was altered: its hash is not that of its bytes")
    try:
        fields = json.loads(line)
        del fields["hash"]
        return Entry(**fields, hash=end[1].decode())
    except (ValueError, TypeError, KeyError):
        raise LedgerFault("is no entry of a ledger") from None


def entries(folder: Path) -> Iterator[Entry]:
    """Yield the entries of a ledger, first to last, checking the chain on the way.

    Raises:
        LedgerFault: At the first entry that is altered, missing, or not in its order; at the end
            where entries are missing there.
        OSError: A file cannot be read.
    """
    seq, before, number, size = 0, FIRST, 0, 0
    files, end = _at_one_moment(folder)
    for number, (file, size) in enumerate(files, 1):
        if file != file_of(folder, number):
            raise LedgerFault(f"{file_of(folder, number).name} is missing, after entry {seq}")
        with file.open("rb") as opened:
            for at, line in enumerate(io.BytesIO(opened.read(size)), 1):
                where = f"{file.name}, line {at} (after entry {seq})"
                if not line.endswith(b"\n"):
                    raise LedgerFault(f"{where}: ends in the middle of an entry")
                try:
                    entry = parse_line(line[:-1])
                except LedgerFault as fault:
                    raise LedgerFault(f"{where}: {fault}") from None
                if entry.seq != seq + 1 or entry.prev != before:
                    raise LedgerFault(
                        f"{where}: entry {entry.seq} does not follow entry {seq}: some were "
                        "removed, put in or moved"
                    )
                seq, before = entry.seq, entry.hash
                yield entry
    if end is None:
        if seq:
            raise LedgerFault(f"{_HEAD} is missing: entries after {seq} may be, too")
        return
    try:
        head = Head.of(end)
    except ValueError:
        raise LedgerFault(f"{_HEAD} was altered") from None
    if (head.seq, head.hash) != (seq, before):
        raise LedgerFault(
            f"it ends with entry {seq}, and {_HEAD} says {head.seq}: the end was cut off or put on"
        )
    if (head.file, head.size) != (number, size):
        raise LedgerFault(f"{_HEAD} was altered")


def _at_one_moment(folder: Path) -> tuple[list[tuple[Path, int]], bytes | None]:
    """Return a ledger's files with their sizes, and its head: between two entries.

    Robots may be writing; they wait for no longer than the sizes take. Where the lock cannot be
    had, because somebody holds it, it goes without.
    """
    begun = (folder / _LOCK).exists()
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            lock = stack.enter_context((folder / _LOCK).open("rb"))
            _locked(lock, fcntl.LOCK_SH, time.monotonic() + _READER_TIMEOUT_S)
        files = [(file, file.stat().st_size) for file in sorted(folder.glob("[0-9]*.jsonl"))]
        head = None
        with contextlib.suppress(FileNotFoundError):
            head = (folder / _HEAD).read_bytes()
    # A ledger that began meanwhile was read without its lock.
    return _at_one_moment(folder) if not begun and (folder / _LOCK).exists() else (files, head)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found: how many entries are right, the last one's hash, and what is wrong."""

    entries: int
    head: str
    fault: str = ""


def check(folder: Path) -> Checked:
    """Check a ledger: every entry as it was written, none missing, none moved."""
    count, head = 0, FIRST
    try:
        for entry in entries(folder):
            count, head = entry.seq, entry.hash
    except LedgerFault as fault:
        return Checked(count, head, str(fault))
    return Checked(count, head)
