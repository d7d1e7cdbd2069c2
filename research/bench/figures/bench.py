"""``./coterie bench all``: measures the tables of the docs again and tells which figures moved."""

from __future__ import annotations

import hashlib
import json
import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from coterie_cli.commands import run
from coterie_core.files import write_atomically
from research.bench.common.records import write_json
from research.bench.common.tables import PrintedTable, print_whole, recorded_tables
from research.bench.figures.catalog import BENCHES, run_bench
from research.bench.figures.docs_blocks import (
    Block,
    Change,
    DocsError,
    blocks_of,
    changes,
    filled,
    table_of,
)

app = typer.Typer(add_completion=False, rich_markup_mode=None)
Command = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a bench printed, or why it could not be run; `seconds` of wall time."""

    tables: tuple[PrintedTable, ...] = ()
    problem: str = ""
    seconds: float = 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    return run(app, "bench all", arguments)


@app.command()
def all_figures(
    pages: Annotated[
        Path, typer.Option(help="Folder of the pages whose blocks of figures are measured.")
    ] = Path("docs"),
    out: Annotated[Path, typer.Option(help="Folder for the benches' results.")] = Path(
        "out/figures"
    ),
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Name of a bench or a page to measure; may be given again; default: all."
        ),
    ] = None,
    docs: Annotated[
        bool, typer.Option("--docs", help="Write the measured tables into the pages.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Measure what `--out` already holds, too.")
    ] = False,
) -> None:
    """Measure every table of the docs again and tell which figures moved.

    Ends with 0 where no figure moved, 1 where one did or a bench failed.
    """
    console = Console()
    try:
        blocks = [block for page in sorted(pages.rglob("*.md")) for block in blocks_of(page)]
    except (DocsError, OSError) as error:
        Console(stderr=True).print(f"bench all: {error}", style="red", markup=False)
        raise typer.Exit(2) from None
    wanted = set(only or ())
    blocks = [b for b in blocks if not wanted or {b.command[0], b.page.stem} & wanted]
    if not blocks:
        names = ", ".join(name for name in BENCHES if name != "all")
        Console(stderr=True).print(
            f"bench all: no block of figures in {pages} matches; benches: {names}", markup=False
        )
        raise typer.Exit(2)
    measured = _measure_all(list(dict.fromkeys(b.command for b in blocks)), out, again, console)
    moved, problems, found = _compare(blocks, measured)
    _report(moved, problems, console)
    write_json(out / "moved.json", [{"page": str(b.page), "line": b.line, **asdict(c)}
                                    for b, list_ in moved for c in list_])  # fmt: skip
    if docs:
        for page in sorted({block.page for block, _ in found}):
            mine = [(block, table) for block, table in found if block.page == page]
            write_atomically(page, filled(page.read_text(encoding="utf-8"), mine))
            console.print(f"written: {page} ({len(mine)} tables)", highlight=False, markup=False)
    raise typer.Exit(1 if problems or any(list_ for _, list_ in moved) else 0)


def _measure_all(
    commands: Sequence[Command], out: Path, again: bool, console: Console
) -> dict[Command, Measured]:
    measured = {}
    for k, command in enumerate(commands, 1):
        console.rule(f"{k} of {len(commands)}: bench {shlex.join(command)}", characters="-")
        measured[command] = _measure(command, out, again)
        text = measured[command].problem or f"{measured[command].seconds:.0f} s"
        console.print(text, style="dim", highlight=False, markup=False)
    return measured


def _measure(command: Command, out: Path, again: bool) -> Measured:
    """Run one bench, or take what an earlier call with the same words left."""
    name, *arguments = command
    if name not in BENCHES or name == "all":
        return Measured(problem=f"there is no bench {name!r}")
    missing = [word for word in arguments if word.startswith("../") and not Path(word).exists()]
    if missing:
        return Measured(problem=f"not measured: {missing[0]} is not on this machine")
    slug = f"{name}-{hashlib.sha256(shlex.join(command).encode()).hexdigest()[:8]}"
    kept = out / slug / "printed.json"
    if kept.is_file() and not again:
        return _kept(kept)
    begin = time.monotonic()
    with recorded_tables() as tables:
        code = run_bench(name, [*arguments, "--out", str(out / slug)])
    seconds = time.monotonic() - begin
    if code == 130:
        raise KeyboardInterrupt
    if not tables:
        return Measured(problem=f"ended with exit code {code} and no table", seconds=seconds)
    write_json(
        kept,
        {
            "command": shlex.join(("bench", *command)),
            "exit_code": code,
            "seconds": round(seconds, 1),
            "tables": [asdict(table) for table in tables],
        },
    )
    return Measured(tuple(tables), "", seconds)


def _kept(file: Path) -> Measured:
    try:
        data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        tables = tuple(
            PrintedTable(t["title"], tuple(t["columns"]), tuple(tuple(row) for row in t["rows"]))
            for t in data["tables"]
        )
        return Measured(tables, "", float(data["seconds"]))
    except (KeyError, TypeError, ValueError) as error:
        return Measured(problem=f"{file} is damaged ({error}): remove it, or give --again")


def _compare(
    blocks: Sequence[Block], measured: dict[Command, Measured]
) -> tuple[
    list[tuple[Block, list[Change]]], list[tuple[Block, str]], list[tuple[Block, PrintedTable]]
]:
    moved, problems, found = [], [], []
    for block in blocks:
        result = measured[block.command]
        if result.problem:
            problems.append((block, result.problem))
            continue
        try:
            table = table_of(block, result.tables)
        except DocsError as error:
            problems.append((block, str(error)))
            continue
        found.append((block, table))
        moved.append((block, changes(block.body, table)))
    return moved, problems, found


def _report(
    moved: Sequence[tuple[Block, list[Change]]],
    problems: Sequence[tuple[Block, str]],
    console: Console,
) -> None:
    table = Table(title="Figures that moved", title_justify="left")
    for head in ("page", "row", "column", "was", "is"):
        table.add_column(head)
    for block, list_ in moved:
        for one in list_:
            place = f"{block.page.name}:{block.line}"
            table.add_row(place, one.row, one.column, one.before, one.after)
    if table.row_count:
        print_whole(table, console)
    same = sum(not list_ for _, list_ in moved)
    console.print(
        f"{same} of {len(moved)} tables unchanged, {table.row_count} figures moved",
        highlight=False,
    )
    for block, text in problems:
        console.print(f"{block.page}:{block.line}: {text}", style="yellow", markup=False)
