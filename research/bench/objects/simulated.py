"""`bench objects --simulated-errors`: the workflows with a simulated model that errs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from coterie_llm import ModelProfile, build_decider
from object_planner.settings import Method
from object_planner.workflows import Options
from research.bench.common.records import write_csv, write_json
from research.bench.common.tables import print_whole
from research.bench.objects.data import ObjectData
from research.bench.objects.paper import MEASURES, paper_figure
from research.bench.objects.run import ObjectsResult, run_objects, summarised
from research.bench.objects.simulated_planner import Rates, SimulatedPlanner
from research.bench.objects.tables import NAMES

Record = dict[str, Any]


def run_simulated(
    data: ObjectData,
    methods: Sequence[Method],
    options: Options,
    errors: float,
    seeds: Sequence[int],
) -> list[Record]:
    """Return the records of all methods at one error rate, over all seeds.

    Args:
        data: Queries, maps, truth.
        methods: The workflows.
        options: Of the workflows.
        errors: Share of first answers that are wrong.
        seeds: One pass over the data for each.
    """
    result = ObjectsResult()
    for seed in seeds:
        planner = SimulatedPlanner(data, Rates.of(errors), seed)
        with planner.endpoint as endpoint:
            # In mode `model` nothing would correct its errors, which is what is measured here.
            profile = ModelProfile(
                kind="openai",
                base_url=endpoint.url,
                model="simulated",
                timeout_s=30.0,
                mode="advised",
                cache=0,
            )
            decider = build_decider(profile, who="bench")
            one = asyncio.run(
                run_objects(data, methods, decider=decider, options=options, on_map=planner.begin)
            )
        result.details += one.details
    records = list(summarised(result.details))
    for record in records:
        record["errors"] = errors
        record["seeds"] = len(seeds)
    return records


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Answers that fail their checks are what is wanted here; the tables count them."""
    log = logging.getLogger("coterie_llm")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def bench_simulated(
    data: ObjectData,
    methods: Sequence[Method],
    options: Options,
    rates: Sequence[float],
    seeds: Sequence[int],
    console: Console,
    out: Path | None,
) -> None:
    """Run all rates, print a table for each, draw the plot over them."""
    records: list[Record] = []
    for errors in dict.fromkeys(rates):
        with console.status(f"simulated model, {errors:.0%} errors"), _without_warnings():
            records += run_simulated(data, methods, options, errors, seeds)
        rows = [r for r in records if r["errors"] == errors and r["dataset"] == "all"]
        print_whole(_table(rows, errors, len(seeds)), console)
    console.print(
        "A simulated model, no real one: it knows the annotated answers and spoils them at these "
        "rates (docs/objects.md says how). Time is that of the workflow with a model that answers "
        "at once. 'by rule': answers of the tables where the model's failed every check. In "
        "brackets the paper's figures.",
        style="dim",
        highlight=False,
    )
    if out is not None:
        write_json(out / "simulated.json", records)
        write_csv(out / "simulated.csv", records)
        draw_rates(records, out / "simulated.png")
        console.print(f"results: {out}", highlight=False, markup=False, soft_wrap=True)


def _table(records: Sequence[Record], errors: float, seeds: int) -> Table:
    table = Table(
        title=f"Simulated model, {errors:.1%} of first answers wrong, {seeds} seed(s)",
        title_justify="left",
    )
    for name in ("method", "Top-1", "Top-2", "Top-3", "Top-any"):
        table.add_column(name, justify="left" if name == "method" else "right")
    for name in (
        "descr.",
        "afford.",
        "negat.",
        "calls/query",
        "tokens/query",
        "s/query",
        "by rule",
    ):
        table.add_column(name, justify="right")
    for method in dict.fromkeys(r["method"] for r in records):
        by_type = {r["query_type"]: r for r in records if r["method"] == method}
        whole = by_type["all"]
        cells = []
        for measure in MEASURES:
            theirs = paper_figure(method, "all", "all", measure)
            cells.append(f"{whole[measure]:.1f}" + (f" ({theirs:.1f})" if theirs else ""))
        for kind in ("descriptive", "affordance", "negation"):
            cells.append(f"{by_type[kind]['top_1']:.1f}" if kind in by_type else "")
        n = whole["queries"]
        table.add_row(
            NAMES.get(method, method),
            *cells,
            f"{whole['calls'] / n:.2f}",
            f"{whole['tokens'] / n:.0f}",
            f"{whole['seconds']:.3f}",
            str(whole["by_rule"]),
        )
    return table


def draw_rates(records: Sequence[Record], path: Path) -> None:
    """Draw Top-1 over the error rate, a line per workflow."""
    figure = Figure(figsize=(7.5, 4.4), layout="constrained")
    panel = figure.subplots()
    whole = [r for r in records if (r["dataset"], r["query_type"]) == ("all", "all")]
    for method in dict.fromkeys(r["method"] for r in whole):
        line = sorted((r["errors"], r["top_1"]) for r in whole if r["method"] == method)
        panel.plot(
            [100 * x for x, _ in line],
            [y for _, y in line],
            marker="o",
            linewidth=2.4 if method == "grounded" else 1.4,
            label=NAMES.get(method, method),
        )
    panel.axvline(33.4, color="grey", linewidth=0.9, linestyle="--", label="paper's model")
    panel.set_xlabel("first answers that are wrong [%]")
    panel.set_ylabel("Top-1 [%]")
    panel.set_title("Workflows with a simulated erring model", fontsize=10)
    panel.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
