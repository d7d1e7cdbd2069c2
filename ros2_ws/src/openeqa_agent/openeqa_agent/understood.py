"""What an open question asks, once it is understood: its kind, the thing, what is offered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coterie_core.relations import RelationKind
from openeqa_agent.categories import Category
from openeqa_agent.words import ANY, Thing

Kind = Literal[
    "is_there",
    "what",
    "where",
    "how_many",
    "color",
    "attribute",
    "state",
    "which_room",
    "used_for",
    "relation",
    "size",
    "space",
    "choice",
    "other",
]
"""What is asked: whether there is such a thing; what stands somewhere; where; how many; its color;
another attribute (material, shape, ...); its state; the room; what serves a use; whether a relation
holds; how large or which is larger or nearer; whether there is room for more; which of several
things or places fits; none of these."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question understood as far as its words go.

    Attributes:
        text: As asked.
        kind: What is asked.
        category: One of the benchmark's seven.
        target: The thing that is asked about, or what kind of thing is asked for.
        others: Further things: what the target is compared with, or nearness is measured to.
        attribute: "material", "shape", "floor", "open", "clean", "larger", "nearer", "far", ...
        choices: Answers that the question offers ("open or closed"), as said.
        polar: Whether yes or no is asked for.
        use: The words that name a use, for `used_for` and `space`.
        opposite: Whether the question denies what it asks about ("is the mug not on the desk").
        rank: Which one of the largest, nearest, ... is meant: 2 for "the second largest".
        options: What is offered in a choice, as questions of yes or no; `choices` has its words.
        parsed: Whether a pattern fits; else only words were heard.
    """

    text: str
    kind: Kind = "other"
    category: Category = "object_recognition"
    target: Thing = ANY
    others: tuple[Thing, ...] = ()
    attribute: str = ""
    choices: tuple[str, ...] = ()
    polar: bool = False
    use: str = ""
    opposite: bool = False
    rank: int = 1
    options: tuple[OpenQuestion, ...] = ()
    parsed: bool = True

    @property
    def relation(self) -> RelationKind | None:
        """How the target stands to the anchors."""
        return self.target.relation

    @property
    def anchors(self) -> tuple[Thing, ...]:
        """What the target stands to."""
        return self.target.anchors

    @property
    def room(self) -> str:
        """The room that is spoken of, or ""."""
        return self.target.room


STATES: dict[str, str] = {
    **dict.fromkeys(("open", "opened", "ajar", "drawn", "unlocked"), "open"),
    **dict.fromkeys(("closed", "close", "shut", "locked"), "closed"),
    **dict.fromkeys(("on", "turned on", "switched on", "lit", "running", "powered on"), "on"),
    **dict.fromkeys(("off", "turned off", "switched off", "powered off"), "off"),
    **dict.fromkeys(("clean", "tidy", "neat", "organized", "organised", "clear"), "clean"),
    **dict.fromkeys(("dirty", "messy", "cluttered", "untidy", "disorganized", "used"), "messy"),
    **dict.fromkeys(("empty", "free", "unoccupied", "available", "vacant"), "empty"),
    **dict.fromkeys(("full", "occupied", "filled"), "full"),
    **dict.fromkeys(("made", "made up"), "made"),
    **dict.fromkeys(("plugged in", "plugged", "connected"), "plugged in"),
    **dict.fromkeys(("unmade",), "unmade"),
    **dict.fromkeys(("folded",), "folded"),
}
"""Words for states, and one name for each."""
