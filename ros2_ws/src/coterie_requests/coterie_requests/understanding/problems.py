"""Reasons why a sentence is not understood, with the word, its place, and what to ask back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coterie_requests.understanding.text import shown

ProblemKind = Literal[
    "empty", "too_long", "spelling", "word", "verb", "object", "target", "place", "person",
    "pronoun", "robot", "negation", "ambiguous", "nothing",
]  # fmt: skip
"""Kind of problem of a sentence: it asks for nothing; it is more than is read; a word is none, and
near to one that would make sense; a word is not understood; robots cannot do it; it does not say
what is meant; or where to; the map has no such place; nobody knows where the person is; a pronoun
stands for nothing; the team has no such robot; it only says what is not to be done; it may mean
several things; there is nothing to do."""


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
