"""How far a robot is with a goal, as feedback and result of the action `cooperate`."""

from __future__ import annotations

from coterie_msgs.action import Cooperate
from coterie_ros import conversions
from coterie_safety import why
from reveca_agent.working import Work


def feedback_of(work: Work) -> Cooperate.Feedback:
    """Return how far the work on a goal is."""
    placed, wanted = _progress(work)
    plan = work.agent.plan
    return Cooperate.Feedback(
        steps=work.decisions,
        placed=placed,
        wanted=wanted,
        plan=plan.text() if plan is not None else "",
        room=work.body.spot.room,
    )


def keep_result(work: Work | None, success: bool, message: str) -> Cooperate.Result:
    """Keep and return how the work on a goal ended; without work: it did not begin."""
    result = Cooperate.Result(success=success, message=message)
    if work is not None:
        result.placed, result.wanted = _progress(work)
        result.steps, result.distance = work.decisions, work.distance
        result.messages, result.characters = work.notes, work.characters
        result.duration = conversions.duration_to_msg(max(work.body.since_begin, 0.0))
        there = f"{result.placed} of {result.wanted} where they belong, as far as it knows"
        body = {"outcome": "DONE" if success else "NOT_DONE", "message": f"{message}; {there}"}
        why.note("outcome", work.body.name, body)
    return result


def _progress(work: Work) -> tuple[int, int]:
    memory = work.agent.memory
    lacking = sum(memory.needs().values())
    return memory.goal.total - lacking, memory.goal.total
