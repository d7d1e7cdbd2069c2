"""Which questions explorers answer, and which rooms nobody knows."""

from __future__ import annotations

from typing import Any

import pytest

from coterie_core.questions import Question
from coterie_fixtures.endpoint import Endpoint
from coterie_llm import Decider, ModelProfile, RulesModel, build_decider
from coterie_requests.grammar import read
from coterie_requests.presence import presence_of, read_presence, said_once, unknown_room
from coterie_requests.request import Place, Request, Step, Thing, request_from_json
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import SceneGraph

pytestmark = pytest.mark.quick

ROOMS = ("kitchen", "living room", "bedroom 1", "bedroom 2", "bath")
NAMES = Vocabulary.named(("mug", "couch", "table lamp"), ROOMS, ("ann",))


@pytest.mark.parametrize(
    ("text", "thing", "room"),
    [
        ("Is there a mug in the kitchen?", "mug", "kitchen"),
        ("is there any couch in the lounge", "couch", "living room"),
        ("is there any settee in the lounge", "sofa", "living room"),
        ("Are there any mugs in bedroom 2?", "mug", "bedroom 2"),
        ("Are there plates in the bedroom?", "plate", "bedroom"),
        ("Is there a table lamp?", "table lamp", ""),
        ("Is there a mug in the house?", "mug", ""),
        ("Is there a ladder in the cellar?", "ladder", "cellar"),
    ],
)
def test_a_thing_in_a_room_is_for_explorers(text: str, thing: str, room: str) -> None:
    asked = presence_of(read(text, NAMES, "ask"), NAMES, "q1")
    assert asked is not None
    assert (asked.id, asked.object, asked.room, asked.text) == ("q1", thing, room, text)


@pytest.mark.parametrize(
    "text",
    [
        "Is there a red mug in the kitchen?",
        "Is there no mug in the kitchen?",
        "Is there a mug and a plate in the kitchen?",
        "Are there two mugs in the kitchen?",
        "Is there another mug in the kitchen?",
        "Is there a mug in the kitchen or the bath?",
        "Is there a mug on the table?",
        "Is there a mug upstairs?",
        "What color is the couch?",
        "How many plates are there in the kitchen?",
        "Is there room on the table for a mug?",
        "Where is the mug?",
    ],
)
async def test_what_asks_for_more_than_a_name_is_open(text: str) -> None:
    assert presence_of(read(text, NAMES, "ask"), NAMES) is None
    with pytest.raises(NotUnderstood, match="asks for more than"):
        await read_presence(Question("q", "", "", text), NAMES, Decider(RulesModel()))


async def test_with_a_model_the_meaning_tells_who_answers_in_any_language() -> None:
    said = {"Schlitten": "Is there a ladder in the cellar?", "Farbe": "What color is the couch?"}

    def reply(request: dict[str, Any]) -> dict[str, object]:
        plain = next(
            plain for word, plain in said.items() if word in request["messages"][-1]["content"]
        )
        return {"reason": "it is asked", "kind": "clear", "say": [plain]}

    with Endpoint(reply) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="m")
        decider = build_decider(profile, who="aggregator")
        asked = await read_presence(
            Question("q", "", "", "Liegt im Keller ein Schlitten?"), NAMES, decider
        )
        assert (asked.object, asked.room) == ("ladder", "cellar")
        with pytest.raises(NotUnderstood, match="asks for more than"):
            await read_presence(Question("q", "", "", "Welche Farbe hat das Sofa?"), NAMES, decider)
        await decider.aclose()
    with pytest.raises(NotUnderstood, match="I did not understand"):
        await read_presence(
            Question("q", "", "", "Welche Farbe hat das Sofa?"), NAMES, Decider(RulesModel())
        )


MUG = Thing(name="mug", said="a mug")
KITCHEN = Place(relation="in", things=(Thing(name="kitchen", definite=True),))


@pytest.mark.parametrize(
    "more",
    [
        {"color": "red"},
        {"attributes": ("dirty",)},
        {"amount": 2},
        {"choice": "largest"},
        {"use": "to drink from"},
        {"without": (Thing(name="red mug"),)},
        {"either": (Thing(name="cup"),)},
        {"name": "wedding mug"},
        {"name": ""},
        {"name": "ann"},
        {"places": (KITCHEN, KITCHEN)},
        {"places": (KITCHEN.model_copy(update={"negated": True}),)},
        {"places": (Place(relation="in", things=(Thing(name="fridge", definite=True),)),)},
    ],
)
def test_one_field_more_makes_a_question_open(more: dict[str, object]) -> None:
    def asked(thing: Thing) -> Request:
        return Request(words="?", steps=(Step(act="is_there", things=(thing,)),))

    plain = MUG.model_copy(update={"places": (KITCHEN,)})
    assert presence_of(asked(plain), NAMES) is not None
    assert presence_of(asked(plain.model_copy(update=more)), NAMES) is None


@pytest.mark.parametrize("more", [{"negated": True}, {"attribute": "open"}, {"act": "where"}])
def test_one_field_more_of_the_step_makes_it_open(more: dict[str, object]) -> None:
    step = Step(act="is_there", things=(MUG,)).model_copy(update=more)
    assert presence_of(Request(words="?", steps=(step,)), NAMES) is None
    assert presence_of(Request(words="?", steps=(step, step)), NAMES) is None


def test_no_word_that_tells_rooms_apart_is_passed_over() -> None:
    rooms = ["kitchen", "bedroom 1", "bedroom 2", "bathroom"]
    assert unknown_room("bedroom", rooms) == ""
    assert unknown_room("Bedroom-2", rooms) == ""
    assert unknown_room("lounge", ["living room"], all_known=True) == ""
    assert unknown_room("garage", rooms) == ""  # it may have one that nobody has seen yet
    assert "no room 'garage'" in unknown_room("garage", rooms, all_known=True)
    assert unknown_room("bedroom 7", rooms) == ""
    assert "no room 'bedroom 7'" in unknown_room("bedroom 7", rooms, all_known=True)
    assert "did you mean 'bathroom'" in unknown_room("bathroon", [])
    assert "known: bathroom" in unknown_room("orangery", rooms)


def test_robots_reasons_are_told_once_with_the_rooms_of_them_all() -> None:
    told = said_once(unknown_room("orangery", rooms) for rooms in (["bath"], ["kitchen", "hall"]))
    assert told.count("orangery") == 1 and "known: hall, kitchen" in told


async def test_what_was_read_once_is_not_read_again() -> None:
    words = "Liegt im Keller ein Schlitten?"
    request = read("Is there a mug in the kitchen?", NAMES, "ask")
    said = request.model_copy(update={"words": words}).model_dump_json(exclude_defaults=True)
    question = Question("q", "", "", words, said)
    found = await read_presence(question, NAMES, Decider(RulesModel()))
    assert (found.object, found.room) == ("mug", "kitchen")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("{}", "words: Field required"),
        ("mug", "Invalid JSON"),
        ('{"words": "a mug", "steps": [{"act": "melt"}]}', "steps.0.act"),
        ('{"words": "a cup", "steps": [{"act": "find"}]}', "not those of the sentence"),
        ('{"words": "a mug", "steps": [{"act": "find", "run": "rm"}]}', "steps.0.run"),
    ],
)
def test_a_request_from_elsewhere_is_checked(said: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        request_from_json(said, "a mug")


def test_a_word_that_was_mistyped_is_offered_where_the_sentence_is_read_with_it() -> None:
    for said, meant in (
        ("Is ther a mug in the kitchen?", "'there'"),
        ("Waht color is the sofa?", "'what'"),
    ):
        with pytest.raises(NotUnderstood) as told:
            read(said, Vocabulary.of(SceneGraph(), ()), "ask")
        assert told.value.problem.question == f"Did you mean {meant}?"
