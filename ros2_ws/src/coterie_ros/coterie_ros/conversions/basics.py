"""Time, points, poses, boxes and rooms, to messages and back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Quaternion, Vector3
from geometry_msgs.msg import Pose as PoseMsg
from std_msgs.msg import Header

from coterie_core.embedding import MAX_DIMENSION, MAX_EMBEDDINGS, Embedding, Source
from coterie_core.geometry import Box, Pose, Vec3, quaternion_to_yaw, yaw_to_quaternion
from coterie_core.observation import Receptacle, RoomView
from coterie_msgs.msg import Box as BoxMsg
from coterie_msgs.msg import Embedding as EmbeddingMsg
from coterie_msgs.msg import MapReceptacle, MapRoom
from coterie_ros.conversions.checks import FAR, Checks

_NANO = 1_000_000_000
MAX_SURFACES = 1000
"""Support surfaces of one object, at most."""


def time_to_msg(seconds: float) -> Time:
    """Return a time [s] as a message; rounded to the nanosecond.

    Raises:
        ValueError: Negative, not finite, or beyond what the message holds (year 2038 or 2**31 s).
    """
    if not math.isfinite(seconds) or seconds < 0.0 or seconds >= 2**31:
        raise ValueError(f"time: expected 0 <= seconds < 2**31, got {seconds!r}")
    whole = math.floor(seconds)
    nanoseconds = round((seconds - whole) * _NANO)
    if nanoseconds == _NANO:
        whole, nanoseconds = whole + 1, 0
    return Time(sec=whole, nanosec=nanoseconds)


def time_from_msg(message: Time) -> float:
    """Return a time message in seconds, whatever it holds: for stamps of other people's nodes."""
    return (int(message.sec) * _NANO + message.nanosec) / _NANO  # integers: rounded only once


def stamp_from_msg(message: Time, checks: Checks, field: str = "header.stamp") -> float:
    """Return a time message in seconds, from the beginning of the clock on.

    Raises:
        ConversionError: Negative, or a second or more of nanoseconds.
    """
    if message.sec < 0 or message.nanosec >= _NANO:
        got = f"sec={message.sec}, nanosec={message.nanosec}"
        raise checks.fail(field, f"a time since 0 s, fewer than {_NANO} nanoseconds", got)
    return time_from_msg(message)


def duration_to_msg(seconds: float) -> Duration:
    """Return a time span [s] as a message; rounded to the nanosecond.

    Raises:
        ValueError: Negative, not finite, or beyond what the message holds (2**31 s).
    """
    span = time_to_msg(seconds)
    return Duration(sec=span.sec, nanosec=span.nanosec)


def duration_from_msg(
    message: Duration, checks: Checks | None = None, field: str = "duration", most: float = 2.0**31
) -> float:
    """Return a time span in seconds.

    Raises:
        ConversionError: Negative, longer than `most` [s], or a second or more of nanoseconds.
    """
    checks = checks or Checks("duration")
    seconds = (message.sec * _NANO + message.nanosec) / _NANO
    if message.nanosec >= _NANO or not 0.0 <= seconds <= most:
        got = f"sec={message.sec}, nanosec={message.nanosec}"
        raise checks.fail(field, f"0 to {most:g} s, fewer than {_NANO} nanoseconds", got)
    return seconds


def header(seconds: float, frame: str) -> Header:
    """Return a header with a stamp [s] and a frame."""
    return Header(stamp=time_to_msg(seconds), frame_id=frame)


def point_to_msg(point: Vec3) -> Point:
    """Return a point [m] as a message."""
    return Point(x=float(point[0]), y=float(point[1]), z=float(point[2]))


def point_from_msg(message: Point, checks: Checks, field: str = "position") -> Vec3:
    """Return a point [m].

    Raises:
        ConversionError: Not finite, or farther than 100 km.
    """
    inner = checks.at(field)
    x, y, z = (inner.number(axis, getattr(message, axis), -FAR, FAR) for axis in "xyz")
    return (x, y, z)


def pose_to_msg(pose: Pose) -> PoseMsg:
    """Return a pose (position [m], yaw [rad]) as a message with a unit quaternion."""
    x, y, z, w = yaw_to_quaternion(pose.yaw)
    return PoseMsg(position=point_to_msg(pose.position), orientation=Quaternion(x=x, y=y, z=z, w=w))


def pose_from_msg(message: PoseMsg, checks: Checks | None = None, field: str = "pose") -> Pose:
    """Return a pose; roll and pitch are dropped.

    Raises:
        ConversionError: Position not finite, or no rotation (quaternion far from unit length).
    """
    inner = (checks or Checks("pose")).at(field)
    rotation = inner.rotation("orientation", message.orientation)
    return Pose(point_from_msg(message.position, inner), quaternion_to_yaw(rotation))


def box_to_msg(box: Box) -> BoxMsg:
    """Return a box (centre and edges [m], yaw [rad]) as a message."""
    x, y, z = (float(edge) for edge in box.size)
    return BoxMsg(center=point_to_msg(box.center), size=Vector3(x=x, y=y, z=z), yaw=float(box.yaw))


def receptacles_to_msgs(surfaces: Iterable[Receptacle]) -> list[MapReceptacle]:
    """Return support surfaces as messages."""
    return [
        MapReceptacle(
            id=one.id,
            surface=box_to_msg(one.surface),
            variance=float(one.variance),
            inside=one.inside,
        )
        for one in surfaces
    ]


def receptacles_from_msgs(
    messages: Sequence[MapReceptacle], checks: Checks, field: str = "receptacles"
) -> list[Receptacle]:
    """Return support surfaces.

    Raises:
        ConversionError: Too many, a bad box, or a negative variance.
    """
    read = []
    for k, one in enumerate(checks.items(field, messages, MAX_SURFACES)):
        part = checks.at(f"{field}[{k}]")
        surface = box_from_msg(one.surface, part, "surface")
        variance = part.number("variance", one.variance, 0.0)
        read.append(Receptacle(part.text("id", one.id), surface, bool(one.inside), variance))
    return read


def box_from_msg(message: BoxMsg, checks: Checks | None = None, field: str = "box") -> Box:
    """Return a box.

    Raises:
        ConversionError: A number that is not finite, or a negative edge.
    """
    inner = (checks or Checks("box")).at(field)
    edges = inner.at("size")
    x, y, z = (edges.number(axis, getattr(message.size, axis), 0.0, FAR) for axis in "xyz")
    yaw = inner.number("yaw", message.yaw, -1e3, 1e3)
    return Box(point_from_msg(message.center, inner, "center"), (x, y, z), yaw)


def room_to_msg(room: RoomView | None) -> MapRoom:
    """Return a room as a message; all fields empty for None."""
    return MapRoom() if room is None else MapRoom(id=room.id, name=room.name, type=room.type)


def room_from_msg(
    message: MapRoom, checks: Checks | None = None, field: str = "room"
) -> RoomView | None:
    """Return a room, None where all fields are empty.

    Raises:
        ConversionError: A text that is too long.
    """
    inner = (checks or Checks("room")).at(field)
    id_, name, type_ = (inner.text(part, getattr(message, part)) for part in ("id", "name", "type"))
    return RoomView(id_, name, type_) if id_ or name or type_ else None


_SOURCES: dict[int, Source] = {EmbeddingMsg.IMAGE: "image", EmbeddingMsg.LABEL: "label"}
_SOURCE_NUMBERS = {source: number for number, source in _SOURCES.items()}


def embeddings_to_msgs(embeddings: Iterable[Embedding]) -> list[EmbeddingMsg]:
    """Return embeddings as messages."""
    return [
        EmbeddingMsg(source=_SOURCE_NUMBERS[one.source], model=one.model, values=one.vector)
        for one in embeddings
    ]


def embeddings_from_msgs(messages: Sequence[EmbeddingMsg], checks: Checks) -> tuple[Embedding, ...]:
    """Return embeddings.

    Raises:
        ConversionError: Too many, a model or source twice, an unknown source, numbers without
            direction.
    """
    found: dict[tuple[str, Source], Embedding] = {}
    for k, message in enumerate(checks.items("embeddings", messages, MAX_EMBEDDINGS)):
        part = checks.at(f"embeddings[{k}]")
        model = part.text("model", message.model, empty=False)
        source = part.choice("source", message.source, _SOURCES)
        values = np.asarray(part.items("values", message.values, MAX_DIMENSION), np.float32)
        try:
            one = Embedding.of(model, values, source)
        except ValueError as error:
            raise part.fail("values", str(error), f"{len(values)} numbers of {model!r}") from None
        if one.key in found:
            raise part.fail("model", "each model once for a source", model)
        found[one.key] = one
    return tuple(found.values())
