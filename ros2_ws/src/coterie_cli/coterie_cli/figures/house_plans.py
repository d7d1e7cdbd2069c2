"""Drawings of the report as SVG text: floor plans with paths, coverage curve, decision tree."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coterie_cli.demo.results import Track
from coterie_core.geometry import Vec2
from coterie_world.scene import Floor, SceneGraph

Frame = Callable[[float, float], str]
"""From x, y [m] to SVG coordinates "x,y"."""

ROBOT_COLOURS = 8
"""Robots are drawn in the style sheet's colours r0 .. r7, then from the start again."""


def number(value: float) -> str:
    """Return a coordinate with two decimals and no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(value: object) -> str:
    """Return text that is safe inside SVG: labels and names are untrusted."""
    return html.escape(str(value), quote=True)


def floor_plans(scene: SceneGraph, tracks: Sequence[Track]) -> list[tuple[str, str]]:
    """Return (title, SVG) of every floor with rooms, doors, furniture and the robots' ways.

    Args:
        scene: The truth about the house.
        tracks: The robots' ways; a point belongs to the floor whose level is nearest below it.
    """
    floors = sorted(scene.floors.values(), key=lambda f: f.index)
    names = {0: "Ground floor", 1: "Upper floor", 2: "Top floor"}
    plans = []
    for floor in floors:
        title = names.get(floor.index, f"Floor {floor.index}") if len(floors) > 1 else "Floor plan"
        plans.append((title, _floor_plan(scene, floor, floors, tracks)))
    return plans


def _floor_of(z: float, floors: Sequence[Floor]) -> Floor:
    below = [f for f in floors if f.elevation <= z + 0.8]
    return max(below, key=lambda f: f.elevation) if below else floors[0]


def _floor_plan(
    scene: SceneGraph, floor: Floor, floors: Sequence[Floor], tracks: Sequence[Track]
) -> str:
    places = [p for p in scene.places.values() if _floor_of(p.position[2], floors) is floor]
    rooms = [r for r in scene.rooms.values() if r.floor == floor.id]
    # One frame for all floors, so that they lie above one another on the page.
    xs = [p.position[0] for p in scene.places.values()]
    ys = [p.position[1] for p in scene.places.values()]
    for room in scene.rooms.values():
        xs += [x for x, _ in room.polygon]
        ys += [y for _, y in room.polygon]
    if not xs:
        return ""
    left, right, low, high = min(xs) - 0.4, max(xs) + 0.4, min(ys) - 0.4, max(ys) + 0.4
    scale = 560.0 / max(right - left, 1e-6)

    def at(x: float, y: float) -> str:
        return f"{number((x - left) * scale)},{number((high - y) * scale)}"

    width, height = (right - left) * scale, (high - low) * scale
    parts = [
        f'<svg class="plan" viewBox="0 0 {number(width)} {number(height)}" role="img" '
        f'aria-label="floor plan of {text(floor.id)}">'
    ]
    for room in rooms:
        if room.polygon:
            points = " ".join(at(x, y) for x, y in room.polygon)
            parts.append(f'<polygon class="room" points="{points}"/>')
    if not any(r.polygon for r in rooms):
        parts += _links(scene, {p.id for p in places}, at)
    for thing in scene.objects.values():
        if thing.kind == "item" or thing.room not in {r.id for r in rooms}:
            continue
        if thing.box.volume > 0.0:
            points = " ".join(
                at(x, y) for x, y in _footprint(thing.box.center, thing.box.size, thing.box.yaw)
            )
            parts.append(
                f'<polygon class="thing" points="{points}"><title>{text(thing.label.top)}'
                "</title></polygon>"
            )
    ids = {r.id for r in rooms}
    for way in scene.connections.values():
        if way.room_a in ids or way.room_b in ids:
            x, y = at(way.position[0], way.position[1]).split(",")
            radius = max(way.width, 0.6) * scale / 2.0 if way.kind != "stairs" else 9.0
            css = "stairs" if way.kind == "stairs" else "door"
            if any(r.polygon for r in rooms):
                parts.append(
                    f'<circle class="{css}" cx="{x}" cy="{y}" r="{number(min(radius, 11.0))}">'
                    f"<title>{text(way.kind)} {way.width:.2f} m</title></circle>"
                )
    parts += _paths(tracks, floor, floors, at)
    for room in rooms:
        parts.append(
            _room_name(
                room.name,
                room.polygon,
                [(p.position[0], p.position[1]) for p in places if p.room == room.id],
                at,
            )
        )
    parts.append("</svg>")
    return "".join(parts)


def _links(scene: SceneGraph, ids: set[str], at: Frame) -> list[str]:
    parts = []
    for a in sorted(ids):
        for b in sorted(scene.neighbours(a)):
            if a < b and b in ids:
                (ax, ay, _), (bx, by, _) = scene.places[a].position, scene.places[b].position
                parts.append(f'<path class="link" d="M{at(ax, ay)}L{at(bx, by)}"/>')
    return parts


def _footprint(center: Sequence[float], size: Sequence[float], yaw: float) -> list[Vec2]:
    c, s = math.cos(yaw), math.sin(yaw)
    corners = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    return [
        (
            center[0] + c * i * size[0] / 2.0 - s * j * size[1] / 2.0,
            center[1] + s * i * size[0] / 2.0 + c * j * size[1] / 2.0,
        )
        for i, j in corners
    ]


def _paths(tracks: Sequence[Track], floor: Floor, floors: Sequence[Floor], at: Frame) -> list[str]:
    parts = []
    for k, track in enumerate(tracks):
        css = f"r{k % ROBOT_COLOURS}"
        shift = 0.07 * (k - (len(tracks) - 1) / 2.0)  # [m], so that shared ways stay visible
        pieces: list[list[str]] = [[]]
        for point in track.points:
            if _floor_of(point.z, floors) is floor:
                pieces[-1].append(at(point.x + shift, point.y + shift))
            elif pieces[-1]:
                pieces.append([])
        for piece in pieces:
            if len(piece) > 1:
                parts.append(f'<path class="way {css}" d="M{" L".join(piece)}"/>')
        for point in track.points:
            if _floor_of(point.z, floors) is floor:
                x, y = at(point.x + shift, point.y + shift).split(",")
                parts.append(
                    f'<circle class="stop {css}" cx="{x}" cy="{y}" r="2.6"><title>'
                    f"{text(track.robot)}, hop {point.step}, {point.coverage:.0%} seen"
                    "</title></circle>"
                )
        if track.points and _floor_of(track.points[0].z, floors) is floor:
            x, y = at(track.points[0].x + shift, track.points[0].y + shift).split(",")
            parts.append(
                f'<circle class="begin {css}" cx="{x}" cy="{y}" r="7"><title>'
                f"{text(track.robot)} starts here</title></circle>"
            )
    return parts


def _room_name(name: str, polygon: Sequence[Vec2], places: Sequence[Vec2], at: Frame) -> str:
    points = list(polygon) or list(places)
    if not points:
        return ""
    if polygon:
        x, y = _middle(polygon)
    else:
        x = sum(p[0] for p in points) / len(points)
        y = sum(p[1] for p in points) / len(points)
    px, py = at(x, y).split(",")
    return f'<text class="name" x="{px}" y="{py}">{text(name)}</text>'


def _middle(polygon: Sequence[Vec2], cells: int = 24) -> Vec2:
    """Return the point of a grid inside a polygon that is farthest from its edges [m]."""
    from shapely.geometry import Point, Polygon

    shape = Polygon(polygon)
    x0, y0, x1, y1 = shape.bounds
    best, found = -1.0, (shape.representative_point().x, shape.representative_point().y)
    for i in range(1, cells):
        for j in range(1, cells):
            point = Point(x0 + (x1 - x0) * i / cells, y0 + (y1 - y0) * j / cells)
            # Upwards a little: furniture and ways are mostly around the middle.
            room = shape.exterior.distance(point) + 0.02 * (point.y - y0)
            if room > best and shape.contains(point):
                best, found = room, (point.x, point.y)
    return found


def coverage_curve(
    tracks: Sequence[Track],
    together: Sequence[float] = (),
    width: float = 560.0,
    height: float = 250.0,
) -> str:
    """Return an SVG of the share of the house seen against hops, per robot and by all together.

    Args:
        tracks: The robots' ways with their coverage (0..1).
        together: What all robots together had seen after each hop (0..1).
        width: Of the drawing [px].
        height: Of the drawing [px].
    """
    longest = max((p.step for t in tracks for p in t.points), default=0) or 1
    left, bottom, top, right = 40.0, 34.0, 12.0, 78.0
    w, h = width - left - right, height - top - bottom

    def at(step: float, share: float) -> str:
        return f"{number(left + w * step / longest)},{number(top + h * (1.0 - share))}"

    parts = [
        f'<svg class="chart" viewBox="0 0 {number(width)} {number(height)}" role="img" '
        'aria-label="coverage against hops">'
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = number(top + h * (1.0 - share))
        parts.append(f'<path class="rule" d="M{number(left)},{y}H{number(left + w)}"/>')
        parts.append(f'<text class="tick end" x="{number(left - 6)}" y="{y}">{share:.0%}</text>')
    stride = max(1, round(longest / 6))
    for step in range(0, longest + 1, stride):
        x = number(left + w * step / longest)
        parts.append(f'<text class="tick mid" x="{x}" y="{number(top + h + 14)}">{step}</text>')
    x = number(left + w / 2)
    parts.append(f'<text class="tick mid" x="{x}" y="{number(height - 4)}">hops</text>')
    labels: list[tuple[float, str, str]] = []
    if together:
        line = " L".join(at(hop, share) for hop, share in enumerate(together))
        parts.append(f'<path class="team" d="M{line}"/>')
        labels.append((top + h * (1.0 - together[-1]), "", "together"))
    for k, track in enumerate(tracks):
        if not track.points:
            continue
        line = " L".join(at(p.step, p.coverage) for p in track.points)
        parts.append(f'<path class="way r{k % ROBOT_COLOURS}" d="M{line}"/>')
        css = f" t{k % ROBOT_COLOURS}"
        labels.append((top + h * (1.0 - track.points[-1].coverage), css, track.robot))
    last = -math.inf
    for y_end, css, name in sorted(labels):
        y_end = last = max(y_end, last + 13.0)
        parts.append(
            f'<text class="series{css}" x="{number(left + w + 6)}" '
            f'y="{number(y_end)}">{text(name)}</text>'
        )
    parts.append("</svg>")
    return "".join(parts)


@dataclass(slots=True)
class TreeNode:
    """A node of a decision tree to draw: what it asks (or answers), and its two branches.

    `yes_share` (0..1) is the share of YES among the `count` training answers that reach it.
    """

    label: str
    count: int
    yes_share: float
    yes: TreeNode | None = None
    no: TreeNode | None = None


def tree_picture(root: TreeNode, depth: int = 3) -> str:
    """Return an SVG of the top of a decision tree; deeper parts are summed up in their root."""
    box_w, box_h, gap_x, gap_y = 128.0, 40.0, 10.0, 34.0
    places: list[tuple[TreeNode, float, int, bool]] = []
    edges: list[tuple[float, int, float, str]] = []
    cursor = 0.0

    def lay(node: TreeNode, level: int) -> float:
        nonlocal cursor
        branches = [(n, word) for n, word in ((node.no, "no"), (node.yes, "yes")) if n is not None]
        leaf = not branches or level >= depth
        if leaf:
            x = cursor + box_w / 2.0
            cursor += box_w + gap_x
        else:
            below = [(lay(n, level + 1), word) for n, word in branches]
            x = sum(b for b, _ in below) / len(below)
            for child_x, word in below:
                edges.append((x, level, child_x, word))
        places.append((node, x, level, leaf))
        return x

    lay(root, 0)
    levels = max(level for _, _, level, _ in places) + 1
    width, height = max(cursor - gap_x, box_w), levels * (box_h + gap_y) - gap_y + 4.0
    parts = [
        f'<svg class="tree" viewBox="-2 -2 {number(width + 4)} {number(height)}" '
        f'style="max-width:{number(width)}px" role="img" aria-label="decision tree">'
    ]
    for x, level, child_x, word in edges:
        y0, y1 = level * (box_h + gap_y) + box_h, (level + 1) * (box_h + gap_y)
        mid = (y0 + y1) / 2.0
        parts.append(
            f'<path class="edge" d="M{number(x)},{number(y0)}C{number(x)},{number(mid)} '
            f'{number(child_x)},{number(mid)} {number(child_x)},{number(y1)}"/>'
        )
        tx = child_x + (12.0 if child_x > x else -12.0)
        parts.append(f'<text class="branch" x="{number(tx)}" y="{number(y1 - 7)}">{word}</text>')
    for node, x, level, leaf in places:
        y = level * (box_h + gap_y)
        side = "leaf-yes" if node.yes_share >= 0.5 else "leaf-no"
        css = side if leaf else "ask"
        first = node.label if not leaf or node.yes is None else f"{node.label} …"
        if leaf:
            first = "YES" if node.yes_share >= 0.5 else "NO"
        share = f"{node.count} asked, {node.yes_share:.0%} yes"
        parts.append(
            f'<g class="{css}"><title>{text(node.label)}</title><rect x="{number(x - box_w / 2)}" '
            f'y="{number(y)}" width="{number(box_w)}" height="{number(box_h)}" rx="6"/>'
            f'<text x="{number(x)}" y="{number(y + 16)}">{text(_short(first))}</text>'
            f'<text class="small" x="{number(x)}" y="{number(y + 31)}">{text(share)}</text></g>'
        )
    parts.append("</svg>")
    return "".join(parts)


def _short(label: str, longest: int = 21) -> str:
    return label if len(label) <= longest else label[: longest - 1] + "…"
