"""Sub-tasks, assignments, proposals, reflections and robots' reports to messages and back.

What a message says in plain fields is for people and other tools; robots read its typed JSON, which
is checked against the core types and, where both say the same, against the plain fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from coterie_core.plain_data import schema_problems
from coterie_core.tasks import Proposal, Reflection, RobotReport, SubTask
from coterie_msgs.msg import Assignment, DiscussionTurn, RobotStatus
from coterie_msgs.msg import SubTask as SubTaskMsg
from coterie_ros.conversions.basics import header, point_to_msg
from coterie_ros.conversions.checks import Checks

LEADER = "leader"
"""Speaker of the leader's turns."""
MOST_SUB_TASKS = 500
_JSON = 400_000

P = TypeVar("P", bound=BaseModel)


def _parsed(kind: type[P], text: str, checks: Checks, field: str = "data") -> P:
    try:
        return kind.model_validate_json(checks.text(field, text, _JSON))
    except ValidationError as error:
        raise checks.fail(field, f"a {kind.__name__}", schema_problems(error)) from None


def sub_task_to_msg(sub_task: SubTask, task: str = "") -> SubTaskMsg:
    """Return a sub-task of the task with id `task`."""
    return SubTaskMsg(
        id=sub_task.id,
        task=task,
        robot=sub_task.robot,
        description=sub_task.description,
        depends_on=list(sub_task.depends_on),
        state=int(sub_task.state),
        reason=sub_task.reason,
        data=sub_task.model_dump_json(),
    )


def sub_task_from_msg(message: SubTaskMsg, checks: Checks | None = None) -> SubTask:
    """Return the sub-task of a message.

    Raises:
        ConversionError: Its JSON is no sub-task, or contradicts id, robot or state.
    """
    checks = checks or Checks("sub_task")
    sub_task = _parsed(SubTask, message.data, checks)
    for field in ("id", "robot", "state"):
        told, meant = getattr(message, field), getattr(sub_task, field)
        if told != meant:
            raise checks.fail(field, f"that of data ({meant!r})", told)
    return sub_task


def assignment_to_msg(
    task: str, round_: int, sub_tasks: Iterable[SubTask], *, time: float = 0.0
) -> Assignment:
    """Return who does what in the task with id `task`."""
    return Assignment(
        header=header(time, ""),
        task=task,
        round=round_,
        sub_tasks=[sub_task_to_msg(sub_task, task) for sub_task in sub_tasks],
    )


def assignment_from_msg(
    message: Assignment, topic: str = "assignment"
) -> tuple[str, int, tuple[SubTask, ...]]:
    """Return task id, round and sub-tasks of an assignment.

    Raises:
        ConversionError: A sub-task is wrong, an id comes twice, or a dependency is unknown.
    """
    checks = Checks(topic)
    listed = checks.items("sub_tasks", message.sub_tasks, MOST_SUB_TASKS)
    sub_tasks = tuple(
        sub_task_from_msg(one, checks.at(f"sub_tasks[{k}]")) for k, one in enumerate(listed)
    )
    known = {sub_task.id for sub_task in sub_tasks}
    if len(known) != len(sub_tasks):
        raise checks.fail("sub_tasks", "each id once", [s.id for s in sub_tasks])
    for sub_task in sub_tasks:
        unknown = set(sub_task.depends_on) - known
        if unknown:
            raise checks.fail(f"sub_tasks.{sub_task.id}.depends_on", "known ids", sorted(unknown))
    return checks.text("task", message.task), int(message.round), sub_tasks


def proposal_to_msg(
    proposal: Proposal, robots: Iterable[str], *, time: float = 0.0
) -> DiscussionTurn:
    """Return the leader's turn that puts an assignment before robots."""
    return DiscussionTurn(
        header=header(time, ""),
        topic=proposal.task,
        speaker=LEADER,
        recipients=list(robots),
        round=proposal.round,
        kind=DiscussionTurn.PROPOSE,
        text=proposal.words,
        data=proposal.model_dump_json(),
    )


def proposal_from_msg(message: DiscussionTurn, topic: str = "discussion") -> Proposal:
    """Return what the leader proposes.

    Raises:
        ConversionError: It is no proposal, or of another task or round than the message says.
    """
    checks = Checks(topic)
    proposal = _parsed(Proposal, message.data, checks)
    if (proposal.task, proposal.round) != (message.topic, message.round):
        raise checks.fail("data", f"task {message.topic!r}, round {message.round}", proposal.task)
    checks.items("data.sub_tasks", proposal.sub_tasks, MOST_SUB_TASKS)
    return proposal


def reflection_to_msg(
    reflection: Reflection, text: str = "", *, time: float = 0.0
) -> DiscussionTurn:
    """Return a robot's answer to a proposal; `text` says the same in words."""
    return DiscussionTurn(
        header=header(time, ""),
        topic=reflection.task,
        speaker=reflection.robot,
        recipients=[LEADER],
        round=reflection.round,
        kind=DiscussionTurn.ACCEPT if reflection.agrees else DiscussionTurn.REJECT,
        yes=reflection.agrees,
        text=text,
        data=reflection.model_dump_json(),
    )


def reflection_from_msg(message: DiscussionTurn, topic: str = "discussion") -> Reflection:
    """Return a robot's answer to a proposal.

    Raises:
        ConversionError: It is no reflection, or the message says otherwise than its JSON.
    """
    checks = Checks(topic)
    reflection = _parsed(Reflection, message.data, checks)
    said = (message.speaker, message.topic, message.round, message.kind == DiscussionTurn.ACCEPT)
    meant = (reflection.robot, reflection.task, reflection.round, reflection.agrees)
    if said != meant:
        raise checks.fail("data", f"speaker, topic, round, yes {said}", meant)
    checks.items("data.verdicts", reflection.verdicts, MOST_SUB_TASKS)
    return reflection


def report_to_msg(report: RobotReport) -> RobotStatus:
    """Return a robot's status."""
    return RobotStatus(
        header=header(report.time, "map"),
        robot=report.robot,
        task=report.task,
        waiting=report.waiting,
        position=point_to_msg(report.position or (0.0, 0.0, 0.0)),
        has_position=report.position is not None,
        room=report.room,
        holding=report.holding,
        skill=report.skill,
        help=report.help,
        sub_tasks=[sub_task_to_msg(one, report.task) for one in report.sub_tasks],
        data=report.model_dump_json(),
    )


def report_from_msg(message: RobotStatus, topic: str = "status") -> RobotReport:
    """Return a robot's report.

    Raises:
        ConversionError: It is no report, or of another robot or task than the message says.
    """
    checks = Checks(topic)
    report = _parsed(RobotReport, message.data, checks)
    if (report.robot, report.task) != (message.robot, message.task):
        raise checks.fail("data", f"robot {message.robot!r}, task {message.task!r}", report.robot)
    checks.items("data.sub_tasks", report.sub_tasks, MOST_SUB_TASKS)
    return report
