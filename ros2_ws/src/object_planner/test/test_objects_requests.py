"""Requests in words, answers decided by hand: the share that is right, and what is told of others.

All words are read by the one grammar; what it does not read is refused, and counts as missed.
"""

from pathlib import Path

import pytest
import yaml

from coterie_core.geometry import Box
from coterie_requests.grammar import read
from coterie_requests.request import Request
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from object_planner.ground import Grounder
from object_planner.plan import PlanState

DATA = Path(__file__).parent / "data"
SETS = yaml.safe_load((DATA / "requests.yaml").read_text("utf-8"))
HOMES = yaml.safe_load((DATA / "homes.yaml").read_text("utf-8"))


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


# The second half was never looked at while the tables were made; the figures are those reached.
@pytest.mark.parametrize(("part", "least"), [("development", 42), ("held_out", 36)])
def test_requests_in_words(part, least):
    scene = graph_of(SETS[part]["objects"])
    missed = [
        f"{words}: {findings.ids[:3]} {findings.told}"
        for _, words, right, named in SETS[part]["requests"]
        for findings in (PlanState(scene, words).findings,)
        if not is_right(findings, right, named)
    ]
    asked = len(SETS[part]["requests"])
    print(f"\n{part}: {asked - len(missed)} of {asked} requests right", end=" ")
    assert asked - len(missed) >= least, "\n".join(missed)


def read_or_not(words: str, scene: SceneGraph) -> Request | None:
    try:
        return read(words, Vocabulary.of(scene), "find")
    except NotUnderstood:
        return None


@pytest.mark.parametrize(
    ("kind", "least"), [("descriptive", 19), ("affordance", 17), ("negation", 14)]
)
def test_requests_of_three_homes(kind, least):
    missed: dict[str, list[str]] = {"uncertainty": [], "certainty": []}
    asked = 0
    for home in HOMES.values():
        scene = graph_of(home["objects"])
        for words, right in (entry[2:] for entry in home["requests"] if entry[0] == kind):
            asked += 1
            request = read_or_not(words, scene)
            for mode, wrong in missed.items():
                ids = Grounder(scene, mode).find(request).ids if request else []
                if not ((ids[0] in right) if ids else not right):
                    wrong.append(f"{words}: {ids[:3]}, not {right}")
    for mode, wrong in missed.items():
        print(f"\n{kind}, {mode}: {asked - len(wrong)} of {asked} requests right", end=" ")
        assert asked - len(wrong) >= least, "\n".join(wrong)


@pytest.fixture(scope="module")
def find():
    scene = graph_of(SETS["development"]["objects"])
    return lambda words: PlanState(scene, words).findings


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("something with tentacles", "tentacles"),
        ("anything made of titanium apart from the sofa", "titanium"),
        ("a snorkel that is not a mug", "snorkel"),
        ("the blorptastic", "blorptastic"),
    ],
)
def test_a_request_that_would_mean_any_thing_is_refused_by_name(find, words, named):
    findings = find(words)
    assert findings.ids == [] and not findings.understood and named in findings.note


def test_a_misspelled_word_is_refused_with_what_may_be_meant(find):
    findings = find("the tellevision")
    assert findings.ids == [] and "television" in findings.note


def test_more_than_one_wish_is_told(find):
    findings = find("find the sofa, then find the lamp")
    assert findings.ids == ["sofa1"] and "ask again for: 'find the lamp'" in findings.told


@pytest.mark.parametrize("words", ["", "???", "xyzzy plugh", "the the the", "not", "😀 " * 50])
def test_nonsense_is_not_understood_and_breaks_nothing(find, words):
    findings = find(words)
    assert not findings.understood and not findings.ids and findings.note


def test_words_of_the_map_itself_are_known():
    graph = SceneGraph()
    graph.add_object(SceneObject("w", LabelBelief({"wibbler": 1.0}), Box((0, 0, 0), (1, 1, 1))))
    assert PlanState(graph, "the wibbler").findings.ids == ["w"]
