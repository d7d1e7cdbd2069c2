"""Collecting answers: complete, late, early, doubled, flooding; bounded memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cam_aggregator.collector import Collector
from coterie_core.questions import Answer, Evidence, Question


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def question(name: str) -> Question:
    return Question(name, "mug", "kitchen")


def answer(question: str, robot: str, yes: bool = True) -> Answer:
    return Answer(question, robot, yes, 0.8, Evidence("seen"))


def test_complete_when_all_expected_have_answered() -> None:
    collector = Collector(["a", "b"], clock=Clock())
    assert collector.ask(question("q"))
    collector.add(answer("q", "a"))
    assert collector.take_complete("q") is None
    collector.add(answer("q", "b"))
    done = collector.take_complete("q")
    assert done is not None and done.answered_by() == {"a", "b"}
    assert collector.take_complete("q") is None and collector.waiting == 0


def test_deadline_closes_what_is_incomplete() -> None:
    clock = Clock()
    collector = Collector(["a", "b"], deadline=5.0, clock=clock)
    collector.ask(question("q"))
    collector.ask(question("patient"), deadline=50.0)
    collector.add(answer("q", "a"))
    assert collector.take_due() == []
    clock.now = 5.0
    assert [entry.question.id for entry in collector.take_due()] == ["q"]
    assert collector.take_due() == [] and collector.waiting == 1


def test_answers_may_come_before_the_question() -> None:
    collector = Collector(["a"], clock=Clock())
    collector.add(answer("q", "a"))
    assert collector.take_complete("q") is None
    collector.ask(question("q"))
    assert collector.take_complete("q") is not None


def test_a_question_asked_again_is_the_same_question() -> None:
    collector = Collector(["a"], clock=Clock())
    assert collector.ask(question("q")) and not collector.ask(question("q"))
    collector.add(answer("q", "a"))
    assert collector.take_complete("q") is not None
    assert not collector.ask(question("q")) and collector.waiting == 0


def test_late_answers_are_kept_but_open_nothing() -> None:
    clock = Clock()
    collector = Collector(["a", "b"], deadline=1.0, clock=clock)
    collector.ask(question("q"))
    clock.now = 2.0
    collector.take_due()
    collector.add(answer("q", "b"))
    entry = collector.get("q")
    assert collector.late == 1 and entry is not None and entry.answered_by() == {"b"}
    assert collector.take_complete("q") is None


def test_a_flood_does_not_fill_the_memory() -> None:
    collector = Collector(["a", "b"], keep=100, clock=Clock())
    for n in range(5000):
        collector.add(answer(f"never asked {n}", "x"))
        collector.ask(question(f"q{n}"))
        for _ in range(20):
            collector.add(answer(f"q{n}", "a"))
    assert len(list(collector)) == 100 and len(collector._early) <= 100
    assert all(len(entry.answers) <= 8 for entry in collector)


@given(st.permutations([(q, r) for q in "xyz" for r in "abc"]))
def test_the_order_of_arrival_does_not_matter(order: list[tuple[str, str]]) -> None:
    collector = Collector(["a", "b", "c"], clock=Clock())
    for name in "xyz":
        collector.ask(question(name))
    done = []
    for name, robot in order:
        collector.add(answer(name, robot))
        if collector.take_complete(name):
            done.append(name)
    assert sorted(done) == ["x", "y", "z"] and collector.waiting == 0
