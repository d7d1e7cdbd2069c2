"""Tables of the REVECA bench, in the paper's layout: means with 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from research.bench.common.intervals import mean_interval, spread
from research.bench.common.records import mean_std
from research.bench.common.tables import print_whole

Record = dict[str, Any]

MEASURES = (
    ("SS", "simulation_steps", 1),
    ("TD [m]", "travel_distance", 1),
    ("CS", "communication_steps", 2),
    ("CC", "characters", 0),
)
RATES = (
    ("TOTAL", "total"),
    ("at 750", "total_750"),
    ("at 1500", "total_1500"),
    ("FOOD", "food"),
    ("STUFF", "stuff"),
)


def house_of(record: Record) -> str:
    """Return what an episode shares with others: its house; those of one house are no two."""
    return str(record.get("house", f"seed {record['seed']}"))


def print_tables(records: Sequence[Record], console: Console) -> None:
    """Print a table per world: steps, distance, messages, characters; transport: rates as well."""
    for world in dict.fromkeys(r["world"] for r in records):
        here = [r for r in records if r["world"] == world]
        carrying = any(name in r for r in here for _, name in RATES[1:])
        rates = RATES if carrying else ()
        table = Table(title=f"{world}", title_justify="left")
        for head in ("method", "agents", "episodes", "houses", "success"):
            table.add_column(head)
        for head in (*(h for h, _ in rates), *(h for h, _, _ in MEASURES)):
            table.add_column(head, justify="right")
        for method, agents in dict.fromkeys((r["method"], r["agents"]) for r in here):
            rows = [r for r in here if (r["method"], r["agents"]) == (method, agents)]
            cells = [method, str(agents), str(len(rows)), str(len(set(map(house_of, rows))))]
            cells.append(f"{mean_std(float(r['success']) for r in rows)[0]:.2f}")
            for _, name in rates:
                found = [float(r[name]) for r in rows if name in r]
                cells.append(f"{mean_std(found)[0]:.2f}" if found else "-")
            for _, name, digits in MEASURES:
                mean, half = mean_interval(
                    [float(r[name]) for r in rows], list(map(house_of, rows))
                )
                cells.append(f"{mean:.{digits}f}{spread(half, digits)}")
            table.add_row(*cells)
        print_whole(table, console)
    _print_usage(records, console)


def _print_usage(records: Sequence[Record], console: Console) -> None:
    """Print what decisions by a model took, where there were any."""
    told = [r for r in records if "calls" in r]
    if not told:
        return
    table = Table(title="decisions by a model, per episode", title_justify="left")
    for head in ("world", "method", "model"):
        table.add_column(head)
    for head in ("decisions", "by the rule", "asked again", "calls", "failed", "tokens"):
        table.add_column(head, justify="right")
    for key in dict.fromkeys((r["world"], r["method"], r["model"]) for r in told):
        rows = [r for r in told if (r["world"], r["method"], r["model"]) == key]

        def mean(*names: str, rows: Sequence[Record] = rows) -> str:
            return f"{sum(r[name] for r in rows for name in names) / len(rows):.1f}"

        table.add_row(
            *key,
            mean("decisions"),
            mean("by_rule"),
            mean("asked_again"),
            mean("calls"),
            mean("failed_calls"),
            mean("prompt_tokens", "completion_tokens"),
        )
    print_whole(table, console)
