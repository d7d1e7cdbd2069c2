"""From annotations and boxes to a scene graph: floors, rooms with kinds and names, objects."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from coterie_core.geometry import Box, Vec3
from coterie_core.household import ObjectKind, load_household, normalized
from coterie_world.scene import Connection, Floor, LabelBelief, Room, SceneGraph, SceneObject
from habitat_bridge.habitat.annotation_types import Annotations, RegionNote

STRUCTURE = frozenset(
    {"wall", "walls", "floor", "floors", "ceiling", "beam", "column", "structure"}
)
"""Labels of what belongs to the building; not things that a robot looks for."""
NO_LABEL = frozenset({"", "void", "unlabeled", "unlabelled", "unknown", "misc", "object", "remove"})
"""Labels of annotators who do not say what a thing is."""

STOREY = 1.5
"""Heights of floors that differ by less [m] are steps within one storey."""

_ROOM_MARGIN = 0.3
_FAR = 1.0
_HASH = re.compile(r"^[0-9a-f]{12,}(?:_.*)?$")


def label_of(raw: str) -> str:
    """Return the household's name for a label of a data set ("object" where it says nothing).

    Names of templates are understood too: leading numbers go ("024_bowl"), hashes say nothing.
    """
    text = re.sub(r"^[\d_\-\s]+", "", raw.strip().rsplit("/", 1)[-1])
    if not text or _HASH.match(text.lower()):
        return "object"
    household = load_household()
    # "oven/stove", "chair, folded": any part that is known names the thing.
    for part in (text, *re.split(r"[,/(]", text)):
        if household.category(part) is not None:
            return household.canonical(part)
    return household.canonical(text) or "object"


def kind_of(label: str, box: Box | None, movable: bool) -> ObjectKind:
    """Return what kind of thing it is: by its category, else by size and whether it can move."""
    category = load_household().category(label)
    if category is not None:
        return category.kind
    if label in ("door", "window", "stairs", "railing", "fireplace", "vent"):
        return "fixture"
    if box is None:
        return "item"
    return "item" if movable or max(box.size) < 0.4 else "furniture"


def floors_from(elevations: Iterable[float], ceilings: Iterable[float] = ()) -> list[Floor]:
    """Return storeys from the heights of floors [m]: what lies within `STOREY` is one.

    Its elevation is the lowest of its heights; its ceiling is the highest one that fits below the
    next storey, else 2.6 m above.
    """
    heights = sorted(elevations)
    tops = sorted(ceilings)
    bases: list[float] = []
    for height in heights:
        if not bases or height - bases[-1] >= STOREY:
            bases.append(height)
    floors = []
    for k, base in enumerate(bases):
        limit = bases[k + 1] if k + 1 < len(bases) else math.inf
        fitting = [t for t in tops if base + 1.5 < t <= limit + 0.1]
        ceiling = round((max(fitting) - base) if fitting else 2.6, 3)
        floors.append(Floor(f"floor-{k}", k, round(base, 4), ceiling))
    return floors


def floor_at(floors: Sequence[Floor], height: float) -> str:
    """Return the id of the storey that a height [m] belongs to ("" if there is none)."""
    best = ""
    for floor in sorted(floors, key=lambda f: f.elevation):
        if not best or height >= floor.elevation - 0.3:
            best = floor.id
    return best


def add_regions(graph: SceneGraph, notes: Annotations) -> dict[str, str]:
    """Add annotated regions as rooms, with their floors and portals; return region key -> room id.

    Rooms whose kind is not annotated get it later (`guess_types`). Outlines that are missing are
    left empty.
    """
    lows = {k: r.low for k, r in notes.regions.items() if r.low is not None}
    level_floor: dict[str, float] = {}
    for key, region in notes.regions.items():
        if region.level and key in lows:
            known = notes.levels.get(region.level, lows[key])
            level_floor[region.level] = min(level_floor.get(region.level, math.inf), known)
    tops = [r.high for r in notes.regions.values() if r.high is not None]
    elevations = list(level_floor.values()) or list(lows.values()) or [0.0]
    for floor in floors_from(elevations, tops):
        graph.add_floor(floor)
    rooms = {}
    for key, region in notes.regions.items():
        base = lows.get(key, level_floor.get(region.level, elevations[0]))
        room_id = region.user.get("id") or f"room_{slug(key)}"
        while room_id in graph.rooms:
            room_id += "+"
        kind = room_kind(region)
        name = region.user.get("name", "")
        room = Room(
            room_id, name, kind, floor_at(list(graph.floors.values()), base), region.polygon
        )
        graph.add_room(room)
        rooms[key] = room_id
    for portal in notes.portals:
        a, b = rooms[portal.region_a], rooms[portal.region_b]
        graph.add_connection(
            Connection(f"portal_{portal.key}", a, b, "door", portal.position, portal.width)
        )
    return rooms


def room_kind(region: RegionNote) -> str:
    """Return the kind of room that a region's label or name tells ("" where it tells none)."""
    household = load_household()
    for text in (region.label, region.name):
        words = text.replace("_", " ").replace("/", " / ").strip()
        if not words:
            continue
        kind = household.room_type(words)
        if kind:
            return kind
        if text == region.label and not re.fullmatch(
            r"[\d\s]*|none|unknown|other.*", words.lower()
        ):
            return normalized(words)
    return ""


def room_for(graph: SceneGraph, point: Vec3) -> str:
    """Return the id of the room that a point [m] lies in, or next to ("" if none is near)."""
    from shapely.geometry import Point, Polygon

    floor = floor_at(list(graph.floors.values()), point[2])
    best, nearest = "", math.inf
    spot = Point(point[0], point[1])
    for room in graph.rooms.values():
        if len(room.polygon) < 3 or (floor and room.floor != floor):
            continue
        outline = Polygon(room.polygon)
        away = outline.distance(spot)
        # Of nested outlines the smaller tells more.
        score = away if away > 0.0 else -1.0 / (1.0 + outline.area)
        if away <= _FAR and score < nearest:
            best, nearest = room.id, score
    return best


def place_objects(graph: SceneGraph, only_unknown: bool = True) -> int:
    """Give objects the room that their box's middle lies in; return how many have none."""
    lost = 0
    for thing in graph.objects.values():
        if thing.room and only_unknown:
            continue
        if thing.box.volume > 0.0 or any(thing.box.center):
            x, y, _ = thing.box.center
            thing.room = room_for(graph, (x, y, thing.box.bottom + 0.05))
        lost += not thing.room
    return lost


def outlines_from_objects(graph: SceneGraph, extents: dict[str, list[Box]]) -> int:
    """Give rooms without an outline the rectangle around boxes; return how many got one."""
    made = 0
    for room_id, boxes in extents.items():
        room = graph.rooms[room_id]
        if room.polygon or not boxes:
            continue
        ends = np.array([box.axis_aligned() for box in boxes])
        low, high = ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)
        x0, y0, x1, y1 = float(low[0]), float(low[1]), float(high[0]), float(high[1])
        room.polygon = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
        made += 1
    return made


def guess_types(graph: SceneGraph) -> list[str]:
    """Give rooms without a kind the likeliest one for their things; return the rooms' ids.

    Naive Bayes over the household's likelihoods, each kind of thing once; a room without telling
    things stays without a kind.
    """
    household = load_household()
    guessed = []
    for room in graph.rooms.values():
        if room.type:
            continue
        labels = sorted({t.label.top for t in graph.objects_in(room.id)})
        known = [label for label in labels if household.category(label) is not None]
        if not known:
            continue
        scores = {
            name: sum(math.log(max(household.likelihood(label, name), 1e-3)) for label in known)
            for name in household.room_types
        }
        best = max(sorted(scores), key=lambda name: scores[name])
        room.type = best
        guessed.append(room.id)
    return guessed


def name_rooms(graph: SceneGraph, computed: bool = False) -> None:
    """Give rooms unique names: "bedroom 2", and "region 3 (bedroom)" to computed ones."""
    counts: defaultdict[str, int] = defaultdict(int)
    if computed:
        for k, room in enumerate(graph.rooms.values(), start=1):
            room.name = f"region {k}" + (f" ({room.type})" if room.type else "")
        return
    taken = {room.name.lower() for room in graph.rooms.values() if room.name}
    for room in graph.rooms.values():
        if room.name:
            continue
        kind = room.type or "room"
        while not room.name:
            counts[kind] += 1
            name = f"{kind} {counts[kind]}"
            if name.lower() not in taken:
                room.name = name
                taken.add(name.lower())


def make_object(
    key: str, raw: str, box: Box | None, room: str, *, movable: bool, opens: bool = False
) -> SceneObject:
    """Return a thing of a scene graph; the data set's own label is kept in its properties."""
    label = label_of(raw)
    return SceneObject(
        key,
        LabelBelief.of(label),
        box or Box((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        room=room,
        kind="furniture" if opens else kind_of(label, box, movable),
        is_open=False if opens else None,
        observations=1,
        properties={"label": raw} if raw else {},
    )


def slug(text: str) -> str:
    """Return a text as an id: letters, digits, '.', '_', '+' and '-'; at most 80 characters."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "_", text).strip("_")[:80] or "x"
