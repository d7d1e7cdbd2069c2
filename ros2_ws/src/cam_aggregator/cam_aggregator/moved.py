"""What robots did to an object since others saw it: news go before votes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from coterie_core.questions import Answer, FinalAnswer

LEAST_SHARE = 0.5
"""Share of the robots that tell of a move, from which on it counts: one alone may be wrong."""


def after_moves(
    final: FinalAnswer, answers: Sequence[Answer], expected: Collection[str]
) -> FinalAnswer:
    """Return the team's answer once it counts what was moved away since it was seen.

    All robots hear what is done to objects. Where those that know of none in the room tell that
    one was taken away from there, the answer is no for that reason. A sighting that is newer than
    that counts more; an older one, of a robot that has not heard of it, nothing.

    Args:
        final: The answer from the votes.
        answers: The robots' answers, in order of arrival.
        expected: Robots of the team.
    """
    last = {answer.robot: answer for answer in answers if answer.robot in expected}
    told = [a for a in last.values() if a.evidence.kind == "moved"]
    if not told:
        return final
    news = min(told, key=lambda answer: answer.evidence.age)
    seen = [a for a in last.values() if a.evidence.kind == "seen"]
    fresh = [a for a in seen if a.evidence.age < news.evidence.age]
    if fresh:
        best = max(fresh, key=lambda answer: answer.confidence)
        said = f"{best.robot} saw one after {news.explanation or 'one was moved'}"
        return replace(final, yes=True, confidence=best.confidence, explanation=said)
    if len(told) < LEAST_SHARE * len(last):
        return final
    sure = sum(max(a.confidence, 0.5) for a in told) / len(told)
    return replace(final, yes=False, confidence=sure, explanation=f"no: {news.explanation}")
