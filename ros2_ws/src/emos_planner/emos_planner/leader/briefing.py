"""What a leader's prompts say of the map and of bodies: short, and only what the task is about."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from textwrap import shorten
from xml.sax.saxutils import escape

from coterie_core.geometry import Vec3
from coterie_core.language import inline_data
from coterie_core.resume import Resume
from coterie_core.scene import SceneGraph, SceneObject
from coterie_core.tasks import SubTask
from emos_planner.leader.options import LeaderOptions
from emos_planner.resume.verbalize import ResumeFormat

MOST_THINGS = 60
"""Things of the map that a prompt names at most."""


def things_named(
    words: str, sub_tasks: Iterable[SubTask], scene: SceneGraph
) -> dict[str, SceneObject]:
    """Return what a task is about: things of its sub-tasks, things whose label is said.

    What holds them comes along.
    """
    said = words.lower()
    ids: dict[str, None] = {}
    for one in sub_tasks:
        for thing in (one.object, one.receptacle):
            if thing is not None and thing.id in scene.objects:
                ids[thing.id] = None
    for known in scene.objects.values():
        label = known.label.top
        if len(label) > 2 and (label in said or label.rstrip("s") in said):
            ids[known.id] = None
    for id in list(ids)[:MOST_THINGS]:
        for holder in (scene.objects[id].support, scene.objects[id].container):
            if holder in scene.objects:
                ids[holder] = None
    return {id: scene.objects[id] for id in list(ids)[: 2 * MOST_THINGS]}


def scene_text(scene: SceneGraph, things: Collection[SceneObject]) -> str:
    """Return rooms, ways between them, and things, one line each."""
    lines = ["rooms (id: name, floor):"]
    lines += [f"{r.id}: {inline_data(r.name)}, {r.floor or '?'}" for r in scene.rooms.values()]
    lines.append("ways:")
    for way in scene.connections.values():
        riser = f", risers {way.riser:.2f} m" if way.riser else ""
        lines.append(f"{way.room_a} - {way.room_b}: {way.kind}, {way.width:.2f} m wide{riser}")
    lines.append("things (id: label, room, centre [m]):")
    for thing in things:
        x, y, z = thing.box.center
        above = z - _floor_height(scene, thing)
        parts = [f"{inline_data(thing.id)}: {inline_data(thing.label.top)}, {thing.room or '?'}"]
        parts.append(f"({x:.2f}, {y:.2f}, {z:.2f}), {above:.2f} m above the floor")
        for word, other in (("on", thing.support), ("inside", thing.container)):
            if other:
                parts.append(f"{word} {inline_data(other)}")
        if thing.is_open is not None:
            parts.append("open" if thing.is_open else "closed")
        if thing.receptacles:
            tops = ", ".join(
                f"{r.surface.center[2] - _floor_height(scene, thing):.2f}"
                for r in thing.receptacles[:6]
            )
            parts.append(f"surfaces at {tops} m above the floor")
        lines.append(", ".join(parts))
    return "\n".join(lines)


def _floor_height(scene: SceneGraph, thing: SceneObject) -> float:
    room = scene.rooms.get(thing.room)
    floor = scene.floors.get(room.floor) if room is not None else None
    return floor.elevation if floor is not None else 0.0


def robot_text(resume: Resume, options: LeaderOptions, start: Vec3 | None, room: str = "") -> str:
    """Return one robot's body and where it is."""
    where = f"at ({start[0]:.1f}, {start[1]:.1f}, {start[2]:.1f})" if start else "place unknown"
    where += f" in {room}" if room else ""
    if not options.resume:
        return f"{resume.summary}\n{where}"
    return f"{resume_text(resume, options.resume_format, numbers=options.numbers)}\n{where}"


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
                "fov rad": [round(camera.hfov, 2), round(camera.vfov, 2)],
                "pitch rad": [round(v, 2) for v in camera.pitches],
            }
        cameras.append(told)
    for arm in resume.manipulation.arms[:3]:
        grip: dict[str, object] = {"gripper": arm.gripper is not None}
        if numbers:
            space = arm.workspace
            grip |= {
                "reach m": round(space.reach, 2),
                "heights m": [round(space.min_height, 2), round(space.max_height, 2)],
            }
        arms.append(grip)
    return {
        "mobility": mobility,
        "cameras": cameras or "none",
        "arms": arms or "none",
        **({"summary": shorten(resume.summary, 400)} if resume.summary and numbers else {}),
    }


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
