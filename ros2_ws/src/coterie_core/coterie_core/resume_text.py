"""A resume as text: sentences from its numbers, and the forms in which prompts show it.

The forms are words, JSON, Markdown and XML (EMOS, appendix C).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, Literal
from xml.sax.saxutils import escape

from coterie_core.resume import Resume, ResumeArm, ResumeCamera

ResumeFormat = Literal["json", "words", "markdown", "xml"]
MOVES_ON = {
    "wheels": "drives on wheels",
    "tracks": "drives on tracks",
    "legs": "walks on legs",
    "air": "flies",
    "fixed": "stands where it was mounted",
}
MEASURE = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?)\s*-?(m|mm|cm|(?:milli|centi)?met(?:re|er)s?|kg|kilograms?|deg"
    r"|degrees?|°|feet|foot|ft|inch(?:es)?|yards?|pounds?|lbs?|km)(?!\w)",
    re.IGNORECASE,
)
MAX_SUMMARY_CHARS = 900
_NUMBER = re.compile(r"\d+\.\d+")
_PLAIN_NAME = re.compile(r"[\w.\-/]{1,40}", re.ASCII)


def sentences(resume: Resume) -> tuple[str, str, str]:
    """Return what the numbers say of mobility, perception and manipulation."""
    return _mobility(resume), _perception(resume), _grasping(resume)


def summary_of(resume: Resume) -> str:
    """Return the summary of a body that a model wrote, for prompts (EMOS, 3.2).

    "" where there is none, or where it says in sentences what the numbers beside it say already.
    """
    told = resume.summary[:MAX_SUMMARY_CHARS]
    return "" if resume.summary == " ".join(sentences(resume)) else told


def without_measures(text: str) -> str:
    """Return a text without its lengths, angles and weights."""
    return _NUMBER.sub("some", MEASURE.sub("some \\2", text))


def _mobility(resume: Resume) -> str:
    body = resume.mobility
    parts = [
        f"It {MOVES_ON[body.kind]}; its footprint fits a circle of {body.radius:.2f} m radius and "
        f"it is {body.height:.2f} m high"
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
        form: Format of the text.
        numbers: False: only the kinds and the words (the paper's ablation).
        bands: Whether to tell how far out the hand gets at every 0.1 m of height.
    """
    data = _short(resume, numbers=numbers, bands=bands)
    if form == "json":
        return json.dumps(data, ensure_ascii=False)
    if form == "words":
        words = " ".join((*sentences(resume), summary_of(resume))).rstrip()
        return words if numbers else without_measures(words)
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
    for entry, arm in zip(data["manipulation"]["arms"], resume.manipulation.arms, strict=True):
        # A model of a robot may name no finger joints; that is no hand without fingers.
        entry["gripper"] = "yes" if arm.gripper is not None else "not told"
    if words := summary_of(resume):
        data["in words"] = words if numbers else without_measures(words)
    if not numbers:
        return data
    data["mobility"] |= {
        "radius [m]": round(body.radius, 2),
        "height [m]": round(body.height, 2),
        "step [m]": None if body.step_height is None else round(body.step_height, 3),
        "speed [m/s]": round(body.linear_speed, 2),
    }
    if body.kind == "air":
        data["mobility"]["flies above the floor [m]"] = round(body.flight_height, 2)
    for entry, camera in zip(data["perception"]["cameras"], resume.perception.cameras, strict=True):
        entry |= {
            # Of flyers a resume counts heights from the body; a map counts from the floor.
            "heights [m]": [round(v + body.flight_height, 2) for v in camera.heights],
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
