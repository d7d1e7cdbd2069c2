"""People's corrections of a map, applied to every newer version of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import shapely
import shapely.geometry
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from coterie_core.files import write_atomically
from coterie_core.geometry import Box, Vec2, spanning
from coterie_core.household import load_household
from coterie_core.plain_data import schema_problems
from coterie_world.association import CORRECTION
from coterie_world.scene.graph import SceneGraph
from coterie_world.scene.model import LabelBelief, Room, SceneObject

MAX_CORRECTIONS = 500
"""Corrections of one map."""
_MIN_ROOM_AREA_M2 = 0.25
"""A room that is drawn has at least this area [m^2]."""
_COORDINATE = 1e5

CorrectionKind = Literal[
    "rename_thing", "delete_thing", "merge_things", "split_thing", "rename_room", "draw_room"
]


class ThingRef(BaseModel):
    """A thing as it was when a person corrected it: id, label, center [m]."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(max_length=200)
    label: str = Field("", max_length=200)
    position: tuple[float, float, float]


class Correction(BaseModel):
    """One correction: what kind, of which things or which room, and the new name or outline.

    `things`: one, or two or more to merge, of which the first stays. `room`: id of the room to
    rename. `name`: a thing's new label (of split things, the second part's; may be empty), or a
    room's new name. `polygon`: outline of a room that is drawn [m, map frame], `floor` its floor.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1, max_length=60)
    kind: CorrectionKind
    things: tuple[ThingRef, ...] = Field((), max_length=20)
    room: str = Field("", max_length=200)
    name: str = Field("", max_length=60)
    polygon: tuple[Vec2, ...] = Field((), max_length=100)
    floor: str = Field("", max_length=200)
    by: str = Field("", max_length=200)

    @model_validator(mode="after")
    def _complete(self) -> Correction:
        name = " ".join(self.name.split())
        if not name.isprintable() or name != self.name:
            raise ValueError("name: expected words on one line")
        least = {"merge_things": 2, "rename_room": 0, "draw_room": 0}.get(self.kind, 1)
        if len(self.things) < least or (least < 2 and len(self.things) != least):
            raise ValueError(f"things: {self.kind} is of {least or 'no'} things")
        if self.kind in ("rename_thing", "rename_room", "draw_room") and not name:
            raise ValueError(f"name: {self.kind} needs one")
        numbers = [v for point in self.polygon for v in point]
        numbers += [v for thing in self.things for v in thing.position]
        if not all(math.isfinite(v) and abs(v) <= _COORDINATE for v in numbers):
            raise ValueError("a position is not on any map")
        if self.kind == "draw_room":
            area = shapely.Polygon(self.polygon) if len(self.polygon) > 2 else None
            if area is None or not area.is_valid or area.area < _MIN_ROOM_AREA_M2:
                raise ValueError(
                    "polygon: expected an outline that does not cross itself, of "
                    f"{_MIN_ROOM_AREA_M2} m2"
                )
        return self


_LIST = TypeAdapter(list[Correction])


def read_corrections(text: str | bytes, where: str) -> list[Correction]:
    """Read a JSON list of corrections.

    Raises:
        ValueError: It is none; names the place.
    """
    try:
        found = _LIST.validate_json(text)
    except ValidationError as error:
        raise ValueError(f"{where}: {schema_problems(error, 'corrections', most=3)}") from None
    if len(found) > MAX_CORRECTIONS:
        raise ValueError(f"{where}: {len(found)} corrections; at most {MAX_CORRECTIONS}")
    return found


def write_corrections(corrections: Sequence[Correction]) -> str:
    """Return corrections as JSON."""
    return _LIST.dump_json(list(corrections), exclude_defaults=True).decode()


class Corrections:
    """The corrections of one map, kept in a file.

    Args:
        file: File that keeps them; None: they are forgotten with the process.

    Raises:
        ValueError: The file is none of ours.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.all: tuple[Correction, ...] = ()
        if file is not None and file.is_file():
            self.all = tuple(read_corrections(file.read_bytes(), str(file)))

    def change(self, order: Any) -> None:
        """Take up a correction, or take one back.

        Args:
            order: `{"add": CORRECTION}` or `{"undo": ID}`.

        Raises:
            ValueError: It is neither; or there are too many.
            OSError: It cannot be kept; nothing is changed.
        """
        if isinstance(order, dict) and set(order) == {"undo"}:
            new = tuple(one for one in self.all if one.id != order["undo"])
        elif isinstance(order, dict) and set(order) == {"add"}:
            try:
                added = Correction.model_validate(order["add"])
            except ValidationError as error:
                raise ValueError(schema_problems(error, "correction", most=3)) from None
            if any(one.id == added.id for one in self.all):
                return  # told again
            if len(self.all) >= MAX_CORRECTIONS:
                raise ValueError(f"a map has at most {MAX_CORRECTIONS} corrections; take some back")
            new = (*self.all, added)
        else:
            raise ValueError('expected {"add": CORRECTION} or {"undo": ID}')
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._file, write_corrections(new))
        self.all = new

    def apply(self, scene: SceneGraph) -> SceneGraph:
        """Correct a map in place, in the order in which people did; returns it."""
        for one in self.all:
            _APPLY[one.kind](scene, one)
        return scene


# -- things ----------------------------------------------------------------------------------------


def _found(scene: SceneGraph, ref: ThingRef) -> SceneObject | None:
    """Return the thing that is meant: by its id, else the same again at the same place."""
    known = scene.objects.get(ref.id)
    if known is not None:
        return known
    alike = ((t.id, t.box) for t in scene.objects.values() if t.label.top == ref.label)
    near = CORRECTION.nearest(ref.position, alike)
    return scene.objects[near] if near is not None else None


def _rename_thing(scene: SceneGraph, one: Correction) -> None:
    thing = _found(scene, one.things[0])
    if thing is not None:
        thing.label = LabelBelief.of(one.name, max(thing.label.total, 1.0))
        thing.kind = load_household().kind(one.name)


def _delete_thing(scene: SceneGraph, one: Correction) -> None:
    thing = _found(scene, one.things[0])
    if thing is not None:
        scene.remove_object(thing.id)


def _merge_things(scene: SceneGraph, one: Correction) -> None:
    found = [_found(scene, ref) for ref in one.things]
    things = list({thing.id: thing for thing in found if thing is not None}.values())
    if len(things) < 2:
        return
    first, *others = things
    for other in others:
        first.box = spanning(first.box, other.box)
        first.label.add(other.label)
        first.observations += other.observations
        first.receptacles += other.receptacles
        scene.remove_object(other.id, first.id)
    if first.support == first.id:
        first.support = ""


def _split_thing(scene: SceneGraph, one: Correction) -> None:
    """Two halves along the longer side: the first stays the thing, the second is a new one."""
    thing = _found(scene, one.things[0])
    if thing is None:
        return
    box = thing.box
    (x, y, z), (dx, dy, dz) = box.center, box.size
    along = box.yaw if dx >= dy else box.yaw + math.pi / 2.0
    reach = max(dx, dy) / 4.0
    size = (dx / 2.0, dy, dz) if dx >= dy else (dx, dy / 2.0, dz)
    step = (reach * math.cos(along), reach * math.sin(along))
    thing.box = Box((x - step[0], y - step[1], z), size, box.yaw)
    label = LabelBelief.of(one.name) if one.name else LabelBelief(dict(thing.label.weights))
    scene.add_object(
        SceneObject(
            f"{thing.id}-{one.id}",
            label,
            Box((x + step[0], y + step[1], z), size, box.yaw),
            thing.room,
            load_household().kind(one.name) if one.name else thing.kind,
            thing.support,
            thing.container,
            observations=thing.observations,
            last_seen=thing.last_seen,
            confidence=thing.confidence,
        )
    )


# -- rooms -----------------------------------------------------------------------------------------


def _rename_room(scene: SceneGraph, one: Correction) -> None:
    room = scene.rooms.get(one.room)
    if room is not None:
        room.name, room.type = _free_name(scene, one.name, room.id), _kind(one.name)


def _free_name(scene: SceneGraph, name: str, own: str) -> str:
    """Return a name that no other room has: with a number where one does."""
    taken = {room.name.lower() for room in scene.rooms.values() if room.id != own}
    free, number = name, 2
    while free.lower() in taken:
        free, number = f"{name} {number}", number + 1
    return free


def _kind(name: str) -> str:
    """The kind of room that a name tells: without its number."""
    words = name.split()
    return " ".join(words[:-1] if len(words) > 1 and words[-1].isdecimal() else words)


def _draw_room(scene: SceneGraph, one: Correction) -> None:
    """Put a room on the map; it takes its area from others, and all that is in it."""
    if one.floor and one.floor not in scene.floors:
        return
    area = shapely.Polygon(one.polygon)
    for room in list(scene.rooms.values()):
        if room.floor == one.floor and len(room.polygon) > 2:
            _take_from(scene, room, area)
    id_ = f"drawn-{one.id}"
    outline = list(shapely.geometry.polygon.orient(area).exterior.coords)[:-1]
    name = _free_name(scene, one.name, id_)
    scene.add_room(Room(id_, name, _kind(one.name), one.floor, [(x, y) for x, y in outline]))
    floor = scene.floors.get(one.floor)
    low = floor.elevation - 0.5 if floor else -math.inf
    high = floor.elevation + floor.ceiling_height if floor else math.inf
    for thing in scene.objects.values():
        x, y, z = thing.box.center
        if low <= z < high and area.covers(shapely.Point(x, y)):
            thing.room = id_
    for place in scene.places.values():
        x, y, z = place.position
        if low <= z < high and area.covers(shapely.Point(x, y)):
            place.room = id_


def _take_from(scene: SceneGraph, room: Room, area: shapely.Polygon) -> None:
    left = shapely.make_valid(shapely.Polygon(room.polygon)).difference(area)
    parts = [part for part in getattr(left, "geoms", [left]) if part.geom_type == "Polygon"]
    largest = max(parts, key=lambda part: part.area, default=None)
    if largest is None or largest.area < _MIN_ROOM_AREA_M2:
        del scene.rooms[room.id]
        for id_, way in list(scene.connections.items()):
            if room.id in (way.room_a, way.room_b):
                del scene.connections[id_]
        for thing in scene.objects_in(room.id):
            thing.room = ""
        for place in scene.places.values():
            if place.room == room.id:
                place.room = ""
        return
    ring = shapely.geometry.polygon.orient(shapely.Polygon(largest.exterior)).exterior.coords
    room.polygon = [(x, y) for x, y in list(ring)[:-1]]


_APPLY = {
    "rename_thing": _rename_thing,
    "delete_thing": _delete_thing,
    "merge_things": _merge_things,
    "split_thing": _split_thing,
    "rename_room": _rename_room,
    "draw_room": _draw_room,
}
