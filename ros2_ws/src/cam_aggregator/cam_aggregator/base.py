"""The interface of all aggregators: answers of K robots in, one final answer per question out."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, cast

import numpy as np

from coterie_core.answer_table import EVIDENCE_KINDS, AnswerTable, BoolArray, FloatArray
from coterie_core.confidence import ConfidenceModel, load_confidence
from coterie_core.questions import Answer, FinalAnswer, LabelledQuestion, Question, Vote, is_guess
from coterie_requests.presence import said_once

GUESSED = "a guess, for no robot has observed it"
"""Begins the explanation of an answer that rests on what is usual alone."""


class AggregatorError(ValueError):
    """An aggregator cannot do what it is asked for: not trained, other robots, no labels, ..."""


class Aggregator(abc.ABC):
    """Fuses the answers of a team: f(o, r, s_1..s_K) of MELE, section 3.1.

    Args:
        abstain_below: Least confidence (0..1) of a final answer; below it the team abstains
            (`FinalAnswer.yes` is None). 0: it always answers where anybody did.
        confidence: Numbers that stated confidence rests on; None: those that come with Coterie.

    Attributes:
        name: What registry, team files and results call it.
        own_confidence: `p_yes` is a probability, and the answer's confidence is that. Where it is
            a share of votes or a bare score only its side counts, see `confidence`.
        needs_labels: `fit` needs the truth of its table. Others may learn from answers alone.
        agents: Robots it was fitted for, in the order of its inputs; empty: any.
    """

    name: ClassVar[str]
    own_confidence: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = False

    def __init__(
        self, *, abstain_below: float = 0.0, confidence: ConfidenceModel | None = None
    ) -> None:
        if not 0.0 <= abstain_below <= 1.0:
            raise ValueError(f"abstain_below must be within 0..1, got {abstain_below!r}")
        self.abstain_below = abstain_below
        self.numbers = confidence or load_confidence()
        self.agents: tuple[str, ...] = ()

    def fit(self, table: AnswerTable | None) -> None:  # noqa: B027  (votes have nothing to learn)
        """Learn from answers and, where `needs_labels`, their truth."""

    @abc.abstractmethod
    def p_yes(self, table: AnswerTable) -> FloatArray:
        """Return the probability of YES of each question (N,), 0..1; NaN: nothing can be said.

        Above one half the answer is YES, else NO.
        """

    def confidence(self, table: AnswerTable, p: FloatArray) -> FloatArray:
        """Return the probability (N,) that the answers `p_yes` gave are right; NaN: no answer.

        How far robots agree tells little of it: those that share common sense err together. So the
        confidence of a method without `own_confidence` is what the robots' observations say for
        its answer (`ConfidenceModel.team_p`): below one half where they speak against it.
        """
        if self.own_confidence:
            return np.maximum(p, 1.0 - p)
        told = self.numbers.team_p(table)
        told = np.where(np.isnan(told), 0.5, told)
        return np.where(np.isnan(p), np.nan, np.where(p > 0.5, told, 1.0 - told))

    def weights(self, table: AnswerTable) -> FloatArray:
        """Return what each answer counted for (N, K), 0 where it is missing."""
        return table.present.astype(float)

    def predict(self, table: AnswerTable) -> list[FinalAnswer]:
        """Return the final answers to all questions of a table, in its order."""
        table = self.aligned(table)
        p, weights = self._probabilities(table), self.weights(table)
        sure = self.confidence(table, p)
        every = zip(p.tolist(), sure.tolist(), weights, strict=True)
        return [self._final(table, i, *one) for i, one in enumerate(every)]

    def decide(
        self,
        question: Question,
        answers: Sequence[Answer],
        expected: Sequence[str],
        *,
        observed: Sequence[Answer] = (),
    ) -> FinalAnswer:
        """Return the final answer to one question from what has come in so far.

        Args:
            question: What was asked.
            answers: In order of arrival. The last one of a robot counts, once; answers to other
                questions and by robots that are not `expected` are left out, with a note.
            expected: Robots of the team.
            observed: Answers that tell what robots observed, where they have been talked out of
                these since: `confidence` rests on them. Empty: `answers`.
        """
        kept, notes = _sift(question, answers, expected)
        agents = self.agents or tuple(dict.fromkeys(expected))
        item = LabelledQuestion(question, truth=False, group=question.object)
        table = AnswerTable.of("", agents, [item], list(kept.values()))
        p = self._probabilities(table)
        first = list(_sift(question, observed, expected)[0].values())
        before = AnswerTable.of("", agents, [item], first) if first else table
        sure = float(self.confidence(before, p)[0])
        final = self._final(table, 0, float(p[0]), sure, self.weights(table)[0])
        votes = [
            replace(vote, note=_joined(vote.note, notes.pop(vote.robot, "")))
            for vote in final.votes
        ]
        counted = {vote.robot for vote in votes}
        for robot, answer in kept.items():
            if robot not in counted:
                note = f"no input for this robot in the model of {', '.join(agents)}: left out"
                votes.append(Vote(robot, answer.yes, answer.confidence, 0.0, note))
        votes.extend(
            Vote(robot, answer.yes, _sane(answer.confidence), 0.0, notes[robot])
            for robot, answer in _strangers(question, answers, expected).items()
        )
        missing = tuple(robot for robot in dict.fromkeys(expected) if robot not in kept)
        if final.yes is None:
            told = [a.explanation for a in kept.values() if a.evidence.kind == "nothing"]
            why = said_once(text for text in told if text)
            final = replace(final, explanation=(why or final.explanation)[:1000])
        elif is_guess(final, kept.values()):
            final = replace(final, explanation=f"{GUESSED}; {final.explanation}"[:1000])
        return replace(final, votes=tuple(votes), missing=missing)

    def aligned(self, table: AnswerTable) -> AnswerTable:
        """Return the table with the columns this aggregator was fitted for.

        Raises:
            AggregatorError: A robot it was fitted for has no column.
        """
        if not self.agents or table.agents == self.agents:
            return table
        absent = [agent for agent in self.agents if agent not in table.agents]
        if absent:
            raise AggregatorError(
                f"{self.name} was fitted for {', '.join(self.agents)}, but the table has "
                f"{', '.join(table.agents)}; fit it again, or add columns for {', '.join(absent)}"
            )
        return table.with_agents(self.agents)

    def _probabilities(self, table: AnswerTable) -> FloatArray:
        """Return what `p_yes` does.

        Raises:
            AggregatorError: It is no probability for each question.
        """
        p = np.asarray(self.p_yes(table), dtype=float)
        if p.shape != (len(table),) or ((p < 0.0) | (p > 1.0)).any():
            raise AggregatorError(
                f"{self.name}: p_yes returned {p.tolist()}; expected a probability from 0 to 1, or "
                f"NaN, for each of {len(table)} questions"
            )
        return p

    def _final(
        self, table: AnswerTable, i: int, p: float, confidence: float, weights: FloatArray
    ) -> FinalAnswer:
        votes = tuple(
            Vote(agent, bool(table.answers[i, k]), float(table.confidence[i, k]), float(weights[k]))
            for k, agent in enumerate(table.agents)
            if table.present[i, k]
        )
        missing = tuple(a for k, a in enumerate(table.agents) if not table.present[i, k])
        if cannot_tell(table)[i]:
            why = "the robots cannot tell: none of them saw such a thing, or knows word and room"
            return FinalAnswer(table.questions[i], None, 0.0, self.name, votes, missing, why)
        if math.isnan(p):
            why = "no robot answered" if not votes else "the votes are tied"
            return FinalAnswer(table.questions[i], None, 0.0, self.name, votes, missing, why)
        yes: bool | None = p > 0.5
        why = self.explain(table, i, confidence if yes else 1.0 - confidence)
        if confidence < 0.5:
            why += f", against this answer of {self.name}"
        if confidence < self.abstain_below:
            yes = None
            why = f"confidence {confidence:.2f} is below {self.abstain_below:.2f}: abstains; {why}"
            confidence = 0.0
        return FinalAnswer(table.questions[i], yes, confidence, self.name, votes, missing, why)

    def explain(self, table: AnswerTable, i: int, p: float) -> str:
        """Return one sentence on how the answer to question `i` came about; `p` is P(yes)."""
        by = "" if self.own_confidence else "by what they observed "
        return f"{votes_told(table, i)}; {by}P(yes) = {p:.2f}"


def votes_told(table: AnswerTable, i: int) -> str:
    """Return in words how many robots answer question `i` with yes."""
    given = table.present[i]
    return f"{int((table.answers[i] & given).sum())} of {int(given.sum())} robots say yes"


def cannot_tell(table: AnswerTable) -> BoolArray:
    """Return where the team cannot tell (N,).

    Some robot knows neither prior nor observation that would bear on the question (the word is
    unknown, the house has no such room, its detector does not report such things), and no other
    robot has looked there: what others expect of a room is nothing against its not being known.
    """
    nothing = table.present & (table.evidence == EVIDENCE_KINDS.index("nothing"))
    guess = table.present & (table.evidence == EVIDENCE_KINDS.index("prior_only"))
    direct = table.present & ~nothing & ~guess
    return cast(BoolArray, nothing.any(axis=1) & ~direct.any(axis=1))


def accuracy(truth: np.ndarray, p: np.ndarray) -> float:
    """Return the share of right answers (MELE, Eq. 1); no answer (NaN) counts as wrong."""
    if len(truth) == 0:
        raise ValueError("accuracy of no questions is not defined; the test part is empty")
    decided = ~np.isnan(p)
    return float(np.mean(decided & ((p > 0.5) == truth.astype(bool))))


def _sift(
    question: Question, answers: Sequence[Answer], expected: Sequence[str]
) -> tuple[dict[str, Answer], dict[str, str]]:
    """Return the answer that counts per robot, and notes on robots (strangers included)."""
    team = set(expected)
    kept: dict[str, Answer] = {}
    notes: dict[str, str] = {}
    times: dict[str, int] = {}
    for answer in answers:
        if answer.question != question.id:
            continue
        if answer.robot not in team:
            notes[answer.robot] = "not a robot of this team: left out"
            continue
        times[answer.robot] = times.get(answer.robot, 0) + 1
        confidence = _sane(answer.confidence)
        if confidence != answer.confidence:
            notes[answer.robot] = f"confidence {answer.confidence!r} is no number in 0.5..1"
        evidence = answer.evidence
        prior = evidence.prior if math.isfinite(evidence.prior) else 0.5
        seen = evidence.visited_fraction if math.isfinite(evidence.visited_fraction) else 0.0
        kept.pop(answer.robot, None)
        kept[answer.robot] = replace(
            answer,
            confidence=confidence,
            evidence=replace(
                evidence,
                prior=min(max(prior, 0.0), 1.0),
                visited_fraction=min(max(seen, 0.0), 1.0),
                looks=max(evidence.looks, 0),
                sightings=max(evidence.sightings, 0),
            ),
        )
    for robot, n in times.items():
        if n > 1:
            notes[robot] = _joined(notes.get(robot, ""), f"answered {n} times: the last one counts")
    return kept, notes


def _strangers(
    question: Question, answers: Sequence[Answer], expected: Sequence[str]
) -> dict[str, Answer]:
    team = set(expected)
    return {a.robot: a for a in answers if a.question == question.id and a.robot not in team}


def _sane(confidence: float) -> float:
    return min(max(confidence, 0.5), 1.0) if math.isfinite(confidence) else 0.5


def _joined(*texts: str) -> str:
    return "; ".join(text for text in texts if text)
