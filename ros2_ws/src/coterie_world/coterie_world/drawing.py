"""Draws rooms and what stands in them from above: map and belief, no simulator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely

from coterie_core.geometry import Box, Vec2
from coterie_world.scene import Room, SceneObject

ROOM_COLORS = {
    "living room": "#fde8c8",
    "kitchen": "#fbd9cf",
    "dining room": "#fbe3b5",
    "bedroom": "#dbe5f8",
    "bathroom": "#cfeef0",
    "toilet": "#c5e5e8",
    "hallway": "#efefec",
    "stairs": "#e6e6e2",
    "office": "#dcefd8",
    "laundry room": "#d5e9ee",
    "closet": "#e9dff0",
    "garage": "#dedcd8",
    "entryway": "#f4efdc",
    "playroom": "#fbdbe9",
    "gym": "#e5ecc9",
    "pantry": "#f3dfc5",
    "balcony": "#e0f0dc",
}
SCALE = 0.55
"""Usual size of a metre on paper [inches]."""
FURNITURE = ("#ffffff", "#8a8a86")
FIXTURE = ("#f6fbff", "#7d97a8")
RUG = ("#f2e6dd", "#d9c2b2")
ITEM = "#9a6a4a"
# Things on walls and ceilings are left out, except what one sees in a plan.
DRAWN_ON_WALLS = {"window": "#5a9bd0", "door": "#a06a36", "curtain": "#c9b2d8"}


def draw_rooms(
    axes: Any,
    rooms: Sequence[Room],
    things: Sequence[SceneObject],
    *,
    labels: bool = True,
    scale: float = SCALE,
) -> list[Any]:
    """Draw rooms, what is in them, and their names, each where least stands in the way.

    Args:
        axes: `matplotlib.axes.Axes` in map coordinates [m].
        rooms: Rooms with outlines.
        things: What is on the rooms' floor.
        labels: Whether furniture is named where its name fits.
        scale: Size of a metre on paper [inches].

    Returns:
        The areas that the rooms' names take (shapely).
    """
    for room in rooms:
        color = ROOM_COLORS.get(room.type, "#eeeeee")
        _fill(axes, room.polygon, facecolor=color, edgecolor="none", zorder=1)
    for thing in sorted(things, key=lambda t: (t.box.top, t.id)):
        _draw_thing(axes, thing, SCALE / scale if labels else math.inf)
    return [_name_room(axes, room, things, SCALE / scale) for room in rooms]


def plain(name: str) -> str:
    """Return a name of a map for a picture: short, without control characters."""
    return "".join(c if c.isprintable() else "?" for c in name)[:40]


def _fill(axes: Any, corners: Sequence[Vec2], **style: Any) -> None:
    from matplotlib.patches import Polygon

    axes.add_patch(Polygon(corners, closed=True, **style))


def _draw_thing(axes: Any, thing: SceneObject, letters: float) -> None:
    """Draw a thing, with its name where it fits; `letters`: their size, 1 at the usual scale."""
    label = thing.label.top
    mount = thing.properties.get("mount", "floor")
    if mount in ("wall", "ceiling"):
        if label in DRAWN_ON_WALLS:
            box = thing.box
            shown = Box(box.center, (max(box.size[0], 0.1), box.size[1], box.size[2]), box.yaw)
            color = DRAWN_ON_WALLS[label]
            _fill(axes, shown.footprint(), facecolor=color, zorder=7, linewidth=0)
        return
    if thing.container:
        return
    flat = thing.box.size[2] < 0.03 and thing.kind != "item"
    face, edge = RUG if flat else (FIXTURE if thing.kind == "fixture" else FURNITURE)
    if thing.kind == "item":
        face, edge = thing.properties.get("color", "#ffffff"), ITEM
    zorder = 2 if flat else (3 if thing.kind != "item" else 4)
    line = 0.3 if thing.kind == "item" else 0.7
    outline = thing.box.footprint()
    _fill(axes, outline, facecolor=face, edgecolor=edge, linewidth=line, zorder=zorder)
    if thing.kind == "item":
        return
    if not flat and label not in ("table", "stool", "railing"):
        _draw_front(axes, thing.box, edge)
    _label_box(axes, thing.box, plain(label), letters)


def _draw_front(axes: Any, box: Box, color: str) -> None:
    """A line along the side that one uses."""
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    hx, hy = box.size[0] / 2.0 - 0.04, box.size[1] / 2.0 - 0.03
    xs = [box.center[0] + c * hx - s * y for y in (-hy, hy)]
    ys = [box.center[1] + s * hx + c * y for y in (-hy, hy)]
    axes.plot(xs, ys, color=color, linewidth=0.5, zorder=3)


def _label_box(axes: Any, box: Box, label: str, letters: float) -> None:
    (x0, y0, _), (x1, y1, _) = box.axis_aligned()
    width, height = x1 - x0, y1 - y0
    words = label.split()
    upright = height > 1.3 * width
    along, across = (height, width) if upright else (width, height)
    for text in (label, "\n".join(words)):
        lines = text.split("\n")
        longest = max(len(line) for line in lines)
        # A character of size 4.5 pt is about 0.11 m wide and 0.16 m high at the plan's scale.
        if longest * 0.108 * letters <= along and len(lines) * 0.16 * letters <= across:
            axes.text(
                box.center[0],
                box.center[1],
                text,
                fontsize=4.5,
                color="#4a4a48",
                ha="center",
                va="center",
                rotation=90 if upright else 0,
                linespacing=0.95,
                zorder=5,
                parse_math=False,
            )
            return


def _name_room(axes: Any, room: Room, things: Sequence[SceneObject], letters: float) -> Any:
    """Write the room's name, in two lines where one is too long; return the area that it takes."""
    shape = shapely.Polygon(room.polygon)
    standing = [
        shapely.Polygon(thing.box.footprint())
        for thing in things
        if thing.room == room.id
        and thing.kind != "item"
        and thing.properties.get("mount", "floor") == "floor"
        and thing.box.size[2] > 0.03
    ]
    furniture = shapely.unary_union(standing)
    x0, y0, x1, y1 = shape.bounds
    steps = np.arange(1, 12) / 12.0
    xs, ys = (v.ravel() for v in np.meshgrid(x0 + (x1 - x0) * steps, y0 + (y1 - y0) * steps))
    away = np.hypot(xs - shape.centroid.x, ys - shape.centroid.y)
    name = plain(room.name)
    words = name.split()
    texts = [name]
    if len(words) > 1:
        texts.append(f"{' '.join(words[:-1])}\n{words[-1]}")
    best: tuple[float, Vec2, str, float, Any] | None = None
    for size in (7.5, 6.5, 5.5, 4.5):
        for text in texts:
            lines = text.split("\n")
            half = max(len(line) for line in lines) * 0.0185 * letters * size / 2.0 + 0.06
            tall = len(lines) * 0.03 * letters * size / 2.0 + 0.04
            labels = shapely.box(xs - half, ys - tall, xs + half, ys + tall)
            area = 4.0 * half * tall
            out = 1.0 - shapely.area(shapely.intersection(labels, shape)) / area
            covered = shapely.area(shapely.intersection(labels, furniture)) / area
            costs = 4.0 * out + covered + 0.05 * away + 0.06 * (7.5 - size)
            k = int(np.argmin(costs))
            if best is None or costs[k] < best[0]:
                best = (float(costs[k]), (float(xs[k]), float(ys[k])), text, size, labels[k])
    assert best is not None
    axes.text(
        *best[1],
        best[2],
        fontsize=best[3],
        weight="bold",
        color="#2c3e50",
        ha="center",
        va="center",
        zorder=8,
        linespacing=0.95,
        bbox={"boxstyle": "round,pad=0.1", "facecolor": "#ffffffa0", "linewidth": 0},
        parse_math=False,
    )
    return best[4]
