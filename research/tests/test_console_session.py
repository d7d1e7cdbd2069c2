"""Annotating: every command is saved at once, can be taken back, and loses nothing."""

import json
import random

import pytest

from coterie_core.geometry import Box
from coterie_core.yaml_marks import FileProblem
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from research.annotate.queries import Query, QueryError, parse_queries
from research.annotate.session import AnnotationSession
from research.annotate.store import AnnotationError
from research.bench.objects.data import load_data
from semantic_mapper.voxeland import save_voxeland

QUERIES = """\
# Made by hand.
queries:
  q1: something to sit on   # the easy one
  # Two that are harder.
  q2: {query: what is not a cup, type: negation}
  q3:
    query: a thing for coffee
    type: affordance
    difficulty: difficult
    asked_by: Mona
other: kept
"""


def scene(n=6):
    graph = SceneGraph()
    for k in range(n):
        label = ("chair", "cup", "table")[k % 3]
        box = Box((float(k), 0.0, 0.5), (0.5, 0.5, 1.0))
        graph.add_object(SceneObject(f"obj{k}", LabelBelief.of(label), box, observations=1))
    return graph


@pytest.fixture
def files(tmp_path):
    (tmp_path / "q.yaml").write_text(QUERIES)
    return tmp_path / "q.yaml", tmp_path / "r.json"


def opened(files, answers=None):
    if answers is not None:
        files[1].write_text(json.dumps(answers, indent=4))
    return AnnotationSession.open(scene(), *files)


def saved(files):
    return json.loads(files[1].read_text())["responses"]


def test_each_click_is_on_disk_at_once(files):
    session = opened(files)
    assert session.current == "q1" and not files[1].exists()
    session.toggle("obj3")
    session.toggle("obj0")
    assert saved(files) == {"q1": ["obj3", "obj0"]}
    session.move("obj0", -1)
    assert saved(files) == {"q1": ["obj0", "obj3"]}
    session.move("obj0", -1)  # it is first already
    session.toggle("obj3")
    assert saved(files) == {"q1": ["obj0"]}


def test_nothing_fits_differs_from_not_answered(files):
    session = opened(files)
    assert session.progress() == (0, 3)
    session.none_fits()
    assert saved(files) == {"q1": []} and session.status("q1") == "none"
    assert session.first_open() == "q2" and session.progress() == (1, 3)
    session.choose("obj1")
    session.remove("obj1")  # without any object the query is open again
    assert saved(files) == {} and session.status("q1") == "open"
    session.none_fits()
    session.clear()
    assert saved(files) == {}


def test_unchanged_files_keep_every_byte(files):
    text = json.dumps({"about": "é 1", "responses": {"q1": ["obj0"], "q9": []}}, indent=2)
    files[1].write_text(text)
    session = opened(files)
    session.go("q2")
    session.choose("obj4")
    session.undo()
    assert files[1].read_text() == text
    session.add_query(Query("q4", 'a "thing": <b>#1</b>', "descriptive"))
    session.undo()
    assert files[0].read_text() == QUERIES


def test_unknown_queries_objects_and_fields_stay_and_are_named(files):
    odd = {
        "version": 3,
        "responses": {"q1": ["obj0", "gone7"], "old": ["obj1"], "q2": "obj1", "q3": ["obj1"] * 2},
    }
    session = opened(files, odd)
    problems = "\n".join(session.problems())
    for part in ("q1: the map has no gone7", "old: no such query", "q2: no list", "q3: obj1 more"):
        assert part in problems
    assert session.status("q2") == "open"
    session.go("q1")
    session.choose("obj2")
    content = json.loads(files[1].read_text())
    assert content["version"] == 3
    assert content["responses"] == {**odd["responses"], "q1": ["obj0", "gone7", "obj2"]}


def test_undo_and_redo_walk_through_everything(files):
    session = opened(files, {"responses": {"q2": ["obj1"]}})
    rng, states = random.Random(4), [(files[0].read_text(), files[1].read_text())]
    things = list(session.scene.objects)
    for k in range(60):
        session.go(rng.choice(list(session.queries)))
        command = rng.choice(["toggle", "toggle", "move", "none", "clear", "note", "add", "edit"])
        if command == "toggle":
            session.toggle(rng.choice(things))
        elif command == "move":
            session.move(rng.choice(things), rng.choice([-1, 1]))
        elif command == "none":
            session.none_fits()
        elif command == "clear":
            session.clear()
        elif command == "note":
            session.write_note(rng.choice(["", "hm", "<i>so</i>"]))
        elif command == "add":
            session.add_query(Query(f"n{k}", f"thing {k}"))
        elif len(session.queries) > 1 and rng.random() < 0.5:
            session.delete_query(session.current)
        else:
            session.change_query(session.current, Query(f"e{k}", f"other {k}", "negation"))
        assert dict(parse_queries(files[0].read_text(), "q")) == dict(session.queries)
        if (now := (files[0].read_text(), files[1].read_text())) != states[-1]:
            states.append(now)
    data = [_data(files)]
    while session.undo():
        data.append(_data(files))
    assert json.loads(files[1].read_text())["responses"] == {"q2": ["obj1"]}
    assert list(parse_queries(files[0].read_text(), "q")) == ["q1", "q2", "q3"]
    for expected in reversed(data[:-1]):
        assert session.redo()
        assert _data(files) == expected
    assert not session.redo()


def _data(files):
    content = json.loads(files[1].read_text())
    return parse_queries(files[0].read_text(), "q"), content["responses"], content.get("annotation")


def test_what_others_write_meanwhile_is_taken_in_and_not_overwritten(files):
    session = opened(files, {"responses": {"q1": ["obj0"]}})
    files[1].write_text(json.dumps({"responses": {"q1": ["obj0"], "q3": ["obj5"]}}))
    session.go("q1")
    session.choose("obj3")  # another query was changed: both stay
    assert saved(files) == {"q1": ["obj0", "obj3"], "q3": ["obj5"]}
    assert any("changed on disk" in notice for notice in session.notices)

    files[1].write_text(json.dumps({"responses": {"q1": ["obj5"]}}))
    with pytest.raises(AnnotationError, match="changed on disk"):
        session.none_fits()
    assert session.answer("q1") == ("obj5",) and saved(files) == {"q1": ["obj5"]}
    session.none_fits()  # now the person has seen it
    assert saved(files) == {"q1": []}


def test_a_query_that_others_changed_is_seen_before_it_is_changed(files):
    session = opened(files)
    files[0].write_text(QUERIES.replace("something to sit on", "a seat"))
    for command in (
        lambda: session.change_query("q1", Query("q1", "mine")),
        lambda: session.delete_query("nowhere"),
    ):
        with pytest.raises(AnnotationError, match="changed or deleted on disk"):
            command()
    assert session.queries["q1"].words == "a seat"
    session.change_query("q1", Query("q1", "mine"))
    assert "q1: mine" in files[0].read_text() and "# Two that are harder." in files[0].read_text()


def test_undo_leaves_what_others_changed_since(files):
    session = opened(files)
    session.choose("obj0")
    files[1].write_text(json.dumps({"responses": {"q1": ["obj1"]}}))
    assert session.poll()
    with pytest.raises(AnnotationError, match="left as it is"):
        session.undo()
    assert saved(files) == {"q1": ["obj1"]}


def test_a_file_that_breaks_meanwhile_is_not_overwritten(files):
    session = opened(files, {"responses": {}})
    files[1].write_text('{"responses": {')
    assert session.poll() and "r.json:1" in session.problems()[0]
    with pytest.raises(AnnotationError, match="not JSON"):
        session.choose("obj0")
    assert files[1].read_text() == '{"responses": {' and session.status("q1") == "open"
    files[1].write_text('{"responses": {"q2": []}}')
    session.choose("obj0")
    assert saved(files) == {"q2": [], "q1": ["obj0"]} and not session.problems()


def test_a_file_that_is_deleted_meanwhile_is_told(files):
    session = opened(files, {"responses": {"q1": ["obj0"]}})
    files[1].unlink()
    assert session.poll() and "deleted" in session.notices[0] and not session.poll()
    assert session.answer("q1") == ("obj0",)  # nothing is lost
    session.go("q2")
    session.choose("obj1")
    assert saved(files) == {"q1": ["obj0"], "q2": ["obj1"]}
    files[0].unlink()
    session.change_query("q2", Query("q2", "no cups"))
    assert list(parse_queries(files[0].read_text(), "q")) == ["q1", "q2", "q3"]


def test_what_cannot_be_saved_is_not_done(files, tmp_path):
    session = AnnotationSession.open(scene(), files[0], tmp_path / "sub" / "r.json")
    (tmp_path / "sub").write_text("a file where a folder should be")
    with pytest.raises(AnnotationError, match="not saved"):
        session.choose("obj0")
    assert session.status("q1") == "open" and not session.can_undo
    with pytest.raises(AnnotationError, match="not saved"):  # both files or none
        session.write_note("x")


def test_a_link_stays_a_link(files, tmp_path):
    real = tmp_path / "real.json"
    real.write_text('{"responses": {}}')
    files[1].symlink_to(real)
    session = opened(files)
    session.choose("obj0")
    assert files[1].is_symlink() and "obj0" in real.read_text()


def test_queries_take_their_answer_along(files):
    session = opened(files, {"responses": {"q1": ["obj0"], "lost": ["obj1"]}})
    session.go("q1")
    session.write_note("the only one")
    session.change_query("q1", Query("q0", "something to sit on"))
    assert saved(files) == {"lost": ["obj1"], "q0": ["obj0"]}
    assert session.note("q0") == "the only one" and session.current == "q0"
    assert list(session.queries) == ["q0", "q2", "q3"]
    with pytest.raises(QueryError, match="taken"):
        session.change_query("q0", Query("lost", "would swallow an answer"))
    session.delete_query("q0")
    assert saved(files) == {"lost": ["obj1"]} and session.current == "q2"
    session.undo()
    assert saved(files)["q0"] == ["obj0"] and session.note("q0")
    session.add_query(Query("lost", "what was asked then"))  # and its answer is known again
    assert session.answer("lost") == ("obj1",) and not session.problems()


def test_a_suggestion_counts_as_one_until_it_is_changed(files):
    session = opened(files)
    session.accept(["obj0", "obj3"])
    assert session.suggested("q1")
    assert json.loads(files[1].read_text())["annotation"] == {"suggested": {"q1": ["obj0", "obj3"]}}
    session.move("obj3", -1)
    assert not session.suggested("q1")
    assert "annotation" not in json.loads(files[1].read_text())


def test_the_benchmark_reads_what_is_written(files, tmp_path):
    for folder in ("semantic_maps", "responses"):
        (tmp_path / folder).mkdir()
    save_voxeland(scene(), tmp_path / "semantic_maps" / "a.json")
    (tmp_path / "queries.yaml").write_text(QUERIES)
    session = AnnotationSession.open(
        scene(), tmp_path / "queries.yaml", tmp_path / "responses" / "a.json"
    )
    session.choose("obj0")
    session.write_note("sure")
    session.go("q2")
    session.none_fits()
    session.add_query(Query("q4", "no cup", "negation", "easy"))
    data = load_data(tmp_path)
    assert data.maps[0].truth == {"q1": ["obj0"], "q2": []}
    assert {q.id: q.type for q in data.queries} == {
        "q1": "affordance", "q2": "negation", "q3": "affordance", "q4": "negation",
    }  # fmt: skip
    assert data.problems == [
        f"{tmp_path / 'responses' / 'a.json'}: no answer to {q}; it is not scored there"
        for q in ("q3", "q4")
    ]


def test_a_map_without_objects_and_no_queries(tmp_path):
    session = AnnotationSession.open(SceneGraph(), tmp_path / "q.yaml", tmp_path / "r.json")
    session.step(1)
    for command in (session.none_fits, session.clear, lambda: session.write_note("x")):
        with pytest.raises(AnnotationError, match="add one"):
            command()
    session.add_query(Query("a", "anything"))
    session.none_fits()
    assert json.loads((tmp_path / "r.json").read_text()) == {"responses": {"a": []}}
    assert session.undo() and session.undo() and not session.queries


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"responses": {"a": [], "a": ["x"]}}', "'a' stands twice"),
        ('{"responses": {"a": [,]}}', "r.json:1: not JSON"),
        ('{"a": []}', "expected {'responses'"),
        ("[" * 100_000, "not JSON"),
        ('{"responses": {}, "annotation": 3}', "annotation: expected a map"),
        (b"\xff{}", "not UTF-8"),
    ],
)
def test_answers_that_cannot_be_used_are_refused(files, text, says):
    files[1].write_bytes(text if isinstance(text, bytes) else text.encode())
    before = files[1].read_bytes()
    with pytest.raises(FileProblem, match=says.replace("{", r"\{")):
        opened(files)
    assert files[1].read_bytes() == before
