"""OpenReply: what is answered to an open question, how sure it is, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from openeqa_agent.understood import Category


@dataclass(frozen=True, slots=True)
class OpenReply:
    """An answer in words; an empty `text` means that the agent abstains.

    Attributes:
        text: The answer.
        confidence: That it is right (0..1); 0 where it abstains.
        guessed: Neither the map nor an image says so: common sense does.
        category: Of the question.
        objects: Evidence: ids of the map.
        frames: Evidence: names of frames.
        explanation: One sentence for people.
        decided_by: Who answered: the rules, or the model.
        reason: Why the rules took over from the model, or "".
        method: Name of the agent.
        refused: Why the question was not read at all, with what to change; "" if it was.
        still: Why no robot need go and look for the answer; "" if one may find it.
    """

    text: str = ""
    confidence: float = 0.0
    guessed: bool = False
    category: Category = "object_recognition"
    objects: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    explanation: str = ""
    decided_by: Literal["model", "rule"] = "rule"
    reason: str = ""
    method: str = ""
    refused: str = ""
    still: str = ""

    @property
    def abstains(self) -> bool:
        """Whether there is no answer."""
        return not self.text.strip()
