"""Hear what the robots of a team report of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from coterie_core.tasks import RobotReport
from coterie_msgs.msg import RobotStatus
from coterie_ros.agent_node import AgentNode
from coterie_ros.conversions.tasks import report_from_msg


def hear_reports(
    node: AgentNode, robots: Iterable[str], heard: Callable[[RobotReport], None]
) -> None:
    """Subscribe to robots' `status`; reports in the name of another robot are passed over."""

    def watch(robot: str) -> None:
        def take(report: RobotReport) -> None:
            if report.robot == robot:
                heard(report)

        node.subscribe(RobotStatus, f"{robot}/status", "latched", take, convert=report_from_msg)

    for robot in robots:
        watch(robot)
