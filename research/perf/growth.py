"""How figures grow with the number of robots: exponents, tables and log-log plots of benches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

DECADE = 10
"""Teams so many times smaller than the largest count for an exponent: in smaller ones what does not
grow hides what does."""


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the slope of a figure over the number of robots, both as logarithms; None: unknown.

    Args:
        points: (robots, figure); those of much smaller teams and without a figure are left out.
    """
    largest = max((n for n, _ in points), default=0.0)
    kept = [(n, value) for n, value in points if n * DECADE >= largest and value > 0.0]
    if len(kept) < 2:
        return None
    robots, values = np.log(np.array(kept)).T
    return float(np.polyfit(robots, values, 1)[0])


def exponents(rows: Sequence[Mapping[str, Any]], figures: Sequence[str]) -> dict[str, float]:
    """Return the exponent of each figure that has one."""
    found = {
        figure: exponent([(row["robots"], row[figure]) for row in rows if figure in row])
        for figure in figures
    }
    return {figure: value for figure, value in found.items() if value is not None}


def table(title: str, rows: Sequence[Mapping[str, Any]], figures: Sequence[str]) -> Table:
    """Return a table: a line per figure, a column per number of robots, and its exponent."""
    shown = Table("figure", *(str(row["robots"]) for row in rows), "grows as", title=title)
    found = exponents(rows, figures)
    for figure in figures:
        cells = [f"{row[figure]:.3g}" if figure in row else "" for row in rows]
        if any(cells):
            power = f"n^{found[figure]:.2f}" if figure in found else ""
            shown.add_row(escape(figure), *cells, power)
    return shown


def draw(
    panels: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]], file: Path, columns: int = 3
) -> None:
    """Draw panels (title -> name of a line -> points), both axes logarithmic, with exponents."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    lines = -(-len(panels) // columns)
    canvas, axes = plt.subplots(
        lines, columns, figsize=(4 * columns, 3 * lines), layout="constrained", squeeze=False
    )
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for axis, (title, series) in zip(axes.flat, panels.items(), strict=False):
        for name, points in series.items():
            power = exponent(points)
            label = f"{name}, n^{power:.2f}" if power is not None else name
            axis.plot(*zip(*points, strict=True), marker="o", markersize=4, label=label)
        axis.set(xscale="log", yscale="log", title=title, xlabel="robots")
        axis.grid(visible=True, which="both", alpha=0.25)
        axis.legend(fontsize=7)
    canvas.savefig(file, dpi=110)
    plt.close(canvas)
