"""The robots of a team as the leader hears them: resumes, reports, and who is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from coterie_core.geometry import Vec3
from coterie_core.resume import Resume
from coterie_core.tasks import RobotReport
from coterie_msgs.msg import RobotResume, RobotStatus
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.conversions.tasks import report_from_msg


class TeamPresence:
    """Hears the robots of a team.

    Args:
        node: The leader's node; `begin` is called in its `on_start`.
        robots: Names of the robots.
        silence: After which a robot is not there any longer [s of wall time].
        on_report: Called in the loop with every report.
        on_resume: Called in the loop when a resume has come.
    """

    def __init__(
        self,
        node: AgentNode,
        robots: list[str],
        silence: float,
        on_report: Callable[[RobotReport], object],
        on_resume: Callable[[], object],
    ) -> None:
        self._node, self.robots, self._silence = node, robots, silence
        self._on_report, self._on_resume = on_report, on_resume
        self.resumes: dict[str, Resume] = {}
        self.reports: dict[str, RobotReport] = {}
        self._heard_at: dict[str, float] = {}

    def begin(self) -> None:
        """Listen to resumes and reports."""
        for robot in self.robots:
            self._node.subscribe(
                RobotResume,
                f"{robot}/resume",
                "latched",
                partial(self._take_resume, robot),
                convert=partial(conversions.resume_from_msg, topic=f"{robot}/resume"),
            )
            self._node.subscribe(
                RobotStatus,
                f"{robot}/status",
                "latched",
                partial(self._take_report, robot),
                convert=partial(report_from_msg, topic=f"{robot}/status"),
            )

    def alive(self, robot: str) -> bool:
        """Whether a robot was heard lately."""
        heard = self._heard_at.get(robot)
        return heard is not None and time.monotonic() - heard <= self._silence

    def there(self) -> dict[str, Vec3 | None]:
        """Return the robots that have told of their body and are alive -> where they are [m]."""
        return {
            robot: self.reports[robot].position
            for robot in self.robots
            if robot in self.resumes and self.alive(robot)
        }

    def missing(self) -> str:
        """Return who is not there and why, in words ("": all are)."""
        there = self.there()
        what = {
            robot: "no status" if robot in self.resumes else "no resume"
            for robot in self.robots
            if robot not in there
        }
        return ", ".join(f"{robot} ({why})" for robot, why in what.items())

    def world_time(self) -> float:
        """Return the world's clock as robots report it [s]."""
        return max((report.time for report in self.reports.values()), default=0.0)

    def _take_resume(self, robot: str, resume: Resume) -> None:
        if resume.robot != robot:
            self._node.problem(f"{robot}/resume: of {resume.robot!r}: dropped")
            return
        self.resumes[robot] = resume
        self._on_resume()

    def _take_report(self, robot: str, report: RobotReport) -> None:
        if report.robot != robot:
            self._node.diagnostics.count("forged_reports")
            self._node.problem(f"{robot}/status: a report in the name of {report.robot!r}: dropped")
            return
        self.reports[robot] = report
        self._heard_at[robot] = time.monotonic()
        self._on_report(report)
