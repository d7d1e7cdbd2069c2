"""Prints the benches' tables, and keeps what was printed for whoever writes it into docs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """A table as it was printed: title, column heads, and rows of cells, all plain text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


_PRINTED: ContextVar[list[PrintedTable] | None] = ContextVar("_PRINTED", default=None)


@contextlib.contextmanager
def recorded_tables() -> Iterator[list[PrintedTable]]:
    """Collect every table that `print_whole` prints inside the block."""
    tables: list[PrintedTable] = []
    token = _PRINTED.set(tables)
    try:
        yield tables
    finally:
        _PRINTED.reset(token)


def print_whole(table: Table, console: Console) -> None:
    """Print a table as wide as it is: a narrow terminal wraps it, but no figure is cut off."""
    recorded = _PRINTED.get()
    if recorded is not None:
        recorded.append(as_printed(table))
    wide = console.options.update(max_width=400)
    before, needed = console.width, Measurement.get(console, wide, table).maximum
    try:
        console.width = max(before, needed)
        console.print(table)
    finally:
        console.width = before


def as_printed(table: Table) -> PrintedTable:
    """Return the plain text of a table."""
    columns = [[_plain(cell) for cell in column.cells] for column in table.columns]
    return PrintedTable(
        _plain(table.title),
        tuple(_plain(column.header) for column in table.columns),
        tuple(zip(*columns, strict=True)),
    )


def _plain(cell: object) -> str:
    if cell is None:
        return ""
    return cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain
