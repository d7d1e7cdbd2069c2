"""Prints the results of `bench mele` in the layout of the paper's tables, with its figures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.table import Table

from cam_aggregator.cam import MODELS
from research.bench.common.intervals import difference
from research.bench.common.tables import print_whole
from research.bench.mele.paper import COLUMNS, paper_accuracy

SHORT: Mapping[str, str] = {
    "neural_network": "NN",
    "random_forest": "RF",
    "decision_tree": "DT",
    "xgboost": "XG",
    "svm_rbf": "SVM",
    "svm_linear": "SVM-L",
    "logistic_regression": "LR",
    "majority_vote": "MV",
    "debate": "Debate",
    "confidence_vote": "ConfV",
    "cam_plus": "CAM+",
    "cam_plus_no_twin": "CAM+ no twin",
    "dawid_skene": "DS",
    "one_coin": "1-coin",
    "glad": "GLAD",
    "mace": "MACE",
}

_TITLES = {
    ("random", False): "Accuracy [%], random split (the paper's)",
    ("grouped", False): "Accuracy [%], split grouped by object",
    ("random", True): "Accuracy [%] with one malicious agent, random split",
    ("grouped", True): "Accuracy [%] with one malicious agent, split grouped by object",
}

Records = Sequence[Mapping[str, Any]]


def print_tables(records: Records, console: Console) -> None:
    """Print one table per split, honest and malicious."""
    for (split, malicious), title in _TITLES.items():
        rows = [r for r in records if r["split"] == split and r["malicious"] == malicious]
        if rows:
            print_whole(table_1(rows, title, paper=split == "random"), console)
            console.print()


def print_headline(records: Records, console: Console) -> None:
    """Print what is expected of the methods, with intervals over houses."""
    table = Table(title="Differences of accuracy [points], mean over houses", title_justify="left")
    for name in ("split", "with a liar", "difference", "points", "95 % over houses", ""):
        table.add_column(name, justify="right" if name == "points" else "left")
    for row in headline(records):
        draw = "a draw" if row.draw else ""
        table.add_row(
            row.split, "yes" if row.malicious else "", f"{_named(row.one)} - {_named(row.other)}",
            f"{100 * row.mean:+.1f}", f"+- {100 * row.half:.1f} ({row.houses} houses)", draw,
        )  # fmt: skip
    print_whole(table, console)
    console.print()


@dataclass(frozen=True, slots=True)
class Difference:
    """How far the best of some methods lies above the best of others, by the mean over houses.

    `mean` and `half`: accuracies 0..1; half the width of the 95 % interval, with Student's t over
    `houses`. `one`, `other`: names of the two methods that were best.
    """

    split: str
    malicious: bool
    one: str
    other: str
    mean: float
    half: float
    draw: bool
    houses: int


def headline(records: Records) -> list[Difference]:
    """Return the differences that the paper, or Coterie, claims; see `_CLAIMS`."""
    found = []
    for split, (ones, others) in itertools.product(("random", "grouped"), _CLAIMS):
        one = _best(records, split, False, ones)
        other = _best(records, split, False, others)
        if one[0] and other[0]:
            found.append(_difference(split, False, one, other))
    for split, name in itertools.product(("random", "grouped"), ("xgboost", "cam_plus")):
        lied, honest = (_best(records, split, liar, (name,)) for liar in (True, False))
        if lied[0] and honest[0]:
            found.append(_difference(split, True, lied, honest))
    return found


_CLAIMS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("decision_tree", "xgboost"), ("majority_vote",)),
    (("cam_plus",), ("decision_tree", "xgboost")),
    (("cam_plus",), MODELS),
    (("cam_plus",), ("majority_vote",)),
    (("confidence_vote",), ("majority_vote",)),
    (("debate",), ("majority_vote",)),
    (("dawid_skene",), ("majority_vote",)),
)
"""Methods of which the best is compared with the best of others."""


def _best(
    records: Records, split: str, liar: bool, names: Sequence[str]
) -> tuple[str, dict[Hashable, float]]:
    """Return the method with the best mean over houses, and its accuracies by house."""
    by_name: dict[str, dict[Hashable, float]] = {}
    for row in records:
        if (row["split"], row["malicious"]) == (split, liar) and row["method"] in names:
            by_name.setdefault(row["method"], {})[row["house"]] = float(row["accuracy_mean"])
    return max(by_name.items(), key=lambda item: fmean(item[1].values()), default=("", {}))


def _difference(
    split: str,
    liar: bool,
    one: tuple[str, dict[Hashable, float]],
    other: tuple[str, dict[Hashable, float]],
) -> Difference:
    (name, values), (other_name, other_values) = one, other
    houses = [house for house in values if house in other_values]
    mean, half, draw = difference(values, other_values, {house: house for house in houses})
    told = (name, "the same honest" if liar else other_name)
    return Difference(split, liar, *told, mean, half, draw, len(houses))


def _named(method: str) -> str:
    return SHORT.get(method, method)


def print_extras(measures: Records, console: Console) -> None:
    """Print agreement, team size and the other analyses, as means over houses."""
    for analysis, title in _EXTRAS.items():
        rows = [m for m in measures if m["analysis"] == analysis]
        if rows:
            print_whole(_extra(rows, title), console)
            console.print()
    for analysis in sorted({m["analysis"] for m in measures if m["analysis"].startswith("oracle")}):
        for house in sorted({m["house"] for m in measures if m["analysis"] == analysis}):
            rows = [m for m in measures if m["analysis"] == analysis and m["house"] == house]
            values = ", ".join(f"{m['x']} {100 * m['mean']:.1f}" for m in rows)
            console.print(
                f"importance [%], {analysis} ({house}): {values}", highlight=False, markup=False
            )


_EXTRAS = {
    "agreement": "Agreement [%] of each agent with the final answer (Eq. 2), mean over houses",
    "importance": "Permutation importance [%] (Eq. 3), mean over houses",
    "agent_accuracy": "One agent against the majority of all, accuracy [%], mean over houses",
    "agents": "Number of agents against accuracy [%], mean over houses",
    "labels": "Share of training labels against accuracy [%], mean over houses",
    "missing_answers": "Share of answers missing against accuracy [%], mean over houses",
    "forged_evidence": "Accuracy [%] with an agent that also forges its evidence, mean over houses",
    "observations_only": "Accuracy [%] of robots without common sense (YES only of what they saw)",
    "selective_accuracy": "Accuracy [%] of what is answered at or above a confidence",
    "selective_share": "Share [%] of questions answered at or above a confidence",
    "calibration_error": "Expected calibration error [%], mean over houses",
    "ceiling": "No function of these inputs can be right more often [%], mean over houses",
}


def _extra(rows: Records, title: str) -> Table:
    columns = list(dict.fromkeys(str(m["x"]) for m in rows))
    table = Table(title=title, title_justify="left")
    table.add_column("method")
    table.add_column("split")
    for column in columns:
        table.add_column(column or "all", justify="right")
    for method, split in dict.fromkeys((str(m["method"]), str(m["split"])) for m in rows):
        cells = []
        for column in columns:
            chosen = [
                m["mean"]
                for m in rows
                if (m["method"], m["split"], m["x"]) == (method, split, column)
                and not math.isnan(m["mean"])
            ]
            cells.append(f"{100 * sum(chosen) / len(chosen):.1f}" if chosen else "-")
        table.add_row(SHORT.get(method, method), split, *cells)
    return table


def table_1(records: Records, title: str, *, paper: bool) -> Table:
    """Return the table of one split: a row per house, then the mean over houses.

    With `paper` each house whose number of nodes the paper has is followed by the paper's figures.
    """
    methods = ordered_methods(records)
    table = Table(title=title, title_justify="left")
    table.add_column("house")
    table.add_column("nodes", justify="right")
    for method in methods:
        table.add_column(SHORT.get(method, method), justify="right")
    malicious = bool(records[0]["malicious"])
    houses = sorted({(int(r["nodes"]), str(r["house"])) for r in records})
    for nodes, house in houses:
        ours = {r["method"]: r for r in records if r["house"] == house}
        table.add_row(house, str(nodes), *(_cell(ours.get(m)) for m in methods))
        theirs = [paper_accuracy(nodes, m, malicious=malicious) for m in methods]
        if paper and any(value is not None for value in theirs):
            cells = ("" if v is None else f"{v:.1f}" for v in theirs)
            table.add_row("  the paper", "", *cells, style="dim")
    table.add_section()
    table.add_row("mean", "", *(f"{_mean(records, m):.1f}" for m in methods), style="bold")
    return table


def ordered_methods(records: Records) -> list[str]:
    """Return the methods in the paper's order, then the others as they come."""
    present = list(dict.fromkeys(str(r["method"]) for r in records))
    first = [m for m in COLUMNS if m in present]
    return first + [m for m in present if m not in first]


def _cell(record: Mapping[str, Any] | None) -> str:
    if record is None:
        return "-"
    return f"{100 * record['accuracy_mean']:.1f} ±{100 * record['accuracy_std']:.0f}"


def _mean(records: Records, method: str) -> float:
    values = [r["accuracy_mean"] for r in records if r["method"] == method]
    return 100.0 * sum(values) / len(values) if values else float("nan")
