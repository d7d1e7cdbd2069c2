"""The leader's service `hand_over`: a person wishes that another robot does a sub-task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from coterie_core.tasks import SubTask, SubTaskState
from coterie_llm import inline_data
from emos_planner.leader.assigned import keep_hand_over
from emos_planner.leader.discussion import Talk
from emos_planner.leader.outcome import reasons
from emos_planner.leader.progress import Progress
from emos_planner.lookups import Lookups, opened_by

Ask = Callable[[Sequence[SubTask]], Awaitable[Talk]]
"""Puts sub-tasks before the robot that is to do them; returns what it said."""
SERVICE = "hand_over"
_LONGEST = 200
_MOST_NAMED = 12
_DONE, _FAILED = SubTaskState.DONE, SubTaskState.FAILED


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


async def hand_over(work: Progress, wish: Wish, lookups: Lookups, ask: Ask | None) -> HandedOver:
    """Have a robot do a sub-task, and all that the same robot must do, unless something is against.

    What is against it: the sub-task is done, its thing is in another hand, the robot is not there
    or stopped, its body cannot do it, or it refuses. What it failed at before it may try again.

    Args:
        work: The task; changed in place.
        wish: What a person wants.
        lookups: The tools; they know the team, and the robots that are there and not stopped.
        ask: Asks the robot; None: it is not asked.
    """
    graph = work.graph
    given = {"robot": wish.robot, "state": SubTaskState.PENDING, "reason": ""}
    plan = [one.model_copy(update=given) for one in graph.unit(wish.sub_task)]
    against = _against(work, wish, lookups) or _body_against(work, plan, wish.robot, lookups)
    if not against and ask is not None:
        talk = await ask(plan)
        said = next((reasons(by) for by in talk.verdicts.values() if by), "")
        # What robots reported meanwhile may be against it, too.
        against = f"it refused: {said}" if said else _against(work, wish, lookups)
    id_, robot = inline_data(wish.sub_task, limit=60), inline_data(wish.robot, limit=60)
    who = inline_data(wish.by, limit=_LONGEST) or "somebody"
    why = f": {inline_data(wish.reason, limit=_LONGEST)}" if wish.reason else ""
    if against:
        work.say(f"{who} wanted to hand {id_} over to {robot}{why}; refused: {against}")
        return HandedOver(f"{id_} is not handed over to {robot}: {against}")
    open_ = [one for one in graph.unit(wish.sub_task) if one.state is not _DONE]
    for one in open_:
        for known in (graph.against, graph.failures):
            known.get(one.id, {}).pop(wish.robot, None)
        graph.open_again(one.id, wish.robot)
    givers = ", ".join(dict.fromkeys(o.robot for o in open_ if o.robot not in ("", robot)))
    what = ", ".join(f"{o.id} ({inline_data(o.description or o.kind, limit=100)})" for o in open_)
    text = f"{who} handed {what} over to {robot}" + (f" from {givers}" if givers else "") + why
    work.notes.append(text)
    work.say(text)
    before = {one.id: one.robot for one in open_}
    keep_hand_over(work, before, f"{who} handed it over to {robot}{why}")
    return HandedOver(f"{robot} does {what} now", tuple(before))


def _against(work: Progress, wish: Wish, lookups: Lookups) -> str:
    """Return what is against a wish, without a look at bodies ("": nothing)."""
    graph, robot, unit = work.graph, wish.robot, work.graph.unit(wish.sub_task)
    mine = graph.sub_tasks.get(wish.sub_task)
    if mine is None:
        left = [one.id for one in work.sub_tasks if one.state is not _DONE]
        more = ", …" if len(left) > _MOST_NAMED else ""
        named = ", ".join(left[:_MOST_NAMED]) or "none"
        return f"the task has no such sub-task; those that are not done: {named}{more}"
    if mine.state is _DONE:
        return f"{mine.robot or 'the team'} has done it"
    if robot not in lookups.toolbox.resumes:
        team = ", ".join(sorted(lookups.toolbox.resumes))
        return f"no such robot takes part; those that do: {team}"
    if robot in work.heartbeats.held:
        return f"{robot} is stopped; ./coterie release {robot} lets it go on"
    if robot in work.heartbeats.dead:
        return f"{robot} is silent: nothing was heard of it for too long"
    if robot not in lookups.starts:
        return f"{robot} is not there: it is stopped, or was not heard lately"
    if mine.robot == robot and mine.state is not _FAILED and mine.id not in work.given_up:
        return f"{robot} does it already"
    ids = {one.id for one in unit}
    for one in unit:
        if one.robot != robot and (begun := _begun(work, one)):
            return begun
        if graph.only.get(one.id, robot) != robot:
            return f"the task asks {graph.only[one.id]} for it by name"
        lost = [i for i in one.depends_on if i in work.given_up and i not in ids]
        if lost:
            return f"it waits for {lost[0]}, which nobody does; hand that over first"
    return ""


def _begun(work: Progress, one: SubTask) -> str:
    """Return why a robot keeps what belongs to a sub-task that it has begun ("": it need not)."""
    holds = any(report.robot == one.robot for report in work.holding())
    if one.kind == "pick" and (one.state is _DONE or (one.state is SubTaskState.RUNNING and holds)):
        thing = inline_data(one.object.label, limit=60) if one.object else "the thing"
        return f"{one.robot} holds {thing} and keeps it until it has put it down"
    if one.state is _DONE:
        return f"{one.robot} has done {one.id}, and the same robot must do both"
    return ""


def _body_against(work: Progress, plan: Sequence[SubTask], robot: str, lookups: Lookups) -> str:
    """Return why a robot's body cannot do sub-tasks, as far as the tools know ("": it can)."""
    opened = opened_by(work.sub_tasks)
    for one in plan:
        if work.graph.sub_tasks[one.id].state is _DONE:
            continue
        found = lookups.estimates(one, (robot,), opened)[robot]
        if not found.feasible:
            what = inline_data(one.description or one.id, limit=100)
            why = found.reason or (found.obstacle.value if found.obstacle else "its body cannot")
            return f"{robot} cannot {what}: {inline_data(why, limit=300)}"
    return ""
