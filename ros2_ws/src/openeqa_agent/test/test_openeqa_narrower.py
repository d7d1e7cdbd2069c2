"""Words that are narrower than a name: the dining table is not the coffee table."""

from __future__ import annotations

import pytest

from coterie_core.geometry import Box
from coterie_fixtures.open_questions import asked
from coterie_requests.lexicon import is_narrower
from coterie_world.scene import Floor, LabelBelief, Room, SceneGraph, SceneObject
from openeqa_agent.ground import answer_from_map
from openeqa_agent.places import Wanted
from openeqa_agent.things import MapIndex

_THINGS = (
    ("table", "dining table", (2.5, 2.0, 0.37), (1.6, 0.9, 0.75), "r1", "brown", ""),
    ("coffee", "coffee table", (7.5, 2.0, 0.22), (1.0, 0.6, 0.44), "r2", "white", ""),
    ("side", "side table", (9.5, 2.0, 0.28), (0.5, 0.5, 0.56), "r2", "black", ""),
    ("cab", "cabinet", (0.5, 3.7, 0.45), (0.9, 0.5, 0.9), "r1", "brown", ""),
    ("wallcab", "wall cabinet", (0.5, 0.2, 1.8), (0.8, 0.35, 0.6), "r1", "white", ""),
    ("floorlamp", "floor lamp", (5.3, 0.3, 0.8), (0.3, 0.3, 1.6), "r2", "black", ""),
    ("lamp", "lamp", (9.5, 2.0, 0.8), (0.2, 0.2, 0.4), "r2", "white", "side"),
    ("apple", "apple", (2.2, 2.0, 0.8), (0.1, 0.1, 0.1), "r1", "red", "table"),
    ("mug", "mug", (2.7, 2.0, 0.8), (0.1, 0.1, 0.1), "r1", "blue", "table"),
    ("remote", "remote", (7.5, 2.0, 0.46), (0.15, 0.05, 0.03), "r2", "black", "coffee"),
)


def house(**labels):
    """Return the map; labels by id stand for those of `_THINGS`, None leaves a thing out."""
    scene = SceneGraph()
    scene.add_floor(Floor("f0", 0, 0.0))
    for id_, kind, x in (("r1", "kitchen", 0.0), ("r2", "living room", 5.0)):
        outline = [(x, 0.0), (x + 5.0, 0.0), (x + 5.0, 4.0), (x, 4.0)]
        scene.add_room(Room(id_, kind, kind, "f0", outline))
    for id_, usual, center, size, room, color, support in _THINGS:
        label = labels.get(id_, usual)
        if label is None:
            continue
        belief = LabelBelief(label if isinstance(label, dict) else {label: 1.0})
        scene.add_object(
            SceneObject(
                id_, belief, Box(center, size), room, support=support, observations=8,
                properties={"color": color},
            )
        )  # fmt: skip
    return scene


@pytest.mark.parametrize(
    "label", ["dining table", "table", {"table": 0.8, "dining table": 0.2}], ids=str
)
@pytest.mark.parametrize(
    ("text", "answer", "objects"),
    [
        ("Is there a remote on the dining table?", "no", {"table"}),
        ("Is the remote on the dining table?", "no", {"remote"}),
        ("Is there an apple on the dining table?", "yes", {"apple"}),
        ("What is on the dining table?", "an apple and a mug", {"apple", "mug"}),
        ("What is on the dining room table?", "an apple and a mug", {"apple", "mug"}),
        ("What is on the kitchen table?", "an apple and a mug", {"apple", "mug"}),
        ("What is on the coffee table?", "a remote", {"remote"}),
        ("How many dining tables are there?", "1", {"table"}),
        ("How many coffee tables are there?", "1", {"coffee"}),
        ("How many tables are there?", "3", {"table", "coffee", "side"}),
        ("How many things are on the dining table?", "2", {"apple", "mug"}),
        ("Is there a dining table in the living room?", "no", set()),
        ("What color is the dining table?", "brown", {"table"}),
        ("Is the dining table white?", "no", {"table"}),
        ("What color is the coffee table?", "white", {"coffee"}),
        ("Where is the dining table?", "in the kitchen, next to the cabinet", {"table"}),
    ],
)
def test_the_dining_table_is_no_other_table(label, text, answer, objects):
    reply = answer_from_map(asked(text), house(table=label))
    assert (reply.text, set(reply.objects)) == (answer, objects)
    assert reply.confidence > 0.6


def test_a_plain_thing_is_meant_only_where_none_has_the_narrower_name():
    both = house(side="table")
    assert answer_from_map(asked("Where is the dining table?"), both).objects == ("table",)
    assert answer_from_map(asked("How many tables are there?"), both).text == "3"
    plain = house(table="table")
    assert answer_from_map(asked("Where is the dining table?"), plain).objects == ("table",)
    assert not answer_from_map(asked("Where is the dining table?"), house(table=None)).text


@pytest.mark.parametrize(
    ("labels", "text", "ids"),
    [
        ({}, "the table lamp", {"lamp"}),
        ({}, "the floor lamp", {"floorlamp"}),
        ({"lamp": "desk lamp"}, "the table lamp", {"lamp"}),
        ({}, "the lamp", {"lamp", "floorlamp"}),
        ({}, "the wall cabinet", {"wallcab"}),
        ({}, "the medicine cabinet", {"cab"}),
        ({"cab": "filing cabinet"}, "the medicine cabinet", set()),
        ({}, "the cabinet", {"cab", "wallcab"}),
        # A phrase that tells the room: all that are of the kind and stand there.
        ({}, "the kitchen cabinets", {"cab", "wallcab"}),
        ({"wallcab": "kitchen cabinet"}, "the kitchen cabinets", {"wallcab"}),
        ({"coffee": "table"}, "the coffee table", {"coffee"}),
        ({"side": "console table"}, "the side table", {"side"}),
        ({"coffee": "console table"}, "the side table", {"side"}),
        ({"side": "round table", "table": None}, "the dining table", {"side"}),
        ({"side": "conference table", "table": None}, "the dining table", set()),
        ({"table": "diningtable"}, "the dining table", {"table"}),
        ({"table": "old dining table"}, "the brown dining tables", {"table"}),
    ],
)
def test_families(labels, text, ids):
    found = MapIndex(house(**labels)).fitting(asked(f"Where is {text}?").things[0])
    assert {one.thing.id for one in found} == ids


@pytest.mark.parametrize(
    ("noun", "narrower"),
    [
        ("dining table", True),
        ("kitchen cabinet", True),
        ("wooden table", False),
        ("round table", False),
        ("coffee table", False),
        ("cupboard", False),
        ("kitchen appliance", False),
        ("", False),
    ],
)
def test_what_is_narrower_than_a_name(noun, narrower):
    assert is_narrower(noun) == narrower


def test_all_but_the_dining_table():
    question = asked("How many tables are there besides the dining table?")
    found = MapIndex(house()).fitting(question.things[0])
    assert {one.thing.id for one in found} == {"coffee", "side"}


def test_a_coffee_table_is_not_enough_to_stop_looking_for_the_dining_table():
    wanted = Wanted.of(asked("What is on the dining table?"))
    assert wanted.things == (frozenset({"table"}),)
    assert not wanted.found(wanted.things[0], house(table=None))


def test_a_chair_whose_back_is_seen_over_the_table_is_not_on_it():
    scene = house()
    x, y, _ = scene.objects["table"].box.center
    top, depth = scene.objects["table"].box.top, scene.objects["table"].box.size[1]
    back = Box((x, y + depth / 2.0 - 0.05, top + 0.1), (0.4, 0.1, 0.2))
    scene.add_object(SceneObject("chair", LabelBelief({"chair": 1.0}), back, "r1", observations=8))
    answer = answer_from_map(asked("What is on the dining table?"), scene)
    assert set(answer.objects) == {"apple", "mug"}, answer.text
