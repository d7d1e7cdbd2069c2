"""The paper's protocol to the letter: splits, codes, inputs, models, equations on hand examples."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from cam_aggregator.base import AggregatorError, accuracy
from cam_aggregator.cam import CAM_CLASSES, MODELS, CamDecisionTree, CamXGBoost, make_classifier
from cam_aggregator.encoding import Codes, paper_inputs
from cam_aggregator.registry import make_aggregator
from coterie_fixtures.aggregator_measures import (
    agreement,
    draw_tree,
    legend,
    permutation_importance,
    shuffled_input,
    split,
    with_missing,
)

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("seed", range(5))
def test_random_split_is_ninety_to_ten_and_repeats(table, seed):
    train, test = split(table, "random", seed)
    assert len(test) == math.ceil(0.1 * len(table))
    assert sorted([*train, *test]) == list(range(len(table)))
    again = split(table, "random", seed)
    assert np.array_equal(again[0], train) and np.array_equal(again[1], test)


def test_seeds_give_different_splits(table):
    tests = {tuple(split(table, "random", seed)[1]) for seed in range(5)}
    assert len(tests) == 5


@pytest.mark.parametrize("seed", range(5))
def test_grouped_split_has_no_object_on_both_sides(table, seed):
    train, test = split(table, "grouped", seed)
    assert not {table.objects[i] for i in train} & {table.objects[i] for i in test}
    assert len(test) >= 0.1 * len(table) and len(train) > len(test)
    assert sorted([*train, *test]) == list(range(len(table)))


def test_splits_that_cannot_be_made_say_why(table):
    with pytest.raises(ValueError, match="no split named"):
        split(table, "by room", 0)
    with pytest.raises(ValueError, match="one group"):
        split(replace(table, groups=("x",) * len(table)), "grouped", 0)
    with pytest.raises(ValueError, match="cannot be split"):
        split(table.take([0]), "random", 0)


def test_codes_count_from_zero_in_alphabetical_order():
    codes = Codes.of(["sink", "bed", "mug", "bed"])
    assert [codes.code(x) for x in ("bed", "mug", "sink")] == [0.0, 1.0, 2.0]
    # An unknown label stands between its neighbours in the alphabet.
    assert codes.code("lamp") == 0.5 and codes.code("zebra") == 2.5 and codes.code("axe") == -0.5


def test_inputs_are_object_room_and_one_column_per_agent(table):
    inputs = paper_inputs(table, Codes.of(table.objects), Codes.of(table.rooms))
    assert inputs.shape == (len(table), 2 + 3)
    assert set(np.unique(inputs[:, 2:])) <= {0.0, 1.0}
    i = 5
    assert inputs[i, 0] == sorted(set(table.objects)).index(table.objects[i])
    assert inputs[i, 1] == sorted(set(table.rooms)).index(table.rooms[i])
    assert list(inputs[i, 2:]) == [float(v) for v in table.answers[i]]


def test_models_have_the_papers_settings():
    network = make_classifier("neural_network", 0)
    assert network.hidden_layer_sizes == (16, 8)
    assert make_classifier("random_forest", 0).n_estimators == 1000
    assert make_classifier("svm_rbf", 0).kernel == "rbf"
    assert make_classifier("svm_linear", 0).kernel == "linear"
    tree = make_classifier("decision_tree", 0)
    assert tree.max_depth is None and tree.min_samples_leaf == 1
    assert make_classifier("xgboost", 0).get_params()["n_estimators"] is None  # its default
    with pytest.raises(ValueError, match="no CAM model named"):
        make_classifier("transformer", 0)
    assert tuple(c.model_name for c in CAM_CLASSES) == MODELS


def test_the_network_has_layers_of_16_8_and_1_with_a_sigmoid(table):
    model = make_aggregator("neural_network")
    model.fit(table)
    assert [w.shape for w in model.model.coefs_] == [(5, 16), (16, 8), (8, 1)]
    assert model.model.out_activation_ == "logistic"


def test_equation_1_accuracy():
    truth = np.array([1, 0, 1, 0], dtype=bool)
    assert accuracy(truth, np.array([0.9, 0.1, 0.2, 0.7])) == 0.5


def test_equation_2_agreement(table):
    part = table.take([0, 1, 2, 3])
    part.answers[:] = [[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]]
    final = np.array([0.9, 0.8, 0.1, 0.7])  # yes yes no yes
    assert agreement(part, final).tolist() == [0.75, 0.5, 0.5]


def test_equation_2_leaves_out_missing_answers(table):
    part = table.take([0, 1])
    part.answers[:] = [[1, 1, 1], [1, 1, 1]]
    part.present[1, 0] = False
    assert agreement(part, np.array([0.9, 0.1])).tolist() == [1.0, 0.5, 0.5]


def test_equation_3_is_zero_for_an_input_that_is_not_used_and_large_for_one_that_is(table):
    oracle = replace(table, answers=np.column_stack([table.truth, table.answers[:, 1:]]))

    def first_robot_only(asked):
        return asked.answers[:, 0].astype(float)

    values = permutation_importance(first_robot_only, oracle, repeats=30, seed=1)
    assert values["robot_2"] == values["object"] == values["room"] == 0.0
    # Truth is balanced: answers from a random other question are right half of the time.
    assert values["robot_1"] == pytest.approx(0.5, abs=0.1)


def test_shuffling_a_robot_takes_its_evidence_along(table):
    order = np.arange(len(table))[::-1]
    shuffled = shuffled_input(table, "robot_2", order)
    assert np.array_equal(shuffled.answers[:, 1], table.answers[::-1, 1])
    assert np.array_equal(shuffled.evidence[:, 1], table.evidence[::-1, 1])
    assert np.array_equal(shuffled.answers[:, 0], table.answers[:, 0])
    assert shuffled_input(table, "room", order).rooms == table.rooms[::-1]


@pytest.mark.parametrize("name", [*MODELS, "cam_plus"])
def test_the_same_seed_gives_the_same_predictions(table, name):
    train, test = split(table, "random", 0)
    options = {"trees": 20} if name not in ("cam_plus",) else {}
    predictions = []
    for _ in range(2):
        model = make_aggregator(name, seed=3, **options)
        model.fit(table.take(train))
        predictions.append(model.p_yes(table.take(test)))
    assert np.array_equal(*predictions)
    assert np.all((predictions[0] >= 0) & (predictions[0] <= 1))


def test_malicious_agent_inverts_answers_only(table):
    lie = table.invert("robot_2")
    assert np.array_equal(lie.answers[:, 1], ~table.answers[:, 1])
    assert np.array_equal(lie.answers[:, [0, 2]], table.answers[:, [0, 2]])
    assert np.array_equal(lie.evidence, table.evidence)


@pytest.mark.parametrize("liar", range(3))
def test_xgboost_is_not_moved_by_an_agent_that_lies_in_training_too(table, liar):
    train, test = split(table, "random", 0)
    honest, lied = CamXGBoost(seed=0), CamXGBoost(seed=0)
    told = table.invert(table.agents[liar])
    honest.fit(table.take(train))
    lied.fit(told.take(train))
    a, b = honest.p_yes(table.take(test)) > 0.5, lied.p_yes(told.take(test)) > 0.5
    assert np.mean(a == b) >= 0.9


def test_a_missing_answer_is_averaged_over_what_it_could_be(table):
    model = CamDecisionTree(seed=0)
    model.fit(table)
    one = table.take([7])
    gap = replace(one, present=np.array([[False, True, True]]))
    values = []
    for said in (False, True):
        filled = replace(one, answers=one.answers.copy())
        filled.answers[0, 0] = said
        values.append(float(model.p_yes(filled)[0]))
    rate = float(model.yes_rate[0])
    expected = (1 - rate) * values[0] + rate * values[1]
    assert float(model.p_yes(gap)[0]) == pytest.approx(expected)


def test_fifty_robots_with_forty_silent_still_get_an_answer(house):
    table = house(1, agents=50)
    model = make_aggregator("decision_tree")
    model.fit(table)
    p = model.p_yes(with_missing(table.take(range(4)), 0.8, 0))
    assert np.all((p >= 0) & (p <= 1))


def test_labels_that_are_all_alike_make_a_constant_model(table):
    yes = table.take(np.flatnonzero(table.truth))
    model = CamXGBoost()
    model.fit(yes)
    # Always yes; how sure, is what so many labels without an exception show.
    p = model.p_yes(table)
    assert np.all(p == p[0]) and 0.9 < p[0] < 1.0
    with pytest.raises(AggregatorError, match="alike"):
        _ = model.model


def test_tables_with_other_robots_are_refused_and_reordered_ones_are_understood(table, house):
    model = make_aggregator("xgboost")
    model.fit(table)
    turned = table.with_agents(("robot_3", "robot_1", "robot_2"))
    assert np.array_equal(model.p_yes(turned), model.p_yes(table))
    with pytest.raises(AggregatorError, match="robot_3"):
        model.predict(table.with_agents(("robot_1", "robot_2")))


def test_picture_and_legend_of_the_decision_tree(table, tmp_path):
    model = CamDecisionTree()
    model.fit(table)
    draw_tree(model, tmp_path / "tree.svg")
    text = (tmp_path / "tree.svg").read_text()
    assert "<svg" in text and len(text) > 2000
    assert legend(model)["room"]["bathroom"] == 0
    with pytest.raises(AggregatorError, match="no decision tree"):
        draw_tree(make_aggregator("majority_vote"), tmp_path / "none.svg")
