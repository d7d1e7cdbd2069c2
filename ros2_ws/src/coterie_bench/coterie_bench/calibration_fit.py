"""Fits the numbers of `confidence.yaml`: robots' models, what robots share, methods' confidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cam_aggregator.base import Aggregator
from cam_aggregator.registry import make_aggregator
from coterie_bench.calibration_data import Exploration
from coterie_bench.mele_methods import without_truth
from coterie_core.answers import AnswerTable, BoolArray, FloatArray
from coterie_core.confidence import (
    FLOOR,
    ConfidenceModel,
    DetectorModel,
    PriorModel,
    StatedConfidence,
    TeamModel,
    observed,
    probability,
    shared_prior,
)

STATED_METHODS = ("majority_vote", "dawid_skene", "one_coin")
"""Methods whose own score is no probability of being right; glad and mace take minutes here."""
ALIKE = {"glad": "dawid_skene", "mace": "dawid_skene"}
TEAMS = (1, 2, 3, 5, 10, 50)
SLOW_SEEDS = (0, 102, 103, 104)
"""Trials, and generated houses, that crowd-kit's methods are fitted on: they take long.

Where none of them was explored, all that was is."""
_RIDGE = 10.0


def fit(runs: Sequence[Exploration], fitted_on: str) -> ConfidenceModel:
    """Return the numbers that make the answers in these explorations most likely.

    First each robot's own model, then what several are worth together, then how often methods that
    only count answers are right. Generated houses and houses from files count alike, however many
    there are of each.
    """
    model = _fit_robots(runs)
    model = _fit_team(runs, model)
    methods = {name: _fit_stated(runs, model, name) for name in STATED_METHODS}
    methods |= {name: methods[like] for name, like in ALIKE.items()}
    return model.model_copy(update={"methods": methods, "fitted_on": fitted_on})


def _weighed(runs: Sequence[Exploration]) -> list[tuple[Exploration, float]]:
    """Return explorations with their weights: both kinds of houses together weigh the same."""
    size = {kind: sum(run.sense.size for run in runs if run.generated == kind) for kind in (0, 1)}
    return [(run, run.sense.size / size[int(run.generated)]) for run in runs]


def _fit_robots(runs: Sequence[Exploration]) -> ConfidenceModel:
    def made(x: FloatArray) -> ConfidenceModel:
        low, high, hidden, miss = (float(v) for v in probability(x[[0, 1, 4, 5]]))
        return ConfidenceModel(
            prior=PriorModel(low=low, high=max(high, low), shift=x[2], slope=float(np.exp(x[3]))),
            detector=DetectorModel(hidden=hidden, miss=miss, shift=x[6], slope=float(np.exp(x[7]))),
        )

    def loss(x: FloatArray) -> float:
        model, total = made(x), 0.0
        for run, weight in _weighed(runs):
            prior = model.prior.of(run.sense)
            p = model.detector.there(prior, run.visited, run.looks_per_place, run.found)
            total += weight * _log_loss(np.repeat(run.truth[:, None], run.robots, axis=1), p)
        return total

    return made(_minimum(loss, np.array([-3.0, 1.5, 0.5, -0.3, -1.0, -1.0, 0.0, 0.5])))


def _fit_team(runs: Sequence[Exploration], model: ConfidenceModel) -> ConfidenceModel:
    tables = [
        (t.truth, shared_prior(t), observed(t), w)
        for run, w in _weighed(runs)
        for t in _teams(run, model)
    ]

    def made(x: FloatArray) -> TeamModel:
        share = probability(x[[0, 2]])
        most = np.exp(np.clip(x[[1, 3]], -3.0, 3.0))
        return TeamModel(
            others_no=float(share[0]), most_no=float(most[0]),
            others_yes=float(share[1]), most_yes=float(most[1]),
        )  # fmt: skip

    def loss(x: FloatArray) -> float:
        now = made(x)
        return sum(
            weight * _log_loss(truth, probability(now.pooled(prior, told)))
            for truth, prior, told, weight in tables
        )

    team = made(_minimum(loss, np.array([0.0, 0.5, 0.0, 0.5])))
    return model.model_copy(update={"team": team})


def _fit_stated(
    runs: Sequence[Exploration], model: ConfidenceModel, method: str
) -> StatedConfidence:
    """Fit how often a method is right, honest teams and such with one liar alike."""
    rows, right, weights = [], [], []
    chosen = _weighed(runs)
    if method != "majority_vote":
        chosen = [one for one in chosen if one[0].seed in SLOW_SEEDS] or chosen
    for run, weight in chosen:
        for table in _teams(run, model, liars=True):
            score = raw_score(method, table)
            rows.append(StatedConfidence.inputs(score, np.full(len(table), len(table.agents))))
            right.append((score > 0.5) == table.truth)
            weights.append(np.full(len(table), weight / len(table)))
    inputs, good = np.concatenate(rows), np.concatenate(right)
    shares = np.concatenate(weights)
    return StatedConfidence(weights=_logistic(inputs, good, shares / shares.mean()))


def raw_score(method: str, table: AnswerTable) -> FloatArray:
    """Return the score of YES (N,) that a method has by itself."""
    plain: Aggregator = make_aggregator(method, confidence=ConfidenceModel())
    plain.fit(without_truth(table))
    return plain.p_yes(table)


def _teams(
    run: Exploration, model: ConfidenceModel, *, liars: bool = False
) -> Iterator[AnswerTable]:
    """Yield the answers of teams of several sizes; with `liars` also such with one liar."""
    for size in TEAMS:
        if size > run.robots:
            continue
        table = run.table(model, size)
        yield table
        if liars and size >= 3:
            yield table.invert(table.agents[run.seed % size])
    if run.robots not in TEAMS:
        yield run.table(model, run.robots)


def _logistic(inputs: FloatArray, right: BoolArray, weight: FloatArray) -> Any:
    """Return the weights (6,) of a ridge-penalised weighted logistic regression."""
    beta = np.zeros(inputs.shape[1])
    penalty = np.full(inputs.shape[1], 1.0 / _RIDGE)
    for _ in range(50):
        p = probability(inputs @ beta)
        gradient = inputs.T @ (weight * (p - right)) + penalty * beta
        hessian = (inputs * (weight * p * (1 - p))[:, None]).T @ inputs + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        beta = beta - step
        if np.abs(step).max() < 1e-9:
            break
    return tuple(round(float(b), 4) for b in beta)


def _log_loss(truth: BoolArray, p: FloatArray) -> float:
    q = np.clip(np.where(truth, p, 1.0 - p), FLOOR, 1.0)
    return float(-np.log(q).mean())


def _minimum(loss: Callable[[FloatArray], float], start: FloatArray) -> FloatArray:
    """Return where a smooth loss is least, near `start`."""
    from scipy.optimize import minimize

    found = minimize(
        loss, start, method="Nelder-Mead",
        options={"maxiter": 2000, "xatol": 1e-3, "fatol": 1e-7, "adaptive": True},
    )  # fmt: skip
    return np.asarray(found.x, dtype=float)
