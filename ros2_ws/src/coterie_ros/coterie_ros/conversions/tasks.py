"""Sub-tasks, assignments, proposals, reflections and robots' reports to messages and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import ValidationError

from coterie_core.plain_data import schema_problems
from coterie_core.tasks import (
    Obstacle,
    Proposal,
    Reflection,
    RobotReport,
    SubTask,
    SubTaskKind,
    SubTaskState,
    Thing,
    Verdict,
)
from coterie_msgs.msg import Assignment, DiscussionTurn, RobotStatus, SearchedRegions, TaskThing
from coterie_msgs.msg import SubTask as SubTaskMsg
from coterie_msgs.msg import Verdict as VerdictMsg
from coterie_ros.conversions.basics import (
    duration_from_msg,
    duration_to_msg,
    header,
    point_from_msg,
    point_to_msg,
    stamp_from_msg,
)
from coterie_ros.conversions.checks import SENTENCE, Checks
from coterie_ros.conversions.frames import MAP
from coterie_ros.conversions.notes import names_from_msg

LEADER = "leader"
"""Speaker of the leader's turns."""
MOST_SUB_TASKS = 500
_MOST_THINGS = 5000
_MOST_REGIONS = 20_000

_KINDS: dict[int, SubTaskKind] = {
    SubTaskMsg.GO_TO: "go_to",
    SubTaskMsg.SEARCH: "search",
    SubTaskMsg.DETECT: "detect",
    SubTaskMsg.PICK: "pick",
    SubTaskMsg.PLACE: "place",
    SubTaskMsg.OPEN: "open",
    SubTaskMsg.CLOSE: "close",
    SubTaskMsg.USE: "use",
}
_KIND_NUMBERS = {kind: number for number, kind in _KINDS.items()}
_STATES = {state.value: state for state in SubTaskState}
_OBSTACLES: dict[int, Obstacle | None] = {
    VerdictMsg.NO_OBSTACLE: None,
    **{getattr(VerdictMsg, one.name): one for one in Obstacle},
}
_OBSTACLE_NUMBERS = {one: number for number, one in _OBSTACLES.items()}
_SOURCES: dict[int, Literal["tool", "model", "rule"]] = {
    VerdictMsg.BY_TOOL: "tool",
    VerdictMsg.BY_MODEL: "model",
    VerdictMsg.BY_RULE: "rule",
}
_SOURCE_NUMBERS = {source: number for number, source in _SOURCES.items()}


def _thing_to_msg(thing: Thing | None) -> TaskThing:
    if thing is None:
        return TaskThing()
    return TaskThing(
        label=thing.label,
        id=thing.id,
        has_position=thing.position is not None,
        position=point_to_msg(thing.position or (0.0, 0.0, 0.0)),
        room=thing.room,
        sightings=thing.sightings,
    )


def _thing_from_msg(message: TaskThing, checks: Checks) -> Thing:
    return Thing(
        label=checks.text("label", message.label),
        id=checks.text("id", message.id),
        position=point_from_msg(message.position, checks) if message.has_position else None,
        room=checks.text("room", message.room),
        sightings=int(message.sightings),
    )


def _looked_to_msg(looked: Mapping[str, Mapping[str, float]]) -> list[SearchedRegions]:
    return [
        SearchedRegions(
            name=name, regions=list(left), miss_chances=[float(p) for p in left.values()]
        )
        for name, left in looked.items()
    ]


def _looked_from_msg(
    messages: Sequence[SearchedRegions], checks: Checks
) -> dict[str, dict[str, float]]:
    looked: dict[str, dict[str, float]] = {}
    for k, one in enumerate(checks.items("looked", messages)):
        inner = checks.at(f"looked[{k}]")
        regions = inner.items("regions", one.regions, _MOST_REGIONS)
        if len(regions) != len(one.miss_chances):
            raise inner.fail("miss_chances", "one per region", f"{len(one.miss_chances)}")
        looked[inner.text("name", one.name)] = {
            inner.text("regions", region): inner.share("miss_chances", chance)
            for region, chance in zip(regions, one.miss_chances, strict=True)
        }
    return looked


_SIDES = (None, False, True)
"""`SubTask.inside` by the enumerator of the message's `side`."""


def sub_task_to_msg(sub_task: SubTask, task: str = "") -> SubTaskMsg:
    """Return a sub-task of the task with id `task`."""
    return SubTaskMsg(
        id=sub_task.id,
        task=task,
        robot=sub_task.robot,
        description=sub_task.description,
        kind=_KIND_NUMBERS[sub_task.kind],
        skill=sub_task.skill,
        has_object=sub_task.object is not None,
        object=_thing_to_msg(sub_task.object),
        has_receptacle=sub_task.receptacle is not None,
        receptacle=_thing_to_msg(sub_task.receptacle),
        side=_SIDES.index(sub_task.inside),
        rooms=list(sub_task.rooms),
        depends_on=list(sub_task.depends_on),
        same_robot_as=sub_task.same_robot_as,
        state=int(sub_task.state),
        reason=sub_task.reason,
        enough=float(sub_task.enough),
        looked=_looked_to_msg(sub_task.looked),
        seen=sub_task.seen,
    )


def sub_task_from_msg(message: SubTaskMsg, checks: Checks | None = None) -> SubTask:
    """Return the sub-task of a message.

    Raises:
        ConversionError: An unknown enumerator, a text that is too long, a number out of range, or a
            sub-task that lacks what its kind needs.
    """
    checks = checks or Checks("sub_task")
    has = {"object": message.has_object, "receptacle": message.has_receptacle}
    things = {
        name: _thing_from_msg(getattr(message, name), checks.at(name)) if there else None
        for name, there in has.items()
    }
    try:
        return SubTask(
            id=checks.text("id", message.id, empty=False),
            kind=checks.choice("kind", message.kind, _KINDS),
            skill=checks.text("skill", message.skill),
            object=things["object"],
            receptacle=things["receptacle"],
            inside=checks.choice("side", message.side, dict(enumerate(_SIDES))),
            rooms=names_from_msg(checks, "rooms", message.rooms, _MOST_THINGS),
            robot=checks.text("robot", message.robot),
            depends_on=names_from_msg(checks, "depends_on", message.depends_on, MOST_SUB_TASKS),
            same_robot_as=checks.text("same_robot_as", message.same_robot_as),
            description=checks.text("description", message.description, SENTENCE),
            state=checks.choice("state", message.state, _STATES),
            reason=checks.text("reason", message.reason, SENTENCE),
            enough=checks.number("enough", message.enough, 0.0),
            looked=_looked_from_msg(message.looked, checks),
            seen=bool(message.seen),
        )
    except ValidationError as error:
        raise checks.fail("kind", "a whole sub-task", schema_problems(error)) from None


def _sub_tasks_from_msg(messages: Sequence[SubTaskMsg], checks: Checks) -> tuple[SubTask, ...]:
    return tuple(
        sub_task_from_msg(one, checks.at(f"sub_tasks[{k}]"))
        for k, one in enumerate(checks.items("sub_tasks", messages, MOST_SUB_TASKS))
    )


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
    sub_tasks = _sub_tasks_from_msg(message.sub_tasks, checks)
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
        sub_tasks=[sub_task_to_msg(one, proposal.task) for one in proposal.sub_tasks],
        sole=list(proposal.sole),
    )


def proposal_from_msg(message: DiscussionTurn, topic: str = "discussion") -> Proposal:
    """Return what the leader proposes.

    Raises:
        ConversionError: A text that is too long, a wrong sub-task, or an id in `sole` of none.
    """
    checks = Checks(topic)
    sub_tasks = _sub_tasks_from_msg(message.sub_tasks, checks)
    sole = names_from_msg(checks, "sole", message.sole, MOST_SUB_TASKS)
    unknown = set(sole) - {one.id for one in sub_tasks}
    if unknown:
        raise checks.fail("sole", "ids of sub_tasks", sorted(unknown))
    return Proposal(
        task=checks.text("topic", message.topic),
        words=checks.text("text", message.text, SENTENCE),
        round=int(message.round),
        sub_tasks=sub_tasks,
        sole=sole,
    )


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
        verdicts=[_verdict_to_msg(one) for one in reflection.verdicts],
        without_model=reflection.without_model,
    )


def reflection_from_msg(message: DiscussionTurn, topic: str = "discussion") -> Reflection:
    """Return a robot's answer to a proposal.

    Raises:
        ConversionError: Neither ACCEPT nor REJECT, or a verdict that is wrong.
    """
    checks = Checks(topic)
    agrees = {DiscussionTurn.ACCEPT: True, DiscussionTurn.REJECT: False}
    verdicts = checks.items("verdicts", message.verdicts, MOST_SUB_TASKS)
    return Reflection(
        task=checks.text("topic", message.topic),
        round=int(message.round),
        robot=checks.text("speaker", message.speaker, empty=False),
        agrees=checks.choice("kind", message.kind, agrees),
        verdicts=tuple(
            _verdict_from_msg(one, checks.at(f"verdicts[{k}]")) for k, one in enumerate(verdicts)
        ),
        without_model=checks.text("without_model", message.without_model, 300),
    )


def _verdict_to_msg(verdict: Verdict) -> VerdictMsg:
    return VerdictMsg(
        sub_task=verdict.sub_task,
        feasible=verdict.feasible,
        obstacle=_OBSTACLE_NUMBERS[verdict.obstacle],
        reason=verdict.reason,
        time=duration_to_msg(verdict.time),
        source=_SOURCE_NUMBERS[verdict.source],
        disagreement=verdict.disagreement,
    )


def _verdict_from_msg(message: VerdictMsg, checks: Checks) -> Verdict:
    return Verdict(
        sub_task=checks.text("sub_task", message.sub_task),
        feasible=bool(message.feasible),
        obstacle=checks.choice("obstacle", message.obstacle, _OBSTACLES),
        reason=checks.text("reason", message.reason, 500),
        time=duration_from_msg(message.time, checks, "time"),
        source=checks.choice("source", message.source, _SOURCES),
        disagreement=checks.text("disagreement", message.disagreement, SENTENCE),
    )


def report_to_msg(report: RobotReport) -> RobotStatus:
    """Return a robot's status."""
    return RobotStatus(
        header=header(max(report.time, 0.0), MAP),
        robot=report.robot,
        task=report.task,
        waiting=report.waiting,
        position=point_to_msg(report.position or (0.0, 0.0, 0.0)),
        has_position=report.position is not None,
        room=report.room,
        holding=report.holding,
        skill=report.skill,
        help=report.help,
        offers=list(report.offers),
        sub_tasks=[sub_task_to_msg(one, report.task) for one in report.sub_tasks],
        found=[_thing_to_msg(thing) for thing in report.found],
        looked=_looked_to_msg(report.looked),
        put_down=report.put_down,
    )


def report_from_msg(message: RobotStatus, topic: str = "status") -> RobotReport:
    """Return a robot's report.

    Raises:
        ConversionError: No robot, a text that is too long, a number out of range, a wrong sub-task.
    """
    checks = Checks(topic)
    at = point_from_msg(message.position, checks) if message.has_position else None
    found = checks.items("found", message.found, _MOST_THINGS)
    return RobotReport(
        robot=checks.text("robot", message.robot, empty=False),
        time=stamp_from_msg(message.header.stamp, checks),
        task=checks.text("task", message.task),
        waiting=bool(message.waiting),
        position=at,
        room=checks.text("room", message.room),
        holding=checks.text("holding", message.holding),
        skill=checks.text("skill", message.skill),
        help=checks.text("help", message.help, SENTENCE),
        offers=names_from_msg(checks, "offers", message.offers),
        sub_tasks=_sub_tasks_from_msg(message.sub_tasks, checks),
        found=tuple(_thing_from_msg(one, checks.at(f"found[{k}]")) for k, one in enumerate(found)),
        looked=_looked_from_msg(message.looked, checks),
        put_down=checks.text("put_down", message.put_down, SENTENCE),
    )
