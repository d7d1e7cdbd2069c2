"""Pictures of the MELE bench: accuracy per method and house, team size, labels, abstaining."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from research.bench.mele.tables import SHORT, ordered_methods

Records = Sequence[Mapping[str, Any]]


def draw_plots(records: Records, measures: Records, folder: Path) -> list[Path]:
    """Write PNG files into `folder` and return their paths; analyses without data have none."""
    folder.mkdir(parents=True, exist_ok=True)
    made = [_accuracy(records, folder / "accuracy.png")]
    curves = {
        "agents": "number of agents",
        "labels": "share of the training labels",
        "missing_answers": "share of answers missing",
        "selective_accuracy": "least confidence of an answer",
    }
    for analysis, axis in curves.items():
        rows = [m for m in measures if m["analysis"] == analysis and not math.isnan(m["mean"])]
        if rows:
            made.append(_curve(rows, axis, folder / f"{analysis}.png"))
    return made


def _accuracy(records: Records, path: Path) -> Path:
    """Draw bars: mean over houses per method, honest and with a liar, one panel per split."""
    splits = list(dict.fromkeys(str(r["split"]) for r in records))
    figure = Figure(figsize=(11, 3.2 * len(splits)), layout="constrained")
    panels = figure.subplots(len(splits), 1, squeeze=False)[:, 0]
    for panel, split in zip(panels, splits, strict=True):
        chosen = [r for r in records if r["split"] == split]
        methods = ordered_methods(chosen)
        for offset, malicious in ((-0.2, False), (0.2, True)):
            values = [_mean(chosen, method, malicious) for method in methods]
            panel.bar(
                [i + offset for i in range(len(methods))],
                values,
                width=0.4,
                label="one malicious agent" if malicious else "all honest",
            )
        panel.set_xticks(range(len(methods)), [SHORT.get(m, m) for m in methods])
        panel.set_ylabel("accuracy [%]")
        panel.set_ylim(0, 100)
        panel.set_title(f"{split} split, mean over houses")
        panel.axhline(50, color="grey", linewidth=0.8)
        panel.legend(loc="lower right")
    figure.savefig(path, dpi=120)
    return path


def _curve(rows: Records, axis: str, path: Path) -> Path:
    splits = list(dict.fromkeys(str(m["split"]) for m in rows))
    figure = Figure(figsize=(5.5 * len(splits), 3.6), layout="constrained")
    panels = figure.subplots(1, len(splits), squeeze=False)[0]
    for panel, split in zip(panels, splits, strict=True):
        chosen = [m for m in rows if m["split"] == split]
        for method in dict.fromkeys(str(m["method"]) for m in chosen):
            xs = sorted({float(m["x"]) for m in chosen if m["method"] == method})
            ys = []
            for x in xs:
                at = [m["mean"] for m in chosen if m["method"] == method and float(m["x"]) == x]
                ys.append(100 * sum(at) / len(at))
            panel.plot(xs, ys, marker="o", label=SHORT.get(method, method))
        panel.set_xlabel(axis)
        panel.set_ylabel("accuracy [%]")
        panel.set_title(f"{split} split, mean over houses")
        panel.legend()
        panel.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    return path


def _mean(records: Records, method: str, malicious: bool) -> float:
    chosen = [
        r["accuracy_mean"] for r in records if r["method"] == method and r["malicious"] == malicious
    ]
    return 100 * sum(chosen) / len(chosen) if chosen else float("nan")
