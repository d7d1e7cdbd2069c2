"""The executive of one robot: carries out sub-tasks by the trees, one skill after the other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from coterie_core.geometry import Pose, Vec3
from coterie_core.skills import Detect, SkillResult
from coterie_core.tasks import SubTask
from coterie_execution.clearing import HandClearing
from coterie_execution.geometry.toolbox import Toolbox
from coterie_execution.options import Attempt, Option
from coterie_execution.own_tools import OwnTools
from coterie_execution.situation import Situation
from coterie_execution.trees import trees

TRIES = 12
"""How often anything may be tried for a sub-task."""


@dataclass(slots=True)
class _Job:
    """A sub-task, what was tried for it, and where the robot stood then [m]."""

    sub_task: SubTask
    attempts: list[Attempt] = field(default_factory=list)
    stood: list[Vec3] = field(default_factory=list)


class Executive:
    """Tells step by step what a robot does for a sub-task; whoever drives it does the skills.

    Args:
        robot: Its name.
        own: Its tools.

    Attributes:
        pose: Where it stands.
        holding: Id of what its hand holds ("": nothing).
        clearing: Puts down what nobody wants any more.
    """

    def __init__(self, robot: str, own: OwnTools) -> None:
        self.robot, self.own, self.map = robot, own, own.map
        self.trees = trees()
        self.pose = Pose((0.0, 0.0, 0.0))
        self.holding = ""
        self.clearing = HandClearing(robot, own.map, patience=1)
        self._job: _Job | None = None

    @property
    def tools(self) -> Toolbox:
        """The tools for what the robot knows now."""
        return self.own.toolbox()

    def next_step(self, one: SubTask) -> Option:
        """Return what to do next for a sub-task, or how it ends.

        What was tried counts as long as the same sub-task (by its id) is in work; where it was
        tried from in vain counts when it is begun once more.
        """
        job = self._job
        if job is None or job.sub_task.id != one.id:
            job = self._job = _Job(one)
        option = self.trees[one.kind].step(self._situation(job))
        if option.effect != "act":
            self._job = _Job(one, stood=job.stood) if option.effect == "give up" else None
        return option

    def ended(self, option: Option, result: SkillResult) -> None:
        """Take in how the skill of a step went."""
        job, skill = self._job, option.skill
        if job is None or skill is None:
            return
        outcome, reason = result.outcome, result.reason
        job.attempts.append(Attempt(option.step, skill, outcome, reason, bears_at=result.bears_at))
        if not result.ok or isinstance(skill, Detect):
            job.stood.append(self.pose.position)

    def _situation(self, job: _Job) -> Situation:
        last = job.attempts[-1] if job.attempts else None
        looked = last is not None and isinstance(last.skill, Detect)
        now = self.own.situation(
            job.sub_task,
            self.pose.position,
            self.holding,
            attempts=tuple(job.attempts),
            tries_left=TRIES - len(job.attempts),
            stood=tuple(job.stood),
            heading=self.pose.yaw,
        )
        seen = looked and now.thing is not None and self.map.seen_where_put(now.thing.id)
        return replace(now, seen_placed=seen)
