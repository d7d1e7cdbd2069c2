"""`bench claims`: what a leader says of tasks in words against what is so in the true house."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from coterie_cli.commands import run as run_command
from research.bench.claims.cases import Case, cases
from research.bench.claims.run import run_case
from research.bench.claims.tables import SLICES, belief_table, claims_table, summary
from research.bench.common.processes import spread
from research.bench.common.records import write_csv, write_json
from research.bench.common.tables import print_whole

app = typer.Typer(help="Claims of a leader against the truth.", add_completion=False)
HOUSES_PER_SEED = 1000
"""Houses of different seeds are different ones."""


def run_one(case: Case) -> dict[str, Any]:
    """Return the record of a task; what goes wrong in it is the record's `error`."""
    try:
        return asyncio.run(run_case(case))
    except Exception as error:  # one task must not end the bench
        told = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
        return case.data | {"state": "error", "message": told}


def bench_claims(
    houses: Annotated[
        int, typer.Option(min=1, help="Number of generated houses, with three tasks each.")
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the houses and of the tasks.")] = 6,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for claims.json and claims.csv; default: none are written."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes at work.")] = 1,
) -> None:
    """Run tasks in words in lockstep, and hold what is claimed against the true house."""
    console = Console()
    first = seed * HOUSES_PER_SEED
    chosen = list(cases(range(first, first + houses), seed))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    records: list[dict[str, Any]] = []
    with Progress(*columns, TimeElapsedColumn(), console=console) as bar:
        shown = bar.add_task("tasks", total=len(chosen))
        for record in spread(run_one, [(case,) for case in chosen], workers):
            records.append(record)
            bar.update(shown, advance=1)
            if out is not None:  # a bench that is stopped has what it has measured
                _write(out, records)
    print_whole(claims_table(records), console)
    beliefs = belief_table(records)
    if beliefs is not None:
        print_whole(beliefs, console)
    for record in [r for r in records if r.get("false") or r["state"] == "error"][:20]:
        text = f"house {record['house']}, {record['words']!r}: {record['message'][:200]}"
        console.print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)


def _write(out: Path, records: Sequence[dict[str, Any]]) -> None:
    sliced = {
        f"{name} {value}": summary([r for r in records if str(r[name]) == value])
        for name in SLICES
        for value in sorted({str(r[name]) for r in records})
    }
    data = {"all": summary(records), "slices": sliced, "tasks": list(records)}
    write_json(out / "claims.json", data)
    write_csv(out / "claims.csv", records)


app.command("claims")(bench_claims)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this bench; return the exit code."""
    return run_command(app, "bench claims", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
