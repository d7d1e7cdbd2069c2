"""A picture of a resume: where the hands reach, by height and radius, and what the cameras see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon
from shapely.geometry import MultiPoint

from coterie_core.files import write_atomically
from coterie_core.resume import Resume, ResumeCamera
from robot_resume.outline import Outline

Array = npt.NDArray[np.float64]

_BODY, _EDGE = "#9aa5b1", "#52606d"
_ARMS = ("#2f6fbf", "#7b4fb3", "#3a8f6a")
_CAMERAS = ("#e08a00", "#1b998b", "#c2185b", "#6d4c41", "#5c6bc0", "#7cb342")
_SURFACES = {"low shelf": 0.35, "table": 0.75, "counter": 0.92, "shelf": 1.4, "high shelf": 1.8}
"""Surfaces of a home, for scale [m]."""
_MARGIN = 0.75
"""Room for the names of the surfaces [m]."""
_SIGHT = 1.1
"""How far fields of view are drawn [m]."""


def draw_resume(resume: Resume, path: Path, outline: Outline | None = None) -> None:
    """Write a PNG: from the side the workspaces and the fields of view, and the same from above.

    Args:
        resume: The resume.
        path: The file; its folder is made.
        outline: The robot's shape; None: its footprint and height.
    """
    lift = resume.mobility.flight_height if resume.mobility.kind == "air" else 0.0
    arms = [arm.workspace for arm in resume.manipulation.arms]
    shapes = [] if outline is None else [*outline.shapes]
    points = np.concatenate([np.zeros((1, 3)), *shapes])
    points[:, 2] += lift
    seen = [
        camera.height + lift + 0.95 * _SIGHT * math.sin(camera.vfov / 2.0 - camera.pitch)
        for camera in resume.perception.cameras
    ]
    highest = max([points[:, 2].max(), resume.mobility.height + lift, *seen, 1.1])
    highest = max([highest, *(space.max_height for space in arms)]) + 0.15
    ahead = max([resume.mobility.radius + 0.75, float(points[:, 0].max()) + 0.3])
    ahead = max([ahead, *(space.reach + 0.15 for space in arms)])
    behind = max(resume.mobility.radius, -float(points[:, 0].min())) + 0.25
    span = max([1.2, ahead, behind])

    tall = 6.4
    wide = tall * min((ahead + behind + _MARGIN) / (highest + 0.1), 2.0)
    figure = Figure(figsize=(wide + tall + 0.8, tall + 1.1), layout="constrained")
    side, top = figure.subplots(1, 2, width_ratios=(wide, tall))
    side.set(xlim=(-behind, ahead + _MARGIN), ylim=(-0.1, highest))
    top.set(xlim=(-span, span), ylim=(-span, span))
    _side(side, resume, outline, lift, ahead)
    _top(top, resume, outline)
    for panel in (side, top):
        panel.set_aspect("equal")
        panel.tick_params(labelsize=8, color="#b0b8c0")
        for line in panel.spines.values():
            line.set_color("#d5dbe1")
    figure.legend(
        handles=_legend(resume, outline),
        loc="outside lower center",
        ncols=4,
        fontsize=9,
        frameon=False,
    )
    figure.suptitle(f"{_plain(resume.robot)}  ·  {resume.mobility.kind}", fontsize=14)
    path.parent.mkdir(parents=True, exist_ok=True)
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    from io import BytesIO

    stream = BytesIO()
    figure.savefig(stream, dpi=110, format="png", metadata={"Software": None})
    write_atomically(path, stream.getvalue())


def _side(panel: Axes, resume: Resume, outline: Outline | None, lift: float, ahead: float) -> None:
    for k, arm in enumerate(resume.manipulation.arms[: len(_ARMS)]):
        space = arm.workspace
        grid = space.grid()
        high = space.bottom + len(grid) * space.cell
        heights = np.linspace(space.bottom, high, len(grid), endpoint=False) + space.cell / 2.0
        radii = (np.arange(grid.shape[1]) + 0.5) * space.cell
        padded = np.pad(grid.astype(float), 1)
        xs = np.concatenate([[-space.cell / 2.0], radii, [radii[-1] + space.cell]])
        zs = np.concatenate([[heights[0] - space.cell], heights, [heights[-1] + space.cell]])
        padded[:, 0] = padded[:, 1]
        panel.contourf(xs, zs, padded, levels=[0.5, 2.0], colors=[_ARMS[k]], alpha=0.25)
        panel.contour(xs, zs, padded, levels=[0.5], colors=[_ARMS[k]], linewidths=1.4)
    _surfaces(panel, resume, ahead)
    _robot(panel, resume, outline, (0, 2), lift)
    for k, camera in enumerate(resume.perception.cameras[: len(_CAMERAS)]):
        color = _CAMERAS[k]
        eye = (camera.forward, camera.height + lift)
        pitches = camera.pitches
        if camera.mount != "arm" and pitches[1] - pitches[0] > 0.02:
            turned = camera.vfov + pitches[1] - pitches[0]
            middle = -(pitches[0] + pitches[1]) / 2.0
            wedge = _wedge(eye, middle, min(turned, math.tau), _SIGHT)
            panel.add_patch(Polygon(wedge, color=color, alpha=0.07, linewidth=0))
        wedge = _wedge(eye, -camera.pitch, camera.vfov, _SIGHT * 0.9)
        panel.add_patch(Polygon(wedge, facecolor=color, edgecolor=color, alpha=0.22))
        low, high = (h + lift for h in camera.heights)
        if high - low > 0.02:
            style = ":" if camera.mount == "arm" else "-"
            panel.plot([eye[0]] * 2, [low, high], style, color=color, linewidth=2.2, alpha=0.8)
        panel.plot(*eye, "o", color=color, markersize=6, markeredgecolor="white")
    panel.axhline(0.0, color="#333f4a", linewidth=1.6)
    panel.set_xlabel("ahead of the base axis [m]", fontsize=9)
    panel.set_ylabel("above the floor [m]", fontsize=9)
    panel.set_title("from the side", fontsize=10)


def _surfaces(panel: Axes, resume: Resume, ahead: float) -> None:
    """Mark surfaces of a home, and how far out the hands get at their heights."""
    top = panel.get_ylim()[1]
    right = panel.get_xlim()[1]
    for name, height in _SURFACES.items():
        if height > top - 0.1:
            continue
        panel.axhline(height, color="#b0b8c0", linewidth=0.8, linestyle=(0, (2, 3)), zorder=0)
        told = f"{name} {height:.2f} m"
        spans = [arm.workspace.radii_at(height) for arm in resume.manipulation.arms]
        found = [span for span in spans if span is not None]
        if found:
            told += f"\nhand {min(s[0] for s in found):.2f}–{max(s[1] for s in found):.2f} m out"
        elif spans:
            told += "\nout of reach"
        panel.text(right - 0.03, height, told, fontsize=7.5, color=_EDGE, ha="right", va="center",
                   bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0})  # fmt: skip


def _top(panel: Axes, resume: Resume, outline: Outline | None) -> None:
    for k, arm in enumerate(resume.manipulation.arms[: len(_ARMS)]):
        reach = arm.workspace.reach
        for first, last in arm.workspace.bearings:
            angles = np.linspace(first, last, 120)
            ring = np.stack([reach * np.cos(angles), reach * np.sin(angles)], axis=1)
            whole = last - first > math.tau - 0.05
            area = ring if whole else np.vstack([[0.0, 0.0], ring])
            panel.add_patch(Polygon(area, facecolor=_ARMS[k], alpha=0.14, linewidth=0))
            panel.add_patch(Polygon(area, fill=False, edgecolor=_ARMS[k], linewidth=1.4))
    for k, camera in enumerate(resume.perception.cameras[: len(_CAMERAS)]):
        color, eye = _CAMERAS[k], (camera.forward, 0.0)
        yaws = camera.yaws
        if camera.mount != "arm" and yaws[1] - yaws[0] > 0.02:
            turned = min(camera.hfov + yaws[1] - yaws[0], math.tau)
            wedge = _wedge(eye, (yaws[0] + yaws[1]) / 2.0, turned, _SIGHT)
            panel.add_patch(Polygon(wedge, color=color, alpha=0.07, linewidth=0))
        ahead = 0.0 if yaws[0] <= 0.0 <= yaws[1] else (yaws[0] + yaws[1]) / 2.0
        wedge = _wedge(eye, ahead, camera.hfov, _SIGHT * 0.9)
        panel.add_patch(Polygon(wedge, facecolor=color, edgecolor=color, alpha=0.22))
        panel.plot(*eye, "o", color=color, markersize=5, markeredgecolor="white", zorder=5)
    _robot(panel, resume, outline, (0, 1), 0.0)
    front = max([resume.mobility.radius, *(c.forward for c in resume.perception.cameras)])
    arrow = {"arrowstyle": "-|>", "color": "#333f4a", "linewidth": 1.4, "mutation_scale": 16}
    panel.annotate("", (front + 0.35, 0.0), (front + 0.05, 0.0), arrowprops=arrow, zorder=6)
    panel.set_xlabel("ahead [m]", fontsize=9)
    panel.set_ylabel("left [m]", fontsize=9)
    panel.set_title("from above", fontsize=10)


def _robot(
    panel: Axes, resume: Resume, outline: Outline | None, axes: tuple[int, int], lift: float
) -> None:
    """Draw the robot projected onto two axes of the base frame."""
    shift = np.array([0.0, lift if axes[1] == 2 else 0.0])
    body = resume.mobility
    if axes[1] == 1 and body.footprint:
        panel.add_patch(Polygon(np.array(body.footprint), facecolor=_BODY, alpha=0.25))
        panel.add_patch(
            Polygon(np.array(body.footprint), fill=False, edgecolor=_EDGE, linestyle="--")
        )
    if outline is None or not outline.shapes:
        edges = [(-body.radius, 0.0), (body.radius, 0.0)]
        edges += [(body.radius, body.height), (-body.radius, body.height)]
        if axes[1] == 2:
            panel.add_patch(
                Polygon(np.array(edges) + shift, facecolor="none", edgecolor=_EDGE, linestyle="--")
            )
    if outline is None:
        return
    for points in outline.shapes:
        hull = _hull(points[:, axes] + shift)
        if hull is not None:
            panel.add_patch(
                Polygon(hull, facecolor=_BODY, edgecolor=_EDGE, linewidth=0.7, alpha=0.75)
            )
    for ends in outline.bones:
        line = ends[:, axes] + shift
        panel.plot(line[:, 0], line[:, 1], "-", color=_EDGE, linewidth=1.1, alpha=0.7)
    if len(outline.hinges):
        dots = outline.hinges[:, axes] + shift
        panel.plot(dots[:, 0], dots[:, 1], ".", color="#333f4a", markersize=3.5)


def _hull(points: Array) -> Array | None:
    hull = MultiPoint(points).convex_hull
    return None if hull.geom_type != "Polygon" else np.array(hull.exterior.coords)


def _legend(resume: Resume, outline: Outline | None) -> Sequence[Patch | Line2D]:
    entries: list[Patch | Line2D] = []
    for k, arm in enumerate(resume.manipulation.arms[: len(_ARMS)]):
        label = f"{_plain(arm.name)}: where the hand can be"
        entries.append(Patch(facecolor=_ARMS[k], alpha=0.4, edgecolor=_ARMS[k], label=label))
    for k, camera in enumerate(resume.perception.cameras[: len(_CAMERAS)]):
        entries.append(
            Line2D([], [], color=_CAMERAS[k], marker="o", linewidth=2, label=_label(camera))
        )
    more = len(resume.perception.cameras) - len(_CAMERAS)
    if more > 0:
        entries.append(Line2D([], [], color="none", label=f"and {more} more cameras"))
    if outline is not None:
        entries.append(Patch(facecolor=_BODY, edgecolor=_EDGE, label="links with known shapes"))
    return entries


def _wedge(eye: tuple[float, float], middle: float, angle: float, length: float) -> Array:
    angles = np.linspace(middle - angle / 2.0, middle + angle / 2.0, 40)
    rim = np.stack([np.cos(angles), np.sin(angles)], axis=1) * length + eye
    return np.vstack([[eye], rim])


def _label(camera: ResumeCamera) -> str:
    angles = f"{math.degrees(camera.hfov):.0f}° × {math.degrees(camera.vfov):.0f}°"
    low, high = camera.heights
    where = f"{camera.height:.2f} m" if high - low < 0.02 else f"{low:.2f}–{high:.2f} m"
    return f"{_plain(camera.name)[:30]} ({camera.mount}, {where}, {angles})"


def _plain(name: str) -> str:
    """Return a name as the picture's font can show it; $ would begin a formula."""
    return "".join(c if c.isprintable() and c != "$" and ord(c) < 0x250 else "?" for c in name)[:60]
