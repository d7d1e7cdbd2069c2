"""Table of skills, one row each: what it moves, what it touches, and how a person reads it.

Guard, permits, team files and logs go by it. What is not in it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    Target,
    Wait,
)


@dataclass(frozen=True, slots=True)
class SkillSpec:
    """A skill as guard, permits and people see it. One with a `position` acts there.

    Attributes:
        name: Name in team files and logs.
        kind: Its class; None: it has none, and adapters do it by its name.
        words: Verb phrase for a person, after "may the robot ...?"; `{at}` stands for the place,
            `{thing}` for the target and `{held}` for what the hand holds. Every skill that moves
            has one.
        thing: Attribute that holds the `Target` it acts on; "": none.
        onto: Attribute that holds the `Target` it puts something down at; "": none.
        holds: Whether it moves what the hand holds.
        arm: Whether it takes an arm.
        moves: Whether it moves the robot or touches things, and so needs a permit.
    """

    name: str
    kind: type | None
    words: str = ""
    thing: str = ""
    onto: str = ""
    holds: bool = False
    arm: bool = False
    moves: bool = True

    def target(self, skill: object) -> Target | None:
        """Return what a skill of this row acts on, or puts something down at; None: nothing."""
        name = self.thing or self.onto
        found: Target | None = getattr(skill, name) if name else None
        return found


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
