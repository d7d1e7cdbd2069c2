"""Pictures of the REVECA bench: methods, team sizes, noise in doses; 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from research.bench.common.intervals import mean_interval
from research.bench.reveca.tables import house_of

Record = dict[str, Any]

PANELS = (("simulation steps", "simulation_steps"), ("characters", "characters"))
DOSES = {
    "alike": ("look-alikes", {"household": 0, "alike2": 2, "alike4": 4, "alike8": 8}),
    "confused": (
        "labels confused [%]",
        {"household": 0, "confused5": 5, "confused10": 10, "confused20": 20},
    ),
    "boxes": ("closed boxes", {"household": 0, "boxes5": 5, "boxes10": 10, "boxes20": 20}),
    "tokens": (
        "tokens of things per decision, 20 dummies",
        {"tokens50": 50, "tokens100": 100, "tokens200": 200, "tokens400": 400},
    ),
}
"""Noise in doses: name of the picture, what the axis says, worlds with their doses."""
COLORS = ("#1f5fa8", "#d1722a", "#3c8d4f", "#b03a48", "#7a5aa6", "#7d7d7d")
MARKERS = ("o", "s", "^", "D", "v", "x")
LINES = ("reveca", "coela", "mhp", "rhp", "random", "oracle")
"""Methods that are drawn over team sizes and doses, each in a colour of its own."""
TWO = 2


def draw_all(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw every picture for which there are records; return their files."""
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    out = []
    for name, draw in PICTURES.items():
        figure = draw(records)
        if figure is not None:
            out.append(folder / f"{name}.png")
            figure.savefig(out[-1], dpi=110)
            _plt().close(figure)
    return out


def methods(records: Sequence[Record]) -> Any:
    """Steps and characters by method, one row of bars per world; teams of one size."""
    team = _usual(records)
    rows = [r for r in records if r["agents"] == team or r["method"] == "single"]
    worlds = list(dict.fromkeys(r["world"] for r in rows))
    names = list(dict.fromkeys(r["method"] for r in rows if r["method"][1:].isdigit() is False))
    if not names:
        return None
    width = 2 * max(2.6, 0.42 * len(names) + 1.0)
    figure, axes = _plt().subplots(
        len(worlds), 2, figsize=(width, 2.3 * len(worlds) + 1.0), squeeze=False, sharex=True
    )
    for row, world in zip(axes, worlds, strict=True):
        for axis, (head, field) in zip(row, PANELS, strict=True):
            found = [
                _interval([r for r in rows if (r["world"], r["method"]) == (world, name)], field)
                for name in names
            ]
            shade = [COLORS[0] if name == "reveca" else "#9bb4d1" for name in names]
            axis.bar(
                range(len(names)),
                [mean for mean, _ in found],
                yerr=[half for _, half in found],
                color=shade,
                capsize=2,
                error_kw={"linewidth": 0.9},
            )
            axis.set_title(f"{world}: {head}", fontsize=9)
            axis.set_xticks(range(len(names)))
            axis.set_xticklabels([n.replace("_", " ") for n in names], rotation=60, ha="right")
            _plain(axis)
    figure.tight_layout()
    return figure


def agents(records: Sequence[Record]) -> Any:
    """Steps and characters over the number of agents."""
    world = _first_world(records, lambda rows: len({r["agents"] for r in rows}) >= 3)
    if world is None:
        return None
    rows = [r for r in records if r["world"] == world]
    sizes = sorted({r["agents"] for r in rows})
    figure, axes = _plt().subplots(1, 2, figsize=(9.0, 3.4))
    for axis, (head, field) in zip(axes, PANELS, strict=True):
        for name in LINES:
            here = {n: [r for r in rows if (r["method"], r["agents"]) == (name, n)] for n in sizes}
            if sum(map(bool, here.values())) >= 3:
                _line(axis, name, [(n, found) for n, found in here.items() if found], field)
        axis.set_title(f"{world}: {head}", fontsize=9)
        axis.set_xlabel("agents", fontsize=8)
        axis.set_xticks(sizes)
        axis.set_ylim(bottom=0.0)
        _plain(axis)
    axes[0].legend(fontsize=8, frameon=False)
    figure.tight_layout()
    return figure


def dose(records: Sequence[Record], name: str) -> Any:
    """Steps and characters over the dose of one kind of noise."""
    label, worlds = DOSES[name]
    team = _usual(records)
    rows = [r for r in records if r["world"] in worlds and r["agents"] == team]
    if len({r["world"] for r in rows} - {"household"}) < 2:
        return None
    figure, axes = _plt().subplots(1, 2, figsize=(9.0, 3.4))
    for axis, (head, field) in zip(axes, PANELS, strict=True):
        for method in LINES:
            points = []
            for world, count in worlds.items():
                found = [r for r in rows if (r["world"], r["method"]) == (world, method)]
                if found:
                    points.append((count, found))
            if len(points) > 1:
                _line(axis, method, points, field)
        axis.set_title(head, fontsize=9)
        axis.set_xlabel(label, fontsize=8)
        axis.set_xticks(list(worlds.values()))
        axis.set_ylim(bottom=0.0)
        _plain(axis)
    axes[0].legend(fontsize=8, frameon=False, ncols=2)
    figure.tight_layout()
    return figure


PICTURES: dict[str, Callable[[Sequence[Record]], Any]] = {
    "reveca": methods,
    "agents": agents,
    **{name: partial(dose, name=name) for name in DOSES},
}


def _plt() -> Any:
    import matplotlib.pyplot as plt

    return plt


def _interval(rows: Sequence[Record], field: str) -> tuple[float, float]:
    if not rows:
        return math.nan, 0.0
    mean, half = mean_interval([float(r[field]) for r in rows], list(map(house_of, rows)))
    return mean, 0.0 if math.isnan(half) else half


def _line(
    axis: Any, name: str, points: Sequence[tuple[float, Sequence[Record]]], field: str
) -> None:
    k = LINES.index(name)
    found = [_interval(rows, field) for _, rows in points]
    # Lines that lie on one another stay visible: each is a little aside.
    aside = (k - len(LINES) / 2) * 0.012 * max(1.0, max(x for x, _ in points))
    axis.errorbar(
        [x + (aside if name != "reveca" else 0.0) for x, _ in points],
        [mean for mean, _ in found],
        yerr=[half for _, half in found],
        color=COLORS[k],
        marker=MARKERS[k],
        markersize=4,
        linewidth=1.8 if name == "reveca" else 1.1,
        capsize=2,
        label=name.replace("_", " "),
        zorder=3 if name == "reveca" else 2,
    )


def _plain(axis: Any) -> None:
    axis.tick_params(labelsize=7)
    axis.grid(axis="y", linewidth=0.4, alpha=0.5)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _usual(records: Sequence[Record]) -> int:
    """Return the team size of most pictures: two, or the smallest team that was played."""
    teams = sorted({int(r["agents"]) for r in records})
    return TWO if TWO in teams else next((n for n in teams if n > 1), 1)


def _first_world(records: Sequence[Record], good: Callable[[Sequence[Record]], bool]) -> str | None:
    for world in dict.fromkeys(str(r["world"]) for r in records):
        if good([r for r in records if r["world"] == world]):
            return world
    return None
