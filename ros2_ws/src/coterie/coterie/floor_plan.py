"""Floor plans with matplotlib: rooms, furniture, grids of a map, where robots and things went."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from coterie_core.colors import robot_colors
from coterie_core.geometry import Vec2, Vec3
from coterie_world.drawing import SCALE, draw_rooms, plain
from coterie_world.scene import Floor, Room, SceneGraph, SceneObject

MARK = "#ffd21f"
GROUND = Floor("ground", 0, 0.0)
_WALL, _PALE, _DARK = "#55524b", "#bbb6aa", "#33302b"
_TITLES = ("Ground floor", "Upper floor", "Top floor")
_MARGIN = 0.4
_MOST_NAMES = 150


@dataclass(frozen=True, slots=True)
class Move:
    """A thing that was brought from `begin` to `end` [m], and what to write at it."""

    thing: str
    target: str
    begin: Vec3
    end: Vec3


@dataclass(frozen=True, slots=True)
class Grid:
    """What is free of a floor: (rows, cols) occupied [%], -1 unknown; cell [m]; first corner."""

    values: npt.NDArray[np.int8]
    cell: float
    origin: Vec2


@dataclass(frozen=True, slots=True)
class Plan:
    """What is drawn.

    Attributes:
        scene: The map.
        floors: Its floors, the lowest first; empty: those of the map.
        grids: What is free, by floor.
        ways: Robot -> where it was [m], in order.
        stops: Whether each point of a way is drawn, for those that stop there.
        leap: Parts of ways that are longer are left out: nobody saw where they went [m].
        moves: What was brought where.
        marks: Id of a thing -> what to write at it.
        names: Whether all things are named, where names do not collide; else furniture that is
            large enough is.
        items: Whether things that lie on others are drawn.
    """

    scene: SceneGraph
    floors: Sequence[Floor] = ()
    grids: Mapping[str, Grid] = field(default_factory=dict)
    ways: Mapping[str, Sequence[Vec3]] = field(default_factory=dict)
    stops: bool = False
    leap: float = math.inf
    moves: Sequence[Move] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    names: bool = False
    items: bool = True

    @property
    def storeys(self) -> list[Floor]:
        """Floors that are drawn, the lowest first."""
        floors = self.floors or self.scene.floors.values()
        return sorted(floors, key=lambda floor: floor.elevation) or [GROUND]

    def floor_at(self, z: float) -> Floor:
        """Return the floor that something at a height [m] is on."""
        below = [floor for floor in self.storeys if floor.elevation <= z + 0.5]
        return below[-1] if below else self.storeys[0]

    def title(self, floor: Floor) -> str:
        """Return a floor's name for people; empty where there is only one."""
        k, names = self.storeys.index(floor), _TITLES
        if len(self.storeys) == 1:
            return ""
        return names[k] if k < len(names) else f"Floor {k}"

    def bounds(self) -> tuple[float, float, float, float]:
        """Return left, bottom, right and top of all that is drawn [m]: the same for all floors."""
        points = [p for room in self.scene.rooms.values() for p in room.polygon]
        points += [p.position[:2] for p in self.scene.places.values()]
        points += [p[:2] for way in self.ways.values() for p in way]
        points += [p for thing in self.scene.objects.values() for p in thing.box.footprint()]
        for grid in self.grids.values():
            rows, cols = np.nonzero(grid.values >= 0)
            for r, c in ((rows, cols),) if rows.size else ():
                x, y = grid.origin
                points += [(x + grid.cell * c.min(), y + grid.cell * r.min())]
                points += [(x + grid.cell * c.max(), y + grid.cell * r.max())]
        array = np.array(points or [(0.0, 0.0), (1.0, 1.0)])
        (left, low), (right, high) = array.min(axis=0) - _MARGIN, array.max(axis=0) + _MARGIN
        return float(left), float(low), float(right), float(high)


def draw_plans(plan: Plan, title: str = "", note: str = "") -> Figure:
    """Return a picture with all floors side by side, below a title, with names of robots."""
    left, low, right, high = plan.bounds()
    count = len(plan.storeys)
    size = (max((right - left) * SCALE * count, 5.0), (high - low) * SCALE + 0.9)
    figure = Figure(figsize=size, layout="constrained")
    for axes, floor in zip(figure.subplots(1, count, squeeze=False)[0], plan.storeys, strict=True):
        draw_floor(axes, plan, floor)
        axes.set_title(plan.title(floor), fontsize=10, color=_DARK)
    if title:
        text = f"{plain_line(title)}\n{plain_line(note)}".strip()
        figure.suptitle(text, fontsize=10, ha="left", x=0.01, parse_math=False)
    name_robots(figure, plan.ways)
    return figure


def name_robots(figure: Figure, robots: Mapping[str, Sequence[Vec3]]) -> None:
    """Write the robots' names in their colors below a picture."""
    from matplotlib.lines import Line2D

    colors = robot_colors(robots)
    lines = [Line2D([], [], color=colors[robot], linewidth=3) for robot in colors]
    if lines:
        names = [plain(robot).replace("$", r"\$") for robot in colors]
        figure.legend(lines, names, loc="outside lower left", ncols=6, frameon=False)


def plain_line(text: str) -> str:
    """Return a line of text for a picture: not too long, without control characters."""
    return "".join(c if c.isprintable() else " " for c in text)[:110]


def to_svg(figure: Figure) -> str:
    """Return a figure as SVG, with texts as texts; the same for the same figure."""
    import matplotlib as mpl

    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "coterie"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    # Comments repeat texts as they are.
    return re.sub(r"<!--.*?-->\n?", "", text.getvalue(), flags=re.DOTALL)


def draw_floor(axes: Axes, plan: Plan, floor: Floor, scale: float = SCALE) -> None:
    """Draw one floor in map coordinates [m], a metre as large as `scale` says [inches]."""
    scene = plan.scene
    grid = plan.grids.get(floor.id)
    if grid is not None and grid.values.size:
        _draw_grid(axes, grid)
    rooms = [r for r in scene.rooms.values() if r.floor in ("", floor.id) and len(r.polygon) >= 3]
    things = _things(plan, floor)
    taken = draw_rooms(axes, rooms, things, labels=not plan.names, scale=scale)
    _draw_walls(axes, scene, rooms)
    if not rooms:
        _draw_places(axes, plan, floor)
    marked = {id_: text for id_, text in plan.marks.items() if scene.objects.get(id_) in things}
    if plan.names:
        taken += [mark_area(scene.objects[id_].box.center[:2]) for id_ in marked]
        _name_things(axes, things, taken, marked)
    _draw_ways(axes, plan, floor)
    for move in plan.moves:
        _draw_move(axes, plan, floor, move)
    for id_, text in marked.items():
        draw_mark(axes, scene.objects[id_].box.center[:2], text)
    left, low, right, high = plan.bounds()
    axes.set(aspect="equal", xlim=(left, right), ylim=(low, high))
    axes.axis("off")


def draw_mark(axes: Axes, at: Vec2, text: str) -> None:
    """Draw a disc with a short text on it."""
    axes.text(
        at[0], at[1], plain(text), fontsize=7, ha="center", va="center", weight="bold", zorder=10,
        bbox={"boxstyle": "circle,pad=0.25", "facecolor": MARK, "edgecolor": _DARK},
        parse_math=False,
    )  # fmt: skip


def mark_area(at: Vec2) -> Any:
    """Return the area of a disc at a position [m]."""
    return shapely.Point(*at).buffer(0.24)


def name_spot(at: Vec2, name: str, taken: list[Any], aside: bool, size: float = 5.0) -> Vec2 | None:
    """Return where a name covers nothing, and take the area there; None: nowhere.

    Args:
        at: Position of what is named [m].
        name: Its name.
        taken: Areas that names and discs have.
        aside: Whether the name may also stand below or above.
        size: Size of the letters [pt].
    """
    half, tall = 0.0115 * size * len(name), 0.019 * size
    for y in (at[1], at[1] - 0.38, at[1] + 0.38) if aside else (at[1],):
        area = shapely.box(at[0] - half, y - tall, at[0] + half, y + tall)
        if not any(area.intersects(other) for other in taken):
            taken.append(area)
            return at[0], y
    return None


def _things(plan: Plan, floor: Floor) -> list[SceneObject]:
    rooms = plan.scene.rooms
    floors = {one.id for one in plan.storeys}
    found = []
    for thing in plan.scene.objects.values():
        room = rooms.get(thing.room)
        known = room is not None and room.floor in floors
        here = room.floor if known and room is not None else plan.floor_at(thing.box.bottom).id
        if here == floor.id and (plan.items or thing.kind != "item") and thing.box.volume > 0.0:
            found.append(thing)
    return found


def shades(values: npt.NDArray[np.int8]) -> npt.NDArray[np.float64]:
    """Return gray levels of a grid: free is white, full dark, unknown light gray."""
    return np.where(values < 0, 0.93, 1.0 - 0.45 * np.clip(values, 0, 100) / 100.0)


def _draw_grid(axes: Axes, grid: Grid) -> None:
    rows, cols = grid.values.shape
    (x, y), cell = grid.origin, grid.cell
    extent = (x, x + cols * cell, y, y + rows * cell)
    axes.imshow(
        shades(grid.values), cmap="gray", vmin=0.0, vmax=1.0, origin="lower", extent=extent,
        alpha=0.6, zorder=1.5,
    )  # fmt: skip


def _draw_walls(axes: Axes, scene: SceneGraph, rooms: Sequence[Room]) -> None:
    """Draw outlines with gaps where doors are, and stairs as dashed rings."""
    ids = {room.id for room in rooms}
    ways = [way for way in scene.connections.values() if ids & {way.room_a, way.room_b}]
    gaps = shapely.unary_union(
        [
            shapely.Point(*way.position[:2]).buffer(max(way.width, 0.6) / 2.0)
            for way in ways
            if way.kind != "stairs"
        ]
    )
    for room in rooms:
        outline = shapely.Polygon(room.polygon).exterior.difference(gaps)
        for line in getattr(outline, "geoms", [outline]):
            if not line.is_empty:
                axes.plot(*line.xy, color=_WALL, linewidth=1.8, zorder=6)
    for way in ways:
        if way.kind == "stairs":
            axes.add_patch(
                Circle(way.position[:2], 0.35, fill=False, edgecolor=_WALL, linestyle=":", zorder=6)
            )


def _draw_places(axes: Axes, plan: Plan, floor: Floor) -> None:
    """Draw where robots can go, and the names of rooms, where no room has an outline."""
    scene = plan.scene
    here = {p.id: p for p in scene.places.values() if plan.floor_at(p.position[2]) is floor}
    for a in sorted(here):
        for b in sorted(scene.neighbours(a)):
            if a < b and b in here:
                xs, ys, _ = zip(here[a].position, here[b].position, strict=True)
                axes.plot(xs, ys, color=_PALE, linewidth=1.2, zorder=2)
    for room in scene.rooms.values():
        points = [p.position[:2] for p in here.values() if p.room == room.id]
        if points:
            x, y = np.mean(points, axis=0)
            axes.text(x, y, plain(room.name), fontsize=7, ha="center", zorder=8, parse_math=False)


def _name_things(
    axes: Axes, things: Sequence[SceneObject], taken: list[Any], marked: Collection[str]
) -> None:
    """Name things, those with marks first, then the largest, where a name covers no other."""
    order = sorted(things, key=lambda one: (one.id not in marked, -one.box.volume))
    for thing in order[:_MOST_NAMES]:
        if thing.properties.get("mount", "floor") != "floor":
            continue
        name = plain(thing.label.top)
        (left, low, _), (right, high, _) = thing.box.axis_aligned()
        aside = thing.id in marked or high - low > 0.8
        size = 6.5 if (right - left) * (high - low) > 0.5 else 4.8
        spot = name_spot(thing.box.center[:2], name, taken, aside, size)
        if spot is not None:
            axes.text(
                *spot, name, fontsize=size, ha="center", va="center", color=_DARK, zorder=7.5,
                parse_math=False,
                bbox={"boxstyle": "round,pad=0.05", "facecolor": "#ffffffa0", "linewidth": 0},
            )  # fmt: skip


def _draw_ways(axes: Axes, plan: Plan, floor: Floor) -> None:
    """Draw ways side by side: a ring where one begins, a dot at its end."""
    colors = robot_colors(plan.ways)
    for k, (robot, color) in enumerate(colors.items()):
        way = plan.ways[robot]
        shift = aside(k, plan)
        for piece in legs(way, plan.leap):
            for part in _on(plan, floor, piece):
                axes.plot(
                    *(part[:, :2] + shift).T, color=color, linewidth=1.6, alpha=0.9, zorder=7,
                    solid_joinstyle="round",
                )  # fmt: skip
        for j, point in enumerate(way):
            first, last = j == 0, j == len(way) - 1
            if plan.floor_at(point[2]) is not floor or not (first or last or plan.stops):
                continue
            at = (point[0] + shift, point[1] + shift)
            face, radius = ("#ffffff", 0.17) if first else (color, 0.13 if last else 0.07)
            axes.add_patch(
                Circle(at, radius, facecolor=face, edgecolor=color, linewidth=1.6, zorder=7.2)
            )


def aside(k: int, plan: Plan) -> float:
    """Return how far the k-th robot's way is drawn to the side [m]."""
    return 0.08 * (k - (len(plan.ways) - 1) / 2.0)


def _on(plan: Plan, floor: Floor, way: Sequence[Vec3]) -> Iterator[npt.NDArray[np.float64]]:
    """Give the parts of a way on a floor, of two points or more."""
    part: list[Vec3] = []
    for point in (*way, None):
        if point is not None and plan.floor_at(point[2]) is floor:
            part.append(point)
            continue
        if len(part) > 1:
            yield np.array(part)
        part = []


def legs(way: Sequence[Vec3], leap: float) -> Iterator[Sequence[Vec3]]:
    """Give the parts of a way [m] that were seen: without lines longer than `leap`.

    A robot tells where it is when it looks. Where it went unseen from one look to one far off,
    a straight line would lead through walls: there is none.
    """
    begin = 0
    for k, (a, b) in enumerate(pairwise(way), 1):
        if math.dist(a, b) > leap:
            yield way[begin:k]
            begin = k
    if way:
        yield way[begin:]


def _draw_move(axes: Axes, plan: Plan, floor: Floor, move: Move) -> None:
    begins, ends = (plan.floor_at(p[2]) is floor for p in (move.begin, move.end))
    if begins and ends:
        arrow = {"arrowstyle": "-|>", "linestyle": "--", "color": _DARK, "linewidth": 1.2}
        axes.annotate("", move.end[:2], move.begin[:2], arrowprops=arrow, zorder=9)
    if not begins and not ends:
        return
    at, note = move.begin, move.thing
    if not ends:
        note = f"{move.thing} to {move.target} (other floor)"
    elif not begins:
        at, note = move.end, f"{move.thing} from the other floor"
    axes.add_patch(Circle(at[:2], 0.08, facecolor=_DARK, zorder=9))
    left, _, right, _ = plan.bounds()
    inner = at[0] > left + 0.62 * (right - left)
    axes.annotate(
        plain(note), at[:2], (-5 if inner else 5, 4), textcoords="offset points", fontsize=7,
        ha="right" if inner else "left", zorder=9, parse_math=False,
        bbox={"boxstyle": "round,pad=0.1", "facecolor": "#ffffffc0", "linewidth": 0},
    )  # fmt: skip
