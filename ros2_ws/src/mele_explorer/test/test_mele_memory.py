"""A robot's memory: what it learns from observations, its bounds, its file."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_core.geometry import Box, Pose
from coterie_core.observation import Detection, Observation, PlaceView, RoomView
from coterie_world.scene.serial import dangling_references
from mele_explorer.memory import Memory, MemoryLimits
from mele_explorer.memory_file import (
    MemoryFileError,
    load_memory,
    memory_from_json,
    memory_to_json,
    save_memory,
)

KITCHEN = RoomView("k", "kitchen", "kitchen")
HALL = RoomView("h", "hallway", "hallway")


def look(
    place: str,
    room: RoomView | None,
    *detections: Detection,
    time: float = 0.0,
    x: float = 0.0,
    yaw: float = 0.0,
    neighbours: tuple[PlaceView, ...] = (),
    seen: dict[str, float] | None = None,
) -> Observation:
    pose = Pose((x, 0.0, 0.0), yaw)
    return Observation("r", 0, time, pose, place, room, detections, neighbours, seen or {place: 1})


def found(label: str, room: RoomView | None = KITCHEN, **more: object) -> Detection:
    return Detection(label, 1.0, room=room, **more)  # type: ignore[arg-type]


def test_the_dictionary_lists_rooms_with_what_was_seen_in_them() -> None:
    memory = Memory("r")
    memory.update(look("a", KITCHEN, found("oven"), found("mug"), found("mug"), time=1.0))
    memory.update(look("b", HALL, time=2.0))
    assert memory.dictionary() == {"hallway": [], "kitchen": ["mug", "oven"]}
    assert [(entry.place, entry.labels) for entry in memory.log] == [
        ("a", ("mug", "oven")),
        ("b", ()),
    ]


def test_a_room_only_heard_of_is_not_in_the_dictionary() -> None:
    memory = Memory("r")
    memory.update(look("a", KITCHEN, neighbours=(PlaceView("b", (2, 0, 0), 2.0, HALL),)))
    assert set(memory.graph.rooms) == {"k", "h"}
    assert set(memory.dictionary()) == {"kitchen"}
    assert memory.coverage == 0.5
    assert memory.visited_fraction("h") == 0.0


def test_standing_still_is_one_look_turning_is_another() -> None:
    memory = Memory("r")
    for step in range(10):
        memory.update(look("a", KITCHEN, found("mug", instance="1"), time=float(step)))
    assert memory.visits == {"a": 1}
    assert memory.looks == {"k": 1}
    assert memory.sightings == {"k": {"mug": 1}}
    assert memory.graph.objects["1"].observations == 1
    memory.update(look("a", KITCHEN, found("mug", instance="1"), yaw=1.0))
    assert memory.looks == {"k": 2}
    assert memory.sightings == {"k": {"mug": 2}}
    memory.update(look("b", HALL))
    memory.update(look("a", KITCHEN))
    assert memory.visits == {"a": 2, "b": 1}


def test_before_a_map_has_come_things_are_learned_and_no_places() -> None:
    memory = Memory("r")
    for time in (1.0, 2.0):
        memory.update(look("", KITCHEN, found("mug"), time=time, seen={}))
    assert memory.dictionary() == {"kitchen": ["mug"]} and len(memory.log) == 1
    assert not memory.graph.places and not memory.visits and not memory.seen
    memory.update(look("a", KITCHEN, time=3.0))
    memory.update(look("", None, time=4.0, seen={}))  # it is lost for a moment
    assert set(memory.graph.places) == {"a"} and memory.here == "a"


def test_what_comes_into_view_while_standing_counts() -> None:
    memory = Memory("r")
    memory.update(look("a", KITCHEN))
    memory.update(look("a", KITCHEN, found("mug", instance="1"), time=1.0))
    assert memory.sightings == {"k": {"mug": 1}}


def test_a_track_id_keeps_an_object_together_while_labels_differ() -> None:
    memory = Memory("r")
    for place, label in (("a", "sofa"), ("b", "armchair"), ("c", "sofa")):
        memory.update(look(place, KITCHEN, found(label, instance="7")))
    (thing,) = memory.graph.objects.values()
    assert thing.label.top == "sofa"
    assert thing.label.probability("armchair") == pytest.approx(1 / 3)
    assert memory.knowledge(["armchair"], memory.graph.rooms["k"]).found == [
        ("7", pytest.approx(1 / 3))
    ]


def test_boxes_tell_objects_apart_and_together() -> None:
    def mug(x: float) -> Detection:
        return found("mug", box=Box((x, 0.0, 1.0), (0.1, 0.1, 0.1)))

    memory = Memory("r")
    memory.update(look("a", KITCHEN, mug(0.0), mug(2.0)))
    memory.update(look("b", KITCHEN, mug(0.2)))
    assert len(memory.graph.objects) == 2
    moved = min(memory.graph.objects.values(), key=lambda o: o.box.center[0])
    assert moved.box.center[0] == pytest.approx(0.1)
    assert moved.observations == 2


def test_an_object_seen_from_two_rooms_counts_in_both() -> None:
    memory = Memory("r")
    memory.update(look("a", KITCHEN, found("vase", instance="1")))
    memory.update(look("b", HALL, found("vase", HALL, instance="1")))
    memory.update(look("c", HALL, found("vase", HALL, instance="1")))
    assert memory.graph.objects["1"].room == "h"
    assert memory.rooms_with(["vase"]) == ["h", "k"]


def test_seeing_a_place_well_counts_as_a_look_into_its_room() -> None:
    memory = Memory("r")
    view = PlaceView("b", (1, 0, 0), 1.0, HALL)
    memory.update(look("a", KITCHEN, neighbours=(view,), seen={"a": 1.0, "b": 0.7, "x": 0.9}))
    assert memory.looks == {"k": 1, "h": 1}
    assert memory.visited_fraction("h") == 1.0
    assert memory.coverage == 1.0


def test_memory_stays_within_its_bounds() -> None:
    memory = Memory("r", MemoryLimits(objects=20, places=30, log=10))
    for k in range(200):
        view = PlaceView(f"p{k + 1}", (k + 1.0, 0, 0), 1.0, KITCHEN)
        thing = found(f"thing {k}", instance=f"i{k}")
        memory.update(look(f"p{k}", KITCHEN, thing, time=float(k), x=float(k), neighbours=(view,)))
    assert len(memory.graph.objects) == 20
    assert len(memory.graph.places) == 30
    assert len(memory.log) == 10
    assert "i199" in memory.graph.objects
    assert "p199" in memory.graph.places
    assert memory.labels == {f"thing {k}" for k in range(180, 200)}
    assert dangling_references(memory.graph) == []


@pytest.mark.parametrize("score", [math.nan, -1.0, 0.0, math.inf])
def test_odd_scores_do_no_harm(score: float) -> None:
    memory = Memory("r")
    thing = Detection("mug", score, room=KITCHEN, scores={"cup": score, "mug": score})
    memory.update(look("a", KITCHEN, thing))
    (known,) = memory.graph.objects.values()
    assert known.label.probability("mug") > 0.0
    assert math.isfinite(known.label.total)


def test_labels_are_cut_and_cleaned() -> None:
    memory = Memory("r")
    memory.update(look("a", KITCHEN, found("Mug\x00\n\x1b[31m" + "x" * 1000), found(" \n ")))
    (label,) = memory.labels
    assert label.startswith("mug [31mxxx")
    assert len(label) <= 60


rooms = st.sampled_from([None, KITCHEN, HALL])
boxes = st.builds(
    lambda x, y, s: Box((x, y, 1.0), (s, s, s)),
    st.floats(-5, 5),
    st.floats(-5, 5),
    st.floats(0.05, 2.0),
)
detections = st.builds(
    Detection,
    st.sampled_from(["mug", "bed", "lamp", ""]),
    st.floats(0, 1),
    st.none() | boxes,
    rooms,
    st.just(0.0),
    st.sampled_from(["", "1", "2", "3"]),
    st.dictionaries(st.sampled_from(["mug", "cup", "bed"]), st.floats(0, 1), max_size=3),
)
views = st.builds(
    PlaceView,
    st.sampled_from("abcdef"),
    st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.just(0.0)),
    st.floats(0.1, 4),
    rooms,
)
observations = st.builds(
    lambda place, room, things, around, seen, x, time: Observation(
        "r",
        0,
        time,
        Pose((x, 0.0, 0.0)),
        place,
        room,
        tuple(things),
        tuple(view for view in around if view.id != place),
        seen,
    ),
    st.sampled_from("abcdef"),
    rooms,
    st.lists(detections, max_size=5),
    st.lists(views, max_size=3),
    st.dictionaries(st.sampled_from("abcdefg"), st.floats(0, 1), max_size=4),
    st.floats(-5, 5),
    st.floats(0, 100),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(observations, max_size=10), st.lists(observations, max_size=3))
def test_saved_memory_comes_back_whole_and_goes_on(
    before: list[Observation], after: list[Observation]
) -> None:
    memory = Memory("r", MemoryLimits(objects=6, places=5, log=4))
    for observation in before:
        memory.update(observation)
    assert dangling_references(memory.graph) == []
    text = memory_to_json(memory)
    again = memory_from_json(text)
    assert memory_to_json(again) == text
    assert again.dictionary() == memory.dictionary()
    assert 0.0 <= again.coverage == memory.coverage <= 1.0
    away = look("elsewhere", None)
    for observation in [away, *after]:
        memory.update(observation)
        again.update(observation)
    assert memory_to_json(again) == memory_to_json(memory)


def test_files_are_written_whole_and_errors_name_them(tmp_path: Path) -> None:
    path = tmp_path / "memory.json"
    memory = Memory("r")
    memory.update(look("a", KITCHEN, found("mug")))
    save_memory(memory, path)
    assert load_memory(path).dictionary() == {"kitchen": ["mug"]}
    assert [p.name for p in tmp_path.iterdir()] == ["memory.json"]
    path.write_text(path.read_text().replace('"visits"', '"visit"'))
    with pytest.raises(MemoryFileError, match=r"memory\.json: not a robot's memory: .*visits"):
        load_memory(path)
    with pytest.raises(MemoryFileError, match=r"none\.json: cannot be read"):
        load_memory(tmp_path / "none.json")
    with pytest.raises(MemoryFileError, match="not a robot's memory"):
        memory_from_json("{")
