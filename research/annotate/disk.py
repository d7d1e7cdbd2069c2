"""A text file that others may change too: read, written whole, and watched."""

from __future__ import annotations

from pathlib import Path

from coterie_core.files import write_atomically
from coterie_core.yaml_marks import FileProblem, Problem

LARGEST = 50_000_000
"""Longest file that is read [bytes]."""
Stamp = tuple[int, int, int] | None
"""When a file was changed [ns], its size [bytes] and inode; None: there is none."""


class WatchedFile:
    """A file, and its text when it was last read or written (None: there was none)."""

    def __init__(self, path: Path) -> None:
        # A link stays one: what it points to is replaced, not the link.
        self.path = path.resolve()
        self.name = str(path)
        self.text: str | None = None
        self._stamp: Stamp = None

    def changed(self) -> bool:
        """Whether the file holds another text than the one that was taken in or written last.

        Raises:
            FileProblem: It cannot be read.
        """
        stamp = self._now()
        if stamp == self._stamp:
            return False
        if self._content() != self.text:
            return True
        self._stamp = stamp
        return False

    def peek(self) -> tuple[Stamp, str | None]:
        """Return the file's stamp and text (None: there is no file), for `accept`.

        Raises:
            FileProblem: It cannot be read, is too large or not UTF-8.
        """
        stamp = self._now()
        return stamp, self._content()

    def accept(self, stamp: Stamp, text: str | None) -> None:
        """Remember what was read: the caller could use it."""
        self._stamp, self.text = stamp, text

    def write(self, text: str) -> None:
        """Replace the file as a whole.

        Raises:
            FileProblem: It cannot be written; the old one is still there.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.path, text)
        except OSError as error:
            raise self._problem(f"cannot be written: {error.strerror or error}") from None
        self.text = text
        self._stamp = self._now()

    def remove(self) -> None:
        """Take the file away again."""
        self.path.unlink(missing_ok=True)
        self.text, self._stamp = None, None

    def _content(self) -> str | None:
        try:
            with self.path.open("rb") as stream:
                raw = stream.read(LARGEST + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._problem(f"cannot be read: {error.strerror or error}") from None
        if len(raw) > LARGEST:
            raise self._problem(f"larger than {LARGEST // 1_000_000} MB")
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw[: error.start].count(b"\n") + 1
            raise FileProblem(
                self.name, [Problem((), line, "not UTF-8 text; save the file as UTF-8")]
            ) from None

    def _now(self) -> Stamp:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size, found.st_ino)

    def _problem(self, message: str) -> FileProblem:
        return FileProblem(self.name, [Problem((), 0, message)])
