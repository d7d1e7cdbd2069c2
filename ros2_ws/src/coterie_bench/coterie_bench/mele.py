"""`bench mele`: the protocol of the MELE paper on every house of a folder, without ROS."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
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

from coterie_bench.mele_houses import explore_house, houses_in
from coterie_bench.mele_methods import Methods, score_trial
from coterie_bench.mele_tables import print_tables
from coterie_bench.records import mean_std, write_csv, write_json

app = typer.Typer(help="The MELE paper's protocol.", add_completion=False)


class NothingToRun(RuntimeError):
    """No house could be benchmarked."""


@dataclass(slots=True)
class BenchResult:
    """All records of a bench and what was skipped: house -> reason."""

    records: list[dict[str, Any]] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    problems: dict[str, tuple[str, ...]] = field(default_factory=dict)


def run_bench(
    graphs_dir: Path,
    out_dir: Path | None = None,
    *,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    agents: int = 3,
    steps: int = 10,
    methods: Methods | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> BenchResult:
    """Run the protocol; write results.json, CSV and plots into `out_dir`.

    Each seed is a trial of its own: starts, NO questions, split and models. A house that cannot be
    read or asked about is skipped and named in the result; the others go on.

    Raises:
        WorldError: The folder holds no houses.
        NothingToRun: Every house was skipped.
    """
    methods = methods or Methods()
    result = BenchResult()
    scans = houses_in(graphs_dir)
    total = len(scans) * len(seeds)
    for h, scan in enumerate(scans):
        scores: dict[tuple[str, str, bool], list[tuple[float, int]]] = {}
        nodes = 0
        try:
            for i, seed in enumerate(seeds):
                if on_progress:
                    on_progress(scan, h * len(seeds) + i, total)
                trial = explore_house(graphs_dir, scan, seed, agents, steps)
                nodes = trial.nodes
                result.problems[scan] = trial.problems
                for score in score_trial(trial.table, seed, methods):
                    key = (score.split, score.method, score.malicious)
                    scores.setdefault(key, []).append((score.accuracy, score.n_test))
        except Exception as error:  # one bad house must not end the bench
            result.skipped[scan] = f"{type(error).__name__}: {error}"
            continue
        for (split, method, malicious), values in scores.items():
            mean, std = mean_std(v for v, _ in values)
            result.records.append(
                {
                    "house": scan,
                    "nodes": nodes,
                    "split": split,
                    "method": method,
                    "malicious": malicious,
                    "n_agents": agents,
                    "accuracy_mean": mean,
                    "accuracy_std": std,
                    "n_test": sum(n for _, n in values),
                }
            )
    if on_progress:
        on_progress("done", total, total)
    if not result.records:
        why = "; ".join(f"{k}: {v}" for k, v in result.skipped.items())
        raise NothingToRun(f"no house in {graphs_dir} could be benchmarked: {why}")
    if out_dir is not None:
        write_json(out_dir / "results.json", result.records)
        write_csv(out_dir / "results.csv", result.records)
    return result


def bench_mele(
    graphs: Annotated[Path, typer.Option("--graphs", help="Folder of topological houses.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Where results.json, CSV and plots go.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of trials: seeds 0, 1, ...")] = 5,
    agents: Annotated[int, typer.Option(min=1, help="Robots per house.")] = 3,
    steps: Annotated[int, typer.Option(min=0, help="Hops per robot.")] = 10,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller forest, one liar.")] = False,
) -> None:
    """Run MELE's protocol on every house in a folder and print the paper's Table 1 with ours."""
    console = Console()
    methods = Methods(trees=100, liars=(0,)) if quick else Methods()
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    ) as progress:
        task = progress.add_task("houses x seeds", total=None)

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
                on_progress=show,
            )
        except (NothingToRun, ValueError) as error:
            progress.stop()
            Console(stderr=True).print(f"bench mele: {error}", style="red", highlight=False)
            raise typer.Exit(2) from None
    print_tables(result.records, console)
    for house, why in result.skipped.items():
        console.print(f"skipped {house}: {why}", style="yellow", highlight=False)


app.command("mele")(bench_mele)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this bench; return the exit code."""
    command = typer.main.get_command(app)
    try:
        code = command.main(args=list(arguments or []), prog_name="bench mele", standalone_mode=False)
    except typer.Exit as stop:
        return int(stop.exit_code)
    except Exception as error:
        show = getattr(error, "show", None)
        if show is None:
            raise
        show()
        return 2
    return int(code or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
