"""A robot's share of a task: its own sub-tasks, how far each is, and which may begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coterie_core.skills import Place
from coterie_core.tasks import SubTask, SubTaskState
from coterie_execution.executive import Job
from coterie_world.team_map import TeamMap
from emos_planner.robot.choose import SkillChoice

_PENDING, _RUNNING = SubTaskState.PENDING, SubTaskState.RUNNING
_DONE, _FAILED = SubTaskState.DONE, SubTaskState.FAILED


@dataclass(slots=True)
class Work(Job):
    """A sub-task of the own share, and what was tried for it.

    `released`: the leader has said that it failed, so that it may come back as pending. `began` is
    the step of the last observation before it was begun. `meant` is what a model has chosen that
    the robot drives for.
    """

    released: bool = False
    began: int = -1
    meant: SkillChoice | None = None

    @property
    def placed(self) -> int:
        """Step of the last observation before the thing was put down, or the work was begun."""
        puts = [a.seen for a in self.attempts if isinstance(a.skill, Place) and a.ok]
        return max((self.began, *puts))


class Share:
    """The sub-tasks of one robot, among all of its team's task.

    Args:
        robot: Its name.
    """

    def __init__(self, robot: str) -> None:
        self.robot = robot
        self.all: tuple[SubTask, ...] = ()
        self.current = ""
        self._own: dict[str, Work] = {}

    def clear(self) -> None:
        """Begin another task."""
        self._own, self.current = {}, ""

    def get(self, id: str) -> Work | None:
        """Return an own sub-task, or None."""
        return self._own.get(id)

    @property
    def sub_tasks(self) -> tuple[SubTask, ...]:
        """The own sub-tasks as they are now."""
        return tuple(work.sub_task for work in self._own.values())

    @property
    def mates(self) -> tuple[str, ...]:
        """The other robots that have sub-tasks of the task."""
        return tuple(sorted({one.robot for one in self.all} - {"", self.robot}))

    @property
    def over(self) -> bool:
        """Whether all own sub-tasks are at an end."""
        return all(one.state in (_DONE, _FAILED) for one in self.sub_tasks)

    def take(self, sub_tasks: Sequence[SubTask]) -> None:
        """Take over who does what.

        A robot knows best how far its own are, but one that the leader calls done or failed is at
        its end. One that failed comes back as pending only after the leader has said so.
        """
        self.all = tuple(sub_tasks)
        given = {one.id: one for one in sub_tasks if one.robot == self.robot}
        for id_ in [i for i in self._own if i not in given]:
            del self._own[id_]
        for one in given.values():
            known = self._own.get(one.id)
            if known is None:
                # Running, and not by this agent: by one that died. It is begun anew.
                begun = {"state": _PENDING} if one.state is _RUNNING else {}
                self._own[one.id] = Work(one.model_copy(update=begun))
                continue
            state = known.sub_task.state
            if one.state is _FAILED:
                known.released = True
            if one.state in (_DONE, _FAILED) and state in (_PENDING, _RUNNING):
                state = one.state  # the leader needs it no longer: what was found, was found
            if one.state is _PENDING and state is _FAILED and known.released:
                self._own[one.id] = Work(one)
            else:
                update = {"state": state, "reason": known.sub_task.reason}
                known.sub_task = one.model_copy(update=update)
        if self.current not in self._own:
            self.current = ""

    def in_hand(self, known: TeamMap) -> str:
        """Return the id of what the own sub-tasks have left in the hand ("": nothing is known).

        It was picked up, and is not put down by now. Whether it still is in the hand shows when it
        is to be put down.
        """
        done = [one for one in self.all if one.state is _DONE]
        meant = {one.id: known.resolve(one.object) for one in done if one.object is not None}
        ids = {name: thing.id for name, thing in meant.items() if thing is not None}
        put = {ids[one.id] for one in done if one.kind == "place" and one.id in ids}
        picked = [
            ids[one.id]
            for one in done
            if one.kind == "pick" and one.robot == self.robot and one.id in ids
        ]
        return next((thing for thing in reversed(picked) if thing not in put), "")

    def in_work(self) -> Work | None:
        """Return the sub-task in work, as long as it may go on."""
        current = self._own.get(self.current)
        if current is None or current.sub_task.state is not _RUNNING:
            return None
        return current if self._may_begin(current.sub_task) else None

    def next_work(self, holding: str, known: TeamMap, step: int) -> Work | None:
        """Return the sub-task in work, else begin the best one that may begin; None: there is none.

        Args:
            holding: Id of what the hand holds ("": nothing).
            known: What the robot knows of the house.
            step: Of the last observation.
        """
        current = self.in_work()
        if current is not None:
            return current
        pending = (one for one in self._own.values() if one.sub_task.state is _PENDING)
        ready = [one for one in pending if self._may_begin(one.sub_task)]
        if not ready:
            return None
        # What the hand holds goes where it shall be, before anything else is begun.
        ready.sort(key=lambda work: not self.places(holding, work.sub_task, known))
        first = ready[0].sub_task
        if holding and first.kind == "pick":
            meant = known.resolve(first.object) if first.object is not None else None
            if meant is None or meant.id != holding:
                return None  # first that goes down
        self.begin(ready[0], step)
        return ready[0]

    def places(self, holding: str, one: SubTask, known: TeamMap) -> bool:
        """Whether a sub-task puts down what the hand holds (an id)."""
        if one.kind != "place" or not holding or one.object is None:
            return False
        meant, pick = known.resolve(one.object), self.get(one.same_robot_as)
        picked = pick is not None and pick.sub_task.state is _DONE
        return (meant is not None and meant.id == holding) or picked

    def begin(self, work: Work, step: int = -1) -> None:
        """Have a sub-task in work, as of an observation's step."""
        work.began = step
        work.sub_task = work.sub_task.model_copy(update={"state": _RUNNING})
        self.current = work.sub_task.id

    def _may_begin(self, one: SubTask) -> bool:
        states = {other.id: other.state for other in (*self.all, *self.sub_tasks)}
        return all(states.get(id_, _DONE) is _DONE for id_ in one.depends_on)


def open_places(sub_tasks: Iterable[SubTask]) -> list[SubTask]:
    """Return those that are still to put something down."""
    return [one for one in sub_tasks if one.kind == "place" and one.state in (_PENDING, _RUNNING)]
