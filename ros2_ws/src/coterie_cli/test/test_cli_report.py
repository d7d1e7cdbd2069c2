"""Examination, evaluation and report without ROS: on a small house that robots explored."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from cam_aggregator.registry import aggregator_names
from coterie_bringup.errors import CommandError
from coterie_bringup.team_sections import Method
from coterie_cli.demo.evaluation import METHODS, evaluate
from coterie_cli.demo.referee import bank_of_file, bank_of_house, examination
from coterie_cli.demo.results import (
    AskedQuestion,
    DemoRecord,
    GivenAnswer,
    MethodScore,
    Track,
    TrackPoint,
)
from coterie_cli.figures.house_plans import TreeNode, coverage_curve, floor_plans, tree_picture
from coterie_cli.figures.report import write_report
from coterie_core.answers import AnswerTable
from coterie_core.questions import Answer, Evidence, LabelledQuestion
from coterie_fixtures.browser import Browser, chromium
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
    house: SceneGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coterie_cli.demo.evaluation.RANDOM_SEEDS", range(2))
    exam = examination(bank_of_house(house, 1), train=120, test=40, seed=3)
    items = [*exam.train, *exam.test]
    robots = ["a", "b", "c"]
    given = [x for k, r in enumerate(robots) for x in answers_of(r, items, 0.95 - 0.2 * k, k)]
    train = AnswerTable.of("h", robots, exam.train, given)
    test = AnswerTable.of("h", robots, exam.test, given)
    result = evaluate(train, test, AnswerTable.of("h", robots, items, given))
    scores = {s.method: s for s in result.scores}
    assert list(scores) == list(METHODS)
    for method, score in scores.items():
        assert score.held_out is not None, f"{method}: {score.note}"
        right = [result.answers[method][i.question.id] is i.truth for i in exam.test]
        assert score.held_out == pytest.approx(np.mean(right))
    assert scores["cam_plus"].held_out >= 0.7  # type: ignore[operator]
    weight = {i.feature: i.mean for i in result.importances}
    assert set(weight) == {"object", "room", *robots}
    assert weight["a"] > weight["c"]
    assert result.tree is not None and result.tree.count == 120


@pytest.fixture
def record() -> DemoRecord:
    bad = "<script>alert(1)</script>"
    points = [TrackPoint(i, float(i), 1.0 + i, 2.0, 0.0, i / 10) for i in range(5)]
    tracks = [Track("rover", "wheels", points=points, steps=4, coverage=0.4), Track("idle", "air")]
    question = AskedQuestion("q1", bad, "kitchen", True)
    question.answers["rover"] = GivenAnswer(True, 0.9, "seen", f'"{bad}" onmouseover="x')
    return DemoRecord(
        "trio", bad, 1, "embedded", "majority_vote",
        tracks=tracks, questions=[question, AskedQuestion("q2", "mug", "", False)],
        notes=[bad], team_coverage=[0.0, 0.4],
    )  # fmt: skip


def test_the_report_needs_nothing_else_and_trusts_no_label(
    house: SceneGraph, record: DemoRecord, tmp_path: Path
) -> None:
    house.rooms[next(iter(house.rooms))].name = "<b>kitchen & co</b>"
    tree = TreeNode("object ≤ <i>?", 10, 0.5, TreeNode("", 5, 1.0), TreeNode("", 5, 0.0))
    write_report(record, house, tmp_path / "r.html", tree=tree)
    page = (tmp_path / "r.html").read_text()
    assert "<script" not in page and "<b>kitchen" not in page and "<i>?" not in page
    assert 'onmouseover="x' not in page
    assert not re.search(r"(src|href)\s*=", page)
    assert "@import" not in page and "url(" not in page
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)


def test_the_record_is_json(record: DemoRecord, tmp_path: Path) -> None:
    record.save(tmp_path / "demo.json")
    data = json.loads((tmp_path / "demo.json").read_text())
    assert data["tracks"][0]["points"][4]["x"] == 5.0
    record.timings["x"] = float("nan")
    with pytest.raises(ValueError):
        record.save(tmp_path / "bad.json")
    assert not (tmp_path / "bad.json").exists()


def test_drawings(house: SceneGraph, record: DemoRecord) -> None:
    plans = floor_plans(house, record.tracks)
    assert [title for title, _ in plans] == ["Ground floor", "Upper floor"]
    assert plans[0][1].count('class="stop r0"') == 5
    assert plans[1][1].count("stop r0") == 0
    assert floor_plans(SceneGraph(), []) == []
    assert coverage_curve([]).startswith("<svg")
    leaf = tree_picture(TreeNode("", 3, 1.0))
    assert leaf.count("<rect") == 1 and "YES" in leaf


def test_the_report_is_no_wider_than_a_phone(
    house: SceneGraph, record: DemoRecord, tmp_path: Path
) -> None:
    if chromium() is None:
        pytest.skip("no Chromium on this machine (apt install chromium): the page is not tried")
    names = [f"long_robot_{k}" for k in range(6)]
    record.tracks = [Track(name, "wheels", steps=30, coverage=0.4) for name in names]
    for question in record.questions:
        for name in names:
            question.answers[name] = GivenAnswer(True, 0.9, "seen", "saw it")
    record.scores = [MethodScore("cam", "CAM (decision tree)", True, 0.88, 0.912, 0.021)]
    record.usage = [
        {"who": name, "by": "local-model", "by_model": 1200, "by_rule": 300, "tokens": 1234567}
        for name in names
    ]
    write_report(record, house, tmp_path / "r.html", tree=TreeNode("", 5, 1.0))
    with Browser(chromium(), 390, 844) as phone:
        phone.open((tmp_path / "r.html").as_uri())
        phone.see("Who answered what")
        assert phone.run("document.documentElement.scrollWidth - innerWidth") <= 0
