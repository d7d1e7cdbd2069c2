"""Debate as an aggregator: last words decide, what robots observed says how sure that is."""

from __future__ import annotations

import numpy as np
import pytest

from cam_aggregator.debate import Debate, LastWords
from coterie_core.questions import Answer, Evidence, Question

ROBOTS = ("a", "b", "c")


def said(robot: str, yes: bool, confidence: float, kind="prior_only", prior=0.4) -> Answer:
    return Answer("q", robot, yes, confidence, Evidence(kind, prior=prior))


def decide(*answers: Answer):
    return LastWords().decide(Question("q", "mug", "office"), answers, ROBOTS)


def test_two_that_are_hardly_sure_are_not_certain_together() -> None:
    final = decide(said("a", True, 0.7), said("b", True, 0.6))
    assert final.yes and 0.6 < final.confidence < 0.7
    assert final.method == "debate" and final.missing == ("c",)


def test_the_majority_decides_even_against_one_that_is_surer() -> None:
    final = decide(said("a", False, 0.55), said("b", False, 0.55), said("c", True, 0.99))
    assert final.yes is False and final.confidence == pytest.approx(0.55)


def test_who_was_talked_out_of_what_it_saw_still_speaks_for_the_confidence() -> None:
    first = [said("a", True, 0.97, "seen"), said("b", False, 0.6), said("c", False, 0.6)]
    last = [said("a", False, 0.6, "seen"), *first[1:]]
    asked = Question("q", "mug", "office")
    final = LastWords().decide(asked, last, ROBOTS, observed=first)
    assert final.yes is False and final.confidence < 0.1
    assert "against this answer" in final.explanation
    assert LastWords().decide(asked, last, ROBOTS).confidence > 0.5


def test_nobody_left_means_no_answer() -> None:
    assert decide().yes is None


def test_a_debate_by_the_rule_lets_sight_win_over_guesses() -> None:
    answers = [said("a", False, 0.6), said("b", False, 0.6), said("c", True, 0.97, "seen")]
    debated = Debate().decide(Question("q", "mug", "office"), answers, ROBOTS)
    assert debated.yes and debated.confidence < 0.99
    from coterie_core.answer_table import AnswerTable
    from coterie_core.questions import LabelledQuestion

    table = AnswerTable.of(
        "h", ROBOTS, [LabelledQuestion(Question("q", "mug", "office"), True)], answers
    )
    after = Debate().last_words(table)
    assert np.array_equal(after.present, table.present) and after.answers[0, 2]
