"""Queries and answers as they are on disk: read, compared with what others wrote, written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from coterie_core.yaml_marks import FileProblem
from research.annotate.disk import WatchedFile
from research.annotate.queries import Query, parse_queries, write_queries
from research.annotate.responses import Responses, parse_responses, render_responses

Part = Literal["answers", "notes", "suggested"]
PARTS: tuple[Part, ...] = ("answers", "notes", "suggested")
Key = tuple[str, str]
"""A value in the files: (part, query), or ("queries", "") for all queries together."""

QUERIES: Key = ("queries", "")
GONE = object()
"""The value of a key that the files do not have."""


class AnnotationError(Exception):
    """A command was not carried out and nothing was changed; says why and what to do."""


class Store:
    """Both files, and what they say.

    Attributes:
        queries: All queries by id, in the order of the file.
        content: Answers, notes, and what else stands in the file of answers.
        broken: File -> why what stands in it now cannot be used; until then nothing is written.
        notices: What happened on disk that the person should know.
    """

    def __init__(self, queries: Path, out: Path) -> None:
        """Read both files; one that does not exist yet is made with the first change.

        Raises:
            FileProblem: A file cannot be used; all problems, with lines.
        """
        self.queries: dict[str, Query] = {}
        self.content = Responses()
        self.broken: dict[str, str] = {}
        self.notices: list[str] = []
        self._queries_file, self._out_file = WatchedFile(queries), WatchedFile(out)
        for file, read in self._readers():
            stamp, text = file.peek()
            read(text, file.name)
            file.accept(stamp, text)

    def part(self, name: Part) -> Mapping[str, Any]:
        """Return the answers, the notes or the suggestions by query."""
        found: Mapping[str, Any] = getattr(self.content, name)
        return found

    def value(self, key: Key) -> Any:
        """Return what the files say, `GONE` if nothing."""
        if key == QUERIES:
            return self.queries
        return getattr(self.content, key[0]).get(key[1], GONE)

    def _readers(self) -> list[tuple[WatchedFile, Callable[[str | None, str], set[Key]]]]:
        return [(self._queries_file, self._read_queries), (self._out_file, self._read_answers)]

    def take_in(self) -> set[Key]:
        """Read files that changed; return what is different now. What is broken is not read."""
        changed: set[Key] = set()
        for file, read in self._readers():
            before = self.broken.pop(file.name, "")
            try:
                if not file.changed():
                    continue
                stamp, text = file.peek()
                # Of a file that was deleted, all is still here, and is written again.
                found = set() if text is None else read(text, file.name)
            except FileProblem as error:
                message = f"{error}; nothing is saved until that is mended"
                self.broken[file.name] = message
                if message != before:
                    self.notices.append(message)
                continue
            file.accept(stamp, text)
            if text is None:
                self.notices.append(
                    f"{file.name} was deleted on disk; it is written again with the next change"
                )
            elif found:
                self.notices.append(f"{file.name} was changed on disk; shown is what it says now")
            changed |= found
        return changed

    def _read_queries(self, text: str | None, name: str) -> set[Key]:
        found = _parse_queries(text, name)
        if list(found.items()) == list(self.queries.items()):
            return set()
        self.queries = found
        return {QUERIES}

    def _read_answers(self, text: str | None, name: str) -> set[Key]:
        found, old = parse_responses(text or "", name), self.content
        changed: set[Key] = set()
        for part in PARTS:
            a, b = getattr(old, part), getattr(found, part)
            changed |= {(part, k) for k in {*a, *b} if a.get(k, GONE) != b.get(k, GONE)}
        self.content = found
        return changed

    def write(self, changes: Mapping[Key, Any]) -> None:
        """Write what changes; afterwards both files and this object say the same.

        Args:
            changes: Key -> what it is to be.

        Raises:
            AnnotationError: That cannot be saved; files and object are as they were.
        """
        if self.broken:
            raise AnnotationError("; ".join(self.broken.values()))
        queries: dict[str, Query] = changes.get(QUERIES, self.queries)
        parts = {name: dict(self.part(name)) for name in PARTS}
        for name in PARTS:
            for (part, query), value in changes.items():
                if part == name and value is GONE:
                    parts[name].pop(query, None)
                elif part == name:
                    parts[name][query] = value
        content = replace(self.content, **parts)
        old = self._queries_file.text
        try:
            if queries is not self.queries:
                text = write_queries(old or "", self._queries_file.name, queries)
                self._queries_file.write(text)
            if any(part != "queries" for part, _ in changes):
                self._out_file.write(render_responses(content, self._out_file.text or ""))
        except FileProblem as error:
            if queries is not self.queries and self._queries_file.text != old:
                self._restore(old)
            raise AnnotationError(f"not saved, nothing was changed: {error}") from None
        self.queries, self.content = dict(queries), content

    def _restore(self, old: str | None) -> None:
        if old is None:
            self._queries_file.remove()
        else:
            self._queries_file.write(old)


def _parse_queries(text: str | None, name: str) -> dict[str, Query]:
    return {} if text is None or not text.strip() else parse_queries(text, name)
