"""Relevance of new information to the goal, in R levels, rated when it arrives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, Field

from coterie_core.cooperation import Goal, Note, Thing
from coterie_core.language import CheckFailed, Decision, Message, as_data
from reveca_agent.candidates import liked

NAMES = {
    2: ("none", "strong"),
    3: ("none", "low", "strong"),
    4: ("none", "low", "medium", "strong"),
}


class Ratings(BaseModel):
    """A level for each piece of new information, in its order."""

    levels: list[int] = Field(description="one level per piece, 0 is no relevance at all")


@dataclass(frozen=True, slots=True)
class RatingState:
    """New things and messages to be rated against the goal, on levels 0 to R - 1."""

    goal: Goal
    things: Sequence[Thing]
    notes: Sequence[Note]
    levels: int

    @property
    def count(self) -> int:
        """How many pieces."""
        return len(self.things) + len(self.notes)


class RateRelevance(Decision[RatingState, Ratings]):
    """How much does each new piece of information matter for the goal?"""

    name: ClassVar[str] = "reveca.rate_relevance"
    reply_type: ClassVar[type[BaseModel]] = Ratings
    max_tokens: ClassVar[int] = 600

    def prompt(self, state: RatingState) -> Sequence[Message]:
        """Show the goal and the pieces by number."""
        names = NAMES.get(state.levels)
        scale = (
            ", ".join(f"{k} = {name}" for k, name in enumerate(names))
            if names
            else f"0 = none up to {state.levels - 1} = strong"
        )
        pieces = [_thing_text(thing) for thing in state.things]
        pieces += [f"{note.sender} says: {note.text}" for note in state.notes]
        return (
            Message.system(
                "A robot shares a household task. Rate how much each new piece of information "
                f"matters for it, on a scale of {scale}. What the goal names, and where it "
                "belongs, matters most; closed containers in which it may lie matter less; "
                "things without use for the goal do not matter."
            ),
            Message.user(
                f"{as_data('goal', state.goal.text())}\n"
                f"{as_data('new information', [f'{k}. {p}' for k, p in enumerate(pieces, 1)])}\n"
                f"Give {state.count} levels, in this order."
            ),
        )

    def check(self, state: RatingState, reply: Ratings) -> None:
        """One level for each piece, on the scale."""
        if len(reply.levels) != state.count:
            raise CheckFailed(f"expected {state.count} levels, got {len(reply.levels)}")
        wrong = [level for level in reply.levels if not 0 <= level < state.levels]
        if wrong:
            raise CheckFailed(f"levels go from 0 to {state.levels - 1}, not {wrong[0]}")

    def rule(self, state: RatingState) -> Ratings:
        """By what the goal names, where such things usually are, and what can hide them."""
        top = state.levels - 1
        return Ratings.model_construct(
            levels=[round(thing_score(t, state.goal) * top) for t in state.things]
            + [round(note_score(n, state.goal) * top) for n in state.notes]
        )


def thing_score(thing: Thing, goal: Goal) -> float:
    """Return how much a thing matters for a goal (0..1)."""
    if thing.label in goal.items or thing.label in goal.targets or thing.id in goal.targets:
        return 1.0
    if thing.portable and thing.kind == "container" and goal.kind == "transport":
        return 1.0
    if thing.kind == "container":
        usual = any(thing.label in liked(item) for item in goal.items)
        return 0.67 if usual else 0.6
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


def _thing_text(thing: Thing) -> str:
    where = f" {thing.relation} {thing.parent}" if thing.parent else ""
    state = "" if thing.is_open is None else ", open" if thing.is_open else ", closed"
    return f"{thing.label} ({thing.id}){where} in {thing.spot.room}{state}"
