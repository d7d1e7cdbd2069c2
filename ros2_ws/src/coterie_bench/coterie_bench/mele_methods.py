"""Trains and scores every aggregator on one trial: both splits, honest and with a liar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cam_aggregator.base import Aggregator, accuracy
from cam_aggregator.models import MODELS
from cam_aggregator.registry import accepted_options, make_aggregator
from cam_aggregator.splits import SPLITS, split
from coterie_core.answers import AnswerTable, FloatArray, IntArray

DEFAULT_METHODS: tuple[str, ...] = (
    "majority_vote",
    "confidence_vote",
    *MODELS,
    "cam_plus",
)


@dataclass(frozen=True, slots=True)
class Methods:
    """What is compared, and how thoroughly.

    `trees`: of the random forest (1000 in the paper). `liars`: positions of the malicious agent,
    one at a time; None: every position. `n_jobs`: threads for forest and boosting.
    """

    names: tuple[str, ...] = DEFAULT_METHODS
    splits: tuple[str, ...] = SPLITS
    trees: int = 1000
    liars: tuple[int, ...] | None = None
    n_jobs: int = 2


@dataclass(frozen=True, slots=True)
class Score:
    """One method on the test part of one trial."""

    split: str
    method: str
    malicious: bool
    liar: int
    accuracy: float
    n_test: int
    p_yes: FloatArray = field(repr=False)
    test: IntArray = field(repr=False)


def build(name: str, table: AnswerTable, seed: int, methods: Methods) -> Aggregator:
    """Return an aggregator with the options it knows of: seed, trees, threads, vocabulary.

    The vocabulary is that of all questions of the house, as the paper encodes them.
    """
    wanted: Mapping[str, Any] = {
        "seed": seed,
        "trees": methods.trees,
        "n_jobs": methods.n_jobs,
        "vocabulary": (table.objects, table.rooms),
    }
    options = {k: wanted[k] for k in accepted_options(name) if k in wanted}
    return make_aggregator(name, **options)


def fitted(
    name: str, table: AnswerTable, train: IntArray, seed: int, methods: Methods
) -> Aggregator:
    """Return a trained aggregator: on labels of the training part, or on all answers without any.

    A label-free method may look at the answers to test questions, as it would at home; the truth
    it is given is blank.
    """
    aggregator = build(name, table, seed, methods)
    aggregator.fit(table.take(train) if aggregator.needs_labels else without_truth(table))
    return aggregator


def without_truth(table: AnswerTable) -> AnswerTable:
    """Return the table with every truth set to NO, so that nothing can be learned from it."""
    from dataclasses import replace

    return replace(table, truth=np.zeros(len(table), dtype=bool))


def score_trial(table: AnswerTable, seed: int, methods: Methods) -> Iterator[Score]:
    """Yield the score of every method on both splits, honest and for each malicious agent.

    The malicious agent lies in training too, as in MELE, section 4.3.
    """
    count = len(table.agents)
    liars = tuple(range(count)) if methods.liars is None else methods.liars
    for kind in methods.splits:
        train, test = split(table, kind, seed)
        for liar in (-1, *(k for k in liars if k < count)):
            told = table if liar < 0 else table.invert(table.agents[liar])
            asked = told.take(test)
            for name in methods.names:
                aggregator = fitted(name, told, train, seed, methods)
                p = aggregator.p_yes(asked)
                right = accuracy(table.truth[test], p)
                yield Score(kind, name, liar >= 0, liar, right, len(test), p, test)
