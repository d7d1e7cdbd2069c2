"""Reads Matterport3D navigation graphs, objects per viewpoint and rooms; reports what is wrong."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx

from coterie_core.geometry import Vec3, distance, wrap_angle
from habitat_bridge.simulator import WorldError
from research.bench.graph_houses.model import GraphHouse, LoadReport, SeenObject, Viewpoint
from research.bench.graph_houses.rooms import room_name

_SUFFIX = "_connectivity.json"
_MAX_LABEL = 60
_VIEWS_PER_TURN = 12  # the 36 views of a viewpoint: 12 headings, each looking down, level and up
_IMAGE_WIDTH, _IMAGE_HEIGHT, _VFOV = 640, 480, math.radians(60)
_FOCAL = _IMAGE_HEIGHT / (2.0 * math.tan(_VFOV / 2.0))


def list_scans(directory: str | Path) -> list[str]:
    """Return the names of the houses in a directory, sorted.

    Raises:
        WorldError: The directory or its `connectivity` folder does not exist, or holds no house.
    """
    folder = _connectivity_folder(Path(directory))
    scans = sorted(p.name.removesuffix(_SUFFIX) for p in folder.glob(f"*{_SUFFIX}"))
    if not scans:
        raise WorldError(
            f"{folder} holds no house: expected files named <scan>{_SUFFIX}; "
            "put the navigation graphs there"
        )
    return scans


def load_house(directory: str | Path, scan: str) -> GraphHouse:
    """Read one house.

    Faults that leave a usable house (a viewpoint without objects, an unknown room, a way that is
    entered in one direction only, separate parts) go into the report; others raise.

    Raises:
        WorldError: A file is missing, is not JSON, or has no usable node; names the file.
    """
    root = Path(directory)
    path = _connectivity_folder(root) / f"{scan}{_SUFFIX}"
    if not path.is_file():
        known = ", ".join(list_scans(root)[:10])
        raise WorldError(f"no house named {scan!r}: {path} does not exist; houses here: {known}")
    report = LoadReport(scan)
    entries = _entries(path, report)
    positions = {name: _position(entry) for name, (_, entry) in entries.items()}
    graph = _ways(entries, positions, report)
    rooms = _rooms(root / "rooms.json", scan, report)
    viewpoints: dict[str, Viewpoint] = {}
    without_file: list[str] = []
    without_room: list[str] = []
    for name in entries:
        objects = _objects(root / "objects" / f"{scan}_{name}.json", name, report)
        if objects is None:
            without_file.append(name)
        room = rooms.get(name)
        if room is None:
            without_room.append(name)
        viewpoints[name] = Viewpoint(name, positions[name], room, objects or ())
    if without_file:
        report.add(f"{len(without_file)} nodes have no object file: {_some(without_file)}")
    if without_room and rooms:
        report.add(f"{len(without_room)} nodes have no known room: {_some(without_room)}")
    report.nodes, report.edges = graph.number_of_nodes(), graph.number_of_edges()
    report.objects = len({thing.id for view in viewpoints.values() for thing in view.objects})
    if not report.objects:
        report.add("no object is visible from any node")
    report.parts = tuple(
        sorted((len(part) for part in nx.connected_components(graph)), reverse=True)
    )
    if len(report.parts) > 1:
        sizes = ", ".join(map(str, report.parts[:8]))
        report.add(f"the house falls into {len(report.parts)} parts of {sizes} nodes")
    return GraphHouse(scan, viewpoints, graph, _visibility(entries), report)


def _connectivity_folder(root: Path) -> Path:
    if not root.is_dir():
        raise WorldError(
            f"{root} is not a directory: expected one with connectivity/, objects/, rooms.json"
        )
    folder = root / "connectivity"
    if not folder.is_dir():
        raise WorldError(f"{folder} does not exist: expected the files <scan>{_SUFFIX} in it")
    return folder


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WorldError(f"{path} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise WorldError(f"{path} is not valid JSON ({error}); fetch the file again") from error


def _some(names: Sequence[str]) -> str:
    head = ", ".join(names[:3])
    return head if len(names) <= 3 else f"{head}, ..."


def _entries(path: Path, report: LoadReport) -> dict[str, tuple[int, dict[str, Any]]]:
    """Return image id -> (index in the file, entry) of the included nodes, in file order."""
    data = _read(path)
    if not isinstance(data, list):
        raise WorldError(f"{path} must hold a list of nodes, got {type(data).__name__}")
    entries: dict[str, tuple[int, dict[str, Any]]] = {}
    for index, entry in enumerate(data):
        where = f"{path.name}, entry {index}"
        if not isinstance(entry, dict) or not isinstance(entry.get("image_id"), str):
            report.add(f"{where} has no image_id: left out")
            continue
        name = entry["image_id"].strip()
        if entry.get("included") is not True:
            continue
        if not name or _position(entry) is None:
            report.add(
                f"{where} ({name or 'no name'}) has no usable pose (16 finite numbers): left out"
            )
        elif name in entries:
            report.add(f"{where} repeats image_id {name}: the first one is kept")
        else:
            entries[name] = (index, entry)
    if not entries:
        raise WorldError(
            f"{path} has no usable node: expected entries with image_id, pose, included"
        )
    return entries


def _position(entry: dict[str, Any]) -> Any:
    """Return the point [m] on the walking surface below the camera, or None."""
    pose, height = entry.get("pose"), entry.get("height", 0.0)
    if not isinstance(pose, list) or len(pose) != 16 or not _finite(height):
        return None
    x, y, z = pose[3], pose[7], pose[11]
    if not (_finite(x) and _finite(y) and _finite(z)):
        return None
    return (float(x), float(y), float(z) - float(height))


def _finite(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and abs(value) < 1e6  # false for NaN; no overflow for huge integers


def _ways(
    entries: dict[str, tuple[int, dict[str, Any]]],
    positions: dict[str, Vec3],
    report: LoadReport,
) -> nx.Graph:
    """Return the graph of ways; one that is entered in a single direction counts for both."""
    graph = nx.Graph()
    graph.add_nodes_from(entries)
    rows = {name: _flags(entry, "unobstructed") for name, (_, entry) in entries.items()}
    short = [name for name, row in rows.items() if row is None]
    if short:
        report.add(f"{len(short)} nodes have no list 'unobstructed': {_some(short)}")
    one_way = 0
    for name in entries:
        for other, (j, _) in entries.items():
            if other == name or not _flag(rows[name], j):
                continue
            one_way += not _flag(rows[other], entries[name][0])
            length = max(distance(positions[name], positions[other]), 0.01)
            graph.add_edge(name, other, length=length)
    if one_way:
        report.add(f"{one_way} ways are entered in one direction only: taken as open in both")
    return graph


def _flags(entry: dict[str, Any], field: str) -> list[Any] | None:
    row = entry.get(field)
    return row if isinstance(row, list) else None


def _flag(row: list[Any] | None, index: int) -> bool:
    return row is not None and index < len(row) and row[index] is True


def _visibility(entries: dict[str, tuple[int, dict[str, Any]]]) -> dict[str, frozenset[str]]:
    """Return node -> nodes in view; without a list `visible`, those that a way leads to."""
    views: dict[str, frozenset[str]] = {}
    for name, (_, entry) in entries.items():
        row = _flags(entry, "visible") or _flags(entry, "unobstructed")
        views[name] = frozenset(o for o, (j, _) in entries.items() if o != name and _flag(row, j))
    return views


def _rooms(path: Path, scan: str, report: LoadReport) -> dict[str, str]:
    """Return viewpoint -> room name; nodes without a usable label are left out."""
    if not path.is_file():
        report.add(f"{path.name} does not exist: rooms are unknown")
        return {}
    data = _read(path)
    if not isinstance(data, dict):
        raise WorldError(
            f"{path} must hold an object scan -> viewpoint -> room, got {type(data).__name__}"
        )
    labels = data.get(scan)
    if not isinstance(labels, dict):
        report.add(f"{path.name} has no rooms for {scan}: rooms are unknown")
        return {}
    rooms: dict[str, str] = {}
    odd: Counter[str] = Counter()
    for name, label in labels.items():
        room = room_name(label) if isinstance(label, str) else None
        if room is not None:
            rooms[name] = room
        elif label is not None:
            odd[repr(label)[:30]] += 1
    for label, count in sorted(odd.items())[:5]:
        report.add(f"{path.name}: {count} nodes have the label {label}, which names no room")
    if not rooms:
        report.add(f"{path.name} gives no usable room for {scan}: rooms are unknown")
    return rooms


def _objects(path: Path, viewpoint: str, report: LoadReport) -> tuple[SeenObject, ...] | None:
    """Return what can be seen from a viewpoint, by id; None where there is no file."""
    if not path.is_file():
        return None
    data = _read(path)
    things = data.get(viewpoint) if isinstance(data, dict) else None
    if not isinstance(things, dict):
        report.add(f"{path.name} holds no objects of its viewpoint {viewpoint}")
        return ()
    seen: list[SeenObject] = []
    for key, thing in things.items():
        label = _label(thing.get("name")) if isinstance(thing, dict) else ""
        views = thing.get("visible_pos") if isinstance(thing, dict) else None
        if not label:
            report.add(f"{path.name}: object {key[:20]!r} has no name: left out")
        elif not isinstance(views, list):
            report.add(f"{path.name}: object {key[:20]!r} has no list 'visible_pos': left out")
        elif views:
            seen.append(SeenObject(key, label, _bearing(views, thing.get("bbox2d"))))
    return tuple(sorted(seen, key=lambda thing: thing.id))


def _label(name: Any) -> str:
    """Return a label in lower case with plain spaces, without control characters, cut to size."""
    if not isinstance(name, str):
        return ""
    plain = "".join(c if c.isprintable() else " " for c in name.replace("#", " ").replace("_", " "))
    return re.sub(r"\s+", " ", plain).strip().lower()[:_MAX_LABEL].strip()


def _bearing(views: list[Any], boxes: Any) -> float | None:
    """Return the direction [rad, x axis, counter-clockwise] in which an object is seen, if any.

    View v looks at the heading (v mod 12) * 30 degrees, clockwise from the y axis; the box tells
    how far off the image centre the object is. The mean over the views is taken on the circle.
    """
    boxes = boxes if isinstance(boxes, list) else []
    x = y = 0.0
    for k, view in enumerate(views):
        if not isinstance(view, int) or isinstance(view, bool) or not 0 <= view < 36:
            continue
        heading = (view % _VIEWS_PER_TURN) * math.tau / _VIEWS_PER_TURN
        box = boxes[k] if k < len(boxes) else None
        if isinstance(box, list) and len(box) == 4 and all(_finite(v) for v in box):
            heading += math.atan2(box[0] + box[2] / 2.0 - _IMAGE_WIDTH / 2.0, _FOCAL)
        x += math.sin(heading)
        y += math.cos(heading)
    return wrap_angle(math.atan2(y, x)) if math.hypot(x, y) > 1e-6 else None
