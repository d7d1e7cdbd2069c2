"""How requests are worded: what is not understood is named, ordinals and distances count."""

from pathlib import Path

import pytest
import yaml

from coterie_core.geometry import Box
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from object_planner.ground import Grounder
from object_planner.request import parse

SETS = yaml.safe_load((Path(__file__).parent / "data/requests.yaml").read_text("utf-8"))


def graph_of(entries):
    graph = SceneGraph()
    for id_, (labels, center, size, *looks) in entries.items():
        belief = LabelBelief({labels: 5.0} if isinstance(labels, str) else labels)
        box = Box(tuple(center), tuple(size))
        graph.add_object(SceneObject(id_, belief, box, observations=looks[0] if looks else 10))
    return graph


def is_right(findings, right, named):
    """Whether the first id is one that is right, or what could not be understood is named."""
    first, told = (findings.ids or [""])[0], findings.told.lower()
    if named and "|" in named[0]:
        word, _, ids = named[0].partition("|")
        return first in ids.split() or (word.strip().lower() in told)
    hit = first in right if right else not first
    return hit and all(word.lower() in told for word in named)


# The second half was never looked at while the rules were made; the figures are those reached.
@pytest.mark.parametrize(("part", "least"), [("development", 42), ("held_out", 36)])
def test_requests_in_words(part, least):
    grounder = Grounder(graph_of(SETS[part]["objects"]))
    missed = [
        f"{words}: {findings.ids[:3]} {findings.told}"
        for _, words, right, named in SETS[part]["requests"]
        for findings in (grounder.find(parse(words)),)
        if not is_right(findings, right, named)
    ]
    asked = len(SETS[part]["requests"])
    print(f"\n{part}: {asked - len(missed)} of {asked} requests right", end=" ")
    assert asked - len(missed) >= least, "\n".join(missed)


@pytest.fixture(scope="module")
def grounder():
    return Grounder(graph_of(SETS["development"]["objects"]))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("something with tentacles", "tentacles"),
        ("anything made of titanium apart from the sofa", "titanium"),
        ("a snorkel that is not a mug", "snorkel"),
        ("the blorptastic", "blorptastic"),
    ],
)
def test_a_request_that_would_mean_any_thing_is_refused_by_name(grounder, words, named):
    findings = grounder.find(parse(words))
    assert findings.ids == [] and repr(named) in findings.note


def test_what_is_left_out_of_a_request_is_told(grounder):
    findings = grounder.find(parse("the rickety chair"))
    assert findings.ids and "'rickety'" in findings.told
    assert "'the lamp'" in grounder.find(parse("the sofa, and then the lamp")).told
    read = grounder.find(parse("the tellevision"))
    assert read.ids == ["tv1"] and "'tellevision' was read as 'television'" in read.told


def test_distances_have_no_limit(grounder):
    """The mug nearest to the bicycle is metres away, and still the nearest."""
    assert grounder.find(parse("the mug nearest to the bicycle")).ids == ["mug1", "mug2"]
    assert grounder.find(parse("the mug farthest from the bicycle")).ids == ["mug2", "mug1"]
    assert "no crib" in grounder.find(parse("the mug nearest to the crib")).note


def test_ordinals(grounder):
    assert grounder.find(parse("the 2nd tallest lamp")).ids == ["lamp1"]
    none = grounder.find(parse("the fourth tallest lamp"))
    assert none.ids == [] and "there are 2" in none.note
    assert "number 2" in grounder.find(parse("the second mug")).told


def test_very_words_narrow_a_class_where_the_map_has_them(grounder):
    assert grounder.find(parse("a coffee table")).ids == ["ct"]
    assert set(grounder.find(parse("a seat that is no office chair")).ids) >= {
        "ch1",
        "ch2",
        "sofa1",
    }


def test_words_of_the_map_itself_are_known():
    graph = SceneGraph()
    graph.add_object(SceneObject("w", LabelBelief({"wibbler": 1.0}), Box((0, 0, 0), (1, 1, 1))))
    assert Grounder(graph).find(parse("the wibbler", ("wibbler",))).ids == ["w"]


def test_colors_count_where_the_map_has_them():
    graph = graph_of({"a": ["mug", [0, 0, 0], [0.1, 0.1, 0.1]], "b": ["mug", [1, 0, 0], [0.1] * 3]})
    graph.objects["a"].properties["color"] = "blue"
    graph.objects["b"].properties["color"] = "red"
    assert Grounder(graph).find(parse("the red mug")).ids == ["b"]
    assert Grounder(graph).find(parse("the green mug")).ids == []


def test_a_tool_s_purpose_is_not_its_place(grounder):
    assert grounder.find(parse("something to clean under the sofa with")).ids[:1] == ["broom1"]
