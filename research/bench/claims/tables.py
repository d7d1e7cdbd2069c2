"""Tables of the bench of claims: what was claimed, what was false, what could have been done."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.table import Table
from scipy.stats import chi2

from research.bench.common.intervals import share_interval

Record = Mapping[str, Any]
SLICES = ("kind", "prior", "detector", "team")
UNSEEN_BINS = (0.0, 0.02, 0.05, 0.1, 0.3, 1.0)
"""Lower ends of the bins of what is believed to be unseen [things]."""


def claims_of(record: Record) -> bool:
    """Whether a record claims anything: done, an answer to a check, or that none is there."""
    return record["state"] == "done" or record.get("said_yes") is not None


def can_be_done(record: Record) -> bool:
    """Whether some robots of the team reach all things that are needed, and there are some."""
    if record["kind"] != "check" and not record.get("there", 1):
        return False  # nothing is there to be brought or found
    return bool(record.get("possible"))


def can_be_known(record: Record) -> bool:
    """Whether the team can do the task and know that it has: looks can show that no more is left.

    Where one thing or a number of things is asked for, nothing but these must be seen.
    """
    counted = record["kind"] in ("bring_count", "find_one")
    return can_be_done(record) and bool(counted or record.get("searchable"))


def summary(records: Sequence[Record]) -> dict[str, Any]:
    """Return counts and shares of some tasks, the shares with 95 % intervals over houses."""
    ran = [r for r in records if r["state"] not in ("refused", "error")]
    claimed = [r for r in ran if claims_of(r)]
    able = [r for r in ran if can_be_done(r)]
    known = [r for r in ran if can_be_known(r)]
    missed = [r for r in able if r["state"] != "done" and not r.get("met")]
    return {
        "tasks": len(records),
        "refused": sum(r["state"] == "refused" for r in records),
        "errors": sum(r["state"] == "error" for r in records),
        "claims": len(claimed),
        "false_done": sum(r.get("false") == "done" for r in claimed),
        "false_no": sum(r.get("false") == "no" for r in claimed),
        "false_yes": sum(r.get("false") == "yes" for r in claimed),
        "false_share": _share(claimed, lambda r: bool(r.get("false"))),
        "possible": len(able),
        "possible_done": _share(able, lambda r: r["state"] == "done"),
        "knowable": len(known),
        "knowable_done": _share(known, lambda r: r["state"] == "done"),
        "possible_not_reached": len(missed),
        "partial": sum(r["state"] == "partial" for r in ran),
        "not_done": sum(r["state"] == "not_done" for r in ran),
        "held_at_end": sum(int(r.get("held", 0)) for r in ran),
    }


def _share(records: Sequence[Record], of: Callable[[Record], bool]) -> tuple[float, float, float]:
    """Return the share [%] of records and its 95 % interval, by house; NaN where there are none."""
    share, low, high = share_interval([of(r) for r in records], [r["house"] for r in records])
    return 100.0 * share, 100.0 * low, 100.0 * high


def claims_table(records: Sequence[Record]) -> Table:
    """Return the table: all tasks, then by kind, map, detector and team."""
    table = Table(
        title="Claims against the truth; shares [%] with 95 % intervals over houses",
        caption="claims: DONE, an answer to a check, or none of them is there; can be done: robots "
        "of the team reach all things that are needed; can be known: for all or none, looks from "
        "all over, into all that they can open, would show too that hardly anything is left",
    )
    for title in ("tasks", "n", "refused", "claims", "false done/no/yes", "false",
                  "can be done", "of these DONE", "can be known", "of these DONE",
                  "partial", "not done"):  # fmt: skip
        table.add_column(title, justify="left" if title == "tasks" else "right")
    rows: list[tuple[str, list[Record]]] = [("all", list(records))]
    for name in SLICES:
        for value in sorted({str(r[name]) for r in records}):
            rows.append((f"{name} {value}", [r for r in records if str(r[name]) == value]))
    for title, chosen in rows:
        told = summary(chosen)
        wrong = f"{told['false_done']}/{told['false_no']}/{told['false_yes']}"
        table.add_row(
            title, str(told["tasks"]), str(told["refused"] + told["errors"]), str(told["claims"]),
            wrong, _percent(told["false_share"]), str(told["possible"]),
            _percent(told["possible_done"]), str(told["knowable"]),
            _percent(told["knowable_done"]), str(told["partial"]), str(told["not_done"]),
        )  # fmt: skip
    return table


def belief_table(records: Sequence[Record]) -> Table | None:
    """Return what searches believe to be unseen at their end against what truly is.

    None where nothing was searched for.
    """
    ran = [r for r in records if r.get("searched")]
    if not ran:
        return None
    table = Table(
        title="Things that nobody has seen at the end of a search, as believed and in truth",
        caption="things per task; the interval of the truth is that of a Poisson count (95 %)",
    )
    for title in ("believed unseen", "tasks", "believed", "in truth", "with any unseen [%]"):
        table.add_column(title, justify="right")
    for low, high in itertools.pairwise((*UNSEEN_BINS, math.inf)):
        chosen = [r for r in ran if low <= r["left"] < high]
        if not chosen:
            continue
        count, n = sum(r["unseen"] for r in chosen), len(chosen)
        least, most = poisson_interval(count)
        name = f"{low:g} to {high:g}" if high < math.inf else f"{low:g} and more"
        table.add_row(
            name, str(n), f"{sum(r['left'] for r in chosen) / n:.3f}",
            f"{count / n:.3f} ({least / n:.3f}-{most / n:.3f})",
            f"{100.0 * sum(bool(r['unseen']) for r in chosen) / n:.0f}",
        )  # fmt: skip
    return table


def poisson_interval(count: int) -> tuple[float, float]:
    """Return the exact 95 % interval of the mean of a Poisson distribution of which one count is.

    Garwood (1936), Fiducial limits for the Poisson distribution.
    """
    low = float(chi2.ppf(0.025, 2 * count)) / 2.0 if count else 0.0
    return low, float(chi2.ppf(0.975, 2 * count + 2)) / 2.0


def _percent(share: tuple[float, float, float]) -> str:
    value, low, high = share
    return "-" if value != value else f"{value:.0f} ({low:.0f}-{high:.0f})"
