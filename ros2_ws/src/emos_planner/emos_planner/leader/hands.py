"""What robots of a task hold, for the leader: hands are emptied before others do their work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coterie_core.tasks import RobotReport, SubTask
from emos_planner.leader.heartbeats import Heartbeats
from emos_planner.leader.outcome import told_of_hands

EMPTY_HANDS = 60.0
"""How long robots may take to put down what is left in their hands [s]."""


@dataclass(slots=True)
class Hands:
    """The hands of a task's robots; those of the dead do not count.

    Args:
        task: Its id.
        reports: The robots' last ones.
        heartbeats: Who is dead, and the time.
    """

    task: str
    reports: Mapping[str, RobotReport]
    heartbeats: Heartbeats
    _since: dict[tuple[str, str], float] = field(default_factory=dict)

    def full(self) -> list[RobotReport]:
        """Return the reports of robots that hold something."""
        return [
            report
            for robot, report in self.reports.items()
            if report.holding and report.task == self.task and robot not in self.heartbeats.dead
        ]

    def told(self) -> list[str]:
        """Return what a person should know of what is, or may be, in hands."""
        mine = [report for report in self.reports.values() if report.task == self.task]
        return told_of_hands(mine, self.full())

    def put_down(self, place: SubTask) -> None:
        """Take down that a robot is to put down beside it what it could not place."""
        self._since.setdefault((place.id, place.robot), self.heartbeats.now)

    def were_to(self, place: SubTask) -> bool:
        """Tell whether `put_down` has said so."""
        return (place.id, place.robot) in self._since

    def are_at_it(self, place: SubTask) -> bool:
        """Tell whether it holds the thing still: where that will lie nobody knows yet."""
        since = self._since.get((place.id, place.robot))
        if since is None or self.heartbeats.now - since > EMPTY_HANDS:
            return False
        return any(report.robot == place.robot for report in self.full())
