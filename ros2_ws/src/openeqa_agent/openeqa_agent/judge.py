"""LLM-Match: marks 1 to 5 by a judge, and the measures made of them (OpenEQA, Eq. 1 and 2)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from coterie_core.language import Decider


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


def rule_mark(question: str, answer: str, extra: Sequence[str], prediction: str) -> int:
    """Return the mark (1..5) that fixed rules give a prediction."""
    wanted = [" ".join(text.lower().strip(" .").split()) for text in (answer, *extra)]
    return 5 if " ".join(prediction.lower().strip(" .").split()) in wanted else 1


async def judge(
    decider: Decider, question: str, answer: str, extra: Sequence[str], prediction: str
) -> Mark | None:
    """Return the judge's mark; None where it gives none, asked twice: counted as missing."""
    return Mark(rule_mark(question, answer, extra, prediction))


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
