"""`bench calibration`: is a confidence of 80 % right in 80 % of cases? Fits it, and tests it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.console import Console
from rich.table import Table

from coterie_bench.calibration_data import (
    FIT_HOUSES,
    TEST_HOUSES,
    Exploration,
    explorations,
)
from coterie_bench.calibration_fit import fit
from coterie_bench.calibration_score import TRAINED, Score, scores, trained, untrained
from coterie_bench.command import run as run_command
from coterie_bench.mele_tables import SHORT
from coterie_bench.records import write_csv, write_json
from coterie_bench.tables import print_whole
from coterie_core.confidence import ConfidenceModel, load_confidence
from coterie_core.files import write_atomically
from habitat_bridge.simulator import WorldError

app = typer.Typer(
    help="Test of stated confidence on houses that it was not fitted on.", add_completion=False
)
TEAM, LARGE, CROWD = 3, 10, 50
SLOW = ("random_forest", "neural_network")
HEAD = """\
# What stated confidence rests on; coterie_core.confidence says what each number means.
# Fitted: ./coterie bench calibration --graphs DIR --fit FILE writes this file.
"""


def provenance(graphs: Sequence[str], seeds: int, houses: Sequence[int], crowd: int) -> str:
    """Return the sentence that says on what the numbers were fitted."""
    crowds = f", and {seeds} with {crowd} robots" if crowd else ""
    files = f"{', '.join(graphs)} (seeds 0-{seeds - 1}{crowds})"
    return f"Matterport3D graphs {files}; generated houses {houses[0]}-{houses[-1]}"


def evaluate(
    fit_runs: Sequence[Exploration],
    test_runs: Sequence[Exploration],
    *,
    seeds: int,
    crowd: int = CROWD,
    shipped: ConfidenceModel | None = None,
    methods: Sequence[str] = TRAINED,
) -> list[Score]:
    """Return the figures of all methods.

    Houses from files are each tested with numbers fitted without that house; generated houses with
    numbers fitted on all `fit_runs` (`shipped`: with these, which must not have seen them). Teams
    of files are those of trials 0 to `seeds` - 1; trial `seeds` is that of `crowd` robots.
    """

    @cache
    def without(house: str) -> ConfidenceModel:
        return fit([run for run in fit_runs if run.house != house], f"all but {house}")

    def left_out(run: Exploration) -> ConfidenceModel:
        return without(run.house)

    everything = shipped or fit(fit_runs, "all")
    files = [run for run in fit_runs if not run.generated]
    sizes = (TEAM, LARGE, crowd) if crowd > LARGE else (TEAM, LARGE)
    told = untrained(files, left_out, "files", sizes)
    told |= untrained(test_runs, lambda _: everything, "generated", sizes)
    quick = [name for name in methods if name not in SLOW]
    few = [run for run in files if run.seed < min(seeds, 2)]
    told |= trained(files, left_out, "files", (TEAM,), quick)
    told |= trained(few, left_out, "files", (TEAM,), [m for m in methods if m in SLOW])
    crowds = [run for run in files if run.seed == seeds]
    told |= trained(crowds, left_out, "files", sizes[2:], quick)
    return scores(told)


def show(found: Sequence[Score], console: Console) -> None:
    """Print the table."""
    table = Table(title="Stated confidence against what was right [%]", title_justify="left")
    for name in ("houses", "method", "robots", "liar", "split"):
        table.add_column(name)
    for name in ("answers", "right", "confidence", "ECE", "noise", ">= 99", "of these right"):
        table.add_column(name, justify="right")
    for row in found:
        figures = (row.accuracy, row.confidence, row.error, row.noise, row.certain)
        certain = "-" if row.certain == 0.0 else f"{100 * row.certain_right:.1f}"
        table.add_row(
            row.houses, SHORT.get(row.method, row.method), str(row.robots),
            "yes" if row.liar else "", row.split, str(row.answers),
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
        axes.plot([0.5, 1.0], [0.5, 1.0], color="grey", linewidth=0.8)
        for row in rows:
            name = SHORT.get(row.method, row.method)
            style = "-" if row.houses == "files" else ":"
            points = [(sure, right) for _, sure, right in row.curve]
            axes.plot(*zip(*points, strict=True), style, marker=".", label=f"{name}, {row.houses}")
        axes.set(title=title, xlabel="stated confidence", ylabel="share right", ylim=(0.2, 1.02))
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
    ] = 5,
    houses: Annotated[
        int, typer.Option(min=2, help="Number of generated houses to fit on, and to test on.")
    ] = (len(FIT_HOUSES)),
    crowd: Annotated[
        int, typer.Option(min=0, help="Number of robots in the largest teams; 0: no such teams.")
    ] = CROWD,
) -> None:
    """Measure how well the confidence of every method fits, on houses that it was not fitted on."""
    console = Console()
    try:
        with console.status("exploring"):
            known = list(explorations(graphs, FIT_HOUSES[:houses], seeds, LARGE, crowd))
            new = list(explorations(None, TEST_HOUSES[:houses], seeds, LARGE, crowd))
    except WorldError as error:
        console.print(f"bench calibration: {error}", style="red", markup=False)
        raise typer.Exit(2) from None
    shipped = load_confidence()
    if fit_to is not None:
        scans = sorted({run.house for run in known if not run.generated})
        with console.status("fitting"):
            shipped = fit(known, provenance(scans, seeds, FIT_HOUSES[:houses], crowd))
        fit_to.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(fit_to, as_yaml(shipped))
    with console.status("answering"):
        found = evaluate(known, new, seeds=seeds, crowd=crowd, shipped=shipped)
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
