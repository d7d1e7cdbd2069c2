"""Evidence in robots' answers to a question of presence: whether anybody has looked there."""

from __future__ import annotations

from collections.abc import Sequence

from coterie_core.questions import Answer, Question
from coterie_requests.ask_back.judgement import Judgement


def judged_answers(question: Question, answers: Sequence[Answer]) -> Judgement:
    """Return `not_seen_yet` where no robot has been in the room that is asked about."""
    guesses = [one for one in answers if one.evidence.kind == "prior_only"]
    able = [one for one in answers if one.evidence.kind != "nothing"]
    if not guesses or len(guesses) < len(able):
        return Judgement()
    numbered = question.room[-1:].isdigit()
    room = question.room if numbered else f"the {question.room}"
    where = f"in {room}" if question.room else "anywhere"
    return Judgement(
        "not_seen_yet",
        f"nobody has looked {where} yet: this is what is usual",
        missing=(question.room,) if question.room else (),
        evidence=tuple(f"{one.robot} has not been there" for one in guesses),
    )
