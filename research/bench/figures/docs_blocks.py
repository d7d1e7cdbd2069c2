"""Blocks of Markdown that hold a bench's table, and what of it moved since it was written.

A block names the command that measures it and the table, by the beginning of its title::

    <!-- figures: bench emos --episodes 25 | Success [%] -->
    | method | ... |
    <!-- end figures -->
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from research.bench.common.tables import PrintedTable

_BLOCK = re.compile(
    r"^<!-- figures: (?P<command>[^|\n]+?) \| (?P<title>[^\n]+?) -->\n"
    r"(?P<body>.*?)^<!-- end figures[^\n]*-->$",
    re.MULTILINE | re.DOTALL,
)
TIMED_COLUMNS = frozenset(
    {"wall", "wall [s]", "s/query", "s/question", "seconds", "time [s]", "frames/s"}
)
"""Columns that depend on the machine: docs do not hold them."""


class DocsError(ValueError):
    """A block of figures cannot be read or filled; the text names file and line."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of figures in a page.

    `command` are the words after ``bench``; `title` is how the table's title begins; `start` and
    `end` are the character offsets of its body; `line` counts from 1.
    """

    page: Path
    line: int
    command: tuple[str, ...]
    title: str
    start: int
    end: int
    body: str


@dataclass(frozen=True, slots=True)
class Change:
    """A cell that moved: which row and column, what the page said and what was measured."""

    row: str
    column: str
    before: str
    after: str


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page, in order.

    Raises:
        DocsError: A block does not end, or its command does not begin with ``bench``.
        OSError: The page cannot be read.
    """
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        words = shlex.split(match["command"])
        if len(words) < 2 or words[0] != "bench":
            raise DocsError(
                f"{page}:{line}: expected 'bench NAME [options] | title of the table', "
                f"got {match['command'][:80]!r}"
            )
        found.append(
            Block(
                page,
                line,
                tuple(words[1:]),
                match["title"].strip(),
                match.start("body"),
                match.end("body"),
                match["body"],
            )
        )
    opened = len(re.findall(r"^<!-- figures: ", text, re.MULTILINE))
    if opened != len(found):
        raise DocsError(
            f"{page}: {opened - len(found)} of its blocks of figures lack ' | title' or their "
            "line '<!-- end figures -->'"
        )
    return found


def as_markdown(table: PrintedTable) -> str:
    """Return a table in Markdown: the first column to the left, figures to the right."""
    kept = [k for k, name in enumerate(table.columns) if name.strip() not in TIMED_COLUMNS]
    rows = [[row[k] for k in kept] for row in table.rows]
    lines = [
        [table.columns[k] for k in kept],
        ["---" if not k or _is_words(rows, k) else "---:" for k in range(len(kept))],
        *rows,
    ]
    return "".join("| " + " | ".join(map(_cell, line)) + " |\n" for line in lines)


def changes(body: str, table: PrintedTable) -> list[Change]:
    """Return what a page's table says otherwise than the measured one, cell by cell.

    Rows are matched by all their cells that are words, columns by their heads.
    """
    before, after = _parsed(body), _parsed(as_markdown(table))
    found = []
    for key, cells in after.items():
        known = before.get(key, {})
        for column, value in cells.items():
            if known.get(column, "") != value:
                found.append(Change(" ".join(key), column, known.get(column, "(none)"), value))
    for key in before:
        if key not in after:
            found.append(Change(" ".join(key), "", "(a row)", "(none)"))
    return found


def filled(text: str, blocks: Sequence[tuple[Block, PrintedTable]]) -> str:
    """Return a page's text with the tables of its blocks replaced."""
    for block, table in sorted(blocks, key=lambda pair: -pair[0].start):
        text = text[: block.start] + as_markdown(table) + text[block.end :]
    return text


def table_of(block: Block, tables: Sequence[PrintedTable]) -> PrintedTable:
    """Return the table that a block names.

    Raises:
        DocsError: No title, or more than one, begins so.
    """
    found = [table for table in tables if table.title == block.title]
    found = found or [table for table in tables if table.title.startswith(block.title)]
    if len(found) != 1:
        titles = "; ".join(table.title for table in tables) or "none"
        command = shlex.join(block.command)
        raise DocsError(
            f"{block.page}:{block.line}: {len(found)} tables of 'bench {command}' have a title "
            f"that begins with {block.title!r}; its tables: {titles}"
        )
    return found[0]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").strip()


def _is_words(rows: Sequence[Sequence[str]], column: int) -> bool:
    return not any(re.match(r"\s*[-+(]?\d", row[column]) for row in rows)


def _parsed(markdown: str) -> dict[tuple[str, ...], dict[str, str]]:
    """Return a Markdown table as row key -> column -> cell."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    if len(lines) < 3:
        return {}
    heads, *rows = ([c.strip() for c in line.strip("|").split(" | ")] for line in lines)
    heads = [head.strip() for head in heads]
    words = [k for k in range(len(heads)) if _is_words([_padded(r, heads) for r in rows[1:]], k)]
    keys = sorted({0, *words})
    parsed: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows[1:]:
        cells = _padded(row, heads)
        key = tuple(cells[k] for k in keys)
        while key in parsed:
            key = (*key, "again")
        parsed[key] = {heads[k]: cells[k] for k in range(len(heads)) if k not in keys}
    return parsed


def _padded(row: Sequence[str], heads: Sequence[str]) -> list[str]:
    return [*row, *[""] * (len(heads) - len(row))][: len(heads)]
