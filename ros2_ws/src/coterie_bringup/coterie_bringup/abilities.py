"""What a team can be asked for, and what its team file needs for that."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Literal, get_args

from coterie_bringup.errors import CommandError

if TYPE_CHECKING:
    from coterie_bringup.team import Team

Ability = Literal["explore", "ask", "find", "do", "together", "map"]
_NEEDS: dict[Ability, tuple[str, str, str]] = {
    "explore": ("no robot that explores", "a robot of `role: explorer`", "home"),
    "ask": (
        "nobody who answers questions",
        "a robot of `role: explorer`, or `mapper: {}` and `open_questions: {}`",
        "home",
    ),
    "find": ("no object planner", "`mapper: {}` and `planner: {}`", "home"),
    "do": ("no leader", "`leader: {}` and a robot of `role: worker`", "emos"),
    "together": ("no robot that cooperates", "a robot of `role: cooperator`", "reveca"),
    "map": ("no semantic map", "`mapper: {}`", "home"),
}
"""What a team lacks, what its file needs then, and a team that comes with Coterie and has it."""


def lacking(team: Team) -> list[Ability]:
    """Return what a team cannot be asked for, by its file."""
    there = {
        "explore": team.explorers,
        "ask": team.explorers or team.open_questions,
        "find": team.planner,
        "do": team.leader,
        "together": team.cooperators,
        "map": team.mapper or team.leader,
    }
    return [ability for ability in get_args(Ability) if not there[ability]]


def without(ability: Ability, who: str) -> str:
    """Return in words that a team lacks something, and what to do.

    Args:
        ability: What it is asked for.
        who: The team, such as "team home".
    """
    lacks, needs, other = _NEEDS[ability]
    return (
        f"{who} has {lacks}: give its team file {needs}, or start a team that has: "
        f"./coterie up {other}"
    )


def silent(ability: Ability, who: str) -> str:
    """Return in words why nobody responds: a file that lacks something is only one reason."""
    return f"it is starting, or hangs (./coterie doctor tells); otherwise {without(ability, who)}"


def require(ability: Ability, lacks: Collection[str], who: str) -> None:
    """Refuse at once what a team cannot do.

    Args:
        ability: What it is asked for.
        lacks: What `lacking` returned for it.
        who: The team, such as "team home".

    Raises:
        CommandError: It lacks that.
    """
    if ability in lacks:
        raise CommandError(without(ability, who))
