"""Aggregators that learn whom to trust from answers alone, without any label."""

from __future__ import annotations

import importlib.util
import logging
import warnings
from typing import Any, ClassVar, cast

import numpy as np

from cam_aggregator.base import Aggregator, AggregatorError
from cam_aggregator.votes import MajorityVote
from coterie_core.answer_table import AnswerTable, FloatArray
from coterie_core.confidence import ConfidenceModel

_LOG = logging.getLogger(__name__)
_LEAST_QUESTIONS = 5
_ROUNDS, _GAIN, _LEAST = 100, 1e-5, 1e-10
"""Most rounds of EM, gain of likelihood per answer that ends it, least probability: crowd-kit's."""


class LabelFree(Aggregator):
    """Learns each robot's confusion matrix from how robots agree with one another.

    `fit` takes answers to any number of questions and never reads their truth. Questions that were
    among them get the method's own posterior; others are answered from the confusion matrices it
    implies (naive Bayes). Where there is nothing to learn from - fewer than two robots or five
    questions, answers that are all alike - or where the result says that most robots are wrong more
    often than right, the majority decides.

    With three robots this rests on little: pairwise agreement is all there is, and robots that
    share one common sense err together, which such methods take for skill.
    """

    own_confidence: ClassVar[bool] = False

    def __init__(
        self,
        *,
        seed: int = 0,
        abstain_below: float = 0.0,
        confidence: ConfidenceModel | None = None,
    ) -> None:
        super().__init__(abstain_below=abstain_below, confidence=confidence)
        self.seed = seed
        self.confusion: FloatArray | None = None
        self.prior_yes = 0.5
        self._known: dict[tuple[str, tuple[int, ...]], float] = {}
        self._vote = MajorityVote()

    def fit(self, table: AnswerTable | None) -> None:
        """Learn from the answers of a table; its truth is not read."""
        self.confusion, self._known, self.agents = None, {}, ()
        if table is None or len(table) < _LEAST_QUESTIONS or len(table.agents) < 2:
            return
        self.agents = table.agents
        coded = _coded(table)
        asked = np.flatnonzero((coded >= 0).any(axis=1))
        said = set(coded[coded >= 0].tolist())
        if len(said) < 2:
            return
        rows, columns = np.nonzero(coded >= 0)
        posterior = self.posterior(rows, columns, coded[rows, columns], len(table))
        confusion, prior = _implied(coded, posterior)
        skill = 0.5 * (confusion[:, 1, 1] + confusion[:, 0, 0])
        if not np.isfinite(posterior[asked]).all() or np.mean(skill > 0.5) <= 0.5:
            _LOG.warning("%s found no agreement to build on: the majority decides", self.name)
            return
        self.confusion, self.prior_yes = confusion, prior
        for i in asked:
            key = (table.questions[i], tuple(int(a) for a in coded[i]))
            self._known[key] = float(posterior[i])

    def posterior(self, questions: Any, robots: Any, answers: Any, count: int) -> FloatArray:
        """Return P(yes) of each question (count,), 0.5 where nobody answered.

        Args:
            questions, robots, answers: One entry per answer given; answers are 0 or 1.
            count: Number of questions.
        """
        raise NotImplementedError

    def p_yes(self, table: AnswerTable) -> FloatArray:
        """Return the method's posterior (N,), which takes errors for independent.

        NaN where nobody answered.
        """
        if self.confusion is None:
            return self._vote.p_yes(table)
        table = self.aligned(table)
        coded, vote = _coded(table), self._vote.p_yes(table)
        odds = self._odds(coded).sum(axis=1) + np.log(self.prior_yes / (1.0 - self.prior_yes))
        p = 0.5 * (1.0 + np.tanh(0.5 * odds))
        for i in range(len(table)):
            key = (table.questions[i], tuple(int(a) for a in coded[i]))
            p[i] = self._known.get(key, p[i])
        # A perfect balance says nothing: the majority decides it.
        p = np.where(np.abs(p - 0.5) < 1e-9, vote, p)
        return np.where(table.present.any(axis=1), p, np.nan)

    def weights(self, table: AnswerTable) -> FloatArray:
        """Return the size of the log-odds of each answer (N, K)."""
        if self.confusion is None:
            return super().weights(table)
        return np.abs(self._odds(_coded(self.aligned(table))))

    def _odds(self, coded: FloatArray) -> FloatArray:
        confusion = cast(FloatArray, self.confusion)
        table = np.log(confusion[:, 1, :] / confusion[:, 0, :])  # (K, 2): log-odds of each answer
        robots = np.arange(coded.shape[1])
        values = table[robots[None, :], np.clip(coded, 0, 1).astype(int)]
        return np.where(coded >= 0, values, 0.0)


class DawidSkeneAggregator(LabelFree):
    """Dawid and Skene's model: a full confusion matrix per robot, fitted by EM."""

    name: ClassVar[str] = "dawid_skene"

    def posterior(self, questions: Any, robots: Any, answers: Any, count: int) -> FloatArray:
        """See LabelFree."""
        said = np.zeros((count, int(np.max(robots)) + 1, 2))
        said[questions, robots, answers] = 1.0
        asked = said.any(axis=(1, 2))
        said = said[asked]
        p = np.full(count, 0.5)
        p[asked] = _expectation_maximization(said)[:, 1]
        return p


class CrowdKit(LabelFree):
    """A method of crowd-kit, which is installed with the studies.

    Raises:
        AggregatorError: It is not installed.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        abstain_below: float = 0.0,
        confidence: ConfidenceModel | None = None,
    ) -> None:
        if importlib.util.find_spec("crowdkit") is None:
            raise AggregatorError(
                f"aggregator {self.name} needs crowd-kit, not installed here; "
                "./coterie setup --with research"
            )
        super().__init__(seed=seed, abstain_below=abstain_below, confidence=confidence)

    def posterior(self, questions: Any, robots: Any, answers: Any, count: int) -> FloatArray:
        """See LabelFree."""
        import pandas as pd

        frame = pd.DataFrame({"task": questions, "worker": robots, "label": answers})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # crowd-kit uses what pandas will drop one day
            shares = self.method().fit_predict_proba(frame)
        p = np.full(count, 0.5)
        p[np.asarray(shares.index, dtype=int)] = (
            shares[1].to_numpy(dtype=float) if 1 in shares.columns else 0.0
        )
        return p

    def method(self) -> Any:
        """Return crowd-kit's method, not yet fitted."""
        raise NotImplementedError


class OneCoinAggregator(CrowdKit):
    """Dawid and Skene's model with one number per robot: how often it is right."""

    name: ClassVar[str] = "one_coin"

    def method(self) -> Any:
        """See CrowdKit."""
        from crowdkit.aggregation import OneCoinDawidSkene

        return OneCoinDawidSkene(n_iter=100)


class GladAggregator(CrowdKit):
    """GLAD: skill of each robot and difficulty of each question; seconds for 400 questions."""

    name: ClassVar[str] = "glad"

    def method(self) -> Any:
        """See CrowdKit."""
        from crowdkit.aggregation import GLAD

        return GLAD(n_iter=20)


class MaceAggregator(CrowdKit):
    """MACE: each robot either knows or spams; seconds for 400 questions."""

    name: ClassVar[str] = "mace"

    def method(self) -> Any:
        """See CrowdKit."""
        from crowdkit.aggregation import MACE

        return MACE(n_restarts=5, n_iter=30, random_state=self.seed)


LABEL_FREE_CLASSES: tuple[type[LabelFree], ...] = (
    DawidSkeneAggregator,
    OneCoinAggregator,
    GladAggregator,
    MaceAggregator,
)


def _coded(table: AnswerTable) -> FloatArray:
    """Return answers as numbers (N, K): 1 yes, 0 no, -1 missing."""
    return np.where(table.present, table.answers.astype(int), -1)


def _implied(coded: FloatArray, posterior: FloatArray) -> tuple[FloatArray, float]:
    """Return P(answer | truth) per robot (K, 2 truths, 2 answers), smoothed, and P(yes)."""
    k = coded.shape[1]
    confusion = np.ones((k, 2, 2))
    for truth, weight in ((1, posterior), (0, 1.0 - posterior)):
        for answer in (0, 1):
            confusion[:, truth, answer] += ((coded == answer) * weight[:, None]).sum(axis=0)
    confusion /= confusion.sum(axis=2, keepdims=True)
    asked = (coded >= 0).any(axis=1)
    prior = float((posterior[asked].sum() + 1.0) / (asked.sum() + 2.0))
    return confusion, prior


def _expectation_maximization(said: FloatArray) -> FloatArray:
    """Return P(label) of each question (N, 2) by Dawid and Skene, as crowd-kit has it."""
    count, given = said.sum(), said.max(axis=0)
    p = said.sum(axis=1) / said.sum(axis=(1, 2))[:, None]
    prior, errors, before = p.mean(axis=0), _errors(said, given, p), -np.inf
    for _ in range(_ROUNDS):
        prior = np.maximum(prior, _LEAST)
        likelihood = np.log(prior) + np.einsum("nka,kat->nt", said, _log(errors))
        likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
        p = likelihood / likelihood.sum(axis=1, keepdims=True)
        prior, errors = np.maximum(p.mean(axis=0), _LEAST), _errors(said, given, p)
        each = np.einsum("nka,kat->nt", said, _log(errors) + np.log(prior))
        expected = (p * each).sum()
        p = np.maximum(p, _LEAST)
        bound = float((expected - (p * np.log(p)).sum()) / count)
        if bound - before < _GAIN:
            break
        before = bound
    return p


def _errors(said: FloatArray, given: FloatArray, p: FloatArray) -> FloatArray:
    """Return P(answer | truth) of each robot (K, 2 answers, 2 truths); 0: an answer never given."""
    errors = np.where(
        given[:, :, None] > 0.0, np.maximum(np.einsum("nka,nt->kat", said, p), _LEAST), 0.0
    )
    return np.asarray(errors / errors.sum(axis=1, keepdims=True))


def _log(values: FloatArray) -> FloatArray:
    """Return logarithms; 0 of 0, which stands for what no robot said."""
    return np.log(np.where(values > 0.0, values, 1.0))
