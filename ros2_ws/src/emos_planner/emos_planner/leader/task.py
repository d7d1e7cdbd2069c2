"""The task that a leader has in work, and what the team agreed on about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from coterie_core.tasks import Predicate, SubTask, Verdict
from coterie_requests.request import Request
from emos_planner.allocation.problem import RULED_OUT
from emos_planner.leader.discussion import Pair
from emos_planner.leader.progress import Progress
from emos_planner.leader.transcript import Transcript
from emos_planner.leader.understand import Understanding


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a discussion came to.

    `sub_tasks` are all of the task with their robots ("" where nobody does it, `unassigned` says
    why not, robot by robot); `left_out` robots that did not answer; `notes` what a person should
    know; `problems` what robots did that they must not.
    """

    task: str
    words: str
    sub_tasks: tuple[SubTask, ...]
    rounds: int
    unassigned: Mapping[str, Mapping[str, Verdict]]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]
    problems: tuple[str, ...]
    transcript: Transcript
    decided_by: str = "rule"


@dataclass(slots=True)
class TaskInWork:
    """A task that a leader sees through.

    `words` are the person's, `request` is what was read of them; `goals` count instead where given.
    `forbidden` are pairs of sub-task and robot that must not come again; `refused` says what a
    robot had against a sub-task.
    """

    id: str
    words: str
    meant: Understanding
    progress: Progress
    transcript: Transcript
    round: int = 0
    forbidden: set[Pair] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    goals: tuple[Predicate, ...] | None = None
    refused: dict[Pair, str] = field(default_factory=dict)
    request: Request | None = None

    def named_others(self, robots: Iterable[str]) -> set[Pair]:
        """Return what must not be because the person named another robot for it."""
        return {
            (id, robot)
            for id, wanted in self.meant.graph.only.items()
            for robot in robots
            if robot != wanted
        }

    def true_reason(self, id: str, robot: str, verdict: Verdict) -> Verdict:
        """Return a verdict with the true reason where the solver was told not to ask a robot."""
        if verdict.reason != RULED_OUT:
            self.refused.setdefault((id, robot), verdict.reason)
            return verdict
        graph = self.meant.graph
        named = graph.only.get(id, "")
        first = graph.sub_tasks[id].same_robot_as or id if id in graph.sub_tasks else id
        pair = [o.id for o in graph.sub_tasks.values() if first in (o.id, o.same_robot_as)]
        failures = self.progress.failures
        reason = (
            graph.never.get((id, robot))
            or (f"{named} was asked for by name" if named and named != robot else "")
            or next((self.refused[i, robot] for i in pair if (i, robot) in self.refused), "")
            or next((by[robot] for i in pair if robot in (by := failures.get(i, {}))), "")
            or "the other part of it is not for this robot"
        )
        return verdict.model_copy(update={"reason": reason[:500]})
