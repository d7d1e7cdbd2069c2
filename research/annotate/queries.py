"""Queries in a YAML file: read with lines, written so that all that is not edited stays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import yaml

from coterie_core.yaml_checks import shown, suggestion
from coterie_core.yaml_marks import FileProblem, MarkedData, Path_, Problem, load_marked
from research.bench.objects.data import QUERY_TYPES, QueryType

Difficulty = Literal["easy", "difficult"]
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
LONGEST_WORDS = 600
"""Longest request [characters], as for `./coterie find`."""
LONGEST_ID = 80
"""Longest name of a query [characters]."""


@dataclass(frozen=True, slots=True)
class Query:
    """A request in words. `type` and `difficulty` are None where the file does not say.

    `extra` holds what else the file says about it; it is kept.
    """

    id: str
    words: str
    type: QueryType | None = None
    difficulty: Difficulty | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


class QueryError(ValueError):
    """A query cannot be like that; says which field, what came, and what is possible."""


def checked(query: Query, others: Iterable[str] = ()) -> Query:
    """Return the query with spaces tidied.

    Args:
        query: What was typed.
        others: Ids that are taken.

    Raises:
        QueryError: The id or the words are missing, too long or taken.
    """
    id_, words = query.id.strip(), " ".join(query.words.split())
    if not 0 < len(id_) <= LONGEST_ID or not id_.isprintable():
        raise QueryError(
            f"id: expected 1 to {LONGEST_ID} printable characters, such as query_31, got {id_!r}"
        )
    if id_ in set(others):
        raise QueryError(f"id: {id_} is taken; choose another")
    if not 0 < len(words) <= LONGEST_WORDS:
        raise QueryError(
            f"words: expected 1 to {LONGEST_WORDS} characters, got {len(words)}; "
            'for example "something to sit on"'
        )
    return Query(id_, words, query.type, query.difficulty, query.extra)


def parse_queries(text: str, file: str) -> dict[str, Query]:
    """Read the queries of a file: `queries: {id: words}` or `{id: {query, type, difficulty}}`.

    A file without any query is fine; more can be added.

    Raises:
        FileProblem: Anything is wrong; all problems at once, with lines.
    """
    marked = load_marked(text, file)
    problems = list(marked.problems)
    entries = _entries(marked, problems)
    queries = {}
    for id_, entry in entries.items():
        queries[id_] = _query(id_, entry, marked, problems)
    if problems:
        raise FileProblem(file, problems)
    return queries


def _entries(marked: MarkedData, problems: list[Problem]) -> dict[str, Any]:
    data = marked.data
    if not isinstance(data, dict) or "queries" not in data:
        near = suggestion(next(iter(data)), ["queries"]) if isinstance(data, dict) and data else ""
        got = f"{shown(data)} without it" if isinstance(data, dict) else shown(data)
        message = f"expected a map with 'queries', got {got}{near}"
        problems.append(Problem((), marked.line(()), message))
        return {}
    entries = data["queries"]
    if entries is None:
        return {}
    if not isinstance(entries, dict):
        message = f"expected a map of ids to words, got {shown(entries)}"
        problems.append(Problem(("queries",), marked.line(("queries",)), message))
        return {}
    return entries


def _query(id_: str, entry: Any, marked: MarkedData, problems: list[Problem]) -> Query:
    path: Path_ = ("queries", id_)

    def wrong(where: Path_, message: str) -> None:
        problems.append(Problem(where, marked.line(where), message))

    known: dict[str, Any] = {"query": entry}
    extra: dict[str, Any] = {}
    if isinstance(entry, dict):
        known = {k: v for k, v in entry.items() if k in {"query", "type", "difficulty"}}
        extra = {k: v for k, v in entry.items() if k not in known}
        if "query" not in known:
            near = suggestion(next(iter(extra)), ["query", "type"]) if extra else ""
            wrong(path, f"the field 'query' with the words is missing{near}")
            return Query(id_, "")
    words = known["query"]
    where = (*path, "query") if isinstance(entry, dict) else path
    if not isinstance(words, str):
        hint = " (put it in quotes)" if isinstance(words, bool | int | float) else ""
        wrong(where, f"expected words, got {shown(words)}{hint}")
        words = ""
    elif not 0 < len(words.strip()) <= LONGEST_WORDS:
        wrong(where, f"expected 1 to {LONGEST_WORDS} characters, got {len(words.strip())}")
    if len(id_) > LONGEST_ID or not id_.strip():
        wrong(path, f"an id has 1 to {LONGEST_ID} characters, this one {len(id_)}")
    for name, choices in (("type", QUERY_TYPES), ("difficulty", DIFFICULTIES)):
        value = known.get(name)
        if value is not None and value not in choices:
            here = (*path, name)
            wrong(here, f"unknown value {shown(value)}{suggestion(value, choices)}")
            known[name] = None
    return Query(id_, words, known.get("type"), known.get("difficulty"), extra)


def write_queries(text: str, file: str, after: Mapping[str, Query]) -> str:
    """Return the file's text with other queries.

    Entries that stay keep their very lines and the comments; what cannot be edited in place
    (a file in flow style, with anchors) is written anew, without comments.

    Args:
        text: The file as it is; "" for a new one.
        file: Its name, for errors.
        after: All queries it is to hold, in order.

    Raises:
        FileProblem: `text` cannot be read.
    """
    if not text.strip():
        return _dump({"queries": {q.id: _value(q) for q in after.values()}})
    edited = _spliced(text, file, after)
    if edited is not None:
        try:
            if list(parse_queries(edited, file).items()) == list(after.items()):
                return edited
        except FileProblem:
            pass
    data = load_marked(text, file).data
    rest = data if isinstance(data, dict) else {}
    return _dump({**rest, "queries": {q.id: _value(q) for q in after.values()}})


@dataclass(slots=True)
class _Chunk:
    """An entry's lines: what stands above it (comments, blank lines) and its own."""

    above: list[str]
    own: list[str]


def _spliced(text: str, file: str, after: Mapping[str, Query]) -> str | None:
    """Edit in place; None where the layout does not allow it."""
    before = parse_queries(text, file)
    node = _block(text)
    if node is None or not before or not after:
        return None
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    begin = node.value[0][0].start_mark.line
    chunks: dict[str, _Chunk] = {}
    last = begin
    for key, value in node.value:
        start, end = key.start_mark.line, _last_line(value)
        if start < last or end < start:
            return None
        chunks[str(key.value)] = _Chunk(lines[last:start], lines[start : end + 1])
        last = end + 1
    indent = " " * node.value[0][0].start_mark.column
    out = lines[:begin]
    waiting = dict(chunks)
    for id_, query in after.items():
        # What stood above entries that are gone comes before the next that is left.
        while waiting and id_ in waiting and next(iter(waiting)) != id_:
            out += waiting.pop(next(iter(waiting))).above
        chunk = waiting.pop(id_, None)
        out += chunk.above if chunk else []
        if chunk and before.get(id_) == query:
            out += chunk.own
        else:
            rendered = _dump({id_: _value(query)}).splitlines(keepends=True)
            out += [indent + line for line in rendered]
    for chunk in waiting.values():
        out += chunk.above
    return "".join(out + lines[last:])


def _block(text: str) -> yaml.MappingNode | None:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        return None
    for key, value in root.value:
        if key.value == "queries" and isinstance(value, yaml.MappingNode):
            return None if value.flow_style or not value.value else value
    return None


def _last_line(node: yaml.Node) -> int:
    """The last line [from 0] that a value's own text is on."""
    if isinstance(node, yaml.MappingNode | yaml.SequenceNode) and not node.flow_style:
        if not node.value:
            return int(node.end_mark.line)
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    end = node.end_mark
    return int(end.line) if end.column else int(end.line) - 1


def _value(query: Query) -> Any:
    if query.type is None and query.difficulty is None and not query.extra:
        return query.words
    known = {"query": query.words, "type": query.type, "difficulty": query.difficulty}
    return {**{k: v for k, v in known.items() if v is not None}, **query.extra}


def _dump(data: Any) -> str:
    return str(yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=10_000))
