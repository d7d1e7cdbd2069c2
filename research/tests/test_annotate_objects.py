"""How the objects of a map are searched, named and suggested while it is annotated."""

import numpy as np
import pytest

from coterie_core.geometry import Box
from coterie_world.scene import Floor, LabelBelief, Room, SceneGraph, SceneObject
from research.annotate.clouds import load_cloud
from research.annotate.objects import NO_LABEL, NO_ROOM, ObjectIndex
from research.annotate.suggest import suggest
from research.natural_order import natural
from semantic_mapper.files import save_map

SQUARE = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)]


def thing(id_, label, center, size=(0.5, 0.5, 0.5), room="", yaw=0.0):
    return SceneObject(id_, LabelBelief.of(label), Box(center, size, yaw), room=room)


def house():
    graph = SceneGraph()
    for k in range(2):
        graph.add_floor(Floor(f"f{k}", k, 3.0 * k))
        graph.add_room(Room(f"r{k}", "study", "study", f"f{k}", list(SQUARE)))
    graph.add_object(thing("desk-2", "desk", (1, 1, 0.4), room="r0"))
    graph.add_object(thing("desk-10", "desk", (3, 1, 0.4), room="r0"))
    graph.add_object(thing("lamp", "lamp", (1, 1, 3.4)))  # no room: by its height
    return graph


def test_search_by_words_label_and_room():
    graph = house()
    graph.rooms["r1"].name = "study"  # two rooms of one name stay apart
    graph.add_object(thing("", "", (0, 0, 0)))
    index = ObjectIndex(graph)
    assert index.find() == ["desk-2", "desk-10", "lamp", ""]
    assert index.find("DESK 10") == ["desk-10"] and index.find("desk study lamp") == []
    assert index.find(label="lamp") == ["lamp"] and index.find(room="r0") == ["desk-2", "desk-10"]
    assert [c.text for c in index.labels] == [f"{NO_LABEL} (1)", "desk (2)", "lamp (1)"]
    assert index.rooms[0].text == f"{NO_ROOM} (2)"
    assert index.name("desk-2") == "desk-2" and index.name("lamp") == "lamp"
    assert "not in the map" in index.name("x") and index.details("x") == []


def test_choices_never_look_the_same():
    graph = SceneGraph()
    for k, label in enumerate(["a\n", "a ", "a", "\u202ea", "x" * 500, "x" * 501]):
        graph.add_object(thing(str(k), label, (0, 0, 0)))
    texts = [choice.text for choice in ObjectIndex(graph).labels]
    assert len(set(texts)) == 6 and max(map(len, texts)) < 60


def test_a_suggestion_is_what_the_rules_find():
    found = suggest(house(), "q1", "a desk")
    assert set(found.ids) == {"desk-2", "desk-10"} and found.explanation
    assert suggest(house(), "q1", "a bicycle").ids == ()


def test_names_are_sorted_by_their_numbers():
    assert sorted(["obj10", "obj9", "a", "9" * 5000], key=natural)[1:3] == ["a", "obj9"]


def test_clouds_are_read_thinned_and_refused(tmp_path):
    graph = house()
    save_map(graph, tmp_path / "m.ply", "ply")
    points, colors = load_cloud(tmp_path / "m.ply", np.zeros(3))
    assert len(points) == len(colors) > 100 and points.dtype == np.float32
    (tmp_path / "bad.ply").write_text("ply\nno")
    with pytest.raises(ValueError, match=r"bad\.ply"):
        load_cloud(tmp_path / "bad.ply", np.zeros(3))
