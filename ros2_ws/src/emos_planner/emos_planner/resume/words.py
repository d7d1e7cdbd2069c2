"""A resume in words: by rule from its numbers, or by a model from skeleton and numbers.

Also the forms in which prompts show a resume: words, JSON, Markdown, XML (EMOS, appendix C).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal
from xml.sax.saxutils import escape

from pydantic import BaseModel, Field

from coterie_core.language import CheckFailed, Decider, Decision, Message, as_data
from coterie_core.resume import Resume, ResumeArm, ResumeCamera

ResumeFormat = Literal["json", "words", "markdown", "xml"]
_KINDS = {
    "wheels": "drives on wheels",
    "tracks": "drives on tracks",
    "legs": "walks on legs",
    "air": "flies",
    "fixed": "stands where it was mounted",
}
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*(m|metres?|meters?|cm|kg|deg|degrees|°)(?!\w)")


class BodyWords(BaseModel):
    """The three summaries of a resume."""

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
        numbers = resume_text(state.resume, "json")
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
        """No number contradicts the resume's."""
        known = _numbers_of(state.resume)
        for name in BodyWords.model_fields:
            for value, unit in _NUMBER.findall(getattr(reply, name)):
                length = float(value) / (100.0 if unit == "cm" else 1.0)
                if unit.startswith(("deg", "°")):
                    length = math.radians(length)
                digits = len(value.partition(".")[2]) + (2 if unit == "cm" else 0)
                slack = max(0.6 * 10.0**-digits, 0.011, 0.03 * length)
                if not any(abs(length - number) <= slack for number in known):
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
    return BodyWords(
        mobility=_mobility(resume), perception=_perception(resume), manipulation=_grasping(resume)
    )


def _mobility(resume: Resume) -> str:
    body = resume.mobility
    parts = [
        f"It {_KINDS[body.kind]}; its footprint fits a circle of {body.radius:.2f} m radius and it "
        f"is {body.height:.2f} m high"
    ]
    if body.kind == "air":
        parts.append("it passes over steps, stairs and low furniture and changes floors freely")
    elif body.kind == "fixed":
        parts.append("it cannot go anywhere")
    elif body.climbs_stairs:
        riser = f" up to {body.step_height:.2f} m" if body.step_height else ""
        parts.append(f"it takes steps{riser} and so the stairs of a house")
    else:
        riser = f" beyond sills of {body.step_height:.2f} m" if body.step_height else ""
        parts.append(f"it stays on one floor: steps{riser} stop it")
    if body.kind != "fixed":
        parts.append(f"it moves at {body.linear_speed:.2f} m/s")
    return "; ".join(parts) + "."


def _perception(resume: Resume) -> str:
    cameras = resume.perception.cameras
    if not cameras:
        return "It has no camera."
    return (
        f"It has {len(cameras)} camera{'s' if len(cameras) > 1 else ''}: "
        + "; ".join(_camera(camera) for camera in cameras[:6])
        + ("; and more." if len(cameras) > 6 else ".")
    )[:600]


def _camera(camera: ResumeCamera) -> str:
    low, high = camera.heights
    where = f"{camera.height:.2f} m high"
    if high - low > 0.05:
        where = f"{low:.2f} to {high:.2f} m high"
    mount = {"fixed": "fixed", "movable": "on moving joints", "arm": "on an arm"}[camera.mount]
    channels = " and ".join(camera.channels)
    return (
        f"{camera.name}, {channels}, {mount}, {where}, sees {math.degrees(camera.hfov):.0f} by "
        f"{math.degrees(camera.vfov):.0f} degrees"
    )


def _grasping(resume: Resume) -> str:
    arms = resume.manipulation.arms
    if not arms:
        return "It has no arm and cannot pick up or put down anything."
    count = "an arm" if len(arms) == 1 else f"{len(arms)} arms"
    return (f"It has {count}: " + "; ".join(_arm(arm) for arm in arms[:4]) + ".")[:600]


def _arm(arm: ResumeArm) -> str:
    space = arm.workspace
    sliding = sum(joint.type == "prismatic" for joint in arm.joints)
    slides = f", {sliding} of them sliding" if sliding else ""
    hand = "with a gripper" if arm.gripper is not None else "with no gripper found"
    load = f", carries {arm.payload:.1f} kg" if arm.payload else ""
    return (
        f"{arm.name} of {len(arm.joints)} joints{slides}, {hand}, reaches {space.reach:.2f} m from "
        f"the base axis at heights of {max(space.min_height, 0.0):.2f} to {space.max_height:.2f} m"
        f"{load}"
    )


def resume_text(resume: Resume, form: ResumeFormat = "json", *, numbers: bool = True) -> str:
    """Return a resume for a prompt.

    Args:
        resume: The resume.
        form: How it is written.
        numbers: False: only the kinds and the words (the paper's ablation).
    """
    data = _short(resume, numbers=numbers)
    if form == "json":
        return json.dumps(data, ensure_ascii=False)
    if form == "words":
        words = words_of(resume)
        if not numbers:
            return _NUMBER.sub("some \\2", " ".join(getattr(words, n) for n in words.model_fields))
        return " ".join((words.mobility, words.perception, words.manipulation))
    if form == "markdown":
        return "\n".join(_markdown(data))
    return _xml("resume", data)


def _short(resume: Resume, *, numbers: bool) -> dict[str, Any]:
    body = resume.mobility
    data: dict[str, Any] = {"robot": resume.robot, "mobility": {"kind": body.kind}}
    data["mobility"]["climbs stairs"] = body.climbs_stairs
    data["perception"] = {"cameras": [{"name": c.name} for c in resume.perception.cameras]}
    data["manipulation"] = {"arms": [{"name": a.name} for a in resume.manipulation.arms]}
    if not numbers:
        return data
    data["mobility"] |= {
        "radius [m]": round(body.radius, 2),
        "height [m]": round(body.height, 2),
        "step [m]": None if body.step_height is None else round(body.step_height, 3),
        "speed [m/s]": round(body.linear_speed, 2),
    }
    for entry, camera in zip(data["perception"]["cameras"], resume.perception.cameras, strict=True):
        entry |= {
            "heights [m]": [round(v, 2) for v in camera.heights],
            "field [deg]": [round(math.degrees(v)) for v in (camera.hfov, camera.vfov)],
            "pitch [deg]": [round(math.degrees(v)) for v in camera.pitches],
            "range [m]": [round(v, 2) for v in camera.range],
        }
    for entry, arm in zip(data["manipulation"]["arms"], resume.manipulation.arms, strict=True):
        space = arm.workspace
        bands = {}
        for k in range(24):
            height = 0.1 + 0.1 * k
            radii = space.radii_at(height)
            if radii:
                bands[f"{height:.1f}"] = [round(v, 2) for v in radii]
        entry |= {
            "reach [m]": round(space.reach, 2),
            "heights [m]": [round(space.min_height, 2), round(space.max_height, 2)],
            "least and greatest reach [m] at a height [m]": bands,
        }
    return data


def _markdown(data: Any, depth: int = 0) -> list[str]:
    lines = []
    for key, value in data.items() if isinstance(data, dict) else enumerate(data, start=1):
        if isinstance(value, dict | list) and value and not _flat(value):
            lines.append(f"{'  ' * depth}- **{key}**:")
            lines += _markdown(value, depth + 1)
        else:
            lines.append(f"{'  ' * depth}- **{key}**: {_cell(value)}")
    return lines


def _flat(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(v, dict | list) for v in value)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " to ".join(str(v) for v in value) or "none"
    return "unknown" if value is None else str(value)


def _xml(tag: str, value: Any) -> str:
    name = re.sub(r"[^\w]+", "_", re.sub(r"\s*\[.*\]", "", tag)).strip("_") or "item"
    name = f"h{name}" if name[0].isdigit() else name
    if isinstance(value, dict):
        return f"<{name}>{''.join(_xml(str(k), v) for k, v in value.items())}</{name}>"
    if isinstance(value, list) and not _flat(value):
        return f"<{name}>{''.join(_xml('item', v) for v in value)}</{name}>"
    return f"<{name}>{escape(_cell(value))}</{name}>"


def _numbers_of(resume: Resume) -> list[float]:
    """All numbers of a resume that words may give [m, m/s, rad, kg], and small counts."""
    body = resume.mobility
    found = [body.radius, 2 * body.radius, body.height, body.linear_speed, body.flight_height]
    found += [body.step_height] if body.step_height is not None else []
    for camera in resume.perception.cameras:
        found += [camera.height, *camera.heights, camera.hfov, camera.vfov, camera.forward]
        found += [*(abs(v) for v in (*camera.pitches, *camera.yaws)), *camera.range]
    for arm in resume.manipulation.arms:
        space = arm.workspace
        found += [space.reach, space.min_height, space.max_height]
        found += [arm.payload] if arm.payload else []
        for k in range(len(space.rows)):
            radii = space.radii_at(space.bottom + (k + 0.5) * space.cell)
            found += radii or ()
    return found
