"""Maps in files: our JSON, Voxeland's, spark-dsg (what Hydra writes), PLY to look at."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie_core.embedding import UNNAMED, Embedding
from coterie_core.geometry import Box, Vec3
from coterie_core.household import load_household
from coterie_core.plain_data import DataError, read_json, shorten
from coterie_world.scene import (
    Connection,
    Floor,
    LabelBelief,
    Place,
    PlaceLink,
    Room,
    SceneError,
    SceneGraph,
    SceneObject,
    checked,
    load,
    save,
)
from semantic_mapper.voxeland import load_voxeland, save_voxeland

if TYPE_CHECKING:
    from semantic_mapper.instances import Instance

FORMATS = ("scene", "voxeland", "spark-dsg", "ply")
_NO_LABEL = 2**32 - 1
"""The semantic label of a spark-dsg node that has none."""


def load_map(path: Path) -> SceneGraph:
    """Read a map; the content tells which of our JSON, Voxeland's and spark-dsg's it is.

    Raises:
        SceneError: It cannot be read, or is none of them; names the file and what to do.
    """
    try:
        head = path.read_bytes()
    except OSError as error:
        raise SceneError(f"{path}: {error.strerror}; give the file of a map") from None
    if path.suffix == ".sparkdsg":
        return load_spark(path)
    try:
        content: Any = read_json(head)
    except DataError:
        raise SceneError(
            f"{path}: not JSON; a map is a scene graph, a Voxeland map or a spark-dsg file"
        ) from None
    keys = set(content) if isinstance(content, Mapping) else set()
    if "instances" in keys:
        return load_voxeland(path)
    if "nodes" in keys and ("layer_ids" in keys or "SPARK_DSG_header" in keys):
        return load_spark(path)
    fields = keys & set(SceneGraph.__dataclass_fields__)
    # Others have lists of rooms and objects; ours are by id.
    if not fields or any(isinstance(content[name], list) for name in fields):
        raise SceneError(
            f"{path}: of another format; a map is a scene graph as ./coterie map and house write "
            "it, a Voxeland map ('instances') or a spark-dsg file ('layer_ids')"
        )
    return load(path)


def save_map(
    graph: SceneGraph,
    path: Path,
    form: str = "scene",
    instances: tuple[Instance, ...] = (),
) -> None:
    """Write a map.

    Args:
        graph: The map.
        path: The file; its folder is made.
        form: One of FORMATS.
        instances: Their points go into a PLY.

    Raises:
        ValueError: There is no such format.
    """
    writers: Mapping[str, Callable[[], None]] = {
        "scene": lambda: save(graph, path),
        "voxeland": lambda: save_voxeland(graph, path),
        "spark-dsg": lambda: save_spark(graph, path),
        "ply": lambda: save_ply(graph, path, instances),
    }
    if form not in writers:
        raise ValueError(f"format {form!r}; one of {', '.join(FORMATS)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    writers[form]()


def save_spark(graph: SceneGraph, path: Path) -> None:
    """Write a map as spark-dsg: objects, places and rooms in Hydra's layers.

    What spark-dsg has no field for (label distributions, support, floors, widths of doors) goes
    into the nodes' metadata, so that `load_spark` gives the same graph back.
    """
    import spark_dsg as dsg

    out = dsg.DynamicSceneGraph()
    symbols: dict[str, Any] = {}
    labels = sorted({t.label.top for t in graph.objects.values()})
    for k, place in enumerate(graph.places.values()):
        attributes = dsg.PlaceNodeAttributes()
        attributes.position = np.array(place.position)
        _describe(attributes, place.id, {"room": place.room, "floor": place.floor})
        symbols[place.id] = _add(out, dsg.DsgLayers.PLACES, "p", k, attributes)
    for k, room in enumerate(graph.rooms.values()):
        attributes = dsg.RoomNodeAttributes()
        attributes.position = np.array(_middle(room, graph))
        data: dict[str, Any] = {
            "type": room.type,
            "floor": room.floor,
            "polygon": room.polygon,
            "name": room.name,
        }
        _describe(attributes, room.id, data)
        symbols[room.id] = _add(out, dsg.DsgLayers.ROOMS, "R", k, attributes)
    for k, thing in enumerate(graph.objects.values()):
        attributes = dsg.ObjectNodeAttributes()
        attributes.position = np.array(thing.box.center)
        attributes.semantic_label = labels.index(thing.label.top)
        attributes.bounding_box = dsg.BoundingBox(
            np.array(thing.box.size, np.float32),
            np.array(thing.box.center, np.float32),
            thing.box.yaw,
        )
        data = {
            "labels": thing.label.weights,
            "room": thing.room,
            "kind": thing.kind,
            "support": thing.support,
            "container": thing.container,
            "is_open": thing.is_open,
            "observations": thing.observations,
            "properties": thing.properties,
            "embeddings": [asdict(one) for one in thing.embeddings],
        }
        looks = [one.vector for one in thing.embeddings if one.source == "image"]
        if looks:  # the field that Hydra's open-set maps have for it
            attributes.semantic_feature = looks[0].astype(np.float64).reshape(-1, 1)
        _describe(attributes, thing.id, data, thing.label.top)
        symbols[thing.id] = _add(out, dsg.DsgLayers.OBJECTS, "O", k, attributes)
    _edges(out, graph, symbols)
    out.metadata.add({"floors": [_plain(f) for f in graph.floors.values()], "labels": labels})
    out.save(str(path), False)


def load_spark(path: Path) -> SceneGraph:
    """Read a spark-dsg file, ours or Hydra's.

    Objects get their label from our metadata, the label space of their layer, or their name; those
    without any are called by the number of their label. Rooms get their name in the same way, or
    their id. Parents tell which room a place or an object lies in.

    Raises:
        SceneError: spark-dsg cannot read it, or an attribute is not as it should be; names the
            node.
    """
    import spark_dsg as dsg

    try:
        source = dsg.DynamicSceneGraph.load(str(path))
    except Exception as error:  # pybind raises all kinds for broken files
        raise SceneError(f"{path}: spark-dsg cannot read it: {shorten(str(error))}") from None
    at = ["metadata"]
    try:
        graph = _from_spark(source, at)
    except (
        AttributeError,
        LookupError,
        OverflowError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise SceneError(
            f"{path}: {at[0]}: not as Hydra or we write it: {shorten(str(error))}"
        ) from None
    return checked(graph, str(path))


def _from_spark(source: Any, at: list[str]) -> SceneGraph:
    """Return the graph of a spark-dsg file; `at[0]` names what is being read."""
    import spark_dsg as dsg

    graph = SceneGraph()
    extra = source.metadata.get() or {}
    for floor in extra.get("floors", ()):
        graph.add_floor(Floor(**floor))
    own = dict(enumerate(extra.get("labels", ())))
    rooms: dict[int, str] = {}
    for node in _nodes(source, dsg.DsgLayers.ROOMS):
        at[0] = f"room {node.id.str(True)}"
        data, id_ = _data(node), _id(node)
        rooms[node.id.value] = id_
        polygon = [(float(x), float(y)) for x, y in data.get("polygon", ())]
        name = data.get("name") or _label(source, node, {}) or id_
        kind = data.get("type") or load_household().room_type(name) or "room"
        graph.add_room(Room(id_, name, kind, data.get("floor", ""), polygon))
    ids = dict(rooms)
    for node in _nodes(source, dsg.DsgLayers.PLACES):
        at[0] = f"place {node.id.str(True)}"
        data, id_ = _data(node), _id(node)
        ids[node.id.value] = id_
        room = data.get("room", _room(source, node, rooms))
        graph.add_place(Place(id_, _point(node.attributes.position), room, data.get("floor", "")))
    for node in _nodes(source, dsg.DsgLayers.OBJECTS):
        at[0] = f"object {node.id.str(True)}"
        data, id_ = _data(node), _id(node)
        ids[node.id.value] = id_
        label = _label(source, node, own) or _number(node)
        room = data.get("room", _room(source, node, rooms))
        graph.add_object(_object(node, id_, data, label, room))
    for edge in source.edges:
        at[0] = f"edge {edge.source} to {edge.target}"
        _read_edge(graph, ids, edge)
    return graph


def save_ply(graph: SceneGraph, path: Path, instances: tuple[Instance, ...] = ()) -> None:
    """Write a coloured point cloud: the points of the instances, and the edges of all boxes."""
    import trimesh

    points: list[np.ndarray[Any, Any]] = []
    colors: list[np.ndarray[Any, Any]] = []
    for thing in graph.objects.values():
        edges = _box_edges(thing.box)
        points.append(edges)
        colors.append(np.tile(color_of(thing.label.top), (len(edges), 1)))
    for instance in instances:
        if instance.id in graph.objects:
            points.append(np.asarray(instance.points, np.float64))
            colors.append(np.tile(color_of(instance.labels.top), (len(instance.points), 1)))
    cloud = trimesh.PointCloud(
        np.concatenate(points) if points else np.zeros((1, 3)),
        np.concatenate(colors) if colors else np.zeros((1, 3), np.uint8),
    )
    cloud.export(str(path), file_type="ply")


def color_of(label: str) -> tuple[int, int, int]:
    """A colour for a label, the same everywhere: hue by a checksum of the name."""
    import colorsys
    import zlib

    hue = (zlib.crc32(label.encode()) % 997) / 997.0
    r, g, b = colorsys.hsv_to_rgb(hue, 0.65, 0.9)
    return (int(255 * r), int(255 * g), int(255 * b))


def _box_edges(box: Box, step: float = 0.02) -> np.ndarray[Any, Any]:
    low, high = np.array(box.footprint()), (box.bottom, box.top)
    corners = [np.array([x, y, z]) for z in high for x, y in low]
    pairs = [(a, (a + 1) % 4) for a in range(4)]
    lines = [*pairs, *((a + 4, b + 4) for a, b in pairs), *((a, a + 4) for a in range(4))]
    parts = []
    for a, b in lines:
        n = max(int(np.linalg.norm(corners[b] - corners[a]) / step), 1) + 1
        parts.append(np.linspace(corners[a], corners[b], n))
    return np.concatenate(parts)


def _describe(attributes: Any, id_: str, data: Mapping[str, Any], name: str = "") -> None:
    attributes.name = name or id_
    attributes.metadata.add({"id": id_, **{k: _plain(v) for k, v in data.items()}})


def _add(out: Any, layer: int, letter: str, index: int, attributes: Any) -> Any:
    import spark_dsg as dsg

    symbol = dsg.NodeSymbol(letter, index)
    out.add_node(layer, symbol, attributes)
    return symbol


def _edges(out: Any, graph: SceneGraph, symbols: Mapping[str, Any]) -> None:
    import spark_dsg as dsg

    for place in graph.places.values():
        if place.room in symbols:
            out.insert_edge(symbols[place.room], symbols[place.id])
    for a, links in graph.links.items():
        for b, link in links.items():
            if a < b:
                info = dsg.EdgeAttributes()
                info.weighted, info.weight = True, link.length
                info.metadata.add({"width": link.width, "riser": link.riser})
                out.insert_edge(symbols[a], symbols[b], info)
    between: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for way in graph.connections.values():
        between.setdefault((way.room_a, way.room_b), []).append(_plain(way))
    for (a, b), ways in between.items():
        info = dsg.EdgeAttributes()
        info.metadata.add({"connections": ways})
        if a in symbols and b in symbols and not out.insert_edge(symbols[a], symbols[b], info):
            # Two ways between the same rooms the other way round: one edge holds them all.
            continue
    for thing in graph.objects.values():
        # Hydra's objects hang on the place nearest to them.
        near = [p for p in graph.places.values() if p.room == thing.room]
        if near:
            best = min(near, key=lambda p: math.dist(p.position, thing.box.center))
            out.insert_edge(symbols[best.id], symbols[thing.id])


def _read_edge(graph: SceneGraph, ids: Mapping[int, str], edge: Any) -> None:
    a, b = ids.get(edge.source, ""), ids.get(edge.target, "")
    data = edge.info.metadata.get() or {}
    if a in graph.places and b in graph.places:
        away = math.dist(graph.places[a].position, graph.places[b].position)
        length = float(edge.info.weight) if edge.info.weighted else away
        graph.add_link(PlaceLink(a, b, length, data.get("width", 10.0), data.get("riser", 0.0)))
    elif a in graph.rooms and b in graph.rooms:
        ways = data.get("connections")
        if ways is None:
            pa, pb = (_middle(graph.rooms[r], graph) for r in (a, b))
            middle = ((pa[0] + pb[0]) / 2, (pa[1] + pb[1]) / 2, (pa[2] + pb[2]) / 2)
            graph.add_connection(Connection(f"{a}-{b}", a, b, "opening", middle, 0.9))
        for way in ways or ():
            way["position"] = tuple(way["position"])
            graph.add_connection(Connection(**way))


def _object(node: Any, id_: str, data: Mapping[str, Any], label: str, room: str) -> SceneObject:
    attributes = node.attributes
    box = attributes.bounding_box
    center = _point(attributes.position)
    size = tuple(float(v) for v in box.dimensions) if box.is_valid() else (0.0, 0.0, 0.0)
    rotation = np.asarray(box.world_R_center)
    yaw = math.atan2(float(rotation[1, 0]), float(rotation[0, 0])) if box.is_valid() else 0.0
    weights = data.get("labels") or {label: 1.0}
    belief = LabelBelief({str(k): float(v) for k, v in weights.items()})
    return SceneObject(
        id=id_,
        label=belief,
        box=Box(center, (size[0], size[1], size[2]), yaw if abs(yaw) > 1e-7 else 0.0),
        room=room,
        kind=data.get("kind") or load_household().kind(belief.top),
        support=data.get("support", ""),
        container=data.get("container", ""),
        is_open=data.get("is_open"),
        observations=int(data.get("observations", 0)),
        properties=dict(data.get("properties", {})),
        embeddings=_embeddings(attributes, data),
    )


def _embeddings(attributes: Any, data: Mapping[str, Any]) -> tuple[Embedding, ...]:
    """What our metadata tell of an object's embeddings; else Hydra's feature, of no named model."""
    if "embeddings" in data:
        return tuple(Embedding(**one) for one in data["embeddings"])
    plain = data.get("embedding")  # as earlier versions wrote it
    if not plain:
        feature = np.asarray(attributes.semantic_feature, np.float64)
        plain = feature[:, 0] if feature.ndim == 2 and feature.shape[1] else feature.reshape(-1)
    return (Embedding.of(UNNAMED, plain),) if len(plain) and np.any(plain) else ()


def _nodes(source: Any, name: str) -> list[Any]:
    if not source.has_layer(name):
        return []
    return sorted(source.get_layer(name).nodes, key=lambda node: node.id.value)


def _label(source: Any, node: Any, own: Mapping[int, str]) -> str:
    """What a node is called: by the label space of its layer, else by its name ("" if neither)."""
    key = node.layer
    space = own or source.get_labelspace(key.layer, key.partition).labels_to_names
    name = str(node.attributes.name)
    if name in (node.id.str(True), node.id.str(False)):  # Hydra's name for what it has none for
        name = ""
    return str(space.get(int(node.attributes.semantic_label), "")) or name


def _number(node: Any) -> str:
    number = int(node.attributes.semantic_label)
    return str(number) if number != _NO_LABEL else "unknown"


def _data(node: Any) -> dict[str, Any]:
    found = node.attributes.metadata.get()
    return dict(found) if isinstance(found, Mapping) else {}


def _id(node: Any) -> str:
    return str(_data(node).get("id") or node.id.str(True))


def _room(source: Any, node: Any, rooms: Mapping[int, str]) -> str:
    """The room that a node lies in, through places of any kind ("": in none)."""
    while node.has_parent():
        node = source.get_node(node.get_parent())
        if node.id.value in rooms:
            return rooms[node.id.value]
    return ""


def _point(values: Any) -> Vec3:
    x, y, z = (float(v) for v in values)
    return (x, y, z)


def _middle(room: Room, graph: SceneGraph) -> Vec3:
    floor = graph.floors.get(room.floor)
    z = floor.elevation if floor else 0.0
    if room.polygon:
        xs, ys = zip(*room.polygon, strict=True)
        return (sum(xs) / len(xs), sum(ys) / len(ys), z)
    spots = [place.position for place in graph.places.values() if place.room == room.id]
    if not spots:
        return (0.0, 0.0, z)
    x, y, z = (sum(v) / len(spots) for v in zip(*spots, strict=True))
    return (x, y, z)


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return {k: _plain(getattr(value, k)) for k in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value
