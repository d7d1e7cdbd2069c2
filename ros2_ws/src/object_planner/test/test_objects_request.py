"""Requests in words: what is wanted, ruled out, and where it should be."""

import pytest

from coterie_requests.lexicon import load_lexicon
from object_planner.request import parse


def names(wants):
    return [want.name for want in wants]


@pytest.mark.parametrize(
    ("words", "wants"),
    [
        ("Where is the umbrella?", ["umbrella"]),
        ("Could you please bring me my rucksack", ["backpack"]),
        ("I can't find the remote control", ["remote"]),
        ("I cannot find my umbrella", ["umbrella"]),
        ("I couldn\u2019t see the dad's lamp anywhere", ["lamp"]),
        ("Do we have a fridge?", ["refrigerator"]),
        ("show me all knives", ["knife"]),
        ("an apple or a banana", ["apple", "banana"]),
        ("a small red vase", ["vase"]),
        ("What can I use to cut this rope?", ["cut"]),
        ("It's raining, what should I take?", ["keep dry"]),
        ("somewhere to sleep tonight", ["sleep"]),
        ("I am hungry", ["eat"]),
        ("Where could I throw away this wrapper?", ["throw away"]),
        ("I must warm up my lunch", ["heat food"]),
        ("something to read", ["read"]),
        ("something to drink from", ["drink from"]),
        ("something to drink", ["drink"]),
    ],
)
def test_things_and_uses(words, wants):
    assert names(parse(words).wants) == wants


@pytest.mark.parametrize(
    ("words", "wants", "excludes"),
    [
        ("a seat other than the sofa", ["seat"], ["sofa"]),
        ("something to sit on that isn't a stool or a bench", ["sit"], ["stool", "bench"]),
        ("a container, but not the suitcase", ["container"], ["suitcase"]),
        ("any lamp except the chandelier", ["lamp"], ["chandelier"]),
        ("something I can open which does not close", ["open"], ["close"]),
        ("somewhere to put my cup, just not the desk because it is full", ["put down"], ["desk"]),
        ("something that makes music and is no guitar", ["make sound"], ["guitar"]),
    ],
)
def test_what_is_ruled_out(words, wants, excludes):
    request = parse(words)
    assert names(request.wants) == wants
    assert names(request.excludes) == excludes


@pytest.mark.parametrize(
    ("words", "kind", "to"),
    [
        ("the cup on the desk", "on", ["desk"]),
        ("a chair next to the old wooden table", "near", ["table"]),
        ("the lamp behind the couch", "behind", ["sofa"]),
        ("a book far from the window", "far from", ["window"]),
        ("what is there to eat in the fridge", "in", ["refrigerator"]),
        ("the plant between the bed and the window", "between", ["bed", "window"]),
        ("an armchair in front of the tv or a monitor", "in front of", ["television", "monitor"]),
    ],
)  # fmt: skip
def test_relations(words, kind, to):
    (relation,) = parse(words).relations
    assert (relation.kind, names(relation.to)) == (kind, to)


def test_rooms_and_orders():
    request = parse("the largest table in the dining room")
    assert request.rooms == ("dining room",)
    assert request.order == "largest"


@pytest.mark.parametrize("words", ["", "???", "xyzzy plugh", "the the the", "not", "😀 " * 50])
def test_nonsense_is_not_understood_and_breaks_nothing(words):
    assert not parse(words).clear


def test_tables_name_known_things_only():
    lexicon = load_lexicon()
    known = {*lexicon.labels, *lexicon.classes, *lexicon.spellings}
    house = {lexicon.canonical(name) for name in known}
    for table in (*lexicon.uses.values(), *lexicon.qualities.values()):
        for thing, grade in table.things.items():
            assert 0.0 < grade <= 1.0
            assert thing in known or lexicon.canonical(thing) in house or _in_household(thing)


def _in_household(thing):
    from coterie_core.household import load_household

    return load_household().category(thing) is not None


def test_a_word_that_is_only_on_the_map_is_a_thing():
    """A detector's labels are its own: the tables list neither."""
    for word in ("coke", "water"):
        assert [w.name for w in parse(f"the {word}", (word,)).wants] == [word]
        assert not parse(f"the {word}", ("banana",)).wants


@pytest.mark.parametrize(
    ("words", "kind", "to"),
    [
        ("something on the dining table", "on", "table"),
        ("anything in the bathtub", "in", "bathtub"),
        ("find all things near the bed", "near", "bed"),
        ("objects on a table", "on", "table"),
    ],
)
def test_whatever_is_at_a_place_is_asked_for_and_not_the_place(words, kind, to):
    request = parse(words)
    assert request.wants == () and request.clear
    assert [(r.kind, r.to[0].name) for r in request.relations] == [(kind, to)]


def test_what_is_done_with_a_thing_is_no_place():
    request = parse("something to sit on near the window")
    assert [w.kind for w in request.wants] == ["use"]
    assert [(r.kind, r.to[0].name) for r in request.relations] == [("near", "window")]


def test_what_is_to_be_prevented_is_no_use():
    request = parse("What would you use to keep a door from closing?")
    assert not request.clear and request.unknown == ("from closing",)
    assert names(parse("something to keep my books in").wants) == ["store"]
    assert names(parse("What will keep the milk from going sour?").wants) == ["keep cool"]
