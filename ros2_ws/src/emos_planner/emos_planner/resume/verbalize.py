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
_NUMBER = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?)\s*-?(m|mm|cm|(?:milli|centi)?met(?:re|er)s?|kg|kilograms?|deg"
    r"|degrees?|°|feet|foot|ft|inch(?:es)?|yards?|pounds?|lbs?|km)(?!\w)",
    re.IGNORECASE,
)
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
_PLAIN_NAME = re.compile(r"[\w.\-/]{1,40}", re.ASCII)


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
            raise CheckFailed(f"mobility: say that it {_KINDS[kind]}")
        for name, known in _numbers_of(state.resume).items():
            for value, unit in _NUMBER.findall(getattr(reply, name)):
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
        + "; ".join(
            _camera(camera, name)
            for camera, name in zip(cameras[:6], _names(cameras, "camera"), strict=False)
        )
        + ("; and more." if len(cameras) > 6 else ".")
    )[:600]


def _camera(camera: ResumeCamera, name: str) -> str:
    low, high = camera.heights
    where = f"{camera.height:.2f} m high"
    if high - low > 0.05:
        where = f"{low:.2f} to {high:.2f} m high"
    mount = {"fixed": "fixed", "movable": "on moving joints", "arm": "on an arm"}[camera.mount]
    channels = " and ".join(camera.channels)
    return (
        f"{name}, {channels}, {mount}, {where}, sees {math.degrees(camera.hfov):.0f} by "
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


def resume_text(
    resume: Resume, form: ResumeFormat = "json", *, numbers: bool = True, bands: bool = True
) -> str:
    """Return a resume for a prompt.

    Args:
        resume: The resume.
        form: How it is written.
        numbers: False: only the kinds and the words (the paper's ablation).
        bands: Whether to tell how far out the hand gets at every 0.1 m of height.
    """
    data = _short(resume, numbers=numbers, bands=bands)
    if form == "json":
        return json.dumps(data, ensure_ascii=False)
    if form == "words":
        words = words_of(resume)
        if not numbers:
            return _NUMBER.sub(
                "some \\2", " ".join(getattr(words, n) for n in BodyWords.model_fields)
            )
        return " ".join((words.mobility, words.perception, words.manipulation))
    if form == "markdown":
        return "\n".join(_markdown(data))
    return _xml("resume", data)


def _short(resume: Resume, *, numbers: bool, bands: bool) -> dict[str, Any]:
    body = resume.mobility
    data: dict[str, Any] = {"robot": resume.robot, "mobility": {"kind": body.kind}}
    data["mobility"]["climbs stairs"] = body.climbs_stairs
    data["perception"] = {
        "cameras": [{"name": n} for n in _names(resume.perception.cameras, "camera")]
    }
    data["manipulation"] = {"arms": [{"name": n} for n in _names(resume.manipulation.arms, "arm")]}
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
        out = {}
        for k in range(24 if bands else 0):
            height = 0.1 + 0.1 * k
            radii = space.radii_at(height)
            if radii:
                out[f"{height:.1f}"] = [round(v, 2) for v in radii]
        entry |= {
            "reach [m]": round(space.reach, 2),
            "heights [m]": [round(space.min_height, 2), round(space.max_height, 2)],
        }
        if out:
            entry["least and greatest reach [m] at a height [m]"] = out
        if arm.payload:
            entry["payload [kg]"] = arm.payload
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


def _names(parts: Sequence[ResumeCamera | ResumeArm], what: str) -> list[str]:
    """Return names for prompts; one that is no plain word of a URDF could hold anything."""
    return [
        part.name if _PLAIN_NAME.fullmatch(part.name) else f"{what} {k}"
        for k, part in enumerate(parts, start=1)
    ]


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
