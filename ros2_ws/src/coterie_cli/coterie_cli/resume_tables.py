"""Resumes as tables for the terminal: one robot with its evidence, several side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from coterie_core.resume import Resume, ResumeArm, ResumeCamera
from robot_resume.skeleton import plain_line

_EVIDENCE = 240
"""Longest evidence of one row [characters]; all of it is in resume.json."""


def table_of(resume: Resume) -> Table:
    """Return what a robot can do, row by row, each with how it was found."""
    title = f"{plain_line(resume.robot, 80)}: {resume.mobility.kind}"
    table = Table(title=Text(title, style="bold"), title_justify="left", expand=True)
    table.add_column("", style="bold", ratio=1, overflow="fold")
    table.add_column("", ratio=2, overflow="fold")
    table.add_column("how it was found", ratio=3, overflow="fold", style="dim")

    def row(name: str, value: str, *evidence: str) -> None:
        told = "; ".join(dict.fromkeys(text for text in evidence if text))
        table.add_row(
            Text(plain_line(name, 32)), Text(plain_line(value)), Text(plain_line(told, _EVIDENCE))
        )

    body, why = resume.mobility, resume.mobility.evidence
    row("moves on", body.kind, why.get("kind", ""))
    row("radius", f"{body.radius:.2f} m", why.get("radius", ""))
    row("height", f"{body.height:.2f} m", why.get("height", ""))
    step = "cannot be told" if body.step_height is None else f"{body.step_height:.3f} m"
    row("step", step, why.get("step_height", ""))
    row("stairs", "yes" if body.climbs_stairs else "no", why.get("climbs_stairs", ""))
    row("speed", f"{body.linear_speed:.2f} m/s", why.get("linear_speed", ""))
    if body.kind == "air":
        row("flies at", f"{body.flight_height:.2f} m", why.get("flight_height", ""))
    table.add_section()
    _cameras(resume, row)
    table.add_section()
    _arms(resume, row)
    return table


def _cameras(resume: Resume, row: Callable[..., None]) -> None:
    why = resume.perception.evidence
    for camera in resume.perception.cameras:
        told = _of(why, camera.name)
        row(camera.name, camera_text(camera), told.get("heights", ""), told.get("hfov", ""))
    if not resume.perception.cameras:
        row("cameras", "none", why.get("cameras", ""))
    others = resume.perception.others
    if others:
        kinds = sorted(set(others.values()))
        row("other sensors", ", ".join(kinds), f"links {', '.join(others)}")


def _arms(resume: Resume, row: Callable[..., None]) -> None:
    why = resume.manipulation.evidence
    for arm in resume.manipulation.arms:
        told = _of(why, arm.name)
        row(arm.name, arm_text(arm), told.get("joints", ""))
        row("  hand", hand_text(arm), told.get("tip_link", ""), told.get("gripper", ""))
        row("  workspace", workspace_text(arm), told.get("workspace", ""))
    if not resume.manipulation.arms:
        row("arms", "none", why.get("arms", ""))


def camera_text(camera: ResumeCamera) -> str:
    """Return a camera in one line: where it is and what it sees."""
    low, high = camera.heights
    where = f"{camera.height:.2f} m high"
    if high - low > 0.005:
        where = f"{low:.2f} to {high:.2f} m high"
    field = f"{math.degrees(camera.hfov):.0f} x {math.degrees(camera.vfov):.0f} deg"
    down, up = math.degrees(camera.pitches[1]), -math.degrees(camera.pitches[0])
    tilt = f", tilts {down:.0f} deg down to {up:.0f} up" if high_span(camera.pitches) else ""
    return f"{camera.mount}, {where}, {field}, {'+'.join(camera.channels)}{tilt}"


def high_span(interval: tuple[float, float]) -> bool:
    """Whether an interval of angles [rad] is more than a degree wide."""
    return interval[1] - interval[0] > math.radians(1.0)


def arm_text(arm: ResumeArm) -> str:
    """Return an arm's chain in a few words."""
    sliding = sum(joint.type == "prismatic" for joint in arm.joints)
    slides = f", {sliding} of them sliding" if sliding else ""
    load = f", carries {arm.payload:g} kg" if arm.payload else ""
    return f"{len(arm.joints)} joints{slides}{load}"


def hand_text(arm: ResumeArm) -> str:
    """Return what is at the end of an arm."""
    if arm.gripper is None:
        return f"{arm.tip_link}; no gripper found"
    opening = f", opens {arm.gripper.opening:.3f} m" if arm.gripper.opening is not None else ""
    return f"{arm.tip_link}{opening}"


def workspace_text(arm: ResumeArm) -> str:
    """Return where a hand can be."""
    space = arm.workspace
    return (
        f"up to {space.reach:.2f} m from the base axis, {space.min_height:.2f} to "
        f"{space.max_height:.2f} m high"
    )


def comparison(resumes: Sequence[Resume]) -> Table:
    """Return several robots side by side."""
    table = Table(title=Text("side by side", style="bold"), title_justify="left")
    for column in ("robot", "moves on", "radius", "height", "step", "m/s", "cameras (heights)"):
        table.add_column(column, overflow="fold")
    table.add_column("reach", justify="right")
    table.add_column("hand heights", justify="right")
    for one in resumes:
        body, arms = one.mobility, [arm.workspace for arm in one.manipulation.arms]
        step = "?" if body.step_height is None else f"{body.step_height:.3f}"
        lows = [camera.heights[0] for camera in one.perception.cameras]
        highs = [camera.heights[1] for camera in one.perception.cameras]
        seen = f"{len(lows)} ({min(lows):.2f}-{max(highs):.2f})" if lows else "0"
        reach, span = "-", "-"
        if arms:
            reach = f"{max(a.reach for a in arms):.2f}"
            span = f"{min(a.min_height for a in arms):.2f}-{max(a.max_height for a in arms):.2f}"
        cells = (
            plain_line(one.robot, 40), body.kind, f"{body.radius:.2f}", f"{body.height:.2f}",
            "flies" if body.kind == "air" else step, f"{body.linear_speed:.2f}", seen, reach, span,
        )  # fmt: skip
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _of(evidence: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the evidence of one part, by field."""
    start = f"{name}."
    return {key[len(start) :]: text for key, text in evidence.items() if key.startswith(start)}
