"""What was moved away since it was seen decides, unless it was seen after that."""

from __future__ import annotations

import pytest

from cam_aggregator.moved import after_moves
from cam_aggregator.registry import make_aggregator
from coterie_core.questions import Answer, Evidence, EvidenceKind, FinalAnswer, Question

TEAM = ("ada", "ben", "cleo")
QUESTION = Question("q", "clock", "study")


def says(
    robot: str,
    kind: EvidenceKind,
    age: float,
    yes: bool = False,
    *,
    sure: float = 0.8,
    sightings: int = 3,
) -> Answer:
    told = f"dora brought it to the pantry, {age:g} s ago" if kind == "moved" else ""
    evidence = Evidence(kind, age=age, sightings=sightings if kind == "seen" else 0)
    return Answer("q", robot, yes, sure, evidence, told)


def settled(*answers: Answer) -> FinalAnswer:
    vote = make_aggregator("confidence_vote").decide(QUESTION, answers, TEAM)
    return after_moves(vote, answers, TEAM)


def test_the_answer_is_no_and_names_who_brought_it_where() -> None:
    final = settled(says("ada", "moved", 90.0), says("ben", "moved", 60.0))
    assert final.yes is False and final.confidence == 0.8
    assert final.explanation == "no: dora brought it to the pantry, 60 s ago"


def test_sightings_before_the_move_are_outvoted_two_robots_after_it_win() -> None:
    moved = [says("ada", "moved", 60.0), says("ben", "moved", 60.0)]
    assert settled(*moved, says("cleo", "seen", 500.0, True)).yes is False
    seen = [says(r, "seen", 5.0, True, sure=0.95) for r in ("ben", "cleo")]
    newer = settled(moved[0], *seen)
    assert newer.yes is True and "ben, cleo saw one after" in newer.explanation
    assert 0.5 < newer.confidence < 1.0


def test_one_robot_is_believed_against_one_if_more_than_a_single_look_has_shown_it() -> None:
    told, two = says("ada", "moved", 60.0, sure=0.7), TEAM[:2]
    seen = says("ben", "seen", 5.0, True, sure=0.97)
    vote = make_aggregator("confidence_vote").decide(QUESTION, [told, seen], two)
    final = after_moves(vote, [told, seen], two)
    assert final.yes is True and 0.5 < final.confidence < seen.confidence
    phantom = says("ben", "seen", 5.0, True, sure=0.999, sightings=1)
    assert after_moves(vote, [told, phantom], two).yes is False


@pytest.mark.parametrize("sightings", [1, 2, 40])
def test_one_that_claims_to_have_seen_it_makes_the_others_less_sure_and_turns_nobody(
    sightings: int,
) -> None:
    moved = [says("ada", "moved", 60.0), says("ben", "moved", 60.0)]
    alone = settled(*moved)
    liar = says("cleo", "seen", 1.0, True, sure=0.999, sightings=sightings)
    final = settled(*moved, liar)
    assert final.yes is False and 0.5 <= final.confidence < alone.confidence
    assert "cleo told of one seen since" in final.explanation
    faint = settled(*moved, says("cleo", "seen", 1.0, True, sure=0.6, sightings=1))
    assert final.confidence < faint.confidence < alone.confidence


def test_answers_against_their_own_evidence_turn_nothing() -> None:
    moved = [says("ada", "moved", 60.0), says("ben", "moved", 60.0)]
    alone = settled(*moved)
    for liar in (
        says("cleo", "seen", 1.0, False, sure=0.99),
        says("cleo", "moved", 60.0, True, sure=0.99),
    ):
        final = settled(*moved, liar)
        assert (final.yes, final.confidence) == (False, pytest.approx(alone.confidence))


def test_a_team_that_is_too_unsure_after_a_move_abstains() -> None:
    moved = [says("ada", "moved", 60.0), says("ben", "moved", 60.0)]
    liar = says("cleo", "seen", 1.0, True, sure=0.999)
    vote = make_aggregator("confidence_vote").decide(QUESTION, [*moved, liar], TEAM)
    final = after_moves(vote, [*moved, liar], TEAM, abstain_below=0.75)
    assert final.yes is None and final.confidence == 0.0 and "abstains" in final.explanation
    assert after_moves(vote, moved, TEAM, abstain_below=0.75).yes is False


def test_one_robot_alone_and_strangers_turn_nothing() -> None:
    others = [says("ben", "seen", 500.0, True), says("cleo", "seen", 400.0, True)]
    assert settled(says("ada", "moved", 60.0), *others).yes is True
    assert settled(*others, says("eve", "moved", 1.0), says("eve", "moved", 1.0)).yes is True


def test_without_moves_the_votes_stand() -> None:
    final = FinalAnswer("q", True, 0.9, "x")
    assert after_moves(final, [says("ada", "seen", 1.0, True)], TEAM) is final
