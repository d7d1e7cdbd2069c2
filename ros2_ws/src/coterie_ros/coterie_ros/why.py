"""Goals that nodes send to one another, kept as steps: why each was sent, how it ended."""

from __future__ import annotations

from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.node import Node

from coterie_core.skills import Outcome
from coterie_msgs.action import Manipulate, NavigateTo
from coterie_msgs.msg import SkillResult
from coterie_safety.why import note
from coterie_safety.why.journal import keeping

_STANDING_STILL = (Manipulate.Goal.DETECT, Manipulate.Goal.WAIT)
_STATUS = {
    GoalStatus.STATUS_SUCCEEDED: "SUCCEEDED",
    GoalStatus.STATUS_CANCELED: "CANCELLED",
    GoalStatus.STATUS_ABORTED: "ABORTED",
}


def note_sent(node: Node, action: str, goal: Any, goal_id: str) -> str:
    """Keep that a goal is sent; return its record's id, which is the goal's ("": nothing is kept).

    Args:
        node: Node that sends it.
        action: The action's name.
        goal: The goal message.
        goal_id: 32 hexadecimal digits.
    """
    if not keeping():
        return ""
    moves = isinstance(goal, NavigateTo.Goal)
    if isinstance(goal, Manipulate.Goal):
        moves = goal.skill not in _STANDING_STILL
    body = {"action": action, "why": str(getattr(goal, "why", "")), "physical": moves}
    return note("sent", name_of(node), body, id=goal_id)


def note_ended(node: Node, sent: str, status: int, result: Any, message: str = "") -> None:
    """Keep how a goal ended that was sent.

    Args:
        node: Node that sent it.
        sent: Id that `note_sent` returned.
        status: A number of `action_msgs.msg.GoalStatus`.
        result: The result message; None: there is none.
        message: Sentence that says why there is no result message.
    """
    if not sent:
        return
    outcome = _STATUS.get(status, "UNKNOWN")
    skill = getattr(result, "result", None)
    if isinstance(skill, SkillResult):
        known = {int(one): one.name for one in Outcome}
        outcome = known.get(skill.outcome, outcome)
        message = message or skill.reason
    message = message or str(getattr(result, "message", "") or getattr(result, "reason", ""))
    note("ended", name_of(node), {"outcome": outcome, "message": message}, because=sent)


def name_of(node: Node) -> str:
    """Return the name of the robot whose node it is, or the node's own."""
    robot = getattr(node, "robot", "")
    return robot.rpartition("/")[2] if isinstance(robot, str) and robot else node.get_name()
