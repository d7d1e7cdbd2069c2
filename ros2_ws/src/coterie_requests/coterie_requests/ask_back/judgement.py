"""Judgement: what kind of request it was, what that rests on, and what is asked back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from coterie_core.questions import Answer, Question

if TYPE_CHECKING:
    from coterie_requests.understanding.problems import Problem

RequestKind = Literal[
    "clear", "ambiguous", "false_premise", "not_seen_yet", "subjective", "underspecified"
]
"""Kind of a request: it can be worked on; several things fit what it speaks of as one; it presumes
what is not so, where it was looked for; nobody can know yet, where it was not; it asks for a taste;
it leaves out something that is needed."""
REQUEST_KINDS: tuple[RequestKind, ...] = get_args(RequestKind)

_BRIEF: dict[RequestKind, str] = {
    "clear": "clear",
    "ambiguous": "it may mean several things",
    "false_premise": "it takes for granted what is not so",
    "not_seen_yet": "nobody has looked there yet",
    "subjective": "a matter of taste",
    "underspecified": "not clear",
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a request is, before anything is done about it.

    Attributes:
        kind: Clear, or one of the five kinds that are not.
        text: Reason of the judgement, for a person; "" of a clear request.
        question: The one question to ask back; "" where no answer would help.
        choices: Answers to choose from; empty: any.
        candidates: Ids of the map that fit, in the order of `choices`.
        missing: Names of rooms and floors that nobody has looked at.
        said: The words that are unclear, as the rules read them; "" where it is none of them.
        slot: Part that is left out: "object", "target", ...
        evidence: Evidence that the judgement rests on, one line each.
        answer: Answer of the person; "" where nobody gave one, or was asked.
        settled: Whether the answer made it clear, so that it was worked on.
    """

    kind: RequestKind = "clear"
    text: str = ""
    question: str = ""
    choices: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    said: str = ""
    slot: str = ""
    evidence: tuple[str, ...] = ()
    answer: str = ""
    settled: bool = False

    @property
    def clear(self) -> bool:
        """Whether the request can be worked on as it is."""
        return self.kind == "clear"

    @property
    def proceeds(self) -> bool:
        """Whether the request was worked on: it is clear, or an answer made it so."""
        return self.clear or self.settled

    @property
    def brief(self) -> str:
        """What kind of request it is, in a few words for a person."""
        return _BRIEF[self.kind]

    @property
    def line(self) -> str:
        """All of it for a person who was not there to be asked."""
        if not self.question:
            return self.text
        choices = f" ({'; '.join(self.choices)})" if self.choices else ""
        return f"{self.text}. Asked back: {self.question}{choices}"

    @property
    def data(self) -> dict[str, Any]:
        """The judgement as plain data for programs."""
        return asdict(self)


def not_understood(problem: Problem) -> Judgement:
    """Return what words are that were not understood, with what is asked back."""
    return Judgement(
        "underspecified",
        problem.text,
        problem.question,
        choices=problem.suggestions,
        said=problem.word,
    )


def judged_answers(question: Question, answers: Sequence[Answer]) -> Judgement:
    """Return `not_seen_yet` where no robot has been in the room that is asked about."""
    guesses = [o for o in answers if o.evidence.kind == "prior_only" and not o.evidence.objects]
    able = [one for one in answers if one.evidence.kind != "nothing"]
    if not guesses or len(guesses) < len(able):
        return Judgement()
    numbered = question.room[-1:].isdigit()
    room = question.room if numbered else f"the {question.room}"
    where = f"in {room}" if question.room else "anywhere"
    return Judgement(
        "not_seen_yet",
        f"nobody has looked {where} yet: this is what is usual",
        missing=(question.room,) if question.room else (),
        evidence=tuple(f"{one.robot} has not been there" for one in guesses),
    )
