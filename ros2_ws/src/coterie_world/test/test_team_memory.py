"""One memory over tasks: ages, phantoms, moves, maps, and what is left of it after a restart."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coterie_core.geometry import Box, Pose
from coterie_core.observation import Detection, Observation, RoomView
from coterie_world.object_events import EventKind, ObjectEvent
from coterie_world.permanence import DAY_S, HALF_LIFE, age_text, confidence
from coterie_world.scene import (
    Floor,
    LabelBelief,
    Place,
    Receptacle,
    Room,
    SceneGraph,
    SceneObject,
    Sighting,
)
from coterie_world.team_memory import MemoryFault, TeamMemory, load_memory, save_memory
from coterie_world.team_memory.store import Bounds

_COUNT = itertools.count()


def thing(id_: str, label: str, x: float, room: str = "study", **more: Any) -> SceneObject:
    box = Box((x, 1.0, 0.8), (0.1, 0.1, 0.1))
    return SceneObject(id_, LabelBelief.of(label), box, room, observations=1, **more)


def house(*things: SceneObject) -> SceneGraph:
    """A study (0..4) and a pantry (4..8), each with a desk."""
    scene = SceneGraph()
    scene.add_floor(Floor("f0", 0, 0.0))
    for room, x in (("study", 0.0), ("pantry", 4.0)):
        outline = [(x, 0.0), (x + 4, 0.0), (x + 4, 4.0), (x, 4.0)]
        scene.add_room(Room(room, f"the {room}", room, "f0", outline))
        scene.add_place(Place(f"place-{room}", (x + 2.0, 2.0, 0.0), room))
        top = Receptacle(f"desk-{room}.0", Box((x + 2.0, 0.5, 0.75), (2.0, 0.8, 0.0)))
        desk = SceneObject(
            f"desk-{room}",
            LabelBelief.of("desk"),
            Box((x + 2.0, 0.5, 0.37), (2.0, 0.8, 0.75)),
            room,
            "furniture",
            receptacles=[top],
        )
        scene.add_object(desk)
    scene.extend(things)
    return scene


def did(
    kind: EventKind, label: str, x: float, time: float, robot: str = "ada", object: str = "?",
    y: float = 1.0, **more: str,
) -> ObjectEvent:  # fmt: skip
    return ObjectEvent(
        id=f"event-{next(_COUNT)}", kind=kind, robot=robot, object=object, label=label, time=time,
        position=(x, y, 0.8), **more,
    )  # fmt: skip


def look(
    step: int, time: float, x: float, *seen: tuple[str, float], robot: str = "ada", y: float = 2.0
) -> Observation:
    room = "place-study" if x < 4.0 else "place-pantry"
    return Observation(
        robot,
        step,
        time,
        Pose((x, y, 0.0), 0.3 * step),
        room,
        None,
        tuple(Detection(n, 0.9, Box((at, 1.0, 0.8), (0.1, 0.1, 0.1))) for n, at in seen),
        seen={room: 1.0},
    )


def vases(memory: TeamMemory) -> dict[str, str]:
    """Return id -> room of all vases that count."""
    return {o.id: o.room for o in memory.scene().objects.values() if o.label.top == "vase"}


# -- moves -------------------------------------------------------------------------------------


def test_what_was_moved_leaves_its_place_at_once_and_a_trace() -> None:
    memory = TeamMemory()
    memory.adopt(house(thing("vase-1", "vase", 1.0), thing("vase-2", "vase", 3.0)))
    memory.note(did("picked", "vase", 1.0, 10.0, object="vase-1", from_room="study"))
    assert vases(memory) == {"vase-1": "", "vase-2": "study"}
    assert "in its hand" in memory.words(memory.left("vase", "study"))  # type: ignore[arg-type]
    put = did("placed", "vase", 6.0, 90.0, object="vase-1", to_room="pantry", holder="desk-pantry")
    memory.note(put)
    memory.time = 400.0
    assert vases(memory) == {"vase-1": "pantry", "vase-2": "study"}
    assert memory.scene().objects["vase-1"].support == "desk-pantry"
    trace = memory.left("vase", "study")
    assert trace is not None
    assert (trace.from_room, trace.to_room, trace.robot) == ("study", "pantry", "ada")
    told = memory.words(trace)
    assert told == "ada brought the vase from the the study to the the pantry 5 min ago"
    assert memory.left("vase", "pantry") is None
    assert memory.left("clock", "study") is None


def test_a_robots_own_name_for_a_thing_does_not_matter_its_place_does() -> None:
    memory = TeamMemory()
    memory.adopt(house(thing("vase-1", "vase", 1.0), thing("vase-2", "vase", 3.0)))
    memory.note(did("picked", "vase", 3.05, 10.0, object="ada-vase-1", from_room="study"))
    memory.note(did("placed", "vase", 6.0, 20.0, object="ada-vase-1", to_room="pantry"))
    assert vases(memory) == {"vase-1": "study", "vase-2": "pantry"}


def test_an_old_map_does_not_bring_back_what_was_moved_and_a_newer_sighting_does() -> None:
    memory = TeamMemory()
    memory.note(did("picked", "vase", 1.0, 10.0, object="ada-vase-1", from_room="study"))
    memory.note(did("placed", "vase", 6.0, 20.0, object="ada-vase-1", to_room="pantry"))
    old = house(thing("vase-1", "vase", 1.1), thing("vase-2", "vase", 1.4))  # both near the place
    memory.adopt(old)
    memory.adopt(old)
    assert sorted(vases(memory).values()) == ["pantry", "study"]
    newer = house(thing("vase-1", "vase", 1.1, last_seen=Sighting(50.0, "ben")))
    memory.adopt(newer)
    assert "study" in vases(memory).values()


def seen_at(id_: str, x: float, time: float) -> SceneObject:
    return thing(id_, "vase", x, room="", last_seen=Sighting(time, "camera"))


def test_what_a_map_shows_before_it_is_told_that_it_was_put_down_is_no_second_one() -> None:
    """A camera sees the vase on the desk before the hand says that it let go."""
    memory = TeamMemory()
    memory.adopt(house(seen_at("o-1", 1.0, 5.0)))
    memory.note(did("picked", "vase", 1.0, 10.0, object="o-1", from_room="study"))
    memory.adopt(house(seen_at("o-1", 1.0, 9.0), seen_at("o-2", 6.1, 19.5)))
    put = did("placed", "vase", 6.0, 20.0, object="o-1", to_room="pantry", holder="desk-pantry")
    memory.note(put)
    assert set(vases(memory)) == {"o-1"}
    memory.adopt(house(seen_at("o-1", 1.0, 9.0), seen_at("o-2", 6.05, 30.0)))
    known = memory.scene().objects
    assert set(vases(memory)) == {"o-1"} and known["o-1"].box.center[0] == 6.05
    assert known["o-1"].support == "desk-pantry"
    # What is seen where it was is another one, and so it stays.
    for x in (6.05, 6.04):
        memory.adopt(house(seen_at("o-1", 1.0, 40.0), seen_at("o-2", x, 30.0)))
        known = memory.scene().objects
        assert known["o-1"].box.center[0] == 6.05
        (other,) = set(vases(memory)) - {"o-1"}
        assert known[other].box.center[0] == 1.0


def test_what_a_mapper_sees_low_in_the_box_of_what_it_was_put_on_has_fallen() -> None:
    memory = TeamMemory()
    cabinet = thing("cab", "tv stand", 6.0)
    cabinet.box, cabinet.kind = Box((6.0, 1.0, 0.4), (1.4, 0.8, 0.8)), "furniture"
    memory.adopt(house(seen_at("o-1", 1.0, 5.0), cabinet))
    memory.note(did("picked", "vase", 1.0, 10.0, object="o-1"))
    memory.note(did("placed", "vase", 6.0, 20.0, object="o-1", holder="cab"))
    for z, holder in ((0.85, "cab"), (0.06, "")):
        again = seen_at("o-1", 6.1, 31.0 - z)
        again.box, again.support = Box((6.1, 1.0, z), (0.1, 0.1, 0.1)), "cab"
        memory.adopt(house(again, cabinet))
        assert memory.scene().objects["o-1"].support == holder


def test_what_a_mapper_sees_where_it_was_put_rests_there_though_boxes_overlap() -> None:
    memory = TeamMemory()
    shelf = thing("shelf", "bookshelf", 6.0)
    shelf.box, shelf.kind, shelf.room = Box((6.0, 0.5, 0.4), (0.9, 0.5, 0.8)), "furniture", ""
    vase = seen_at("o-1", 1.0, 5.0)
    memory.adopt(house(vase, shelf))
    memory.note(did("picked", "vase", 1.0, 10.0, object="o-1"))
    memory.note(did("placed", "vase", 6.0, 20.0, object="o-1", holder="desk-pantry"))
    for x, holder in ((6.1, "desk-pantry"), (6.4, "shelf")):
        again = seen_at("o-1", x, 30.0 + x)
        again.box = Box((x, 1.0, 0.83), (0.1, 0.1, 0.06))
        again.support = "shelf"
        memory.adopt(house(again, shelf))
        assert memory.scene().objects["o-1"].support == holder


def test_two_of_three_taken_the_third_still_counts() -> None:
    memory = TeamMemory()
    memory.adopt(house(*(thing(f"vase-{k}", "vase", 0.5 + k) for k in range(3))))
    for k in (0, 2):
        memory.note(did("picked", "vase", 0.5 + k, 10.0 * k + 1, object=f"vase-{k}"))
        memory.note(did("placed", "vase", 5.0 + k, 10.0 * k + 5, to_room="pantry"))
    rooms = vases(memory)
    assert rooms["vase-1"] == "study"
    assert sorted(rooms.values()) == ["pantry", "pantry", "study"]


def test_histories_of_two_robots_in_any_order_and_repeats_come_to_the_same() -> None:
    """Who comes late hears one robot's whole history before another's."""
    events = [
        did("picked", "vase", 1.0, 10.0, "ada", "vase-1", from_room="study"),
        did("placed", "vase", 6.0, 20.0, "ada", "vase-1", to_room="pantry"),
        did("picked", "vase", 6.0, 30.0, "ben", "ben-vase-4", from_room="pantry"),
        did("placed", "vase", 3.0, 40.0, "ben", "ben-vase-4", to_room="study"),
    ]
    for order in ((0, 1, 2, 3), (2, 3, 0, 1), (0, 2, 1, 3)):
        for map_first in (True, False):
            memory = TeamMemory()
            given = house(thing("vase-1", "vase", 1.0))
            if map_first:
                memory.adopt(given)
            for k in (*order, *order):
                memory.note(events[k])
            if not map_first:
                memory.adopt(given)
            assert sorted(vases(memory).values()) == ["study"], (order, map_first)
            places = [t.box.center[0] for t in memory.scene().objects.values() if t.kind == "item"]
            assert places == [3.0], (order, map_first)


@pytest.mark.parametrize("end", ["pantry", "study"])
@pytest.mark.parametrize("known", [True, False])
def test_what_is_told_of_a_move_does_not_depend_on_who_is_heard_first(known, end) -> None:
    events = [
        did("picked", "vase", 1.0, 10.0, "ada", "vase-1", from_room="study"),
        did("placed", "vase", 5.0, 20.0, "ada", "vase-1", to_room="pantry"),
        did("picked", "vase", 5.0, 30.0, "ben", "ben-vase-4", from_room="pantry"),
        did("placed", "vase", {"pantry": 7.5, "study": 2.5}[end], 40.0, "ben", to_room=end, y=3.0),
    ]
    told = []
    for order in ((0, 1, 2, 3), (2, 3, 0, 1), (0, 2, 1, 3), (2, 0, 3, 1)):
        memory = TeamMemory()
        memory.adopt(house(*([thing("vase-1", "vase", 1.0)] if known else [])))
        for k in order:
            memory.note(events[k])
        traces = [memory.left("vase", room) for room in ("study", "pantry")]
        told.append([memory.words(trace) if trace is not None else "" for trace in traces])
    brought = "ada brought the vase from the the study to the the pantry"
    back = "ben brought the vase from the the pantry to the the study"
    expected = [brought, ""] if end == "pantry" else ["", back]
    assert [one.removesuffix(" just now") for one in told[0]] == expected
    assert told == [told[0]] * len(told)


def test_gone_is_gone_until_it_is_seen_and_a_map_made_before_does_not_bring_it_back() -> None:
    memory = TeamMemory()
    given = house(thing("vase-1", "vase", 1.0), thing("vase-2", "vase", 3.0))
    memory.adopt(given)
    memory.note(did("gone", "vase", 1.0, 30.0, object="vase-1", from_room="study"))
    assert list(vases(memory)) == ["vase-2"]
    memory.adopt(given)
    assert list(vases(memory)) == ["vase-2"]
    trace = memory.left("vase", "study")
    assert trace is not None and trace.gone and "was not there" in memory.words(trace)
    memory.observe(look(1, 40.0, 2.0, ("vase", 1.0)))
    assert len(vases(memory)) == 2


def test_news_older_than_a_sighting_takes_nothing_away() -> None:
    memory = TeamMemory()
    memory.adopt(house())
    memory.observe(look(1, 50.0, 2.0, ("vase", 1.0)))
    memory.note(did("gone", "vase", 1.0, 30.0, object="?", robot="ben"))
    assert len(vases(memory)) == 1


def test_doors_are_remembered_as_they_were_left() -> None:
    memory = TeamMemory()
    memory.adopt(house(thing("box-1", "cabinet", 1.0, is_open=False)))
    memory.note(did("opened", "cabinet", 1.0, 5.0, object="box-1"))
    assert memory.scene().objects["box-1"].is_open is True
    memory.note(did("closed", "cabinet", 1.0, 6.0, object="box-1"))
    assert memory.scene().objects["box-1"].is_open is False


# -- confidence --------------------------------------------------------------------------------


def test_confidence_falls_with_age_by_kind_and_with_looks_that_miss_rises_with_sightings() -> None:
    small, sofa = thing("a", "vase", 1.0), thing("b", "sofa", 1.0, kind="furniture")
    chair = thing("c", "chair", 1.0)
    assert confidence(small, HALF_LIFE["small"], 9) == pytest.approx(0.5, abs=1e-6)
    assert confidence(sofa, HALF_LIFE["furniture"], 9) == pytest.approx(0.5, abs=1e-6)
    assert confidence(small, DAY_S, 9) < confidence(chair, DAY_S, 9) < confidence(sofa, DAY_S, 9)
    by_misses = [confidence(small, 60.0, 1, k) for k in range(6)]
    assert by_misses == sorted(by_misses, reverse=True) and by_misses[-1] < 0.05
    assert confidence(small, 60.0, 3, 4) > 10 * confidence(small, 60.0, 1, 4)
    assert 0.0 < confidence(small, 1e9, 1) < 1e-9 or confidence(small, 1e9, 1) == 0.0


def test_a_phantom_expires_and_what_is_seen_again_and_again_stays() -> None:
    memory = TeamMemory()
    memory.adopt(house())
    memory.observe(look(1, 1.0, 2.0, ("vase", 1.0), ("clock", 2.5)))
    assert {t.label.top for t in memory.scene().objects.values()} == {"desk", "vase", "clock"}
    for step in range(2, 8):
        memory.observe(look(step, float(step), 1.5 + 0.7 * (step % 2), ("clock", 2.5)))
    labels = {t.label.top for t in memory.scene().objects.values()}
    assert labels == {"desk", "clock"}
    assert memory.scene().objects["team-clock-2"].confidence > 0.99


def test_a_look_from_elsewhere_or_one_that_is_sent_again_takes_nothing_away() -> None:
    memory = TeamMemory()
    memory.adopt(house())
    memory.observe(look(1, 1.0, 2.0, ("vase", 1.0)))
    (vase,) = vases(memory)
    for step in range(2, 9):
        memory.observe(look(step, float(step), 6.0 + 0.7 * (step % 2)))  # the other room
    for _ in range(9):
        memory.observe(look(9, 9.0, 2.0))
    assert memory.beliefs[vase].misses == 1
    assert memory.confidence(vase) > 0.6


def test_the_latest_looks_that_showed_a_thing_are_kept_with_where_the_robot_stood() -> None:
    memory = TeamMemory()
    memory.adopt(house(thing("vase-1", "vase", 1.0)))
    for step in range(1, 6):
        memory.observe(look(step, float(step), 2.0 + 0.6 * (step % 2), ("vase", 1.0)))
    memory.observe(look(6, 6.0, 2.0))
    kept = memory.beliefs["vase-1"].looks
    assert [(one.time, one.position[0]) for one in kept] == [(3.0, 2.6), (4.0, 2.0), (5.0, 2.6)]
    assert not memory.beliefs["desk-study"].looks


def test_a_doubted_phantom_goes_a_well_known_thing_does_not() -> None:
    memory = TeamMemory()
    memory.adopt(house(thing("clock-1", "clock", 3.0)))
    memory.observe(look(1, 1.0, 2.0, ("vase", 1.0), ("clock", 3.0)))
    memory.observe(look(2, 2.0, 2.6, ("vase", 1.0), ("clock", 3.0)))
    memory.beliefs["clock-1"].sightings = 9
    memory.note(did("doubted", "vase", 1.0, 3.0))
    memory.note(did("doubted", "clock", 3.0, 3.0))
    assert {t.label.top for t in memory.scene().objects.values()} == {"desk", "clock"}


def test_what_a_robot_carries_past_is_not_a_second_thing() -> None:
    memory = TeamMemory()
    memory.adopt(house(thing("vase-1", "vase", 1.0)))
    memory.observe(look(1, 1.0, 2.0, ("vase", 1.0)))
    memory.note(did("picked", "vase", 1.0, 2.0, object="vase-1"))
    memory.observe(look(2, 3.0, 6.0, ("vase", 6.4), y=1.4))
    assert list(vases(memory)) == ["vase-1"]
    assert memory.scene().agents["ada"].holding == "vase-1"


def test_a_mapper_that_no_longer_has_a_thing_takes_it_off_unless_the_team_moved_it() -> None:
    memory = TeamMemory()
    seen = Sighting(5.0, "eve")
    vase = thing("object_1", "vase", 1.0, last_seen=seen)
    memory.adopt(house(vase, thing("object_2", "clock", 3.0, last_seen=seen)))
    memory.note(did("picked", "vase", 1.0, 6.0, object="v"))
    memory.note(did("placed", "vase", 6.0, 7.0, object="v", to_room="pantry"))
    memory.adopt(house())
    assert {t.label.top for t in memory.scene().objects.values()} == {"desk", "vase"}
    later = Sighting(9.0, "eve")
    memory.adopt(house(thing("object_7", "vase", 6.1, room="pantry", last_seen=later)))
    assert list(vases(memory).values()) == ["pantry"]


def test_what_a_map_says_of_supports_stays() -> None:
    """A mapper knows no surfaces; what it says stands on what is all there is."""
    memory = TeamMemory()
    for time in (5.0, 9.0):
        seen = Sighting(time, "eve")
        shelf = thing("object_1", "shelf", 1.0, kind="furniture", last_seen=seen)
        memory.adopt(
            SceneGraph(
                rooms=house().rooms,
                objects={
                    "object_1": shelf,
                    "object_2": thing("object_2", "vase", 1.0, support="object_1", last_seen=seen),
                },
            )
        )
        assert memory.scene().objects["object_2"].support == "object_1"
    assert memory.scene().objects["object_2"].last_seen == Sighting(9.0, "eve")


def test_memory_is_bounded_the_surest_stay() -> None:
    memory = TeamMemory(bounds=Bounds(things=20, traces=3, events=5))
    memory.adopt(house())
    for step in range(40):
        memory.observe(look(step, float(step), 2.0 + step, ("vase", 100.0 + step), ("clock", 3.0)))
        memory.note(did("picked", "plate", 300.0 + step, step, robot=f"r{step}"))
    assert len(memory.graph.objects) == 20
    assert {"desk-study", "desk-pantry"} <= memory.graph.objects.keys()
    assert (len(memory.traces), len(memory.events)) == (3, 5)


# -- restarts ----------------------------------------------------------------------------------


def test_nothing_is_lost_in_a_file(tmp_path: Path) -> None:
    memory = TeamMemory("house 7")
    memory.adopt(house(thing("vase-1", "vase", 1.0)))
    memory.observe(look(1, 1.0, 2.0, ("clock", 3.0)))
    moved = did("picked", "vase", 1.0, 10.0, object="vase-1", from_room="study")
    memory.note(moved)
    memory.note(did("placed", "vase", 6.0, 20.0, to_room="pantry"))
    file = tmp_path / "new" / "memory.json"
    save_memory(memory, file, [moved])
    again, own = load_memory(file, "house 7")
    (clock,) = (one.id for one in memory.graph.objects.values() if one.label.top == "clock")
    assert again.beliefs[clock].looks == memory.beliefs[clock].looks == [(1.0, "ada", (2, 2, 0))]
    assert own == [moved]
    assert again.scene() == memory.scene()
    assert again.left("vase", "study") == memory.left("vase", "study") is not None
    assert not again.note(moved), "an event that was heard before counts once"
    again.adopt(house(thing("vase-1", "vase", 1.0)))
    assert vases(again) == {"vase-1": "pantry"}


def test_a_damaged_file_and_one_of_another_house_are_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    save_memory(TeamMemory("house 7"), file)
    whole = file.read_text()
    with pytest.raises(MemoryFault, match=r"another house .house 7.; this team is in house 8"):
        load_memory(file, "house 8")
    data = json.loads(whole)
    data["beliefs"]["ghost"] = {"since": 0.0}
    for broken in (whole[:50], "[]", whole.replace("/1", "/9"), json.dumps(data), '{"house": 1}'):
        file.write_text(broken)
        with pytest.raises(MemoryFault) as raised:
            load_memory(file)
        assert str(file) in str(raised.value) and "\n" not in str(raised.value)
    with pytest.raises(MemoryFault, match="cannot be read"):
        load_memory(tmp_path / "none.json")


def test_a_world_whose_clock_begins_anew_keeps_ages_and_believes_its_eyes() -> None:
    memory = TeamMemory()
    memory.adopt(house(thing("vase-1", "vase", 1.0)))
    memory.observe(look(40, 900.0, 2.0))
    memory.note(did("picked", "vase", 1.0, 910.0, object="vase-1", from_room="study"))
    memory.note(did("placed", "vase", 6.0, 1000.0, to_room="pantry"))
    memory.observe(look(0, 2.0, 2.0))
    assert memory.time == 2.0
    assert memory.left("vase", "study").time == pytest.approx(2.0)  # type: ignore[union-attr]
    memory.observe(look(1, 5.0, 2.6, ("vase", 1.0)))
    assert sorted(vases(memory).values()) == ["pantry", "study"], "seen there again"


def test_a_map_of_a_world_that_began_anew_tells_so_to_who_sees_no_robot() -> None:
    memory = TeamMemory()
    memory.adopt(house(thing("vase-1", "vase", 1.0)))
    memory.note(did("picked", "vase", 1.0, 910.0, object="vase-1", from_room="study"))
    memory.note(did("placed", "vase", 6.0, 1000.0, to_room="pantry"))
    other = TeamMemory()
    other.adopt(house())
    other.observe(look(1, 30.0, 2.0, ("vase", 1.0)))
    memory.adopt(other.scene())
    assert memory.time == 30.0
    assert sorted(vases(memory).values()) == ["pantry", "study"]


def test_ages_in_words() -> None:
    told = [age_text(s) for s in (5.0, 300.0, 7200.0, 5 * DAY_S)]
    assert told == ["just now", "5 min ago", "2 h ago", "5 days ago"]


def test_a_look_tells_where_on_a_table_a_thing_was_put() -> None:
    memory = TeamMemory()
    memory.adopt(house(thing("vase-1", "vase", 1.0)))
    memory.note(did("picked", "vase", 1.0, 2.0, object="vase-1"))
    memory.note(did("placed", "vase", 6.0, 3.0, y=0.5, to_room="pantry", holder="desk-pantry"))
    moved = Detection("vase", 0.9, Box((6.8, 0.5, 0.8), (0.1, 0.1, 0.1)))
    at = Observation("ben", 1, 4.0, Pose((6.0, 2.0, 0.0)), "place-pantry", None, (moved,))
    memory.observe(at)
    assert list(vases(memory)) == ["vase-1"]
    assert memory.scene().objects["vase-1"].box.center[0] > 6.3


def test_a_robots_word_for_a_room_does_not_take_its_outline() -> None:
    memory = TeamMemory()
    given = house()
    given.rooms["study"].name = "study"  # as its id
    memory.adopt(given)
    told = replace(look(1, 1.0, 2.0), room=RoomView("study", "study", "study"))
    memory.observe(told)
    assert memory.scene().rooms == given.rooms


def test_what_furniture_hides_is_not_missed() -> None:
    memory = TeamMemory()
    screen = SceneObject(
        "screen", LabelBelief.of("wardrobe"), Box((1.5, 1.5, 1.0), (0.2, 2.0, 2.0)), "study",
        "furniture",
    )  # fmt: skip
    memory.adopt(house(screen))
    memory.observe(look(1, 1.0, 0.8, ("vase", 1.0)))
    for step in range(2, 9):
        memory.observe(look(step, float(step), 2.0 + 0.6 * (step % 2)))
    assert list(vases(memory).values()) == ["study"]
    for step in range(9, 16):
        memory.observe(look(step, float(step), 0.5 + 0.6 * (step % 2), y=1.5))
    assert not vases(memory)


def test_a_region_that_has_become_another_is_forgotten():
    """Two robots part one floor: until both have told, the map has the regions of one of them."""

    def parted(robot: str, *things: SceneObject) -> SceneGraph:
        scene = SceneGraph()
        scene.add_floor(Floor("f0", 0, 0.0))
        for k, x in ((1, 0.0), (2, 4.0)):
            outline = [(x, 0.0), (x + 4, 0.0), (x + 4, 4.0), (x, 4.0)]
            scene.add_room(Room(f"{robot}_region_{k}", "", "", "f0", outline))
        scene.extend(things)
        return scene

    memory = TeamMemory()
    memory.adopt(parted("beta"))
    memory.observe(look(0, 1.0, 1.0, ("mug", 1.0)))
    memory.note(did("placed", "mug", 1.0, 2.0, to_room="beta_region_1"))
    assert [one.room for one in memory.scene().objects.values()] == ["beta_region_1"]
    memory.adopt(parted("alpha"))
    known = memory.scene()
    assert sorted(known.rooms) == ["alpha_region_1", "alpha_region_2"]
    assert [one.room for one in known.objects.values()] == ["alpha_region_1"]
    # A map without rooms says nothing of them.
    memory.adopt(SceneGraph())
    assert sorted(memory.scene().rooms) == ["alpha_region_1", "alpha_region_2"]
