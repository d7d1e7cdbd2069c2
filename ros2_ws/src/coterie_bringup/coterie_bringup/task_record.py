"""What is kept of a task: who did what, what was said, where robots and things went."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from coterie_core.geometry import Vec3
from coterie_core.tasks import RobotReport, SubTask
from coterie_requests.ask_back import Judgement
from coterie_world.scene import SceneGraph
from emos_planner.leader.transcript import Transcript

MOST_POINTS = 20_000
"""Points of one robot's way that are kept."""
_STEP = 0.1


@dataclass(slots=True)
class Move:
    """A thing that was brought somewhere: from where to where [m, map frame]."""

    thing: str
    label: str
    robot: str
    begin: Vec3 | None = None
    end: Vec3 | None = None
    target: str = ""


@dataclass(slots=True)
class TaskRecord:
    """One task from its words to its end."""

    words: str
    meant: str = ""
    """The words as the team took them, after it asked back."""
    team: str = ""
    success: bool = False
    outcome: str = "not_done"
    achieved: int = 0
    wanted: int = 0
    not_searched: tuple[str, ...] = ()
    message: str = ""
    interrupted: str = ""
    """What became of the task when the person ended the command; "": it ended by itself."""
    judgement: Judgement | None = None
    task: str = ""
    rounds: int = 0
    replans: int = 0
    seconds: float = 0.0
    simulated: float = 0.0
    """Simulated time that it took [s]; 0 where the team takes this computer's time."""
    sub_tasks: tuple[SubTask, ...] = ()
    ways: dict[str, list[Vec3]] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    reports: dict[str, RobotReport] = field(default_factory=dict)
    transcript: Transcript | None = None
    scene: SceneGraph | None = None
    first_time: float | None = None
    """Simulated time at its begin [s]; None: nobody tells simulated time."""

    def take(self, report: RobotReport) -> None:
        """Take in how a robot is."""
        self.reports[report.robot] = report
        if report.position is None:
            return
        way = self.ways.setdefault(report.robot, [])
        apart = (
            not way
            or max(abs(a - b) for a, b in zip(way[-1], report.position, strict=True)) >= _STEP
        )
        if apart and len(way) < MOST_POINTS:
            way.append(report.position)

    def passed(self, time: float) -> None:
        """Take in the team's simulated time [s], while the task goes on.

        Stamps of reports do not tell it: they are as old as what the robot perceived last.
        """
        if self.first_time is None:
            self.first_time = time
        self.simulated = max(self.simulated, time - self.first_time)

    def moves(self) -> list[Move]:
        """Return what was brought where, as far as it was done."""
        moved = []
        for one in self.sub_tasks:
            if one.kind == "place" and one.state == 2 and one.object and one.receptacle:
                moved.append(
                    Move(
                        one.object.id or one.object.label,
                        one.object.label,
                        one.robot,
                        one.object.position,
                        one.receptacle.position,
                        one.receptacle.id or one.receptacle.label,
                    )
                )
        return moved

    @property
    def took(self) -> str:
        """How long it took, in words."""
        if self.first_time is None:
            return f"{self.seconds:.0f} s"
        return f"{self.seconds:.0f} s, {self.simulated:.0f} s simulated"

    def as_data(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "task": self.words,
            "meant": self.meant,
            "id": self.task,
            "team": self.team,
            "success": self.success,
            "outcome": self.outcome,
            "achieved": self.achieved,
            "wanted": self.wanted,
            "not_searched": list(self.not_searched),
            "message": self.message,
            "judgement": None if self.judgement is None else self.judgement.data,
            "rounds": self.rounds,
            "replans": self.replans,
            "seconds": round(self.seconds, 2),
            "simulated_seconds": round(self.simulated, 2),
            "sub_tasks": [one.model_dump(mode="json") for one in self.sub_tasks],
            "moves": [asdict(move) for move in self.moves()],
            "ways": {robot: [list(p) for p in way] for robot, way in self.ways.items()},
            "events": self.events,
        }
