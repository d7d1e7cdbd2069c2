"""Conformal thresholds: the share that was asked for holds on houses that nobody has seen."""

from __future__ import annotations

import numpy as np
import pytest

from coterie_core.conformal import LEVELS, WITHHOLD_ALL, Thresholds, load_conformal, threshold


def houses(rng: np.random.Generator, count: int, size: int = 20):
    """Answers of houses that differ: in some, confidence says little."""
    sure, right, names = [], [], []
    for k in range(count):
        bias = rng.normal(0.0, 0.12)
        confidence = rng.uniform(0.5, 1.0, size)
        sure += list(confidence)
        right += list(rng.random(size) < np.clip(confidence + bias, 0.0, 1.0))
        names += [f"h{k}"] * size
    return np.array(sure), np.array(right), names


@pytest.mark.parametrize("level", LEVELS)
def test_so_many_are_right_or_withheld_in_new_houses(level: float) -> None:
    rng = np.random.default_rng(5)
    covered = []
    for _ in range(120):
        least = threshold(*houses(rng, 30), level)
        sure, right, _ = houses(rng, 10)
        covered.append(float(np.mean(right | (sure <= least))))
    assert level - 0.01 <= np.mean(covered) <= min(level + 0.06, 1.0)


def test_who_is_always_right_answers_always_and_few_houses_withhold_all() -> None:
    sure, names = np.linspace(0.5, 1.0, 40), [f"h{k}" for k in range(40)]
    assert threshold(sure, np.ones(40, dtype=bool), names, 0.95) == 0.0
    assert threshold(sure[:5], np.ones(5, dtype=bool), names[:5], 0.9) == WITHHOLD_ALL


def test_a_house_with_many_questions_counts_as_one() -> None:
    sure = np.full(130, 0.9)
    right = np.array([False] * 100 + [True] * 30)
    names = ["big"] * 100 + [f"h{k}" for k in range(30)]
    assert threshold(sure, right, names, 0.9) == 0.0


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="at least one"):
        threshold(np.array([]), np.array([], dtype=bool), [], 0.9)
    with pytest.raises(ValueError, match=r"no threshold for a coverage of 0\.85"):
        load_conformal().denial(0.85)
    with pytest.raises(ValueError, match=r"no threshold for a coverage of 0\.5"):
        load_conformal().open_answer(0.5)
    with pytest.raises(ValueError, match=r"'cam'.*abstain_below"):
        Thresholds(answers={"confidence_vote": {90: 0.7}}).answer("cam", 0.9)


def test_higher_levels_need_more_and_all_of_them_are_kept() -> None:
    known = load_conformal()
    assert {"confidence_vote", "cam_plus", "random_forest"} <= set(known.answers)
    assert known.answers.keys() == known.with_liar.keys()
    tables = [*known.answers.values(), *known.with_liar.values(), known.open_answers]
    for table in (*tables, known.open_with_liar, known.denials, known.denials_here):
        assert set(table) == {round(100 * level) for level in LEVELS}
        assert 0.0 <= table[80] <= table[90] <= table[95] < WITHHOLD_ALL
    assert known.denial(0.95, everywhere=False) == known.denials_here[95]
