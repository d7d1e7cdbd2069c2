"""Decision `mele.answer`: is there such a thing in that room, by what one robot has seen (3.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from coterie_core.questions import Evidence, Question
from coterie_llm import Confidence, Decision, Message, as_data
from coterie_llm.fence import prompt_share
from coterie_world.meaning import label_relevance
from mele_explorer.moves import moved_text

ANYWHERE = ("", "house", "home", "anywhere", "the house", "the home")
"""Room names that mean the whole house."""

_NOTES_CHARS = 16_000
"""Most characters of notes; shorter ones stay as they are, so that prompts begin alike."""
_MOST_NOTED = 25
"""Labels of a room in notes that have to be cut."""


@dataclass(frozen=True, slots=True)
class RoomNotes:
    """What a robot noted of a room.

    `views` of it, the share `seen` (0..1) of its known places that it saw well, and for every
    label how often the detector reported it (each of several in one view counts), and how likely
    (0..1) the likeliest of the things there is that.
    """

    name: str
    views: int
    seen: float
    labels: tuple[tuple[str, int, float], ...]


@dataclass(frozen=True, slots=True)
class PresenceState:
    """A question with all that the answer depends on; `p_yes` (0..1) is the Bayes estimate.

    `told` says what others know of it, which this robot has not seen itself. `reports` tells
    whether its detector can report such things; "": that is not known. `misses` (0..1) is how
    often a look at a thing does not show it, `hidden` the share of things that no look shows.
    `likeness` is the cosine of a label's meaning with that of the object asked for. `likely` (0..1)
    is how likely the likeliest of the things that were seen there is one.
    """

    robot: str
    question: Question
    notes: tuple[RoomNotes, ...]
    evidence: Evidence
    p_yes: float
    note: str = ""
    told: str = ""
    reports: str = ""
    misses: float = 0.0
    hidden: float = 0.0
    likeness: Mapping[str, float] = field(default_factory=dict)
    likely: float = 1.0


class PresenceReply(BaseModel):
    """A definite answer."""

    reason: str = Field("", max_length=400, description="first think, in one or two sentences")
    answer: Literal["yes", "no"] = Field(description="yes or no; there is no third choice")
    confidence: Confidence = Field(
        description="probability that the answer is right, from 0.5 (a toss-up) to 1 (certain)"
    )


class AnswerPresence(Decision[PresenceState, PresenceReply]):
    """Decide whether an object is in a room."""

    name: ClassVar[str] = "mele.answer"
    reply_type: ClassVar[type[BaseModel]] = PresenceReply
    max_tokens: ClassVar[int] = 250
    joins: ClassVar[int] = 10

    def prompt(self, state: PresenceState) -> Sequence[Message]:
        """Give the robot's notes of every room, what others told, then the question."""
        asked = {"object": state.question.object, "room": state.question.room or "whole house"}
        others = state.told
        if state.evidence.kind == "moved":
            others = f"{others}; {moved_text(state.evidence)}".strip("; ")
        return (
            Message.system(
                "You are a household robot. You walked through a home and are now asked about it. "
                "Your notes tell for each room that you know how many views of it you had, what "
                "share of its places you saw well (0 to 1), and which objects your detector "
                "reported there: how often (each of several in one view counts), and how likely "
                "(0 to 1) such a thing really is one. Views are incomplete: things are hidden or "
                "missed, and a thing that was reported only once "
                "may be a mistake. The detector may call a thing by another word that means the "
                "same. That a thing was not reported tells the more, the better the room was "
                "seen; of a kind that the detector cannot report it tells nothing. What others "
                "told you did not see yourself. What is usual is the share of such rooms in other "
                "homes that hold such an object (0 to 1): start from it, and let your notes move "
                "you. Where you have not been it is all that you have. Commit to yes or no, with a "
                "confidence from 0.5 (a toss-up) to 1 (certain)."
            ),
            Message.user(
                f"{as_data('notes', _noted(state), limit=_NOTES_CHARS)}\n"
                f"{as_data('your detector', _detector(state))}\n"
                f"{as_data('told by others', others or 'nothing')}\n"
                f"{as_data('usual', _usual(state))}\n"
                f"{as_data('question', asked)}\nIs this object in this room?"
            ),
        )

    def rule(self, state: PresenceState) -> PresenceReply:
        """Answer with the likelier of yes and no, with its posterior probability."""
        yes = state.p_yes > 0.5
        evidence = state.evidence
        where = "the house" if state.question.room in ANYWHERE else "that room"
        usual = f"it was {evidence.prior:.0%} likely beforehand"
        if evidence.kind == "seen" and state.told:
            text = state.told
        elif evidence.kind == "seen":
            text = f"seen there {_times(evidence.sightings)}"
            if not evidence.sightings:
                text = f"something seen there may be one ({state.likely:.0%}); {usual}"
        elif evidence.kind == "moved":
            text = moved_text(evidence)
        elif evidence.kind == "nothing":
            text = "cannot tell"
        elif evidence.kind == "not_there":
            share = f"{evidence.visited_fraction:.0%}"
            text = (
                f"looked into {where} {_times(evidence.looks)} ({share} of its places), not found"
            )
        elif state.told:
            text = f"never been in {where}"
        else:
            text = f"never been in {where}: common sense gives {evidence.prior:.0%}"
        if state.told and evidence.kind in ("not_there", "prior_only"):
            text = f"{text}, but {state.told}"
        if yes and evidence.kind == "not_there":
            text = f"{text}; yet {usual}, and {state.hidden:.0%} of things are seen by no look"
        if state.note and evidence.kind != "nothing":
            text = f"{text} ({state.note})"
        confidence = max(state.p_yes, 1.0 - state.p_yes)
        if evidence.kind == "nothing":
            yes, confidence = False, 0.5
            text = state.note or text
        return PresenceReply(
            reason=text[:400], answer="yes" if yes else "no", confidence=confidence
        )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _usual(state: PresenceState) -> float | str:
    """Return how usual such a thing is in such a room (0..1), where nothing else is in that."""
    unknown = state.evidence.kind == "nothing" or state.told
    return "not known" if unknown else round(state.evidence.prior, 2)


def _detector(state: PresenceState) -> dict[str, object]:
    """Return what is known of the detector."""
    return {
        "share of looks at a thing in view that miss it": round(state.misses, 2),
        "share of things that no look shows": round(state.hidden, 2),
        "it can report this object": state.reports or "not known",
    }


def _noted(state: PresenceState) -> list[dict[str, object]]:
    """Return the notes; where they must be cut, what matters for the question stays.

    That is the room that is asked about, then rooms and labels that the question names or that are
    near to it in meaning; it is said how many labels of a room are left out.
    """
    noted = [_of_room(room, room.labels) for room in state.notes]
    if len(json.dumps(noted, ensure_ascii=False)) <= _NOTES_CHARS * prompt_share():
        return noted
    relevance = label_relevance(state.question.object, state.likeness)
    asked = state.question.room.lower()

    def matters(room: RoomNotes) -> tuple[bool, int]:
        most = max((relevance(label) for label, _, _ in room.labels), default=0)
        return asked in ANYWHERE or asked not in room.name.lower(), -most

    short = []
    for room in sorted(state.notes, key=matters):
        ranked = sorted(room.labels, key=lambda one: (-relevance(one[0]), -one[1], one[0]))
        short.append(_of_room(room, ranked[:_MOST_NOTED]))
        if len(ranked) > _MOST_NOTED:
            short[-1]["other objects left out"] = len(ranked) - _MOST_NOTED
    return short


def _of_room(room: RoomNotes, labels: Sequence[tuple[str, int, float]]) -> dict[str, object]:
    return {
        "room": room.name,
        "views": room.views,
        "seen well": round(room.seen, 2),
        "objects": {label: {"reports": n, "likely": round(p, 2)} for label, n, p in labels},
    }
