"""Calibration: the same answers as the robots', numbers that are found again, figures."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace

import numpy as np
import pytest

from cam_aggregator.registry import aggregator_names
from coterie_core.confidence import load_confidence, parse_confidence
from coterie_fixtures.explorations import answer_all, run_exploration
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.robots import EMBODIMENTS
from mele_explorer.bank import QuestionBank
from research.bench.calibration.bench import as_yaml, draw, exams, provenance
from research.bench.calibration.data import BODY, HOPS, Exploration, _columns, explore_generated
from research.bench.calibration.fit import fit
from research.bench.calibration.score import (
    SINGLE,
    SLOW,
    TRAINED,
    UNTRAINED,
    Exam,
    Told,
    held,
    noise_of,
    scores,
    together,
)
from research.bench.mele.methods import NO_TWIN


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


def test_numbers_are_found_in_whatever_was_explored(house) -> None:
    runs, bank = house
    made = Exploration("h", True, 4, tuple(bank.items), **_columns(runs, bank))
    found = fit([made], "one house")
    assert found.fitted_on == "one house" and found.prior.low <= found.prior.high


def test_every_aggregator_that_a_team_file_can_name_is_measured() -> None:
    assert {*UNTRAINED, *TRAINED} - {NO_TWIN} == set(aggregator_names())


def test_every_method_says_how_sure_it_is_of_every_answer(house) -> None:
    runs, bank = house
    columns = {name: values[:60] for name, values in _columns(runs, bank).items()}
    made = Exploration("h", True, 4, tuple(bank.items[:60]), **columns)
    names = (SINGLE, *(n for n in (*UNTRAINED, *TRAINED) if n not in SLOW))
    told = together(held(Exam(made, load_confidence(), (3,), names)))
    assert {key[1] for key in told} == set(names)
    assert {key[3] for key in told} == {False, True}
    for key, one in told.items():
        sure = np.concatenate(one.confidence)
        assert len(sure) == 60 * (3 if key[1] == SINGLE else 1), key
        assert np.all((sure >= 0.0) & (sure <= 1.0)) and one.houses == {"h"}


def test_each_house_gets_numbers_that_were_not_fitted_on_it(house) -> None:
    runs, bank = house
    made = Exploration("h", True, 4, tuple(bank.items), **_columns(runs, bank))
    files = [replace(made, house=h, generated=False, seed=s) for h in "ab" for s in (0, 1, 2)]
    numbers = {h: load_confidence().model_copy(update={"fitted_on": h}) for h in "abh"}
    work = exams(files, [made], numbers, crowd=0)
    assert all(exam.numbers.fitted_on == exam.run.house for exam in work)
    assert {n for exam in work for n in exam.names} == {SINGLE, *UNTRAINED, *TRAINED}
    for kind in (True, False):
        asked = [exam for exam in work if exam.run.generated is kind]
        assert {n for exam in asked for n in exam.names} == {SINGLE, *UNTRAINED, *TRAINED}
    assert {exam.run.seed for exam in work if TRAINED[0] in exam.names} == {0, 2, 4}


def test_numbers_survive_their_file() -> None:
    shipped = load_confidence()
    again = parse_confidence(as_yaml(shipped))
    assert again.fitted_on == shipped.fitted_on
    assert again.prior.high == pytest.approx(shipped.prior.high, abs=1e-4)
    with pytest.raises(ValueError, match="prior"):
        parse_confidence("prior: {low: 7}")


def test_what_numbers_were_fitted_on_is_told_as_it_was() -> None:
    assert "seeds 0-1, and 2 with 12 robots" in provenance(["a", "b"], 2, (7, 8), 12)
    assert "robots" not in provenance(["a", "b"], 2, (7, 8), 0)


def test_scores_tell_earned_confidence_from_boasting(tmp_path) -> None:
    rng = np.random.default_rng(3)
    p = rng.uniform(0.02, 0.98, 4000)
    right = rng.random(4000) < p
    earned, boast = Told(), Told()
    earned.add("h", p, right)
    earned.add("none", np.full(3, np.nan), np.zeros(3, dtype=bool))
    boast.add("h", np.full(4000, 0.995), right)
    good, bad = scores({("h", "a", 3, False, ""): earned, ("h", "b", 3, False, ""): boast})
    assert good.error < 0.04 < 0.15 < bad.error
    assert good.accuracy == bad.accuracy and bad.certain == 1.0 and good.answers == 4000
    assert noise_of(p) < 0.03
    draw([good, bad], tmp_path / "calibration.png")
    assert (tmp_path / "calibration.png").stat().st_size > 5000


@pytest.mark.slow
def test_untrained_confidence_is_earned_in_a_house_that_no_number_was_fitted_on() -> None:
    runs = [explore_generated(seed, 3) for seed in (811, 812)]
    assert HOPS >= 8
    names = (SINGLE, "confidence_vote", "majority_vote", "debate", "one_coin")
    parts = [held(Exam(run, load_confidence(), (3,), names)) for run in runs]
    for score in scores(together(itertools.chain(*parts))):
        assert score.tested_on == 2 and score.error < 0.12, score
        assert score.certain == 0.0 or score.certain_right > 0.9
