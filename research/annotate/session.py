"""An annotation in work: what is asked, what was answered, commands that save at once, undo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from coterie_world.scene import SceneGraph
from research.annotate.queries import Query, checked
from research.annotate.responses import answer_of
from research.annotate.store import GONE, PARTS, QUERIES, AnnotationError, Key, Store

Status = Literal["open", "none", "some"]
"""Not answered yet; answered with "no object fits"; answered with objects."""

MOST_UNDO = 500
"""Steps that can be taken back."""
LONGEST_NOTE = 4000
"""Longest note [characters]."""


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
        store: The files.
        current: The id of the query that is shown ("" if there is none).
    """

    scene: SceneGraph
    store: Store
    current: str = ""
    _done: list[_Step] = field(default_factory=list)
    _undone: list[_Step] = field(default_factory=list)

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
        session = AnnotationSession(scene, Store(queries, out))
        session.current = session.first_open() or next(iter(session.queries), "")
        return session

    # What there is.

    @property
    def queries(self) -> Mapping[str, Query]:
        """All queries by id, in the order of the file."""
        return self.store.queries

    @property
    def notices(self) -> list[str]:
        """What happened on disk that the person should know; the page takes them away."""
        return self.store.notices

    @property
    def query(self) -> Query | None:
        """The query that is shown."""
        return self.queries.get(self.current)

    def answer(self, query: str) -> tuple[str, ...] | None:
        """Return the ids that answer a query, best first; None: not answered (or not with ids)."""
        return answer_of(self.store.content.answers.get(query))

    def status(self, query: str) -> Status:
        """Return whether a query is answered."""
        answer = self.answer(query)
        return "open" if answer is None else ("some" if answer else "none")

    def note(self, query: str) -> str:
        """Return the note on a query ("" if there is none)."""
        found = self.store.content.notes.get(query, "")
        return found if isinstance(found, str) else ""

    def suggested(self, query: str) -> bool:
        """Whether the answer was taken over from a suggestion and has not been changed since."""
        taken = answer_of(self.store.content.suggested.get(query))
        return taken is not None and taken == self.answer(query)

    def progress(self) -> tuple[int, int]:
        """Return how many queries are answered, and how many there are."""
        return sum(self.status(q) != "open" for q in self.queries), len(self.queries)

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
        found = list(self.store.broken.values())
        for query, entry in self.store.content.answers.items():
            where = f"responses.{query}"
            if query not in self.queries:
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
        if query in self.queries:
            self.current = query

    def step(self, by: int) -> None:
        """Go on (or back) by so many queries, around the ends."""
        ids = list(self.queries)
        if ids:
            here = ids.index(self.current) if self.current in self.queries else -1
            self.current = ids[(here + by) % len(ids)]

    def first_open(self) -> str:
        """Return the first query that is not answered ("" if all are)."""
        return next((q for q in self.queries if self.status(q) == "open"), "")

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
            self._run({("notes", query): text or GONE}, f"note on {query}")

    # Commands on the queries.

    def add_query(self, query: Query) -> None:
        """Add a query after the others and show it.

        Raises:
            QueryError: It cannot be like that, or the id is taken.
        """
        self._take_in()
        query = checked(query, self.queries)
        self._run({QUERIES: {**self.queries, query.id: query}}, f"{query.id} added")
        self.current = query.id

    def change_query(self, old: str, query: Query) -> None:
        """Change a query; its answer and note move along if it gets another id.

        Raises:
            QueryError: It cannot be like that, or the id is taken.
        """
        self._take_in(old)
        taken = {*self.queries, *self.store.content.answers} - {old}
        query = checked(replace(query, extra=self.queries[old].extra), taken)
        if query == self.queries[old]:
            return
        after = {
            (query.id if k == old else k): (query if k == old else v)
            for k, v in self.queries.items()
        }
        changes: dict[Key, Any] = {QUERIES: after}
        if query.id != old:
            for part in PARTS:
                if old in self.store.part(part):
                    changes[part, query.id] = self.store.part(part)[old]
                    changes[part, old] = GONE
        here = self.current == old
        self._run(changes, f"{old} changed")
        if here:
            self.current = query.id

    def delete_query(self, query: str) -> None:
        """Delete a query with its answer and note here; `undo` brings all back."""
        self._take_in(query)
        ids = list(self.queries)
        after = {k: v for k, v in self.queries.items() if k != query}
        changes: dict[Key, Any] = {QUERIES: after}
        for part in PARTS:
            if query in self.store.part(part):
                changes[part, query] = GONE
        self._run(changes, f"{query} deleted")
        if self.current not in self.queries:
            left = list(self.queries)
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
        if any(self.store.value(key) != value for key, value in here.items()):
            source.pop()
            raise AnnotationError(
                f"{step.what}: changed on disk since, so this step is left as it is"
            )
        self.store.write(there)
        target.append(source.pop())
        self.go(step.query)
        return step.what

    # Disk.

    def poll(self) -> bool:
        """Take in what others changed on disk; return whether there is anything new to show."""
        before = dict(self.store.broken), len(self.notices)
        return bool(self._take_in()) or before != (self.store.broken, len(self.notices))

    def _take_in(self, seen: str = "") -> set[Key]:
        """Take in what others wrote; return what is different now.

        Args:
            seen: A query that the person means to change or delete.

        Raises:
            AnnotationError: That query is another now, or is gone.
        """
        before = self.queries.get(seen)
        changed = self.store.take_in()
        if self.current not in self.queries:
            self.current = next(iter(self.queries), "")
        if seen and (before is None or self.queries.get(seen) != before):
            raise AnnotationError(f"{seen} was changed or deleted on disk; nothing was done")
        return changed

    def _asked(self) -> tuple[str, tuple[str, ...]]:
        if self.current not in self.queries:
            raise AnnotationError("there is no query; add one first")
        return self.current, self.answer(self.current) or ()

    def _answer(self, ids: tuple[str, ...] | None, what: str) -> None:
        query = self.current
        value: Any = GONE if ids is None else list(ids)
        changes: dict[Key, Any] = {("answers", query): value}
        if query in self.store.content.suggested:
            changes["suggested", query] = GONE  # it is the person's own now
        self._run(changes, what)

    def _run(self, changes: Mapping[Key, Any], what: str) -> None:
        """Carry a command out: take in, check, write, remember for undo."""
        query = self.current
        if self._take_in() & set(changes):
            raise AnnotationError(
                "changed on disk meanwhile; shown is what it says now, and nothing was done: "
                "do it again if you still mean it"
            )
        before = {key: self.store.value(key) for key in changes}
        changes = {key: value for key, value in changes.items() if before[key] != value}
        if not changes:
            return
        self.store.write(changes)
        self._done.append(_Step(what, query, {k: before[k] for k in changes}, dict(changes)))
        del self._done[:-MOST_UNDO]
        self._undone.clear()


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:8]) + (f" and {len(listed) - 8} more" if len(listed) > 8 else "")
