"""A goal in the words of maps of houses."""

from __future__ import annotations

import difflib
from dataclasses import replace

from coterie_core.cooperation import Goal, SubGoal
from coterie_core.household import load_household


def household_goal(goal: Goal) -> Goal:
    """Return a goal as maps of houses have it.

    Labels get the household's names: a detector's synonyms count. What is in an open basket or a
    tub is on it, by maps.
    """
    return replace(goal, subgoals=tuple(_household_part(one) for one in goal.subgoals))


def unfamiliar(goal: Goal) -> list[str]:
    """Return a warning for each label of a goal that is no household's name for a thing.

    A detector may know it, so it is looked for; a name that is misspelled, until time is up.
    """
    household, warnings = load_household(), []
    labels = dict.fromkeys(label for part in goal.subgoals for label in (part.item, part.target))
    for label in labels:
        if household.category(label) is None:
            near = difflib.get_close_matches(label, household.categories, n=1)
            hint = f"do you mean {near[0]!r}?" if near else "is it spelled as the detector has it?"
            warnings.append(
                f"{label!r} is no household's name for a thing that robots here know; {hint} They "
                "look for it until time is up."
            )
    return warnings


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
