"""Shared goals of a cooperating team: predicates with counts, such as ON(plate, table): 2."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from coterie_core.plain_data import shorten

Relation = Literal["on", "in"]
Kind = Literal["household", "transport"]

_FORM = re.compile(r"^\s*(on|in)\s*\(([^,()]+),([^,()]+)\)\s*(?::\s*([0-9]+))?\s*$", re.IGNORECASE)


MAX_SUBGOAL_COUNT = 10_000
"""Largest count of a sub-goal."""


class GoalError(ValueError):
    """A goal is not as it should be: says which part, what was expected, what came."""


@dataclass(frozen=True, slots=True)
class SubGoal:
    """A predicate with a count (REVECA, problem definition): so many things on or in a target.

    Attributes:
        relation: `on` or `in`.
        item: Label of the things to bring.
        target: Label (or id) of where they belong.
        count: Number of items that the sub-goal asks for.
        group: Class of items that a transport goal counts apart: `food` or `stuff`; else "".
    """

    relation: Relation
    item: str
    target: str
    count: int = 1
    group: str = ""

    def __str__(self) -> str:
        return f"{self.key}: {self.count}"

    @property
    def key(self) -> str:
        """The predicate without its count, as messages name it: `ON(plate, table)`."""
        return f"{self.relation.upper()}({self.item}, {self.target})"

    @staticmethod
    def parse(text: str) -> SubGoal:
        """Read `ON(plate, table): 2`; without a number the count is 1.

        Raises:
            GoalError: It is not of that form.
        """
        found = _FORM.match(text)
        if found is None:
            got = shorten(repr(text[:200]))
            raise GoalError(f"sub-goal: expected a form like 'ON(plate, table): 2', got {got}")
        relation, item, target, count = found.groups()
        digits = (count or "1").lstrip("0")
        # Counted before it is read: Python refuses numbers of thousands of digits.
        number = int(digits) if 1 <= len(digits) <= len(str(MAX_SUBGOAL_COUNT)) else 0
        if not 1 <= number <= MAX_SUBGOAL_COUNT:
            raise GoalError(
                f"sub-goal {shorten(text)!r}: the count must be a number from 1 to "
                f"{MAX_SUBGOAL_COUNT}"
            )
        kind: Relation = "on" if relation.lower() == "on" else "in"
        return SubGoal(kind, item.strip().lower(), target.strip().lower(), number)


@dataclass(frozen=True)
class Goal:
    """What a team shares: its sub-goals, and in words what they are for.

    Attributes:
        name: The activity, such as `set the table`.
        subgoals: Predicates with counts; labels may come in several.
        kind: Kind of world that the goal is for.
    """

    name: str
    subgoals: tuple[SubGoal, ...]
    kind: Kind = "household"

    @property
    def total(self) -> int:
        """Number of things to bring (sum of the counts)."""
        return sum(one.count for one in self.subgoals)

    @cached_property
    def items(self) -> frozenset[str]:
        """Labels of things to bring."""
        return frozenset(one.item for one in self.subgoals)

    @cached_property
    def targets(self) -> frozenset[str]:
        """Labels or ids of where things belong."""
        return frozenset(one.target for one in self.subgoals)

    def of_item(self, label: str) -> tuple[SubGoal, ...]:
        """Return the sub-goals that a thing with this label can serve."""
        return self._by_item.get(label, ())

    @cached_property
    def _by_item(self) -> Mapping[str, tuple[SubGoal, ...]]:
        table: dict[str, list[SubGoal]] = {}
        for one in self.subgoals:
            table.setdefault(one.item, []).append(one)
        return {label: tuple(found) for label, found in table.items()}

    def text(self) -> str:
        """Return the goal in one line."""
        return f"{self.name}: " + ", ".join(str(one) for one in self.subgoals)

    @staticmethod
    def parse(name: str, subgoals: Iterable[str], kind: Kind = "household") -> Goal:
        """Read a goal from its predicates.

        Raises:
            GoalError: A predicate is malformed, or there is none.
        """
        parts = tuple(SubGoal.parse(text) for text in subgoals)
        if not parts:
            raise GoalError(f"goal {name!r}: expected at least one predicate, got none")
        return Goal(name, parts, kind)
