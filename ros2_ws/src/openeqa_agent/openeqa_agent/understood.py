"""What an open question asks, once it is understood: its kind, the thing, its category."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from coterie_core.relations import RelationKind
from coterie_requests.understanding.descriptions import ANY, Thing

Category = Literal[
    "object_recognition",  # what is there
    "object_localization",  # where it is
    "attribute_recognition",  # its color, shape, material
    "spatial_understanding",  # how things stand to one another, what fits
    "object_state_recognition",  # open or closed, clean, on, full
    "functional_reasoning",  # what serves a purpose
    "world_knowledge",  # what follows from what people know
]
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
_HOME = re.compile(r"\b(?:home|house|building|apartment|people|person|live[ds]?|city|suburbs?)\b")
_KNOWN_STATES = frozenset(
    ("open", "closed", "on", "off", "clean", "messy", "empty", "full", "made", "unmade", "folded",
     "plugged in", "in", "out", "up", "set")
)  # fmt: skip


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
        unheard: Words that deny or compare, for which nothing stands in this reading.
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
    unheard: tuple[str, ...] = ()

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


def sort_category(question: OpenQuestion, core: str, context: str) -> Category:
    """Return the category of an understood question, from what it asks.

    Args:
        question: What is asked; its category is not looked at.
        core: The clause that asks.
        context: What was said before it.
    """
    kind = question.kind
    if kind in ("where", "which_room"):
        return "world_knowledge" if question.attribute == "this" else "object_localization"
    if kind == "color":
        return "attribute_recognition"
    if kind == "attribute":
        if question.attribute == "purpose":
            return "functional_reasoning"
        plain = question.attribute in ("material", "shape", "pattern", "size")
        return "attribute_recognition" if plain else "world_knowledge"
    if kind == "state":
        known = question.attribute in _KNOWN_STATES
        return "world_knowledge" if not known and _HOME.search(core) else "object_state_recognition"
    if kind == "is_there":
        return _presence(question)
    if kind == "relation":
        if _HOME.search(core) or re.search(r"\b(?:this|the) room\b", core):
            return "world_knowledge"
        held = question.relation in ("in", "on", None)
        return "object_state_recognition" if held else "spatial_understanding"
    if kind in ("space", "size"):
        return "spatial_understanding"
    if kind == "used_for":
        return _use(question, core, context)
    if kind == "how_many":
        return "world_knowledge" if _HOME.search(core) else "object_recognition"
    if kind == "what":
        return _what(question, core)
    return "spatial_understanding" if question.polar else "world_knowledge"


def _presence(question: OpenQuestion) -> Category:
    if question.relation in ("on", "in"):
        return "object_state_recognition"
    if question.relation is not None:
        return "spatial_understanding"
    return "world_knowledge"


def _use(question: OpenQuestion, core: str, context: str) -> Category:
    if re.search(r"\b(?:between|stand|walk|reach|fit|see)\b", core) and question.polar:
        return "spatial_understanding"
    if question.polar and not re.search(r"\b(?:something|anything|somewhere|a place)\b", core):
        return "world_knowledge"
    if context and question.attribute != "place":
        return "world_knowledge"  # a predicament told first asks for more than a tool
    return "functional_reasoning"


def _what(question: OpenQuestion, core: str) -> Category:
    if question.relation in ("between", "in front of"):
        return "spatial_understanding"
    if question.relation in ("under", "behind") and question.target.generic:
        return "object_recognition" if question.target.color else "spatial_understanding"
    if re.search(
        r"\b(?:brand|written|words?|animal|holiday|sport|season|name|weather|why)\b", core
    ):
        return "world_knowledge"
    return "object_recognition"
