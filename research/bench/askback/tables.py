"""Rates of the bench of asking back, of rules to compare with, and coverage on new houses."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from coterie_core.conformal import LEVELS, Thresholds
from research.bench.askback.calibrate import Measured, all_told
from research.bench.askback.told import Told
from research.bench.common.intervals import share_interval

KINDS = (
    "ambiguous", "false_premise", "not_seen_yet", "subjective", "underspecified", "missed", "clear"
)  # fmt: skip
Record = Mapping[str, Any]


def rates(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return, per judge and kind, how often it abstains or asks, with 95 % intervals by house.

    Judges: the team; the team without asking back; its confidence alone, and chance, both at the
    same share of abstentions as the team's; and who always answers.
    """
    share = sum(one["judged"] != "clear" for one in records) / max(len(records), 1)
    ranked = sorted(records, key=lambda one: (one["confidence"], one["words"]))
    unsure = {id(one) for one in ranked[: round(share * len(records))]}
    rng = random.Random(0)
    drawn = {id(one) for one in rng.sample(list(records), round(share * len(records)))}
    judges: dict[str, Callable[[Record], bool]] = {
        "asks back": lambda one: one["judged"] != "clear",
        "without": lambda one: bool(one["before"]),
        "confidence alone": lambda one: id(one) in unsure,
        "chance": lambda one: id(one) in drawn,
        "always answers": lambda one: False,
    }
    rows: list[dict[str, Any]] = []
    for name, abstains in judges.items():
        for kind in KINDS:
            of = [one for one in records if one["kind"] == kind]
            if of:
                rows.append({"judge": name, "kind": kind, "requests": len(of)}
                            | _share("abstains", of, abstains))  # fmt: skip
    for kind in KINDS:
        of = [one for one in records if one["kind"] == kind]
        row = next((r for r in rows if r["judge"] == "asks back" and r["kind"] == kind), None)
        if row is None:
            continue
        row |= _share("named", of, _rightly)
        offered = [one for one in of if one["right_candidates"] is not None]
        if offered:
            row |= _share("candidates", offered, lambda one: bool(one["right_candidates"]))
    return rows


def _rightly(one: Record) -> bool:
    """Whether a request is taken for what it is; what was missed is only not to be denied."""
    kind, judged = one["kind"], one["judged"]
    return bool(judged in ("not_seen_yet", "clear") if kind == "missed" else judged == kind)


def _share(name: str, of: Sequence[Record], hit: Callable[[Record], bool]) -> dict[str, Any]:
    share, low, high = share_interval([hit(one) for one in of], [one["house"] for one in of])
    return {name: round(share, 4), f"{name}_low": round(low, 4), f"{name}_high": round(high, 4)}


def rates_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the rates as a table, in percent."""
    table = Table(title="Requests that are not simply answered [%]", title_justify="left")
    for name in ("judge", "kind", "requests", "abstains or asks", "right kind", "right candidates"):
        table.add_column(name)
    for row in rows:
        cells = [_percent(row, name) for name in ("abstains", "named", "candidates")]
        table.add_row(row["judge"], row["kind"], str(row["requests"]), *cells)
    return table


def _percent(row: Mapping[str, Any], name: str) -> str:
    if name not in row:
        return ""
    low, high = 100 * row[f"{name}_low"], 100 * row[f"{name}_high"]
    return f"{100 * row[name]:.0f} ({low:.0f}-{high:.0f})"


def conformal_rows(found: Sequence[Measured], known: Thresholds) -> list[dict[str, Any]]:
    """Return, per method, liar and level, how many answers were right or withheld, and given."""
    rows: list[dict[str, Any]] = []

    def add(of: str, told: Told, least: Callable[[float], float], *liars: bool) -> None:
        lies, allowed = liars or (False, False)
        what = {"of": of, "liar": lies, "calibrated_with_liar": allowed}
        rows.extend(what | _covered(told, least(level), level) for level in LEVELS)

    for lies, allowed in ((False, False), (True, False), (True, True)):
        for name in found[0].answers:
            told = all_told(found, lambda m, n=name: (m.with_liar if lies else m.answers)[n])  # type: ignore[misc]  # noqa: B023
            add(name, told, lambda q, n=name: known.answer(n, q, liar=allowed), lies, allowed)  # type: ignore[misc]  # noqa: B023
        told = all_told(found, lambda m: m.opened_with_liar if lies else m.opened)  # noqa: B023
        add("open answers", told, lambda q: known.open_answer(q, liar=allowed), lies, allowed)  # noqa: B023
    add("denials of a house", all_told(found, lambda m: m.denials), known.denial)
    here = all_told(found, lambda m: m.denials_here)
    add("denials of a room", here, lambda q: known.denial(q, everywhere=False))
    return rows


def _covered(told: Told, least: float, level: float) -> dict[str, Any]:
    given = told.confidence > least
    good = told.right | ~given
    share, low, high = share_interval(good.tolist(), list(told.houses))
    right = told.right[given]
    chosen = [house for house, one in zip(told.houses, given, strict=True) if one]
    accuracy, from_, to = share_interval(right.tolist(), chosen)
    return {
        "level": level, "threshold": least, "answers": len(good), "houses": len(set(told.houses)),
        "covered": round(share, 4), "covered_low": round(low, 4), "covered_high": round(high, 4),
        "given": round(float(np.mean(given)), 4),
        "right": round(accuracy, 4), "right_low": round(from_, 4), "right_high": round(to, 4),
    }  # fmt: skip


def answers_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the coverage as a table, in percent."""
    table = Table(title="Answers that are right or withheld [%]", title_justify="left")
    for name in ("of", "liar", "threshold made", "level", "threshold", "right or withheld",
                 "given", "right of those"):  # fmt: skip
        table.add_column(name)
    for row in rows:
        made = "with a liar" if row["calibrated_with_liar"] else "without"
        table.add_row(
            row["of"], "yes" if row["liar"] else "", made, f"{100 * row['level']:.0f}",
            f"{row['threshold']:.3f}", _percent(row, "covered"), f"{100 * row['given']:.0f}",
            _percent(row, "right"),
        )  # fmt: skip
    return table
