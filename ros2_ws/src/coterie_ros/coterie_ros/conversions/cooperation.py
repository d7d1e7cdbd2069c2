"""Goals of cooperating robots, to messages and back."""

from __future__ import annotations

from collections.abc import Sequence

from coterie_core.cooperation import Goal, Relation, SubGoal
from coterie_msgs.msg import SubGoal as SubGoalMsg
from coterie_ros.conversions.checks import Checks
from coterie_ros.conversions.notes import MOST_NAMES

_RELATIONS: dict[int, Relation] = {SubGoalMsg.ON: "on", SubGoalMsg.IN: "in"}
_RELATION_NUMBERS = {relation: number for number, relation in _RELATIONS.items()}


def goal_to_msg(goal: Goal) -> list[SubGoalMsg]:
    """Return a goal's predicates as messages; its name travels beside them."""
    return [
        SubGoalMsg(
            relation=_RELATION_NUMBERS[one.relation],
            item=one.item,
            target=one.target,
            count=one.count,
            group=one.group,
        )
        for one in goal.subgoals
    ]


def goal_from_msg(name: str, subgoals: Sequence[SubGoalMsg], topic: str = "goal") -> Goal:
    """Return a goal.

    Raises:
        ConversionError: No predicate or too many, one without item, target or count, or an
            unknown relation.
    """
    checks = Checks(topic)
    parts = []
    for k, one in enumerate(checks.items("goal", subgoals, MOST_NAMES)):
        inner = checks.at(f"goal[{k}]")
        parts.append(
            SubGoal(
                relation=inner.choice("relation", one.relation, _RELATIONS),
                item=inner.text("item", one.item, empty=False),
                target=inner.text("target", one.target, empty=False),
                count=int(inner.number("count", one.count, 1, 1000)),
                group=inner.text("group", one.group),
            )
        )
    if not parts:
        raise checks.fail("goal", "at least one predicate", "none")
    return Goal(checks.text("name", name), tuple(parts))
