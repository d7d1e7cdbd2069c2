"""CAM+: a central answer model on evidence, rooms, priors and, if wanted, known labels of twins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from cam_aggregator.base import Aggregator, AggregatorError
from cam_aggregator.calibration import Calibration
from cam_aggregator.features import (
    GROUPS,
    TWIN,
    TrainingFacts,
    TwinFacts,
    as_lists,
    feature_names,
    features,
)
from cam_aggregator.folds import folds_by_group
from cam_aggregator.linear import LinearModel
from coterie_core.answer_table import AnswerTable, BoolArray, FloatArray, IntArray
from coterie_core.confidence import log_odds

DEFAULT_GROUPS: tuple[str, ...] = (*(group for group in GROUPS if group != "similar"), TWIN)
"""`similar` changed nothing on new objects of any house tried, and is off."""
_MOST_ROWS = 5000
STRENGTHS: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0)


class CamPlus(Aggregator):
    """Regularised logistic regression over what a robot can know, in two steps.

    Step 1 answers from evidence (who saw it, how well the room was looked at, where else it was
    seen), common sense and the rooms, and never from labels of the asked object.
    Its regularisation is chosen by cross-validation that keeps objects together. Step 2 (`twin`)
    applies only to objects with labels in training: it adds what those say. For a new object, and
    with the group switched off, the answer is that of step 1.

    Works for unseen objects and rooms (their rates fall back to the house's), and for any number
    of missing answers. Probabilities are calibrated on out-of-fold predictions (Platt).

    Args:
        groups: Feature groups to use; see `features.GROUPS` and `features.TWIN`.
        seed: Of the folds.
        abstain_below: See Aggregator.
    """

    name: ClassVar[str] = "cam_plus"
    needs_labels: ClassVar[bool] = True

    def __init__(
        self,
        *,
        groups: Iterable[str] = DEFAULT_GROUPS,
        seed: int = 0,
        abstain_below: float = 0.0,
    ) -> None:
        super().__init__(abstain_below=abstain_below)
        self.groups = tuple(dict.fromkeys(groups))
        self.columns = feature_names(self.groups)
        self.seed = seed
        self.house = ""
        self.trained_on = 0
        self.strength = 1.0
        self.facts: TrainingFacts | None = None
        self.first: LinearModel | None = None
        self.calibration = Calibration()
        self.second: LinearModel | None = None

    def fit(self, table: AnswerTable | None) -> None:
        """Train on a table with truth.

        Raises:
            AggregatorError: There are no labelled questions.
        """
        if table is None or len(table) == 0:
            raise AggregatorError(
                f"{self.name} needs labelled questions to be trained on, got none"
            )
        self.agents, self.house, self.trained_on = table.agents, table.house, len(table)
        self.facts = TrainingFacts.of(table)
        inputs = features(table, self.facts, self.columns)
        fold = folds_by_group(table.groups, self.seed)
        held_out = {c: _held_out(inputs, table.truth, fold, c) for c in STRENGTHS}
        self.strength = min(STRENGTHS, key=lambda c: (_loss(table.truth, held_out[c]), c))
        self.first = LinearModel.trained(inputs, table.truth, self.strength)
        self.calibration = Calibration.of(held_out[self.strength], table.truth, "platt")
        self.second = None
        if TWIN in self.groups:
            twin = TwinFacts.of(table, self.facts, training=True)
            known = twin.counts > 0
            if known.sum() >= 10 and len(set(table.truth[known].tolist())) == 2:
                rows = _second_inputs(held_out[self.strength], twin)[known]
                self.second = LinearModel.trained(rows, table.truth[known], 1.0)

    def p_yes(self, table: AnswerTable) -> FloatArray:
        """Return P(yes) of each question (N,)."""
        table = self.aligned(table)
        if self.facts is None or self.first is None:
            raise AggregatorError(f"{self.name} is not trained; call fit with labels first")
        p = self.first.probability(features(table, self.facts, self.columns))
        if self.second is not None:
            twin = TwinFacts.of(table, self.facts, training=False)
            known = twin.counts > 0
            both = self.second.probability(_second_inputs(p, twin))
            return np.where(known, both, self.calibration.apply(p))
        return self.calibration.apply(p)

    def state(self) -> dict[str, Any]:
        """Return all that was learned as plain data for a file.

        Raises:
            AggregatorError: It is not trained.
        """
        if self.facts is None or self.first is None:
            raise AggregatorError(f"{self.name} is not trained; call fit with labels first")
        return {
            "groups": list(self.groups),
            "columns": list(self.columns),
            "strength": self.strength,
            "facts": as_lists(self.facts),
            "first": self.first.as_lists(),
            "calibration": self.calibration.as_lists(),
            "second": None if self.second is None else self.second.as_lists(),
        }

    def weights(self, table: AnswerTable) -> FloatArray:
        """Return how far P(yes) would move without that robot's answer (N, K)."""
        table = self.aligned(table)
        n, k = table.answers.shape
        moved = np.zeros((n, k))
        if k == 0:
            return moved
        p = self.p_yes(table)
        block = max(1, _MOST_ROWS // k)
        for start in range(0, n, block):
            rows = np.arange(start, min(start + block, n))
            # Every question K times, each time with another robot silent.
            silent = table.take(np.repeat(rows, k))
            present = silent.present.copy()
            present[np.arange(len(rows) * k), np.tile(np.arange(k), len(rows))] = False
            alone = self.p_yes(replace(silent, present=present)).reshape(len(rows), k)
            moved[rows] = np.abs(alone - p[rows, None])
        return np.where(table.present, moved, 0.0)


def _held_out(inputs: FloatArray, truth: BoolArray, fold: IntArray, strength: float) -> FloatArray:
    """Return the predictions for each question by a model that was trained on other folds."""
    p = np.full(len(truth), 0.5)
    for k in range(int(fold.max()) + 1):
        test = fold == k
        if test.any() and not test.all():
            model = LinearModel.trained(inputs[~test], truth[~test], strength)
            p[test] = model.probability(inputs[test])
    return p


def _second_inputs(p: FloatArray, twin: TwinFacts) -> FloatArray:
    return np.column_stack([log_odds(p), twin.inputs])


def _loss(truth: BoolArray, p: FloatArray) -> float:
    """Return the mean log-loss."""
    q = np.clip(np.where(truth, p, 1.0 - p), 1e-6, 1.0)
    return float(-np.log(q).mean())
