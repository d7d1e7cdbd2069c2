"""Requests on maps: labels and their distributions, geometry, order, reasons."""

import pytest

from coterie_core.geometry import Box
from coterie_core.relations import behind, between, gap, in_front_of, inside, near, on, under
from coterie_world.scene import LabelBelief, Room, SceneGraph, SceneObject
from object_planner.ground import Grounder
from object_planner.request import parse


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
    return Grounder(graph, mode).find(parse(words)).ids


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


def test_an_empty_answer_says_why(home):
    findings = Grounder(home).find(parse("a book on the table"))
    assert "on such a thing" in findings.note
    hung = Grounder(home).find(parse("a thing that hangs on a wall but is not a picture"))
    assert hung.note.startswith("the map has no wall")
    assert "'frobnicate'" in Grounder(home).find(parse("frobnicate")).note


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
    grounder = Grounder(graph)
    assert grounder.find(parse("where can I sit")).ids == ["c_chair", "b_once", "a_ghost"]
    assert grounder.find(parse("the smallest chair")).ids[-1] != "a_ghost"


def test_a_likely_label_that_is_not_the_first_is_better_than_nothing():
    graph = SceneGraph()
    labels = {"cup": 0.31, "dining table": 0.24, "vase": 0.23, "book": 0.22}
    graph.add_object(thing("x", labels, (0, 0, 0.4), (0.1, 0.1, 0.1)))
    grounder = Grounder(graph)
    (found,) = grounder.find(parse("a cup")).found
    assert found.id == "x"
    graph.objects["x"].label = LabelBelief(
        {"dining table": 0.4, "cup": 0.31, "vase": 0.15, "book": 0.14}
    )
    (found,) = Grounder(graph).find(parse("a cup")).found
    assert found.reasons[0].startswith("perhaps")
    assert not Grounder(graph).find(parse("a vase")).ids, "far less likely than a table"
    graph.add_object(thing("y", {"cup": 1.0}, (1, 0, 0.4), (0.1, 0.1, 0.1)))
    assert Grounder(graph).find(parse("a cup")).ids == ["y"], "something fits for sure"
    assert not Grounder(graph, "certainty").find(parse("a vase")).ids


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
    grounder = Grounder(coarse)
    found = grounder.find(parse(words, grounder.known)).ids
    assert found[: len(first)] == first and not_in not in found


def test_a_map_that_calls_things_by_numbers_says_so():
    graph = SceneGraph()
    for label in ("5", "11", "unknown"):
        graph.add_object(thing(label, label, (0.0, 0.0, 0.4), (0.6, 0.6, 0.8)))
    note = Grounder(graph).find(parse("a chair")).note
    assert "2 of the map's 3 things are called by numbers (11, 5)" in note
