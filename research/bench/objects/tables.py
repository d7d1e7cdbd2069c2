"""Tables and the plot of the object-planning bench, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from research.bench.common.tables import print_whole
from research.bench.objects.paper import MEASURES, paper_figure

Records = Sequence[Mapping[str, Any]]
NAMES = {
    "baseline": "Base",
    "ensemble": "LLM Ensemble",
    "multi_agent": "Multi-Agent Reflection",
    "self_reflection": "Self-Reflection",
    "grounded": "Grounded (ours)",
}


def print_tables(records: Records, console: Console) -> None:
    """Print Table 1 (all queries) and Table 2 (per data set and query type)."""
    whole = [r for r in records if r["dataset"] == "all" and r["query_type"] == "all"]
    print_whole(_table(whole, "All maps and queries", ("method",)), console)
    parts = [r for r in records if r["dataset"] != "all"]
    keys = ("dataset", "method", "query_type")
    print_whole(_table(parts, "Per data set and query type", keys), console)
    console.print(
        "In brackets the paper's figures (Gemini 1.5 Pro, ten maps). Two readings of an answer of "
        "nothing where nothing is right: the first four columns count it in all measures (the "
        "paper's tables fit only so), the columns 'by formula' in Top-1 only (as its section 5.2 "
        "writes the measures; Top-1 is the same in both). calls and tokens are sums.",
        style="dim",
        highlight=False,
    )


def _table(records: Records, title: str, keys: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left")
    for key in keys:
        table.add_column(key.replace("_", " "))
    for measure in MEASURES:
        table.add_column(measure.replace("_", "-").capitalize(), justify="right")
    table.add_column("Top-2/3/any by formula", justify="right")
    table.add_column("calls", justify="right")
    table.add_column("tokens", justify="right")
    table.add_column("s/query", justify="right")
    last = None
    for record in records:
        if last is not None and last != record[keys[0]] and len(keys) > 1:
            table.add_section()
        last = record[keys[0]]
        table.add_row(
            *(NAMES.get(str(record[key]), str(record[key])) for key in keys),
            *(_figure(record, measure) for measure in MEASURES),
            " / ".join(f"{record[f'{measure}_formula']:.1f}" for measure in MEASURES[1:]),
            str(record["calls"]),
            str(record["tokens"]),
            f"{record['seconds']:.3f}",
        )
    return table


def _figure(record: Mapping[str, Any], measure: str) -> str:
    theirs = paper_figure(record["method"], record["dataset"], record["query_type"], measure)
    ours = f"{record[measure]:.1f}"
    return ours if theirs is None else f"{ours} ({theirs:.1f})"


def draw_plot(records: Records, path: Path) -> None:
    """Draw Top-1 per query type and method, over all maps, beside the paper's baseline."""
    methods = list(dict.fromkeys(str(r["method"]) for r in records))
    kinds = ("all", "descriptive", "affordance", "negation")
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    panel = figure.subplots()
    width = 0.8 / max(len(methods), 1)
    for k, method in enumerate(methods):
        values = [
            next(
                (
                    r["top_1"]
                    for r in records
                    if (r["method"], r["dataset"], r["query_type"]) == (method, "all", kind)
                ),
                0.0,
            )
            for kind in kinds
        ]
        places = [i + (k - (len(methods) - 1) / 2) * width for i in range(len(kinds))]
        panel.bar(places, values, width=width * 0.92, label=NAMES.get(method, method))
    panel.axhline(66.6, color="grey", linewidth=0.9, linestyle="--", label="paper's Base, all")
    panel.set_xticks(range(len(kinds)), [f"{kind} queries" for kind in kinds])
    panel.set_ylabel("Top-1 [%]")
    panel.set_ylim(0, 100)
    panel.legend(fontsize=8, ncols=2, loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
