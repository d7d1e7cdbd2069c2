"""Questions, one robot's answers with evidence, and the team's final answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from coterie_core.geometry import Vec3

EvidenceKind = Literal["seen", "not_there", "prior_only", "moved", "nothing"]


@dataclass(frozen=True, slots=True)
class Question:
    """Is there an `object` in the `room`? `text` is the sentence it came from, if any.

    `object` is a label, `room` a room name ("" for anywhere in the house). `request` is the JSON of
    the Request that was read of the sentence; "": nobody has read it.
    """

    id: str
    object: str
    room: str
    text: str = ""
    request: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a robot answers as it does.

    `kind`: "seen" (objects in memory), "not_there" (the room was seen `looks` times and the thing
    was not), "prior_only" (never been there: common sense, and the team's map where that holds such
    things), "moved" (the team took it away: `moved_to` names the room, `moved_by` the robot),
    "nothing" (it cannot tell and has no prior either: the word is unknown, or no detector of it
    reports such).
    `objects`: ids of objects that were seen there: in its memory, else by others on the team's map.
    `visited_fraction` (0..1): share of the room's known places the robot has seen well.
    `elsewhere`: names of other rooms in which the robot saw such a thing.
    `age`: since the newest observation behind it [s]; 0: none, or unknown.
    """

    kind: EvidenceKind
    objects: tuple[str, ...] = ()
    looks: int = 0
    visited_fraction: float = 0.0
    prior: float = 0.5
    elsewhere: tuple[str, ...] = ()
    sightings: int = 0
    moved_to: str = ""
    moved_by: str = ""
    age: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One robot's answer: yes or no with confidence that it is right (0.5..1)."""

    question: str
    robot: str
    yes: bool
    confidence: float
    evidence: Evidence
    explanation: str = ""
    decided_by: Literal["model", "rule"] = "rule"
    reason: str = ""

    @property
    def p_yes(self) -> float:
        """Probability of YES that the answer stands for."""
        return self.confidence if self.yes else 1.0 - self.confidence


@dataclass(frozen=True, slots=True)
class Vote:
    """What a robot's answer counted for in a final answer (weight 0 if it was left out)."""

    robot: str
    yes: bool
    confidence: float
    weight: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """What the team answers: `yes` is None where the aggregator abstains."""

    question: str
    yes: bool | None
    confidence: float
    method: str
    votes: tuple[Vote, ...] = ()
    missing: tuple[str, ...] = ()
    explanation: str = ""


def is_guess(final: FinalAnswer, answers: Iterable[Answer]) -> bool:
    """Whether a team's answer rests on no observation: on what is usual, or what a model says.

    YES wants a robot that saw such a thing, or has it of the team's map from one that did; NO one
    that looked there in vain; that the team moved it counts for both. Common sense, and "not seen,
    but there is more to see", are guesses.

    Args:
        final: The team's answer; that it cannot tell is no guess.
        answers: The robots' own answers.
    """
    if final.yes is None:
        return False
    grounds = ("seen", "moved") if final.yes else ("not_there", "moved")
    # What is usual may be as sure as a look: that adds nothing then, and is one all the same.
    unheard = {vote.robot for vote in final.votes if vote.weight == 0.0 and vote.note}
    heard = [one for one in answers if one.robot not in unheard]
    return not any(
        one.yes == final.yes
        and (one.evidence.kind in grounds or (final.yes and one.evidence.objects))
        for one in heard
    )


@dataclass(frozen=True, slots=True)
class OpenAnswer:
    """The answer in words to an open question, with what it rests on.

    `objects` are ids of the semantic map, `frames` names of images, `path` where a robot went for
    it [m, map frame]. `guessed`: neither the map nor an image says so. `category` is one of the
    seven of OpenEQA. `confidence` that it is right, 0..1.
    """

    question: str
    text: str
    category: str = ""
    confidence: float = 0.0
    guessed: bool = False
    objects: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    path: tuple[Vec3, ...] = ()
    method: str = ""
    decided_by: Literal["model", "rule"] = "rule"
    reason: str = ""
    explanation: str = ""


@dataclass(slots=True)
class LabelledQuestion:
    """A question with the truth, for training and scoring."""

    question: Question
    truth: bool
    group: str = field(default="")


def percent(confidence: float) -> str:
    """Return a stated confidence (0..1) as people read it; nearly certain is not called certain."""
    if confidence >= 0.995:
        return ">99 %"
    return "<1 %" if confidence < 0.005 else f"{100 * confidence:.0f} %"
