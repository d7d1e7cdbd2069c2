"""The robots of a team as the leader hears them: resumes, reports, and who is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from std_msgs.msg import String

from coterie_core.geometry import Vec3
from coterie_core.resume import Resume
from coterie_core.tasks import RobotReport
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.reports import hear_reports
from coterie_ros.stopping import STOPPED, StopWatch


class TeamPresence:
    """Hears the robots of a team.

    Args:
        node: The leader's node; `begin` is called in its `on_start`.
        robots: Names of the robots.
        silence: After which a robot is not there any longer [s of wall time].
        on_report: Called in the loop with every report.
        on_resume: Called in the loop when a resume has come.
        on_stop: Called in the loop where a robot is stopped, or released (name, whether stopped).
    """

    def __init__(
        self,
        node: AgentNode,
        robots: list[str],
        silence: float,
        on_report: Callable[[RobotReport], object],
        on_resume: Callable[[], object],
        on_stop: Callable[[str, bool], object],
    ) -> None:
        self._node, self.robots, self._silence = node, robots, silence
        self._on_report, self._on_resume, self._on_stop = on_report, on_resume, on_stop
        self._stops: dict[str, StopWatch] = {}
        self.resumes: dict[str, Resume] = {}
        self.reports: dict[str, RobotReport] = {}
        self._heard_at: dict[str, float] = {}

    def begin(self) -> None:
        """Listen to resumes and reports."""
        for robot in self.robots:
            self._stops[robot] = StopWatch(
                self._node, f"{robot}/{STOPPED}", partial(self._on_stop, robot)
            )
            self._node.subscribe(
                String,
                f"{robot}/resume",
                "latched",
                partial(self._take_resume, robot),
                convert=partial(conversions.resume_from_msg, topic=f"{robot}/resume"),
            )
        hear_reports(self._node, self.robots, self._take_report)

    def alive(self, robot: str) -> bool:
        """Whether a robot was heard lately."""
        heard = self._heard_at.get(robot)
        return heard is not None and time.monotonic() - heard <= self._silence

    @property
    def stopped(self) -> list[str]:
        """Names of the robots that a person has stopped."""
        return [robot for robot, watch in self._stops.items() if watch.stopped]

    def there(self) -> dict[str, Vec3 | None]:
        """Return the robots that can be given work -> where they are [m].

        They have told of their body, are alive, and nobody has stopped them.
        """
        stopped = self.stopped
        return {
            robot: self.reports[robot].position
            for robot in self.robots
            if robot in self.resumes and self.alive(robot) and robot not in stopped
        }

    def missing(self) -> str:
        """Return who is not there and why, in words ("": all are)."""
        there, stopped = self.there(), self.stopped
        what = {
            robot: "stopped"
            if robot in stopped
            else ("no status" if robot in self.resumes else "no resume")
            for robot in self.robots
            if robot not in there
        }
        return ", ".join(f"{robot} ({why})" for robot, why in what.items())

    def nobody(self) -> str:
        """Return why there is no robot at all that can be given work, and what to do."""
        if stopped := self.stopped:
            command = f"./coterie release {stopped[0]}"
            return f"no robot can work: {self.missing()}; let those stopped go on: {command}"
        return f"no robot is there: {', '.join(self.robots)} publish no resume or status"

    def world_time(self) -> float:
        """Return the world's clock as robots report it [s]."""
        return max((report.time for report in self.reports.values()), default=0.0)

    def _take_resume(self, robot: str, resume: Resume) -> None:
        if resume.robot != robot:
            self._node.problem(f"{robot}/resume: of {resume.robot!r}: dropped")
            return
        self.resumes[robot] = resume
        self._on_resume()

    def _take_report(self, report: RobotReport) -> None:
        self.reports[report.robot] = report
        self._heard_at[report.robot] = time.monotonic()
        self._on_report(report)
