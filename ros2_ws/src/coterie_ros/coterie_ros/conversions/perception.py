"""Observations with their detections and places, to messages and back."""

from __future__ import annotations

from coterie_core.observation import Detection, Observation, PlaceView
from coterie_msgs.msg import Detection as DetectionMsg
from coterie_msgs.msg import LabelScore
from coterie_msgs.msg import ObjectEvent as ObjectEventMsg
from coterie_msgs.msg import Observation as ObservationMsg
from coterie_msgs.msg import PlaceView as PlaceViewMsg
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
    room_from_msg,
    room_to_msg,
    stamp_from_msg,
)
from coterie_ros.conversions.checks import FAR, Checks
from coterie_world.object_events import EventKind, ObjectEvent


def detection_to_msg(detection: Detection) -> DetectionMsg:
    """Return a detection as a message."""
    message = DetectionMsg(
        label=detection.label,
        score=float(detection.score),
        scores=[
            LabelScore(label=label, score=float(score)) for label, score in detection.scores.items()
        ],
        has_box=detection.box is not None,
        fused=detection.fused,
        surfaces=receptacles_to_msgs(detection.surfaces),
        room=room_to_msg(detection.room),
        distance=float(detection.distance),
        instance=detection.instance,
        embeddings=embeddings_to_msgs(detection.embeddings),
    )
    if detection.box is not None:
        message.box = box_to_msg(detection.box)
    return message


def detection_from_msg(message: DetectionMsg, checks: Checks | None = None) -> Detection:
    """Return a detection.

    Raises:
        ConversionError: A score outside 0..1, an empty label, a number that is not finite, ...
    """
    checks = checks or Checks("detection")
    scores = {
        checks.at(f"scores[{k}]").text("label", item.label): checks.at(f"scores[{k}]").share(
            "score", item.score
        )
        for k, item in enumerate(checks.items("scores", message.scores, 1000))
    }
    return Detection(
        label=checks.text("label", message.label, empty=False),
        score=checks.share("score", message.score),
        box=box_from_msg(message.box, checks) if message.has_box else None,
        room=room_from_msg(message.room, checks),
        distance=checks.number("distance", message.distance, 0.0, FAR),
        instance=checks.text("instance", message.instance),
        scores=scores,
        embeddings=embeddings_from_msgs(message.embeddings, checks),
        fused=bool(message.fused),
        surfaces=tuple(receptacles_from_msgs(message.surfaces, checks, "surfaces")),
    )


def place_view_to_msg(place: PlaceView) -> PlaceViewMsg:
    """Return a place that can be reached in one hop as a message."""
    return PlaceViewMsg(
        id=place.id,
        position=point_to_msg(place.position),
        distance=float(place.distance),
        room=room_to_msg(place.room),
        labels=list(place.labels),
    )


def place_view_from_msg(message: PlaceViewMsg, checks: Checks | None = None) -> PlaceView:
    """Return a place.

    Raises:
        ConversionError: An empty id, a negative distance, a number that is not finite, ...
    """
    checks = checks or Checks("place view")
    return PlaceView(
        id=checks.text("id", message.id, empty=False),
        position=point_from_msg(message.position, checks),
        distance=checks.number("distance", message.distance, 0.0, FAR),
        room=room_from_msg(message.room, checks),
        labels=tuple(
            checks.text(f"labels[{k}]", label)
            for k, label in enumerate(checks.items("labels", message.labels))
        ),
    )


def observation_to_msg(observation: Observation, frame: str = "map") -> ObservationMsg:
    """Return an observation as a message; its positions are in `frame`."""
    return ObservationMsg(
        header=header(observation.time, frame),
        robot=observation.robot,
        step=observation.step,
        pose=pose_to_msg(observation.pose),
        place=observation.place,
        room=room_to_msg(observation.room),
        detections=[detection_to_msg(thing) for thing in observation.detections],
        neighbours=[place_view_to_msg(place) for place in observation.neighbours],
        seen=list(observation.seen),
        seen_quality=[float(quality) for quality in observation.seen.values()],
    )


def observation_from_msg(
    message: ObservationMsg, topic: str = "observation", frame: str | None = None
) -> Observation:
    """Return an observation.

    Args:
        message: The message.
        topic: Where it came from, for errors.
        frame: The frame that it must be in; None for any.

    Raises:
        ConversionError: A field that is out of range, not finite, too long, or in another frame.
    """
    checks = Checks(topic)
    if frame is not None and message.header.frame_id != frame:
        raise checks.fail("header.frame_id", f"{frame!r}", repr(message.header.frame_id))
    seen = checks.items("seen", message.seen)
    if len(seen) != len(message.seen_quality):
        raise checks.fail("seen_quality", "one per place seen", f"{len(message.seen_quality)}")
    return Observation(
        robot=checks.text("robot", message.robot, empty=False),
        step=int(message.step),
        time=stamp_from_msg(message.header.stamp, checks),
        pose=pose_from_msg(message.pose, checks),
        place=checks.text("place", message.place),
        room=room_from_msg(message.room, checks),
        detections=tuple(
            detection_from_msg(item, checks.at(f"detections[{k}]"))
            for k, item in enumerate(checks.items("detections", message.detections))
        ),
        neighbours=tuple(
            place_view_from_msg(item, checks.at(f"neighbours[{k}]"))
            for k, item in enumerate(checks.items("neighbours", message.neighbours))
        ),
        seen={
            checks.text(f"seen[{k}]", place, empty=False): checks.share(
                f"seen_quality[{k}]", quality
            )
            for k, (place, quality) in enumerate(zip(seen, message.seen_quality, strict=True))
        },
    )


_KINDS: dict[int, EventKind] = {
    ObjectEventMsg.PICKED: "picked",
    ObjectEventMsg.PLACED: "placed",
    ObjectEventMsg.OPENED: "opened",
    ObjectEventMsg.CLOSED: "closed",
    ObjectEventMsg.GONE: "gone",
    ObjectEventMsg.DOUBTED: "doubted",
}
_NUMBERS = {kind: number for number, kind in _KINDS.items()}
_TEXTS = ("object", "from_room", "to_room", "holder", "task")


def object_event_to_msg(event: ObjectEvent) -> ObjectEventMsg:
    """Return an event as a message; its position is in the map frame."""
    return ObjectEventMsg(
        # A memory of before the world's clock began anew lies before its beginning.
        header=header(max(event.time, 0.0), "map"),
        id=event.id,
        kind=_NUMBERS[event.kind],
        robot=event.robot,
        label=event.label,
        position=point_to_msg(event.position),
        **{name: getattr(event, name) for name in _TEXTS},
    )


def object_event_from_msg(message: ObjectEventMsg, topic: str = "object_events") -> ObjectEvent:
    """Return an event.

    Raises:
        ConversionError: No id, robot or label, a kind that is unset or unknown, a text that is too
            long, a position that is none.
    """
    checks = Checks(topic)
    return ObjectEvent(
        id=checks.text("id", message.id, empty=False),
        kind=checks.choice("kind", message.kind, _KINDS),
        robot=checks.text("robot", message.robot, empty=False),
        label=checks.text("label", message.label, empty=False),
        time=stamp_from_msg(message.header.stamp, checks),
        position=point_from_msg(message.position, checks),
        **{name: checks.text(name, getattr(message, name)) for name in _TEXTS},
    )
