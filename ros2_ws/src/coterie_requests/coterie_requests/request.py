"""Request: what a person asks of the team, in one typed form for every door it came in by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from coterie_core.household import plural
from coterie_core.relations import RelationKind
from coterie_core.skill_registry import ON_TARGET

Command = Literal["bring", "take", "find", "look", "check", "go", "open", "close", "use"]
"""What robots do: bring things to a place, pick them up, find them, look at them, check whether
there are any, go somewhere, open and close furniture, do a skill of another package to things."""
QuestionKind = Literal[
    "is_there",
    "where",
    "how_many",
    "what",
    "color",
    "attribute",
    "state",
    "which_room",
    "used_for",
    "relation",
    "size",
    "space",
]
"""What is asked: whether there are such things; where they are; how many; what things are in a
place; their color; another attribute (material, shape, kind); whether they are in a state; their
room; what serves a use; whether they are where it is said; how large, or how far, or which one is
larger or nearer; whether there is room for them."""
Act = Command | QuestionKind
COMMANDS: frozenset[str] = frozenset(Command.__args__)  # type: ignore[attr-defined]
Relation = RelationKind | Literal["to", "from", "with"]
"""How a thing stands to another one. "to": it goes there, on or in it. "from": it is taken from
there. "with": the other is on or in it ("a desk with a lamp")."""
Choice = Literal[
    "nearest", "farthest", "largest", "smallest", "tallest", "shortest", "highest", "lowest",
    "other", "another", "rest",
]  # fmt: skip
"""Which of several things are meant."""
REQUEST_CHARS = 20_000
"""Longest JSON of a Request that is taken from another process [characters]."""
ALL = 0
"""The amount that stands for all of them."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Place(_Part):
    """Where something is, or goes: "on the table or the desk", "not in the kitchen"."""

    relation: Relation = "in"
    things: tuple[Thing, ...] = Field(
        description="what it stands to; several are alternatives, but for between and with"
    )
    negated: bool = False

    @property
    def thing(self) -> Thing:
        """The first thing that it stands to."""
        return self.things[0]

    def told(self) -> str:
        """Return the words for it: "not on the table"."""
        joined = " and " if self.relation == "between" else " or "
        said = f"{self.relation} {joined.join(thing.told() for thing in self.things)}"
        return f"not {said}" if self.negated else said


class Thing(_Part):
    """Things or places as a person describes them; every field that is empty was not said.

    Attributes:
        name: Noun in the singular, as said, without what the other fields hold: "mug", "kitchen";
            "" for any thing.
        said: The words of the person.
        amount: How many; `ALL` (0) for all of them.
        definite: Whether they are known to the person: "the mug", "my keys".
        color: Color as said.
        attributes: Other adjectives: "dirty", "wooden", "of tea".
        choice: Which of several: "nearest", "largest", "other", ...
        rank: Place in an order, from 1; -1: the last; 0: not said.
        by: What `choice` or `rank` is measured from: "the mug nearest to the sink".
        use: What it serves: "to drink from".
        places: Where it is; all of them hold.
        without: Things that are not meant.
        either: Alternatives that will do as well.
    """

    name: str = ""
    said: str = ""
    amount: int = Field(1, ge=0, le=999)
    definite: bool = False
    color: str = ""
    attributes: tuple[str, ...] = ()
    choice: Choice | Literal[""] = ""
    rank: int = Field(0, ge=-1, le=999)
    by: tuple[Thing, ...] = ()
    use: str = ""
    places: tuple[Place, ...] = ()
    without: tuple[Thing, ...] = ()
    either: tuple[Thing, ...] = ()

    def mentioned(self) -> Iterator[Thing]:
        """Yield the thing and every thing that its fields name."""
        yield self
        placed = (thing for place in self.places for thing in place.things)
        for thing in (*placed, *self.by, *self.without, *self.either):
            yield from thing.mentioned()

    def told(self) -> str:
        """Return the words for it, made of the fields: "all red mugs on the table"."""
        amount = {ALL: "all", 1: "the" if self.definite else ""}.get(self.amount, str(self.amount))
        rank = {0: "", -1: "last"}.get(self.rank, f"number {self.rank}")
        noun = self.name or "thing"
        parts = [amount, self.choice, rank, *self.attributes, self.color]
        parts += [noun if self.amount == 1 else plural(noun)]
        measured = "to" if self.choice == "nearest" else "from"
        parts += [f"{measured} {thing.told()}" for thing in self.by]
        parts += [self.use] if self.use else []
        parts += [place.told() for place in self.places]
        parts += [f"or {thing.told()}" for thing in self.either]
        parts += [f"except {thing.told()}" for thing in self.without]
        return " ".join(part for part in parts if part)


class Step(_Part):
    """One thing that is asked for: an act, the things it is about, and where they go.

    Attributes:
        act: What is done or asked.
        skill: Of a `use`: its row in the table of skills.
        things: What it is about. For `size`: the things that are compared, or whose distance is
            asked for. For a question with `options`: empty.
        to: Where things go (bring), or the room for more (space).
        attribute: For `state` the state ("open"), for `size` the measure ("far", "tall", "larger",
            "nearer", ...), for `attribute` its name ("material"), for `color` a color asked about;
            "place" for a `used_for` that asks where.
        choices: Answers that the question offers, as said: "open", "closed".
        options: The same question for each of several things or places that are offered.
        negated: Whether the question denies what it asks: "is the mug not on the desk".
        robot: Name of the robot that is spoken to; "everybody": each of them.
        then: Whether it is begun when all before it is done.
        said: The words of the person.
    """

    act: Act
    skill: str = ""
    things: tuple[Thing, ...] = ()
    to: Place | None = None
    attribute: str = ""
    choices: tuple[str, ...] = ()
    options: tuple[Step, ...] = ()
    negated: bool = False
    robot: str = ""
    then: bool = False
    said: str = ""

    @model_validator(mode="after")
    def _skill_of_use(self) -> Step:
        if (self.act == "use") is not bool(self.skill) or self.skill not in {"", *ON_TARGET}:
            raise ValueError("a use has a skill of the table, and nothing else has one")
        return self

    @property
    def is_command(self) -> bool:
        """Whether robots are to do it; else it is a question."""
        return self.act in COMMANDS

    def told(self) -> str:
        """Return what was read, in words: "bring, all mugs, to: on the kitchen counter"."""
        act = (self.skill or self.act).replace("_", " ")
        parts = [f"{self.robot}: {act}" if self.robot else act]
        parts += ["not"] if self.negated else []
        parts += [self.attribute] if self.attribute else []
        parts += [" and ".join(thing.told() for thing in self.things)] if self.things else []
        if self.to is not None:
            parts.append(("" if self.to.relation == "to" else "to: ") + self.to.told())
        parts += [f"of {' or '.join(self.choices)}"] if self.choices else []
        parts += [" or ".join(f"({step.told()})" for step in self.options)] if self.options else []
        return ", ".join(parts)


class Request(_Part):
    """A person's sentence as it was read: steps in the order they were said."""

    words: str
    steps: tuple[Step, ...] = Field(min_length=1)
    asides: tuple[str, ...] = Field((), description="what robots do not heed: haste, reasons")

    @property
    def is_question(self) -> bool:
        """Whether nothing is to be done but answered."""
        return not any(step.is_command for step in self.steps)

    def told(self) -> str:
        """Return what was read, for the person: "I read: ..."."""
        told = [("then " if step.then else "") + step.told() for step in self.steps]
        left = [f"left aside: {', '.join(map(repr, self.asides))}"] if self.asides else []
        return "; ".join(told + left)


Place.model_rebuild()


def request_from_json(text: str, words: str) -> Request:
    """Return a Request that came as JSON from another process, with the words that it was read of.

    Raises:
        ValueError: It is none, or a request of other words.
    """
    try:
        request = Request.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise ValueError(f"{where}: {first['msg']}") from None
    if request.words.split() != words.split():
        raise ValueError("words: they are not those of the sentence")
    return request
