"""What a leader's prompts say of bodies: short, in one of four formats, and where robots are."""

from __future__ import annotations

import json
import math
from xml.sax.saxutils import escape

from coterie_core.geometry import Vec3
from coterie_core.resume import Resume
from coterie_core.resume_text import ResumeFormat, summary_of, without_measures
from coterie_llm import inline_data
from coterie_world.scene import SceneGraph
from emos_planner.leader.options import LeaderOptions


def body_text(resume: Resume, options: LeaderOptions) -> str:
    """Return what a prompt says of one robot's body; the same as long as the body is."""
    if not options.resume:
        return resume.summary
    return resume_text(resume, options.resume_format, numbers=options.use_resume_numbers)


def brief_body(resume: Resume, options: LeaderOptions) -> str:
    """Return a body in a line, for prompts that must be short."""
    body = resume.mobility
    arms, cameras = resume.manipulation.arms, resume.perception.cameras
    if not (options.resume and options.use_resume_numbers):
        return resume.summary
    moves = "stairs" if body.climbs_stairs else "no stairs"
    flies = f" {body.flight_height:.1f} m up" if body.kind == "air" else ""
    parts = [f"{body.kind}{flies}, {moves}"]
    for arm in arms[:2]:
        space = arm.workspace
        payload = f", {arm.payload:.0f} kg" if arm.payload else ""
        parts.append(f"hand {space.min_height:.1f} to {space.max_height:.1f} m{payload}")
    heights = [height + body.flight_height for camera in cameras for height in camera.heights]
    if heights:
        parts.append(f"camera {min(heights):.1f} to {max(heights):.1f} m")
    parts += ["no arm"] * (not arms) + ["no camera"] * (not cameras)
    return "; ".join(parts)


def where_text(scene: SceneGraph, robot: str, start: Vec3 | None) -> str:
    """Return where a robot stands [m] and what it holds, as far as it is known."""
    agent = scene.agents.get(robot)
    room = scene.rooms.get(agent.room) if agent is not None else None
    parts = [f"at ({start[0]:.1f}, {start[1]:.1f})" if start else "place unknown"]
    if start is not None and scene.floors:
        floor = min(scene.floors.values(), key=lambda f: abs(f.elevation - start[2]))
        parts.append(f"floor {floor.id}")
    if room is not None:
        parts.append(f"room {room.id}")
    holding = agent.holding if agent is not None else ""
    parts.append(f"holds {inline_data(holding)}" if holding else "hands empty")
    return ", ".join(parts)


def resume_text(resume: Resume, format: ResumeFormat, *, numbers: bool = True) -> str:
    """Return the parts of a resume that tell what a robot can do, in one of four formats.

    EMOS compares them in appendix C.5. Without numbers only kinds and words are left.
    """
    data = _facts(resume, numbers=numbers)
    if format == "json":
        return json.dumps(data)
    if format == "xml":
        return f"<robot>{_xml(data)}</robot>"
    if format == "markdown":
        return "\n".join(
            [f"# {resume.robot}"]
            + [f"## {name}\n" + "\n".join(_bullets(part)) for name, part in data.items()]
        )
    parts = [f"{name}: {_words(part)}." for name, part in data.items()]
    return " ".join(parts)


def _facts(resume: Resume, *, numbers: bool) -> dict[str, object]:
    body = resume.mobility
    mobility: dict[str, object] = {"kind": body.kind, "climbs stairs": body.climbs_stairs}
    cameras: list[object] = []
    arms: list[object] = []
    if numbers:
        mobility |= {
            "radius m": round(body.radius, 2),
            "height m": round(body.height, 2),
            "step m": round(body.step_height or 0.0, 2),
            "speed m/s": round(body.linear_speed, 2),
        }
        if body.kind == "air":
            mobility["flies at m above the floor"] = round(body.flight_height, 2)
    for camera in resume.perception.cameras[:4]:
        told: dict[str, object] = {"mount": camera.mount}
        if numbers:
            told |= {
                # Of flyers a resume counts heights from the body; a map counts from the floor.
                "heights m": [round(v + body.flight_height, 2) for v in camera.heights],
                "field deg": [round(math.degrees(v)) for v in (camera.hfov, camera.vfov)],
                "pitch deg": [round(math.degrees(v)) for v in camera.pitches],
            }
        cameras.append(told)
    for arm in resume.manipulation.arms[:3]:
        # A model of a robot may name no finger joints; that is no hand without fingers.
        grip: dict[str, object] = {"gripper": "yes" if arm.gripper is not None else "not told"}
        if numbers:
            space = arm.workspace
            grip |= {
                "reach m": round(space.reach, 2),
                "heights m": [round(space.min_height, 2), round(space.max_height, 2)],
            }
            if arm.payload:
                grip["payload kg"] = round(arm.payload, 1)
        arms.append(grip)
    data: dict[str, object] = {
        "mobility": mobility,
        "cameras": cameras or "none",
        "arms": arms or "none",
    }
    if words := summary_of(resume):
        data["in words"] = words if numbers else without_measures(words)
    return data


def _words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(part)}" for key, part in value.items())
    if isinstance(value, list):
        if all(isinstance(part, float) for part in value):
            return " to ".join(str(part) for part in value)
        return "; ".join(_words(part) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _bullets(value: object) -> list[str]:
    if isinstance(value, dict):
        return [f"- {key}: {_words(part)}" for key, part in value.items()]
    if isinstance(value, list):
        return [f"- {_words(part)}" for part in value]
    return [f"- {value}"]


def _xml(value: object) -> str:
    if isinstance(value, dict):
        made = []
        for key, part in value.items():
            tag = str(key).replace(" ", "_").replace("/", "_per_")
            made.append(f"<{tag}>{_xml(part)}</{tag}>")
        return "".join(made)
    if isinstance(value, list):
        if all(isinstance(part, float) for part in value):
            return " ".join(str(part) for part in value)
        return "".join(f"<item>{_xml(part)}</item>" for part in value)
    return escape(str(value))
