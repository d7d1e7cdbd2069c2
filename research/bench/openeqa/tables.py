"""Tables and plots of `bench openeqa` in the paper's layout, ours beside the paper's figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from research.bench.common.tables import print_whole
from research.bench.openeqa.categories import CATEGORIES
from research.bench.openeqa.judge import bootstrap
from research.bench.openeqa.paper import paper_category, paper_efficiency, paper_score

Records = Sequence[Mapping[str, Any]]
NAMES = {
    "blind": "Blind",
    "captions": "Frame captions",
    "scene_graph": "Scene graph",
    "frames": "Multi-frame",
    "ours": "Ours",
}
EXPLORATIONS = {
    "": "",
    "frontier": "frontier",
    "frontier_stop": "frontier, ends when sure",
    "question": "question-driven",
}
Group = tuple[str, str, str]


def groups(records: Records) -> dict[Group, list[Mapping[str, Any]]]:
    """Return (setting, method, exploration) -> records, in the order of appearance."""
    found: dict[Group, list[Mapping[str, Any]]] = {}
    for record in records:
        key = (record["setting"], record["method"], record["exploration"])
        found.setdefault(key, []).append(record)
    return found


def summarised(records: Records, seed: int = 0) -> list[dict[str, Any]]:
    """Return a record per group, source ("all" too) and category ("all" too), with intervals.

    `C` and `E` are means [%] with 95 % bootstrap intervals over questions; records without a mark
    count as `missing` and in no mean.
    """
    rows = []
    for (setting, method, exploration), found in groups(records).items():
        sources = sorted({r["source"] for r in found})
        for source in ("all", *sources) if len(sources) > 1 else sources:
            of_source = [r for r in found if source in ("all", r["source"])]
            for category in ("all", *CATEGORIES):
                part = [r for r in of_source if category in ("all", r["category"])]
                if not part:
                    continue
                rows.append(
                    {
                        "setting": setting,
                        "method": method,
                        "exploration": exploration,
                        "source": source,
                        "category": category,
                        "questions": len(part),
                        "missing": sum(r["C"] is None for r in part),
                        **_measured("C", part, seed),
                        **_measured("E", part, seed),
                        "steps": _mean(r["steps"] for r in part),
                        "guessed": _mean(100.0 * r["guessed"] for r in part if r["C"] is not None),
                        "calls": round(sum(r["calls"] for r in part)),
                        "tokens": round(sum(r["tokens"] for r in part)),
                        "seconds": _mean(r["seconds"] for r in part if r["C"] is not None),
                    }
                )
    return rows


def _measured(name: str, records: Records, seed: int) -> dict[str, float | None]:
    values = [float(r[name]) for r in records if r[name] is not None]
    if not values:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    low, high = bootstrap(values, seed=seed)
    mean = sum(values) / len(values)
    return {name: round(mean, 2), f"{name}_low": round(low, 2), f"{name}_high": round(high, 2)}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return round(sum(known) / len(known), 4) if known else None


def print_tables(rows: Records, console: Console) -> None:
    """Print what corresponds to the paper's Tables II, IV and V."""
    for setting, title in (("em", "EM-EQA: from memory"), ("active", "A-EQA: exploring")):
        part = [r for r in rows if r["setting"] == setting]
        if part:
            print_whole(_overall(part, title, setting), console)
            print_whole(_categories(part, f"{title}, C per category", setting), console)
    console.print(
        "Means with 95 % bootstrap intervals; in brackets the paper's figures with GPT-4 (scene "
        "graph: sparse voxel maps; multi-frame: GPT-4V) on its own data.",
        style="dim",
        highlight=False,
    )


def _overall(rows: Records, title: str, setting: str) -> Table:
    table = Table(title=title, title_justify="left")
    columns = ["agent", "source", "questions", "missing", "C"]
    if setting == "active":
        columns[1:2] = ["exploration"]
        columns += ["E", "steps"]
    columns += ["guessed", "calls", "tokens", "s/question"]
    for k, name in enumerate(columns):
        table.add_column(name, justify="left" if k < 2 else "right")
    for row in rows:
        if row["category"] != "all" or (setting == "active" and row["source"] == "all"):
            continue
        method = str(row["method"])
        cells = [NAMES.get(method, method)]
        exploration = str(row["exploration"])
        cells.append(_explored(exploration) if setting == "active" else str(row["source"]))
        cells += [str(row["questions"]), str(row["missing"] or "")]
        theirs = paper_score(setting, method, str(row["source"]))
        cells.append(_interval(row, "C", theirs))
        if setting == "active":
            cells.append(_interval(row, "E", paper_efficiency(method)))
            cells.append("" if row["steps"] is None else f"{row['steps']:.0f}")
        guessed = row["guessed"]
        cells.append("" if guessed is None else f"{guessed:.0f} %")
        cells += [str(row["calls"]), str(row["tokens"])]
        cells.append("" if row["seconds"] is None else f"{row['seconds']:.3f}")
        table.add_row(*cells, style="bold" if method == "ours" else "")
    return table


def _categories(rows: Records, title: str, setting: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("agent")
    if setting == "active":
        table.add_column("exploration")
    for category in CATEGORIES:
        table.add_column(category.replace("_", " "), justify="right")
    table.add_column("all", justify="right")
    sources = list(dict.fromkeys(r["source"] for r in rows))
    source = "all" if "all" in sources else sources[0]
    for (_, method, exploration), found in groups(
        [r for r in rows if r["source"] == source]
    ).items():
        by_category = {r["category"]: r for r in found}
        cells = [NAMES.get(method, method)]
        if setting == "active":
            cells.append(_explored(exploration))
        for kind in (*CATEGORIES, "all"):
            row = by_category.get(kind)
            theirs = (
                paper_score(setting, method, source)
                if kind == "all"
                else paper_category(setting, method, kind)
            )
            cells.append("" if row is None or row["C"] is None else _beside(row["C"], theirs))
        table.add_row(*cells)
    return table


def _explored(exploration: str) -> str:
    return EXPLORATIONS.get(exploration, exploration)


def _interval(row: Mapping[str, Any], name: str, theirs: float | None) -> str:
    if row[name] is None:
        return "" if theirs is None else f"({theirs:.1f})"
    half = (row[f"{name}_high"] - row[f"{name}_low"]) / 2.0
    return _beside(row[name], theirs, f" ± {half:.1f}")


def _beside(ours: float, theirs: float | None, after: str = "") -> str:
    return f"{ours:.1f}{after}" + ("" if theirs is None else f" ({theirs:.1f})")


def draw_plots(rows: Records, out: Path) -> None:
    """Draw C per category and agent, and E of the active agents."""
    out.mkdir(parents=True, exist_ok=True)
    for setting in ("em", "active"):
        part = [r for r in rows if r["setting"] == setting and r["C"] is not None]
        if not part:
            continue
        sources = list(dict.fromkeys(r["source"] for r in part))
        source = "all" if "all" in sources else sources[0]
        found = groups([r for r in part if r["source"] == source])
        figure = Figure(figsize=(11, 4.5), layout="constrained")
        panel = figure.subplots()
        kinds = ("all", *CATEGORIES)
        width = 0.85 / max(len(found), 1)
        for k, ((_, method, exploration), of_group) in enumerate(found.items()):
            by_category = {r["category"]: r for r in of_group}
            x = [i + (k - (len(found) - 1) / 2) * width for i in range(len(kinds))]
            y = [(by_category.get(kind) or {"C": 0.0})["C"] for kind in kinds]
            label = NAMES.get(method, method)
            if exploration:
                label += f", {EXPLORATIONS[exploration]}"
            panel.bar(x, y, width=width * 0.92, label=label)
        panel.set_xticks(range(len(kinds)), [kind.replace("_", "\n") for kind in kinds])
        panel.set_ylabel("C [%]")
        panel.set_ylim(0, 100)
        panel.legend(fontsize=8, ncols=3)
        figure.savefig(out / f"openeqa_{setting}.png", dpi=120)
    _draw_efficiency(rows, out)


def _draw_efficiency(rows: Records, out: Path) -> None:
    part = [r for r in rows if r["category"] == "all" and r["E"] is not None]
    part = [r for r in part if r["source"] != "all"]
    if not part:
        return
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    panel = figure.subplots()
    for row in part:
        method = str(row["method"])
        label = f"{NAMES.get(method, method)}, {_explored(str(row['exploration']))}"
        panel.errorbar(
            row["C"],
            row["E"],
            xerr=[[row["C"] - row["C_low"]], [row["C_high"] - row["C"]]],
            yerr=[[row["E"] - row["E_low"]], [row["E_high"] - row["E"]]],
            marker="o",
            capsize=3,
            label=label,
        )
    panel.set_xlabel("C [%]")
    panel.set_ylabel("E [%]")
    panel.legend(fontsize=8)
    figure.savefig(out / "openeqa_efficiency.png", dpi=120)


def agreement(records: Records) -> dict[str, float] | None:
    """Return how the rule's marks agree with the model judge's; None without a model judge.

    `exact` and `within_one` are shares of the answers; `spearman` is the rank correlation, which
    the paper uses between judges (nan where either gives one mark to all); `missing` counts
    answers that the model gave no mark.
    """
    judged = [
        r for r in records if r.get("judge") in ("model", "official") and r["rule_mark"] is not None
    ]
    pairs = [(int(r["mark"]), int(r["rule_mark"])) for r in judged if r["mark"] is not None]
    if not pairs:
        return None
    from scipy.stats import spearmanr

    ours, theirs = [a for a, _ in pairs], [b for _, b in pairs]
    varied = len(set(ours)) > 1 and len(set(theirs)) > 1
    return {
        "answers": float(len(pairs)),
        "missing": float(len(judged) - len(pairs)),
        "exact": sum(a == b for a, b in pairs) / len(pairs),
        "within_one": sum(abs(a - b) <= 1 for a, b in pairs) / len(pairs),
        "spearman": float(spearmanr(ours, theirs).statistic) if varied else float("nan"),
    }
