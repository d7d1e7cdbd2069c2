"""LLM-Match: marks 1 to 5 by a judge, and the measures made of them (OpenEQA, Eq. 1 and 2)."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from coterie_llm import Decider, Decision, Message, as_data
from research.bench.openeqa.marking import rule_mark

__all__ = [
    "Candidate",
    "JudgeAnswer",
    "Mark",
    "MarkReply",
    "bootstrap",
    "efficiency",
    "judge",
    "match_score",
    "rule_mark",
]


@dataclass(frozen=True, slots=True)
class Mark:
    """How right an answer is: 1 wrong .. 5 right; who marked it, and why."""

    value: int
    decided_by: Literal["model", "rule"] = "rule"
    reason: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no mark."""
        if not 1 <= self.value <= 5:
            raise ValueError(f"a mark is within 1..5, got {self.value}")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer to be marked, beside the right ones."""

    question: str
    answer: str
    extra: tuple[str, ...]
    prediction: str


class MarkReply(BaseModel):
    """A mark."""

    reason: str = Field("", max_length=600, description="what agrees and what does not")
    mark: int = Field(ge=1, le=5, description="1 (wrong) to 5 (right)")


class JudgeAnswer(Decision[Candidate, MarkReply]):
    """How right is an answer? (LLM-Match, section II-D)."""

    name: ClassVar[str] = "openeqa.judge_answer"
    reply_type: ClassVar[type[BaseModel]] = MarkReply
    max_tokens: ClassVar[int] = 250

    def prompt(self, state: Candidate) -> Sequence[Message]:
        """Show the question, the right answers and the one to mark."""
        right = [state.answer, *state.extra]
        return (
            Message.system(
                "You mark replies to questions about a home or office. Compare the reply with the "
                "reference answers, any of which counts as right, and ask yourself whether a "
                "person who relies on the reply would be served. Wording, length and politeness "
                "do not matter; added detail matters only if it contradicts a reference.\n"
                "5: means the same as a reference.\n"
                "4: right, a detail is missing or loose.\n"
                "3: partly right, or right but far too vague.\n"
                "2: wrong, yet related to the truth.\n"
                "1: wrong, contradictory, empty or beside the question."
            ),
            *_examples(),
            Message.user(_shown(state.question, right, state.prediction)),
        )

    def rule(self, state: Candidate) -> MarkReply:
        """By fixed rules over the words."""
        mark = rule_mark(state.question, state.answer, state.extra, state.prediction)
        return MarkReply(reason="by rules", mark=mark)


def _shown(question: str, right: Sequence[str], prediction: str) -> str:
    return (
        f"{as_data('question', question, limit=600)}\n"
        f"{as_data('reference answers', list(right), limit=1500)}\n"
        f"{as_data('reply to mark', prediction or '(nothing)', limit=1000)}"
    )


_MARKED = (
    ("Where is the watering can?", ("on the balcony", "outside, beside the chair"),
     "out on the balcony floor", 5, "the same place"),
    ("Which color is the kettle?", ("red",), "it is blue", 1, "another color"),
    ("What hangs above the desk?", ("a calendar and a clock",), "a clock", 4, "one of two things"),
)  # fmt: skip


def _examples() -> list[Message]:
    return [
        message
        for question, right, reply, mark, why in _MARKED
        for message in (
            Message.user(f"Example.\n{_shown(question, right, reply)}"),
            Message.assistant(json.dumps({"reason": why, "mark": mark})),
        )
    ]


async def judge(
    decider: Decider, question: str, answer: str, extra: Sequence[str], prediction: str
) -> Mark | None:
    """Return the judge's mark; None where it gives none though asked twice: a missing one.

    An endpoint that is down gives no mark either, and never ends a run. Without a model the rule
    marks. A prediction that is empty is wrong without asking.
    """
    if not prediction.strip():
        return Mark(1, "rule", "there is no answer")
    state = Candidate(question, answer, tuple(extra), prediction)
    decided = await decider.decide(JudgeAnswer(), state)
    if decided.decided_by == "rule" and not decider.rule_only:
        return None
    return Mark(decided.reply.mark, decided.decided_by, decided.reply.reason or decided.reason)


def match_score(marks: Sequence[Mark | int | None]) -> float:
    """Correctness C [%]: mean of (mark - 1) / 4 (Eq. 1), without missing ones; nan if none."""
    values = [_value(mark) for mark in marks if mark is not None]
    return 100.0 * sum(values) / len(values) if values else float("nan")


def efficiency(
    marks: Sequence[Mark | int | None], taken: Sequence[float], reference: Sequence[float]
) -> float:
    """Efficiency E [%]: marks weighted by l / max(p, l) (Eq. 2); missing marks are left out.

    Args:
        marks: One per question.
        taken: p, steps (or metres) taken.
        reference: l, those of a path that suffices; same unit. 0 counts as one step at no cost.
    """
    if not len(marks) == len(taken) == len(reference):
        raise ValueError(
            f"marks, taken and reference differ in length: {len(marks)}, {len(taken)}, "
            f"{len(reference)}"
        )
    values = [
        _value(mark) * (1.0 if p <= ref else ref / p)
        for mark, p, ref in zip(marks, taken, reference, strict=True)
        if mark is not None
    ]
    return 100.0 * sum(values) / len(values) if values else float("nan")


def bootstrap(
    values: Sequence[float], *, rounds: int = 2000, level: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the bootstrap interval of a mean (percentile method); (nan, nan) without values."""
    if not values:
        return float("nan"), float("nan")
    dice = random.Random(seed)
    n = len(values)
    means = sorted(sum(dice.choices(values, k=n)) / n for _ in range(rounds))
    cut = (1.0 - level) / 2.0
    return means[int(cut * (rounds - 1))], means[int((1.0 - cut) * (rounds - 1))]


def _value(mark: Mark | int) -> float:
    value = mark.value if isinstance(mark, Mark) else mark
    if not 1 <= value <= 5:
        raise ValueError(f"a mark is within 1..5, got {value}")
    return (value - 1) / 4.0
