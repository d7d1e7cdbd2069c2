"""Requests for the way between robots: who asks, and who hears them, on `<robot>/message`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from coterie_msgs.msg import TeamMessage
from coterie_ros.conversions.talk import yield_request_from_msg
from coterie_ros.reports import hear_messages
from coterie_world.right_of_way import YieldRequest

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode


def hear_yield_requests(
    node: AgentNode, robots: Iterable[str], prefix: str, take: Callable[[YieldRequest], object]
) -> None:
    """Hear what robots ask others to make way for; all else that they say is passed over.

    Args:
        node: Node that hears; from its `on_start` on.
        robots: Names of the robots.
        prefix: Prefix of the team's topics, such as `/house/`.
        take: Takes each request; not one in the name of another robot.
    """
    hear_messages(node, robots, prefix, take, _request_of)


def _request_of(message: TeamMessage, topic: str) -> YieldRequest | None:
    return yield_request_from_msg(message, topic) if message.kind == TeamMessage.WAY else None
