"""`bench mele`: the protocol of the MELE paper on every house of a folder, without ROS."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from coterie_cli.commands import run as run_command
from habitat_bridge.simulator import WorldError
from research.bench.common.processes import as_done
from research.bench.common.records import mean_std, write_csv, write_json
from research.bench.mele.houses import houses_in, tree_picture
from research.bench.mele.job import Job, run_job
from research.bench.mele.methods import Methods
from research.bench.mele.plots import draw_plots
from research.bench.mele.tables import print_extras, print_headline, print_tables

app = typer.Typer(help="The MELE paper's protocol.", add_completion=False)
SEEDS: tuple[int, ...] = (0, 1, 2, 3, 4)


class NothingToRun(RuntimeError):
    """No house could be benchmarked."""


@dataclass(slots=True)
class BenchResult:
    """What a bench found.

    `records`: accuracy per house, split, method, honest or with a liar. `measures`: all other
    analyses, per house. `skipped`: house -> why. `problems`: house -> what its files lack.
    """

    records: list[dict[str, Any]] = field(default_factory=list)
    measures: list[dict[str, Any]] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    problems: dict[str, list[str]] = field(default_factory=dict)


def run_bench(
    graphs_dir: Path,
    out_dir: Path | None = None,
    *,
    seeds: Sequence[int] = SEEDS,
    agents: int = 3,
    steps: int = 10,
    methods: Methods | None = None,
    jobs: int = 1,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> BenchResult:
    """Run the protocol; write results.json, CSV, plots and trees into `out_dir`.

    Each seed is a trial of its own: starts, rooms of NO questions, split and models. A house that
    cannot be read or asked about is skipped and named in the result; the others go on. Trials that
    are found in `out_dir/trials` from a run with the same code, files and options are not repeated.

    Args:
        graphs_dir: Holds `connectivity/`, `objects/` and `rooms.json`.
        out_dir: Where results go; None: nowhere.
        seeds: Trials.
        agents: Robots per house.
        steps: Hops per robot.
        methods: What is compared.
        jobs: Processes.
        on_progress: Called with the name of what was done, number done and number in all.

    Raises:
        WorldError: The folder holds no houses.
        NothingToRun: Every house was skipped.
    """
    methods = methods or Methods()
    scans = houses_in(graphs_dir)
    work = [Job(graphs_dir, scan, seed, agents, steps, methods) for scan in scans for seed in seeds]
    cache = None if out_dir is None else out_dir / "trials"
    outcomes: dict[tuple[str, int], Mapping[str, Any]] = {}
    for k, outcome in as_done(run_job, [(job, cache) for job in work], jobs):
        job = work[k]
        outcomes[job.scan, job.seed] = outcome
        if on_progress:
            on_progress(f"{job.scan}, seed {job.seed}", len(outcomes), len(work))
    result = BenchResult()
    for scan in scans:
        trials = [outcomes[scan, seed] for seed in seeds]
        errors = [str(t["error"]) for t in trials if "error" in t]
        if errors:
            result.skipped[scan] = errors[0]
            continue
        result.problems[scan] = sorted({p for t in trials for p in t["problems"]})
        result.records += _records(scan, trials, agents)
        result.measures += _measures(scan, trials)
    if not result.records:
        why = "; ".join(f"{house}: {text}" for house, text in result.skipped.items())
        raise NothingToRun(f"no house in {graphs_dir} could be benchmarked: {why}")
    if out_dir is not None:
        write_json(out_dir / "results.json", result.records)
        write_csv(out_dir / "results.csv", result.records)
        write_csv(out_dir / "measures.csv", result.measures)
        draw_plots(result.records, result.measures, out_dir)
        for scan in sorted({r["house"] for r in result.records}):
            tree_picture(graphs_dir, scan, seeds[0], agents, steps, out_dir / f"tree_{scan}.svg")
    return result


def _records(
    scan: str, trials: Sequence[Mapping[str, Any]], agents: int
) -> Iterator[dict[str, Any]]:
    """Yield one record per split, method and honesty; a liar counts at each position once."""
    grouped: dict[tuple[str, str, bool], list[tuple[float, int]]] = defaultdict(list)
    for trial in trials:
        by_key: dict[tuple[str, str, bool], list[tuple[float, int]]] = defaultdict(list)
        for score in trial["scores"]:
            key = (score["split"], score["method"], score["liar"] >= 0)
            by_key[key].append((score["accuracy"], score["n_test"]))
        for key, values in by_key.items():
            grouped[key].append((sum(v for v, _ in values) / len(values), values[0][1]))
    for (split, method, malicious), values in grouped.items():
        mean, std = mean_std(v for v, _ in values)
        yield {
            "house": scan,
            "nodes": trials[0]["nodes"],
            "split": split,
            "method": method,
            "malicious": malicious,
            "n_agents": agents,
            "accuracy_mean": mean,
            "accuracy_std": std,
            "n_test": sum(n for _, n in values),
        }


def _measures(scan: str, trials: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    grouped: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for trial in trials:
        for m in trial["measures"]:
            value = float("nan") if m["value"] is None else float(m["value"])
            grouped[m["analysis"], m["method"], m["split"], m["x"]].append(value)
    for (analysis, method, split, x), values in grouped.items():
        mean, std = mean_std(values)
        yield {
            "house": scan,
            "nodes": trials[0]["nodes"],
            "analysis": analysis,
            "method": method,
            "split": split,
            "x": x,
            "mean": mean,
            "std": std,
            "trials": len(values),
        }


def bench_mele(
    graphs: Annotated[Path, typer.Option("--graphs", help="Folder of topological houses.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder for results.json, CSV and plots; default: none are written."
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Number of trials, with the seeds 0, 1 and so on.")
    ] = 5,
    agents: Annotated[int, typer.Option(min=1, help="Number of robots per house.")] = 3,
    steps: Annotated[int, typer.Option(min=0, help="Number of hops per robot.")] = 10,
    jobs: Annotated[int, typer.Option(min=0, help="Number of processes; 0: one per core.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run quickly: 100 trees, one liar, no further analyses.")
    ] = False,
) -> None:
    """Run MELE's protocol on every house in a folder; print the paper's Table 1 with ours."""
    console = Console()
    methods = Methods(trees=100, liars=(0,), extras=False) if quick else Methods()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("exploring, answering, training", total=None)

        def show(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total)

        try:
            result = run_bench(
                graphs,
                out,
                seeds=range(seeds),
                agents=agents,
                steps=steps,
                methods=methods,
                jobs=jobs or os.cpu_count() or 1,
                on_progress=show,
            )
        except (NothingToRun, WorldError, ValueError, OSError) as error:
            progress.stop()
            Console(stderr=True).print(
                f"bench mele: {error}", style="red", highlight=False, soft_wrap=True, markup=False
            )
            raise typer.Exit(2) from None
    print_tables(result.records, console)
    print_headline(result.records, console)
    print_extras(result.measures, console)
    for house, problems in result.problems.items():
        for problem in problems:
            console.print(f"{house}: {problem}", style="dim", highlight=False, markup=False)
    for house, why in result.skipped.items():
        console.print(f"skipped {house}: {why}", style="yellow", highlight=False, markup=False)
    if out is not None:
        console.print(f"results: {out}", highlight=False, markup=False, soft_wrap=True)


app.command("mele")(bench_mele)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this bench; return the exit code."""
    return run_command(app, "bench mele", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
