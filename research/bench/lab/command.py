"""`./coterie bench lab`: what a team does directly and through a lab, in the same houses."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from coterie_bringup.errors import CommandError
from coterie_bringup.resources import shipped_team
from coterie_bringup.robot_interfaces import ensure_interfaces
from coterie_bringup.team import load_team
from coterie_cli.commands import run
from research.bench.common.intervals import mean_interval, paired_interval, spread
from research.bench.common.records import write_json
from research.bench.common.tables import print_whole
from research.bench.lab.works import KINDS, WAYS, Kind, Trial, Way, missing

app = typer.Typer(
    help="Compare the work of a team directly and through a lab.", add_completion=False
)


@app.command()
def main_command(
    houses: Annotated[int, typer.Option(min=1, max=1000, help="Number of houses.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first house.")] = 500,
    rooms: Annotated[int, typer.Option(min=4, max=25, help="Number of rooms of a house.")] = 5,
    kinds: Annotated[
        str, typer.Option(help=f"Works to measure, of {', '.join(KINDS)}; default: all.")
    ] = ",".join(KINDS),
    hops: Annotated[int, typer.Option(min=1, help="Hops of each robot that explores.")] = 8,
    asked: Annotated[int, typer.Option(min=1, help="Number of questions per house.")] = 6,
    tours: Annotated[int, typer.Option(min=1, help="Tours per house, of other questions.")] = 1,
    errands: Annotated[int, typer.Option(min=1, help="Number of tasks per house.")] = 3,
    max_time: Annotated[
        float, typer.Option(min=1.0, help="Simulated time that a task or an answer may take [s].")
    ] = 600.0,
    pace: Annotated[
        float, typer.Option(min=0.5, max=50.0, help="Simulated seconds per second.")
    ] = 4.0,
    team: Annotated[
        Path | None, typer.Option(help="Team file of real robots; default: config/teams/lab.yaml.")
    ] = None,
    ways: Annotated[
        str, typer.Option(help=f"Ways to work, of {', '.join(WAYS)}; default: both, compared.")
    ] = ",".join(WAYS),
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Folder for the results; goes on with those.")
    ] = Path("out/bench_lab"),
    domain: Annotated[
        int | None, typer.Option(help="Number of the ROS domain; default: a free one.")
    ] = None,
) -> None:
    """Ask a team for the same things in the same houses both ways, and explain the difference."""
    chosen = [name.strip() for name in kinds.split(",") if name.strip()]
    if wrong := [name for name in chosen if name not in KINDS]:
        raise CommandError(f"--kinds: no {wrong[0]!r}; of {', '.join(KINDS)}")
    gone = [name.strip() for name in ways.split(",") if name.strip()]
    if wrong := [name for name in gone if name not in WAYS]:
        raise CommandError(f"--ways: no {wrong[0]!r}; of {', '.join(WAYS)}")
    robots = load_team(team or shipped_team("lab"))
    ensure_interfaces(robots)
    from research.bench.lab.sessions import Session, Size

    size = Size(rooms, hops, asked, tours, errands, max_time, pace)
    book = Book(out)
    asked_of = range(seed, seed + houses)
    wanted = missing(book.trials, asked_of, cast("list[Kind]", chosen), cast("list[Way]", gone))
    console = Console()
    failed = 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        bar = progress.add_task("", total=len(wanted))
        for house, role, way in wanted:
            progress.update(bar, description=f"house {house}, {role}s, {way}")

            def told(trial: Trial) -> None:
                word = "done" if trial.done else f"not done: {trial.cause}"
                progress.console.print(
                    f"{trial.house} {trial.way} {trial.kind} {trial.what}: {word}, "
                    f"{trial.simulated:.0f} s simulated, {trial.wall:.0f} s",
                    markup=False, highlight=False, soft_wrap=True,
                )  # fmt: skip

            session = Session(robots, house, role, way, size, told)
            try:
                session.run(domain)
            except CommandError as error:
                progress.console.print(f"house {house}, {role}s, {way}: {error}", markup=False)
                failed += 1
                continue
            book.add(session.trials)
            progress.advance(bar)
    print_whole(way_table(book.trials), console)
    if pairs := paired(book.trials):
        print_whole(result_table(pairs), console)
        print_whole(cause_table(pairs), console)
        write_json(out / "summary.json", summary(pairs))
        draw(pairs, out / "lab.png")
    files = [f for f in ("lab.jsonl", "summary.json", "lab.png") if (out / f).exists()]
    console.print(f"{out}: {', '.join(files) or 'no results'}", highlight=False, markup=False)
    if failed:
        console.print(f"{failed} of {len(wanted)} sessions failed; start it again to go on")
        raise typer.Exit(1)


class Book:
    """Trials on disk, one a line, so that a run that ended early goes on.

    Args:
        folder: Holds `lab.jsonl`.

    Raises:
        CommandError: The file there is none of this bench.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "lab.jsonl"
        self.trials: list[Trial] = []
        folder.mkdir(parents=True, exist_ok=True)
        if not self._file.exists():
            return
        for number, line in enumerate(self._file.read_text("utf-8").splitlines(), 1):
            try:
                self.trials.append(Trial(**json.loads(line)))
            except (TypeError, ValueError) as error:
                raise CommandError(
                    f"{self._file}, line {number}: not a trial of this bench ({error}); give "
                    "another --out"
                ) from None

    def add(self, trials: Sequence[Trial]) -> None:
        """Keep the trials of a session that came to its end."""
        self.trials += trials
        lines = "".join(json.dumps(asdict(trial)) + "\n" for trial in trials)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())


Pair = tuple[Trial, Trial]


def paired(trials: Sequence[Trial]) -> list[Pair]:
    """Return what was asked for both ways: how it went directly, and through the lab."""
    by_task: dict[tuple[int, Kind, int], dict[str, Trial]] = {}
    for trial in trials:
        by_task.setdefault((trial.house, trial.kind, trial.number), {})[trial.way] = trial
    return [(ways["direct"], ways["lab"]) for ways in by_task.values() if len(ways) == len(WAYS)]


def summary(pairs: Sequence[Pair]) -> list[dict[str, object]]:
    """Return figures per kind: shares in percent, differences with 95 % intervals over houses."""
    rows: list[dict[str, object]] = []
    for kind in (*KINDS, "all"):
        mine = [pair for pair in pairs if kind in (pair[0].kind, "all")]
        if not mine:
            continue
        row: dict[str, object] = {"kind": kind, "tasks": len(mine)}
        houses = [pair[0].house for pair in mine]
        for name in ("done", "score"):
            direct, lab = ([float(getattr(pair[k], name)) for pair in mine] for k in range(2))
            for way, values in zip(WAYS, (direct, lab), strict=True):
                row[f"{name}_{way}"] = 100.0 * sum(values) / len(values)
            if {*direct, *lab} <= {0.0, 1.0}:
                mean, half = paired_interval(list(map(bool, lab)), list(map(bool, direct)), houses)
            else:
                mean, half = mean_interval(
                    [b - a for a, b in zip(direct, lab, strict=True)], houses
                )
            row |= {f"{name}_difference": 100.0 * mean, f"{name}_half": 100.0 * half}
        rows.append(row)
    return rows


def way_table(trials: Sequence[Trial]) -> Table:
    """Return how much was done each way, of all that was asked for that way."""
    table = Table(title="What was asked for", title_justify="left")
    for name in ("way", "kind", "tasks", "done [%]", "score [%]"):
        table.add_column(name, justify="left" if name in ("way", "kind") else "right")
    for way in WAYS:
        for kind in KINDS:
            mine = [trial for trial in trials if (trial.way, trial.kind) == (way, kind)]
            if mine:
                shares = (sum(t.done for t in mine), sum(t.score for t in mine))
                told = (f"{100.0 * share / len(mine):.0f}" for share in shares)
                table.add_row(way, kind, str(len(mine)), *told)
    return table


def result_table(pairs: Sequence[Pair]) -> Table:
    """Return how much was done each way."""
    table = Table(title="Directly and through the lab [%], difference in points with 95 % interval")
    names = ("", "tasks", "done directly", "in the lab", "difference",
             "score directly", "in the lab", "difference")  # fmt: skip
    for name in names:
        table.add_column(name, justify="left" if not name else "right")
    for row in summary(pairs):
        cells = [str(row["kind"]), str(row["tasks"])]
        for name in ("done", "score"):
            cells += [f"{row[f'{name}_{way}']:.0f}" for way in WAYS]
            half = spread(cast("float", row[f"{name}_half"]), 0)
            cells.append(f"{row[f'{name}_difference']:+.0f}{half}")
        table.add_row(*cells)
    return table


def cause_table(pairs: Sequence[Pair]) -> Table:
    """Return why what was done one way was not done the other, and which answers differ."""
    causes: Counter[tuple[str, str, str]] = Counter()
    reasons: dict[tuple[str, str, str], str] = {}

    def note(failed: Trial, cause: str, reason: str) -> None:
        where = "only directly" if failed.way == "lab" else "only in the lab"
        key = (where, str(failed.kind), cause)
        causes[key] += 1
        reasons.setdefault(key, reason)

    for pair in pairs:
        for failed, other in (pair, pair[::-1]):
            if other.done and not failed.done:
                note(failed, failed.cause, f"{failed.what}: {failed.reason}")
            as_well = {_question(one) for one in other.wrong}
            for one in failed.wrong:
                if (question := _question(one)) not in as_well:
                    note(failed, f"answered wrong: {' '.join(question.split()[:2])} ...", one)
    table = Table(title="What explains the difference")
    for column in ("done, or right", "", "what failed the other way", "times", "for example"):
        table.add_column(column)
    for key, count in causes.most_common():
        table.add_row(*key, str(count), reasons[key])
    return table


def _question(wrong: str) -> str:
    """Return the question of a wrong answer."""
    return wrong.partition("? ")[0]


def draw(pairs: Sequence[Pair], path: Path) -> None:
    """Draw the mean scores of both ways, with 95 % intervals over houses."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    kinds = [kind for kind in KINDS if any(pair[0].kind == kind for pair in pairs)]
    for k, (way, color) in enumerate(zip(WAYS, ("#0072b2", "#e69f00"), strict=True)):
        found = []
        for kind in kinds:
            mine = [pair[k] for pair in pairs if pair[k].kind == kind]
            found.append(mean_interval([100.0 * t.score for t in mine], [t.house for t in mine]))
        places = [n + 0.4 * k - 0.2 for n in range(len(kinds))]
        means, halves = [mean for mean, _ in found], [half for _, half in found]
        axes.bar(places, means, 0.38, yerr=halves, capsize=3, label=way, color=color)
    axes.set_xticks(range(len(kinds)), kinds)
    axes.set_ylabel("mean score [%]")
    axes.set_ylim(0, 110)
    axes.legend()
    figure.savefig(path, dpi=120)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench's command line."""
    return run(app, "coterie bench lab", arguments)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
