"""The oracle in a debate: it weighs what each robot found by the prompt alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coterie_core.questions import Answer, Evidence, EvidenceKind, Question
from coterie_fixtures.oracle import Oracle
from coterie_llm import request_for
from coterie_llm.dialect import Dialect
from coterie_requests.debate import DebateState, DebateTurn, Utterance

ASKED = Question("q", "kettle", "pantry")
Told = tuple[str, bool, float, EvidenceKind]


def oracle_says(own: Told, *others: Told, prior: float, final: bool = True) -> float:
    """Return P(yes) of the oracle's turn after everybody's first words."""
    robot, yes, sure, kind = own
    first = Answer("q", robot, yes, sure, Evidence(kind, looks=2, prior=prior))
    talk = tuple(Utterance(name, 0, word, p, ground) for name, word, p, ground in others)
    state = DebateState(robot, ASKED, first, "", talk, final)
    body = Dialect().body("m", request_for(DebateTurn(), state, "model", None))
    said: Any = Oracle()(json.loads(json.dumps(body)))
    reply = DebateTurn().reply_type.model_validate(said)
    assert isinstance(reply.statement, str) and reply.statement
    return reply.confidence if reply.answer == "yes" else 1.0 - reply.confidence


def test_first_words_are_its_own_whatever_it_heard() -> None:
    own: Told = ("a", False, 0.7, "prior_only")
    others: tuple[Told, ...] = (("b", True, 0.97, "seen"), ("c", True, 0.95, "seen"))
    assert oracle_says(own, *others, prior=0.3, final=False) == pytest.approx(0.3, abs=0.01)
    assert oracle_says(own, *others, prior=0.3) > 0.9


def test_what_all_supposed_before_counts_once() -> None:
    guesses: list[Told] = [(name, True, 0.7, "prior_only") for name in "abcdef"]
    assert oracle_says(*guesses, prior=0.7) == pytest.approx(0.7, abs=0.01)


def test_the_same_words_weigh_by_what_was_likely_before() -> None:
    """Unsure after a look says much of a thing that belongs there, and nothing of one that may."""
    supposes: Told = ("a", True, 0.62, "prior_only")
    looked: Told = ("b", False, 0.6, "not_there")
    assert oracle_says(supposes, looked, prior=0.9) < 0.6
    assert oracle_says(supposes, looked, prior=0.4) == pytest.approx(0.4, abs=0.01)


def test_a_second_one_that_found_nothing_tells_less_than_the_first() -> None:
    def after(looked: int) -> float:
        empty: list[Told] = [(f"b{k}", False, 0.8, "not_there") for k in range(looked)]
        return oracle_says(("a", True, 0.5, "prior_only"), *empty, prior=0.5)

    one, two = 0.5 - after(1), after(1) - after(2)
    assert one > 2 * two > 0


def test_own_eyes_weigh_more_than_anothers_word() -> None:
    saw, empty = ("a", True, 0.9, "seen"), ("b", False, 0.9, "not_there")
    assert oracle_says(saw, empty, prior=0.5) > 0.5 > oracle_says(empty, saw, prior=0.5)
