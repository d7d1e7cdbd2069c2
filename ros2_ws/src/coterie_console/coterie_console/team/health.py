"""Health of robots and programs of a team, cost of models, and what is left of their budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from coterie_console.team.records import Robot
from coterie_console.text import plain

LOST_AFTER_S, STALE_AFTER_S = 5.0, 6.0
"""Ages at which a robot counts as out of reach, and a node's report as old [s]."""
_LEVELS = {0: "ok", 1: "warning", 2: "error", 3: "old"}


class NodeReport(NamedTuple):
    """What a node said of itself in its diagnostics; `heard` by the state's clock [s]."""

    heard: float
    level: int
    message: str
    values: Mapping[str, str]


def health_of(
    robots: Mapping[str, Robot], nodes: Mapping[str, NodeReport], now: float
) -> dict[str, Any]:
    """Return the health of a team as plain data.

    A robot's charge is what its program says in `robot.battery`; None: it says nothing, or nothing
    any more. A robot that is silent is lost, unless it lives in a bridge's simulated house, whose
    node tells of itself: it does not move then. `models` has a row for each program that asked a
    model, or has a budget for one; `labels` is the number of answers that people marked, None where
    no aggregator tells it.
    """
    shown, models, charges, labels, simulated = [], [], {}, None, False
    for name, report in sorted(nodes.items()):
        old = now - report.heard > STALE_AFTER_S
        silent = f"silent for {now - report.heard:.0f} s"
        level = "old" if old else _LEVELS.get(report.level, "error")
        message = silent if old else plain(report.message, 200)
        shown.append({"name": plain(name), "level": level, "message": message})
        if (count := _number(report.values.get("questions.labels"))) is not None:
            labels = int(count)
        models += _models(name, report.values)
        charge = None if old else _number(report.values.get("robot.battery", "").rstrip(" %"))
        simulated |= not old and name.rpartition("/")[2] == "bridge"
        owner = name.rpartition("/")[0].rpartition("/")[2]
        if charge is not None and charge <= 100.0 and owner in robots:
            charges[owner] = charge / 100.0
    return {
        "robots": [
            {
                "name": plain(one.name),
                "age": None if one.heard is None else round(now - one.heard, 1),
                "lost": one.heard is None or (now - one.heard > LOST_AFTER_S and not simulated),
                "charge": charges.get(one.name),
            }
            for one in robots.values()
        ],
        "nodes": shown,
        "models": models,
        "labels": labels,
        "tokens": sum(row["tokens"] or 0 for row in models),
        "cost": round(sum(row["cost"] or 0.0 for row in models), 4),
    }


def _models(node: str, values: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a node's models: what was used, and what is left of the budgets."""
    rows: list[dict[str, Any]] = []
    told = {key[6:]: value for key, value in values.items() if key.startswith("model.")}
    tokens = sum(_number(told.get(key)) or 0.0 for key in ("prompt_tokens", "completion_tokens"))
    for which in ("", "larger_"):
        limited = f"{which}used_up" in told
        asked_next = not which and "larger_kind" in told
        used_up = f"used up: {'the larger model is asked' if asked_next else 'the rules decide'}"
        if limited or (not which and tokens):
            rows.append(
                {
                    "name": plain(node + (" (larger model)" if which else "")),
                    # Both models' calls are counted together.
                    "tokens": None if which else int(tokens),
                    "cost": None if which else _number(told.get("cost")),
                    "left_tokens": _number(told.get(f"{which}left_tokens")),
                    "budget_tokens": _number(told.get(f"{which}budget_tokens")),
                    "left_cost": _number(told.get(f"{which}left_cost")),
                    "budget_cost": _number(told.get(f"{which}budget_cost")),
                    "used_up": used_up if told.get(f"{which}used_up") == "yes" else "",
                }
            )
    return rows


def _number(text: str | None) -> float | None:
    """Return a number of at least 0 that a text says; None: it says none."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0.0 <= value < 1e15 else None
