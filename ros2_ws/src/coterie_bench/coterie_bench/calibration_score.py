"""Scores how well stated confidence fits: error, mean, and what is said with near certainty."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cam_aggregator.base import Aggregator
from cam_aggregator.calibration import calibration_error, reliability
from cam_aggregator.folds import folds_by_group
from cam_aggregator.registry import make_aggregator
from coterie_bench.calibration_data import Exploration
from coterie_bench.mele_methods import Methods, build, without_truth
from coterie_core.answers import AnswerTable, BoolArray, FloatArray
from coterie_core.confidence import ConfidenceModel

BINS = 10
"""Bins of equal mass."""
CERTAIN = 0.99
DEBATED = 10
"""Of how many questions larger teams debate one: fifty robots take 150 turns each time."""
FOLDS = 5
SINGLE = "one robot"
UNTRAINED = ("confidence_vote", "debate", "majority_vote", "dawid_skene", "one_coin")
TRAINED = (
    *("cam_plus", "cam_plus_no_twin", "decision_tree", "xgboost", "random_forest"),
    *("logistic_regression", "svm_linear", "svm_rbf", "neural_network"),
)
SPLITS = ("random", "grouped")

ModelOf = Callable[[Exploration], ConfidenceModel]


@dataclass(slots=True)
class Told:
    """All that a method said under one condition: P(yes) and the truth."""

    p: list[FloatArray] = field(default_factory=list)
    truth: list[BoolArray] = field(default_factory=list)

    def add(self, p: FloatArray, truth: BoolArray) -> None:
        """Add answers; those that were not given (NaN) count as wrong and unsure."""
        self.p.append(np.where(np.isnan(p), 0.5, p).ravel())
        self.truth.append(np.broadcast_to(truth, p.shape).ravel())


@dataclass(frozen=True, slots=True)
class Score:
    """A row of the table. Shares and probabilities 0..1; `curve` is that of `reliability`."""

    houses: str
    method: str
    robots: int
    liar: bool
    split: str
    answers: int
    accuracy: float
    confidence: float
    error: float
    noise: float
    certain: float
    certain_right: float
    curve: tuple[tuple[float, float, float], ...] = field(repr=False, default=())


Key = tuple[str, str, int, bool, str]


def scores(told: Mapping[Key, Told]) -> list[Score]:
    """Return the figures of each condition."""
    found = []
    for key, one in told.items():
        p, truth = np.concatenate(one.p), np.concatenate(one.truth)
        sure = np.maximum(p, 1.0 - p)
        right = (p > 0.5) == truth
        certain = sure >= CERTAIN
        found.append(
            Score(
                *key,
                answers=len(p),
                accuracy=float(right.mean()),
                confidence=float(sure.mean()),
                error=calibration_error(truth, p, BINS),
                noise=noise_of(p),
                certain=float(certain.mean()),
                certain_right=float(right[certain].mean()) if certain.any() else float("nan"),
                curve=tuple(reliability(truth, p, BINS)),
            )
        )
    return found


def noise_of(p: FloatArray, draws: int = 20) -> float:
    """Return the mean calibration error that these probabilities would have were they all true."""
    rng = np.random.default_rng(0)
    return float(
        np.mean([calibration_error(rng.random(len(p)) < p, p, BINS) for _ in range(draws)])
    )


def untrained(
    runs: Sequence[Exploration], model_of: ModelOf, houses: str, sizes: Sequence[int]
) -> dict[Key, Told]:
    """Let single robots and methods without labels answer, honest and with one liar."""
    told: dict[Key, Told] = {}

    def add(key: Key, p: FloatArray, truth: BoolArray) -> None:
        told.setdefault(key, Told()).add(p, truth)

    for run in runs:
        model = model_of(run)
        for size in sizes:
            if not _fits(run, size, sizes):
                continue
            table = run.table(model, size)
            if size == min(sizes):
                add((houses, SINGLE, 1, False, ""), table.p_yes, table.truth[:, None])
            for liar, answers in _honest_and_lying(table, run.seed):
                for name in UNTRAINED:
                    asked = answers
                    if name == "debate" and len(answers.agents) > min(sizes):
                        asked = answers.take(range(0, len(answers), DEBATED))
                    method = make_aggregator(name, confidence=model)
                    method.fit(without_truth(asked))
                    add((houses, name, size, liar, ""), method.p_yes(asked), asked.truth)
    return told


def trained(
    runs: Sequence[Exploration],
    model_of: ModelOf,
    houses: str,
    sizes: Sequence[int],
    names: Sequence[str] = TRAINED,
    trees: int = 200,
) -> dict[Key, Told]:
    """Train on four fifths of each house's questions and answer the rest, five times."""
    told: dict[Key, Told] = {}
    methods = Methods(trees=trees)
    for run in runs:
        model = model_of(run)
        for size in (s for s in sizes if _fits(run, s, sizes)):
            for liar, table in _honest_and_lying(run.table(model, size), run.seed):
                for split in SPLITS:
                    groups = table.groups if split == "grouped" else table.questions
                    fold = folds_by_group(groups, run.seed, FOLDS)
                    for name in names:
                        key = (houses, name, size, liar, split)
                        for p, truth in _cross_validated(name, table, fold, run.seed, methods):
                            told.setdefault(key, Told()).add(p, truth)
    return told


def _cross_validated(
    name: str, table: AnswerTable, fold: np.ndarray, seed: int, methods: Methods
) -> Iterator[tuple[FloatArray, BoolArray]]:
    for k in range(int(fold.max()) + 1):
        test = fold == k
        aggregator: Aggregator = build(name, table, seed, methods)
        aggregator.fit(table.take(~test))
        part = table.take(test)
        yield aggregator.p_yes(part), part.truth


def _honest_and_lying(table: AnswerTable, seed: int) -> Iterator[tuple[bool, AnswerTable]]:
    yield False, table
    if len(table.agents) >= 3:
        yield True, table.invert(table.agents[seed % len(table.agents)])


def _fits(run: Exploration, size: int, sizes: Sequence[int]) -> bool:
    """Tell whether a run has a team of this size; a crowd is as many as the house could take."""
    return run.robots >= size or (size == max(sizes) and size > 10 and run.robots > 10)
