"""What robots did to an object since others saw it: news go before votes."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from statistics import fmean

from coterie_core.confidence import log_odds, observed_shift, probability
from coterie_core.questions import Answer, FinalAnswer
from coterie_world.permanence import FALSE_REPORT_PROBABILITY

LEAST_SHARE = 0.5
"""Share of the robots that tell of a move, from which on it counts: one alone may be wrong."""
LEAST_LOOKS = 2
"""Looks that have to show a thing before a robot's sighting may turn the team's answer."""
LEAST_SEEN_BY = 2
"""Robots that have to see a thing again where as many or more tell that it was moved."""
_HAIR = 1e-6


def after_moves(
    final: FinalAnswer,
    answers: Sequence[Answer],
    expected: Collection[str],
    *,
    abstain_below: float = 0.0,
) -> FinalAnswer:
    """Return the team's answer once it counts what was moved away since it was seen.

    All robots hear what is done to objects. Where those that know of none in the room tell that
    one was taken away from there, the answer is no for that reason. Older sightings, of robots that
    have not heard of it, count nothing. Newer ones are weighed as evidence for yes, each with what
    it adds to its robot's prior and no more than so many looks can tell from a false report.
    They turn the answer if they outweigh the news and come from as many robots as tell of the move,
    or from two: a single robot that errs or lies makes the team less sure, and no more.

    Args:
        final: The answer from the votes.
        answers: The robots' answers, in order of arrival.
        expected: Robots of the team.
        abstain_below: Least confidence (0..1) of an answer; below it the team abstains.
    """
    last = {answer.robot: answer for answer in answers if answer.robot in expected}
    told = [a for a in last.values() if a.evidence.kind == "moved" and not a.yes]
    if not told:
        return final
    news = min(told, key=lambda answer: answer.evidence.age)
    since = [a for a in last.values() if _saw(a) and a.evidence.age < news.evidence.age]
    witnesses = [a for a in since if a.evidence.sightings >= LEAST_LOOKS]
    enough = len(witnesses) >= min(LEAST_SEEN_BY, len(told))
    if len(told) < LEAST_SHARE * len(last) and not enough:
        return final
    gone = fmean(max(a.confidence, 0.5) for a in told)
    p = float(probability(sum(map(_weight, since)) - float(log_odds(gone))))
    yes = enough and p > 0.5
    confidence = p if yes else max(1.0 - p, 0.5 + _HAIR)
    if yes:
        said = f"{_names(witnesses)} saw one after {news.explanation or 'one was moved'}"
    else:
        said = f"no: {news.explanation}"
        if since:
            said += f"; but {_names(since)} told of one seen since"
    if confidence < abstain_below:
        said = f"confidence {confidence:.2f} is below {abstain_below:.2f}: abstains; {said}"
        return replace(final, yes=None, confidence=0.0, explanation=said)
    return replace(final, yes=yes, confidence=confidence, explanation=said)


def _names(answers: Sequence[Answer]) -> str:
    return ", ".join(answer.robot for answer in answers)


def _saw(answer: Answer) -> bool:
    return answer.yes and answer.evidence.kind == "seen"


def _weight(answer: Answer) -> float:
    """Return what a sighting adds to the log-odds of yes."""
    shift = float(log_odds(answer.p_yes) - log_odds(answer.evidence.prior))
    most = -math.log(FALSE_REPORT_PROBABILITY) * max(answer.evidence.sightings, 1)
    return min(observed_shift("seen", shift), most)
