"""What a team has mapped: every floor from above, and all of it at a slant with its points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import PointCloud2

from coterie.floor_plan import (
    Grid,
    Plan,
    aside,
    draw_floor,
    draw_mark,
    legs,
    mark_area,
    name_robots,
    name_spot,
)
from coterie_cli.demo.map_watch import Shown
from coterie_core.colors import robot_colors
from coterie_core.geometry import Box, Vec3
from coterie_ros.conversions import grid_from_msg
from coterie_world.drawing import plain
from coterie_world.scene import SceneGraph
from semantic_mapper.files import color_of

Array = npt.NDArray[np.float64]

LEG_M = 3.0
"""Longest line between two looks of a robot [m]; links of places are shorter."""
_HEIGHT = 9.0
_TURN, _TILT = math.radians(25.0), math.radians(40.0)
_MOST_POINTS = 150_000
_MOST_NAMES = 70
_EDGES = [(k, (k + 1) % 4) for k in range(4)]
_EDGES += [(a + 4, b + 4) for a, b in _EDGES] + [(k, k + 4) for k in range(4)]


def draw(
    shown: Shown,
    ways: Mapping[str, Sequence[Vec3]],
    marked: Mapping[str, str],
    path: Path,
    dpi: float = 110.0,
) -> None:
    """Draw a map: every floor from above, and all of it at a slant.

    Args:
        shown: What the mapper published.
        ways: Robot -> where it was [m], in order.
        marked: Id of a thing -> what to write at it.
        path: A .png or .svg file.
        dpi: Pixels per inch; the picture is nine inches high.

    Raises:
        OSError: It cannot be written.
    """
    scene = shown.scene or SceneGraph()
    grids = {}
    for message in shown.grids.values():
        values, cell, (x, y, z) = grid_from_msg(message)
        grids[Plan(scene).floor_at(z).id] = Grid(values, cell, (x, y))
    plan = Plan(scene, grids=grids, ways=ways, leap=LEG_M, marks=marked, names=True)
    left, low, right, high = plan.bounds()
    slanted = _slanted(_corners_of(plan))
    spans = [(right - left, high - low)] * len(plan.storeys) + [tuple(np.ptp(slanted, axis=0))]
    widths = [_HEIGHT * x / max(y, 1e-6) for x, y in spans]
    figure = Figure(figsize=(sum(widths), _HEIGHT + 0.4), layout="constrained")
    axes = figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
    for axis, floor in zip(axes, plan.storeys, strict=False):
        draw_floor(axis, plan, floor)
        axis.set_title(plan.title(floor), fontsize=10)
    _draw_slanted(axes[-1], shown, plan)
    name_robots(figure, ways)
    figure.savefig(path, dpi=dpi)


def _corners(box: Box) -> Array:
    """Corners (8, 3) [m], the lower four first."""
    flat = np.vstack([box.footprint(), box.footprint()])
    return np.column_stack([flat, np.repeat((box.bottom, box.top), 4)])


def _outlines(scene: SceneGraph) -> list[Array]:
    """Outlines of rooms (n, 3) [m], closed."""
    levels = {floor.id: floor.elevation for floor in scene.floors.values()}
    return [
        np.array([(x, y, levels.get(room.floor, 0.0)) for x, y in [*room.polygon, room.polygon[0]]])
        for room in scene.rooms.values()
        if room.polygon
    ]


def _corners_of(plan: Plan) -> Array:
    """Points (n, 3) [m] as far out as anything that is drawn."""
    left, low, right, high = plan.bounds()
    corners = [_corners(thing.box) for thing in plan.scene.objects.values()]
    flat = [(left, low, 0.0), (left, high, 0.0), (right, low, 0.0), (right, high, 0.0)]
    return np.vstack([flat, *corners])


def _slanted(points: Array) -> Array:
    """Points (n, 3) [m] as seen at a slant, (n, 2)."""
    c, s = math.cos(_TURN), math.sin(_TURN)
    x = c * points[:, 0] - s * points[:, 1]
    depth = s * points[:, 0] + c * points[:, 1]
    return np.column_stack([x, depth * math.sin(_TILT) + points[:, 2] * math.cos(_TILT)])


def _draw_slanted(axes: Axes, shown: Shown, plan: Plan) -> None:
    for message in shown.grids.values():
        x, y = _slanted(_cells(message)).T
        axes.scatter(x, y, s=2.2, marker="s", c="#e4e2dc", linewidths=0)
    for outline in _outlines(plan.scene):
        axes.plot(*_slanted(outline).T, color="#55524b", linewidth=1.5)
    if shown.points is not None and shown.points.width:
        points, colors = cloud_points(shown.points)
        c, s = math.cos(_TURN), math.sin(_TURN)
        far_first = np.argsort(-(s * points[:, 0] + c * points[:, 1]))
        x, y = _slanted(points[far_first]).T
        axes.scatter(x, y, s=1.2, c=colors[far_first], linewidths=0)
    lines, shades, things = [], [], plan.scene.objects
    tops = {id_: _slanted(_corners(one.box))[4:].mean(axis=0) for id_, one in things.items()}
    marks = {id_: text for id_, text in plan.marks.items() if id_ in tops}
    taken = [mark_area((x, y)) for x, y in map(tops.__getitem__, marks)]
    order = sorted(things.values(), key=lambda one: (one.id not in marks, -one.box.volume))
    for k, thing in enumerate(order):
        flat, name = _slanted(_corners(thing.box)), plain(thing.label.top)
        lines += [(flat[a], flat[b]) for a, b in _EDGES]
        shades += [tuple(v / 300.0 for v in color_of(thing.label.top))] * len(_EDGES)
        x, y = tops[thing.id]
        spot = name_spot((x, y + 0.15), name, taken, thing.id in marks) if k < _MOST_NAMES else None
        if spot is not None:
            axes.text(*spot, name, fontsize=5, ha="center", va="center", parse_math=False)
    axes.add_collection(LineCollection(lines, colors=shades, linewidths=0.7))
    colors_of = robot_colors(plan.ways)
    for k, robot in enumerate(colors_of):
        way = [(x + aside(k, plan), y + aside(k, plan), z) for x, y, z in plan.ways[robot]]
        for leg in legs(way, LEG_M):
            axes.plot(*_slanted(np.array(leg)).T, color=colors_of[robot], linewidth=1.8)
        if way:
            end = _slanted(np.array(way[-1:]))[0]
            axes.plot(*end, "o", color=colors_of[robot], markersize=9, zorder=5)
    for id_, text in marks.items():
        draw_mark(axes, (tops[id_][0], tops[id_][1]), text)
    axes.set(aspect="equal")
    axes.axis("off")


def _cells(message: OccupancyGrid) -> Array:
    """Known cells of a floor that nothing occupies: centers (n, 3) [m]."""
    values, cell, (x, y, z) = grid_from_msg(message)
    rows, cols = np.nonzero((values >= 0) & (values < 50))
    across, along = x + (cols + 0.5) * cell, y + (rows + 0.5) * cell
    return np.column_stack([across, along, np.full(len(cols), z)])


def cloud_points(message: PointCloud2) -> tuple[Array, Array]:
    """Return points (n, 3) [m] and colours (n, 3), 0..1, of a cloud with the field `rgb`."""
    order = ">" if message.is_bigendian else "<"
    offsets = {f.name: f.offset for f in message.fields}
    form = np.dtype(
        {
            "names": ["x", "y", "z", "rgb"],
            "formats": [f"{order}f4"] * 3 + [f"{order}u4"],
            "offsets": [offsets[name] for name in ("x", "y", "z", "rgb")],
            "itemsize": message.point_step,
        }
    )
    data = np.frombuffer(bytes(message.data), form)
    data = data[:: -(-len(data) // _MOST_POINTS) or 1]
    points = np.column_stack([data[name] for name in "xyz"]).astype(np.float64)
    packed = data["rgb"][:, None] >> np.array([16, 8, 0], np.uint32)
    return points, (packed & 255) / 255.0
