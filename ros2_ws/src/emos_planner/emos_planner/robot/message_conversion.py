"""What robots of an EMOS team say to one another, to TeamMessage and back."""

from __future__ import annotations

from coterie_msgs.msg import TeamMessage
from coterie_ros.conversions.basics import header, point_to_msg
from emos_planner.robot.messages import HelpMessage, Kind

KINDS: dict[int, Kind] = {
    TeamMessage.HELP: "ask",
    TeamMessage.OFFER: "offer",
    TeamMessage.TEXT: "say",
    TeamMessage.WAY: "way",
}
"""Kinds of TeamMessage that these robots read."""
_NUMBERS = {kind: number for number, kind in KINDS.items()}


def said_to_msg(said: HelpMessage, time: float) -> TeamMessage:
    """Return what a robot says at a time [s] as a message."""
    return TeamMessage(
        header=header(time, ""),
        id=said.id,
        sender=said.sender,
        recipients=list(said.recipients),
        kind=_NUMBERS[said.kind],
        text=said.text,
        task=said.task,
        sub_task=said.sub_task,
        way=[point_to_msg(point) for point in said.way],
        way_radius=said.radius,
    )


def said_from_msg(message: TeamMessage) -> HelpMessage:
    """Return what a robot says; `message.kind` is one of `KINDS`.

    Raises:
        ValidationError: A name that is empty or too long, a way that is none.
    """
    return HelpMessage(
        id=message.id,
        sender=message.sender,
        recipients=tuple(message.recipients),
        kind=KINDS[message.kind],
        task=message.task,
        sub_task=message.sub_task,
        text=message.text,
        way=tuple((point.x, point.y, point.z) for point in message.way),
        radius=message.way_radius,
    )
