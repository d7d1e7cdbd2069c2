"""Scene graphs to semantic maps and back."""

from __future__ import annotations

from geometry_msgs.msg import Point

from coterie_core.scene import (
    LabelBelief,
    Room,
    SceneError,
    SceneGraph,
    SceneObject,
    Sighting,
    from_json,
    to_json,
)
from coterie_msgs.msg import LabelScore, MapObject, MapRoom, RoomRef, SemanticMap
from coterie_ros.conversions.basics import (
    box_from_msg,
    box_to_msg,
    header,
    time_from_msg,
    time_to_msg,
)
from coterie_ros.conversions.checks import DOCUMENT, Checks, ConversionError

_OPENING = {MapObject.CLOSED: False, MapObject.OPEN: True, MapObject.NOT_OPENABLE: None}


def scene_to_msg(graph: SceneGraph, *, time: float = 0.0, with_graph: bool = True) -> SemanticMap:
    """Return a scene graph as a semantic map.

    Args:
        graph: The graph.
        time: The map's stamp [s].
        with_graph: Whether the whole graph goes along as JSON (places, links, connections).
    """
    return SemanticMap(
        header=header(time, graph.frame),
        rooms=[
            MapRoom(
                ref=RoomRef(id=room.id, name=room.name, type=room.type),
                floor=room.floor,
                polygon=[Point(x=float(x), y=float(y)) for x, y in room.polygon],
            )
            for room in graph.rooms.values()
        ],
        objects=[map_object_to_msg(thing) for thing in graph.objects.values()],
        graph=to_json(graph) if with_graph else "",
    )


def scene_from_msg(message: SemanticMap, topic: str = "semantic_map") -> SceneGraph:
    """Return the scene graph of a semantic map.

    Where the map carries the whole graph as JSON, that is what counts; otherwise rooms and objects
    are read from the message (evidence: probability times observations).

    Raises:
        ConversionError: Broken JSON, dangling references, a bad number or text.
    """
    checks = Checks(topic)
    if message.graph:
        try:
            return from_json(checks.text("graph", message.graph, DOCUMENT), f"{topic}.graph")
        except SceneError as error:
            raise ConversionError(topic, "graph", "a scene graph as JSON", str(error)) from None
    graph = SceneGraph(frame=checks.text("header.frame_id", message.header.frame_id) or "map")
    for k, item in enumerate(checks.items("rooms", message.rooms)):
        part = checks.at(f"rooms[{k}]")
        polygon = [
            (part.number("polygon.x", corner.x), part.number("polygon.y", corner.y))
            for corner in part.items("polygon", item.polygon)
        ]
        graph.add_room(
            Room(
                id=part.text("ref.id", item.ref.id, empty=False),
                name=part.text("ref.name", item.ref.name),
                type=part.text("ref.type", item.ref.type),
                floor=part.text("floor", item.floor),
                polygon=polygon,
            )
        )
    for k, thing in enumerate(checks.items("objects", message.objects, 100_000)):
        graph.add_object(map_object_from_msg(thing, checks.at(f"objects[{k}]")))
    return graph


def map_object_to_msg(thing: SceneObject) -> MapObject:
    """Return one object as a message."""
    openings = {value: number for number, value in _OPENING.items()}
    message = MapObject(
        id=thing.id,
        labels=[
            LabelScore(label=label, score=float(score))
            for label, score in thing.label.distribution().items()
        ],
        box=box_to_msg(thing.box),
        room=thing.room,
        support=thing.support,
        container=thing.container,
        opening=openings[thing.is_open],
        observations=thing.observations,
        confidence=float(thing.confidence),
    )
    if thing.last_seen is not None:
        # A memory of before the world's clock began anew lies before its beginning.
        message.last_seen = time_to_msg(max(thing.last_seen.time, 0.0))
        message.last_seen_by = thing.last_seen.robot
    return message


def map_object_from_msg(message: MapObject, checks: Checks | None = None) -> SceneObject:
    """Return one object.

    Raises:
        ConversionError: No id, a score outside 0..1, an unknown enumerator, a bad box.
    """
    checks = checks or Checks("object")
    weight = max(int(message.observations), 1)
    labels = {
        checks.at(f"labels[{k}]").text("label", item.label): weight
        * checks.at(f"labels[{k}]").share("score", item.score)
        for k, item in enumerate(checks.items("labels", message.labels, 1000))
    }
    seen_by = checks.text("last_seen_by", message.last_seen_by)
    return SceneObject(
        id=checks.text("id", message.id, empty=False),
        label=LabelBelief(labels),
        box=box_from_msg(message.box, checks),
        room=checks.text("room", message.room),
        support=checks.text("support", message.support),
        container=checks.text("container", message.container),
        is_open=checks.choice("opening", message.opening, _OPENING),
        observations=int(message.observations),
        last_seen=Sighting(time_from_msg(message.last_seen), seen_by) if seen_by else None,
        confidence=checks.share("confidence", message.confidence),
    )
