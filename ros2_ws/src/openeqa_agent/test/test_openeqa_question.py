"""What people ask, as it is read: kinds, things, alternatives, comparisons, categories."""

from __future__ import annotations

import pytest

from coterie_fixtures.open_questions import asked
from coterie_requests.lexicon import serving
from coterie_requests.request import ALL, Request, Step, Thing
from coterie_requests.understanding import NotUnderstood
from openeqa_agent.understood import OpenQuestion, is_polar, question_of


@pytest.mark.parametrize(
    ("text", "act", "name", "category"),
    [
        ("What color is the sofa?", "color", "sofa", "attribute_recognition"),
        ("where is my backpack?", "where", "backpack", "object_localization"),
        ("How many chairs are there in the kitchen?", "how_many", "chair", "object_recognition"),
        ("Can you count the pillows?", "how_many", "pillow", "object_recognition"),
        ("How many rooms does this house have?", "how_many", "room", "object_recognition"),
        ("Is there a fridge?", "is_there", "fridge", "world_knowledge"),
        ("Do we have a toaster?", "is_there", "toaster", "world_knowledge"),
        ("Does this house have a toaster?", "is_there", "toaster", "world_knowledge"),
        ("Is a mug on the table?", "is_there", "mug", "object_state_recognition"),
        ("Which room is the bed in?", "which_room", "bed", "object_localization"),
        ("In which room can I find the toaster?", "which_room", "toaster", "object_localization"),
        ("Is the fridge open or closed?", "state", "fridge", "object_state_recognition"),
        ("Did someone leave the oven open?", "state", "oven", "object_state_recognition"),
        ("What material is the counter?", "attribute", "counter", "attribute_recognition"),
        ("Is the lamp next to the sofa?", "relation", "lamp", "spatial_understanding"),
        ("Does the lamp stand next to the sofa?", "relation", "lamp", "spatial_understanding"),
        ("How tall is the wardrobe?", "size", "wardrobe", "spatial_understanding"),
        ("How far is it from the bed to the piano?", "size", "bed", "spatial_understanding"),
        ("Is there room on the desk for a laptop?", "space", "laptop", "spatial_understanding"),
        ("What can I use to open the curtains?", "used_for", "", "functional_reasoning"),
        ("Is there something to sit on?", "is_there", "", "functional_reasoning"),
        ("What is lying on the table?", "what", "", "object_recognition"),
        ("What is behind the table?", "what", "", "spatial_understanding"),
    ],
)  # fmt: skip
def test_kinds(text, act, name, category):
    question = asked(text)
    (step,) = question.steps
    assert (step.act, step.things[0].name, question.category) == (act, name, category)
    polar = act in ("is_there", "relation", "space") or (act == "state" and not step.choices)
    assert question.polar == polar


def test_a_description_is_taken_apart():
    (thing,) = asked("What is the large red object on the desk in the office?").steps[0].things
    assert (thing.name, thing.color, thing.attributes) == ("", "red", ("large",))
    (on,) = thing.places
    assert (on.relation, on.thing.name, on.thing.places[0].thing.name) == ("on", "desk", "office")
    (between,) = asked("What is between the sofa and the TV?").steps[0].things[0].places
    assert between.relation == "between" and [t.name for t in between.things] == ["sofa", "tv"]
    (step,) = asked("What is on the stove, apart from pots?").steps
    assert step.things[0].without[0].name == "pot"


@pytest.mark.parametrize(
    ("text", "attribute", "names", "choices"),
    [
        ("Which is larger, the bed or the sofa?", "larger", ["bed", "sofa"], 2),
        ("Is the bed wider than the sofa?", "wider", ["bed", "sofa"], 0),
        ("Which is closer to the mug: sink or stove?", "nearer", ["sink", "stove", "mug"], 2),
    ],
)  # fmt: skip
def test_comparisons_name_all_things_and_what_they_offer(text, attribute, names, choices):
    (step,) = asked(text).steps
    assert (step.act, step.attribute, [t.name for t in step.things]) == ("size", attribute, names)
    assert len(step.choices) == choices and is_polar(step) == (not choices)


def test_all_of_some_things_either_of_some_or_so_many():
    both, either, two, none, every, anything = (
        asked(text).steps[0]
        for text in (
            "Is there a mug and a plate?",
            "Is there a mug or a glass on the desk?",
            "Are there two mugs in the kitchen?",
            "Is there no mug?",
            "Are all mugs red?",
            "Is there anything blue in the bedroom?",
        )
    )
    assert [thing.name for thing in both.things] == ["mug", "plate"]
    (mug,) = either.things
    assert [one.name for one in mug.either] == ["glass"] and mug.places == mug.either[0].places
    assert two.things[0].amount == 2 and none.negated and not none.things[0].attributes
    assert (every.act, every.attribute, every.things[0].amount) == ("color", "red", ALL)
    assert (anything.things[0].name, anything.things[0].color) == ("", "blue")


def test_places_that_are_offered_are_questions_of_their_own():
    (step,) = asked("Is the mug in the kitchen or in the bedroom?").steps
    assert [o.things[0].places[0].thing.name for o in step.options] == ["kitchen", "bedroom"]


def test_several_questions_in_a_sentence_and_what_was_said_before():
    where, color = asked("Where is the mug and what color is it?").steps
    assert (where.act, color.act, color.things[0].name) == ("where", "color", "mug")
    (inside,) = asked("In the kitchen, how many chairs are there?").steps
    assert inside.things[0].places[0].thing.name == "kitchen"


def test_uses_are_known_by_their_words():
    grades = serving("to wash my clothes")
    assert max(grades, key=grades.__getitem__) == "washing machine"
    assert not serving("to keep a door from closing")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Why is it dark?", "why"),
        ("What is not in the kitchen but usually is?", "usually"),
        ("Which mug is heavier?", "heavier"),
        ("Are there as many mugs as chairs?", "as many"),
        ("Is there a mug without a handle in the kitchen?", "without"),
        ("Is there exactly one chair in the kitchen?", "exactly"),
        ("Is the bed larger?", "larger"),
    ],
)
def test_what_is_not_read_is_said(text, named):
    with pytest.raises(NotUnderstood, match=named):
        asked(text)


def test_a_task_is_no_question():
    bring = Step(act="bring", things=(Thing(name="mug"),))
    question = question_of(Request(words="bring a mug", steps=(bring,)))
    assert not question.steps and "bring" in question.problem.line
    assert OpenQuestion("asdf").category == "object_recognition" and not OpenQuestion("x").polar
