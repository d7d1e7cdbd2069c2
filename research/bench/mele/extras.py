"""The paper's further analyses on one trial: agreement, importance, team size, labels, and more."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cam_aggregator.base import accuracy
from cam_aggregator.registry import make_aggregator
from coterie_core.answer_table import AnswerTable
from coterie_fixtures.aggregator_measures import (
    agreement,
    calibration_error,
    forge,
    permutation_importance,
    selective,
    split,
    with_missing,
)
from research.bench.mele.houses import NoCommonSense, explore_house, oracle_house, richest_rooms
from research.bench.mele.methods import Methods, Score, fitted

AGREEMENT = ("xgboost", "majority_vote", "debate", "cam_plus")
CURVES = ("majority_vote", "confidence_vote", "xgboost", "cam_plus")
LEARNERS = ("decision_tree", "xgboost", "cam_plus")
MOST_AGENTS = 8
LABEL_SHARES = (0.1, 0.25, 0.5, 1.0)
MISSING = (0.0, 0.25, 0.5)
THRESHOLDS = (0.0, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of an analysis: which one, of what (`x` on its axis or its column), on a split."""

    analysis: str
    method: str
    split: str
    x: str
    value: float


def from_scores(
    table: AnswerTable, scores: Mapping[tuple[str, str, int], Score], methods: Methods
) -> Iterator[Measure]:
    """Yield what follows from scores that exist: agreement (Eq. 2), abstaining, calibration."""
    for (kind, name, liar), score in scores.items():
        if liar >= 0:
            continue
        asked, truth = table.take(score.test), table.truth[score.test]
        if name in AGREEMENT:
            for agent, share in zip(table.agents, agreement(asked, score.p_yes), strict=True):
                yield Measure("agreement", name, kind, agent, float(share))
        if name in ("cam_plus", "confidence_vote", "xgboost"):
            good = (score.p_yes > 0.5) == truth
            for below in THRESHOLDS:
                right, answered = selective(good, score.confidence, below)
                yield Measure("selective_accuracy", name, kind, f"{below:g}", right)
                yield Measure("selective_share", name, kind, f"{below:g}", answered)
            error = calibration_error(good, score.confidence)
            yield Measure("calibration_error", name, kind, "", error)
    for agent, right in zip(table.agents, table.accuracy(), strict=True):
        yield Measure("agent_accuracy", "agent", "all", agent, float(right))
    vote = accuracy(table.truth, make_aggregator("majority_vote").p_yes(table))
    yield Measure("agent_accuracy", "majority_vote", "all", "all", vote)
    for name, value in ceilings(table).items():
        yield Measure("ceiling", name, "all", "", value)


def ceilings(table: AnswerTable) -> dict[str, float]:
    """Return what no function of some inputs can exceed on this very bank (accuracies, 0..1).

    Each is the accuracy of the best answer per cell of inputs, chosen with the truth in hand: an
    upper bound, reached by no method that has to learn. "answers": number of YES among the agents;
    "room"; "room and answers": all that CAM is told, except the object, which in the bank is as
    often YES as NO.
    """
    yes = [int(v) for v in (table.answers & table.present).sum(axis=1)]
    return {
        "answers": _best(yes, table),
        "room": _best(table.rooms, table),
        "room and answers": _best(list(zip(table.rooms, yes, strict=True)), table),
    }


def _best(cells: Sequence[object], table: AnswerTable) -> float:
    counts: dict[object, list[int]] = defaultdict(lambda: [0, 0])
    for cell, truth in zip(cells, table.truth, strict=True):
        counts[cell][int(truth)] += 1
    return sum(max(pair) for pair in counts.values()) / len(table)


def importance(table: AnswerTable, seed: int, methods: Methods) -> Iterator[Measure]:
    """Yield the permutation importance (Eq. 3) of each input, on the random split's test part."""
    train, test = split(table, "random", seed)
    for name in ("decision_tree", "xgboost", "cam_plus"):
        aggregator = fitted(name, table, train, seed, methods)
        values = permutation_importance(aggregator.p_yes, table.take(test), seed=seed)
        for column, value in values.items():
            yield Measure("importance", name, "random", column, value)


def robustness(table: AnswerTable, seed: int, methods: Methods) -> Iterator[Measure]:
    """Yield accuracy with a robot that forges its evidence too, and with answers missing."""
    for kind in methods.splits:
        train, test = split(table, kind, seed)
        truth = table.truth[test]
        for name in CURVES:
            if len(table.agents) > 1:
                told = forge(table, table.agents[0])
                p = fitted(name, told, train, seed, methods).p_yes(told.take(test))
                yield Measure("forged_evidence", name, kind, table.agents[0], accuracy(truth, p))
            aggregator = fitted(name, table, train, seed, methods)
            for share in MISSING:
                p = aggregator.p_yes(with_missing(table.take(test), share, seed))
                yield Measure("missing_answers", name, kind, f"{share:g}", accuracy(truth, p))


def label_curve(table: AnswerTable, seed: int, methods: Methods) -> Iterator[Measure]:
    """Yield accuracy against the share of the training labels that is used."""
    for kind in methods.splits:
        train, test = split(table, kind, seed)
        order = np.random.default_rng([seed, 17]).permutation(train)
        for share, name in itertools.product(LABEL_SHARES, LEARNERS):
            part = np.sort(order[: max(4, round(share * len(order)))])
            p = fitted(name, table, part, seed, methods).p_yes(table.take(test))
            value = accuracy(table.truth[test], p)
            yield Measure("labels", name, kind, f"{share:g}", value)


def team_curve(
    directory: Path, scan: str, seed: int, steps: int, methods: Methods
) -> Iterator[Measure]:
    """Yield accuracy of teams of 1..8 robots: the first k of one exploration with eight."""
    table = explore_house(directory, scan, seed, MOST_AGENTS, steps).table
    for k in range(1, MOST_AGENTS + 1):
        team = table.with_agents(table.agents[:k])
        for kind in methods.splits:
            train, test = split(team, kind, seed)
            for name in CURVES:
                p = fitted(name, team, train, seed, methods).p_yes(team.take(test))
                value = accuracy(team.truth[test], p)
                yield Measure("agents", name, kind, str(k), value)


def observations_only(
    directory: Path, scan: str, seed: int, agents: int, steps: int, methods: Methods
) -> Iterator[Measure]:
    """Yield accuracies where robots say YES only of what they saw, as the paper's nearly did."""
    table = explore_house(directory, scan, seed, agents, steps, NoCommonSense()).table
    for kind in methods.splits:
        train, test = split(table, kind, seed)
        for name in ("majority_vote", *LEARNERS):
            p = fitted(name, table, train, seed, methods).p_yes(table.take(test))
            yield Measure("observations_only", name, kind, "", accuracy(table.truth[test], p))


def oracle(directory: Path, scan: str, seed: int, methods: Methods) -> Iterator[Measure]:
    """Yield the importances of Table 3: robots that know one room each, questions on one room.

    The four rooms with most kinds of objects stand for the paper's kitchen, dining room, bedroom
    and office. A room with fewer than ten questions is left out.
    """
    rooms = richest_rooms(directory, scan, 4)
    everything = oracle_house(directory, scan, seed, rooms)
    for room in rooms:
        asked = [i for i, name in enumerate(everything.rooms) if name == room]
        table = everything.take(asked)
        if len(table) < 10 or len(set(table.truth.tolist())) < 2:
            continue
        train, test = split(table, "random", seed)
        if len(set(table.truth[train].tolist())) < 2:
            continue
        aggregator = fitted("decision_tree", table, train, seed, methods)
        values = permutation_importance(aggregator.p_yes, table.take(test), seed=seed)
        for column, value in values.items():
            if column != "room":  # all questions are on this one
                yield Measure(f"oracle: {room}", "decision_tree", "random", column, value)
