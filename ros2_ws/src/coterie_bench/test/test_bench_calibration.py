"""Calibration: the same answers as the robots', numbers that are found again, figures."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from coterie_bench.calibration import as_yaml, draw, provenance
from coterie_bench.calibration_data import BODY, HOPS, Exploration, _columns, explore_generated
from coterie_bench.calibration_fit import SLOW_SEEDS, _fit_stated
from coterie_bench.calibration_score import Told, noise_of, scores, untrained
from coterie_core.confidence import load_confidence, parse_confidence
from habitat_bridge.embedded.generator import generate_house
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.robots import EMBODIMENTS
from mele_explorer import QuestionBank, answer_all, run_exploration


@pytest.fixture(scope="module")
def house():
    world = EmbeddedWorld(generate_house(731, floors=1, rooms=5), seed=4, threads=1)
    for k in range(3):
        world.add_robot(f"agent_{k + 1}", EMBODIMENTS[BODY])
    bank = QuestionBank.from_graph(world.truth(), 4)
    runs = asyncio.run(run_exploration(world, steps=4, seed=4))
    return runs, bank


def test_an_exploration_gives_the_answers_that_the_robots_give(house) -> None:
    runs, bank = house
    asked = asyncio.run(answer_all(runs, bank, house="h"))
    made = Exploration("h", True, 4, tuple(bank.items), **_columns(runs, bank))
    table = made.table(load_confidence(), 3)
    for name in ("answers", "evidence", "looks", "elsewhere", "truth"):
        assert np.array_equal(getattr(table, name), getattr(asked, name)), name
    assert np.allclose(table.p_yes, asked.p_yes) and np.allclose(table.prior, asked.prior)


def test_methods_are_fitted_on_whatever_was_explored(house) -> None:
    runs, bank = house
    made = Exploration("h", True, 4, tuple(bank.items), **_columns(runs, bank))
    assert made.seed not in SLOW_SEEDS
    assert any(_fit_stated([made], load_confidence(), "one_coin").weights)


def test_numbers_survive_their_file() -> None:
    shipped = load_confidence()
    again = parse_confidence(as_yaml(shipped))
    assert again.fitted_on == shipped.fitted_on and again.methods == shipped.methods
    assert again.prior.high == pytest.approx(shipped.prior.high, abs=1e-4)
    with pytest.raises(ValueError, match="prior"):
        parse_confidence("prior: {low: 7}")


def test_what_numbers_were_fitted_on_is_told_as_it_was() -> None:
    assert "seeds 0-1, and 2 with 12 robots" in provenance(["a", "b"], 2, (7, 8), 12)
    assert "robots" not in provenance(["a", "b"], 2, (7, 8), 0)


def test_scores_tell_earned_confidence_from_boasting(tmp_path) -> None:
    rng = np.random.default_rng(3)
    p = rng.uniform(0.02, 0.98, 4000)
    truth = rng.random(4000) < p
    earned, boast = Told(), Told()
    earned.add(p, truth)
    boast.add(np.where(p > 0.5, 0.995, 0.005), truth)
    good, bad = scores({("h", "a", 3, False, ""): earned, ("h", "b", 3, False, ""): boast})
    assert good.error < 0.04 < 0.15 < bad.error
    assert good.accuracy == bad.accuracy and bad.certain == 1.0
    assert noise_of(p) < 0.03
    draw([good, bad], tmp_path / "calibration.png")
    assert (tmp_path / "calibration.png").stat().st_size > 5000


@pytest.mark.slow
def test_untrained_confidence_is_earned_in_a_house_that_no_number_was_fitted_on() -> None:
    runs = [explore_generated(seed, 3) for seed in (811, 812)]
    assert HOPS >= 8
    told = untrained(runs, lambda _: load_confidence(), "generated", (3,))
    for score in scores(told):
        if score.method in ("one robot", "confidence_vote", "debate") and not score.liar:
            assert score.error < 0.12, score
            assert score.certain == 0.0 or score.certain_right > 0.9
