"""`bench objects`: requests on semantic maps by every workflow, scored as in the paper."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from coterie_cli.commands import run as run_command
from coterie_llm import Decider, LanguageError, build_decider, load_profile
from object_planner.settings import Method, Mode
from object_planner.workflows import METHODS, Options
from research.bench.common.records import write_csv, write_json
from research.bench.objects.data import DataError, load_data
from research.bench.objects.run import run_objects
from research.bench.objects.simulated import bench_simulated
from research.bench.objects.tables import draw_plot, print_tables

app = typer.Typer(help="Object planning on semantic maps.", add_completion=False)


def bench_objects(
    data: Annotated[
        Path, typer.Option("--data", help="Folder of queries.yaml, semantic_maps/ and responses/.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder for results.json, CSV and the plot; default: none are written."
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            help=f"Workflow to measure: {', '.join(METHODS)}; may be given again; default: all.",
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            help="Use of an object's labels: certainty (only the top one) or uncertainty (all)."
        ),
    ] = "uncertainty",
    rounds: Annotated[
        int, typer.Option(min=0, max=10, help="Largest number of rounds of reflection.")
    ] = 2,
    members: Annotated[
        int, typer.Option(min=1, max=20, help="Number of planners of an ensemble.")
    ] = 6,
    temperature: Annotated[
        float,
        typer.Option(min=0.0, max=2.0, help="Sampling temperature of ensembles."),
    ] = 0.7,
    profile: Annotated[
        Path | None,
        typer.Option(help="Path of a model profile (YAML or JSON); default: the rules decide."),
    ] = None,
    simulated_errors: Annotated[
        list[float] | None,
        typer.Option(
            min=0.0,
            max=0.7,
            help="Fraction of first answers in which a simulated model errs (the paper's: "
            "0.334); may be given again, for a plot over the rates. It is no real "
            "model: research/objects.md.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the simulated model and of an ensemble's sampling.")
    ] = 0,
    sweeps: Annotated[
        int,
        typer.Option(
            min=1, max=50, help="Number of seeds that simulated errors are averaged over."
        ),
    ] = 3,
) -> None:
    """Answer every query on every map of a folder by every workflow; print the paper's tables."""
    console = Console()
    try:
        chosen = tuple(_method(name) for name in method) if method else METHODS
        if mode not in get_args(Mode):
            raise DataError(f"--mode: {mode!r}; one of {', '.join(get_args(Mode))}")
        loaded = load_data(data)
        decider, key = _decider(profile)
        options = Options(
            mode=mode,  # type: ignore[arg-type]
            rounds=rounds,
            members=members,
            temperature=temperature,
            seed=seed,
        )
        if simulated_errors:
            if profile is not None:
                raise DataError("--simulated-errors and --profile: give one of them")
            bench_simulated(
                loaded, chosen, options, simulated_errors, range(seed, seed + sweeps), console, out
            )
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
            task = progress.add_task("requests", total=None)
            result = asyncio.run(
                run_objects(
                    loaded,
                    chosen,
                    decider=decider,
                    options=options,
                    cache=out / "answers" if out else None,
                    key=key,
                    on_progress=lambda n, m: progress.update(task, completed=n, total=m),
                )
            )
    except (DataError, LanguageError, OSError, ValueError) as error:
        Console(stderr=True).print(
            f"bench objects: {error}", style="red", highlight=False, soft_wrap=True, markup=False
        )
        raise typer.Exit(2) from None
    print_tables(result.records, console)
    for problem in result.problems:
        console.print(problem, style="yellow", highlight=False, markup=False, soft_wrap=True)
    if out is not None:
        write_json(out / "results.json", result.records)
        write_csv(out / "results.csv", result.records)
        write_json(out / "details.json", [asdict(one) for one in result.details])
        draw_plot(result.records, out / "objects.png")
        console.print(f"results: {out}", highlight=False, markup=False, soft_wrap=True)


app.command("objects")(bench_objects)


def _method(name: str) -> Method:
    for known in METHODS:
        if name == known:
            return known
    raise DataError(f"--method: unknown workflow {name!r}; one of {', '.join(METHODS)}")


def _decider(profile: Path | None) -> tuple[Decider | None, str]:
    if profile is None:
        return None, "rules"
    read = load_profile(profile)
    return build_decider(read, who="bench"), read.model_dump_json()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this bench; return the exit code."""
    return run_command(app, "bench objects", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
