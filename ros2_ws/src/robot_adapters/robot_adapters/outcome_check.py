"""Whether what a skill did came about: by what detectors see next, or by a model that sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from coterie_core.skills import Close, Open, Outcome, Pick, Place, Skill, SkillResult
from coterie_llm import Decision, Image, Message, Probability, as_data

_SURE = 0.8
"""Least confidence with which a model's no overrules what motors and fingers tell."""
_TASKS = {
    Pick: "take the {label} into its hand",
    Place: "put the {held} down on the {label}",
    Open: "open the {label}",
    Close: "close the {label}",
}


_NOT_SO = {Pick: Outcome.HAND_FULL, Place: Outcome.HAND_EMPTY}
"""What it comes to if it did not: the hand holds something else, or nothing any more; furniture
that should have moved is BLOCKED."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known after a skill that motors and fingers tell has succeeded.

    Attributes:
        task: What it was to do, in words.
        seen: Whether detectors show that it came about; None: they tell nothing of it.
        images: What the robot's cameras show now.
    """

    task: str
    seen: bool | None = None
    images: tuple[Image, ...] = ()


class OutcomeSeen(BaseModel):
    """Whether it came about."""

    reason: str = Field("", max_length=400, description="first: what the images show of it")
    came_about: Literal["yes", "no", "cannot_tell"] = "cannot_tell"
    confidence: Probability = Field(0.5, description="probability that this is right")


class CheckOutcome(Decision[Outlook, OutcomeSeen]):
    """Did what the robot was to do come about?"""

    name: ClassVar[str] = "adapter.check_outcome"
    reply_type: ClassVar[type[BaseModel]] = OutcomeSeen
    max_tokens: ClassVar[int] = 300

    def prompt(self, state: Outlook) -> Sequence[Message]:
        """Show what the cameras see."""
        return (
            Message.system(
                "A robot has just done something with its arm. The images are from its own "
                "cameras, taken afterwards; its hand may be in them. Judge by the images alone "
                "whether it came about. Where what matters is hidden, out of view or too small, "
                "reply cannot_tell."
            ),
            Message.user(as_data("task", f"The robot was to {state.task}."), *state.images),
        )

    def rule(self, state: Outlook) -> OutcomeSeen:
        """By what detectors told."""
        if state.seen is None:
            return OutcomeSeen(reason="detectors tell nothing of it")
        said = "detectors show it" if state.seen else "detectors show that it did not come about"
        return OutcomeSeen(reason=said, came_about="yes" if state.seen else "no", confidence=_SURE)


def task_of(skill: Skill, held: str = "") -> str:
    """Return what a skill is to do, in words; "" where nothing can be seen of it.

    Args:
        skill: The skill.
        held: Label of what the hand held before.
    """
    if not isinstance(skill, (Pick, Place, Open, Close)):
        return ""
    target = skill.receptacle if isinstance(skill, Place) else skill.target
    return _TASKS[type(skill)].format(label=target.label, held=held or "thing")


def judged(skill: Skill, result: SkillResult, seen: OutcomeSeen) -> SkillResult:
    """Return how a skill ended, by what was seen of it: a sure no makes it a failure."""
    if seen.came_about != "no" or seen.confidence < _SURE:
        return result
    outcome = _NOT_SO.get(type(skill), Outcome.BLOCKED)
    reason = f"it did not come about, by what cameras show: {seen.reason}"
    return SkillResult(outcome, reason, result.duration, result.distance, result.details)
