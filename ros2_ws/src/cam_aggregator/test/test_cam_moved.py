"""What was moved away since it was seen decides, unless it was seen after that."""

from __future__ import annotations

from cam_aggregator.moved import after_moves
from cam_aggregator.registry import make_aggregator
from coterie_core.questions import Answer, Evidence, EvidenceKind, FinalAnswer, Question

TEAM = ("ada", "ben", "cleo")
QUESTION = Question("q", "clock", "study")


def says(robot: str, kind: EvidenceKind, age: float, yes: bool = False) -> Answer:
    told = f"dora brought it to the pantry, {age:g} s ago" if kind == "moved" else ""
    return Answer("q", robot, yes, 0.8, Evidence(kind, age=age), told)


def settled(*answers: Answer) -> FinalAnswer:
    vote = make_aggregator("confidence_vote").decide(QUESTION, answers, TEAM)
    return after_moves(vote, answers, TEAM)


def test_the_answer_is_no_and_names_who_brought_it_where() -> None:
    final = settled(says("ada", "moved", 90.0), says("ben", "moved", 60.0))
    assert final.yes is False and final.confidence == 0.8
    assert final.explanation == "no: dora brought it to the pantry, 60 s ago"


def test_a_sighting_before_the_move_is_outvoted_one_after_it_wins() -> None:
    moved = [says("ada", "moved", 60.0), says("ben", "moved", 60.0)]
    assert settled(*moved, says("cleo", "seen", 500.0, True)).yes is False
    newer = settled(*moved, says("cleo", "seen", 5.0, True))
    assert newer.yes is True and "cleo saw one after" in newer.explanation


def test_one_robot_alone_and_strangers_turn_nothing() -> None:
    others = [says("ben", "seen", 500.0, True), says("cleo", "seen", 400.0, True)]
    assert settled(says("ada", "moved", 60.0), *others).yes is True
    assert settled(*others, says("eve", "moved", 1.0), says("eve", "moved", 1.0)).yes is True


def test_without_moves_the_votes_stand() -> None:
    final = FinalAnswer("q", True, 0.9, "x")
    assert after_moves(final, [says("ada", "seen", 1.0, True)], TEAM) is final
