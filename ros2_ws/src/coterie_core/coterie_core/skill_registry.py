"""Table of skills, one row each: what it moves, what it touches, and how a person reads it.

Guard, permits, team files and logs go by it. What is not in it is refused. Installed packages add
rows: their entry points of the group `coterie.skills` name a `SkillSpec` each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from coterie_core.skills import (
    Ask,
    Close,
    Detect,
    LookAround,
    MoveArmTo,
    NavigateTo,
    Open,
    Outcome,
    Pick,
    Place,
    SkillRefused,
    SkillSpec,
    Wait,
)

DOCK = "dock"
"""Name of the drive to the dock, a physical action of real robots that is no skill."""
SKILLS: dict[str, SkillSpec] = {
    spec.name: spec
    for spec in (
        SkillSpec("navigate_to", NavigateTo, "drive to {at}"),
        SkillSpec("look_around", LookAround, "turn and look around"),
        SkillSpec("detect", Detect, moves=False),
        SkillSpec("move_arm_to", MoveArmTo, "move its hand to {at}", holds=True, arm=True),
        SkillSpec("pick", Pick, "take {thing}", thing="target", arm=True),
        SkillSpec(
            "place", Place, "put {held} on or into {thing}", onto="receptacle", holds=True, arm=True
        ),
        SkillSpec("open", Open, "open {thing}", thing="target", arm=True),
        SkillSpec("close", Close, "close {thing}", thing="target", arm=True),
        SkillSpec("ask", Ask, moves=False),
        SkillSpec("wait", Wait, moves=False),
        SkillSpec(DOCK, None, "drive to its dock"),
    )
}
"""The rows by their names."""
ON_TARGET: dict[str, type] = {
    name: spec.kind for name, spec in SKILLS.items() if spec.kind and (spec.thing or spec.onto)
}
"""Skills that are made of the one `Target` that they act on, by their names."""
OWN_SKILLS = "coterie.skills"
"""Group of the entry points by which packages add rows."""


class SkillError(ValueError):
    """A package adds a skill that cannot be one."""


def doing(skill: str) -> str:
    """Return what a robot does whose report names a skill's class: `NavigateTo`: "drive"."""
    kinds = {spec.kind.__name__: spec for spec in SKILLS.values() if spec.kind is not None}
    spec = kinds.get(skill)
    if spec is None:
        return skill
    words = re.sub(r"( (to|on or into))? \{\w+\}", "", spec.words)
    return words or spec.name.replace("_", " ")


def add_rows(found: Iterable[EntryPoint]) -> None:
    """Add the rows that packages bring.

    Raises:
        SkillError: One is no row of a skill on one target, or has a name that is taken.
    """
    for entry in found:
        where = f"skill {entry.name!r} of {entry.dist.name if entry.dist else entry.value}"
        try:
            spec = entry.load()
        except (ImportError, AttributeError) as error:
            raise SkillError(f"{where}: {entry.value} cannot be loaded: {error}") from None
        if not isinstance(spec, SkillSpec) or spec.kind is None or not (spec.thing or spec.onto):
            raise SkillError(
                f"{where}: expected a SkillSpec with `kind`, its class, and `thing`, the attribute "
                f"with the Target that it acts on; got {spec!r}"
            )
        if spec.name != entry.name or not spec.name.isidentifier():
            raise SkillError(f"{where}: its row is called {spec.name!r}; call both the same")
        if spec.name in SKILLS:
            raise SkillError(f"{where}: there is a skill of that name; take another one")
        SKILLS[spec.name] = spec
        ON_TARGET[spec.name] = spec.kind


add_rows(entry_points(group=OWN_SKILLS))


def own_verbs() -> dict[str, str]:
    """Return the verbs by which people ask for the skills of packages, each with the skill."""
    return {verb: spec.name for spec in SKILLS.values() for verb in spec.verbs}


def spec_of(skill: object) -> SkillSpec:
    """Return the row of a skill, given that, or the name of one that has no class.

    Raises:
        SkillRefused: REFUSED: there is no row, or it moves and no words say to a person what it
            does.
    """
    kind = None if isinstance(skill, str) else type(skill)
    rows = (one for one in SKILLS.values() if one.kind is kind and (kind or one.name == skill))
    found = next(rows, None)
    name = type(skill).__name__ if kind else skill
    if found is None:
        raise SkillRefused(
            Outcome.REFUSED,
            f"{name} is not in the table of skills ({__name__}): nobody knows what it moves",
        )
    if found.moves and not found.words:
        raise SkillRefused(
            Outcome.REFUSED,
            f"{name} has no words in the table of skills ({__name__}), so that no person could "
            "read what it does",
        )
    return found
