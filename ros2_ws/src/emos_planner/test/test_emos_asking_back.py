"""Tasks that are judged by what their own parser reads."""

from __future__ import annotations

import asyncio

import pytest

from coterie_core.geometry import Pose
from coterie_core.household import load_household
from coterie_core.observation import Observation, RoomView
from coterie_fixtures.two_floor_home import small_house
from coterie_llm import Decider, RulesModel
from coterie_requests.ask_back import RequestState, settle
from coterie_requests.ask_back.rule import judged
from coterie_requests.asking import WordsAnswer, WordsQuestion
from coterie_requests.detector_vocabulary import household_vocabulary
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.coverage import Coverage, PlacesSeen
from coterie_world.scene import Place, SceneGraph
from emos_planner.leader.asking_back import task_state
from emos_planner.leader.commands import wants_of

RULES = Decider(RulesModel())


@pytest.fixture
def house() -> SceneGraph:
    return small_house()


def state_of(words: str, house: SceneGraph, looked: Coverage | None = None) -> RequestState:
    return asyncio.run(task_state(words, house, ("rover",), RULES, looked, rooms_given=True))


def kinds(house: SceneGraph, *words: str) -> list[str]:
    return [judged(state_of(text, house)).kind for text in words]


def test_things_that_several_fit_are_asked_about(house: SceneGraph) -> None:
    labels = sorted({t.label.top for t in house.objects.values() if t.kind == "item"})
    count = {name: sum(t.label.top == name for t in house.objects.values()) for name in labels}
    several = next(name for name in labels if count[name] > 1)
    once = next(name for name in labels if count[name] == 1)
    assert kinds(house, f"Take the {several} to the kitchen") == ["ambiguous"]
    assert kinds(house, f"Take a {several} to the kitchen", f"Take the {once} to the kitchen",
                 f"Take all {several}s to the kitchen") == ["clear"] * 3  # fmt: skip


def test_what_is_left_out_and_rooms_that_are_not_there(house: SceneGraph) -> None:
    assert (
        kinds(house, "Bring it to the kitchen", "Bring the mug", "Bring me the mug")
        == ["underspecified"] * 3
    )
    assert kinds(house, "Go to the sauna") == ["false_premise"]


async def test_what_is_left_out_may_be_told(house: SceneGraph) -> None:
    async def person(question: WordsQuestion) -> WordsAnswer:
        assert "Where shall the keys go?" in question.text
        return WordsAnswer("to the table")

    state = await task_state("Bring the keys", house, ("rover",), RULES, rooms_given=True)
    assert state.problem is not None and state.problem.kind == "target"
    settled = await settle(state, RULES, person)
    assert settled.go_on and settled.request is not None
    (command,) = wants_of(settled.request, Vocabulary.of(house, ("rover",)))
    assert (command.phrase.label, command.target.label) == ("keys", "table")


@pytest.mark.parametrize(
    ("words", "offered", "says", "meant"),
    [
        ("Bring two mugs and a plate or a bowl to the table", ("a plate", "a bowl"), "1",
         [("mug", 2, "table"), ("plate", 1, "table")]),
        ("Bring either the mug or the plate to the table", ("the mug", "the plate"), "the plate",
         [("plate", 1, "table")]),
        ("Put the keys on the table or the desk", ("the table", "the desk"), "2",
         [("keys", 1, "desk")]),
    ],
)  # fmt: skip
async def test_which_of_several_is_asked(words, offered, says, meant, house: SceneGraph) -> None:
    async def person(question: WordsQuestion) -> WordsAnswer:
        assert question.choices == offered
        return WordsAnswer(says)

    state = await task_state(words, house, ("rover",), RULES, rooms_given=True)
    settled = await settle(state, RULES, person)
    assert settled.go_on and settled.request is not None
    made = wants_of(settled.request, Vocabulary.of(house, ("rover",)))
    assert [(one.phrase.label, one.phrase.count, one.target.label) for one in made] == meant
    alone = await settle(state, RULES)
    assert not alone.go_on  # nobody is there: robots choose none of them


async def test_what_no_answer_helps_is_refused_at_once(house: SceneGraph) -> None:
    with pytest.raises(NotUnderstood, match="coterie ask"):
        await task_state("How many mugs are there?", house, ("rover",), RULES)


@pytest.mark.parametrize(
    "words",
    ["Find the mug in the sauna", "Look at the sauna", "Bring the keys from the sauna to the sofa"],
)
def test_rooms_that_are_not_there_are_denied_whatever_is_to_be_done(house, words: str) -> None:
    told = judged(state_of(words, house))
    assert told.kind == "false_premise" and "sauna" in told.said and told.evidence


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
    state = state_of(words, house, looked)
    told = judged(state)
    assert (told.kind, told.choices) == ("not_seen_yet", ("yes", "no"))
    assert f"no {label} was seen so far" in told.text and "there is no" not in told.text
    alone = asyncio.run(settle(state, RULES))
    assert alone.go_on and alone.request == state.request  # nobody is there: a search does no harm
    for answer, goes in (("yes", True), ("no", False)):

        async def person(_: WordsQuestion, said: str = answer) -> WordsAnswer:
            return WordsAnswer(said)

        asked = asyncio.run(settle(state, RULES, person))
        assert asked.go_on == goes and asked.judgement.proceeds == goes


def test_robots_look_for_what_nobody_has_seen(house: SceneGraph) -> None:
    assert kinds(house, "Bring the guitar to the kitchen", "find the umbrella") == ["clear"] * 2
