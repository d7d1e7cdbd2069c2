"""Bench of teams through a lab: what is asked for, how it is judged, tables, going on."""

import json
from dataclasses import asdict, replace

import pytest

from coterie_bringup.errors import CommandError
from coterie_cli.demo.questions import questions_of_house
from coterie_core.geometry import Box
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.image_detector import NO_THINGS
from habitat_bridge.robots import load_embodiment
from research.bench.lab import command
from research.bench.lab.command import Book, cause_table, paired, summary, way_table
from research.bench.lab.works import (
    Errand,
    Trial,
    errands,
    found_right,
    kinds_met,
    mapped,
    missing,
    questions,
    requests,
    room_for,
    shared_goals,
    tours,
)

HOUSE = 41


@pytest.fixture(scope="module")
def world():
    made = EmbeddedWorld(generate_house(HOUSE, floors=1, rooms=5), seed=HOUSE, threads=1)
    made.add_robot("slim", load_embodiment("slim"))
    yield made
    made.close()


def test_questions_have_their_truth_and_requests_are_of_what_is_there(world):
    truth = world.truth()
    asked = questions(truth, 3, 6)
    assert sorted(one.truth for one in asked) == [False] * 3 + [True] * 3
    rooms = {room.id: room.name for room in truth.rooms.values()}
    there = {(t.label.top, rooms.get(t.room)) for t in truth.objects.values()}
    for one in asked:
        assert ((one.question.object, one.question.room) in there) is one.truth
    labels = {thing.label.top for thing in truth.objects.values()}
    assert len(set(requests(truth, 3, 4))) == 4 and set(requests(truth, 3, 4)) <= labels
    assert questions(truth, 3, 6) == asked


def test_each_tour_of_a_house_asks_something_else(world):
    truth = world.truth()
    three = [[one.text for one in asked] for asked in tours(truth, 7, 3)]
    assert three[0] == [one.text for one in questions_of_house(truth, 7)]
    assert len({tuple(texts) for texts in three}) == 3
    assert tours(truth, 7, 3) == tours(truth, 7, 3)


def test_an_errand_is_done_when_such_a_thing_lies_there(world):
    found = errands(world, "slim", 3, 4)
    assert found and len({one.item for one in found}) == len(found)
    first = found[0]
    assert not first.done(world.contents)
    item = next(thing for thing in world.contents if thing.label.top == first.item)
    before = item.support
    item.support = first.support
    assert first.done(world.contents)
    other = next(t for t in world.contents if t.kind == "item" and t is not item)
    item.support, kept, other.support = other.id, other.support, first.support
    assert first.done(world.contents), "on another thing that lies there"
    item.support, other.support = before, kept
    assert not first.done(world.contents)
    ((goal, parts),) = shared_goals(found, 1)
    assert [str(one) for one in goal.subgoals] == [f"ON({p.item}, {p.top}): 1" for p in parts]
    assert len(parts) == min(len(found), 2)


def test_of_a_word_for_several_kinds_any_of_these_will_do(world):
    """A team that is asked for a toy may bring a board game."""
    item = next(thing for thing in world.contents if thing.kind == "item")
    errand = Errand("toy", "table", "table-99")
    assert not errand.done(world.contents)
    before = item.support, item.label
    try:
        for label, done in (("board game", True), ("pillow", False)):
            item.support, item.label = errand.support, LabelBelief.of(label)
            assert errand.done(world.contents) is done
    finally:
        item.support, item.label = before


def test_what_does_not_fit_is_not_asked_for(world):
    """Shoes were to be brought onto the rim of a sink, a tablet onto a dresser full of things."""
    top = next(t for t in world.contents if t.label.top == "table")
    item = next(t for t in world.contents if t.kind == "item" and t.support != top.id)
    small, large = (
        replace(item, box=Box(item.box.center, size)) for size in ((0.1, 0.1, 0.1), (3.0, 3.0, 0.1))
    )
    spot = room_for(world.contents, small, top)
    assert spot is not None and room_for(world.contents, large, top) is None
    full = replace(spot, size=(9.0, 9.0, spot.size[2]))
    assert room_for(world.contents, small, top, [full]) is None, "an earlier errand fills it"
    for one in errands(world, "slim", 3, 4):
        thing = next(t for t in world.contents if t.label.top == one.item)
        assert room_for(world.contents, thing, world.contents.things[one.support])


def test_a_kind_counts_as_met_where_there_is_one(world):
    truth = world.truth()
    first = next(iter(truth.objects.values()))
    kinds = {thing.label.top for thing in truth.objects.values()}
    at = first.box.center
    assert kinds_met(truth, [(first.label.top, at)] * 2) == 1 / len(kinds)
    assert kinds_met(truth, [(first.label.top, (at[0] + 50.0, at[1], at[2]))]) == 0.0
    assert kinds_met(truth, [("unicorn", at)]) == 0.0
    thing = SceneObject("o1", LabelBelief.of(first.label.top), Box(at, (0.1, 0.1, 0.1)))
    assert found_right(truth, first.label.top, [thing])
    far = replace(thing, box=Box((at[0] + 50.0, at[1], at[2]), (0.1, 0.1, 0.1)))
    assert not found_right(truth, first.label.top, [far])
    assert not found_right(truth, first.label.top, [])


def test_a_map_is_as_good_as_what_it_has_by_its_label(world):
    truth, again, half = world.truth(), world.truth(), SceneGraph()
    shows = [id_ for id_, thing in truth.objects.items() if thing.label.top not in NO_THINGS]
    half.extend(again.objects[id_] for id_ in shows[: len(shows) // 2])
    told, share = mapped(half, truth, shows)
    assert share == pytest.approx(0.5, abs=0.01)
    assert told == f"{len(shows) // 2} things: precision 1.00, recall {share:.2f}, labels 1.00"
    for thing in half.objects.values():
        thing.label = LabelBelief.of("unicorn")
    assert mapped(half, truth, shows)[1] == 0.0
    assert mapped(SceneGraph(), truth, shows)[1] == 0.0


def trial(house, way, done, number=0, **more):
    cause = "" if done else "place: OUT_OF_REACH"
    return Trial(house, "do", number, way, done, float(done), "bring it", cause, "too far", **more)


TRIALS = [
    trial(1, "direct", True),
    trial(1, "lab", True),
    trial(2, "direct", True),
    trial(2, "lab", False),
    trial(3, "direct", True),  # its other way is not there yet
]


def test_only_what_went_both_ways_is_compared():
    pairs = paired(TRIALS)
    assert [(a.house, a.way, b.way) for a, b in pairs] == [
        (1, "direct", "lab"),
        (2, "direct", "lab"),
    ]
    row = next(row for row in summary(pairs) if row["kind"] == "do")
    assert (row["tasks"], row["done_direct"], row["done_lab"]) == (2, 100.0, 50.0)
    assert row["done_difference"] == -50.0 and row["done_half"] > 50.0
    table = cause_table(pairs)
    assert table.row_count == 1
    assert list(table.columns[2].cells) == ["place: OUT_OF_REACH"]


def test_what_a_tour_answered_wrong_one_way_only_explains_its_score():
    color = "What colour is the bed? {}; in truth: brown"
    count = "How many lamps are there? 3; in truth: 2"
    direct = Trial(1, "tour", 0, "direct", True, 0.5, "6 questions", wrong=[count])
    lab = replace(direct, way="lab", score=0.0, wrong=[color.format("grey"), count])
    table = cause_table([(direct, lab)])
    assert [list(column.cells) for column in table.columns] == [
        ["only directly"], ["tour"], ["answered wrong: What colour ..."], ["1"],
        [color.format("grey")],
    ]  # fmt: skip
    swapped = cause_table([(replace(lab, way="direct"), replace(direct, way="lab"))])
    assert list(swapped.columns[0].cells) == ["only in the lab"]


def test_a_run_that_ended_early_goes_on(tmp_path):
    book = Book(tmp_path)
    book.add(TRIALS)
    again = Book(tmp_path)
    assert again.trials == TRIALS
    left = missing(again.trials, range(1, 5), ["do"])
    assert left == [(3, "worker", "lab"), (4, "worker", "direct"), (4, "worker", "lab")]
    assert len(missing([], [1], ["explore", "tour", "cooperate"])) == 4
    assert missing([], [1], ["ask"], ["lab"]) == [(1, "explorer", "lab")]
    counted = [[*column.cells] for column in way_table(TRIALS).columns]
    assert [(way, kind) for way, kind in zip(*counted[:2], strict=True)] == [
        ("direct", "do"), ("lab", "do"),
    ]  # fmt: skip
    assert counted[2] == [str(sum(t.way == way for t in TRIALS)) for way in ("direct", "lab")]
    line = json.dumps(asdict(TRIALS[0]))
    (tmp_path / "lab.jsonl").write_text(f'{line}\n{{"house": 1}}\n', encoding="utf-8")
    with pytest.raises(CommandError, match="line 2"):
        Book(tmp_path)


@pytest.mark.parametrize("fails", [("direct", "lab"), ("lab",), ()])
def test_sessions_that_fail_are_told_and_only_files_that_are_there(
    tmp_path, monkeypatch, capsys, fails
):
    sessions = pytest.importorskip("research.bench.lab.sessions")

    class Session:
        def __init__(self, robots, house, role, way, size, told):
            self.way, self.trials = way, [trial(house, way, True)]

        def run(self, domain):
            if self.way in fails:
                raise CommandError("not there after 180 s: the mapper")

    monkeypatch.setattr(sessions, "Session", Session)
    monkeypatch.setattr(command, "ensure_interfaces", lambda robots: None)
    arguments = ["--houses", "1", "--kinds", "do", "--out", str(tmp_path)]
    assert command.main(arguments) == bool(fails)
    told = "".join(capsys.readouterr().out.split())
    there = {2: [], 1: ["lab.jsonl"], 0: ["lab.jsonl", "lab.png", "summary.json"]}[len(fails)]
    assert sorted(path.name for path in tmp_path.iterdir()) == there
    assert all((name in told) is (name in there) for name in ("lab.jsonl", "lab.png"))
    assert (f"{len(fails)}of2sessionsfailed" in told) is bool(fails)
