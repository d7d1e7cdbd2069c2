"""Tables of `bench models`: what each decision took, and how far each bench got."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from coterie_llm import DECISIONS
from research.bench.common.intervals import mean_interval, spread
from research.bench.common.tables import print_whole

Records = Sequence[Mapping[str, Any]]


def print_tables(records: Records, console: Console) -> None:
    """Print both tables, and what went wrong."""
    print_whole(scores(records), console)
    if (compared := against_rules(records)).row_count:
        print_whole(compared, console)
    print_whole(decisions(records), console)
    shared = by_model(records)
    if shared.row_count:
        print_whole(shared, console)
    never = [name for name in DECISIONS if not any(name in r["decisions"] for r in records)]
    if never:
        console.print(f"not in this set: {', '.join(never)}", highlight=False, soft_wrap=True)
    for record in records:
        if record["error"]:
            console.print(
                f"{record['answerer']}, {record['work']}: {record['error']}",
                style="yellow",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )


def by_bench(records: Records) -> dict[str, dict[str, tuple[float, int | None]]]:
    """Return part -> answerer -> score (0..1, weighted by what was counted) and steps.

    Parts of one bench that differ only by house or seed are one.
    """
    sums: dict[str, dict[str, list[float]]] = {}
    for record in records:
        for one in record["outcomes"]:
            part = f"{one['bench']}: {one['part'].partition(', ')[0]}"
            cell = sums.setdefault(part, {}).setdefault(record["answerer"], [0.0, 0.0, 0.0])
            cell[0] += one["score"] * one["of"]
            cell[1] += one["of"]
            cell[2] += one["steps"] or 0
    return {
        part: {
            who: (score / max(count, 1e-9), round(steps) or None)
            for who, (score, count, steps) in cells.items()
        }
        for part, cells in sums.items()
    }


def scores(records: Records) -> Table:
    """Return how far each answerer got, by bench."""
    names = list(dict.fromkeys(r["answerer"] for r in records))
    table = Table(title="Right or reached [%], and steps", title_justify="left")
    table.add_column("bench: part")
    for name in names:
        table.add_column(name, justify="right")
    for part, cells in by_bench(records).items():
        row = []
        for name in names:
            score, steps = cells.get(name, (None, None))
            told = "" if score is None else f"{100 * score:.0f}"
            row.append(f"{told} ({steps})" if steps else told)
        table.add_row(part, *row)
    seconds = {name: sum(r["seconds"] for r in records if r["answerer"] == name) for name in names}
    table.add_row("seconds", *(f"{seconds[name]:.0f}" for name in names))
    return table


def against_rules(records: Records) -> Table:
    """Return how far answerers lie above the rules where a part was done in several houses."""
    cells: dict[tuple[str, str], dict[str, float]] = {}
    for record in records:
        for one in record["outcomes"]:
            part, _, where = str(one["part"]).partition(", ")
            done = cells.setdefault((f"{one['bench']}: {part}", record["answerer"]), {})
            done[f"{record['work']}, {where}"] = float(one["score"])
    table = Table(title="Above the rules, paired by house or task", title_justify="left")
    for k, head in enumerate(("bench: part", "answerer", "of", "points, 95 % interval")):
        table.add_column(head, justify="left" if k < 2 else "right")
    for (part, name), mine in cells.items():
        rules = cells.get((part, "rules"), {})
        shared = [where for where in mine if where in rules]
        if name == "rules" or len(shared) < 2:
            continue
        mean, half = mean_interval([100.0 * (mine[one] - rules[one]) for one in shared])
        table.add_row(part, name, str(len(shared)), f"{mean:+.1f}{spread(half)}")
    return table


def decisions(records: Records) -> Table:
    """Return what each decision took, by answerer; rules alone are left out."""
    table = Table(title="By decision", title_justify="left")
    heads = ("decision", "answerer", "made", "calls", "tokens in", "out", "ms/call", "at once [%]")
    for k, head in enumerate((*heads, "again", "overruled", "look-ups")):
        table.add_column(head, justify="left" if k < 2 else "right")
    totals = summed(records)
    for decision in sorted({d for _, d in totals}):
        for name in dict.fromkeys(r["answerer"] for r in records):
            row = totals.get((name, decision))
            if row is None or not row["calls"]:
                continue
            asked = row["by_model"] + row["overruled"]
            table.add_row(
                decision,
                name,
                f"{row['by_model'] + row['by_rule']:.0f}",
                f"{row['calls']:.0f}",
                f"{row['prompt_tokens'] / row['calls']:.0f}",
                f"{row['completion_tokens'] / row['calls']:.0f}",
                f"{1000 * row['seconds'] / row['calls']:.0f}",
                "not covered"
                if row["failed"] == row["calls"]
                else f"{100 * row['at_once'] / max(asked, 1):.0f}",
                f"{row['asked_again']:.0f}",
                f"{row['overruled']:.0f}",
                f"{row['tool_uses']:.0f}",
            )
    return table


def by_model(records: Records) -> Table:
    """Return which model was asked and which decided, where an answerer has a larger one."""
    table = Table(title="Small first, larger when checks fail", title_justify="left")
    for k, head in enumerate(("decision", "answerer", "model", "calls", "decided", "by rule")):
        table.add_column(head, justify="left" if k < 3 else "right")
    for (name, decision), row in sorted(summed(records).items(), key=lambda item: item[0][::-1]):
        models = [key.partition(" ")[2] for key in row if key.startswith("asked ")]
        for k, model in enumerate(models if len(models) > 1 else ()):
            table.add_row(
                decision if not k else "",
                name if not k else "",
                model,
                f"{row[f'asked {model}']:.0f}",
                f"{row.get(f'decided {model}', 0.0):.0f}",
                f"{row['by_rule']:.0f}" if not k else "",
            )
    return table


def summed(records: Records) -> dict[tuple[str, str], dict[str, float]]:
    """Return (answerer, decision) -> counts over all works."""
    totals: dict[tuple[str, str], dict[str, float]] = {}
    for record in records:
        for decision, counts in record["decisions"].items():
            row = totals.setdefault((record["answerer"], decision), {})
            for key, value in counts.items():
                row[key] = row.get(key, 0.0) + value
    return totals


def print_savings(records: Records, console: Console) -> None:
    """Print what each setting that saves calls brings, by answerer and decision."""
    for name in dict.fromkeys(record["answerer"] for record in records):
        mine = [record for record in records if record["answerer"] == name]
        told = list(dict.fromkeys(str(record["settings"]) for record in mine))
        table = Table(
            title=f"{name}: calls, and thousands of tokens in and out", title_justify="left"
        )
        table.add_column("decision")
        for one in told:
            table.add_column(one, justify="right")
        rows = {one: summed([r for r in mine if r["settings"] == one]) for one in told}
        asked = sorted({d for row in rows.values() for (_, d), c in row.items() if c["calls"]})
        for decision in asked:
            counts = (rows[one].get((name, decision), {}) for one in told)
            table.add_row(decision, *(_spent([c] if c else []) for c in counts))
        table.add_row("all", *(_spent(list(rows[one].values())) for one in told))
        right = [by_bench([r for r in mine if r["settings"] == one]) for one in told]
        for part in right[0]:
            shown = [
                f"{100 * cells[part][name][0]:.0f}" if part in cells else "" for cells in right
            ]
            table.add_row(f"{part} [%]", *shown)
        print_whole(table, console)


def _spent(counts: Sequence[Mapping[str, float]]) -> str:
    calls = sum(one["calls"] for one in counts)
    tokens = sum(one["prompt_tokens"] + one["completion_tokens"] for one in counts)
    return f"{calls:.0f}  {tokens / 1000.0:.1f}"
