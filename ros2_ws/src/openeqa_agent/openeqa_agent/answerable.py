"""Whether a question can be answered from the map although a judgement of it says otherwise."""

from __future__ import annotations

from coterie_requests.ask_back import Judgement, without
from openeqa_agent.ground import answer_from_map
from openeqa_agent.things import MapIndex
from openeqa_agent.understood import OpenQuestion

_MOST = 8
"""Candidates for which the question is answered one by one."""
_SURE = 0.5
"""Least confidence of an answer that shows that the map has what a judgement misses."""


def answers_all_the_same(question: OpenQuestion, index: MapIndex, told: Judgement) -> bool:
    """Return whether the map answers a question that a judgement calls unclear.

    Whichever candidate is meant, the answer is the same; or the map has what nobody has seen by
    that name under another.
    """
    if told.kind in ("false_premise", "not_seen_yet"):
        if told.slot == "room":
            return False
        reply = answer_from_map(question, index)
        return bool(reply.objects) and not reply.guessed and reply.confidence >= _SURE
    if told.kind != "ambiguous" or not 1 < len(told.candidates) <= _MOST:
        return False
    answers = set()
    for meant in told.candidates:
        others = [id_ for id_ in told.candidates if id_ != meant]
        alone = MapIndex(without(index.scene, others))
        alone.coverage = index.coverage
        answers.add(answer_from_map(question, alone).text)
    return len(answers) == 1 and "" not in answers
