"""Trains and scores every aggregator on one trial: both splits, honest and with a liar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cam_aggregator.base import Aggregator, accuracy
from cam_aggregator.cam import MODELS
from cam_aggregator.cam_plus import DEFAULT_GROUPS
from cam_aggregator.features import TWIN
from cam_aggregator.registry import accepted_options, make_aggregator
from coterie_core.answer_table import AnswerTable, FloatArray, IntArray
from coterie_fixtures.aggregator_measures import SPLITS, split

NO_TWIN = "cam_plus_no_twin"
"""CAM+ without what labels of the same object say (feature group `twin` off)."""

DEFAULT_METHODS: tuple[str, ...] = (
    "majority_vote",
    "debate",
    "confidence_vote",
    *MODELS,
    "cam_plus",
    NO_TWIN,
    "dawid_skene",
    "one_coin",
)


@dataclass(frozen=True, slots=True)
class Methods:
    """What is compared, and how thoroughly.

    `trees`: of the random forest (1000 in the paper). `liars`: positions of the malicious agent,
    one at a time; None: every position. `extras`: also agreement, importance, curves, ...
    `bare`: CAM models whose confidence nobody asks for; calibrating it takes eight more trainings
    and changes no answer.
    """

    names: tuple[str, ...] = DEFAULT_METHODS
    splits: tuple[str, ...] = SPLITS
    trees: int = 1000
    liars: tuple[int, ...] | None = None
    extras: bool = True
    bare: tuple[str, ...] = tuple(name for name in MODELS if name != "xgboost")


@dataclass(frozen=True, slots=True)
class Score:
    """One method on the test part of one trial: the questions `test` (T,).

    `p_yes` (T,): above one half where it answers YES; `confidence` (T,): stated that it is right.
    """

    split: str
    method: str
    liar: int
    accuracy: float
    p_yes: FloatArray = field(repr=False)
    confidence: FloatArray = field(repr=False)
    test: IntArray = field(repr=False)


def build(name: str, table: AnswerTable, seed: int, methods: Methods) -> Aggregator:
    """Return an aggregator with the options it knows of: seed, trees, vocabulary.

    The vocabulary is that of all questions of the house, as the paper encodes them.
    """
    wanted: dict[str, Any] = {
        "seed": seed,
        "trees": methods.trees,
        "vocabulary": (table.objects, table.rooms),
    }
    if name in methods.bare:
        wanted["calibration"] = "none"
    if name == NO_TWIN:
        name = "cam_plus"
        wanted["groups"] = tuple(group for group in DEFAULT_GROUPS if group != TWIN)
    options = {k: wanted[k] for k in accepted_options(name) if k in wanted}
    return make_aggregator(name, **options)


def fitted(
    name: str, table: AnswerTable, train: IntArray, seed: int, methods: Methods
) -> Aggregator:
    """Return a trained aggregator: on labels of the training part, or on all answers without any.

    A label-free method sees the answers to the test questions too, as it would at home; the truth
    it is given is blank.
    """
    aggregator = build(name, table, seed, methods)
    aggregator.fit(table.take(train) if aggregator.needs_labels else without_truth(table))
    return aggregator


def without_truth(table: AnswerTable) -> AnswerTable:
    """Return the table with every truth set to NO, so that nothing can be learned from it."""
    return replace(table, truth=np.zeros(len(table), dtype=bool))


def score_trial(table: AnswerTable, seed: int, methods: Methods) -> Iterator[Score]:
    """Yield the score of every method on both splits, honest (liar -1) and for each liar.

    The malicious agent lies in training too, as in MELE, section 4.3.
    """
    count = len(table.agents)
    liars = tuple(range(count)) if methods.liars is None else methods.liars
    splits = {kind: split(table, kind, seed) for kind in methods.splits}
    for liar in (-1, *(k for k in liars if k < count and count > 1)):
        told = table if liar < 0 else table.invert(table.agents[liar])
        shared: dict[str, Aggregator] = {}
        for kind, (train, test) in splits.items():
            for name in methods.names:
                aggregator = shared.get(name) or fitted(name, told, train, seed, methods)
                if not aggregator.needs_labels:
                    shared[name] = aggregator
                part = told.take(test)
                p = aggregator.p_yes(part)
                sure = aggregator.confidence(part, p)
                yield Score(kind, name, liar, accuracy(table.truth[test], p), p, sure, test)
