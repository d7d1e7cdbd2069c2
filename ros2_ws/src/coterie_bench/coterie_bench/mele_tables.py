"""Prints the results of `bench mele`: the layout of the paper's Table 1, ours beside its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from coterie_bench.mele_paper import COLUMNS, paper_accuracy

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
    "cam_plus_no_twin": "CAM+ w/o twin",
    "dawid_skene": "DS",
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
            console.print(table_1(rows, title, paper=split == "random"))
            console.print()


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
