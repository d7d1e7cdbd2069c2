"""Who got which sub-task, and why nobody else did: what is kept of an assignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coterie_core.geometry import Vec3
from coterie_core.tasks import SubTask, SubTaskState
from coterie_execution.geometry.results import Estimate
from coterie_execution.geometry.toolbox import Toolbox
from coterie_safety.why import note
from emos_planner.leader.discussion import Talk
from emos_planner.leader.progress import Progress

_MOST_ESTIMATES = 320
"""Of larger assignments only what was said is kept: so many estimates are made for it at most."""
_DONE = SubTaskState.DONE


def keep_assignment(
    work: Progress,
    talk: Talk,
    agreed: Sequence[SubTask],
    starts: Mapping[str, Vec3 | None],
    toolbox: Toolbox,
    decided_by: str,
) -> None:
    """Keep what a discussion came to, with each robot's reason where it did not get a sub-task.

    Args:
        work: The task.
        talk: What was said.
        agreed: The sub-tasks that were given out now; `robot` is "" where nobody does one.
        starts: The robots that were there -> where they were [m].
        toolbox: Tells what each robot of the team could have done.
        decided_by: Whose plan the first proposal was.
    """
    small = len(agreed) * len(starts) <= _MOST_ESTIMATES
    team = dict.fromkeys((*starts, *toolbox.resumes))
    never = work.graph.forbidden(team)
    why_not: dict[str, dict[str, str]] = {}
    for one in agreed[:200]:
        against = {}
        for robot in team:
            if robot != one.robot:
                reason = _reason(one, robot, work, talk) or never.get((one.id, robot), "")
                if not reason and robot not in starts:
                    reason = "it was not there, or a person had stopped it"
                if not reason and small:
                    reason = _estimated(one, robot, starts, toolbox)
                if reason:
                    against[robot] = reason
        if against:
            why_not[one.id] = against
    note("assignment", "leader", _body(work, agreed, decided_by, why_not))


def keep_hand_over(work: Progress, before: Mapping[str, str], why: str) -> None:
    """Keep that a person gave sub-tasks to another robot.

    Args:
        work: The task as it is since.
        before: Sub-task -> whose it was ("": nobody's).
        why: Who wanted it, and why.
    """
    given = {one.id: one.robot for one in work.sub_tasks}
    why_not = {id: {was: why} for id, was in before.items() if was not in ("", given[id])}
    note("assignment", "leader", _body(work, (), "person", why_not))


def _body(
    work: Progress,
    agreed: Sequence[SubTask],
    decided_by: str,
    why_not: Mapping[str, Mapping[str, str]],
) -> dict[str, object]:
    given = {one.id: one for one in (*work.sub_tasks, *agreed)}
    return {
        "round": work.round,
        "plan_by": decided_by,
        "sub_tasks": [
            {
                "id": one.id,
                "what": one.description or one.kind,
                "robot": one.robot,
                "after": one.depends_on,
            }
            for one in given.values()
            if one.state is not _DONE or one.id in why_not
        ],
        "why_not": why_not,
        "notes": list(dict.fromkeys(work.notes))[-20:],
    }


def _reason(one: SubTask, robot: str, work: Progress, talk: Talk) -> str:
    """Return what was said of why a robot does not do a sub-task; "": nothing."""
    verdict = talk.verdicts.get(one.id, {}).get(robot)
    if verdict is not None and not verdict.feasible:
        return verdict.reason or "it refused"
    if robot in talk.left_out:
        return talk.left_out[robot]
    failed = work.graph.failures.get(one.id, {}).get(robot)
    return f"it failed: {failed}" if failed else ""


def _estimated(
    one: SubTask, robot: str, starts: Mapping[str, Vec3 | None], toolbox: Toolbox
) -> str:
    """Return what the tools say of a robot that was not asked, beside the one that got it."""
    # What follows on another sub-task begins where that ends: the way there is not known.
    follows = bool(one.same_robot_as or one.depends_on)

    def estimate(name: str) -> Estimate:
        start = toolbox.start_of(name, starts.get(name))
        if follows:
            return toolbox.estimate_work(name, one, start)
        return toolbox.estimate(name, one, start)

    mine = estimate(robot)
    if not mine.feasible:
        return mine.reason or (mine.obstacle.value if mine.obstacle else "it cannot")
    if not one.robot:
        return "it could, but not what belongs to it"
    other = estimate(one.robot)
    apart = "" if follows else f" (about {mine.time:.0f} s; {one.robot}: {other.time:.0f} s)"
    return f"it could do it, too{apart}; what counts is when the whole plan ends"
