"""Entries that a gate writes into the log: goals, permits, refusals and results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Protocol

from coterie_safety.permits.goal_scope import PermitGoal
from coterie_safety.permits.policy import Verdict
from coterie_safety.permits.request import Permit

_POLICY = "the policy"


class Log(Protocol):
    """Where permits are logged; see `coterie_safety.ledger.Ledger`."""

    def write(self, kind: str, robot: str, body: Mapping[str, object]) -> object:
        """Append an entry.

        Raises:
            OSError: It cannot be written.
        """
        ...


def goal_key(goal: PermitGoal) -> dict[str, object]:
    """Return what tells a goal from all others: its digest, and the action's goal it came as."""
    return {"goal": goal.digest, "action": goal.action}


def goal_entry(goal: PermitGoal) -> dict[str, object]:
    """Return all that is told of a goal."""
    told = asdict(goal)
    for name in ("robot", "digest", "action"):
        del told[name]
    if math.isinf(goal.speed):
        told["speed"] = None  # JSON has no such number
    return told


def permit_entry(permit: Permit) -> dict[str, object]:
    """Return what is told of a permit."""
    return {
        "permit": permit.id,
        "by": permit.by,
        "until": None if math.isinf(permit.until) else round(permit.until, 3),
        "standing": permit.standing,
    }


def by_policy(where: str = "") -> str:
    """Return who decides where nobody is asked; `where`: the rule that does."""
    return f"{_POLICY} ({where})" if where else _POLICY


def nobody_asked(kind: str, body: Mapping[str, object]) -> bool:
    """Whether an entry says only that the policy let a goal pass."""
    return kind == "permit" and str(body.get("by", "")).startswith(f"{_POLICY} (")


def refuses(verdict: Verdict) -> str:
    """Return which rule refuses a goal, in words."""
    if verdict.answer == "ask":
        return asks(verdict.where)
    return verdict.where if "; " in verdict.where else f"{verdict.where} refuses it"


def asks(where: str) -> str:
    """Return which rule asks a person, in words."""
    return f"{where} asks a person"
