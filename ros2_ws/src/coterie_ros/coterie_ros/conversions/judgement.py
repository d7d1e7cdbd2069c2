"""Judgements of requests, to messages and back."""

from __future__ import annotations

from coterie_msgs.msg import RequestJudgement
from coterie_requests.ask_back import Judgement, RequestKind
from coterie_requests.asking import ANSWER_CHARS, QUESTION_CHARS
from coterie_ros.conversions.checks import NAME, SENTENCE, Checks

_KINDS: dict[int, RequestKind] = {
    RequestJudgement.CLEAR: "clear",
    RequestJudgement.AMBIGUOUS: "ambiguous",
    RequestJudgement.FALSE_PREMISE: "false_premise",
    RequestJudgement.NOT_SEEN_YET: "not_seen_yet",
    RequestJudgement.SUBJECTIVE: "subjective",
    RequestJudgement.UNDERSPECIFIED: "underspecified",
}
_NUMBERS = {kind: number for number, kind in _KINDS.items()}


def judgement_to_msg(judgement: Judgement | None) -> RequestJudgement:
    """Return a judgement as a message; None: nobody judged."""
    if judgement is None:
        return RequestJudgement()
    return RequestJudgement(
        kind=_NUMBERS[judgement.kind],
        text=judgement.text[:SENTENCE],
        question=judgement.question[:QUESTION_CHARS],
        choices=list(judgement.choices),
        candidates=list(judgement.candidates),
        missing=list(judgement.missing),
        slot=judgement.slot,
        evidence=[line[:SENTENCE] for line in judgement.evidence],
        answer=judgement.answer[:ANSWER_CHARS],
        settled=judgement.settled,
    )


def judgement_from_msg(message: RequestJudgement, topic: str) -> Judgement | None:
    """Return a judgement; None where nobody judged.

    Raises:
        ConversionError: An unknown kind, texts or lists that are too long.
    """
    if message.kind == RequestJudgement.UNSET:
        return None
    checks = Checks(topic)

    def lines(name: str, most: int) -> tuple[str, ...]:
        items = checks.items(name, getattr(message, name))
        return tuple(checks.text(name, text, most) for text in items)

    return Judgement(
        checks.choice("kind", message.kind, _KINDS),
        text=checks.text("text", message.text, SENTENCE),
        question=checks.text("question", message.question, QUESTION_CHARS),
        choices=lines("choices", SENTENCE),
        candidates=lines("candidates", NAME),
        missing=lines("missing", NAME),
        slot=checks.text("slot", message.slot),
        evidence=lines("evidence", SENTENCE),
        answer=checks.text("answer", message.answer, ANSWER_CHARS),
        settled=bool(message.settled),
    )
