"""Question banks: YES for what is there, NO twins for what is not, and what cannot be asked."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_core.geometry import Box, Pose
from coterie_core.observation import Detection, Observation, RoomView
from coterie_fixtures.explorations import bank_of
from coterie_requests.grammar import read
from coterie_requests.presence import presence_of
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import LabelBelief, Room, SceneGraph, SceneObject
from mele_explorer.bank import QuestionBank

pairs_of = st.lists(
    st.tuples(st.sampled_from(["mug", "bed", "oven", "lamp"]), st.sampled_from("abcde")),
    max_size=20,
)


@settings(deadline=None)
@given(pairs_of, st.sets(st.sampled_from("abcdefg")), st.integers(0, 9), st.booleans())
def test_yes_is_true_and_no_is_not(
    pairs: list[tuple[str, str]], rooms: set[str], seed: int, distinct: bool
) -> None:
    kind = "distinct" if distinct else "keep"
    bank = QuestionBank.from_pairs(pairs, rooms, seed, kind)  # type: ignore[arg-type]
    there = set(pairs)
    house = rooms | {room for _, room in pairs}
    asked = [(item.question.object, item.question.room) for item in bank]
    yes = [pair for pair, item in zip(asked, bank, strict=True) if item.truth]
    no = [pair for pair, item in zip(asked, bank, strict=True) if not item.truth]
    assert sorted(yes) == sorted(there)
    assert not set(no) & there
    assert {room for _, room in asked} <= house
    assert all(item.group == item.question.object for item in bank)
    assert len({item.question.id for item in bank}) == len(bank)
    for thing, count in Counter(thing for thing, _ in there).items():
        free = house - {room for label, room in there if label == thing}
        twins = [pair for pair in no if pair[0] == thing]
        assert len(twins) == (0 if not free else min(count, len(free)) if distinct else count)
        if distinct:
            assert len(set(twins)) == len(twins)
    again = QuestionBank.from_pairs(reversed(pairs), rooms, seed, kind)  # type: ignore[arg-type]
    assert list(again) == list(bank)


def test_what_cannot_be_asked_is_reported() -> None:
    bank = QuestionBank.from_pairs([("door", "a"), ("door", "b"), ("mug", "a")], [], lost=2)
    assert [(i.question.object, i.truth) for i in bank] == [
        ("door", True),
        ("door", True),
        ("mug", True),
        ("mug", False),
    ]
    assert bank.problems == [
        "2 objects are in no known room: not asked for",
        "1 objects are in every room, no NO question: door",
    ]
    assert QuestionBank.from_pairs([], ["a"]).problems == [
        "no question can be asked: no object is in a known room"
    ]
    few = QuestionBank.from_pairs([("mug", "a"), ("mug", "b")], ["c"], duplicates="distinct")
    assert few.problems == ["1 NO questions left out: no further room without the object"]


def test_seeds_choose_other_rooms() -> None:
    pairs = [(f"thing {k}", "a") for k in range(20)]
    banks = [list(QuestionBank.from_pairs(pairs, "abcdef", seed)) for seed in range(3)]
    assert banks[0] != banks[1] != banks[2]


def test_a_detected_bank_and_a_true_one_differ_only_where_the_detector_errs() -> None:
    scene = SceneGraph()
    names = {"k": "kitchen", "b": "bedroom 1", "h": "hallway"}
    for key, name in names.items():
        scene.add_room(Room(key, name, name))
    where = {"oven": "k", "bed": "b", "mug": "k"}
    for label, room in where.items():
        box = Box((0, 0, 0), (1, 1, 1))
        scene.add_object(SceneObject(label, LabelBelief.of(label), box, room))
    scene.add_object(SceneObject("lost", LabelBelief.of("ring"), Box((0, 0, 0), (1, 1, 1))))
    truth = QuestionBank.from_graph(scene, seed=3)
    assert truth.problems == ["1 objects are in no known room: not asked for"]

    def look(key: str, *labels: str) -> Observation:
        room = RoomView(key, names[key], names[key])
        things = tuple(Detection(label, 1.0, room=room) for label in labels)
        return Observation("r", 0, 0.0, Pose((0, 0, 0)), key, room, things)

    seen = bank_of([look("k", "oven", "mug", "mug"), look("b", "bed"), look("h")], seed=3)
    assert list(seen) == list(truth)
    assert seen.items[0].question.text == "Is there a bed in bedroom 1?"
    wrong = bank_of([look("k", "oven"), look("b", "sofa"), look("h")])
    assert ("sofa", "bedroom 1", True) in [
        (i.question.object, i.question.room, i.truth) for i in wrong
    ]


def test_questions_are_sentences_that_are_understood_again() -> None:
    things = ["oven", "glass", "books", "mug", "playing cards"]
    bank = QuestionBank.from_pairs([(thing, "kitchen") for thing in things], ["bedroom 2"])
    texts = [item.question.text for item in bank if item.truth]
    assert texts == [
        "Are there any books in the kitchen?",
        "Is there a glass in the kitchen?",
        "Is there a mug in the kitchen?",
        "Is there an oven in the kitchen?",
        "Are there any playing cards in the kitchen?",
    ]
    names = Vocabulary.named(bank.objects, bank.rooms)
    for item in bank:
        asked = presence_of(read(item.question.text, names, "ask"), names)
        assert asked is not None
        assert (asked.object, asked.room) == (item.question.object, item.question.room)


def test_samples_are_small_and_repeat() -> None:
    bank = QuestionBank.from_pairs([(f"thing {k}", "a") for k in range(40)], "abc")
    assert len(bank.sample(10)) == 10
    assert list(bank.sample(10, 1)) == list(bank.sample(10, 1)) != list(bank.sample(10, 2))
    assert len(bank.sample(999)) == len(bank) == len(bank.questions()) == 80
