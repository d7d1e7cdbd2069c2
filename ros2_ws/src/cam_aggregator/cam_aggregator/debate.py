"""Debate as an aggregator: two rounds of talk, a final answer each, then the majority."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np

from cam_aggregator.base import Aggregator
from cam_aggregator.votes import MajorityVote
from coterie_core.answer_table import AnswerTable, FloatArray
from coterie_core.confidence import ConfidenceModel
from coterie_core.questions import Question
from coterie_requests.debate import ROUNDS, DebateResult, LocalSpeaker, debate


class LastWords(MajorityVote):
    """What comes of robots' last words: their majority decides; ties go as in the majority vote."""

    name: ClassVar[str] = "debate"


class Debate(Aggregator):
    """MELE's second baseline (section 3.4.1), with the rule as every robot's model.

    The node runs the same debate over topics, where each robot speaks for itself, with its own
    model and memory.
    """

    name: ClassVar[str] = LastWords.name
    own_confidence: ClassVar[bool] = False

    def __init__(
        self,
        *,
        rounds: int = ROUNDS,
        abstain_below: float = 0.0,
        confidence: ConfidenceModel | None = None,
    ) -> None:
        super().__init__(abstain_below=abstain_below, confidence=confidence)
        self.rounds = rounds

    def p_yes(self, table: AnswerTable) -> FloatArray:
        """Return the share of YES of each question (N,) after the debate."""
        return LastWords().p_yes(self.last_words(table))

    def last_words(self, table: AnswerTable) -> AnswerTable:
        """Return the table with each robot's answer after the debate."""
        answers = table.answers.copy()
        confidence = table.confidence.copy()
        present = np.zeros_like(table.present)
        for i in range(len(table)):
            question = Question(table.questions[i], table.objects[i], table.rooms[i])
            speakers = [LocalSpeaker(answer) for answer in table.row(i)]
            for said in _done(debate(question, speakers, rounds=self.rounds)).finals:
                k = table.column(said.speaker)
                answers[i, k], confidence[i, k], present[i, k] = said.yes, said.confidence, True
        return replace(table, answers=answers, confidence=confidence, present=present)


def _done(talk: Coroutine[Any, Any, DebateResult]) -> DebateResult:
    """Run a debate of speakers that only follow the rule: it never has to wait for anything."""
    try:
        talk.send(None)
    except StopIteration as end:
        return cast(DebateResult, end.value)
    raise RuntimeError("a debate by the rule waited for something")
