"""Requests on maps: labels and their distributions, geometry, order, reasons."""

import pytest

from coterie_core.geometry import Box
from coterie_core.relations import behind, between, gap, in_front_of, inside, near, on, under
from coterie_requests.request import ALL, Place, Request, Step, Thing
from coterie_world.scene import LabelBelief, Room, SceneGraph, SceneObject
from object_planner.ground import Grounder
from object_planner.plan import PlanState


def thing(id_, labels, center, size, room="", seen=10):
    weights = {labels: 5.0} if isinstance(labels, str) else labels
    return SceneObject(id_, LabelBelief(weights), Box(center, size), room=room, observations=seen)


@pytest.fixture
def home():
    graph = SceneGraph()
    graph.add_room(Room("r1", "living room", "living room"))
    graph.add_room(Room("r2", "bedroom", "bedroom"))
    graph.extend(
        [
            thing("table", "dining table", (2.0, 2.0, 0.4), (1.4, 0.8, 0.8), "r1"),
            thing("mug", {"cup": 3.0, "bowl": 1.0}, (2.1, 2.0, 0.85), (0.1, 0.1, 0.1), "r1"),
            thing("chair", "chair", (2.0, 1.2, 0.45), (0.45, 0.45, 0.9), "r1"),
            thing("stool", {"stool": 2.0, "chair": 1.5}, (6.0, 0.5, 0.3), (0.4, 0.4, 0.6), "r1"),
            thing("tv", "tv", (0.0, 2.0, 1.2), (0.1, 1.2, 0.7), "r1"),
            thing("sofa", "couch", (3.5, 2.1, 0.4), (0.9, 2.0, 0.8), "r1"),
            thing("bed", "bed", (9.0, 2.0, 0.3), (1.6, 2.0, 0.6), "r2"),
            thing("book", "book", (9.2, 2.0, 0.65), (0.2, 0.15, 0.04), "r2"),
            thing("cat?", {"unknown": 9.0, "cat": 1.0}, (5.0, 5.0, 0.1), (0.4, 0.2, 0.2), "r1"),
        ]
    )
    return graph


def find(graph, words, mode="uncertainty"):
    return PlanState(graph, words, mode=mode).findings.ids


def grounded(graph, *things, act="find", mode="uncertainty"):
    step = Step(act=act, things=things)
    return Grounder(graph, mode).find(Request(words="", steps=(step,)))


def at(*names, relation="near", negated=False):
    things = tuple(Thing(name=name) for name in names)
    return Place(relation=relation, things=things, negated=negated)


def called(*names):
    return tuple(Thing(name=name) for name in names)


@pytest.mark.parametrize(
    ("thing", "ids"),
    [
        (Thing(name="tv", definite=True), ["tv"]),
        (Thing(name="seat", either=called("cup")), ["chair", "sofa", "stool", "mug"]),
        (Thing(name="seat", without=called("chair")), ["sofa"]),
        (Thing(use="to sit on", without=called("sofa", "bed")), ["chair", "stool"]),
        (Thing(without=(Thing(use="to sit on"), Thing(attributes=("hard",)))), ["book", "cat?"]),
        (Thing(name="seat", without=(Thing(name="seat", places=(at("table"),)),)), ["stool"]),
        (Thing(amount=ALL, places=(at("table", relation="on"),)), ["mug"]),
        (Thing(name="table", places=(at("cup", relation="with"),)), ["table"]),
        (Thing(name="table", places=(at("book", relation="with"),)), []),
        (Thing(name="chair", places=(at("tv", relation="far from"),)), ["stool"]),
        (Thing(name="chair", places=(at("table", negated=True),)), ["stool"]),
        (Thing(name="table", places=(at("tv", "bed", relation="between"),)), ["table"]),
        (Thing(name="book", places=(at("bedroom", relation="in"),)), ["book"]),
        (Thing(use="to sit on", places=(at("living room", relation="in", negated=True),)), ["bed"]),
        (Thing(name="seat", choice="largest"), ["sofa", "chair", "stool"]),
        (Thing(name="seat", choice="largest", rank=2), ["chair"]),
        (Thing(name="seat", choice="smallest", rank=-1), ["sofa"]),
        (Thing(name="seat", attributes=("big",)), ["sofa", "chair", "stool"]),
        (Thing(name="seat", choice="nearest", by=called("tv")), ["chair", "sofa", "stool"]),
        (Thing(name="seat", choice="farthest", by=called("tv")), ["stool", "sofa", "chair"]),
        (Thing(name="seat", rank=3, by=called("tv")), ["stool"]),
        (Thing(choice="nearest", by=called("book"), without=called("book")), ["bed", "stool"]),
        (Thing(name="seat", attributes=("soft",)), ["sofa", "chair", "stool"]),
        (Thing(attributes=("soft",)), ["bed", "sofa"]),
        (Thing(name="stool"), ["stool"]),
        (Thing(name="seat", places=(Place(relation="near", things=(
            Thing(name="seat", choice="smallest"),)),)), []),
    ],
)  # fmt: skip
def test_fields_of_a_thing(home, thing, ids):
    found = grounded(home, thing).ids
    assert found[: len(ids)] == ids and bool(found) == bool(ids)


def test_several_things_are_all_found(home):
    assert grounded(home, *called("book", "tv")).ids == ["book", "tv"]


@pytest.mark.parametrize(
    ("thing", "told", "understood"),
    [
        (Thing(name="gribbet"), "not understood: 'gribbet'", False),
        (Thing(use="to pacify a gribbet"), "not understood: 'to pacify a gribbet'", False),
        (Thing(use="to keep a door from closing"), "not understood", False),
        (Thing(use="to land a helicopter on"), "helicopter", False),
        (Thing(attributes=("wobbly",)), "not understood: 'wobbly'", False),
        (Thing(), "names nothing", False),
        (Thing(name="chair", attributes=("rickety",)), "is known of it: 'rickety'", True),
        (Thing(name="chair", color="red"), "is known of it: 'red'", True),
        (Thing(name="chair", choice="other"), "is known of it: 'other'", True),
        (Thing(name="chair", rank=2), "left out: number 2, as nothing says by what to count", True),
        (Thing(name="tv", choice="largest", rank=2), "there are 1 such things", True),
        (Thing(name="chair", choice="nearest", by=called("piano")), "no piano in the map", True),
        (Thing(name="book", places=(at("table", relation="on"),)), "nothing that fits is on table",
         True),
        (Thing(places=(at("cupboard", relation="on"),)), "the map has no cupboard", True),
        (Thing(name="seat", without=called("seat")), "what the request rules out", True),
        (Thing(name="seat", places=(at("garage", relation="in"),)), "no 'garage'", True),
    ],
)  # fmt: skip
def test_what_cannot_be_found_or_is_left_out_is_told(home, thing, told, understood):
    findings = grounded(home, thing)
    assert told in findings.told and findings.understood is understood


@pytest.mark.parametrize("act", ["where", "is_there", "what", "which_room", "used_for", "bring"])
def test_questions_of_the_same_meaning_are_answered(home, act):
    assert grounded(home, Thing(name="tv"), act=act).ids == ["tv"]


@pytest.mark.parametrize("act", ["how_many", "color", "state", "size"])
def test_other_questions_are_no_requests_for_objects(home, act):
    findings = grounded(home, Thing(name="tv"), act=act)
    assert findings.ids == [] and not findings.understood and "no answer to that" in findings.note


def test_an_id_is_a_name(home):
    home.add_object(thing("chair-2", "chair", (4.0, 1.0, 0.45), (0.45, 0.45, 0.9)))
    assert grounded(home, Thing(name="chair-2")).ids == ["chair-2"]
    assert grounded(home, Thing(name="seat", without=called("chair-2"))).ids[:2] == [
        "chair",
        "sofa",
    ]


def test_what_the_map_tells_of_supports_goes_before_geometry(home):
    home.objects["mug"].support = "sofa"
    assert grounded(home, Thing(name="cup", places=(at("sofa", relation="on"),))).ids == ["mug"]
    assert grounded(home, Thing(name="cup", places=(at("table", relation="on"),))).ids == []


def test_the_very_words_narrow_a_class_where_the_map_has_them(home):
    home.add_object(thing("low", "coffee table", (7.0, 7.0, 0.2), (1.0, 0.6, 0.4), "r1"))
    assert grounded(home, Thing(name="coffee table")).ids == ["low"]
    assert grounded(home, Thing(name="table", attributes=("coffee",))).ids == ["low"]
    assert set(grounded(home, Thing(name="table")).ids) == {"low", "table"}


def test_colors_count_where_the_map_has_them(home):
    home.objects["chair"].properties["color"] = "red"
    home.objects["stool"].properties["color"] = "#1010f0"
    assert grounded(home, Thing(name="chair", color="red")).ids == ["chair"]
    assert grounded(home, Thing(name="chair", without=(Thing(color="red"),))).ids == ["stool"]
    assert grounded(home, Thing(name="chair", color="green")).ids == []


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("where is the tv?", ["tv"]),
        ("the cup on the table", ["mug"]),
        ("a book on the table", []),
        ("a chair near the table", ["chair"]),
        ("a couch in front of the tv", ["sofa"]),
        ("something to sit on that is not a chair", ["sofa", "bed"]),
        ("something to sit on in the bedroom", ["bed"]),
        ("something to sleep on", ["bed", "sofa"]),
        ("a piano", []),
        ("the biggest seat", ["sofa", "chair", "stool"]),
        ("a seat far from the table", ["stool"]),
    ],
)
def test_requests(home, words, ids):
    assert find(home, words) == ids


def test_modes_differ_where_labels_are_unsure(home):
    assert "stool" not in find(home, "a chair", "certainty")
    assert find(home, "a chair", "uncertainty") == ["chair", "stool"]


def test_geometry():
    table = Box((0.0, 0.0, 0.4), (1.2, 0.8, 0.8))
    cup = Box((0.2, 0.1, 0.85), (0.1, 0.1, 0.1))
    shelf = Box((3.0, 0.0, 1.0), (0.4, 1.0, 2.0))
    inner = Box((3.0, 0.2, 0.9), (0.2, 0.2, 0.2))
    rug = Box((0.0, 0.0, 0.01), (2.0, 2.0, 0.02))
    assert on(cup, table) > 0.9 and on(table, cup) == 0.0
    assert inside(inner, shelf) > 0.9 and inside(cup, shelf) == 0.0
    assert under(rug, table) > 0.0 and under(table, rug) == 0.0
    assert near(cup, table) > near(shelf, table) == 0.0
    assert gap(table, shelf) == pytest.approx(2.2)
    assert between(Box((1.5, 0.0, 0.5), (0.2, 0.2, 0.2)), [table, shelf]) > 0.9
    screen = Box((0.0, 5.0, 1.0), (1.2, 0.1, 0.7))
    before, aside = Box((0.2, 3.0, 0.4), (1, 1, 1)), Box((3.0, 5.2, 0.4), (1, 1, 1))
    assert in_front_of(before, screen) > 0.0 and in_front_of(aside, screen) == 0.0
    assert behind(Box((9.0, 9.0, 0.4), (1, 1, 1)), screen) == 0.0


def test_odd_maps_do_not_break():
    graph = SceneGraph()
    assert find(graph, "a chair") == []
    graph.add_object(thing("point", "chair", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    graph.add_object(SceneObject("blank", LabelBelief(), Box((0, 0, 0), (1, 1, 1))))
    graph.add_object(thing("label", "'; rm -rf $HOME", (1.0, 0.0, 0.0), (1.0, 1.0, 1.0)))
    assert find(graph, "a chair near a table") == []
    assert find(graph, "a chair") == ["point"]


def test_what_was_seldom_seen_and_is_no_size_for_its_kind_comes_last():
    graph = SceneGraph()
    graph.add_object(thing("a_ghost", {"chair": 1.0}, (0, 0, 0.4), (0.5, 0.03, 0.03), seen=5))
    graph.add_object(thing("b_once", {"chair": 1.0}, (1, 0, 0.4), (0.5, 0.5, 0.9), seen=2))
    graph.add_object(
        thing("c_chair", {"chair": 0.9, "stool": 0.1}, (2, 0, 0.4), (0.5, 0.5, 0.9), 60)
    )
    sat = grounded(graph, Thing(use="to sit on")).ids
    assert sat == ["c_chair", "b_once", "a_ghost"]
    assert grounded(graph, Thing(name="chair", choice="smallest")).ids[:2] == ["c_chair", "b_once"]


def test_a_likely_label_counts_though_it_is_not_the_first():
    graph = SceneGraph()
    labels = {"dining table": 0.5, "cup": 0.4, "vase": 0.1}
    graph.add_object(thing("x", labels, (0, 0, 0.4), (1, 1, 1)))
    assert grounded(graph, Thing(name="cup")).ids == ["x"]
    assert not grounded(graph, Thing(name="vase")).ids, "far less likely than a table"
    assert not grounded(graph, Thing(name="cup"), mode="certainty").ids


def test_whatever_is_on_a_table_is_no_chair_behind_it():
    graph = SceneGraph()
    graph.add_room(Room("k", "kitchen", "kitchen", "", [(0, 0), (6, 0), (6, 6), (0, 6)]))
    for one in (
        thing("table", {"dining table": 1.0}, (2.0, 2.0, 0.38), (1.6, 1.0, 0.75), "k"),
        thing("chair", {"chair": 1.0}, (2.0, 2.4, 0.8), (0.4, 0.1, 0.2), "k"),
        thing("mug", {"mug": 1.0}, (1.8, 2.0, 0.8), (0.1, 0.1, 0.1), "k"),
    ):
        graph.add_object(one)
    assert find(graph, "something on the dining table") == ["mug"]


@pytest.fixture
def coarse():
    """A map whose detector tells classes of things, with words that ask for uses as well."""
    graph = SceneGraph()
    for k, label in enumerate(
        ["seating", "storage", "trash", "bed", "box", "bicycle", "furniture", "bed frame", "gizmo"]
    ):
        graph.add_object(thing(label, label, (2.0 * k, 0.0, 0.4), (0.6, 0.6, 0.8)))
    return graph


@pytest.mark.parametrize(
    ("words", "first", "not_in"),
    [
        ("something to sit on", ["seating", "bed"], "storage"),
        ("a place to store things", ["storage", "box"], "seating"),
        ("the trash can nearest to the bicycle", ["trash"], "box"),
        ("seating", ["seating"], "bed"),
        ("furniture", ["furniture"], "gizmo"),
        ("the storage", ["storage"], "bed"),
        ("trash in the room", ["trash"], "bed"),
        ("a gizmo near the bed frame", ["gizmo"], "bed"),
        ("the bed frame", ["bed frame"], "bed"),
        ("the bed", ["bed"], "bed frame"),
    ],
)
def test_a_label_of_the_map_is_found_by_its_own_word(coarse, words, first, not_in):
    found = find(coarse, words)
    assert found[: len(first)] == first and not_in not in found


def test_a_map_that_calls_things_by_numbers_says_so():
    graph = SceneGraph()
    for label in ("5", "11", "unknown"):
        graph.add_object(thing(label, label, (0.0, 0.0, 0.4), (0.6, 0.6, 0.8)))
    note = grounded(graph, Thing(name="chair")).note
    assert "2 of the map's 3 things are called by numbers (11, 5)" in note
