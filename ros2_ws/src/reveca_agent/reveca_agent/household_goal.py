"""A goal in the words of maps of houses."""

from __future__ import annotations

from dataclasses import replace

from coterie_core.cooperation import Goal, SubGoal
from coterie_core.household import load_household


def household_goal(goal: Goal) -> Goal:
    """Return a goal as maps of houses have it.

    Labels get the household's names: a detector's synonyms count. What is in an open basket or a
    tub is on it, by maps.
    """
    return replace(goal, subgoals=tuple(_household_part(one) for one in goal.subgoals))


def _household_part(part: SubGoal) -> SubGoal:
    household = load_household()
    category = household.category(part.target)
    lidless = category is not None and category.depth > 0.0 and not category.opens
    return replace(
        part,
        relation="on" if lidless else part.relation,
        item=household.canonical(part.item) or part.item,
        target=household.canonical(part.target) or part.target,
    )
