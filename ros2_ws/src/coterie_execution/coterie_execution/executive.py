"""The executive of one robot: carries out sub-tasks by the trees, one skill after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from coterie_core.geometry import Pose, Vec3
from coterie_core.skills import Detect, LookAround, Skill, SkillResult
from coterie_core.tasks import SubTask
from coterie_execution.clearing import HandClearing
from coterie_execution.geometry.toolbox import Toolbox
from coterie_execution.options import LOOKED, Attempt, Option
from coterie_execution.own_tools import OwnTools
from coterie_execution.search_coverage import Looks
from coterie_execution.situation import Situation
from coterie_execution.standpoints import face_first
from coterie_execution.trees import trees
from coterie_execution.yield_behavior import YieldBehavior

TRIES = 12
"""How often anything may be tried for a sub-task."""


def patience_used(one: SubTask, attempts: Sequence[Attempt], rooms: int, tries: int) -> int:
    """Return how much of a robot's patience a sub-task has cost; a search takes many looks.

    Args:
        one: The sub-task.
        attempts: What was tried for it.
        rooms: Rooms of the house.
        tries: How often anything may be tried.
    """
    if one.kind != "search":
        return len(attempts)
    return sum(not a.ok for a in attempts) - (len(one.rooms) or rooms) * tries // 2


@dataclass(slots=True)
class Job:
    """A sub-task, what was tried for it, and where the robot stood then [m]."""

    sub_task: SubTask
    attempts: list[Attempt] = field(default_factory=list)
    stood: list[Vec3] = field(default_factory=list)


class Executive:
    """Tells step by step what a robot does for a sub-task; whoever drives it does the skills.

    Args:
        robot: Its name.
        own: Its tools.
        opens: Whether its searches open what is shut.
        patience: Choices that a hand waits for somebody to want what it holds after all.
        tries: How often anything may be tried for a sub-task.

    Attributes:
        pose: Where it stands; None: not known.
        holding: Id of what its hand holds ("": nothing).
        clearing: Puts down what nobody wants any more.
        looks: What its looks have left unseen.
        aside: Makes way for others, and asks for its own.
        trees: What it does next by rule, by kind of sub-task.
    """

    def __init__(
        self,
        robot: str,
        own: OwnTools,
        *,
        opens: bool = True,
        patience: int = 1,
        tries: int = TRIES,
    ) -> None:
        self.robot, self.own, self.map, self.tries = robot, own, own.map, tries
        self.trees = trees()
        self.pose: Pose | None = None
        self.holding = ""
        self.clearing = HandClearing(robot, own.map, patience)
        self.looks = Looks(robot, own.toolbox, opens)
        self.aside = YieldBehavior(robot, own.toolbox)
        self._job: Job | None = None

    @property
    def tools(self) -> Toolbox:
        """The tools for what the robot knows now."""
        return self.own.toolbox()

    @property
    def position(self) -> Vec3 | None:
        """Where it stands [m]; None: not known."""
        return self.pose.position if self.pose is not None else None

    @property
    def heading(self) -> float:
        """Where it faces [rad]."""
        return self.pose.yaw if self.pose is not None else 0.0

    def next_step(self, one: SubTask) -> Option:
        """Return what to do next for a sub-task, or how it ends.

        What was tried counts as long as the same sub-task (by its id) is in work; where it was
        tried from in vain counts when it is begun once more.
        """
        job = self._job
        if job is None or job.sub_task.id != one.id:
            self.learn(one)
            job = self._job = Job(one)
        now = self.situation(job)
        looked = now.last is not None and isinstance(now.last.skill, Detect)
        seen = looked and now.thing is not None and self.map.seen_where_put(now.thing.id)
        now = replace(now, seen_placed=seen)
        option = face_first(now, self.trees[one.kind].step(now))
        if option.effect != "act":
            self._job = Job(one, stood=job.stood) if option.effect == "give up" else None
        return option

    def ended(self, option: Option, result: SkillResult) -> None:
        """Take in how the skill of a step went."""
        if self._job is not None and option.skill is not None:
            self.looked(option.skill, result)
            outcome, reason, at = result.outcome, result.reason, result.bears_at
            attempt = Attempt(option.step, option.skill, outcome, reason, bears_at=at)
            self.tried(self._job, attempt)

    def learn(self, one: SubTask) -> None:
        """Take over what others have searched for a sub-task, and opened for it."""
        for name in self.looks.search(one):
            self.map.set_open(name, True)

    def looked(self, skill: Skill, result: SkillResult) -> None:
        """Take in that a skill was a look, if it was one that took place."""
        around = isinstance(skill, LookAround)
        if self.pose is not None and (around or isinstance(skill, Detect)):
            if result.ok or (not around and result.outcome in LOOKED):
                self.looks.add(self.pose.position, None if around else self.pose.yaw)

    def tried(self, job: Job, attempt: Attempt) -> None:
        """Take down how a skill for a job went."""
        job.attempts.append(attempt)
        if (attempt.looked or not attempt.ok) and self.pose is not None:
            job.stood.append(self.pose.position)

    def situation(self, job: Job, **more: Any) -> Situation:
        """Return what the next step of a job depends on; `more` is what else is known of it."""
        self.looks.count()
        one, known, held = job.sub_task, self.map, self.map.thing(self.holding)
        used = patience_used(one, job.attempts, len(known.scene.rooms), self.tries)
        return Situation(
            robot=self.robot,
            sub_task=one,
            estimate=self.own.estimate(one, self.position, self.holding),
            thing=known.resolve(one.object) if one.object is not None else None,
            receptacle=known.resolve(one.receptacle) if one.receptacle is not None else None,
            position=self.position,
            holding=self.holding,
            holding_label=held.label.top if held is not None else "",
            tools=self.tools,
            scene=known.scene,
            attempts=tuple(job.attempts),
            tries_left=self.tries - used,
            stood=tuple(job.stood),
            coverage=self.looks.coverage(one),
            heading=self.heading,
            **more,
        )

    def clear_hand(self) -> Option | None:
        """Return how to get rid of what nobody wants any more; None: there is no way, or it is."""
        if not self.holding or self.pose is None:
            return None
        return self.clearing.option(
            self.holding, self.pose.position, self.pose.yaw, self.own.toolbox
        )
