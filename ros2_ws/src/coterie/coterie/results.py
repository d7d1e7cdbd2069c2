"""What a team tells a program: answers, found objects, results of tasks, events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar, cast

if TYPE_CHECKING:
    from coterie_bringup.task_record import TaskRecord
    from coterie_bringup.team_client import TeamAnswer
    from coterie_core.geometry import Vec2, Vec3
    from coterie_core.questions import Answer as OwnAnswer
    from coterie_core.questions import Evidence, OpenAnswer
    from coterie_requests.ask_back import Judgement
    from coterie_world.scene import SceneGraph

Lengths = TypeVar("Lengths", "Vec2", "Vec3")


class TeamError(Exception):
    """A team cannot do what it was asked for; says why and what to do."""


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object of a semantic map.

    Attributes:
        id: Its id in the map.
        label: What it is most likely; "": the map that tells has not come.
        room: Name of its room; "": unknown.
        center: Its middle (x, y, z) in the map frame [m], to a millimeter; None: unknown.
        size: Its edge lengths [m], to a millimeter; None: unknown.
        labels: label -> probability to four digits, most likely first.
    """

    id: str
    label: str = ""
    room: str = ""
    center: Vec3 | None = None
    size: Vec3 | None = None
    labels: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        at = f" at ({', '.join(f'{v:.2f}' for v in self.center)}) m" if self.center else ""
        return f"{self.label or self.id}{f' in {self.room}' if self.room else ''}{at}"


@dataclass(frozen=True, slots=True)
class Room:
    """A room of a semantic map.

    Attributes:
        id: Its id in the map.
        name: Its name, unique in the house.
        type: Its kind, such as "kitchen".
        outline: Corners (x, y) of its floor in the map frame [m], to a millimeter; empty: unknown.
    """

    id: str
    name: str
    type: str
    outline: tuple[Vec2, ...] = ()


@dataclass(frozen=True, slots=True)
class RobotAnswer:
    """One robot's own answer to a yes-or-no question.

    Attributes:
        robot: Name of the robot.
        text: "yes", "no" or "unknown".
        confidence: Chance that it is right, 0.5 to 1, to four digits.
        explanation: One sentence for people.
        evidence: What it rests on: how often the robot looked, the ids of what it saw, and so on.
        decided_by: Whether a model or a rule decided.
    """

    robot: str
    text: str
    confidence: float
    explanation: str
    evidence: Evidence
    decided_by: Literal["model", "rule"] = "rule"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a team to a question.

    Attributes:
        question: The question.
        text: "yes", "no" or "unknown"; or words, to an open question.
        confidence: Chance that it is right, 0 to 1, to four digits.
        guessed: Whether no robot has observed what the team answers.
        explanation: How it was reached.
        method: What decided.
        objects: Objects that it rests on, as the robots that saw them or the team's map know them.
        images: Names of the images that it rests on.
        robots: Each robot's own answer; empty for an open question.
        missing: Robots that did not answer in time.
        unclear: Why the question is not clear, and what the team asks back; "": it is.
    """

    question: str
    text: str
    confidence: float
    guessed: bool = False
    explanation: str = ""
    method: str = ""
    objects: tuple[FoundObject, ...] = ()
    images: tuple[str, ...] = ()
    robots: tuple[RobotAnswer, ...] = ()
    missing: tuple[str, ...] = ()
    unclear: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a task is.

    Attributes:
        text: What is new, for a person.
        stage: "waiting", "discussion", "execution" or "ended".
        done: Number of sub-tasks that are done.
        total: Number of sub-tasks so far.
    """

    text: str
    stage: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class TaskResult:
    """How a task ended.

    Attributes:
        task: The task.
        success: Whether all of it was seen to be done.
        outcome: "done", "partial", "not_done" or "cancelled".
        message: What the leader says of it.
        achieved: Number of sub-goals that were seen to be fulfilled.
        wanted: Number of sub-goals.
        seconds: Wall time that it took [s].
        simulated_seconds: Simulated time that it took [s]; 0: the robots are real.
        events: What happened, one line each.
        unclear: Why the task is not clear, and what the team asks back; "": it is.
    """

    task: str
    success: bool
    outcome: str
    message: str = ""
    achieved: int = 0
    wanted: int = 0
    seconds: float = 0.0
    simulated_seconds: float = 0.0
    events: tuple[str, ...] = ()
    unclear: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened in a team.

    Attributes:
        kind: "goal", "ended" or "refused": a robot is to do something, did it or failed, or must
            not; where the team runs on this machine. "stopped" or "released": a robot stands, or
            may move again. "skill": what a robot of a team with a leader does now. "process": a
            process of a team that this program started, or its end.
        who: Name of the robot or process.
        text: What happened; of a skill "": the robot does nothing.
    """

    kind: Literal["goal", "ended", "refused", "stopped", "released", "skill", "process"]
    who: str
    text: str


def found_object(id_: str, scene: SceneGraph | None) -> FoundObject:
    """Return an object of a map by its id; only that where the map does not have it."""
    thing = scene.objects.get(id_) if scene is not None else None
    if scene is None or thing is None:
        return FoundObject(id_)
    room = scene.rooms.get(thing.room)
    return FoundObject(
        id_,
        thing.label.top,
        room.name if room is not None else "",
        to_millimeters(thing.box.center),
        to_millimeters(thing.box.size),
        {label: round(p, 4) for label, p in thing.label.distribution().items()},
    )


def to_millimeters(lengths: Lengths) -> Lengths:
    """Return lengths [m] without what is less than a millimeter: no map is that good."""
    return cast("Lengths", tuple(round(one, 3) for one in lengths))


def answer_of(
    question: str,
    told: TeamAnswer | OpenAnswer,
    *scenes: SceneGraph | None,
    judgement: Judgement | None = None,
) -> Answer:
    """Return what a team told as an answer.

    Args:
        question: The question.
        told: The robots' and the team's answers, or the one to an open question.
        scenes: Maps that know its objects, the best first; others are left out. None: no map.
        judgement: Whether the team found the question clear; None: nobody judged.
    """
    from coterie_core.questions import OpenAnswer

    if isinstance(told, OpenAnswer):
        return Answer(
            question,
            told.text,
            round(told.confidence, 4),
            told.guessed,
            told.explanation or told.reason,
            told.method,
            _objects(told.objects, scenes),
            told.frames,
            unclear=unclear(judgement),
        )
    final = told.final
    ids = dict.fromkeys(id_ for one in told.answers for id_ in one.evidence.objects)
    return Answer(
        question,
        {True: "yes", False: "no", None: "unknown"}[final.yes],
        round(final.confidence, 4),
        told.guessed,
        final.explanation,
        final.method,
        _objects(ids, scenes),
        robots=tuple(map(_robot_answer, told.answers)),
        missing=final.missing,
        unclear=unclear(judgement),
    )


def _objects(ids: Iterable[str], scenes: Sequence[SceneGraph | None]) -> tuple[FoundObject, ...]:
    known = [scene for scene in scenes if scene is not None]
    holders = ((id_, next((s for s in known if id_ in s.objects), None)) for id_ in ids)
    return tuple(found_object(id_, scene) for id_, scene in holders if scene is not None)


def _robot_answer(told: OwnAnswer) -> RobotAnswer:
    text = "unknown" if told.evidence.kind == "nothing" else "yes" if told.yes else "no"
    sure = round(told.confidence, 4)
    return RobotAnswer(told.robot, text, sure, told.explanation, told.evidence, told.decided_by)


def task_result(record: TaskRecord) -> TaskResult:
    """Return how a task ended that was watched."""
    return TaskResult(
        record.words,
        record.success,
        record.outcome,
        record.message,
        record.achieved,
        record.wanted,
        record.seconds,
        record.simulated,
        tuple(record.events),
        unclear(record.judgement),
    )


def unclear(judgement: Judgement | None) -> str:
    """Return why a request is not clear, and what is asked back; "": it is clear."""
    if judgement is None or judgement.clear:
        return ""
    text = judgement.text if judgement.text[-1:] in ".?!" else f"{judgement.text}."
    return f"{text} {judgement.question}" if judgement.question else judgement.text
