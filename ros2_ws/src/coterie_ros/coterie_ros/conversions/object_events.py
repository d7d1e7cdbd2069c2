"""What robots did to objects, to messages and back."""

from __future__ import annotations

from coterie_msgs.msg import ObjectEvent as ObjectEventMsg
from coterie_ros.conversions.basics import (
    header,
    point_from_msg,
    point_to_msg,
    stamp_from_msg,
)
from coterie_ros.conversions.checks import Checks
from coterie_world.object_events import EventKind, ObjectEvent

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
