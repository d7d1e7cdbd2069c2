"""Examination, votes and floor plans without ROS: on a small house."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from cam_aggregator.registry import aggregator_names
from coterie.floor_plan import Plan, draw_plans, to_svg
from coterie_bringup.errors import CommandError
from coterie_bringup.team_sections import Method
from coterie_cli.demo.referee import bank_of_file, bank_of_house, examination
from coterie_cli.demo.voting import METHODS, evaluate
from coterie_core.answer_table import AnswerTable
from coterie_core.colors import robot_colors
from coterie_core.questions import Answer, Evidence, LabelledQuestion
from coterie_world.scene import SceneGraph
from habitat_bridge.factory import make_world


@pytest.fixture(scope="module")
def house() -> SceneGraph:
    world = make_world({"kind": "embedded", "seed": 5, "floors": 2})
    try:
        return world.truth()
    finally:
        world.close()


def answers_of(robot: str, items: list[LabelledQuestion], right: float, seed: int) -> list[Answer]:
    """Answers that are right with a given probability."""
    rng = np.random.default_rng(seed)
    made = []
    for item in items:
        yes = item.truth if rng.random() < right else not item.truth
        evidence = Evidence("seen" if yes else "not_there", looks=2, visited_fraction=0.8)
        made.append(Answer(item.question.id, robot, yes, 0.8, evidence, f"I am {robot}"))
    return made


def test_no_object_is_both_in_training_and_test(house: SceneGraph) -> None:
    exam = examination(bank_of_house(house, 1), train=100, test=40, seed=1)
    assert len(exam.test) == 40 and len(exam.train) == 100
    assert not {i.group for i in exam.train} & {i.group for i in exam.test}
    again = examination(bank_of_house(house, 1), train=100, test=40, seed=1)
    assert [i.question.id for i in again.test] == [i.question.id for i in exam.test]
    other = examination(bank_of_house(house, 1), train=100, test=40, seed=2)
    assert [i.question.id for i in other.test] != [i.question.id for i in exam.test]
    with pytest.raises(CommandError, match=r"lower questions\.count"):
        examination(bank_of_house(house, 1), train=10, test=5000, seed=1)


def test_questions_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "q.json"
    entry = {"object": "mug", "room": "kitchen", "truth": True}
    file.write_text(json.dumps([entry, {"object": "bed", "truth": False}]))
    bank = bank_of_file(file)
    assert [(i.question.object, i.question.room, i.truth) for i in bank] == [
        ("mug", "kitchen", True),
        ("bed", "", False),
    ]
    for content, expected in [
        ("{", "no questions can be read"),
        ("{}", "expected a list"),
        (json.dumps([entry, {"object": "mug"}]), "entry 1"),
        (json.dumps([{**entry, "room": 3}]), "must be text"),
    ]:
        file.write_text(content)
        with pytest.raises(CommandError, match=expected):
            bank_of_file(file)


def test_team_files_know_all_aggregators() -> None:
    assert set(get_args(Method)) == set(aggregator_names())
    assert set(METHODS) <= set(aggregator_names())


def test_evaluation_of_answers_that_were_given(
    house: SceneGraph,
) -> None:
    exam = examination(bank_of_house(house, 1), train=120, test=40, seed=3)
    items = [*exam.train, *exam.test]
    robots = ["a", "b", "c"]
    given = [x for k, r in enumerate(robots) for x in answers_of(r, items, 0.95 - 0.2 * k, k)]
    train = AnswerTable.of("h", robots, exam.train, given)
    test = AnswerTable.of("h", robots, exam.test, given)
    found, answers = evaluate(train, test)
    scores = {s.method: s for s in found}
    assert list(scores) == list(METHODS)
    for method, score in scores.items():
        assert score.accuracy is not None, f"{method}: {score.note}"
        right = [answers[method][i.question.id] is i.truth for i in exam.test]
        assert score.accuracy == pytest.approx(np.mean(right))
    assert scores["cam_plus"].accuracy >= 0.7  # type: ignore[operator]


def test_drawings(house: SceneGraph) -> None:
    ways = {"rover": [(1.0 + i, 2.0, 0.0) for i in range(5)], "idle": []}
    plan = Plan(house, ways=ways, stops=True, items=False)
    drawn = to_svg(draw_plans(plan))
    assert drawn.index("Ground floor") < drawn.index("Upper floor")
    color = robot_colors(ways)["rover"]
    assert drawn.count(f"stroke: {color}") == 1 + 5 + 1  # its way, where it stopped, its name
    assert drawn == to_svg(draw_plans(plan))


def test_names_in_a_floor_plan_do_not_collide(house: SceneGraph) -> None:
    figure = draw_plans(Plan(house, names=True))
    figure.canvas.draw()
    for axes in figure.axes:
        boxes = [text.get_window_extent() for text in axes.texts]
        assert len(boxes) > 20
        assert not [1 for a, b in itertools.combinations(boxes, 2) if a.overlaps(b)]
