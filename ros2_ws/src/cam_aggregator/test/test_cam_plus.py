"""CAM+: no label of the asked object in step 1, the twin as a named group, liars, new objects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cam_aggregator.base import accuracy
from cam_aggregator.calibration import Calibration
from cam_aggregator.cam import CamDecisionTree
from cam_aggregator.cam_plus import DEFAULT_GROUPS, CamPlus
from cam_aggregator.features import (
    GROUPS,
    TrainingFacts,
    TwinFacts,
    feature_names,
    features,
    word_overlap,
)
from cam_aggregator.folds import folds_by_group
from cam_aggregator.votes import MajorityVote
from coterie_fixtures.aggregator_measures import (
    calibration_error,
    forge,
    selective,
    split,
    with_missing,
)

NO_TWIN = tuple(g for g in DEFAULT_GROUPS if g != "twin")


def flipped(table, rows):
    truth = table.truth.copy()
    truth[rows] = ~truth[rows]
    return replace(table, truth=truth)


def test_features_of_a_question_do_not_depend_on_labels_of_its_object(table):
    names = feature_names(GROUPS)
    facts = TrainingFacts.of(table)
    for thing in sorted(set(table.objects)):
        rows = [i for i, o in enumerate(table.objects) if o == thing]
        changed = replace(facts, truth=flipped(table, rows).truth)
        before = features(table, facts, names)[rows]
        assert np.array_equal(before, features(table, changed, names)[rows])


def test_without_twin_flipping_the_twins_labels_changes_nothing_but_the_weights(table):
    """What the trained model says of a question, weights fixed, ignores labels of its object."""
    train, test = split(table, "random", 0)
    model = CamPlus(groups=NO_TWIN)
    model.fit(table.take(train))
    asked = table.take(test)
    before = model.p_yes(asked)
    for i in range(len(test)):
        twins = np.flatnonzero([o == asked.objects[i] for o in model.facts.objects])
        truth = model.facts.truth.copy()
        truth[twins] = ~truth[twins]
        model_facts, model.facts = model.facts, replace(model.facts, truth=truth)
        assert model.p_yes(asked.take([i]))[0] == pytest.approx(before[i], abs=1e-12)
        model.facts = model_facts


def test_in_the_grouped_split_the_twin_says_nothing(table):
    """Same predictions with the group on and off, and whatever the truth of the test part is."""
    train, test = split(table, "grouped", 0)
    with_twin, without = CamPlus(), CamPlus(groups=NO_TWIN)
    with_twin.fit(table.take(train))
    without.fit(table.take(train))
    asked = table.take(test)
    p = with_twin.p_yes(asked)
    assert np.array_equal(p, without.p_yes(asked))
    rng = np.random.default_rng(0)
    shuffled = replace(asked, truth=rng.permutation(asked.truth))
    assert np.array_equal(p, with_twin.p_yes(shuffled))
    everything = flipped(table, test)  # labels of the test part reach training by no other way
    again = CamPlus()
    again.fit(everything.take(train))
    assert np.array_equal(p, again.p_yes(asked))


def test_in_the_random_split_the_twin_is_worth_a_lot(house):
    gains = []
    for seed in range(6):
        table = house(seed, objects=40)
        train, test = split(table, "random", seed)
        scores = []
        for groups in (DEFAULT_GROUPS, NO_TWIN):
            model = CamPlus(groups=groups)
            model.fit(table.take(train))
            scores.append(accuracy(table.truth[test], model.p_yes(table.take(test))))
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > 0.03


def test_a_training_question_is_left_out_of_its_own_twin_facts(table):
    facts = TrainingFacts.of(table)
    own = TwinFacts.of(table, facts, training=True)
    single = [o for o in set(table.objects) if table.objects.count(o) == 2]
    for thing in single:
        rows = [i for i, o in enumerate(table.objects) if o == thing]
        assert own.counts[rows].tolist() == [1, 1]
        # The balance of the other one is the opposite of one's own answer: that is the leak.
        assert own.inputs[rows, 0].tolist() == [-1.0 if table.truth[i] else 1.0 for i in rows]


@pytest.mark.parametrize("liar", range(3))
def test_a_liar_costs_nothing(house, liar):
    lost = []
    for seed in range(5):
        table = house(seed)
        train, test = split(table, "grouped", seed)
        scores = []
        for told in (table, table.invert(table.agents[liar])):
            model = CamPlus()
            model.fit(told.take(train))
            scores.append(accuracy(table.truth[test], model.p_yes(told.take(test))))
        lost.append(scores[0] - scores[1])
    assert np.mean(lost) <= 0.01


def test_a_robot_that_forges_evidence_is_found_out(house):
    table = house(2, objects=60)
    facts = TrainingFacts.of(forge(table, "robot_2"))
    assert facts.reliability.honest.tolist() == [True, False, True]
    assert TrainingFacts.of(table).reliability.honest.all()


def test_beats_the_majority_on_new_objects(house):
    better = []
    for seed in range(8):
        table = house(seed)
        train, test = split(table, "grouped", seed)
        model = CamPlus()
        model.fit(table.take(train))
        asked, truth = table.take(test), table.truth[test]
        better.append(
            accuracy(truth, model.p_yes(asked)) - accuracy(truth, MajorityVote().p_yes(asked))
        )
    assert np.mean(better) > 0.1


def test_new_objects_new_rooms_and_silent_robots_get_an_answer(table):
    model = CamPlus()
    model.fit(table)
    one = replace(table.take([0]), objects=("flux capacitor",), rooms=("engine room",))
    for asked in (one, with_missing(one, 1.0, 0)):
        p = float(model.p_yes(asked)[0])
        assert 0.0 < p < 1.0
    final = model.predict(with_missing(one, 1.0, 0))[0]
    assert final.yes is not None and final.missing == table.agents


def test_trained_on_next_to_nothing_it_still_answers(table):
    for rows in ([0], [0, 1], [0, 2, 4]):
        model = CamPlus()
        model.fit(table.take(rows))
        p = model.p_yes(table)
        assert np.all((p > 0) & (p < 1))


def test_weights_show_whose_answer_mattered(table):
    model = CamPlus()
    model.fit(table)
    alone = [i for i in range(len(table)) if (table.evidence[i] == 0).sum() == 1]
    weights = model.weights(table)
    hits = [int(np.argmax(weights[i])) == int(np.argmin(table.evidence[i])) for i in alone]
    assert np.mean(hits) > 0.9


def test_unknown_feature_groups_are_refused():
    with pytest.raises(ValueError, match="no feature group named 'telepathy'"):
        CamPlus(groups=("seen", "telepathy"))


def test_words_in_common():
    overlap = word_overlap(["kitchen cabinet", "sofa"], ["cabinet", "sofa", "kitchen sink"])
    assert overlap.tolist() == [[0.5, 0.0, pytest.approx(1 / 3)], [0.0, 1.0, 0.0]]


def test_folds_keep_objects_together(table):
    fold = folds_by_group(table.groups, 0, 5)
    assert set(fold) == set(range(5))
    for thing in set(table.objects):
        assert len({int(fold[i]) for i, o in enumerate(table.objects) if o == thing}) == 1


@pytest.mark.parametrize("kind", ["platt", "isotonic"])
def test_calibration_mends_scores_that_are_too_sure(kind):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 2000)
    truth = rng.random(2000) < p
    sure = np.clip(p * 3 - 1, 0.001, 0.999)
    curve = Calibration.of(sure[:1000], truth[:1000], kind)
    mended = curve.apply(sure[1000:])

    def error(p):
        return calibration_error((p > 0.5) == truth[1000:], np.maximum(p, 1.0 - p))

    assert error(sure[1000:]) > 0.1 and error(mended) < 0.05
    assert np.all(np.diff(curve.apply(np.linspace(0, 1, 50))) >= -1e-12)
    assert Calibration.from_lists(curve.as_lists()) == curve


def test_calibrated_cam_answers_and_is_less_sure(table):
    train, test = split(table, "grouped", 0)
    plain, calibrated = CamDecisionTree(), CamDecisionTree(calibration="platt")
    for model in (plain, calibrated):
        model.fit(table.take(train))
    p, q = plain.p_yes(table.take(test)), calibrated.p_yes(table.take(test))
    assert np.mean(np.maximum(q, 1 - q)) < np.mean(np.maximum(p, 1 - p))
    with pytest.raises(ValueError, match="no calibration named"):
        CamDecisionTree(calibration="magic")


def test_selective_accuracy_by_hand():
    right = np.array([True, True, False, False])
    confidence = np.array([0.95, 0.55, 0.4, np.nan])
    assert selective(right, confidence, 0.9) == (1.0, 0.25)
    assert selective(right, confidence, 0.0) == (2 / 3, 0.75)
    right, share = selective(right, confidence, 0.99)
    assert np.isnan(right) and share == 0.0
