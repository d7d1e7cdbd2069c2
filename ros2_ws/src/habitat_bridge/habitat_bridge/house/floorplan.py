"""Draw a house from above, one panel a floor: rooms, walls, doors, stairs, furniture."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import shapely

from coterie_world.drawing import SCALE, draw_rooms
from coterie_world.scene import Floor
from habitat_bridge.house.house import Door, House, Stairs

WALL_COLOR = "#3c3c3c"


def draw_floor(
    axes: Any, house: House, floor: Floor, *, labels: bool = True, scale: float = SCALE
) -> None:
    """Draw one floor onto matplotlib axes in map coordinates [m], so that paths can be drawn over.

    Args:
        axes: `matplotlib.axes.Axes`.
        house: The house.
        floor: Which of its floors.
        labels: Whether furniture is named where its name fits.
        scale: Size of a metre on paper [inches].
    """
    from matplotlib.patches import Polygon as Patch

    rooms = [room for room in house.rooms if room.floor == floor.id]
    ids = {room.id for room in rooms}
    things = [thing for thing in house.objects if thing.room in ids]
    draw_rooms(axes, rooms, things, labels=labels, scale=scale)
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
    bounds = shapely.unary_union([shapely.Polygon(room.polygon) for room in house.rooms]).bounds
    axes.set_xlim(bounds[0] - 0.4, bounds[2] + 0.4)
    axes.set_ylim(bounds[1] - 0.4, bounds[3] + 0.4)
    axes.set_aspect("equal")


def floor_plan(house: House, *, labels: bool = True, scale: float = SCALE) -> Any:
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
        draw_floor(axes, house, floor, labels=labels, scale=scale)
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
