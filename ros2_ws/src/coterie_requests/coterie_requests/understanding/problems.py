"""Reasons why a sentence is not understood, with the word, its place, and what to ask back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coterie_requests.understanding.text import shown

ProblemKind = Literal[
    "empty",
    "too_long",
    "spelling",
    "word",
    "verb",
    "object",
    "target",
    "place",
    "person",
    "pronoun",
    "robot",
    "condition",
    "negation",
    "ambiguous",
    "nothing",
]
"""Kind of problem of a sentence.

Attributes:
    empty: It asks for nothing.
    too_long: It has more characters, or asks for more, than is read.
    spelling: A word is none, and near to one that would make sense.
    word: A word is not understood.
    verb: It asks for what robots cannot do.
    object: It does not say what is meant; what to bring, to find, ...
    target: It does not say where to.
    place: It names a place that the map does not have.
    person: It names a person, whose place nobody knows.
    pronoun: A pronoun stands for nothing that was said.
    robot: It speaks to a robot that is not in the team.
    condition: It says when or on what condition, which robots cannot wait for.
    negation: It only says what is not to be done.
    ambiguous: It may mean several things that make a difference.
    nothing: All is so already.
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a sentence is not understood.

    Attributes:
        kind: Kind of the problem.
        text: One line for a person: what is wrong and what to do.
        word: The offending word or words, as said.
        position: Position in the sentence where they begin [characters]; -1: nowhere in particular.
        suggestions: Words, or sentences, that may be meant, likeliest first.
        question: Question to ask the person back ("" if none).
    """

    kind: ProblemKind
    text: str
    word: str = ""
    position: int = -1
    suggestions: tuple[str, ...] = ()
    question: str = ""

    @property
    def line(self) -> str:
        """All of it for a person, in one line."""
        line = " ".join(self.text.split())
        if self.question and self.question not in line:
            line = f"{line}{'' if line[-1:] in '.?!' else '.'} {self.question}"
        return line


class NotUnderstood(ValueError):
    """Words are not understood; `problem` says which, and what is nearest that can be done."""

    def __init__(
        self,
        text: str,
        kind: ProblemKind = "word",
        word: str = "",
        *,
        sentence: str = "",
        suggestions: tuple[str, ...] = (),
        question: str = "",
    ) -> None:
        position = sentence.lower().find(word.lower()) if word and sentence else -1
        self.problem = Problem(kind, text, shown(word), position, suggestions, question)
        super().__init__(self.problem.line)
