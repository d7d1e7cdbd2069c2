"""Plain words of a thing, resolved against the names of a map and of the household."""

from __future__ import annotations

import copy

import pytest

from coterie_core.geometry import Box
from coterie_fixtures.two_floor_home import small_house
from coterie_requests.request import ALL, Place, Thing
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.grounding import Resolver
from coterie_requests.understanding.phrases import phrase_of
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import SceneGraph

NAMES = Vocabulary.of(small_house(), ("rover", "walker"))


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        (Thing(name="cup"), {"label": "mug", "noun": "cup", "number": "one", "known": True}),
        (Thing(name="ceramic mug"), {"label": "mug", "ignored": ("ceramic",)}),
        (Thing(name="mug", amount=ALL), {"number": "all", "count": 0}),
        (Thing(name="mug", amount=3), {"number": "some", "count": 3}),
        (Thing(name="glasses", amount=6), {"noun": "glasses", "number": "some"}),
        (Thing(name="Rover"), {"robot": "rover"}),
        (Thing(name="upstairs"), {"floor": "up"}),
        (Thing(name="kitchen"), {"room": "kitchen", "label": ""}),
        (Thing(name="house"), {"house": True}),
        (Thing(name="mug", color="gray"), {"color": "grey"}),
        (Thing(name="mug", color="striped"), {"color": "", "ignored": ("striped",)}),
        (Thing(name="chair", attributes=("office", "old")), {"compound": "office"}),
        (Thing(name="mug", choice="nearest", rank=2), {"order": "nearest", "ordinal": 2}),
        (Thing(name="mug", choice="rest"), {"order": "", "which": "rest"}),
        (Thing(amount=ALL), {"anything": True, "label": "", "number": "all"}),
        (Thing(name="Wife"), {"person": True, "known": False}),
        (Thing(name="blorps"), {"label": "blorp", "known": False, "person": False}),
    ],
)  # fmt: skip
def test_plain_words_are_resolved(thing, expected) -> None:
    phrase = phrase_of(thing, NAMES)
    assert {name: getattr(phrase, name) for name in expected} == expected


def test_classes_and_uses_mean_several_kinds() -> None:
    toys = phrase_of(Thing(name="toy", amount=ALL), NAMES)
    assert len(toys.members) > 3 and toys.known
    drink = phrase_of(Thing(use="to drink from"), NAMES)
    assert "mug" in drink.members and drink.use and drink.known
    assert not phrase_of(Thing(use="to qwzr with"), NAMES).known


def test_inner_things_are_resolved_too() -> None:
    table = Place(relation="on", things=(Thing(name="table"), Thing(name="desk")))
    phrase = phrase_of(
        Thing(
            name="mug",
            places=(table, Place(things=(Thing(name="kitchen"),), negated=True)),
            without=(Thing(name="mug", color="red"),),
            either=(Thing(name="bowl"),),
            by=(Thing(name="sink"),),
        ),
        NAMES,
    )
    on, kitchen = phrase.places
    assert on.phrase.label == "table" and on.phrase.alternatives[0].label == "desk"
    assert kitchen.negated and kitchen.phrase.room == "kitchen"
    assert (phrase.excluded[0].color, phrase.by[0].label) == ("red", "sink")
    assert phrase.labels == ("mug", "bowl")


def on(*names: str, negated: bool = False) -> Place:
    return Place(relation="on", things=tuple(Thing(name=name) for name in names), negated=negated)


def mugs_of_many_sizes() -> SceneGraph:
    """Three mugs on the table: mug-3 the largest, mug-4 red; mug-1 there, mug-2 upstairs."""
    scene = small_house()
    for id, size, color in (("mug-3", 0.3, "#2850a0"), ("mug-4", 0.02, "red")):
        mug = copy.deepcopy(scene.objects["mug-1"])
        mug.id, mug.properties = id, {"color": color}
        mug.box = Box(mug.box.center, (size, size, size), mug.box.yaw)
        scene.add_object(mug)
    return scene


DESK = (Thing(name="desk"),)


@pytest.mark.parametrize(
    ("thing", "meant"),
    [
        (Thing(name="mug", rank=2, places=(on("table"),)), {"mug-3"}),
        (Thing(name="mug", rank=-1, places=(on("table"),)), {"mug-4"}),
        (Thing(name="mug", choice="largest"), {"mug-3"}),
        (Thing(name="mug", choice="largest", amount=3, places=(on("table"),)),
         {"mug-1", "mug-3", "mug-4"}),
        (Thing(name="mug", choice="smallest", rank=2, places=(on("table"),)), {"mug-1"}),
        (Thing(name="mug", choice="nearest", by=DESK), {"mug-2"}),
        (Thing(name="mug", rank=1, by=DESK), {"mug-2"}),
        (Thing(name="mug", amount=ALL, without=(Thing(name="mug", color="red"),)),
         {"mug-1", "mug-2", "mug-3"}),
        (Thing(name="mug", amount=ALL, without=(Thing(color="red"),)), {"mug-1", "mug-2", "mug-3"}),
        (Thing(name="mug", amount=ALL, without=(Thing(places=(on("desk"),)),)),
         {"mug-1", "mug-3", "mug-4"}),
        (Thing(name="mug", amount=ALL, places=(on("table", negated=True),)), {"mug-2"}),
        (Thing(name="mug", amount=ALL, places=(on("table", "desk"),)),
         {"mug-1", "mug-2", "mug-3", "mug-4"}),
        (Thing(name="mug", places=(Place(relation="far from", things=(Thing(name="bedroom"),)),)),
         {"mug-1", "mug-3", "mug-4"}),
        (Thing(name="key", either=(Thing(name="book"),)), {"books-1", "keys-1"}),
        (Thing(amount=ALL, places=(on("table"),), without=(Thing(name="mug", color="red"),)),
         {"mug-1", "mug-3"}),
        (Thing(name="table", places=(Place(relation="with", things=(Thing(name="mug"),)),)),
         {"table-1"}),
    ],
)  # fmt: skip
def test_words_choose_among_things(thing, meant) -> None:
    scene = mugs_of_many_sizes()
    found = Resolver(scene).things(phrase_of(thing, Vocabulary.of(scene)))
    assert {one.id for one in found} == meant


def test_what_is_behind_a_room_nobody_can_tell() -> None:
    scene = small_house()
    hall = Place(relation="behind", things=(Thing(name="kitchen"),))
    with pytest.raises(NotUnderstood, match="'kitchen', which is a room"):
        Resolver(scene).things(phrase_of(Thing(name="mug", places=(hall,)), Vocabulary.of(scene)))


@pytest.mark.parametrize(
    ("thing", "meant"),
    [
        (Thing(name="room", amount=ALL, without=(Thing(name="kitchen"),)),
         {"hall", "living", "bedroom", "landing"}),
        (Thing(name="room", places=(Place(things=(Thing(name="upstairs"),)),)),
         {"bedroom", "landing"}),
        (Thing(name="room", places=(Place(relation="with", things=(Thing(name="bed"),)),)),
         {"bedroom"}),
    ],
)  # fmt: skip
def test_words_choose_among_rooms(thing, meant) -> None:
    scene = small_house()
    found = Resolver(scene).rooms(phrase_of(thing, Vocabulary.of(scene)))
    assert {room.id for room in found} == meant
