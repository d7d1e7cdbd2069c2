"""A picture of a resume: where the arms reach, by height and radius, and what the cameras see."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from coterie_core.resume import Resume, ResumeCamera

_BODY = "#8a94a3"
_CAMERAS = ("#e08a00", "#2a9d8f", "#b5179e", "#577590")
_HEIGHTS = {"table": 0.75, "counter": 0.92, "high shelf": 1.8}
"""Surfaces of a home, for scale [m]."""


def draw_resume(resume: Resume, path: Path) -> None:
    """Write a PNG: side view with workspace and view fields, and the same from above."""
    figure = Figure(figsize=(11.5, 5.6), layout="constrained")
    side, top = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    _side(side, resume)
    _top(top, resume)
    safe = "".join(c if c.isprintable() and c != "$" else "?" for c in resume.robot)[:60]
    figure.suptitle(f"{safe}: {resume.mobility.kind}", fontsize=13)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _side(panel: Axes, resume: Resume) -> None:
    body = resume.mobility
    base = body.flight_height if body.kind == "air" else 0.0
    highest = max([body.height + base, *(a.workspace.max_height for a in resume.manipulation.arms)])
    for k, arm in enumerate(resume.manipulation.arms[:2]):
        space = arm.workspace
        grid = space.grid()
        extent = (
            0.0,
            grid.shape[1] * space.cell,
            space.bottom,
            space.bottom + len(grid) * space.cell,
        )
        if k:
            extent = (-extent[1], 0.0, extent[2], extent[3])
            grid = grid[:, ::-1]
        shown = np.where(grid, 1.0, np.nan)
        panel.imshow(
            shown, origin="lower", extent=extent, cmap="Blues", vmin=0.0, vmax=2.2, aspect="equal"
        )
    low = base - body.height / 2.0 if body.kind == "air" else 0.0
    panel.add_patch(
        Rectangle((-body.radius, low), 2 * body.radius, body.height, color=_BODY, alpha=0.75)
    )
    for k, camera in enumerate(resume.perception.cameras[:4]):
        color = _CAMERAS[k % len(_CAMERAS)]
        eye = (camera.forward, camera.height + base)
        panel.add_patch(
            Polygon(_wedge(eye, -camera.pitch, camera.vfov, 1.1), color=color, alpha=0.18)
        )
        least, most = (h + base for h in camera.heights)
        panel.plot([eye[0]] * 2, [least, most], color=color, linewidth=3)
        panel.plot(*eye, "o", color=color, label=_label(camera))
    right = max([1.6, *(a.workspace.reach + 0.25 for a in resume.manipulation.arms)])
    for name, height in _HEIGHTS.items():
        if height < highest + 0.6:
            panel.axhline(height, color="grey", linewidth=0.7, linestyle=":")
            panel.text(right, height, name, fontsize=8, color="grey", ha="right", va="bottom")
    panel.axhline(0.0, color="black", linewidth=1.0)
    panel.set_xlim(-max(0.6, body.radius + 0.2), right)
    panel.set_ylim(-0.15, max(highest + 0.25, 1.0))
    panel.set_xlabel("distance from the base axis, ahead [m]")
    panel.set_ylabel("height above the floor [m]")
    panel.set_title("side: where the hand can be, what cameras see at rest", fontsize=10)
    if resume.perception.cameras:
        panel.legend(loc="upper right", fontsize=8, framealpha=0.9)


def _top(panel: Axes, resume: Resume) -> None:
    body = resume.mobility
    for arm in resume.manipulation.arms[:2]:
        reach = arm.workspace.reach
        for first, last in arm.workspace.bearings:
            angles = np.linspace(first, last, 90)
            ring = np.stack([reach * np.cos(angles), reach * np.sin(angles)], axis=1)
            whole = last - first > math.tau - 0.05
            outline = ring if whole else np.vstack([[0.0, 0.0], ring])
            panel.add_patch(Polygon(outline, color="#5b8fd6", alpha=0.25))
    for k, camera in enumerate(resume.perception.cameras[:4]):
        color = _CAMERAS[k % len(_CAMERAS)]
        middle = (camera.yaws[0] + camera.yaws[1]) / 2.0
        turned = camera.hfov + camera.yaws[1] - camera.yaws[0]
        wide = _wedge((camera.forward, 0.0), middle, min(turned, math.tau), 1.3)
        panel.add_patch(Polygon(wide, color=color, alpha=0.08))
        panel.add_patch(
            Polygon(_wedge((camera.forward, 0.0), 0.0, camera.hfov, 1.1), color=color, alpha=0.2)
        )
    circle = np.linspace(0.0, math.tau, 48)
    round_ = np.stack([np.cos(circle), np.sin(circle)], axis=1) * body.radius
    footprint = np.array(body.footprint) if body.footprint else round_
    panel.add_patch(Polygon(footprint, color=_BODY, alpha=0.85))
    panel.annotate(
        "", (body.radius + 0.15, 0.0), (0.0, 0.0), arrowprops={"arrowstyle": "->", "color": "black"}
    )
    span = max([1.5, *(a.workspace.reach + 0.2 for a in resume.manipulation.arms)])
    panel.set_xlim(-span, span)
    panel.set_ylim(-span, span)
    panel.set_aspect("equal")
    panel.set_xlabel("ahead [m]")
    panel.set_ylabel("left [m]")
    panel.set_title("from above: footprint, reach, fields of view", fontsize=10)


def _wedge(
    eye: tuple[float, float], middle: float, angle: float, length: float
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    angles = np.linspace(middle - angle / 2.0, middle + angle / 2.0, 24)
    rim = np.stack([np.cos(angles), np.sin(angles)], axis=1) * length + eye
    return np.vstack([[eye], rim])


def _label(camera: ResumeCamera) -> str:
    name = "".join(c if c.isprintable() and c != "$" else "?" for c in camera.name)[:28]
    return f"{name} ({math.degrees(camera.hfov):.0f}°)"
