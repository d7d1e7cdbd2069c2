"""Fits the numbers of `confidence.yaml`: robots' models, and what robots share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from coterie_core.answer_table import AnswerTable, BoolArray, FloatArray
from coterie_core.confidence import (
    MIN_PROBABILITY,
    ConfidenceModel,
    DetectorModel,
    PriorModel,
    TeamModel,
    observed,
    probability,
    shared_prior,
)
from research.bench.calibration.data import Exploration

TEAMS = (1, 2, 3, 5, 10, 50)


def fit(runs: Sequence[Exploration], fitted_on: str) -> ConfidenceModel:
    """Return the numbers that make the answers in these explorations most likely.

    First each robot's own model, then what several are worth together. Generated houses and houses
    from files count alike, however many there are of each.
    """
    model = _fit_team(runs, _fit_robots(runs))
    return model.model_copy(update={"fitted_on": fitted_on})


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


def _teams(run: Exploration, model: ConfidenceModel) -> Iterator[AnswerTable]:
    """Yield the answers of teams of several sizes."""
    for size in TEAMS:
        if size <= run.robots:
            yield run.table(model, size)
    if run.robots not in TEAMS:
        yield run.table(model, run.robots)


def _log_loss(truth: BoolArray, p: FloatArray) -> float:
    q = np.clip(np.where(truth, p, 1.0 - p), MIN_PROBABILITY, 1.0)
    return float(-np.log(q).mean())


def _minimum(loss: Callable[[FloatArray], float], start: FloatArray) -> FloatArray:
    """Return where a smooth loss is least, near `start`."""
    from scipy.optimize import minimize

    found = minimize(loss, start, method="L-BFGS-B", options={"maxiter": 200})
    return np.asarray(found.x, dtype=float)
