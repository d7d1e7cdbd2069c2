"""Requests for objects that are asked back about."""

from __future__ import annotations

import pytest

from coterie_core.geometry import Box
from coterie_llm import Decider, RulesModel
from coterie_requests.ask_back import RequestState
from coterie_requests.asking import WordsAnswer, WordsQuestion
from coterie_world.scene import Floor, LabelBelief, Room, SceneGraph, SceneObject
from object_planner.asking_back import find_settled
from object_planner.workflows import Roles

ROLES = Roles(Decider(RulesModel()))


@pytest.fixture
def home() -> SceneGraph:
    scene = SceneGraph()
    scene.add_floor(Floor("f", 0, 0.0))
    for k, name in enumerate(("office", "hallway")):
        scene.add_room(Room(f"r{k}", name, name, "f"))
        box = Box((5.0 * k, 0.0, 0.5), (0.3, 0.3, 0.4))
        scene.add_object(
            SceneObject(f"lamp-{k}", LabelBelief({"lamp": 1.0}), box, f"r{k}", observations=4)
        )
    return scene


async def found(words: str, scene: SceneGraph, says: str):
    async def person(question: WordsQuestion) -> WordsAnswer:
        return WordsAnswer(says)

    return await find_settled(RequestState(words, "find", scene), ROLES, person=person)


async def test_the_one_that_was_meant(home: SceneGraph) -> None:
    told = await found("the lamp", home, "in the hallway")
    assert (told.ids, told.judgement.proceeds) == (["lamp-1"], True)


async def test_all_are_listed_where_nobody_says_which(home: SceneGraph) -> None:
    told = await found("the lamp", home, "")
    assert set(told.ids) == {"lamp-0", "lamp-1"} and told.judgement.kind == "ambiguous"
    assert "Which lamp do you mean?" in told.explanation


async def test_nothing_is_found_for_a_pronoun(home: SceneGraph) -> None:
    told = await found("find it", home, "")
    assert told.ids == [] and told.judgement.kind == "underspecified"
    named = await found("find it", home, "the lamp in the office")
    assert named.ids == ["lamp-0"]


async def test_what_a_workflow_knows_by_another_name_is_found(home: SceneGraph) -> None:
    told = await found("something to light the room", home, "")
    assert told.ids and told.judgement.clear
    strange = await found("something that glooms", home, "")
    assert not strange.ids and strange.judgement.kind == "underspecified"
    assert "glooms" in strange.judgement.line
