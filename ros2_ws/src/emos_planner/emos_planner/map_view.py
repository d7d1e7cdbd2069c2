"""What prompts show of a map: in detail what words are about, the rest by name, within a bound."""

from __future__ import annotations

import collections
import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from coterie_core.colors import color_name
from coterie_core.geometry import Vec3
from coterie_core.household import load_household
from coterie_llm import inline_data
from coterie_requests.understanding.phrases import things_for
from coterie_world.meaning import nearest_labels
from coterie_world.scene import Connection, SceneGraph, SceneObject
from coterie_world.sightings import kind_of

MAP_CHARS = 9000
"""Most characters that a prompt spends on a map, unless told otherwise."""
_HOUSE, _DETAIL = 0.35, 0.4  # shares of the bound
_NAME_WORDS = 3  # a thing's name has at most so many words
_MEANT, _SAID_HERE, SAID, _HOLDER, _NEAR, _OTHER = range(6)
_LONG = 60
_PUNCTUATION = string.punctuation + "¿¡…。、？！「」“”‘’«»"


@dataclass(frozen=True, slots=True)
class MapView:
    """A map as a prompt shows it.

    Attributes:
        house: Rooms and the ways between them, a line each.
        things: What the words are about, a line of facts each.
        others: The other things, by room, by their ids alone.
        shown: Ids of all things that stand in `things` or `others`.
        left_out: How many things are left out for want of room.
    """

    house: str
    things: str
    others: str
    shown: tuple[str, ...]
    left_out: int


def map_view(
    scene: SceneGraph,
    words: str,
    meant: Iterable[str] = (),
    limit: int = MAP_CHARS,
    likeness: Mapping[str, float] | None = None,
) -> MapView:
    """Return what of a map belongs into a prompt about a task in words, of any language.

    Things that the words name (by label, synonym, kind or use), what holds them, and all in rooms
    that are named come with their facts; where no word is understood, as many as there is room
    for, those nearest in meaning first, then one of each kind. All others are named. Texts are cut
    at whole entries.

    Args:
        scene: The map.
        words: The task.
        meant: Ids of things that the words are known to mean.
        limit: Most characters of the three texts together.
        likeness: Top label -> cosine of its meaning with the words'; None: not compared.
    """
    house = whole_lines(house_lines(scene), int(_HOUSE * limit), "lines")
    ranked = ranks(scene, words, meant)
    understood = any(rank <= SAID for rank in ranked.values())
    variety, near = _variety(scene), nearest_labels(likeness or {})
    order = sorted(
        ranked,
        key=lambda id: (ranked[id], scene.objects[id].label.top not in near, *variety[id]),
    )
    wanted = [id for id in order if not understood or ranked[id] < _OTHER]
    told = (thing_line(scene.objects[id], scene) for id in wanted)
    lines = _fitting(told, _DETAIL * limit + 1)
    detailed = wanted[: len(lines)]
    left = max(0, limit - len(house) - sum(len(line) + 1 for line in lines))
    rest, named = _by_room(scene, [id for id in order if id not in set(detailed)], left)
    out = len(scene.objects) - len(detailed) - len(named)
    others = rest + (f"\n({out} more things are left out)" if out else "")
    return MapView(house, "\n".join(lines), others.strip(), (*detailed, *named), out)


def ranks(scene: SceneGraph, words: str, meant: Iterable[str] = ()) -> dict[str, int]:
    """Return thing -> how near it is to what words are about.

    0: known to be meant; 1, 2: named by its label, kind or use, in a room that is named or
    elsewhere; 3: holds such a thing; 4: in a room that is named; 5: none of these.
    """
    household = load_household()
    said = [word for given in words.lower().split() if (word := given.strip(_PUNCTUATION))]
    text = f" {' '.join(said)} "
    grams = {" ".join(said[k : k + n]) for n in range(1, _NAME_WORDS + 1) for k in range(len(said))}
    kinds = {household.canonical(gram) for gram in grams if household.category(gram)}
    kinds |= {member for gram in grams for member in household.groups.get(gram, ())}
    kinds |= set(things_for(words))
    rooms = {room.id for room in scene.rooms.values() if _room_said(room.name, text, grams)}
    found: dict[str, int] = {}
    chosen = set(meant)
    for id, thing in scene.objects.items():
        label = thing.label.top.lower()
        if id in chosen or f" {id.lower()} " in text:
            found[id] = _MEANT
        elif kind_of(label) in kinds or f" {label} " in text:
            found[id] = _SAID_HERE if thing.room in rooms else SAID
        else:
            found[id] = _NEAR if thing.room in rooms else _OTHER
    for id in [id for id, rank in found.items() if rank <= SAID]:
        for holder in (scene.objects[id].support, scene.objects[id].container):
            if holder in found:
                found[holder] = min(found[holder], _HOLDER)
    return found


def _room_said(name: str, text: str, grams: Collection[str]) -> bool:
    kind = load_household().room_type(name)
    named = {load_household().room_words.get(gram, "") for gram in grams}
    return f" {name.lower()} " in text or (bool(kind) and kind in named)


def _variety(scene: SceneGraph) -> Mapping[str, tuple[int, bool, str]]:
    """Return thing -> a key that puts one of each kind first, small things before furniture."""
    seen: collections.Counter[str] = collections.Counter()
    keys = {}
    for id in sorted(scene.objects):
        thing = scene.objects[id]
        keys[id] = (seen[thing.label.top], thing.kind != "item", id)
        seen[thing.label.top] += 1
    return keys


def house_lines(scene: SceneGraph) -> list[str]:
    """Return rooms and the ways between them, one line each."""
    lines = []
    for room in scene.rooms.values():
        floor = scene.floors.get(room.floor)
        high = f" (floor level {floor.elevation:.2f} m)" if floor is not None else ""
        lines.append(f"room {room.id}: {inline_data(room.name)}, floor {room.floor or '?'}{high}")
    for way in scene.connections.values():
        lines.append(f"way {way.room_a} - {way.room_b}: {way_text(way)}")
    return lines


def rooms_by_floor(scene: SceneGraph) -> str:
    """Return the rooms, a line for each floor, for prompts that must be short."""
    floors: dict[str, list[str]] = {}
    for room in scene.rooms.values():
        name = inline_data(room.name)
        plain = name.lower() == room.id.replace("-", " ").replace("_", " ").lower()
        told = room.id if plain or not name else f"{room.id} ({name})"
        floors.setdefault(room.floor or "?", []).append(told)
    return "\n".join(f"{floor}: {', '.join(rooms)}" for floor, rooms in floors.items())


def way_text(way: Connection) -> str:
    """Return what a body must fit through or climb."""
    riser = f", risers {way.riser:.2f} m high" if way.riser else ""
    return f"{way.kind}, {way.width:.2f} m wide{riser}"


def thing_line(thing: SceneObject, scene: SceneGraph, here: Vec3 | None = None) -> str:
    """Return the facts of a thing in a line; with `here` [m], how far it is from there."""
    x, y, _ = thing.box.center
    floor = floor_height(scene, thing)
    parts = [
        f"{inline_data(thing.id)}: {inline_data(thing.label.top)}",
        f"room {thing.room or '?'}",
        f"at ({x:.2f}, {y:.2f})",
        f"{thing.box.bottom - floor:.2f} to {thing.box.top - floor:.2f} m above the floor",
    ]
    long, wide = sorted(thing.box.size[:2], reverse=True)
    if long:
        parts.append(f"{long:.2f} x {wide:.2f} m")
    for word, other in (("on", thing.support), ("inside", thing.container)):
        if other:
            parts.append(f"{word} {inline_data(other)}")
    if thing.is_open is not None:
        parts.append("open" if thing.is_open else "closed")
    tops = [f"{r.surface.center[2] - floor:.2f}" for r in thing.receptacles[:6] if not r.inside]
    inner = [f"{r.surface.center[2] - floor:.2f}" for r in thing.receptacles[:6] if r.inside]
    if tops:
        parts.append(f"surfaces at {', '.join(tops)} m")
    if inner:
        parts.append(f"space inside at {', '.join(inner)} m")
    if mass := thing.properties.get("mass") or thing.properties.get("mass_kg"):
        parts.append(f"weighs {inline_data(mass, limit=20)} kg")
    if color := thing.properties.get("color"):
        parts.append(f"color {inline_data(color_name(color) or color, limit=30)}")
    if here is not None:
        away = ((x - here[0]) ** 2 + (y - here[1]) ** 2) ** 0.5
        parts.append(f"{away:.1f} m from you as the crow flies")
    return "; ".join(parts)


def floor_height(scene: SceneGraph, thing: SceneObject) -> float:
    """Return how high the floor under a thing is [m]."""
    room = scene.rooms.get(thing.room)
    floor = scene.floors.get(room.floor) if room is not None else None
    return floor.elevation if floor is not None else 0.0


def whole_lines(lines: Sequence[str], limit: int, what: str) -> str:
    """Return as many whole lines as fit, and how many are left out."""
    kept = _fitting(lines, limit)
    if len(kept) < len(lines):
        kept.append(f"({len(lines) - len(kept)} more {what} are left out)")
    return "\n".join(kept)


def _fitting(lines: Iterable[str], limit: float) -> list[str]:
    """Return as many of the first lines as fit, their ends included."""
    kept: list[str] = []
    for line in lines:
        limit -= len(line) + 1
        if limit < 0:
            break
        kept.append(line)
    return kept


def _by_room(scene: SceneGraph, ids: Sequence[str], limit: int) -> tuple[str, list[str]]:
    """Return things by room as text, and the ids that there was room for."""
    shown: list[str] = []
    rooms: dict[str, list[str]] = {}
    used = 0
    for id in ids:
        thing = scene.objects[id]
        name = inline_data(id)
        label = inline_data(thing.label.top, limit=_LONG)
        if thing.label.top.lower().replace(" ", "") not in id.lower().replace("_", "").replace(
            " ", ""
        ):
            name += f" ({label})"
        if thing.is_open is False:
            name += " (closed)"
        if thing.room not in rooms:
            used += len(thing.room) + 12
        if used + len(name) + 2 > limit:
            break
        used += len(name) + 2
        rooms.setdefault(thing.room, []).append(name)
        shown.append(id)
    order = [*scene.rooms, *(room for room in rooms if room not in scene.rooms)]
    lines = [f"in {room or '?'}: {', '.join(rooms[room])}" for room in order if room in rooms]
    return "\n".join(lines), shown
