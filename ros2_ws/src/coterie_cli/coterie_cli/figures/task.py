"""The files of a task: its result, its talk, and a picture of where robots and things went."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from coterie_bringup.task_record import TaskRecord
from coterie_cli.figures.house_plans import _floor_of, _footprint, _middle, number, text
from coterie_core.files import write_atomically
from coterie_core.geometry import Vec3
from coterie_world.scene import Floor, SceneGraph

At = Callable[[float, float], str]

COLOURS = ("#1f77b4", "#d95f02", "#2a9d5c", "#8e44ad", "#c0392b", "#7f6000", "#0f8b8d", "#d81b74")
_WIDTH = 620.0
_GAP = 30.0
_STYLE = (
    "text{font-family:sans-serif;font-size:12px;fill:#333}"
    ".room{fill:#f6f4ef;stroke:#8d8779;stroke-width:1.5}"
    ".thing{fill:#e3ded2;stroke:#bdb6a6;stroke-width:.8}"
    ".target{fill:#ffe9a8;stroke:#b58900;stroke-width:1.2}"
    ".door{fill:#fff;stroke:#8d8779}.stairs{fill:#d8d2c4;stroke:#8d8779}"
    ".way{fill:none;stroke-width:2;stroke-opacity:.8;stroke-linejoin:round}"
    ".move{fill:none;stroke:#222;stroke-width:1.6;stroke-dasharray:5 4}"
    ".name{fill:#9a9382;text-anchor:middle}.head{font-size:15px;font-weight:bold}"
)


def save_task(record: TaskRecord, folder: Path) -> list[Path]:
    """Write result, transcript and picture into a folder; return the files.

    Raises:
        OSError: The folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / "result.json"
    write_atomically(result, json.dumps(record.as_data(), indent=1))
    files = [result]
    if record.transcript is not None:
        record.transcript.save(folder)
        files += [folder / "discussion.md", folder / "discussion.json"]
    if record.scene is not None and record.scene.rooms:
        drawing = folder / "map.svg"
        write_atomically(drawing, picture(record, record.scene))
        files.append(drawing)
    return files


def picture(record: TaskRecord, scene: SceneGraph) -> str:
    """Return an SVG: one floor plan below the other, with a legend.

    Circles are where robots began, dashed arrows lead from where a thing was to where it was
    brought; an arrow to another floor ends at the stairs' edge of the plan with the target's name.
    """
    floors = sorted(scene.floors.values(), key=lambda f: f.index) or [Floor("floor", 0, 0.0)]
    xs = [x for room in scene.rooms.values() for x, _ in room.polygon]
    ys = [y for room in scene.rooms.values() for _, y in room.polygon]
    for way in record.ways.values():
        xs += [p[0] for p in way]
        ys += [p[1] for p in way]
    if not xs:
        xs, ys = [0.0, 1.0], [0.0, 1.0]
    left, right, low, high = min(xs) - 0.3, max(xs) + 0.3, min(ys) - 0.3, max(ys) + 0.3
    scale = _WIDTH / max(right - left, 1e-6)
    height = (high - low) * scale
    top = 92.0 + 18.0 * len(record.ways)
    total = top + len(floors) * (height + _GAP)
    robots = {robot: COLOURS[k % len(COLOURS)] for k, robot in enumerate(sorted(record.ways))}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(_WIDTH)} {number(total)}" '
        f'width="{number(_WIDTH)}" role="img"><style>{_STYLE}</style>'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0,0L8,4L0,8z" fill="#222"/></marker></defs>'
        f'<rect width="{number(_WIDTH)}" height="{number(total)}" fill="#fff"/>'
        f'<text class="head" x="12" y="26">{text(record.words[:90])}</text>'
        f'<text x="12" y="46">{text(record.message[:110])}</text>'
    ]
    for k, (robot, colour) in enumerate(robots.items()):
        y = number(66.0 + 18.0 * k)
        parts.append(
            f'<path class="way" stroke="{colour}" d="M14,{y}h26"/>'
            f'<text x="48" y="{number(70.0 + 18.0 * k)}">{text(robot)}</text>'
        )
    for k, floor in enumerate(floors):
        offset = top + k * (height + _GAP)

        def at(x: float, y: float, base: float = offset) -> str:
            return f"{number((x - left) * scale)},{number(base + (high - y) * scale)}"

        name = floor.id if len(floors) > 1 else ""
        parts.append(f'<text x="12" y="{number(offset - 6)}">{text(name)}</text>')
        parts += _house(record, scene, floor, floors, at, scale)
        for robot, way in record.ways.items():
            parts += _way(robot, way, floor, floors, at, robots[robot])
        parts += _moves(record, floor, floors, at)
    parts.append("</svg>")
    return "".join(parts)


def _house(
    record: TaskRecord,
    scene: SceneGraph,
    floor: Floor,
    floors: Sequence[Floor],
    at: At,
    scale: float,
) -> list[str]:
    rooms = [r for r in scene.rooms.values() if r.floor in (floor.id, "") and r.polygon]
    ids = {room.id for room in rooms}
    targets = {move.target for move in record.moves()}
    parts = []
    for room in rooms:
        points = " ".join(at(x, y) for x, y in room.polygon)
        parts.append(f'<polygon class="room" points="{points}"/>')
    for thing in scene.objects.values():
        if thing.kind == "item" or thing.room not in ids or thing.box.volume <= 0.0:
            continue
        shape = _footprint(thing.box.center, thing.box.size, thing.box.yaw)
        points = " ".join(at(x, y) for x, y in shape)
        css = "target" if thing.id in targets else "thing"
        parts.append(
            f'<polygon class="{css}" points="{points}"><title>{text(thing.id)}</title></polygon>'
        )
    for way in scene.connections.values():
        if way.room_a in ids or way.room_b in ids:
            x, y = at(way.position[0], way.position[1]).split(",")
            css = "stairs" if way.kind == "stairs" else "door"
            radius = number(min(way.width * scale / 2.0, 9.0))
            parts.append(
                f'<circle class="{css}" cx="{x}" cy="{y}" r="{radius}">'
                f"<title>{text(way.kind)}, {way.width:.2f} m</title></circle>"
            )
    for room in rooms:
        x, y = at(*_middle(room.polygon)).split(",")
        parts.append(f'<text class="name" x="{x}" y="{y}">{text(room.name)}</text>')
    return parts


def _way(
    robot: str, way: Sequence[Vec3], floor: Floor, floors: Sequence[Floor], at: At, colour: str
) -> list[str]:
    parts: list[str] = []
    pieces: list[list[str]] = [[]]
    for x, y, z in way:
        if _floor_of(z, floors) is floor:
            pieces[-1].append(at(x, y))
        elif pieces[-1]:
            pieces.append([])
    for piece in pieces:
        if len(piece) > 1:
            parts.append(f'<path class="way" stroke="{colour}" d="M{" L".join(piece)}"/>')
    if way and _floor_of(way[0][2], floors) is floor:
        x_, y_ = at(way[0][0], way[0][1]).split(",")
        parts.append(
            f'<circle cx="{x_}" cy="{y_}" r="6" fill="{colour}"><title>{text(robot)} begins here'
            "</title></circle>"
        )
    return parts


def _moves(record: TaskRecord, floor: Floor, floors: Sequence[Floor], at: At) -> list[str]:
    parts = []
    for move in record.moves():
        if move.begin is None or move.end is None:
            continue
        here = [_floor_of(p[2], floors) is floor for p in (move.begin, move.end)]
        a, b = at(*move.begin[:2]), at(*move.end[:2])
        if all(here):
            parts.append(f'<path class="move" marker-end="url(#tip)" d="M{a} L{b}"/>')
        if here[0]:
            x, y = a.split(",")
            parts.append(f'<circle cx="{x}" cy="{y}" r="3.5" fill="#222"/>')
            note = move.thing if all(here) else f"{move.thing} to {move.target} (other floor)"
            parts.append(_note(float(x), float(y) - 5.0, note))
        elif here[1]:
            x, y = b.split(",")
            note = f"{move.thing} from the other floor"
            parts.append(_note(float(x), float(y) - 5.0, note))
    return parts


def _note(x: float, y: float, words: str) -> str:
    """A text beside a point, on its left where the picture ends on its right."""
    inner = x > 0.62 * _WIDTH
    anchor = ' text-anchor="end"' if inner else ""
    at = number(x - 6.0 if inner else x + 6.0)
    return f'<text x="{at}" y="{number(y)}"{anchor}>{text(words)}</text>'
