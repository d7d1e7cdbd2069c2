"""Relevance of new information to the goal, in R levels, rated when it arrives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, Field

from coterie_core.cooperation import Goal, Note, Thing
from coterie_llm import CheckFailed, Decision, Message, as_data
from reveca_agent.entries import thing_text

NAMES = {
    2: ("none", "strong"),
    3: ("none", "low", "strong"),
    4: ("none", "low", "medium", "strong"),
}

RATED = 100
"""Most new pieces that a model rates at a time: of more, those that the rule finds relevant."""
MOST = 60_000
"""Most characters of what is rated at a time: whatever is asked about is shown."""


class Rating(BaseModel):
    """The level of one piece of new information."""

    id: str = Field(description="id of the piece, as it is given in front of it")
    level: int = Field(description="its level, 0 is no relevance at all")


class Ratings(BaseModel):
    """A level for each piece of new information."""

    reason: str = Field(
        "", max_length=400, description="first think, in short: what does the goal call for?"
    )
    ratings: list[Rating] = Field(max_length=RATED, description="then one for every piece")

    def by_piece(self, state: RatingState) -> list[int]:
        """Return the levels in the order of the pieces."""
        found = {one.id: one.level for one in self.ratings}
        return [found[id_] for id_ in state.ids()]


@dataclass(frozen=True, slots=True)
class RatingState:
    """New things and messages to be rated against the goal, on levels 0 to R - 1.

    `left_out` is how many more there are, which the rule rates because they seem to matter less.
    """

    goal: Goal
    things: Sequence[Thing]
    notes: Sequence[Note]
    levels: int
    left_out: int = 0

    def ids(self) -> list[str]:
        """Ids of the pieces: of things their own, of messages a number."""
        return [
            *(thing.id for thing in self.things),
            *(f"message {k}" for k in range(1, len(self.notes) + 1)),
        ]


class RateRelevance(Decision[RatingState, Ratings]):
    """How much does each new piece of information matter for the goal?"""

    name: ClassVar[str] = "reveca.rate_relevance"
    reply_type: ClassVar[type[BaseModel]] = Ratings
    max_tokens: ClassVar[int] = 2400

    def prompt(self, state: RatingState) -> Sequence[Message]:
        """Show the goal and the pieces by number."""
        scale = scale_of(state.levels)
        pieces = [thing_text(thing) for thing in state.things]
        pieces += [f"{note.sender} says: {note.text}" for note in state.notes]
        lines = [f"{id_}: {text}" for id_, text in zip(state.ids(), pieces, strict=True)]
        more = f"\n({state.left_out} more, that seem to matter less, are left out)"
        return (
            Message.system(
                "A robot shares a household task. Rate how much each new piece of information "
                f"matters for it, on a scale of {scale}. What the goal names, and where it "
                "belongs, matters most; closed containers in which it may lie matter less; "
                "things without use for the goal do not matter. Of what others say, what they "
                "did, will do, found or ask matters."
            ),
            Message.user(
                f"{as_data('goal', state.goal.text())}\n"
                f"{as_data('new information', lines, limit=MOST)}{more if state.left_out else ''}\n"
                "Give the id and the level of every piece."
            ),
        )

    def most_tokens(self, state: RatingState) -> int:
        """Room for a reason and a rating of each piece; a list that goes on and on ends there."""
        return min(self.max_tokens, 450 + 40 * len(state.ids()))

    def lengths(self, state: RatingState) -> Mapping[str, int]:
        """One rating for every piece."""
        return {"ratings": len(state.ids())}

    def options(self, state: RatingState) -> Mapping[str, Sequence[str | int]]:
        """The ids of the pieces, and the levels."""
        return {"ratings[].id": state.ids(), "ratings[].level": list(range(state.levels))}

    def check(self, state: RatingState, reply: Ratings) -> None:
        """One level for each piece, on the scale."""
        given = [one.id for one in reply.ratings]
        lacking = [id_ for id_ in state.ids() if id_ not in set(given)]
        if lacking:
            raise CheckFailed(f"no level for {lacking[0]!r}, and {len(lacking) - 1} more lack")
        wrong = [one for one in reply.ratings if not 0 <= one.level < state.levels]
        if wrong:
            raise CheckFailed(
                f"levels go from 0 to {state.levels - 1}, not {wrong[0].level} ({wrong[0].id!r})"
            )

    def rule(self, state: RatingState) -> Ratings:
        """By what the goal names, where such things usually are, and what can hide them."""
        top = state.levels - 1
        scores = [thing_score(thing, state.goal) for thing in state.things]
        scores += [note_score(note, state.goal) for note in state.notes]
        return Ratings.model_construct(
            ratings=[
                Rating.model_construct(id=id_, level=round(score * top))
                for id_, score in zip(state.ids(), scores, strict=True)
            ]
        )


def scale_of(levels: int) -> str:
    """Say what the levels of relevance mean."""
    if names := NAMES.get(levels):
        return ", ".join(f"{k} = {name}" for k, name in enumerate(names))
    return f"0 = none up to {levels - 1} = strong"


def thing_score(thing: Thing, goal: Goal) -> float:
    """Return how much a thing matters for a goal (0..1)."""
    if thing.label in goal.items or thing.label in goal.targets or thing.id in goal.targets:
        return 1.0
    if thing.portable and thing.kind == "container" and goal.kind == "transport":
        return 1.0
    if thing.kind == "container":
        return 0.6  # where such things usually are, a plan's gain tells: it counts once
    if thing.kind == "surface":
        return 0.3
    return 0.0


def note_score(note: Note, goal: Goal) -> float:
    """Return how much a message matters for a goal (0..1)."""
    if note.kind in ("done", "reply", "ask"):
        return 1.0
    facts = note.facts
    if facts is not None and any(one.label in goal.items for one in facts.seen):
        return 1.0
    return 0.67 if facts is not None else 0.3
