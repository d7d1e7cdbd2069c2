"""Prints and draws the results of `bench emos` in the layout of the paper's tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from research.bench.common.intervals import difference, mean_interval, spread
from research.bench.common.tables import print_whole
from research.bench.emos.paper import BY_TASK, FORMATS, KINDS, METHODS, OBJECTS, OVERALL, PREDICATES
from research.bench.emos.paper import ROBOTS as PAPER_ROBOTS
from research.bench.emos.run import KNOWING_GOALS

Records = Sequence[Mapping[str, Any]]
NOTE = (
    "95 % intervals are Student's t over houses, differences are paired by episode. Methods "
    "marked * are handed the goal's predicates, all others get the words alone. random, nearest "
    "and single are floors, oracle is the ceiling: only episodes that it solves are kept. dealt "
    "and random are means over several lots. Tokens are estimates of what a model would be sent, "
    "reply schemas included, where a rule decided."
)
TASKS = {
    1: "1 cross-floor navigation",
    2: "2 cooperative perception",
    3: "3 rearrangement, one floor",
    4: "4 rearrangement, floors",
}


def print_results(records: Records, console: Console) -> None:
    """Print success by task, the four measures over all tasks, and sub-goals by predicate."""
    methods = ordered(str(r["method"]) for r in records)
    for table in (
        by_task(records, methods),
        overall(records, methods),
        by_predicate(records, methods),
    ):
        print_whole(table, console)
        console.print()
    console.print(NOTE, style="dim", highlight=False, markup=False)


def by_task(records: Records, methods: Sequence[str]) -> Table:
    """Return success [%] per task and method, ours and the paper's."""
    tasks = sorted({int(r["task"]) for r in records})
    table = Table(title="Success [%] (the paper's in brackets)", title_justify="left")
    table.add_column("method")
    for task in tasks:
        table.add_column(TASKS[task], justify="right")
    table.add_column("episodes", justify="right")
    table.add_column("houses", justify="right")
    for method in methods:
        mine = [r for r in records if r["method"] == method]
        cells = []
        for task in tasks:
            cells.append(
                _interval([r for r in mine if r["task"] == task], BY_TASK.get((method, task)))
            )
        houses = len({r["house"] for r in mine})
        table.add_row(marked(method), *cells, str(len({_key(r) for r in mine})), str(houses))
    return table


def overall(records: Records, methods: Sequence[str]) -> Table:
    """Return the paper's Table 1: success, sub-goals, tokens, steps; ours and the paper's."""
    table = Table(title="All tasks (the paper's in brackets)", title_justify="left")
    for name in ("method", "success [%]", "emos ahead by", "refused [%]", "sub-goals [%]", "tokens",
                 "prompt tokens", "steps", "rounds", r"wall \[s]"):  # fmt: skip
        table.add_column(name, justify="left" if name == "method" else "right")
    for method in methods:
        mine = [r for r in records if r["method"] == method]
        theirs = OVERALL.get(method, (None,) * 4)
        goals = [value for r in mine for value in r["goals"].values()]
        table.add_row(
            marked(method),
            _interval(mine, theirs[0]),
            _ahead(records, method),
            f"{percent(r.get('refused', False) for r in mine):.1f}",
            _beside(percent(goals), theirs[1]),
            _beside(_mean(mine, "tokens"), theirs[2], 0),
            f"{_mean(mine, 'prompt_tokens'):.0f}",
            _beside(_mean(mine, "steps"), theirs[3], 0),
            f"{_mean(mine, 'rounds'):.1f}",
            f"{_mean(mine, 'seconds'):.2f}",
        )
    return table


def by_predicate(records: Records, methods: Sequence[str]) -> Table:
    """Return the paper's Table 3: sub-goals reached per predicate."""
    table = Table(title="Sub-goals reached [%] (the paper's in brackets)", title_justify="left")
    table.add_column("method")
    for name in KINDS:
        table.add_column(name, justify="right")
    for method in methods:
        cells = []
        for name, column in KINDS.items():
            values = [
                reached
                for r in records
                if r["method"] == method
                for goal, reached in r["goals"].items()
                if goal.split(" ")[0] == name
            ]
            cells.append(_beside(percent(values), PREDICATES.get(method, {}).get(column)))
        table.add_row(marked(method), *cells)
    return table


def marked(method: str) -> str:
    """Return a method's name; with a star where it knows the goal's predicates."""
    return f"{method} *" if method in KNOWING_GOALS else method


def _key(record: Mapping[str, Any]) -> Hashable:
    return record["task"], record["episode"]


def _interval(records: Records, theirs: float | None) -> str:
    """Return success [%] with its interval over houses; the paper's in brackets."""
    rates = _rates(records)
    mean, half = mean_interval(
        [100.0 * rate for rate, _ in rates.values()], [house for _, house in rates.values()]
    )
    text = "-" if math.isnan(mean) else f"{mean:.1f}{spread(half)}"
    return text if theirs is None else f"{text} ({theirs:.1f})"


def _rates(records: Records) -> dict[Hashable, tuple[float, Hashable]]:
    """Return episode -> share of its runs that succeeded, and its house."""
    runs: dict[Hashable, list[Mapping[str, Any]]] = {}
    for record in records:
        runs.setdefault(_key(record), []).append(record)
    return {
        key: (sum(bool(r["success"]) for r in rows) / len(rows), rows[0]["house"])
        for key, rows in runs.items()
    }


def _ahead(records: Records, method: str) -> str:
    """Return how many points `emos` is ahead of a method, or that it is a draw."""
    if method == "emos":
        return ""
    ours = _rates([r for r in records if r["method"] == "emos"])
    theirs = _rates([r for r in records if r["method"] == method])
    mean, half, draw = difference(
        {key: 100.0 * rate for key, (rate, _) in ours.items()},
        {key: 100.0 * rate for key, (rate, _) in theirs.items()},
        {key: house for key, (_, house) in ours.items()},
    )
    if math.isnan(mean):
        return "-"
    return f"{mean:+.1f}{spread(half)}" + (" (a draw)" if draw else "")


def scaling(records: Records, what: str) -> Table:
    """Return Table 5 or 6: `what` is "robots", "objects" or "form" (Table 4)."""
    theirs: Mapping[Any, tuple[float | None, float | None]] = {
        "robots": PAPER_ROBOTS,
        "objects": OBJECTS,
        "form": {form: (value, None) for form, value in FORMATS.items()},
    }[what]  # type: ignore[assignment]
    table = Table(title=f"By {what} (the paper's in brackets)", title_justify="left")
    for name in (what, "method", "success [%]", "sub-goals [%]", "tokens", "steps", r"wall \[s]"):
        table.add_column(name, justify="right")
    for value in dict.fromkeys(r[what] for r in records):
        paper = theirs.get(value, (None, None))
        for method in ordered(str(r["method"]) for r in records):
            mine = [r for r in records if r[what] == value and r["method"] == method]
            shown = paper if method == "emos" else (None, None)
            table.add_row(
                str(value),
                method,
                _beside(percent(r["success"] for r in mine), shown[0]),
                f"{percent([v for r in mine for v in r['goals'].values()]):.1f}",
                _beside(_mean(mine, "tokens"), shown[1], 0),
                f"{_mean(mine, 'steps'):.0f}",
                f"{_mean(mine, 'seconds'):.2f}",
            )
    return table


def draw(records: Records, folder: Path) -> list[Path]:
    """Draw success, tokens and steps per task and method (as Fig. 5); return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    methods = ordered(str(r["method"]) for r in records)
    tasks = sorted({int(r["task"]) for r in records})
    measures: dict[str, Callable[[Records], float]] = {
        "success [%]": lambda rows: percent(r["success"] for r in rows),
        "tokens": lambda rows: _mean(rows, "tokens"),
        "simulation steps": lambda rows: _mean(rows, "steps"),
    }
    figure = Figure(figsize=(3.4 * len(tasks), 8.0), layout="constrained")
    panels = figure.subplots(len(measures), len(tasks), squeeze=False)
    for column, task in enumerate(tasks):
        for row, (name, measure) in enumerate(measures.items()):
            panel = panels[row][column]
            values = [
                measure([r for r in records if r["task"] == task and r["method"] == method])
                for method in methods
            ]
            panel.bar(range(len(methods)), values, color=f"C{row}")
            if row == 0:
                panel.set_title(TASKS[task])
                panel.set_ylim(0, 100)
                paper = [BY_TASK.get((method, task)) for method in methods]
                xs = [k for k, value in enumerate(paper) if value is not None]
                panel.plot(xs, [paper[k] for k in xs], "k_", markersize=14, label="paper")
            panel.set_xticks(range(len(methods)))
            panel.set_xticklabels(methods if row == 2 else [], rotation=70)
            if column == 0:
                panel.set_ylabel(name)
    path = folder / "emos.png"
    figure.savefig(path, dpi=110)
    return [path]


def ordered(methods: Iterable[str]) -> list[str]:
    """Return the methods, the paper's first."""
    found = list(dict.fromkeys(methods))
    return [m for m in METHODS if m in found] + [m for m in found if m not in METHODS]


def percent(values: Iterable[bool]) -> float:
    """Return the share of true values [%]; NaN without any."""
    counted = [bool(value) for value in values]
    return 100.0 * sum(counted) / len(counted) if counted else float("nan")


def _mean(records: Records, field: str) -> float:
    values = [float(r[field]) for r in records]
    return sum(values) / len(values) if values else float("nan")


def _beside(ours: float, theirs: float | None, digits: int = 1) -> str:
    mine = "-" if ours != ours else f"{ours:.{digits}f}"
    return mine if theirs is None else f"{mine} ({theirs:.{digits}f})"
