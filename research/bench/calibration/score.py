"""Scores how well stated confidence fits: error, mean, and what is said with near certainty."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from cam_aggregator.base import Aggregator
from cam_aggregator.cam import MODELS
from cam_aggregator.folds import folds_by_group
from cam_aggregator.registry import make_aggregator
from coterie_core.answer_table import AnswerTable, BoolArray, FloatArray
from coterie_core.confidence import ConfidenceModel
from coterie_fixtures.aggregator_measures import calibration_error, reliability
from research.bench.calibration.data import Exploration
from research.bench.mele.methods import NO_TWIN, Methods, build, without_truth

BINS = 10
"""Bins of equal mass."""
CERTAIN = 0.99
DEBATED = 4
"""Of how many questions larger teams debate one: fifty robots take 150 turns each time."""
FOLDS = 3
LEAST_CROWD = 11
"""Robots that a house has to take for a crowd of it to count."""
SINGLE = "one robot"
UNTRAINED = (
    *("confidence_vote", "majority_vote", "debate"),
    *("dawid_skene", "one_coin", "glad", "mace"),
)
TRAINED = ("cam_plus", NO_TWIN, *MODELS)
SLOW = ("glad", "mace", "random_forest", "neural_network")
"""Methods that take seconds for each house: they get a part of the houses."""
SPLITS = ("random", "grouped")


@dataclass(slots=True)
class Told:
    """All that a method said under one condition: its confidence, and whether it was right."""

    confidence: list[FloatArray] = field(default_factory=list)
    right: list[BoolArray] = field(default_factory=list)
    houses: set[str] = field(default_factory=set)

    def add(self, house: str, confidence: FloatArray, right: BoolArray) -> None:
        """Add what was said of one house; answers that were not given (NaN) are left out."""
        given = ~np.isnan(confidence)
        self.confidence.append(confidence[given])
        self.right.append(right[given])
        self.houses.add(house)


@dataclass(frozen=True, slots=True)
class Score:
    """A row of the table. Shares and probabilities 0..1; `curve` is that of `reliability`."""

    houses: str
    method: str
    robots: int
    liar: bool
    split: str
    tested_on: int
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
        sure, right = np.concatenate(one.confidence), np.concatenate(one.right)
        certain = sure >= CERTAIN
        found.append(
            Score(
                *key,
                tested_on=len(one.houses),
                answers=len(sure),
                accuracy=float(right.mean()),
                confidence=float(sure.mean()),
                error=calibration_error(right, sure, BINS),
                noise=noise_of(sure),
                certain=float(certain.mean()),
                certain_right=float(right[certain].mean()) if certain.any() else float("nan"),
                curve=tuple(reliability(right, sure, BINS)),
            )
        )
    return found


def noise_of(confidence: FloatArray, draws: int = 20) -> float:
    """Return the mean calibration error that these confidences would have were they all true."""
    rng = np.random.default_rng(0)
    drawn = (rng.random(len(confidence)) < confidence for _ in range(draws))
    return float(np.mean([calibration_error(right, confidence, BINS) for right in drawn]))


@dataclass(frozen=True, slots=True)
class Exam:
    """Questions about one exploration, put to some methods.

    `sizes` of teams; `liars`: teams of at least three answer with a liar, too.
    """

    run: Exploration
    numbers: ConfidenceModel
    sizes: tuple[int, ...]
    names: tuple[str, ...]
    liars: bool = True

    def teams(self) -> Iterator[tuple[int, bool, AnswerTable]]:
        """Yield size, whether one lies, and answers; a crowd is as many as the house could take."""
        for size in self.sizes:
            if self.run.robots < min(size, LEAST_CROWD):
                continue
            table = self.run.table(self.numbers, size)
            yield size, False, table
            if self.liars and len(table.agents) >= 3:
                yield size, True, table.invert(table.agents[self.run.seed % len(table.agents)])

    @property
    def houses(self) -> str:
        """Which kind of houses this is one of."""
        return "generated" if self.run.generated else "files"


def held(exam: Exam, trees: int = 30) -> list[tuple[Key, Told]]:
    """Return what methods, and single robots, say under each condition.

    Methods that need labels are trained on two thirds of the house's questions and answer the rest,
    three times.
    """
    told = []
    methods = Methods(trees=trees, bare=())
    run = exam.run
    for size, liar, table in exam.teams():
        for name in exam.names:
            if name == SINGLE:
                if size == min(exam.sizes) and not liar:
                    right = (table.answers == table.truth[:, None]).ravel()
                    one = _told(run.house, table.confidence.ravel(), right)
                    told.append(((exam.houses, name, 1, False, ""), one))
            elif name in TRAINED:
                for split in SPLITS:
                    groups = table.groups if split == "grouped" else table.questions
                    fold = folds_by_group(groups, run.seed, FOLDS)
                    for k in range(int(fold.max()) + 1):
                        method = build(name, table, run.seed, methods)
                        method.fit(table.take(fold != k))
                        one = _answered(method, run.house, table.take(fold == k))
                        told.append(((exam.houses, name, size, liar, split), one))
            else:
                asked = table
                if name == "debate" and len(table.agents) > LEAST_CROWD:
                    asked = table.take(range(0, len(table), DEBATED))
                method = make_aggregator(name, confidence=exam.numbers)
                method.fit(without_truth(asked))
                told.append(
                    ((exam.houses, name, size, liar, ""), _answered(method, run.house, asked))
                )
    return told


def together(parts: Iterable[tuple[Key, Told]]) -> dict[Key, Told]:
    """Return all that was said under each condition."""
    told: dict[Key, Told] = {}
    for key, part in parts:
        whole = told.setdefault(key, Told())
        whole.confidence += part.confidence
        whole.right += part.right
        whole.houses |= part.houses
    return told


def _told(house: str, confidence: FloatArray, right: BoolArray) -> Told:
    one = Told()
    one.add(house, confidence, right)
    return one


def _answered(method: Aggregator, house: str, table: AnswerTable) -> Told:
    p = method.p_yes(table)
    return _told(house, method.confidence(table, p), (p > 0.5) == table.truth)
