"""Hear what the robots of a team report of themselves, and say to one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from coterie_core.tasks import RobotReport
from coterie_msgs.msg import RobotStatus, TeamMessage
from coterie_ros.agent_node import AgentNode
from coterie_ros.conversions.tasks import report_from_msg


def hear_reports(
    node: AgentNode, robots: Iterable[str], heard: Callable[[RobotReport], None]
) -> None:
    """Subscribe to robots' `status`; a report in the name of another robot is told and dropped."""

    def watch(robot: str) -> None:
        def take(report: RobotReport) -> None:
            if report.robot == robot:
                heard(report)
                return
            node.diagnostics.count("forged_reports")
            node.problem(f"{robot}/status: a report in the name of {report.robot!r}: dropped")

        node.subscribe(RobotStatus, f"{robot}/status", "latched", take, convert=report_from_msg)

    for robot in robots:
        watch(robot)


def hear_messages(
    node: AgentNode,
    robots: Iterable[str],
    prefix: str,
    take: Callable[[Any], object],
    read: Callable[..., Any],
) -> None:
    """Subscribe to robots' `message`; one in the name of another robot is told and dropped.

    Args:
        node: Node that hears; from its `on_start` on.
        robots: Names of the robots.
        prefix: Prefix of the team's topics, such as `/house/`.
        take: Takes what was read.
        read: Reads a message on a `topic` to what has a `sender`; returns None for what is passed
            over, and raises ValueError for what is dropped and told.
    """

    def heard(robot: str, said: Any) -> None:
        if said is None:
            return
        if said.sender != robot:
            node.diagnostics.count("forged_messages")
            node.problem(f"{robot}/message: a message in the name of {said.sender!r}: dropped")
            return
        take(said)

    for robot in robots:
        node.subscribe(
            TeamMessage,
            f"{prefix}{robot}/message",
            "messages",
            partial(heard, robot),
            convert=partial(read, topic=f"{robot}/message"),
        )
