"""Aggregators without labels: they never read the truth, and find the robot that lies."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import replace

import numpy as np
import pytest

from cam_aggregator.base import AggregatorError, accuracy
from cam_aggregator.registry import make_aggregator
from cam_aggregator.votes import MajorityVote
from coterie_core.answer_table import AnswerTable
from coterie_fixtures.aggregator_measures import with_missing

CROWD_KIT = pytest.mark.skipif(
    importlib.util.find_spec("crowdkit") is None,
    reason="not installed: crowd-kit; ./coterie setup --with research",
)
FAST = ("dawid_skene", pytest.param("one_coin", marks=CROWD_KIT))
ALL = (*FAST, *(pytest.param(name, marks=CROWD_KIT) for name in ("glad", "mace")))


def crowd(skills: list[float], n: int = 300, seed: int = 0) -> AnswerTable:
    """Robots that err independently: robot k is right with probability skills[k]."""
    rng = np.random.default_rng(seed)
    k = len(skills)
    truth = rng.random(n) < 0.5
    right = rng.random((n, k)) < np.array(skills)
    ones, zeros = np.ones((n, k)), np.zeros((n, k))
    return AnswerTable(
        "crowd",
        tuple(f"r{i}" for i in range(k)),
        tuple(f"q{i}" for i in range(n)),
        tuple(f"o{i}" for i in range(n)),
        ("room",) * n,
        tuple(f"o{i}" for i in range(n)),
        truth,
        np.where(right, truth[:, None], ~truth[:, None]),
        0.7 * ones,
        2 * ones.astype(np.int64),
        zeros.astype(np.int64),
        zeros,
        zeros.astype(np.int64),
        0.5 * ones,
        zeros.astype(np.int64),
    )


@pytest.mark.parametrize("name", ALL)
def test_truth_is_never_read(name):
    table = crowd([0.9, 0.7, 0.6, 0.6], n=40)
    a, b = make_aggregator(name), make_aggregator(name)
    a.fit(table)
    b.fit(replace(table, truth=~table.truth))
    assert np.array_equal(a.p_yes(table), b.p_yes(table))


@pytest.mark.parametrize("name", FAST)
def test_one_good_robot_among_weak_ones_is_found(name):
    gains = []
    for seed in range(3):
        table = crowd([0.95, 0.6, 0.6, 0.6, 0.6], seed=seed)
        aggregator = make_aggregator(name)
        aggregator.fit(table)
        vote = accuracy(table.truth, MajorityVote().p_yes(table))
        gains.append(accuracy(table.truth, aggregator.p_yes(table)) - vote)
    assert np.mean(gains) > 0.05


def test_a_liar_is_turned_round():
    table = crowd([0.85, 0.85, 0.85, 0.85, 0.05])
    aggregator = make_aggregator("dawid_skene")
    aggregator.fit(table)
    assert accuracy(table.truth, aggregator.p_yes(table)) > accuracy(
        table.truth, MajorityVote().p_yes(table)
    )
    assert aggregator.confusion[4, 1, 0] > 0.8  # says no where it is yes


@pytest.mark.parametrize("name", FAST)
def test_answers_to_new_questions_and_missing_ones(name):
    table = crowd([0.9, 0.8, 0.7])
    aggregator = make_aggregator(name)
    aggregator.fit(with_missing(table, 0.3, 0))
    new = replace(crowd([0.9, 0.8, 0.7], n=50, seed=9), questions=tuple(f"n{i}" for i in range(50)))
    p = aggregator.p_yes(with_missing(new, 0.3, 1))
    given = with_missing(new, 0.3, 1).present.any(axis=1)
    assert np.isnan(p[~given]).all() and np.all((p[given] > 0) & (p[given] < 1))
    assert accuracy(new.truth, aggregator.p_yes(new)) > 0.75


@pytest.mark.parametrize("name", FAST)
def test_with_nothing_to_learn_from_the_majority_decides(name):
    table = crowd([0.9, 0.8, 0.7])
    for part in (
        None,
        table.take([0, 1]),
        table.with_agents(("r0",)),
        replace(table, answers=np.zeros_like(table.answers)),
    ):
        aggregator = make_aggregator(name)
        aggregator.fit(part)
        known = table if part is None or len(part.agents) == 3 else part
        assert np.array_equal(aggregator.p_yes(known), MajorityVote().p_yes(known))


@pytest.mark.parametrize("name", FAST)
def test_three_robots_of_one_mind_are_no_worse_than_the_majority(house, name):
    lost = []
    for seed in range(3):
        table = house(seed)
        aggregator = make_aggregator(name)
        aggregator.fit(table)
        vote = accuracy(table.truth, MajorityVote().p_yes(table))
        lost.append(vote - accuracy(table.truth, aggregator.p_yes(table)))
    assert np.mean(lost) <= 0.01


@CROWD_KIT
@pytest.mark.parametrize("seed", range(12))
def test_dawid_and_skene_is_that_of_crowd_kit(seed):
    crowdkit, pandas = pytest.importorskip("crowdkit.aggregation"), pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    table = crowd(list(rng.uniform(0.05, 0.98, int(rng.integers(2, 7)))), n=60, seed=seed)
    answers = table.answers.astype(int)
    if seed % 4 == 1:
        answers[:, 0] = 1  # never says no
    questions, robots = np.nonzero(rng.random(answers.shape) < (0.6 if seed % 2 else 1.0))
    given = answers[questions, robots]
    p = make_aggregator("dawid_skene").posterior(questions, robots, given, len(table))
    frame = pandas.DataFrame({"task": questions, "worker": robots, "label": given})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = crowdkit.DawidSkene(n_iter=100).fit_predict_proba(frame)
    expected = np.full(len(table), 0.5)
    expected[np.asarray(theirs.index, dtype=int)] = theirs[1].to_numpy(dtype=float)
    assert p == pytest.approx(expected, abs=1e-12)


def test_without_crowd_kit_its_methods_tell_how_to_install_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(AggregatorError, match=r"glad needs crowd-kit.*--with research"):
        make_aggregator("glad")
    assert make_aggregator("dawid_skene").name == "dawid_skene"
