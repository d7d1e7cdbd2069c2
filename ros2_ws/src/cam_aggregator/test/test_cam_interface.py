"""Interface of aggregators: votes; missing, repeated, foreign, malformed answers; abstaining."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import pytest

from cam_aggregator.base import Aggregator, AggregatorError, accuracy
from cam_aggregator.label_free import DawidSkeneAggregator
from cam_aggregator.registry import aggregator_names, make_aggregator
from cam_aggregator.votes import ConfidenceWeightedVote, MajorityVote
from coterie_core.answer_table import AnswerTable
from coterie_core.questions import Answer, Evidence, LabelledQuestion, Question, is_guess
from coterie_requests.presence import unknown_room

pytestmark = pytest.mark.quick

ASKED = Question("q1", "mug", "kitchen")
TEAM = ("a", "b", "c")


def said(robot: str, yes: bool, confidence: float = 0.8, question: str = "q1") -> Answer:
    return Answer(question, robot, yes, confidence, Evidence("prior_only"))


def test_majority_of_three_decides_and_each_vote_is_listed():
    final = MajorityVote().decide(ASKED, [said("a", True), said("b", False), said("c", True)], TEAM)
    assert final.yes is True
    assert final.confidence == pytest.approx(0.8)
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


def been(robot: str, yes: bool, confidence: float, kind, prior: float = 0.4) -> Answer:
    return Answer("q1", robot, yes, confidence, Evidence(kind, prior=prior))


def test_one_robot_that_saw_it_outvotes_two_that_guess():
    answers = [
        been("a", True, 0.97, "seen"),
        been("b", False, 0.6, "prior_only"),
        been("c", False, 0.6, "prior_only"),
    ]
    final = ConfidenceWeightedVote().decide(ASKED, answers, TEAM)
    assert final.yes is True and final.confidence == pytest.approx(0.97, abs=0.005)
    weights = {vote.robot: vote.weight for vote in final.votes}
    assert weights["a"] > 0.0 == weights["b"] == weights["c"]


class AnyYes(Aggregator):
    """A method of somebody's own."""

    name = "any_yes"

    def p_yes(self, table):
        return (table.answers & table.present).any(axis=1) * 0.75 + 0.05


class Tally(AnyYes):
    """One that knows nothing of its confidence."""

    own_confidence = False


def test_the_confidence_of_a_method_of_somebodys_own_is_what_it_returns():
    for guess in (True, False):
        final = AnyYes().decide(ASKED, [been("a", guess, 0.6, "prior_only")], TEAM)
        assert (final.yes, final.confidence) == (guess, pytest.approx(0.8 if guess else 0.95))
        assert "P(yes) = 0.80" in final.explanation or not guess


@pytest.mark.parametrize("returned", [[1.5], [-0.1], [0.5, 0.5], [[0.5]]])
def test_what_is_no_probability_is_refused_by_name(monkeypatch, returned):
    monkeypatch.setattr(AnyYes, "p_yes", lambda self, table: returned)
    with pytest.raises(AggregatorError, match=r"any_yes: p_yes returned .* from 0 to 1"):
        AnyYes().decide(ASKED, [said("a", True)], TEAM)


@pytest.mark.parametrize("method", [Tally, MajorityVote, DawidSkeneAggregator])
def test_a_method_that_was_not_measured_is_as_sure_as_the_robots_observations_are(method):
    seen = [been("a", True, 0.97, "seen"), been("b", True, 0.6, "prior_only")]
    final = method().decide(ASKED, seen, TEAM)
    vote = ConfidenceWeightedVote().decide(ASKED, seen, TEAM)
    assert final.yes is True and final.confidence == vote.confidence
    assert "by what they observed P(yes) = " in final.explanation
    table = method().predict(_table(seen))[0]
    assert (table.yes, table.confidence) == (True, pytest.approx(vote.confidence))


def test_an_answer_against_what_robots_observed_is_called_unlikely_and_may_be_withheld():
    outvoted = [
        been("a", True, 0.97, "seen"),
        been("b", False, 0.6, "prior_only"),
        been("c", False, 0.6, "prior_only"),
    ]
    final = MajorityVote().decide(ASKED, outvoted, TEAM)
    assert final.yes is False and final.confidence == pytest.approx(0.03, abs=0.005)
    assert final.explanation.endswith(
        "by what they observed P(yes) = 0.97, against this answer of majority_vote"
    )
    assert MajorityVote(abstain_below=0.5).decide(ASKED, outvoted, TEAM).yes is None


def _table(answers: list[Answer]) -> AnswerTable:
    return AnswerTable.of("h", TEAM, [LabelledQuestion(ASKED, True, "mug")], answers)


@pytest.mark.parametrize("count", [1, 3, 50])
@pytest.mark.parametrize("prior", [0.1, 0.45, 0.74])
def test_robots_that_have_not_been_there_state_their_common_sense_once(count, prior):
    team = [f"r{k}" for k in range(count)]
    answers = [been(r, prior > 0.5, max(prior, 1 - prior), "prior_only", prior) for r in team]
    for name in ("confidence_vote", "debate"):
        final = make_aggregator(name).decide(ASKED, answers, team)
        assert final.yes == (prior > 0.5)
        assert final.confidence == pytest.approx(max(prior, 1 - prior), abs=1e-6)


def test_many_that_looked_in_vain_are_not_certain_since_their_detector_is_the_same():
    def decided(count: int) -> float:
        team = [f"r{k}" for k in range(count)]
        answers = [been(r, False, 0.8, "not_there", 0.5) for r in team]
        final = ConfidenceWeightedVote().decide(ASKED, answers, team)
        assert final.yes is False
        return final.confidence

    assert decided(1) == pytest.approx(0.8)
    assert 0.8 < decided(3) < decided(50) < 0.99


def test_a_robot_that_turns_its_answers_round_only_makes_itself_unheard():
    honest = [been("a", True, 0.95, "seen"), been("b", False, 0.7, "not_there")]
    alone = ConfidenceWeightedVote().decide(ASKED, honest, TEAM)
    liars = (
        been("c", False, 0.95, "seen"),
        been("c", True, 0.7, "not_there"),
    )
    for liar in liars:
        final = ConfidenceWeightedVote().decide(ASKED, [*honest, liar], TEAM)
        assert (final.yes, final.confidence) == (alone.yes, pytest.approx(alone.confidence))
        assert next(vote.weight for vote in final.votes if vote.robot == "c") == 0.0
    guesses = [been(r, False, 0.6, "prior_only") for r in "ab"]
    for name in ("confidence_vote", "debate"):
        final = make_aggregator(name).decide(
            ASKED, [*guesses, been("c", True, 0.6, "prior_only")], TEAM
        )
        assert final.yes is False


def test_unknown_is_neither_no_nor_zero_percent_sure_of_no():
    cannot = Answer(
        "q1", "a", False, 0.5, Evidence("nothing"), explanation="these robots do not know 'xyzzy'"
    )
    others = [been(r, False, 0.6, "prior_only") for r in "bc"]
    for name in ("majority_vote", "confidence_vote", "debate", "dawid_skene"):
        final = make_aggregator(name).decide(ASKED, [cannot, *others], TEAM)
        assert final.yes is None and final.confidence == 0.0
        assert final.explanation == "these robots do not know 'xyzzy'"
    looked = been("b", True, 0.9, "seen")
    assert ConfidenceWeightedVote().decide(ASKED, [cannot, looked], TEAM).yes is True


def test_a_room_that_nobody_knows_is_named_once_for_the_team():
    known = {"a": ("hall", "kitchen"), "b": ("hall", "pantry"), "c": ()}
    answers = [
        Answer("q1", robot, False, 0.5, Evidence("nothing"), unknown_room("orangery", rooms))
        for robot, rooms in known.items()
    ]
    for name in ("majority_vote", "confidence_vote"):
        final = make_aggregator(name).decide(ASKED, answers, TEAM)
        assert final.yes is None
        assert final.explanation.count("no room 'orangery' is known here") == 1
        assert final.explanation.endswith("(known: hall, kitchen)")  # to one of the robots
    other = replace(answers[2], explanation="these robots do not know 'xyzzy'")
    final = MajorityVote().decide(ASKED, [*answers[:2], other], TEAM)
    assert final.explanation.endswith("kitchen); these robots do not know 'xyzzy'")


def test_abstains_below_the_threshold():
    answers = [said("a", True), said("b", False), said("c", True)]
    final = MajorityVote(abstain_below=0.95).decide(ASKED, answers, TEAM)
    assert final.yes is None and final.confidence == 0.0
    assert "abstains" in final.explanation
    assert MajorityVote(abstain_below=0.5).decide(ASKED, answers, TEAM).yes is True


def test_mistyped_names_and_options_get_the_nearest():
    with pytest.raises(AggregatorError, match="did you mean 'majority_vote'"):
        make_aggregator("majorty_vote")
    with pytest.raises(AggregatorError, match="did you mean 'abstain_below'"):
        make_aggregator("majority_vote", abstain_bellow=0.5)


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


OWN = """
from cam_aggregator.base import Aggregator


class AnyYes(Aggregator):
    name = "any_yes"

    def p_yes(self, table):
        return (table.answers & table.present).any(axis=1).astype(float)


class Stranger:
    pass

class Half(Aggregator):
    name = 'half'

class Nameless(AnyYes):
    name = ''
"""


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "my_votes.py").write_text(OWN)
    (tmp_path / "broken_votes.py").write_text("raise RuntimeError('as it is')")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("my_votes", None)


@pytest.mark.usefixtures("own_module")
def test_a_class_of_the_users_own_is_named_by_its_module():
    made = make_aggregator("my_votes:AnyYes", abstain_below=0.2)
    final = made.decide(ASKED, [said("a", False), said("b", True), said("c", False)], TEAM)
    assert (final.yes, final.method, made.abstain_below) == (True, "any_yes", 0.2)


@pytest.mark.usefixtures("own_module")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("my_vote:AnyYes", "my_vote cannot be imported.*PYTHONPATH"),
        ("broken_votes:AnyYes", "RuntimeError: as it is"),
        ("my_votes:AnyNo", "no AnyNo; expected a class derived from .*Aggregator"),
        ("my_votes:Stranger", "aggregator.method: .*expected a class derived from .*Aggregator"),
        ("my_votes:AnyYes.p_yes", "expected my_package.module:Class"),
        ("my_votes:Half", "write p_yes"),
        ("my_votes:Nameless", "set `name`"),
    ],
)
def test_a_class_that_is_none_is_refused(name, why):
    with pytest.raises(AggregatorError, match=why):
        make_aggregator(name)


def test_what_is_usual_alone_is_called_a_guess_and_one_look_makes_it_none():
    guesses = [been(r, True, 0.66, "prior_only") for r in "ab"]
    for name in ("majority_vote", "confidence_vote", "debate", "dawid_skene"):
        final = make_aggregator(name).decide(ASKED, guesses, TEAM)
        assert final.yes is True and final.explanation.startswith("a guess")
        looked = [*guesses, been("c", True, 0.9, "seen")]
        assert "guess" not in make_aggregator(name).decide(ASKED, looked, TEAM).explanation
    seen = [been("a", True, 0.999, "seen", prior=0.999)]  # what is usual is as sure as the look
    final = make_aggregator("confidence_vote").decide(ASKED, seen, TEAM)
    assert final.votes[0].weight == 0.0 and not is_guess(final, seen)
    half = [been("a", True, 0.6, "not_there")]  # most of the room is still to be seen
    assert is_guess(MajorityVote().decide(ASKED, half, TEAM), half)
    empty = [been("a", False, 0.9, "not_there")]
    assert not is_guess(MajorityVote().decide(ASKED, empty, TEAM), empty)
