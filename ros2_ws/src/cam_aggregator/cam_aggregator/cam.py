"""CAM: a classifier that answers from the question and the robots' answers, for one house."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable
from typing import Any, ClassVar, Protocol, cast

import numpy as np

from cam_aggregator.base import Aggregator, AggregatorError
from cam_aggregator.calibration import KINDS, Calibration, Kind
from cam_aggregator.encoding import Codes, paper_inputs
from cam_aggregator.folds import folds_by_group
from coterie_core.answer_table import AnswerTable, BoolArray, FloatArray, IntArray

MODELS: tuple[str, ...] = (
    "neural_network",
    "random_forest",
    "decision_tree",
    "xgboost",
    "svm_rbf",
    "svm_linear",
    "logistic_regression",
)
"""Names in the order of the paper's Table 1."""


class Classifier(Protocol):
    """What the libraries' classifiers have in common here."""

    classes_: Any

    def fit(self, X: FloatArray, y: Any) -> Any:
        """Train on inputs (N, F) and classes (N,)."""

    def predict(self, X: FloatArray) -> Any:
        """Return the class of each row."""


def make_classifier(name: str, seed: int, *, trees: int = 1000, n_jobs: int = 1) -> Classifier:
    """Return an untrained classifier.

    `neural_network` is scikit-learn's MLPClassifier in place of PyTorch (too heavy to ship): three
    linear layers of 16, 8 and 1 outputs, ReLU between them, a sigmoid at the end, trained by Adam
    (step 1e-3, batches of up to 200, at most 200 epochs) on the cross-entropy with its default
    weight decay of 1e-4. The paper states the layers and the sigmoid; the rest is the library's
    default. `svm_linear` is SVC with a linear kernel, `xgboost` XGBClassifier; both with their
    libraries' defaults, like all others.

    Args:
        name: One of MODELS.
        seed: Of everything random in the model.
        trees: Of the random forest; the paper has 1000.
        n_jobs: Threads for random forest and XGBoost. Results do not depend on it.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier
    from xgboost import XGBClassifier

    if name == "neural_network":
        model: Any = MLPClassifier(hidden_layer_sizes=(16, 8), random_state=seed)
    elif name == "random_forest":
        model = RandomForestClassifier(n_estimators=trees, random_state=seed, n_jobs=n_jobs)
    elif name == "decision_tree":
        model = DecisionTreeClassifier(random_state=seed)
    elif name == "xgboost":
        model = XGBClassifier(random_state=seed, n_jobs=n_jobs)
    elif name == "svm_rbf":
        model = SVC(kernel="rbf", random_state=seed)
    elif name == "svm_linear":
        model = SVC(kernel="linear", random_state=seed)
    elif name == "logistic_regression":
        model = LogisticRegression(random_state=seed)
    else:
        raise ValueError(f"no CAM model named {name!r}; models: {', '.join(MODELS)}")
    return cast(Classifier, model)


def fit_classifier(model: Classifier, inputs: FloatArray, truth: BoolArray) -> None:
    """Train; warnings about the default number of iterations are expected and not shown.

    On unscaled codes the paper's networks and regressions often stop before they converge.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(inputs, truth.astype(int))


def positive_score(model: Classifier, inputs: FloatArray) -> FloatArray:
    """Return a score of YES in 0..1 (N,): above 0.5 exactly where the model predicts YES.

    The SVMs have no probability: theirs is the sigmoid of the signed distance to the margin.
    """
    any_model = cast(Any, model)
    if hasattr(any_model, "predict_proba"):
        return np.asarray(any_model.predict_proba(inputs), dtype=float)[:, 1]
    distance = np.asarray(any_model.decision_function(inputs), dtype=float)
    return 0.5 * (1.0 + np.tanh(0.5 * distance))


_MOST_FILLINGS = 64
_MOST_ROWS = 5000
_FOLDS = 4
_CALIBRATION_TREES = 100


class CentralAnswerModel(Aggregator):
    """CAM of MELE, section 3.4.2: one of seven classifiers on [object, room, s_1..s_K].

    With complete answers it is the paper's model to the letter. Where an answer is missing the
    prediction is averaged over both values it could have, weighted by how often that robot said
    yes in training. In training a missing answer has a value of its own (-1).

    Args:
        seed: Of the classifier.
        trees: Of the random forest.
        n_jobs: Threads of random forest and XGBoost.
        vocabulary: Object labels and room names of the house, if known beyond those of the
            training questions (the paper encodes all questions before it splits them).
        calibration: How its confidence is found, on folds held out of the training: "confidence"
            leaves every answer as the paper's model gives it and says how often such answers were
            right, apart for objects that have labels in training and for others (eight more
            trainings); "platt" and "isotonic" may move answers too; "none": the bare scores.
        abstain_below: See Aggregator.
    """

    name: ClassVar[str] = "cam"
    model_name: ClassVar[str]
    needs_labels: ClassVar[bool] = True

    def __init__(
        self,
        *,
        seed: int = 0,
        trees: int = 1000,
        n_jobs: int = 1,
        vocabulary: tuple[Iterable[str], Iterable[str]] | None = None,
        calibration: Kind = "confidence",
        abstain_below: float = 0.0,
    ) -> None:
        super().__init__(abstain_below=abstain_below)
        if calibration not in KINDS:
            raise ValueError(f"no calibration named {calibration!r}; kinds: {', '.join(KINDS)}")
        self.calibration: Kind = calibration
        self.calibrated = Calibration()
        self.calibrated_known = Calibration()
        self.known_objects: frozenset[str] = frozenset()
        self.seed = seed
        self.trees = trees
        self.n_jobs = n_jobs
        self.vocabulary = vocabulary
        self.house = ""
        self.trained_on = 0
        self.objects = Codes(())
        self.rooms = Codes(())
        self.yes_rate: FloatArray = np.zeros(0)
        self.constant: float | None = None
        self._model: Classifier | None = None

    @property
    def model(self) -> Any:
        """The trained classifier.

        Raises:
            AggregatorError: It is not trained, or all its training labels were alike.
        """
        if self._model is None:
            why = "its labels were all alike" if self.trained_on else "call fit with labels first"
            raise AggregatorError(f"{self.name} has no trained classifier: {why}")
        return self._model

    def fit(self, table: AnswerTable | None) -> None:
        """Train on a table with truth; see `Aggregator.fit`.

        Raises:
            AggregatorError: There are no labelled questions.
        """
        if table is None or len(table) == 0:
            raise AggregatorError(
                f"{self.name} needs labelled questions to be trained on, got none"
            )
        extra_objects, extra_rooms = self.vocabulary or ((), ())
        self.objects = Codes.of((*table.objects, *extra_objects))
        self.rooms = Codes.of((*table.rooms, *extra_rooms))
        self.agents, self.house, self.trained_on = table.agents, table.house, len(table)
        given = table.present.sum(axis=0)
        self.yes_rate = ((table.answers & table.present).sum(axis=0) + 1.0) / (given + 2.0)
        self.constant = float(table.truth[0]) if len(set(table.truth.tolist())) == 1 else None
        self._model = None
        if self.constant is None:
            self._model = make_classifier(
                self.model_name, self.seed, trees=self.trees, n_jobs=self.n_jobs
            )
            fit_classifier(self._model, self.inputs(table), table.truth)
            self.known_objects = frozenset(table.objects)
            groups = folds_by_group(table.groups, self.seed, _FOLDS)
            self.calibrated = self._calibration(table, groups)
            single = folds_by_group(table.questions, self.seed, _FOLDS)
            self.calibrated_known = self._calibration(table, single)

    def _calibration(self, table: AnswerTable, fold: IntArray) -> Calibration:
        """Return the curve that fits scores of questions whose fold was left out."""
        if self.calibration == "none":
            return Calibration()
        inputs = self.inputs(table)
        scores = np.full(len(table), np.nan)
        trees = min(self.trees, _CALIBRATION_TREES)
        for k in range(int(fold.max()) + 1):
            test = fold == k
            if len(set(table.truth[~test].tolist())) == 2 and test.any():
                model = make_classifier(self.model_name, self.seed, trees=trees)
                fit_classifier(model, inputs[~test], table.truth[~test])
                scores[test] = positive_score(model, inputs[test])
        known = ~np.isnan(scores)
        return Calibration.of(scores[known], table.truth[known], self.calibration)

    def inputs(self, table: AnswerTable) -> FloatArray:
        """Return the inputs of the classifier (N, 2 + K)."""
        return paper_inputs(table, self.objects, self.rooms)

    def restore(self, model: Classifier | None) -> None:
        """Take over a classifier that was loaded from a file."""
        self._model = model

    def p_yes(self, table: AnswerTable) -> FloatArray:
        """Return P(yes) (N,): the classifier's score, calibrated."""
        if not self.trained_on:
            raise AggregatorError(f"{self.name} is not trained: call fit with labels first")
        table = self.aligned(table)
        if self.constant is not None:
            return np.full(len(table), self._constant_p())
        inputs = self.inputs(table)
        rows = [self._fillings(inputs[i], ~table.present[i]) for i in range(len(table))]
        scores = self._averaged(rows)
        known = np.array([thing in self.known_objects for thing in table.objects], dtype=bool)
        return np.where(known, self.calibrated_known.apply(scores), self.calibrated.apply(scores))

    def _constant_p(self) -> float:
        """Return P(yes) where all labels were alike: by the rule of succession."""
        sure = (self.trained_on + 1.0) / (self.trained_on + 2.0)
        return sure if self.constant else 1.0 - sure

    def weights(self, table: AnswerTable) -> FloatArray:
        """Return how far P(yes) would move if that robot had said the opposite (N, K)."""
        table = self.aligned(table)
        n, k = table.answers.shape
        if self.constant is not None or not n:
            return np.zeros((n, k))
        inputs = self.inputs(table)
        moved = np.zeros((n, k))
        block = max(1, _MOST_ROWS // (k + 1))
        for start in range(0, n, block):
            part = range(start, min(start + block, n))
            rows = []
            for i in part:
                values, share = self._fillings(inputs[i], ~table.present[i])
                rows.append((values, share))
                for j in range(k):
                    opposite = values.copy()
                    opposite[:, 2 + j] = 1.0 - opposite[:, 2 + j]
                    rows.append((opposite, share))
            p = self._averaged(rows).reshape(len(part), k + 1)
            moved[part.start : part.stop] = np.abs(p[:, 1:] - p[:, :1])
        return np.where(table.present, moved, 0.0)

    def _averaged(self, rows: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
        """Return one probability per entry (its input rows, their shares), in one prediction."""
        if not rows:
            return np.zeros(0)
        scores = positive_score(self.model, np.concatenate([values for values, _ in rows]))
        share = np.concatenate([share for _, share in rows])
        starts = np.cumsum([0, *(len(values) for values, _ in rows[:-1])])
        return np.add.reduceat(scores * share, starts)

    def _fillings(self, row: FloatArray, missing: np.ndarray) -> tuple[FloatArray, FloatArray]:
        """Return rows (M, 2 + K) with all values the missing answers could have, and their shares.

        With more than six missing answers it is a seeded sample of 64 of them.
        """
        columns = np.flatnonzero(missing)
        if not len(columns):
            return row[None, :], np.ones(1)
        rate = self.yes_rate[columns]
        if 2 ** len(columns) <= _MOST_FILLINGS:
            values = np.array(list(itertools.product((0.0, 1.0), repeat=len(columns))))
            share = np.prod(np.where(values > 0.5, rate, 1.0 - rate), axis=1)
        else:
            rng = np.random.default_rng([self.seed, len(columns)])
            values = (rng.random((_MOST_FILLINGS, len(columns))) < rate).astype(float)
            share = np.full(_MOST_FILLINGS, 1.0 / _MOST_FILLINGS)
        rows = np.repeat(row[None, :], len(values), axis=0)
        rows[:, columns + 2] = values
        return rows, share


class CamNeuralNetwork(CentralAnswerModel):
    """CAM with a network of three linear layers 16-8-1."""

    name = model_name = "neural_network"


class CamRandomForest(CentralAnswerModel):
    """CAM with a random forest of 1000 trees."""

    name = model_name = "random_forest"


class CamDecisionTree(CentralAnswerModel):
    """CAM with a decision tree."""

    name = model_name = "decision_tree"


class CamXGBoost(CentralAnswerModel):
    """CAM with XGBoost."""

    name = model_name = "xgboost"


class CamSvmRbf(CentralAnswerModel):
    """CAM with a support vector machine, RBF kernel."""

    name = model_name = "svm_rbf"


class CamSvmLinear(CentralAnswerModel):
    """CAM with a linear support vector machine."""

    name = model_name = "svm_linear"


class CamLogisticRegression(CentralAnswerModel):
    """CAM with logistic regression."""

    name = model_name = "logistic_regression"


CAM_CLASSES: tuple[type[CentralAnswerModel], ...] = (
    CamNeuralNetwork,
    CamRandomForest,
    CamDecisionTree,
    CamXGBoost,
    CamSvmRbf,
    CamSvmLinear,
    CamLogisticRegression,
)
