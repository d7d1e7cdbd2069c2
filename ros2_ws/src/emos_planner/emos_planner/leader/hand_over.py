"""A person's wish that another robot does a sub-task of the task in work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from coterie_core.tasks import SubTask, SubTaskState
from coterie_llm import inline_data
from emos_planner.leader.assigned import keep_hand_over
from emos_planner.leader.discussion import Talk, reasons
from emos_planner.leader.progress import Progress
from emos_planner.leader.reassign import opened_by
from emos_planner.leader.task import TaskInWork
from emos_planner.lookups import Lookups

Ask = Callable[[Sequence[SubTask]], Awaitable[Talk]]
"""Puts sub-tasks before the robot that is to do them; returns what it said."""
_LONGEST = 200
_MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class Wish:
    """That `robot` does `sub_task` (id); `by` says who wants it, `reason` why ("": not told)."""

    sub_task: str
    robot: str
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """What became of a wish, in words; `sub_tasks` are the ids that went over (none: refused)."""

    message: str
    sub_tasks: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        """Whether the robot does it now."""
        return bool(self.sub_tasks)


async def hand_over(
    work: TaskInWork,
    wish: Wish,
    there: Collection[str],
    team: Collection[str],
    lookups: Lookups,
    ask: Ask | None,
    now: float,
) -> HandedOver:
    """Have a robot do a sub-task, and all that the same robot must do, unless something is against.

    What is against it: the sub-task is done, its thing is in another hand, the robot is not there
    or stopped, its body cannot do it, or it refuses. What it failed at before it may try again.

    Args:
        work: The task; changed in place.
        wish: What a person wants.
        there: Robots that are there and not stopped.
        team: Robots that take part.
        lookups: The tools.
        ask: Asks the robot; None: it is not asked.
        now: Time for the transcript [s].
    """
    against = _against(work, wish, there, team)
    plan = [o.model_copy(update=_given_to(wish.robot)) for o in unit_of(work.progress, wish)]
    against = against or _body_against(work.progress, plan, wish.robot, lookups)
    if not against and ask is not None:
        talk = await ask(plan)
        said = [(wish.robot, v) for by in talk.verdicts.values() for v in by.values()]
        if said:
            against = f"it refused: {reasons(said)}"
        # What robots reported meanwhile may be against it.
        against = against or _against(work, wish, there, team)
    id_, robot = inline_data(wish.sub_task, limit=60), inline_data(wish.robot, limit=60)
    who = inline_data(wish.by, limit=_LONGEST) or "somebody"
    why = inline_data(wish.reason, limit=_LONGEST)
    why = f": {why}" if why else ""
    if against:
        text = f"{id_} is not handed over to {robot}: {against}"
        wanted = f"{who} wanted to hand {id_} over to {robot}{why}; refused: {against}"
        work.transcript.say("statement", "leader", wanted, round=work.round, time=now)
        return HandedOver(text)
    unit = unit_of(work.progress, wish)  # as it is now
    open_ = [one for one in unit if one.state is not SubTaskState.DONE]
    ids = tuple(one.id for one in open_)
    before = {one.id: one.robot for one in open_}
    work.forbidden -= {(id, wish.robot) for id in ids}
    for id in ids:
        work.refused.pop((id, wish.robot), None)
    work.progress.give(ids, wish.robot)
    givers = ", ".join(dict.fromkeys(r for r in before.values() if r not in ("", robot)))
    what = ", ".join(f"{o.id} ({inline_data(o.description or o.kind, limit=100)})" for o in open_)
    text = f"{who} handed {what} over to {robot}" + (f" from {givers}" if givers else "") + why
    work.notes.append(text)
    work.transcript.say("statement", "leader", text, round=work.round, time=now)
    keep_hand_over(work, before, f"{who} handed it over to {robot}{why}")
    return HandedOver(f"{robot} does {what} now", ids)


def unit_of(progress: Progress, wish: Wish) -> list[SubTask]:
    """Return the sub-task and all that the same robot must do, in the task's order."""
    tasks = [one for one in progress.sub_tasks if one.id not in progress.dropped]
    ids = {one.id for one in tasks if one.id == wish.sub_task}
    grown = True
    while grown:
        pairs = [(o.id, o.same_robot_as) for o in tasks if o.same_robot_as]
        more = {id for pair in pairs if ids & set(pair) for id in pair} - ids
        ids |= more
        grown = bool(more)
    return [one for one in tasks if one.id in ids]


def _given_to(robot: str) -> dict[str, object]:
    return {"robot": robot, "state": SubTaskState.PENDING, "reason": ""}


def _against(work: TaskInWork, wish: Wish, there: Collection[str], team: Collection[str]) -> str:
    """Return what is against a wish, without a look at bodies ("": nothing)."""
    progress, robot = work.progress, wish.robot
    unit = unit_of(progress, wish)
    mine = next((one for one in unit if one.id == wish.sub_task), None)
    if mine is None:
        return _unknown(progress)
    if mine.state is SubTaskState.DONE:
        return f"{mine.robot or 'the team'} has done it"
    if against := _not_there(progress, robot, there, team):
        return against
    open_ = mine.state is not SubTaskState.FAILED and mine.id not in progress.given_up
    if mine.robot == robot and open_:
        return f"{robot} does it already"
    for one in unit:
        if one.robot != robot and (against := _begun(progress, one)):
            return against
    graph = work.meant.graph
    for one in unit:
        named = graph.only.get(one.id, robot)
        if named != robot:
            return f"the task asks {named} for it by name"
        if reason := graph.never.get((one.id, robot)):
            return reason
        lost = [i for i in one.depends_on if i in progress.given_up and not _in(unit, i)]
        if lost:
            return f"it waits for {lost[0]}, which nobody does; hand that over first"
    return ""


def _unknown(progress: Progress) -> str:
    left = [
        one.id
        for one in progress.sub_tasks
        if one.state is not SubTaskState.DONE and one.id not in progress.dropped
    ]
    more = ", …" if len(left) > _MOST_NAMED else ""
    named = ", ".join(left[:_MOST_NAMED]) or "none"
    return f"the task has no such sub-task; those that are not done: {named}{more}"


def _in(unit: Sequence[SubTask], id: str) -> bool:
    return any(one.id == id for one in unit)


def _not_there(
    progress: Progress, robot: str, there: Collection[str], team: Collection[str]
) -> str:
    if robot not in team:
        return f"no such robot takes part; those that do: {', '.join(sorted(team))}"
    if robot in progress.heartbeats.held:
        return f"{robot} is stopped; ./coterie release {robot} lets it go on"
    if robot in progress.heartbeats.dead:
        return f"{robot} is silent: nothing was heard of it for too long"
    if robot not in there:
        return f"{robot} is not there: it is stopped, or was not heard lately"
    return ""


def _begun(progress: Progress, one: SubTask) -> str:
    """Return why a robot keeps what belongs to a sub-task that it has begun ("": it need not)."""
    report = progress.reports.get(one.robot)
    held = report is not None and report.task == progress.task and bool(report.holding)
    if one.kind == "pick" and (
        one.state is SubTaskState.DONE or (one.state is SubTaskState.RUNNING and held)
    ):
        thing = inline_data(one.object.label, limit=60) if one.object else "the thing"
        return f"{one.robot} holds {thing} and keeps it until it has put it down"
    if one.state is SubTaskState.DONE:
        return f"{one.robot} has done {one.id}, and the same robot must do both"
    return ""


def _body_against(progress: Progress, plan: Sequence[SubTask], robot: str, lookups: Lookups) -> str:
    """Return why a robot's body cannot do sub-tasks, as far as the tools know ("": it can)."""
    done: Mapping[str, SubTaskState] = {one.id: one.state for one in progress.sub_tasks}
    opened = opened_by(progress.sub_tasks)
    for one in plan:
        if done.get(one.id) is SubTaskState.DONE:
            continue
        found = lookups.estimates(one, (robot,), opened)[robot]
        if not found.feasible:
            what = inline_data(one.description or one.id, limit=100)
            why = found.reason or (found.obstacle.value if found.obstacle else "its body cannot")
            return f"{robot} cannot {what}: {inline_data(why, limit=300)}"
    return ""
