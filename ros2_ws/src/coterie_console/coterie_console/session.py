"""An annotation in work: what is asked, what was answered, commands that save at once, undo."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from coterie_console.disk import WatchedFile
from coterie_console.queries import Query, checked, parse_queries, write_queries
from coterie_console.responses import Responses, answer_of, parse_responses, render_responses
from coterie_core.scene import SceneGraph
from coterie_core.yaml_marks import FileProblem

Status = Literal["open", "none", "some"]
"""Not answered yet; answered with "no object fits"; answered with objects."""

Key = tuple[str, str]
"""What a command changes: ("answers" | "notes" | "suggested", query) or ("queries", "")."""

MOST_UNDO = 500
"""Steps that can be taken back."""
LONGEST_NOTE = 4000
"""Longest note [characters]."""

_GONE = object()


class AnnotationError(Exception):
    """A command was not carried out and nothing was changed; says why and what to do."""


@dataclass(slots=True)
class _Step:
    what: str
    query: str
    before: dict[Key, Any]
    after: dict[Key, Any]


@dataclass(slots=True)
class AnnotationSession:
    """Queries and answers of one map; what it shows is what is on disk.

    Every command first takes in what others changed on disk, then writes, then counts; if writing
    fails nothing has changed. A command that would overwrite what has just been changed by others
    is refused once, so that the person sees it first.

    Attributes:
        scene: The map.
        current: The id of the query that is shown ("" if there is none).
        notices: What happened that the person should know; the page takes them away.
    """

    scene: SceneGraph
    current: str = ""
    notices: list[str] = field(default_factory=list)
    _queries: dict[str, Query] = field(default_factory=dict)
    _content: Responses = field(default_factory=Responses)
    _queries_file: WatchedFile = field(default_factory=lambda: WatchedFile(Path()))
    _out_file: WatchedFile = field(default_factory=lambda: WatchedFile(Path()))
    _done: list[_Step] = field(default_factory=list)
    _undone: list[_Step] = field(default_factory=list)
    _broken: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def open(scene: SceneGraph, queries: Path, out: Path) -> AnnotationSession:
        """Read both files; one that does not exist yet is made with the first change.

        Args:
            scene: The map.
            queries: YAML with the queries.
            out: JSON with the answers.

        Raises:
            FileProblem: A file cannot be used; all problems, with lines.
        """
        session = AnnotationSession(
            scene, _queries_file=WatchedFile(queries), _out_file=WatchedFile(out)
        )
        for file, read in session._readers():
            stamp, text = file.peek()
            read(text, file.name)
            file.accept(stamp, text)
        session.current = session.first_open() or next(iter(session._queries), "")
        return session

    # What there is.

    @property
    def queries(self) -> Mapping[str, Query]:
        """All queries by id, in the order of the file."""
        return self._queries

    @property
    def query(self) -> Query | None:
        """The query that is shown."""
        return self._queries.get(self.current)

    def answer(self, query: str) -> tuple[str, ...] | None:
        """Return the ids that answer a query, best first; None: not answered (or not with ids)."""
        return answer_of(self._content.answers.get(query))

    def status(self, query: str) -> Status:
        """Return whether a query is answered."""
        answer = self.answer(query)
        return "open" if answer is None else ("some" if answer else "none")

    def note(self, query: str) -> str:
        """Return the note on a query ("" if there is none)."""
        found = self._content.notes.get(query, "")
        return found if isinstance(found, str) else ""

    def suggested(self, query: str) -> bool:
        """Whether the answer was taken over from a suggestion and has not been changed since."""
        taken = answer_of(self._content.suggested.get(query))
        return taken is not None and taken == self.answer(query)

    def progress(self) -> tuple[int, int]:
        """Return how many queries are answered, and how many there are."""
        return sum(self.status(q) != "open" for q in self._queries), len(self._queries)

    @property
    def can_undo(self) -> str:
        """What `undo` would take back ("" if nothing)."""
        return self._done[-1].what if self._done else ""

    @property
    def can_redo(self) -> str:
        """What `redo` would do again ("" if nothing)."""
        return self._undone[-1].what if self._undone else ""

    def problems(self) -> list[str]:
        """What is odd in the files; all of it is kept as it is."""
        found = list(self._broken.values())
        for query, entry in self._content.answers.items():
            where = f"responses.{query}"
            if query not in self._queries:
                found.append(f"{where}: no such query; the answer is kept")
            ids = answer_of(entry)
            if ids is None:
                found.append(f"{where}: no list of ids; it counts as not answered and is kept")
                continue
            unknown = [i for i in ids if i not in self.scene.objects]
            if unknown:
                found.append(f"{where}: the map has no {_some(unknown)}; kept")
            twice = sorted({i for i in ids if ids.count(i) > 1})
            if twice:
                found.append(f"{where}: {_some(twice)} more than once; kept")
        return found

    # Where one is.

    def go(self, query: str) -> None:
        """Show a query; an unknown one is left alone."""
        if query in self._queries:
            self.current = query

    def step(self, by: int) -> None:
        """Go on (or back) by so many queries, around the ends."""
        ids = list(self._queries)
        if ids:
            here = ids.index(self.current) if self.current in self._queries else -1
            self.current = ids[(here + by) % len(ids)]

    def first_open(self) -> str:
        """Return the first query that is not answered ("" if all are)."""
        return next((q for q in self._queries if self.status(q) == "open"), "")

    # Commands on the answer of the query that is shown.

    def choose(self, thing: str) -> None:
        """Add an object as the last choice; one that is chosen already stays where it is."""
        if thing not in self.scene.objects:
            raise AnnotationError(f"the map has no object {thing}")
        query, ids = self._asked()
        if thing not in ids:
            self._answer((*ids, thing), f"{thing} chosen for {query}")

    def remove(self, thing: str) -> None:
        """Take an object out; without any the query is not answered (say so if none fits)."""
        query, ids = self._asked()
        if thing in ids:
            left = tuple(i for i in ids if i != thing)
            self._answer(left or None, f"{thing} removed from {query}")

    def toggle(self, thing: str) -> None:
        """Choose an object, or take it out if it is chosen."""
        _, ids = self._asked()
        (self.remove if thing in ids else self.choose)(thing)

    def move(self, thing: str, by: int) -> None:
        """Rank an object higher (by < 0) or lower; at the ends nothing happens."""
        query, ids = self._asked()
        if thing not in ids:
            return
        order = list(ids)
        old = order.index(thing)
        new = min(max(old + by, 0), len(order) - 1)
        if new != old:
            order.insert(new, order.pop(old))
            self._answer(tuple(order), f"{thing} moved in {query}")

    def none_fits(self) -> None:
        """Answer that no object of the map fits."""
        query, _ = self._asked()
        self._answer((), f"no object fits {query}")

    def clear(self) -> None:
        """Make the query one that is not answered yet."""
        query, _ = self._asked()
        self._answer(None, f"answer to {query} cleared")

    def accept(self, ids: Sequence[str]) -> None:
        """Take over a suggestion as the answer; the file says that it was one."""
        query, _ = self._asked()
        unknown = [i for i in ids if i not in self.scene.objects]
        if unknown:
            raise AnnotationError(f"the map has no {_some(unknown)}; nothing was taken over")
        changes = {("answers", query): list(ids), ("suggested", query): list(ids)}
        self._run(changes, f"suggestion for {query} accepted")

    def write_note(self, text: str, query: str = "") -> None:
        """Write the note on a query (default: the one that is shown); "" removes it."""
        query = query or self._asked()[0]
        if len(text) > LONGEST_NOTE:
            raise AnnotationError(f"the note has {len(text)} characters; at most {LONGEST_NOTE}")
        if text != self.note(query):
            self._run({("notes", query): text or _GONE}, f"note on {query}")

    # Commands on the queries.

    def add_query(self, query: Query) -> None:
        """Add a query after the others and show it.

        Raises:
            QueryError: It cannot be like that, or the id is taken.
        """
        self._take_in()
        query = checked(query, self._queries)
        self._run({("queries", ""): {**self._queries, query.id: query}}, f"{query.id} added")
        self.current = query.id

    def change_query(self, old: str, query: Query) -> None:
        """Change a query; its answer and note move along if it gets another id.

        Raises:
            QueryError: It cannot be like that, or the id is taken.
        """
        self._take_in()
        if old not in self._queries:
            raise AnnotationError(f"there is no query {old} any more")
        taken = {*self._queries, *self._content.answers} - {old}
        query = checked(replace(query, extra=self._queries[old].extra), taken)
        if query == self._queries[old]:
            return
        after = {
            (query.id if k == old else k): (query if k == old else v)
            for k, v in self._queries.items()
        }
        changes: dict[Key, Any] = {("queries", ""): after}
        if query.id != old:
            for part in ("answers", "notes", "suggested"):
                if old in getattr(self._content, part):
                    changes[part, query.id] = getattr(self._content, part)[old]
                    changes[part, old] = _GONE
        here = self.current == old
        self._run(changes, f"{old} changed")
        if here:
            self.current = query.id

    def delete_query(self, query: str) -> None:
        """Delete a query with its answer and note here; `undo` brings all back."""
        self._take_in()
        if query not in self._queries:
            raise AnnotationError(f"there is no query {query} any more")
        ids = list(self._queries)
        after = {k: v for k, v in self._queries.items() if k != query}
        changes: dict[Key, Any] = {("queries", ""): after}
        for part in ("answers", "notes", "suggested"):
            if query in getattr(self._content, part):
                changes[part, query] = _GONE
        self._run(changes, f"{query} deleted")
        if self.current not in self._queries:
            left = list(self._queries)
            self.current = left[min(ids.index(query), len(left) - 1)] if left else ""

    # Undo.

    def undo(self) -> str:
        """Take the last step back; return what it was ("" if there is none)."""
        return self._travel(self._done, self._undone, back=True)

    def redo(self) -> str:
        """Do again what was taken back; return what it was ("" if there is none)."""
        return self._travel(self._undone, self._done, back=False)

    def _travel(self, source: list[_Step], target: list[_Step], back: bool) -> str:
        if not source:
            return ""
        step = source[-1]
        if self._take_in() & set(step.before):
            raise AnnotationError("changed on disk meanwhile and shown now; nothing was done")
        there, here = (step.before, step.after) if back else (step.after, step.before)
        if any(self._value(key) != value for key, value in here.items()):
            source.pop()
            raise AnnotationError(
                f"{step.what}: changed on disk since, so this step is left as it is"
            )
        self._write(there)
        target.append(source.pop())
        self.go(step.query)
        return step.what

    # Disk.

    def poll(self) -> bool:
        """Take in what others changed on disk; return whether there is anything new to show."""
        before = dict(self._broken), len(self.notices)
        return bool(self._take_in()) or before != (self._broken, len(self.notices))

    def _readers(self) -> list[tuple[WatchedFile, Callable[[str | None, str], set[Key]]]]:
        return [(self._queries_file, self._read_queries), (self._out_file, self._read_answers)]

    def _take_in(self) -> set[Key]:
        """Read files that changed; return what is different now. What is broken is not read."""
        changed: set[Key] = set()
        for file, read in self._readers():
            before = self._broken.pop(file.name, "")
            try:
                if not file.changed():
                    continue
                stamp, text = file.peek()
                # Of a file that was deleted, all is still here, and is written again.
                found = set() if text is None else read(text, file.name)
            except FileProblem as error:
                message = f"{error}; nothing is saved until that is mended"
                self._broken[file.name] = message
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
        if self.current not in self._queries:
            self.current = next(iter(self._queries), "")
        return changed

    def _read_queries(self, text: str | None, name: str) -> set[Key]:
        found = parse_queries_or_none(text, name)
        if list(found.items()) == list(self._queries.items()):
            return set()
        self._queries = found
        return {("queries", "")}

    def _read_answers(self, text: str | None, name: str) -> set[Key]:
        found, old = parse_responses(text or "", name), self._content
        changed: set[Key] = set()
        for part in ("answers", "notes", "suggested"):
            a, b = getattr(old, part), getattr(found, part)
            changed |= {(part, k) for k in {*a, *b} if a.get(k, _GONE) != b.get(k, _GONE)}
        self._content = found
        return changed

    def _asked(self) -> tuple[str, tuple[str, ...]]:
        if self.current not in self._queries:
            raise AnnotationError("there is no query; add one first")
        return self.current, self.answer(self.current) or ()

    def _answer(self, ids: tuple[str, ...] | None, what: str) -> None:
        query = self.current
        value: Any = _GONE if ids is None else list(ids)
        changes: dict[Key, Any] = {("answers", query): value}
        if query in self._content.suggested:
            changes["suggested", query] = _GONE  # it is the person's own now
        self._run(changes, what)

    def _run(self, changes: Mapping[Key, Any], what: str) -> None:
        """Carry a command out: take in, check, write, remember for undo."""
        query = self.current
        if self._take_in() & set(changes):
            raise AnnotationError(
                "changed on disk meanwhile; shown is what it says now, and nothing was done: "
                "do it again if you still mean it"
            )
        before = {key: self._value(key) for key in changes}
        changes = {key: value for key, value in changes.items() if before[key] != value}
        if not changes:
            return
        self._write(changes)
        self._done.append(_Step(what, query, {k: before[k] for k in changes}, dict(changes)))
        del self._done[:-MOST_UNDO]
        self._undone.clear()

    def _value(self, key: Key) -> Any:
        part, query = key
        if part == "queries":
            return self._queries
        return getattr(self._content, part).get(query, _GONE)

    def _write(self, changes: Mapping[Key, Any]) -> None:
        """Write what changes; afterwards both files and this object say the same."""
        if self._broken:
            raise AnnotationError("; ".join(self._broken.values()))
        queries: dict[str, Query] = changes.get(("queries", ""), self._queries)
        parts = {p: dict(getattr(self._content, p)) for p in ("answers", "notes", "suggested")}
        for (part, query), value in changes.items():
            if part in parts:
                if value is _GONE:
                    parts[part].pop(query, None)
                else:
                    parts[part][query] = value
        content = replace(self._content, **parts)
        old = self._queries_file.text
        try:
            if queries is not self._queries:
                text = write_queries(old or "", self._queries_file.name, queries)
                self._queries_file.write(text)
            if any(part != "queries" for part, _ in changes):
                self._out_file.write(render_responses(content, self._out_file.text or ""))
        except FileProblem as error:
            if queries is not self._queries and self._queries_file.text != old:
                self._restore(old)
            raise AnnotationError(f"not saved, nothing was changed: {error}") from None
        self._queries, self._content = dict(queries), content

    def _restore(self, old: str | None) -> None:
        if old is None:
            self._queries_file.remove()
        else:
            self._queries_file.write(old)


def parse_queries_or_none(text: str | None, name: str) -> dict[str, Query]:
    """Read queries; a file that does not exist yet holds none.

    Raises:
        FileProblem: The text cannot be used.
    """
    return {} if text is None or not text.strip() else parse_queries(text, name)


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:8]) + (f" and {len(listed) - 8} more" if len(listed) > 8 else "")
