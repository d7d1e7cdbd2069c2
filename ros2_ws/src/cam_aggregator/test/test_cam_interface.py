"""Interface of aggregators: votes; missing, repeated, foreign, malformed answers; abstaining."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cam_aggregator.base import AggregatorError, accuracy
from cam_aggregator.registry import aggregator_names, make_aggregator, register
from cam_aggregator.votes import ConfidenceWeightedVote, MajorityVote
from coterie_core.questions import Answer, Evidence, Question

ASKED = Question("q1", "mug", "kitchen")
TEAM = ("a", "b", "c")


def said(robot: str, yes: bool, confidence: float = 0.8, question: str = "q1") -> Answer:
    return Answer(question, robot, yes, confidence, Evidence("prior_only"))


def test_majority_of_three_decides_and_each_vote_is_listed():
    final = MajorityVote().decide(ASKED, [said("a", True), said("b", False), said("c", True)], TEAM)
    assert final.yes is True
    assert final.confidence == pytest.approx(2 / 3)
    assert {(v.robot, v.yes, v.weight) for v in final.votes} == {
        ("a", True, 1.0),
        ("b", False, 1.0),
        ("c", True, 1.0),
    }
    assert final.missing == () and final.method == "majority_vote"


@pytest.mark.parametrize(("tie", "expected"), [("no", False), ("yes", True), ("abstain", None)])
def test_a_tie_goes_where_it_was_told_to(tie, expected):
    final = MajorityVote(tie=tie).decide(ASKED, [said("a", True), said("b", False)], TEAM)
    assert final.yes is expected
    assert final.missing == ("c",)


def test_a_tie_is_not_a_reason_to_count_a_missing_answer():
    final = MajorityVote(tie="no").decide(ASKED, [said("b", True)], TEAM)
    assert final.yes is True and final.missing == ("a", "c")


def test_the_last_of_several_answers_of_a_robot_counts_once():
    answers = [said("a", True), said("b", False), said("a", False), said("c", True)]
    final = MajorityVote().decide(ASKED, answers, TEAM)
    votes = {v.robot: v for v in final.votes}
    assert final.yes is False and len(final.votes) == 3
    assert votes["a"].yes is False and "answered 2 times" in votes["a"].note


def test_strangers_and_answers_to_other_questions_do_not_count():
    answers = [
        said("a", False),
        said("x", True),
        said("y", True),
        said("b", True, question="another"),
    ]
    final = MajorityVote().decide(ASKED, answers, TEAM)
    assert final.yes is False and final.missing == ("b", "c")
    strange = [v for v in final.votes if v.weight == 0.0]
    assert {v.robot for v in strange} == {"x", "y"}
    assert all("not a robot of this team" in v.note for v in strange)


def test_no_answer_at_all_abstains_and_says_so():
    final = MajorityVote().decide(ASKED, [], TEAM)
    assert final.yes is None and final.missing == TEAM and "no robot" in final.explanation


@pytest.mark.parametrize("broken", [math.nan, math.inf, -3.0, 7.0])
def test_a_confidence_that_is_no_probability_cannot_break_or_own_the_vote(broken):
    answers = [said("a", True, broken), said("b", False, 0.9), said("c", False, 0.9)]
    final = ConfidenceWeightedVote().decide(ASKED, answers, TEAM)
    assert 0.0 <= final.confidence <= 1.0
    vote = next(v for v in final.votes if v.robot == "a")
    assert 0.5 <= vote.confidence <= 1.0 and math.isfinite(vote.weight) and vote.note


def test_one_sure_robot_outvotes_two_that_guess():
    answers = [said("a", True, 0.99), said("b", False, 0.6), said("c", False, 0.6)]
    final = ConfidenceWeightedVote().decide(ASKED, answers, TEAM)
    # odds: 99 against (0.6 / 0.4)^2 = 2.25
    assert final.yes is True
    assert final.confidence == pytest.approx(44.0 / 45.0, abs=1e-6)


def test_abstains_below_the_threshold_but_keeps_the_confidence():
    answers = [said("a", True), said("b", False), said("c", True)]
    final = MajorityVote(abstain_below=0.7).decide(ASKED, answers, TEAM)
    assert final.yes is None and final.confidence == pytest.approx(2 / 3)
    assert "abstains" in final.explanation
    assert MajorityVote(abstain_below=0.6).decide(ASKED, answers, TEAM).yes is True


def test_mistyped_names_and_options_get_the_nearest():
    with pytest.raises(AggregatorError, match="did you mean 'majority_vote'"):
        make_aggregator("majorty_vote")
    with pytest.raises(AggregatorError, match="did you mean 'abstain_below'"):
        make_aggregator("majority_vote", abstain_bellow=0.5)
    with pytest.raises(ValueError, match="registered already"):
        register("majority_vote", ConfidenceWeightedVote)


def test_all_methods_of_the_paper_are_registered():
    assert {
        "majority_vote",
        "debate",
        "neural_network",
        "random_forest",
        "decision_tree",
        "xgboost",
        "svm_rbf",
        "svm_linear",
        "logistic_regression",
        "cam_plus",
        "dawid_skene",
    } <= set(aggregator_names())


def test_accuracy_counts_no_answer_as_wrong():
    import numpy as np

    truth = np.array([True, False, True, True])
    assert accuracy(truth, np.array([0.9, 0.2, 0.4, np.nan])) == 0.5
    with pytest.raises(ValueError, match="no questions"):
        accuracy(truth[:0], np.array([]))


def test_untrained_models_say_what_to_do():
    for name in ("xgboost", "cam_plus"):
        with pytest.raises(AggregatorError, match=r"fit|labelled"):
            make_aggregator(name).fit(None)
        with pytest.raises(AggregatorError, match="fit"):
            make_aggregator(name).decide(ASKED, [said("a", True)], TEAM)


def test_answers_are_frozen_so_that_notes_never_reach_the_sender():
    answer = said("a", True)
    MajorityVote().decide(ASKED, [answer, replace(answer, yes=False)], TEAM)
    assert answer.yes is True
