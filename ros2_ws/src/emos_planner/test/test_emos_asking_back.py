"""Tasks that are judged by what their own parser reads."""

from __future__ import annotations

import pytest

from coterie_core.ask_back.rule import judged
from coterie_core.scene import SceneGraph
from coterie_fixtures.two_floor_home import small_house
from emos_planner.leader.asking_back import task_state


@pytest.fixture(scope="module")
def house() -> SceneGraph:
    return small_house()


def kinds(house: SceneGraph, *words: str) -> list[str]:
    return [judged(task_state(text, house, ("rover",), rooms_given=True)).kind for text in words]


def test_things_that_several_fit_are_asked_about(house: SceneGraph) -> None:
    labels = sorted({t.label.top for t in house.objects.values() if t.kind == "item"})
    count = {name: sum(t.label.top == name for t in house.objects.values()) for name in labels}
    several = next(name for name in labels if count[name] > 1)
    once = next(name for name in labels if count[name] == 1)
    assert kinds(house, f"Take the {several} to the kitchen") == ["ambiguous"]
    assert kinds(house, f"Take a {several} to the kitchen", f"Take the {once} to the kitchen",
                 f"Take all {several}s to the kitchen") == ["clear"] * 3  # fmt: skip


def test_what_is_left_out_and_rooms_that_are_not_there(house: SceneGraph) -> None:
    assert kinds(house, "Bring it to the kitchen", "Go to the observatory") == [
        "underspecified",
        "false_premise",
    ]


def test_robots_look_for_what_nobody_has_seen(house: SceneGraph) -> None:
    assert kinds(house, "Bring the guitar to the kitchen", "find the umbrella") == ["clear"] * 2
