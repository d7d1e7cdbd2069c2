"""A resume's summaries: by rule from its numbers, or by a model from skeleton and numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, Field

from coterie_core.resume import Resume
from coterie_core.resume_text import MEASURE, MOVES_ON, resume_text, sentences
from coterie_llm import CheckFailed, Decider, Decision, Message, as_data

_FOREIGN = ("f", "i", "y", "p", "l", "km")
_ROUGHEST = 0.1
"""A length may be rounded to whole metres only as far as this [m]."""
_MOVES = {
    "wheels": r"wheel|driv|roll",
    "tracks": r"track|crawl|driv",
    "legs": r"leg|walk|quadruped|biped|step",
    "air": r"fly|flies|flight|hover|drone|rotor|aerial",
    "fixed": r"fixed|mount|station|stand|cannot|not move|immobile|bolted",
}


class BodyWords(BaseModel):
    """The three summaries of a resume."""

    reason: str = Field("", max_length=600, description="what kind of robot this is, and why")
    mobility: str = Field(max_length=600, description="how it moves, and where it cannot go")
    perception: str = Field(max_length=600, description="what it sees with, from which heights")
    manipulation: str = Field(max_length=600, description="what it grasps with, and where")


@dataclass(frozen=True, slots=True)
class BodyState:
    """A resume without words, and the skeleton of its URDF."""

    resume: Resume
    skeleton: str


class DescribeBody(Decision[BodyState, BodyWords]):
    """What can this body do, in words? (EMOS, section 3.3)."""

    name: ClassVar[str] = "emos.describe_body"
    reply_type: ClassVar[type[BaseModel]] = BodyWords
    max_tokens: ClassVar[int] = 700

    def prompt(self, state: BodyState) -> Sequence[Message]:
        """Show skeleton and numbers."""
        numbers = resume_text(state.resume, "json", bands=False)
        return (
            Message.system(
                "Describe a robot's body for colleagues who will hand out work by it. Three short "
                "texts: how it moves and what stops it; what it sees with and from which heights; "
                "what it can grasp and how far and high. Use only what the skeleton and the "
                "numbers show; where you give a number, give the one you were given, in metres."
            ),
            Message.user(
                f"{as_data('links and joints', state.skeleton, limit=7000)}\n"
                f"{as_data('measured', numbers, limit=9000)}\nDescribe this robot."
            ),
        )

    def check(self, state: BodyState, reply: BodyWords) -> None:
        """No number contradicts the resume's, and the robot moves on what it moves on."""
        kind = state.resume.mobility.kind
        if not re.search(_MOVES[kind], reply.mobility, re.IGNORECASE):
            raise CheckFailed(f"mobility: say that it {MOVES_ON[kind]}")
        for name, known in _numbers_of(state.resume).items():
            for value, unit in MEASURE.findall(getattr(reply, name)):
                if not _is_one(value, unit.lower(), known):
                    raise CheckFailed(
                        f"{name}: {value} {unit} is none of the measured numbers; give those, or "
                        "none"
                    )

    def rule(self, state: BodyState) -> BodyWords:
        """Say the numbers in plain sentences."""
        return words_of(state.resume)


async def describe(resume: Resume, skeleton: str, decider: Decider) -> Resume:
    """Return the resume with its summaries, written by a model or the rule."""
    decided = await decider.decide(DescribeBody(), BodyState(resume, skeleton))
    return with_words(resume, decided.reply)


def with_words(resume: Resume, words: BodyWords | None = None) -> Resume:
    """Return the resume with summaries (by rule, if none are given)."""
    words = words or words_of(resume)
    return resume.model_copy(
        update={
            "mobility": resume.mobility.model_copy(update={"summary": words.mobility}),
            "perception": resume.perception.model_copy(update={"summary": words.perception}),
            "manipulation": resume.manipulation.model_copy(update={"summary": words.manipulation}),
            "summary": " ".join((words.mobility, words.perception, words.manipulation)),
        }
    )


def words_of(resume: Resume) -> BodyWords:
    """Return the three summaries, from the numbers alone."""
    mobility, perception, manipulation = sentences(resume)
    return BodyWords(mobility=mobility, perception=perception, manipulation=manipulation)


def _is_one(value: str, unit: str, known: Sequence[float]) -> bool:
    """Whether a number in a text is one of the known ones, rounded as it is written."""
    if unit.startswith(_FOREIGN) and not unit.startswith("kg"):
        return False
    digits = len(value.partition(".")[2])
    scale = {"mm": 1e-3, "mi": 1e-3, "cm": 1e-2, "ce": 1e-2}.get(unit[:2], 1.0)
    slack = 0.5 * 10.0**-digits
    if unit.startswith(("d", "°")):
        scale, slack = math.radians(1.0), max(slack, 0.6)
    number, slack = float(value) * scale, slack * scale
    if scale != math.radians(1.0):
        slack = max(min(slack, _ROUGHEST), 0.0051)
    return any(abs(number - one) <= slack + 1e-9 for one in known)


def _numbers_of(resume: Resume) -> dict[str, list[float]]:
    """Return the numbers that each summary may give [m, m/s, rad, kg]."""
    body = resume.mobility
    moving = [body.radius, 2 * body.radius, body.height, body.linear_speed, body.angular_speed]
    moving += [body.flight_height, 0.15, 0.2]  # risers of a house's stairs
    moving += [body.step_height] if body.step_height is not None else []
    seeing: list[float] = []
    for camera in resume.perception.cameras:
        # A camera below the frame's origin has a negative height; words tell it without its sign.
        seeing += [abs(camera.height), *(abs(h) for h in camera.heights)]
        seeing += [camera.hfov, camera.vfov, abs(camera.forward)]
        seeing += [*(abs(v) for v in (*camera.pitches, *camera.yaws)), *camera.range]
        seeing += [abs(camera.pitch), camera.heights[1] - camera.heights[0]]
    holding: list[float] = []
    for arm in resume.manipulation.arms:
        space = arm.workspace
        holding += [space.reach, max(space.min_height, 0.0), space.max_height]
        holding += [arm.payload] if arm.payload else []
        if arm.gripper is not None and arm.gripper.opening is not None:
            holding.append(arm.gripper.opening)
    return {"mobility": moving, "perception": seeing, "manipulation": holding}
