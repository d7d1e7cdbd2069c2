"""What people corrected on a map holds on every newer version of it."""

from __future__ import annotations

import copy
import json
import math

import pytest
import shapely

from coterie_core.geometry import Box
from coterie_fixtures.hostile_texts import HOSTILE
from coterie_fixtures.two_floor_home import small_house
from coterie_world.scene import SceneGraph
from coterie_world.scene.corrections import (
    MAX_CORRECTIONS,
    Correction,
    Corrections,
    read_corrections,
)


def ref(scene: SceneGraph, id_: str) -> dict:
    thing = scene.objects[id_]
    return {"id": id_, "label": thing.label.top, "position": thing.box.center}


def corrected(scene: SceneGraph, *orders: dict) -> SceneGraph:
    made = Corrections(None)
    for k, order in enumerate(orders):
        made.change({"add": {"id": f"c{k}", **order}})
    return made.apply(scene)


def test_things_are_renamed_deleted_and_again_when_they_are_found_anew():
    first, later = small_house(), small_house()
    mug = later.objects.pop("mug-1")
    mug.id = "instance-77"  # a mapper that began anew gives other ids
    x, y, z = mug.box.center
    mug.box = Box((x + 0.1, y, z), mug.box.size)
    later.add_object(mug)
    orders = (
        {"kind": "rename_thing", "things": [ref(first, "keys-1")], "name": "car keys"},
        {"kind": "delete_thing", "things": [ref(first, "mug-1")]},
    )
    for scene in (first, later):
        out = corrected(scene, *orders)
        assert out.objects["keys-1"].label.top == "car keys"
        assert {"mug-1", "instance-77"}.isdisjoint(out.objects)
        assert "mug-2" in out.objects  # the same label, elsewhere


def test_what_is_named_furniture_by_a_person_is_furniture():
    house = small_house()
    order = {"kind": "rename_thing", "things": [ref(house, "mug-1")], "name": "side table"}
    assert house.objects["mug-1"].kind == "item"
    assert corrected(house, order).objects["mug-1"].kind == "furniture"


def test_what_was_deleted_nearby_stays_where_something_else_is_meant():
    scene, orders = small_house(), [ref(small_house(), "mug-1")]
    scene.objects["mug-1"].box = Box((9.0, 3.9, 0.0), (0.1, 0.1, 0.1))
    moved = scene.objects.pop("mug-1")
    moved.id = "another"
    scene.add_object(moved)
    assert "another" in corrected(scene, {"kind": "delete_thing", "things": orders}).objects


def test_two_become_one_and_one_becomes_two():
    scene = small_house()
    table, shelf = (copy.deepcopy(scene.objects[i]) for i in ("table-1", "shelf-1"))
    out = corrected(
        scene,
        {"kind": "merge_things", "things": [ref(scene, "table-1"), ref(scene, "shelf-1")]},
    )
    merged = out.objects["table-1"]
    low, high = merged.box.axis_aligned()
    for box in (table.box, shelf.box):
        a, b = box.axis_aligned()
        assert all(p <= q + 1e-9 for p, q in zip(low, a, strict=True))
        assert all(p >= q - 1e-9 for p, q in zip(high, b, strict=True))
    assert "shelf-1" not in out.objects and out.objects["books-1"].support in ("table-1", "")
    assert merged.label.total == table.label.total + shelf.label.total
    whole = small_house()
    old = whole.objects["table-1"].box
    out = corrected(
        whole, {"kind": "split_thing", "things": [ref(whole, "table-1")], "name": "bench"}
    )
    first, second = out.objects["table-1"], out.objects["table-1-c0"]
    assert first.box.volume + second.box.volume == pytest.approx(old.volume)
    middle = [(a + b) / 2 for a, b in zip(first.box.center, second.box.center, strict=True)]
    assert middle == pytest.approx(old.center)
    assert math.dist(first.box.center, second.box.center) == pytest.approx(max(old.size[:2]) / 2)
    assert (first.label.top, second.label.top) == ("table", "bench")


def test_a_room_that_is_drawn_takes_area_things_and_places_from_others():
    scene = small_house()
    out = corrected(
        scene,
        {"kind": "draw_room", "name": "pantry", "floor": "ground",
         "polygon": [[0, 0], [0, 4], [3, 4], [3, 0]]},
        {"kind": "draw_room", "name": "hall", "floor": "upper",
         "polygon": [[0, 0], [4, 0], [4, 4], [0, 4]]},
        {"kind": "rename_room", "room": "living", "name": "tea room"},
    )  # fmt: skip
    pantry = out.room_named("pantry")
    assert pantry is not None and pantry.type == "pantry" and pantry.floor == "ground"
    assert shapely.Polygon(pantry.polygon).exterior.is_ccw
    kitchen = shapely.Polygon(out.rooms["kitchen"].polygon)
    assert kitchen.area == pytest.approx(4.0)
    assert kitchen.intersection(shapely.Polygon(pantry.polygon)).area == pytest.approx(0.0)
    inside = [t for t in out.objects.values() if t.box.center[0] < 3]
    ground = [t for t in inside if t.box.center[2] < 2.5]
    assert ground and all(t.room == pantry.id for t in ground)
    # It lay where the bedroom was, and another room has its name already.
    assert "bedroom" not in out.rooms and out.room_named("hall 2") is not None
    assert all(way.room_a != "bedroom" != way.room_b for way in out.connections.values())
    assert not any(thing.room == "bedroom" for thing in out.objects.values())
    assert out.rooms["living"].name == "tea room" and out.rooms["living"].type == "tea room"


def test_what_a_map_lacks_changes_nothing():
    gone = {"id": "x", "label": "x", "position": [50, 50, 0]}
    scene = corrected(
        small_house(),
        {"kind": "rename_thing", "things": [gone], "name": "y"},
        {"kind": "delete_thing", "things": [gone]},
        {"kind": "split_thing", "things": [gone]},
        {"kind": "merge_things", "things": [gone, ref(small_house(), "mug-1")]},
        {"kind": "rename_room", "room": "cellar", "name": "y"},
        {"kind": "draw_room", "name": "y", "floor": "roof", "polygon": [[0, 0], [1, 0], [1, 1]]},
    )
    assert scene == small_house()


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ({"kind": "paint_thing"}, "kind"),
        ({"kind": "rename_thing", "name": "x"}, "things"),
        ({"kind": "rename_room", "room": "hall"}, "name"),
        ({"kind": "rename_room", "room": "hall", "name": "a\nb"}, "name"),
        ({"kind": "rename_room", "room": "hall", "name": "x" * 61}, "name"),
        ({"kind": "draw_room", "name": "x", "polygon": [[0, 0], [1, 1]]}, "polygon"),
        ({"kind": "draw_room", "name": "x", "polygon": [[0, 0], [2, 2], [2, 0], [0, 2]]}, "itself"),
        ({"kind": "draw_room", "name": "x", "polygon": [[0, 0], [1e9, 0], [0, 1e9]]}, "map"),
        ({"kind": "delete_thing", "things": [{"id": "a", "position": [0, 0, math.nan]}]}, "map"),
        ({"kind": "delete_thing", "extra": 1}, "extra"),
    ],
)
def test_what_makes_no_sense_is_refused(order, told):
    made = Corrections(None)
    with pytest.raises(ValueError, match=told):
        made.change({"add": {"id": "c", **order}})
    for odd in (None, [], {}, {"add": 3}, {"undo": "x", "add": {}}):
        with pytest.raises(ValueError):
            made.change(odd)
    assert made.all == ()


def test_they_are_kept_told_twice_count_once_and_can_be_taken_back(tmp_path):
    file = tmp_path / "state" / "corrections.json"
    made = Corrections(file)
    order = {"add": {"id": "c", "kind": "rename_room", "room": "hall", "name": "foyer"}}
    made.change(order)
    made.change(order)
    assert Corrections(file).apply(small_house()).rooms["hall"].name == "foyer"
    made.change({"undo": "c"})
    assert Corrections(file).apply(small_house()) == small_house()
    for k in range(MAX_CORRECTIONS):
        made.all += (Correction(id=f"d{k}", kind="rename_room", room="hall", name="x"),)
    with pytest.raises(ValueError, match="take some back"):
        made.change(order)
    file.write_text("[{}]")
    with pytest.raises(ValueError, match=r"corrections\.json"):
        Corrections(file)


def test_hostile_names_are_names_or_refused():
    kept = 0
    for k, text in enumerate(HOSTILE):
        try:
            one = Correction(id=str(k), kind="rename_room", room="hall", name=text)
        except ValueError:
            continue
        kept += 1
        assert one.name == text and len(text) <= 60
        json.loads(json.dumps(text))
    assert kept > 20
    with pytest.raises(ValueError):
        read_corrections("[" * 5000, "x")
