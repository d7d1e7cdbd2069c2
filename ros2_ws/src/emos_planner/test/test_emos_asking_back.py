"""Tasks that are judged by what their own parser reads."""

from __future__ import annotations

import asyncio

import pytest

from coterie_core.geometry import Pose
from coterie_core.household import load_household
from coterie_core.observation import Observation, RoomView
from coterie_fixtures.two_floor_home import small_house
from coterie_llm import Decider, RulesModel
from coterie_requests.ask_back import settle
from coterie_requests.ask_back.rule import judged
from coterie_requests.asking import WordsAnswer, WordsQuestion
from coterie_requests.detector_vocabulary import household_vocabulary
from coterie_world.coverage import Coverage, PlacesSeen
from coterie_world.scene import Place, SceneGraph
from emos_planner.leader.asking_back import task_state

RULES = Decider(RulesModel())


@pytest.fixture
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


@pytest.mark.parametrize(
    "words",
    [
        *("Have a quick look around the sauna", "Do a thorough search of the sauna for mugs"),
        *("Give the sauna a check", "Search the ballroom for keys", "Look in the ballroom"),
        *("Inspect the sauna", "Clean the sauna", "Bring the keys from the ballroom to the sofa"),
    ],
)
def test_rooms_that_are_not_there_are_denied_whatever_is_to_be_done(house, words: str) -> None:
    told = judged(task_state(words, house, ("rover",), rooms_given=True))
    assert told.kind == "false_premise"
    assert told.said in ("sauna", "the sauna", "ballroom", "") and told.evidence


def test_what_cannot_be_done_is_not_asked_about(house: SceneGraph) -> None:
    told = judged(task_state("Clean the sauna", house, ("rover",), rooms_given=True))
    assert not told.question and "clean" in told.text and "sauna" in told.text


def test_a_person_is_asked_before_a_search_for_what_is_probably_not_there(house) -> None:
    for id_, room in enumerate(house.rooms):
        house.add_place(Place(f"{room}-{id_}", (0.0, 0.0, 0.0), room))
    seen = PlacesSeen()
    for place in house.places.values():
        view = RoomView(place.room, house.rooms[place.room].name, "")
        pose = Pose(place.position)
        seen.observe(Observation("a", 0, 0.0, pose, place.id, view, seen={place.id: 1.0}))
    looked = Coverage(house, seen, given=True)
    rooms = list(house.rooms.values())
    label = next(
        name
        for name in household_vocabulary()
        if 0.55 < looked.absence(name, rooms) < 0.85
        and load_household().categories[name].kind == "item"
        and all(thing.label.top != name for thing in house.objects.values())
    )
    words = f"Bring the {label} to the kitchen"
    state = task_state(words, house, ("rover",), looked, rooms_given=True)
    told = judged(state)
    assert (told.kind, told.choices) == ("not_seen_yet", ("yes", "no"))
    assert f"no {label} was seen so far" in told.text and "there is no" not in told.text
    alone = asyncio.run(settle(state, RULES))
    assert alone.go_on and alone.words == words  # nobody is there: a search does no harm
    for answer, goes in (("yes", True), ("no", False)):

        async def person(_: WordsQuestion, said: str = answer) -> WordsAnswer:
            return WordsAnswer(said)

        asked = asyncio.run(settle(state, RULES, person))
        assert asked.go_on == goes and asked.judgement.proceeds == goes


def test_robots_look_for_what_nobody_has_seen(house: SceneGraph) -> None:
    assert kinds(house, "Bring the guitar to the kitchen", "find the umbrella") == ["clear"] * 2
