"""What robots of an EMOS team say to one another, to TeamMessage and back."""

from __future__ import annotations

from coterie_msgs.msg import TeamMessage
from coterie_ros.conversions.basics import header
from coterie_ros.conversions.talk import yield_request_from_msg, yield_request_to_msg
from coterie_world.right_of_way import YieldRequest
from emos_planner.robot.messages import HelpMessage, Kind

KINDS: dict[int, Kind] = {
    TeamMessage.HELP: "ask",
    TeamMessage.OFFER: "offer",
    TeamMessage.TEXT: "say",
}
"""Kinds of TeamMessage about tasks that these robots read."""
_NUMBERS = {kind: number for number, kind in KINDS.items()}


def said_to_msg(said: HelpMessage | YieldRequest, time: float) -> TeamMessage:
    """Return what a robot says at a time [s] as a message."""
    if isinstance(said, YieldRequest):
        return yield_request_to_msg(said, time)
    return TeamMessage(
        header=header(time, ""),
        id=said.id,
        sender=said.sender,
        recipients=list(said.recipients),
        kind=_NUMBERS[said.kind],
        text=said.text,
        task=said.task,
        sub_task=said.sub_task,
    )


def said_from_msg(message: TeamMessage) -> HelpMessage | YieldRequest | None:
    """Return what a robot says; None for kinds of messages that these robots do not read.

    Raises:
        ValidationError: A name that is empty or too long.
        ConversionError: A way that is none.
    """
    if message.kind == TeamMessage.WAY:
        return yield_request_from_msg(message)
    if message.kind not in KINDS:
        return None
    return HelpMessage(
        id=message.id,
        sender=message.sender,
        recipients=tuple(message.recipients),
        kind=KINDS[message.kind],
        task=message.task,
        sub_task=message.sub_task,
        text=message.text,
    )
