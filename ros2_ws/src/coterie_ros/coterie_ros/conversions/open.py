"""Answers to open questions, to messages and back."""

from __future__ import annotations

from typing import Literal

from coterie_core.questions import OpenAnswer
from coterie_msgs.msg import OpenAnswer as OpenAnswerMsg
from coterie_ros.conversions.basics import header, point_from_msg, point_to_msg
from coterie_ros.conversions.checks import NAME, SENTENCE, Checks

_DECIDERS: dict[int, Literal["model", "rule"]] = {
    OpenAnswerMsg.BY_RULE: "rule",
    OpenAnswerMsg.BY_MODEL: "model",
}
_NUMBERS = {name: number for number, name in _DECIDERS.items()}


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
        decided_by=_NUMBERS[answer.decided_by],
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
        checks.choice("decided_by", message.decided_by, _DECIDERS),
        checks.text("reason", message.reason, SENTENCE),
        checks.text("explanation", message.explanation, SENTENCE),
    )
