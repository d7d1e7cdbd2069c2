"""Draw a house from above, one panel a floor: rooms, walls, doors, stairs, furniture."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from coterie_core.geometry import Box, Vec2
from coterie_world.scene import Floor, Room, SceneObject
from habitat_bridge.house.house import Door, House, Stairs

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
WALL_COLOR = "#3c3c3c"
FURNITURE = ("#ffffff", "#8a8a86")
FIXTURE = ("#f6fbff", "#7d97a8")
RUG = ("#f2e6dd", "#d9c2b2")
ITEM = "#9a6a4a"
# Things on walls and ceilings are left out, except what one sees in a plan.
DRAWN_ON_WALLS = {"window": "#5a9bd0", "door": "#a06a36", "curtain": "#c9b2d8"}


def draw_floor(axes: Any, house: House, floor: Floor, *, labels: bool = True) -> None:
    """Draw one floor onto matplotlib axes in map coordinates [m], so that paths can be drawn over.

    Args:
        axes: `matplotlib.axes.Axes`.
        house: The house.
        floor: Which of its floors.
        labels: Whether furniture is named where its name fits.
    """
    from matplotlib.patches import Polygon as Patch

    rooms = [room for room in house.rooms if room.floor == floor.id]
    ids = {room.id for room in rooms}
    for room in rooms:
        color = ROOM_COLORS.get(room.type, "#eeeeee")
        axes.add_patch(
            Patch(room.polygon, closed=True, facecolor=color, edgecolor="none", zorder=1)
        )
    things = [thing for thing in house.objects if thing.room in ids]
    for thing in sorted(things, key=lambda t: (t.box.top, t.id)):
        _draw_thing(axes, thing, labels)
    for stairs in house.stairs:
        if ids & {stairs.room_low, stairs.room_high}:
            _draw_stairs(axes, stairs, going_up=stairs.room_low in ids)
    for wall in house.walls:
        if wall.floor == floor.id and wall.base <= floor.elevation + 0.01:
            half = wall.thickness / 2.0
            (x0, y0), (x1, y1) = wall.start, wall.end
            box = [min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)]
            if abs(x1 - x0) > abs(y1 - y0):
                box[1], box[3] = box[1] - half, box[3] + half
            else:
                box[0], box[2] = box[0] - half, box[2] + half
            low = wall.height < 1.5
            corners = [(box[0], box[1]), (box[2], box[1]), (box[2], box[3]), (box[0], box[3])]
            color = "#9a9a94" if low else WALL_COLOR
            axes.add_patch(Patch(corners, closed=True, facecolor=color, edgecolor="none", zorder=6))
    for door in house.doors:
        if door.floor == floor.id:
            _draw_door(axes, house, door)
    for room in rooms:
        _name_room(axes, room, things)
    bounds = shapely.unary_union([shapely.Polygon(room.polygon) for room in house.rooms]).bounds
    axes.set_xlim(bounds[0] - 0.4, bounds[2] + 0.4)
    axes.set_ylim(bounds[1] - 0.4, bounds[3] + 0.4)
    axes.set_aspect("equal")


def floor_plan(house: House, *, labels: bool = True, scale: float = 0.55) -> Any:
    """Return a matplotlib figure with a panel per floor.

    Args:
        house: The house.
        labels: Whether furniture is named where its name fits.
        scale: Size of a metre on paper [inches].
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    bounds = shapely.unary_union([shapely.Polygon(room.polygon) for room in house.rooms]).bounds
    width, height = bounds[2] - bounds[0] + 0.8, bounds[3] - bounds[1] + 0.8
    count = len(house.floors)
    beside = width * count <= 2.2 * height * count
    columns, rows = (count, 1) if beside and width < 1.6 * height else (1, count)
    size = (max(5.0, width * scale * columns), max(3.5, (height * scale + 0.5) * rows))
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    for k, floor in enumerate(house.floors):
        axes = figure.add_subplot(rows, columns, k + 1)
        draw_floor(axes, house, floor, labels=labels)
        axes.set_title(_floor_title(house, floor), fontsize=10)
        axes.tick_params(labelsize=7)
        axes.set_xlabel("x [m]", fontsize=7)
        axes.set_ylabel("y [m]", fontsize=7)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return figure


def save_floor_plan(house: House, path: str | Path, *, labels: bool = True) -> None:
    """Write the plan to a file; its ending (.png, .svg, .pdf) says how.

    Raises:
        OSError: The file cannot be written.
        ValueError: The ending is unknown to matplotlib.
    """
    floor_plan(house, labels=labels).savefig(Path(path), dpi=130)


def _floor_title(house: House, floor: Floor) -> str:
    rooms = sum(room.floor == floor.id for room in house.rooms)
    name = "ground floor" if floor.index == 0 else f"floor {floor.index}"
    return f"house {house.seed}, {name}: {rooms} rooms"


def _draw_thing(axes: Any, thing: SceneObject, labels: bool) -> None:
    from matplotlib.patches import Polygon as Patch

    label = thing.label.top
    mount = thing.properties.get("mount", "floor")
    if mount in ("wall", "ceiling"):
        if label in DRAWN_ON_WALLS:
            box = thing.box
            shown = Box(box.center, (max(box.size[0], 0.1), box.size[1], box.size[2]), box.yaw)
            color = DRAWN_ON_WALLS[label]
            patch = Patch(shown.footprint(), closed=True, facecolor=color, zorder=7, linewidth=0)
            axes.add_patch(patch)
        return
    if thing.container:
        return
    flat = thing.box.size[2] < 0.03 and thing.kind != "item"
    face, edge = RUG if flat else (FIXTURE if thing.kind == "fixture" else FURNITURE)
    if thing.kind == "item":
        face, edge = thing.properties.get("color", "#ffffff"), ITEM
    zorder = 2 if flat else (3 if thing.kind != "item" else 4)
    line = 0.3 if thing.kind == "item" else 0.7
    axes.add_patch(
        Patch(
            thing.box.footprint(),
            closed=True,
            facecolor=face,
            edgecolor=edge,
            linewidth=line,
            zorder=zorder,
        )
    )
    if thing.kind == "item":
        return
    if not flat and label not in ("table", "stool", "railing"):
        _draw_front(axes, thing.box, edge)
    if labels:
        _label_box(axes, thing.box, label)


def _draw_front(axes: Any, box: Box, color: str) -> None:
    """A line along the side that one uses."""
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    hx, hy = box.size[0] / 2.0 - 0.04, box.size[1] / 2.0 - 0.03
    xs = [box.center[0] + c * hx - s * y for y in (-hy, hy)]
    ys = [box.center[1] + s * hx + c * y for y in (-hy, hy)]
    axes.plot(xs, ys, color=color, linewidth=0.5, zorder=3)


def _label_box(axes: Any, box: Box, label: str) -> None:
    (x0, y0, _), (x1, y1, _) = box.axis_aligned()
    width, height = x1 - x0, y1 - y0
    words = label.split()
    upright = height > 1.3 * width
    along, across = (height, width) if upright else (width, height)
    for text in (label, "\n".join(words)):
        lines = text.split("\n")
        longest = max(len(line) for line in lines)
        # A character of size 4.5 pt is about 0.11 m wide and 0.16 m high at the plan's scale.
        if longest * 0.108 <= along and len(lines) * 0.16 <= across:
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
            )
            return


def _draw_door(axes: Any, house: House, door: Door) -> None:
    from matplotlib.patches import Arc
    from matplotlib.patches import Polygon as Patch

    c, s = math.cos(door.yaw), math.sin(door.yaw)
    half = door.width / 2.0
    x, y, _ = door.center
    corners = [
        (x + c * a - s * b, y + s * a + c * b)
        for a, b in ((-half, -0.05), (half, -0.05), (half, 0.05), (-half, 0.05))
    ]
    axes.add_patch(Patch(corners, closed=True, facecolor="#ffffff", linewidth=0, zorder=6.5))
    if door.kind == "opening":
        return
    color = "#c0392b" if door.width < 0.7 else "#8d5a2b"
    # The leaf swings into the first room.
    inside = shapely.Polygon(house.room(door.room_a).polygon)
    side = 1.0 if inside.contains(shapely.Point(x - 0.2 * s, y + 0.2 * c)) else -1.0
    hinge = (x - side * c * half, y - side * s * half)
    end = (hinge[0] - side * s * door.width, hinge[1] + side * c * door.width)
    axes.plot([hinge[0], end[0]], [hinge[1], end[1]], color=color, linewidth=1.1, zorder=7)
    start = math.degrees(door.yaw) + (0.0 if side > 0 else 180.0)
    size = 2.0 * door.width
    axes.add_patch(
        Arc(
            hinge, size, size, theta1=start, theta2=start + 90, color=color, linewidth=0.5, zorder=7
        )
    )


def _draw_stairs(axes: Any, stairs: Stairs, *, going_up: bool) -> None:
    from matplotlib.patches import Polygon as Patch

    for tread in stairs.treads:
        axes.add_patch(
            Patch(
                tread.footprint(),
                closed=True,
                facecolor="#d8d2c8" if going_up else "#f7f5f2",
                edgecolor="#8a857c",
                linewidth=0.6,
                linestyle="-" if going_up else ":",
                zorder=3,
            )
        )
    tail, head = (stairs.bottom, stairs.top) if going_up else (stairs.top, stairs.bottom)
    axes.annotate(
        "",
        xy=head[:2],
        xytext=tail[:2],
        arrowprops={"arrowstyle": "->", "color": "#6a655c", "linewidth": 0.9},
        zorder=5,
    )
    middle = ((tail[0] + head[0]) / 2.0, (tail[1] + head[1]) / 2.0)
    axes.text(
        *middle,
        "up" if going_up else "down",
        fontsize=5,
        ha="center",
        va="center",
        color="#6a655c",
        zorder=6,
        bbox={"boxstyle": "round,pad=0.1", "facecolor": "#f4f1ec", "linewidth": 0},
    )


def _name_room(axes: Any, room: Room, things: list[SceneObject]) -> None:
    """Write the room's name where least stands in the way, in two lines where one is too long."""
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
    words = room.name.split()
    texts = [room.name]
    if len(words) > 1:
        texts.append(f"{' '.join(words[:-1])}\n{words[-1]}")
    best: tuple[float, Vec2, str, float] | None = None
    for size in (7.5, 6.5, 5.5, 4.5):
        for text in texts:
            lines = text.split("\n")
            half = max(len(line) for line in lines) * 0.0185 * size / 2.0 + 0.06
            tall = len(lines) * 0.03 * size / 2.0 + 0.04
            labels = shapely.box(xs - half, ys - tall, xs + half, ys + tall)
            area = 4.0 * half * tall
            out = 1.0 - shapely.area(shapely.intersection(labels, shape)) / area
            covered = shapely.area(shapely.intersection(labels, furniture)) / area
            costs = 4.0 * out + covered + 0.05 * away + 0.06 * (7.5 - size)
            k = int(np.argmin(costs))
            if best is None or costs[k] < best[0]:
                best = (float(costs[k]), (float(xs[k]), float(ys[k])), text, size)
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
    )
