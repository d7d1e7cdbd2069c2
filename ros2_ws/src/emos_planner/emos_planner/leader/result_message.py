"""The result of a task as the leader's action tells it."""

from __future__ import annotations

from coterie_msgs.action import ExecuteTask
from coterie_requests.ask_back import Judgement
from coterie_ros.conversions.judgement import judgement_to_msg
from coterie_ros.conversions.tasks import assignment_to_msg
from coterie_world.team_memory import TeamMemory
from emos_planner.leader.leader import Leader
from emos_planner.leader.outcome import Outcome, TaskState

_OUTCOMES = {
    TaskState.DONE: ExecuteTask.Result.DONE,
    TaskState.PARTIAL: ExecuteTask.Result.PARTIAL,
    TaskState.NOT_DONE: ExecuteTask.Result.NOT_DONE,
    TaskState.CANCELLED: ExecuteTask.Result.CANCELLED,
}


def result_msg(
    outcome: Outcome,
    leader: Leader | None,
    memory: TeamMemory,
    judgement: Judgement | None,
    *,
    missing: str = "",
    time: float = 0.0,
) -> ExecuteTask.Result:
    """Return how a task ended, as a message.

    Args:
        outcome: How it ended.
        leader: Who led it; None, or without a task: it was not begun.
        memory: What the team remembers.
        judgement: Whether the task was clear; None: nobody judged.
        missing: Which robots were left out, and why.
        time: Now [s].
    """
    result = ExecuteTask.Result(
        outcome=_OUTCOMES[outcome.state],
        success=outcome.success,
        message=outcome.message[:4000],
        achieved=outcome.achieved,
        wanted=outcome.wanted,
        not_searched=list(outcome.not_searched),
        judgement=judgement_to_msg(judgement),
    )
    if leader is None or not leader.task:
        return result
    notes = "; ".join(part for part in (*leader.notes, *_moved(leader, memory), missing) if part)
    if notes:
        result.message = f"{outcome.message} ({notes})"[:4000]
    result.assignment = assignment_to_msg(leader.task, leader.round, leader.assignment, time=time)
    return result


def _moved(leader: Leader, memory: TeamMemory) -> list[str]:
    """Return who brought away what was asked for and is not there."""
    told = []
    for want in leader.progress.meant.wants:
        if want.kind == "check" and want.label and not (want.given or want.met):
            traces = [memory.left(want.label, room) for room in want.rooms]
            told += [memory.words(t) for t in traces if t is not None and not t.gone]
    return told[:3]
