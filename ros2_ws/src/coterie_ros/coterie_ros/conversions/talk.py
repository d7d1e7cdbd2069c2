"""Questions, answers, votes and what robots say to one another, to messages and back."""

from __future__ import annotations

from typing import Literal

from coterie_core.questions import (
    Answer,
    Evidence,
    EvidenceKind,
    FinalAnswer,
    OpenAnswer,
    Question,
    Vote,
)
from coterie_msgs.msg import Answer as AnswerMsg
from coterie_msgs.msg import DiscussionTurn, Label, TeamMessage
from coterie_msgs.msg import FinalAnswer as FinalAnswerMsg
from coterie_msgs.msg import OpenAnswer as OpenAnswerMsg
from coterie_msgs.msg import Question as QuestionMsg
from coterie_msgs.msg import Vote as VoteMsg
from coterie_requests.request import REQUEST_CHARS, request_from_json
from coterie_ros.conversions.basics import (
    duration_from_msg,
    duration_to_msg,
    header,
    point_from_msg,
    point_to_msg,
)
from coterie_ros.conversions.checks import NAME, SENTENCE, Checks
from coterie_world.right_of_way import MAX_BODY_RADIUS_M, MAX_PATH_POINTS, YieldRequest

EVIDENCE_KINDS: dict[int, EvidenceKind] = {
    AnswerMsg.NOTHING: "nothing",
    AnswerMsg.PRIOR_ONLY: "prior_only",
    AnswerMsg.SEEN: "seen",
    AnswerMsg.NOT_THERE: "not_there",
    AnswerMsg.MOVED: "moved",
}
EVIDENCE_NUMBERS = {kind: number for number, kind in EVIDENCE_KINDS.items()}
_DECIDERS: dict[int, Literal["model", "rule"]] = {
    AnswerMsg.BY_RULE: "rule",
    AnswerMsg.BY_MODEL: "model",
}
_FINAL: dict[int, bool | None] = {
    FinalAnswerMsg.NO: False,
    FinalAnswerMsg.YES: True,
    FinalAnswerMsg.UNKNOWN: None,
}
_TURNS = {
    DiscussionTurn.PROPOSE: "PROPOSE",
    DiscussionTurn.STATEMENT: "STATEMENT",
    DiscussionTurn.ACCEPT: "ACCEPT",
    DiscussionTurn.REJECT: "REJECT",
    DiscussionTurn.FINAL: "FINAL",
}

# Longest text of a TeamMessage [characters].
MESSAGE_LIMIT = 500


def question_to_msg(question: Question, *, deadline: float = 0.0) -> QuestionMsg:
    """Return a question as a message.

    Args:
        question: The question.
        deadline: How long robots may take [s] of wall time; 0: the aggregator's default.
    """
    return QuestionMsg(
        header=header(0.0, ""),
        id=question.id,
        object=question.object,
        room=question.room,
        text=question.text,
        request=question.request,
        deadline=duration_to_msg(deadline),
    )


def question_from_msg(message: QuestionMsg, topic: str = "question") -> Question:
    """Return a question; `deadline_from_msg` tells how long robots may take.

    Raises:
        ConversionError: No id, neither object nor text, a text that is too long, a bad deadline, a
            request that is none, or of other words.
    """
    checks = Checks(topic)
    deadline_from_msg(message, topic)
    if not message.object and not message.text:
        raise checks.fail("object", "an object, or a sentence in `text`", "both empty")
    return Question(
        id=checks.text("id", message.id, empty=False),
        object=checks.text("object", message.object),
        room=checks.text("room", message.room),
        text=checks.text("text", message.text, SENTENCE),
        request=request_from_msg(message, topic),
    )


def request_from_msg(message: QuestionMsg, topic: str = "question") -> str:
    """Return the JSON of the Request that was read of a question's words; "": nobody has.

    Raises:
        ConversionError: It is none, or one of other words.
    """
    checks = Checks(topic)
    said = checks.text("request", message.request, REQUEST_CHARS)
    try:
        said and request_from_json(said, message.text)
    except ValueError as error:
        hint = "the JSON of a coterie_requests Request of the same `text`, or nothing"
        raise checks.fail("request", f"{hint} ({error})", said) from None
    return said


def deadline_from_msg(message: QuestionMsg, topic: str = "question") -> float:
    """Return how long robots may take [s] of wall time; 0: the aggregator's default.

    Raises:
        ConversionError: Negative, or more than a day.
    """
    return duration_from_msg(message.deadline, Checks(topic), "deadline", 86400.0)


def answer_to_msg(answer: Answer, *, time: float = 0.0) -> AnswerMsg:
    """Return one robot's answer, given at `time` [s], as a message."""
    evidence = answer.evidence
    return AnswerMsg(
        header=header(time, ""),
        question=answer.question,
        robot=answer.robot,
        yes=answer.yes,
        confidence=float(answer.confidence),
        evidence=EVIDENCE_NUMBERS[evidence.kind],
        objects=list(evidence.objects),
        looks=evidence.looks,
        visited_fraction=float(evidence.visited_fraction),
        prior=float(evidence.prior),
        elsewhere=list(evidence.elsewhere),
        moved_to=evidence.moved_to,
        moved_by=evidence.moved_by,
        age=duration_to_msg(evidence.age),
        sightings=evidence.sightings,
        explanation=answer.explanation,
        decided_by=AnswerMsg.BY_MODEL if answer.decided_by == "model" else AnswerMsg.BY_RULE,
        reason=answer.reason,
    )


def answer_from_msg(message: AnswerMsg, topic: str = "answer") -> Answer:
    """Return one robot's answer.

    Raises:
        ConversionError: Confidence outside 0.5..1, no question or robot, an unknown enumerator, ...
    """
    checks = Checks(topic)
    return Answer(
        question=checks.text("question", message.question, empty=False),
        robot=checks.text("robot", message.robot, empty=False),
        yes=bool(message.yes),
        confidence=_confidence(checks, message.confidence),
        evidence=_evidence(message, checks),
        explanation=checks.text("explanation", message.explanation, SENTENCE),
        decided_by=checks.choice("decided_by", message.decided_by, _DECIDERS),
        reason=checks.text("reason", message.reason, SENTENCE),
    )


def _evidence(message: AnswerMsg, checks: Checks) -> Evidence:
    return Evidence(
        kind=checks.choice("evidence", message.evidence, EVIDENCE_KINDS),
        objects=_names(checks, "objects", message.objects),
        looks=int(message.looks),
        visited_fraction=checks.share("visited_fraction", message.visited_fraction),
        prior=checks.share("prior", message.prior),
        elsewhere=_names(checks, "elsewhere", message.elsewhere),
        sightings=int(message.sightings),
        moved_to=checks.text("moved_to", message.moved_to),
        moved_by=checks.text("moved_by", message.moved_by),
        age=duration_from_msg(message.age, checks, "age"),
    )


def vote_to_msg(vote: Vote) -> VoteMsg:
    """Return what an answer counted for as a message."""
    return VoteMsg(
        robot=vote.robot,
        yes=vote.yes,
        confidence=float(vote.confidence),
        weight=float(vote.weight),
        note=vote.note,
    )


def vote_from_msg(message: VoteMsg, checks: Checks | None = None) -> Vote:
    """Return what an answer counted for.

    Raises:
        ConversionError: Confidence outside 0.5..1, a weight that is not finite, no robot.
    """
    checks = checks or Checks("vote")
    return Vote(
        robot=checks.text("robot", message.robot, empty=False),
        yes=bool(message.yes),
        confidence=_confidence(checks, message.confidence),
        weight=checks.number("weight", message.weight),
        note=checks.text("note", message.note, SENTENCE),
    )


def final_answer_to_msg(
    final: FinalAnswer,
    *,
    question: Question | None = None,
    time: float = 0.0,
    elapsed: float = 0.0,
) -> FinalAnswerMsg:
    """Return the team's answer as a message.

    Args:
        final: The answer.
        question: The question, whose object and room are repeated for people; may be missing.
        time: When it was given [s].
        elapsed: From question to answer, wall time [s].
    """
    numbers = {value: number for number, value in _FINAL.items()}
    return FinalAnswerMsg(
        header=header(time, ""),
        question=final.question,
        object=question.object if question else "",
        room=question.room if question else "",
        answer=numbers[final.yes],
        confidence=float(final.confidence),
        method=final.method,
        votes=[vote_to_msg(vote) for vote in final.votes],
        missing=list(final.missing),
        explanation=final.explanation,
        elapsed=duration_to_msg(elapsed),
    )


def final_answer_from_msg(message: FinalAnswerMsg, topic: str = "final_answer") -> FinalAnswer:
    """Return the team's answer.

    Raises:
        ConversionError: An unknown enumerator, confidence outside 0..1, no question, a bad vote.
    """
    checks = Checks(topic)
    duration_from_msg(message.elapsed, checks, "elapsed")
    return FinalAnswer(
        question=checks.text("question", message.question, empty=False),
        yes=checks.choice("answer", message.answer, _FINAL),
        confidence=checks.share("confidence", message.confidence),
        method=checks.text("method", message.method),
        votes=tuple(
            vote_from_msg(vote, checks.at(f"votes[{k}]"))
            for k, vote in enumerate(checks.items("votes", message.votes))
        ),
        missing=_names(checks, "missing", message.missing),
        explanation=checks.text("explanation", message.explanation, SENTENCE),
    )


def label_to_msg(question: str, truth: bool, source: str) -> Label:
    """Return the right answer to a question, and who says so, as a message."""
    return Label(header=header(0.0, ""), question=question, truth=truth, source=source)


def label_from_msg(message: Label, topic: str = "label") -> tuple[str, bool, str]:
    """Return (question id, truth, source).

    Raises:
        ConversionError: No question, or a text that is too long.
    """
    checks = Checks(topic)
    question = checks.text("question", message.question, empty=False)
    return question, bool(message.truth), checks.text("source", message.source)


def checked_turn(message: DiscussionTurn, topic: str = "discussion") -> DiscussionTurn:
    """Return a turn of a discussion once its fields are checked.

    Raises:
        ConversionError: No topic or speaker, an unknown kind, a text that is too long, or a
            confidence outside 0.5..1 where the turn carries one.
    """
    checks = Checks(topic)
    checks.text("topic", message.topic, empty=False)
    checks.text("speaker", message.speaker, empty=False)
    _names(checks, "recipients", message.recipients)
    kind = checks.choice("kind", message.kind, _TURNS)
    checks.text("text", message.text, SENTENCE)
    # Discussions of tasks carry no vote: their turns leave the confidence at 0.
    if kind == "FINAL" or message.confidence != 0.0:
        _confidence(checks, message.confidence)
    return message


def checked_team_message(message: TeamMessage, topic: str = "message") -> TeamMessage:
    """Return a team message once its fields are checked.

    Raises:
        ConversionError: No id or sender, an unknown kind, more than 500 characters of text, a way
            of too many points or with one that is not finite, a radius that no robot has.
    """
    checks = Checks(topic)
    checks.text("id", message.id, empty=False)
    checks.text("sender", message.sender, empty=False)
    _names(checks, "recipients", message.recipients)
    checks.choice("kind", message.kind, {k: str(k) for k in range(TeamMessage.WAY + 1)})
    checks.text("text", message.text, MESSAGE_LIMIT)
    checks.text("task", message.task)
    checks.text("sub_task", message.sub_task)
    for k, point in enumerate(checks.items("way", message.way, MAX_PATH_POINTS)):
        point_from_msg(point, checks, f"way[{k}]")
    checks.number("way_radius", message.way_radius, 0.0, MAX_BODY_RADIUS_M)
    return message


def yield_request_to_msg(request: YieldRequest, time: float) -> TeamMessage:
    """Return a request for the way, made at a time [s], as a message."""
    return TeamMessage(
        header=header(time, ""),
        id=request.id,
        sender=request.sender,
        recipients=list(request.recipients),
        kind=TeamMessage.WAY,
        text=request.text[:MESSAGE_LIMIT],
        way=[point_to_msg(point) for point in request.way],
        way_radius=request.radius,
        way_out=request.out,
    )


def yield_request_from_msg(message: TeamMessage, topic: str = "message") -> YieldRequest:
    """Return the request for the way that a message of kind WAY is.

    Raises:
        ConversionError: What `checked_team_message` refuses, a way of fewer than two points, no
            radius.
    """
    checked_team_message(message, topic)
    checks = Checks(topic)
    points = tuple((point.x, point.y, point.z) for point in message.way)
    if len(points) < 2:
        raise checks.fail("way", "at least 2 points", f"{len(points)} points")
    if message.way_radius <= 0.0:
        raise checks.fail("way_radius", "more than 0", message.way_radius)
    to = tuple(message.recipients)
    radius, out = message.way_radius, message.way_out
    return YieldRequest(message.id, message.sender, points, radius, to, out)


def _confidence(checks: Checks, value: float) -> float:
    number = checks.number("confidence", value, 0.5 - 1e-6, 1.0 + 1e-6)
    return min(max(number, 0.5), 1.0)


def _names(checks: Checks, field: str, values: list[str]) -> tuple[str, ...]:
    return tuple(
        checks.text(f"{field}[{k}]", value) for k, value in enumerate(checks.items(field, values))
    )


_OPEN_DECIDERS: dict[int, Literal["model", "rule"]] = {
    OpenAnswerMsg.BY_RULE: "rule",
    OpenAnswerMsg.BY_MODEL: "model",
}
_OPEN_DECIDER_NUMBERS = {name: number for number, name in _OPEN_DECIDERS.items()}


def open_answer_to_msg(answer: OpenAnswer, *, time: float = 0.0, frame: str) -> OpenAnswerMsg:
    """Return an answer as a message.

    Args:
        answer: The answer.
        time: When it was given [s].
        frame: The map frame of its path.
    """
    return OpenAnswerMsg(
        header=header(time, frame),
        question=answer.question,
        text=answer.text[:SENTENCE],
        category=answer.category,
        confidence=float(answer.confidence),
        guessed=answer.guessed,
        objects=list(answer.objects),
        frames=list(answer.frames),
        path=[point_to_msg(point) for point in answer.path],
        method=answer.method,
        decided_by=_OPEN_DECIDER_NUMBERS[answer.decided_by],
        reason=answer.reason[:SENTENCE],
        explanation=answer.explanation[:SENTENCE],
    )


def open_answer_from_msg(message: OpenAnswerMsg, topic: str = "ask_open") -> OpenAnswer:
    """Return an answer.

    Raises:
        ConversionError: No text, a confidence outside of 0..1, an unknown decider, lists that are
            too long, positions that are no numbers.
    """
    checks = Checks(topic)
    return OpenAnswer(
        checks.text("question", message.question),
        checks.text("text", message.text, SENTENCE, empty=False),
        checks.text("category", message.category),
        checks.share("confidence", message.confidence),
        bool(message.guessed),
        tuple(
            checks.text("objects", id_, NAME) for id_ in checks.items("objects", message.objects)
        ),
        tuple(checks.text("frames", name, NAME) for name in checks.items("frames", message.frames)),
        tuple(
            point_from_msg(point, checks, f"path[{k}]")
            for k, point in enumerate(checks.items("path", message.path))
        ),
        checks.text("method", message.method),
        checks.choice("decided_by", message.decided_by, _OPEN_DECIDERS),
        checks.text("reason", message.reason, SENTENCE),
        checks.text("explanation", message.explanation, SENTENCE),
    )
