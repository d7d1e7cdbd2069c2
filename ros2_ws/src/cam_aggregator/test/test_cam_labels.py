"""Labels of people: with the robots' answers in memory and in a file, without ROS."""

from __future__ import annotations

from cam_aggregator.collector import Collector
from cam_aggregator.labels import Labels
from coterie_core.answer_table import AnswerTable
from coterie_core.questions import Answer, Evidence, Question

ROBOTS = ("ann", "bob")


def asked(*names: str) -> Collector:
    collector = Collector(ROBOTS)
    for name in names:
        collector.ask(Question(name, "mug", "kitchen"))
        collector.add(Answer(name, "ann", True, 0.7, Evidence("seen")))
        collector.add(Answer(name, "bob", False, 0.6, Evidence("not_there")))
    return collector


def test_labels_of_earlier_runs_are_learned_from_too_and_a_later_one_counts(tmp_path):
    file = tmp_path / "models" / "answers.json"
    first = Labels("h1", ROBOTS, file)
    assert first.read() == ""
    first.tell("q1", True)
    first.tell("q2", True)
    first.tell("not asked", True)
    first.save(asked("q1", "q2", "q3"))
    assert AnswerTable.from_json(file.read_text()).questions == ("q1", "q2")

    second = Labels("h1", ROBOTS, file)
    assert second.read() == "" and len(second) == 2
    second.tell("q2", False)  # somebody looked again
    second.tell("q4", False)
    table = second.table(asked("q4"))
    assert dict(zip(table.questions, table.truth, strict=True)) == {
        "q1": True, "q2": False, "q4": False,
    }  # fmt: skip
    assert [(a.robot, a.yes, a.confidence) for a in table.row(0)] == [
        ("ann", True, 0.7), ("bob", False, 0.6),
    ]  # fmt: skip


def test_labels_of_another_house_are_neither_used_nor_written_over(tmp_path):
    file = tmp_path / "answers.json"
    first = Labels("h1", ROBOTS, file)
    first.tell("q1", True)
    first.save(asked("q1"))
    kept = file.read_text()
    for house, robots in (("h2", ROBOTS), ("h1", ("ann",))):
        other = Labels(house, robots, file)
        assert "another house or team" in other.read() and len(other) == 0
        other.tell("q9", True)
        other.save(asked("q9"))
        assert file.read_text() == kept


def test_a_file_that_is_no_table_is_named(tmp_path):
    file = tmp_path / "answers.json"
    for text in ("{", "[]", '{"format": "coterie/answers/1"}'):
        file.write_text(text)
        assert str(file) in Labels("h1", ROBOTS, file).read()
        assert file.read_text() == text
