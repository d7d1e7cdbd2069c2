"""What a leader's prompts say of bodies: short, in one of four formats, and where robots are."""

from __future__ import annotations

from coterie_core.geometry import Vec3
from coterie_core.resume import Resume
from coterie_core.resume_text import resume_text, without_measures
from coterie_llm import inline_data
from coterie_world.scene import SceneGraph
from emos_planner.leader.options import LeaderOptions


def body_text(resume: Resume, options: LeaderOptions) -> str:
    """Return what a prompt says of one robot's body; the same as long as the body is."""
    return resume_text(
        resume, options.resume_format, numbers=options.use_resume_numbers, bands=False
    )


def brief_body(resume: Resume, options: LeaderOptions) -> str:
    """Return a body in a line, for prompts that must be short."""
    body = resume.mobility
    arms, cameras = resume.manipulation.arms, resume.perception.cameras
    if not options.use_resume_numbers:
        return without_measures(resume.summary)
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
