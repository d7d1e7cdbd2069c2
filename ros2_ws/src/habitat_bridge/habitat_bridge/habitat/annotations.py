"""Semantic annotations of scenes in the formats that Habitat's data sets use, as one plain type."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from coterie_core.frames import yup_to_zup
from coterie_core.geometry import Box
from habitat_bridge.habitat.annotation_types import (
    Annotations,
    RegionNote,
    ThingNote,
    counter_clockwise,
    map_box,
)
from habitat_bridge.habitat.data_files import (
    Refused,
    number,
    objects_field,
    read_json,
    read_text,
    text_field,
    vector,
)
from habitat_bridge.habitat.house_file import read_house_lines
from habitat_bridge.habitat.transforms import Array

_HM3D_HEADER = "HM3D Semantic Annotations"
_HM3D_LINE = re.compile(r'^\s*(\d+)\s*,\s*([0-9A-Fa-f]{6})\s*,\s*"?(.*?)"?\s*,\s*(-?\d+)\s*$')


def read_annotations(path: Path, rotation: Array | None = None) -> Annotations:
    """Read a semantic descriptor; the content tells the format, not the name.

    Args:
        path: `.house` (Matterport3D), `.semantic.txt` (HM3D), `.scn` (Gibson),
            `.semantic_config.json`, `info_semantic.json` (Replica) or a lexicon of classes.
        rotation: (3, 3) from the file's own frame to the y-up world, for `.house`, `.scn` and
            Replica's boxes (None: z up as in these data sets).

    Raises:
        WorldError: Missing or broken, or of no known format; names the file and the field.
        Refused: As above, for single fields.
    """
    if path.suffix in (".json", ".scn"):
        data = read_json(path, "semantic descriptor")
        if isinstance(data.get("objects"), list):
            return _read_boxes(path, data, _map_rotation(rotation))
        if "region_annotations" in data or "classes" in data or "semantic_asset" in data:
            result = Annotations(classes=_classes(path, data))
            _read_regions(path, data, result)
            return result
        raise Refused(
            f"{path}: expected region_annotations, classes or objects, got {sorted(data)[:5]}"
        )
    lines = read_text(path, "semantic descriptor").splitlines()
    head = lines[0].strip() if lines else ""
    if head == _HM3D_HEADER:
        return _read_hm3d(path, lines[1:])
    if head.startswith("ASCII"):
        return read_house_lines(path, lines[1:], _map_rotation(rotation))
    raise Refused(
        f"{path}: expected {_HM3D_HEADER!r} or 'ASCII 1.1' in the first line, got {head[:40]!r}"
    )


def _map_rotation(rotation: Array | None) -> Array:
    """Rotation from the file's frame to the z-up map (these files are z up by themselves)."""
    if rotation is None:
        return np.eye(3)
    return yup_to_zup(rotation.T).T


def _classes(path: Path, data: dict[str, Any]) -> dict[int, str]:
    classes = {}
    for k, entry in enumerate(objects_field(data, "classes")):
        if not isinstance(entry, dict):
            raise Refused(f"{path}: classes[{k}]: expected an object, got {entry!r:.60}")
        try:
            classes[int(number(entry, "id", -1))] = text_field(entry, "name")
        except Refused as error:
            raise Refused(f"{path}: classes[{k}].{error}") from None
    return classes


def _read_regions(path: Path, data: dict[str, Any], result: Annotations) -> None:
    """Read `region_annotations`: loops of points and heights, y up."""
    for k, entry in enumerate(objects_field(data, "region_annotations")):
        if not isinstance(entry, dict):
            result.notes.append(f"{path.name}: region_annotations[{k}]: no object, left out")
            continue
        try:
            note = _region(entry, k)
        except Refused as error:
            result.notes.append(f"{path.name}: region_annotations[{k}].{error}; left out")
            continue
        while note.key in result.regions:
            note.key += "+"
        result.regions[note.key] = note


def _region(entry: dict[str, Any], k: int) -> RegionNote:
    name = text_field(entry, "name", f"region_{k}")
    loop = []
    for point in objects_field(entry, "poly_loop"):
        loop.append(vector({"poly_loop": point}, "poly_loop", (0.0, 0.0, 0.0)))
    note = RegionNote(name, text_field(entry, "label"), name)
    if "floor_height" in entry:
        note.low = number(entry, "floor_height", 0.0)
        note.high = note.low + number(entry, "extrusion_height", 0.0)
    elif loop:
        note.low = min(point[1] for point in loop)
    if "min_bounds" in entry and "max_bounds" in entry:
        low = vector(entry, "min_bounds", (0.0, 0.0, 0.0))
        high = vector(entry, "max_bounds", (0.0, 0.0, 0.0))
        if not loop:
            x0, x1, z0, z1 = low[0], high[0], low[2], high[2]
            loop = [(x0, 0.0, z0), (x0, 0.0, z1), (x1, 0.0, z1), (x1, 0.0, z0)]
        if note.low is None:
            note.low = low[1]
        if note.high is None or note.high <= note.low:
            note.high = high[1]
    if len(loop) >= 3:
        points = yup_to_zup(np.array(loop))
        note.polygon = counter_clockwise([(float(x), float(y)) for x, y, _ in points])
    user = entry.get("user_defined", {})
    if isinstance(user, dict):
        note.user = {k: v for k, v in user.items() if isinstance(v, str)}
    return note


def _read_hm3d(path: Path, lines: list[str]) -> Annotations:
    """Read HM3D's lines: number, colour as RRGGBB, "category", region number."""
    result = Annotations()
    bad = 0
    for count, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        match = _HM3D_LINE.match(line)
        if match is None:
            bad += 1
            if bad == 1:
                result.notes.append(
                    f'{path.name}:{count}: expected id,RRGGBB,"name",region, got {line[:60]!r}'
                )
            continue
        key, color, label, region = match.groups()
        if int(region) >= 0:
            result.regions.setdefault(region, RegionNote(region))
        result.things.append(
            ThingNote(key, label.strip(), region if int(region) >= 0 else "", None, int(color, 16))
        )
    if bad > 1:
        result.notes.append(f"{path.name}: {bad} lines are not understood and left out")
    return result


def _read_boxes(path: Path, data: dict[str, Any], rotation: Array) -> Annotations:
    """Read Gibson's and Replica's lists of objects with a box each."""
    result = Annotations(classes=_classes(path, data))
    for k, entry in enumerate(data["objects"]):
        if not isinstance(entry, dict):
            result.notes.append(f"{path.name}: objects[{k}]: no object, left out")
            continue
        try:
            label = text_field(entry, "class_") or text_field(entry, "class_name")
            if not label:
                label = result.classes.get(int(number(entry, "class_id", -1)), "")
            box = _box_of(entry, rotation)
            key = str(int(number(entry, "id", k)))
        except Refused as error:
            result.notes.append(f"{path.name}: objects[{k}].{error}; left out")
            continue
        if box is None:
            result.notes.append(f"{path.name}: objects[{k}] ({label}) has no location and size")
        result.things.append(ThingNote(key, label, "", box))
    return result


def _box_of(entry: dict[str, Any], rotation: Array) -> Box | None:
    oriented = entry.get("oriented_bbox")
    if isinstance(oriented, dict) and isinstance(oriented.get("abb"), dict):
        size = vector(oriented["abb"], "sizes", (0.0, 0.0, 0.0))
        mid = vector(oriented["abb"], "center", (0.0, 0.0, 0.0))
        pose = oriented.get("orientation", {})
        turn = vector(pose, "rotation", (0.0, 0.0, 0.0, 1.0)) if isinstance(pose, dict) else ()
        move = vector(pose, "translation", (0.0, 0.0, 0.0)) if isinstance(pose, dict) else mid
        from habitat_bridge.habitat.transforms import rotation_matrix

        x, y, z, w = turn or (0.0, 0.0, 0.0, 1.0)
        local = rotation_matrix((w, x, y, z))
        whole = rotation @ local
        return map_box(whole @ np.array(mid) + rotation @ np.array(move), size, whole)
    if entry.get("location") is None or entry.get("size") is None:
        return None
    center = rotation @ np.array(vector(entry, "location", (0.0, 0.0, 0.0)))
    return map_box(center, vector(entry, "size", (0.0, 0.0, 0.0)), rotation)
