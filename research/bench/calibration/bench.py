"""`bench calibration`: is a confidence of 80 % right in 80 % of cases? Fits it, and tests it."""

from __future__ import annotations

import dataclasses
import itertools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
import yaml
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from coterie_cli.commands import run as run_command
from coterie_core.confidence import ConfidenceModel, load_confidence
from coterie_core.files import write_atomically
from habitat_bridge.simulator import WorldError
from research.bench.calibration.data import FIT_HOUSES, TEST_HOUSES, Exploration, Trip, trips
from research.bench.calibration.fit import fit
from research.bench.calibration.score import (
    SINGLE,
    SLOW,
    TRAINED,
    UNTRAINED,
    Exam,
    Score,
    held,
    scores,
    together,
)
from research.bench.common.processes import as_done
from research.bench.common.records import write_csv, write_json
from research.bench.common.tables import print_whole
from research.bench.mele.tables import SHORT

T = TypeVar("T")

app = typer.Typer(
    help="Test of stated confidence on houses that it was not fitted on.", add_completion=False
)
TEAM, LARGE, CROWD = 3, 10, 50
HEAD = """\
# What stated confidence rests on; coterie_core.confidence says what each number means.
# Fitted: ./coterie bench calibration --graphs DIR --fit FILE writes this file.
"""


def provenance(graphs: Sequence[str], seeds: int, houses: Sequence[int], crowd: int) -> str:
    """Return the sentence that says on what the numbers were fitted."""
    crowds = f", and {seeds} with {crowd} robots" if crowd else ""
    files = f"{', '.join(graphs)} (seeds 0-{seeds - 1}{crowds})"
    return f"Matterport3D graphs {files}; generated houses {houses[0]}-{houses[-1]}"


def exams(
    files: Sequence[Exploration],
    generated: Sequence[Exploration],
    numbers: Mapping[str, ConfidenceModel],
    crowd: int = CROWD,
) -> list[Exam]:
    """Return what is asked of whom.

    Methods that are trained, and slow ones, are asked of one trial of each house and of as many
    generated houses as there are houses from files; slow ones of two houses of each kind, in crowds
    only of houses from files and without a liar.

    Args:
        files: Explorations of houses from files.
        generated: Explorations of generated houses.
        numbers: What each house is tested with; they must not have been fitted on it.
        crowd: Robots of the largest teams; 0: no such teams.
    """
    large = (crowd,) if crowd > LARGE else ()
    known = sorted({run.house for run in files})
    last = max((run.seed for run in files), default=0)
    first = [run for run in files if run.seed in (0, last)]
    few = list(generated[: max(2, len(known))])
    two = [run for run in first if run.house in known[:2]] + few[:2]
    quick = tuple(name for name in (SINGLE, *UNTRAINED) if name not in SLOW)
    learners = tuple(name for name in TRAINED if name not in SLOW)

    def exam(run: Exploration, sizes: tuple[int, ...], names: tuple[str, ...], liars: bool) -> Exam:
        return Exam(run, numbers[run.house], sizes, names, liars)

    return [
        *(exam(run, (TEAM, *large), quick, True) for run in (*files, *generated)),
        *(exam(run, (TEAM, *large), learners, True) for run in (*first, *few)),
        *(exam(run, (TEAM,), SLOW, True) for run in two),
        *(exam(run, large, SLOW, False) for run in two if large and not run.generated),
    ]


def show(found: Sequence[Score], console: Console) -> None:
    """Print the table."""
    table = Table(title="Stated confidence against what was right [%]", title_justify="left")
    for name in ("houses", "method", "robots", "liar", "split"):
        table.add_column(name)
    for name in (
        "in houses",
        "answers",
        "right",
        "confidence",
        "ECE",
        "noise",
        ">= 99",
        "of these right",
    ):
        table.add_column(name, justify="right")
    for row in found:
        figures = (row.accuracy, row.confidence, row.error, row.noise, row.certain)
        certain = "-" if row.certain == 0.0 else f"{100 * row.certain_right:.1f}"
        table.add_row(
            row.houses, SHORT.get(row.method, row.method), str(row.robots),
            "yes" if row.liar else "", row.split, str(row.tested_on), str(row.answers),
            *(f"{100 * value:.1f}" for value in figures), certain,
        )  # fmt: skip
    print_whole(table, console)


def draw(found: Sequence[Score], path: Path) -> None:
    """Draw reliability diagrams: mean confidence against the share that is right."""
    largest = max(score.robots for score in found)
    from matplotlib.figure import Figure

    def panel(split: str, robots: tuple[int, ...], liar: bool) -> list[Score]:
        return [s for s in found if (s.split, s.liar) == (split, liar) and s.robots in robots]

    panels = {
        "without labels, 3 robots": panel("", (1, TEAM), False),
        "without labels, one liar of 3": panel("", (TEAM,), True),
        f"without labels, {largest} robots": panel("", (largest,), False),
        "trained, random split": panel("random", (TEAM,), False),
        "trained, grouped split": panel("grouped", (TEAM,), False),
    }
    figure = Figure(figsize=(4.2 * len(panels), 4.4), layout="constrained")
    every = zip(figure.subplots(1, len(panels)), panels.items(), strict=True)
    for axes, (title, rows) in every:
        axes.plot([0.0, 1.0], [0.0, 1.0], color="grey", linewidth=0.8)
        for row in rows:
            name = SHORT.get(row.method, row.method)
            style = "-" if row.houses == "files" else ":"
            points = [(sure, right) for _, sure, right in row.curve]
            axes.plot(*zip(*points, strict=True), style, marker=".", label=f"{name}, {row.houses}")
        axes.set(title=title, xlabel="stated confidence", ylabel="share right", ylim=(0.0, 1.02))
        axes.legend(fontsize=6)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def as_yaml(model: ConfidenceModel) -> str:
    """Return the numbers as the text of `confidence.yaml`."""
    data = model.model_dump(mode="json")
    for part in ("prior", "detector", "team"):
        data[part] = {key: round(value, 4) for key, value in data[part].items()}
    return HEAD + yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=120)


def bench_calibration(
    graphs: Annotated[Path, typer.Option("--graphs", help="Folder of topological houses.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder for the table and the diagram; default: none are written."
        ),
    ] = None,
    fit_to: Annotated[
        Path | None,
        typer.Option(
            "--fit",
            help="Path that newly fitted numbers are written to (confidence.yaml), which are then "
            "tested; default: none, and the numbers in use are tested.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Number of trials per house of the folder.")
    ] = 2,
    houses: Annotated[
        int, typer.Option(min=2, help="Number of generated houses to fit on, and to test on.")
    ] = 6,
    crowd: Annotated[
        int, typer.Option(min=0, help="Number of robots in the largest teams; 0: no such teams.")
    ] = CROWD,
    jobs: Annotated[int, typer.Option(min=0, help="Number of processes; 0: one per core.")] = 0,
) -> None:
    """Measure how well the confidence of every method fits, on houses that it was not fitted on."""
    console = Console()
    try:
        known = trips(graphs, FIT_HOUSES[:houses], seeds, LARGE, crowd)
    except WorldError as error:
        console.print(f"bench calibration: {error}", style="red", markup=False)
        raise typer.Exit(2) from None
    processes = jobs or os.cpu_count() or 1
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:

        def each(what: str, work: Callable[..., T], given: Sequence[tuple[Any, ...]]) -> list[T]:
            """Return the results in order; shows how many there are."""
            bar = progress.add_task(what, total=len(given))
            found: dict[int, T] = {}
            for k, one in as_done(work, given, processes):
                found[k] = one
                progress.advance(bar)
            if not console.is_terminal:
                console.print(f"{what}: {len(found)} done", highlight=False)
            return [found[k] for k in range(len(given))]

        new = trips(None, TEST_HOUSES[:houses], seeds, LARGE, crowd)
        runs = each("exploring", Trip.explore, [(trip,) for trip in (*known, *new)])
        fit_runs, generated = runs[: len(known)], runs[len(known) :]
        files = [run for run in fit_runs if not run.generated]
        scans = sorted({run.house for run in files})
        shipped = load_confidence()
        apart = [[run for run in fit_runs if run.house != scan] for scan in scans]
        if fit_to is not None:
            apart.append(fit_runs)
        fitted = each("fitting", fit, [(part, f"without {k}") for k, part in enumerate(apart)])
        if fit_to is not None:
            told = provenance(scans, seeds, FIT_HOUSES[:houses], crowd)
            shipped = fitted[-1].model_copy(update={"fitted_on": told})
            fit_to.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(fit_to, as_yaml(shipped))
        numbers = dict(zip(scans, fitted, strict=False))
        numbers |= {run.house: shipped for run in generated}
        work = [(exam,) for exam in exams(files, generated, numbers, crowd)]
        found = scores(together(itertools.chain(*each("answering", held, work))))
    show(found, console)
    console.print(f"confidence fitted on: {shipped.fitted_on}", style="dim", markup=False)
    if out is not None:
        rows = [{k: v for k, v in dataclasses.asdict(s).items() if k != "curve"} for s in found]
        write_csv(out / "calibration.csv", rows)
        write_json(out / "calibration.json", [dataclasses.asdict(score) for score in found])
        draw(found, out / "calibration.png")


app.command("calibration")(bench_calibration)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this bench; return the exit code."""
    return run_command(app, "bench calibration", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
