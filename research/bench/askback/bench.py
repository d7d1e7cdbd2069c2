"""`bench askback`: who says that a request is unclear, who guesses; thresholds on new houses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from coterie_cli.commands import run as run_command
from coterie_core.conformal import LEARNED_FROM, load_conformal
from coterie_core.files import write_atomically
from research.bench.askback.calibrate import CALIBRATION_HOUSES, TEST_HOUSES, calibrated, measured
from research.bench.askback.cases import cases
from research.bench.askback.judges import Judges, right_candidates
from research.bench.askback.situation import explored
from research.bench.askback.tables import answers_table, conformal_rows, rates, rates_table
from research.bench.askback.templates import Part
from research.bench.common.processes import spread
from research.bench.common.records import write_json
from research.bench.common.tables import print_whole

T = TypeVar("T")

app = typer.Typer(help="Asking back instead of guessing.", add_completion=False)
DEVELOPMENT_HOUSES = tuple(range(301, 313))


def judge_house(seed: int, part: Part, each: int) -> list[dict[str, Any]]:
    """Return the records of all requests about a house, explored wholly and in part."""
    records = []
    for whole in (True, False):
        situation = explored(seed, whole)
        judges = Judges(situation)
        for case in cases(situation, part, each):
            told = judges.verdict(case)
            offered = case.kind == told.kind == "ambiguous"
            records.append(
                case.data
                | {
                    "judged": told.kind,
                    "text": told.text,
                    "question": told.question,
                    "before": told.before,
                    "confidence": told.confidence,
                    "candidates": list(told.candidates),
                    "right_candidates": right_candidates(situation, case, told.candidates)
                    if offered
                    else None,
                }
            )
    return records


def bench_askback(
    houses: Annotated[int, typer.Option(min=2, help="Number of generated houses.")] = 6,
    part: Annotated[
        str, typer.Option(help="Sentences and houses: development, or test (held out).")
    ] = "development",
    first: Annotated[
        int | None, typer.Option(help="Seed of the first house; default: of the part's first.")
    ] = None,
    each: Annotated[
        int, typer.Option(min=1, help="Largest number of requests of one sort and house.")
    ] = 2,
    thresholds: Annotated[
        bool, typer.Option(help="Test the thresholds of answers and denials, too.")
    ] = False,
    calibrate_to: Annotated[
        Path | None,
        typer.Option(
            "--calibrate",
            help="Path that thresholds from calibration houses are written to (conformal.yaml); "
            "nothing else is done then.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for askback.json; default: none is written.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes at work.")] = 1,
) -> None:
    """Put requests of five unclear kinds and clear ones to the team; measure who asks back."""
    console = Console()
    if part not in ("development", "test"):
        console.print(f"--part: {part!r}; one of development, test", style="red", markup=False)
        raise typer.Exit(2)
    if calibrate_to is not None:
        chosen = CALIBRATION_HOUSES[:houses]
        found = _each(console, "calibrating", measured, [(seed,) for seed in chosen], workers)
        told = (
            f"generated houses {chosen[0]}-{chosen[-1]}, three robots each for answers; who learns "
            f"has {LEARNED_FROM} labels of the house"
        )
        command = f"./coterie bench askback --houses {houses} --calibrate FILE"
        write_atomically(calibrate_to, calibrated(found, told, command))
        console.print(f"wrote {calibrate_to}", markup=False, highlight=False)
        return
    usual = TEST_HOUSES if part == "test" else DEVELOPMENT_HOUSES
    chosen = usual[:houses] if first is None else tuple(range(first, first + houses))
    work = [(seed, part, each) for seed in chosen]
    records = [
        one for many in _each(console, "judging", judge_house, work, workers) for one in many
    ]
    rows = rates(records)
    print_whole(rates_table(rows), console)
    data: dict[str, Any] = {"part": part, "houses": list(chosen), "rates": rows}
    if thresholds:
        found = _each(console, "answering", measured, [(seed,) for seed in chosen], workers)
        data["thresholds"] = conformal_rows(found, load_conformal())
        print_whole(answers_table(data["thresholds"]), console)
    if out is not None:
        write_json(out / "askback.json", data | {"requests": records})


def _each(
    console: Console,
    what: str,
    work: Callable[..., T],
    given: Sequence[tuple[Any, ...]],
    workers: int,
) -> list[T]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    found: list[T] = []
    with Progress(*columns, TimeElapsedColumn(), console=console) as bar:
        shown = bar.add_task(what, total=len(given))
        for one in spread(work, given, workers):
            found.append(one)
            bar.advance(shown)
    return found


app.command("askback")(bench_askback)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this bench; return the exit code."""
    return run_command(app, "bench askback", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
