"""Scene graphs to semantic maps and back, in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import Point

from coterie_core.household import ObjectKind
from coterie_msgs.msg import (
    MapAgent,
    MapConnection,
    MapFloor,
    MapLink,
    MapObject,
    MapPlace,
    MapRoom,
    SemanticMap,
)
from coterie_ros.conversions.basics import (
    box_from_msg,
    box_to_msg,
    embeddings_from_msgs,
    embeddings_to_msgs,
    header,
    point_from_msg,
    point_to_msg,
    pose_from_msg,
    pose_to_msg,
    receptacles_from_msgs,
    receptacles_to_msgs,
    stamp_from_msg,
    time_to_msg,
)
from coterie_ros.conversions.checks import FAR, SENTENCE, Checks
from coterie_world.scene import (
    AgentState,
    Connection,
    Floor,
    LabelBelief,
    Place,
    PlaceLink,
    Room,
    SceneGraph,
    SceneObject,
    Sighting,
)
from coterie_world.scene.limits import beyond_limits
from coterie_world.scene.model import ConnectionKind
from coterie_world.scene.serial import dangling_references

_OPENING = {MapObject.CLOSED: False, MapObject.OPEN: True, MapObject.NOT_OPENABLE: None}
_OPENING_NUMBERS = {value: number for number, value in _OPENING.items()}
_WAYS: dict[int, ConnectionKind] = {
    MapConnection.DOOR: "door",
    MapConnection.OPENING: "opening",
    MapConnection.STAIRS: "stairs",
}
_WAY_NUMBERS = {kind: number for number, kind in _WAYS.items()}
_KINDS: dict[int, ObjectKind] = {
    MapObject.ITEM: "item",
    MapObject.FURNITURE: "furniture",
    MapObject.FIXTURE: "fixture",
}
_KIND_NUMBERS = {kind: number for number, kind in _KINDS.items()}
T = TypeVar("T")

_MOST = 100_000
"""Most objects, places or links of a map."""


def scene_to_msg(graph: SceneGraph, *, time: float = 0.0) -> SemanticMap:
    """Return a scene graph as a semantic map with a stamp [s]."""
    return SemanticMap(
        header=header(time, graph.frame),
        floors=[
            MapFloor(
                id=floor.id,
                index=floor.index,
                elevation=float(floor.elevation),
                ceiling_height=float(floor.ceiling_height),
            )
            for floor in graph.floors.values()
        ],
        rooms=[
            MapRoom(
                id=room.id,
                name=room.name,
                type=room.type,
                floor=room.floor,
                polygon=[Point(x=float(x), y=float(y)) for x, y in room.polygon],
            )
            for room in graph.rooms.values()
        ],
        connections=[
            MapConnection(
                id=way.id,
                room_a=way.room_a,
                room_b=way.room_b,
                kind=_WAY_NUMBERS[way.kind],
                position=point_to_msg(way.position),
                width=float(way.width),
                riser=float(way.riser),
            )
            for way in graph.connections.values()
        ],
        places=[
            MapPlace(
                id=place.id,
                position=point_to_msg(place.position),
                room=place.room,
                floor=place.floor,
            )
            for place in graph.places.values()
        ],
        links=[
            MapLink(
                a=link.a,
                b=link.b,
                length=float(link.length),
                width=float(link.width),
                riser=float(link.riser),
            )
            for link in _links(graph)
        ],
        objects=[map_object_to_msg(thing) for thing in graph.objects.values()],
        agents=[_agent_to_msg(agent) for agent in graph.agents.values()],
    )


def _links(graph: SceneGraph) -> Iterator[PlaceLink]:
    """Yield each link once."""
    told: set[tuple[str, str]] = set()
    for links in graph.links.values():
        for link in links.values():
            if (link.a, link.b) not in told:
                told.add((link.a, link.b))
                yield link


def scene_from_msg(message: SemanticMap, topic: str = "semantic_map") -> SceneGraph:
    """Return the scene graph of a semantic map.

    Raises:
        ConversionError: A dangling reference, an unknown enumerator, a bad number or text.
    """
    checks = Checks(topic)
    graph = SceneGraph(frame=checks.text("header.frame_id", message.header.frame_id) or "map")
    for part, floor in _parts(checks, "floors", message.floors):
        graph.add_floor(
            Floor(
                part.text("id", floor.id, empty=False),
                int(floor.index),
                part.number("elevation", floor.elevation, -FAR, FAR),
                part.number("ceiling_height", floor.ceiling_height, 0.0, FAR),
            )
        )
    for part, room in _parts(checks, "rooms", message.rooms):
        polygon = [
            (part.number("polygon.x", corner.x), part.number("polygon.y", corner.y))
            for corner in part.items("polygon", room.polygon)
        ]
        graph.add_room(
            Room(
                id=part.text("id", room.id, empty=False),
                name=part.text("name", room.name),
                type=part.text("type", room.type),
                floor=part.text("floor", room.floor),
                polygon=polygon,
            )
        )
    for part, way in _parts(checks, "connections", message.connections):
        graph.add_connection(
            Connection(
                id=part.text("id", way.id, empty=False),
                room_a=part.text("room_a", way.room_a),
                room_b=part.text("room_b", way.room_b),
                kind=part.choice("kind", way.kind, _WAYS),
                position=point_from_msg(way.position, part),
                width=part.number("width", way.width, 0.0, FAR),
                riser=part.number("riser", way.riser, 0.0, FAR),
            )
        )
    for part, place in _parts(checks, "places", message.places):
        graph.add_place(
            Place(
                id=part.text("id", place.id, empty=False),
                position=point_from_msg(place.position, part),
                room=part.text("room", place.room),
                floor=part.text("floor", place.floor),
            )
        )
    for part, link in _parts(checks, "links", message.links):
        graph.add_link(
            PlaceLink(
                part.text("a", link.a),
                part.text("b", link.b),
                part.number("length", link.length, 0.0, FAR),
                part.number("width", link.width, 0.0, FAR),
                part.number("riser", link.riser, 0.0, FAR),
            )
        )
    for part, thing in _parts(checks, "objects", message.objects):
        graph.add_object(map_object_from_msg(thing, part))
    for part, agent in _parts(checks, "agents", message.agents):
        name = part.text("name", agent.name, empty=False)
        graph.agents[name] = AgentState(
            name,
            pose_from_msg(agent.pose, part),
            part.text("room", agent.room),
            part.text("holding", agent.holding),
            _sighting(agent, part),
        )
    problems = [*beyond_limits(graph), *dangling_references(graph)]
    if problems:
        raise checks.fail("rooms, places, objects", "a consistent map", "; ".join(problems[:3]))
    return graph


def _parts(checks: Checks, field: str, values: Sequence[T]) -> Iterator[tuple[Checks, T]]:
    for k, value in enumerate(checks.items(field, values, _MOST)):
        yield checks.at(f"{field}[{k}]"), value


def map_object_to_msg(thing: SceneObject) -> MapObject:
    """Return one object as a message."""
    weights = thing.label.weights
    labels = sorted(weights, key=lambda label: (-weights[label], label))
    message = MapObject(
        id=thing.id,
        labels=labels,
        label_weights=[float(weights[label]) for label in labels],
        box=box_to_msg(thing.box),
        room=thing.room,
        kind=_KIND_NUMBERS[thing.kind],
        support=thing.support,
        container=thing.container,
        opening=_OPENING_NUMBERS[thing.is_open],
        receptacles=receptacles_to_msgs(thing.receptacles),
        observations=thing.observations,
        confidence=float(thing.confidence),
        properties=[KeyValue(key=key, value=value) for key, value in thing.properties.items()],
        embeddings=embeddings_to_msgs(thing.embeddings),
    )
    _tell_sighting(message, thing.last_seen)
    return message


def map_object_from_msg(message: MapObject, checks: Checks | None = None) -> SceneObject:
    """Return one object.

    Raises:
        ConversionError: No id, a negative weight, an unknown enumerator, a bad box.
    """
    checks = checks or Checks("object")
    told = checks.items("labels", message.labels, 1000)
    if len(told) != len(message.label_weights):
        raise checks.fail("label_weights", "one per label", f"{len(message.label_weights)}")
    labels = {
        checks.text(f"labels[{k}]", label): checks.number(f"label_weights[{k}]", weight, 0.0)
        for k, (label, weight) in enumerate(zip(told, message.label_weights, strict=True))
    }
    properties = {
        checks.text("properties.key", one.key): checks.text("properties.value", one.value, SENTENCE)
        for one in checks.items("properties", message.properties, 1000)
    }
    return SceneObject(
        id=checks.text("id", message.id, empty=False),
        label=LabelBelief(labels),
        box=box_from_msg(message.box, checks),
        room=checks.text("room", message.room),
        kind=checks.choice("kind", message.kind, _KINDS),
        support=checks.text("support", message.support),
        container=checks.text("container", message.container),
        is_open=checks.choice("opening", message.opening, _OPENING),
        receptacles=receptacles_from_msgs(message.receptacles, checks),
        observations=int(message.observations),
        last_seen=_sighting(message, checks),
        properties=properties,
        confidence=checks.share("confidence", message.confidence),
        embeddings=embeddings_from_msgs(message.embeddings, checks),
    )


def _agent_to_msg(agent: AgentState) -> MapAgent:
    message = MapAgent(
        name=agent.name, pose=pose_to_msg(agent.pose), room=agent.room, holding=agent.holding
    )
    _tell_sighting(message, agent.last_seen)
    return message


def _tell_sighting(message: MapObject | MapAgent, seen: Sighting | None) -> None:
    if seen is not None:
        message.has_last_seen = True
        # A memory of before the world's clock began anew lies before its beginning.
        message.last_seen = time_to_msg(max(seen.time, 0.0))
        message.last_seen_by = seen.robot


def _sighting(message: MapObject | MapAgent, checks: Checks) -> Sighting | None:
    by = checks.text("last_seen_by", message.last_seen_by)
    if not message.has_last_seen:
        return None
    return Sighting(stamp_from_msg(message.last_seen, checks, "last_seen"), by)
