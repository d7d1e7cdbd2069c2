"""The team's map: which known thing each detection of one look shows, one to one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coterie_core.geometry import Box, Pose, Vec3
from coterie_core.observation import Detection, Observation
from coterie_core.tasks import Thing
from coterie_world.association import SIGHTING, TWICE
from coterie_world.object_events import ObjectEvent
from coterie_world.scene import Floor, LabelBelief, Receptacle, Room, SceneGraph, SceneObject
from coterie_world.sightings import put_down
from coterie_world.surfaces import hollow_bottom
from coterie_world.team_map import TeamMap


@pytest.fixture
def known() -> TeamMap:
    """A kitchen with a counter 3 m long."""
    scene = SceneGraph()
    scene.add_floor(Floor("f0", 0, 0.0))
    scene.add_room(Room("kitchen", "kitchen", "kitchen", "f0", [(0, 0), (5, 0), (5, 4), (0, 4)]))
    top = Receptacle("counter-1.0", Box((2.0, 0.3, 0.9), (3.0, 0.6, 0.0)))
    box = Box((2.0, 0.3, 0.45), (3.0, 0.6, 0.9))
    scene.add_object(
        SceneObject(
            "counter-1", LabelBelief.of("counter"), box, "kitchen", "furniture", receptacles=[top]
        )
    )
    return TeamMap(scene, "rover")


def at(label: str, x: float, y: float = 0.3, z: float = 0.95, instance: str = "") -> Detection:
    return Detection(label, 0.9, Box((x, y, z), (0.1, 0.1, 0.1)), instance=instance)


def look(known: TeamMap, *detections: Detection, time: float = 1.0) -> list[str]:
    return known.observe(
        Observation("rover", 1, time, Pose((2.0, 1.5, 0.0)), "", None, tuple(detections))
    )


def test_two_alike_side_by_side_are_two_and_stay_who_they_are(known: TeamMap) -> None:
    assert look(known, at("mug", 1.0), at("mug", 1.2)) == ["rover-mug-1", "rover-mug-2"]
    assert look(known, at("mug", 1.21), at("mug", 1.01)) == ["rover-mug-2", "rover-mug-1"]
    assert {o.support for o in known.scene.objects.values() if o.kind == "item"} == {"counter-1"}


def test_one_reported_twice_at_one_spot_is_one(known: TeamMap) -> None:
    first = look(known, at("mug", 1.0))
    assert look(known, at("mug", 1.0), at("mug", 1.0 + 0.9 * TWICE.distance_m)) == first * 2
    assert sum(o.kind == "item" for o in known.scene.objects.values()) == 1


def test_a_second_one_that_appears_beside_the_first_is_new(known: TeamMap) -> None:
    look(known, at("mug", 1.0))
    assert look(known, at("mug", 1.3), at("mug", 1.0)) == ["rover-mug-2", "rover-mug-1"]


def test_large_furniture_reported_in_parts_is_one(known: TeamMap) -> None:
    parts = [
        Detection("counter", 0.9, Box((x, 0.3, 0.45), (0.8, 0.6, 0.9))) for x in (0.8, 2.0, 3.2)
    ]
    assert look(known, *parts) == ["counter-1"] * 3
    assert known.scene.objects["counter-1"].box.center == (2.0, 0.3, 0.45)


def shelf(x: float, wide: float, deep: float = 0.3, yaw: float = 0.0) -> Detection:
    return Detection("bookshelf", 0.9, Box((x, 3.8, 0.9), (wide, deep, 1.8), yaw))


def test_further_looks_show_more_of_furniture_that_the_robot_found_itself(known: TeamMap) -> None:
    (seen,) = look(known, shelf(1.3, 0.4))
    watch = Detection("watch", 0.9, Box((1.95, 3.8, 1.0), (0.04, 0.04, 0.02)))
    assert look(known, watch, shelf(1.8, 0.5)) == ["rover-watch-1", seen]
    found = known.scene.objects[seen].box
    assert found.axis_aligned()[0] == pytest.approx((1.1, 3.65, 0.0))
    assert found.axis_aligned()[1] == pytest.approx((2.05, 3.95, 1.8))
    assert known.scene.objects["rover-watch-1"].support == seen


def test_furniture_is_shown_turned_as_it_was_seen_first(known: TeamMap) -> None:
    (seen,) = look(known, shelf(1.3, 0.8, yaw=0.1))
    look(known, shelf(1.3, 0.8))
    box = known.scene.objects[seen].box
    assert box.yaw == 0.1
    assert all(box.contains((x, y, 0.9), 1e-6) for x, y in shelf(1.3, 0.8).box.footprint())


def test_furniture_whose_surfaces_were_made_of_its_box_keeps_it(known: TeamMap) -> None:
    (seen,) = look(known, shelf(1.3, 0.4))
    found = known.scene.objects[seen]
    found.receptacles = [Receptacle(f"{seen}/top", Box((1.3, 3.8, 1.8), (0.4, 0.3, 0.0)))]
    look(known, shelf(1.8, 0.5))
    assert found.box == shelf(1.3, 0.4).box


@pytest.mark.parametrize("wide", [0.5, 1.4])
def test_what_the_team_s_map_made_of_all_looks_replaces_a_robot_s_own_box(
    known: TeamMap, wide: float
) -> None:
    (seen,) = look(known, shelf(1.3, 0.9))
    found = known.scene.objects[seen]
    found.receptacles = [Receptacle(f"{seen}/top", Box((1.3, 3.8, 1.8), (0.9, 0.3, 0.0)))]
    assert look(known, replace(shelf(1.4, wide), fused=True)) == [seen]
    assert found.box == shelf(1.4, wide).box


def test_two_boxes_of_the_team_s_map_are_two_pieces(known: TeamMap) -> None:
    left, right = (replace(shelf(x, 0.4), fused=True) for x in (1.0, 1.45))
    look(known, left)
    names = look(known, left, left, right)
    assert names[0] == names[1] != names[2]
    assert [known.scene.objects[name].box for name in names[1:]] == [left.box, right.box]


def test_what_would_make_furniture_larger_than_its_kind_is_of_something_else(
    known: TeamMap,
) -> None:
    (seen,) = look(known, shelf(2.0, 0.9))
    assert look(known, shelf(2.3, 4.5)) == [seen]
    assert known.scene.objects[seen].box == shelf(2.0, 0.9).box


def test_furniture_seen_far_too_large_at_first_is_as_later_looks_show_it(known: TeamMap) -> None:
    (seen,) = look(known, shelf(2.3, 4.5))
    assert look(known, shelf(2.0, 0.9)) == [seen]
    assert known.scene.objects[seen].box == shelf(2.0, 0.9).box


def test_nearest_pairs_come_first(known: TeamMap) -> None:
    look(known, at("mug", 1.0), at("mug", 1.5))
    assert look(known, at("mug", 1.4)) == ["rover-mug-2"]
    assert look(known, at("mug", 1.1), at("mug", 1.45)) == ["rover-mug-1", "rover-mug-2"]


def test_other_labels_and_far_things_are_others(known: TeamMap) -> None:
    look(known, at("mug", 1.0))
    assert look(known, at("plate", 1.0)) == ["rover-plate-1"]
    assert look(known, at("mug", 1.0 + SIGHTING.distance_m + 0.05)) == ["rover-mug-2"]
    assert look(known, at("cup", 1.0)) == ["rover-mug-1"], "a synonym"


def test_a_detectors_own_track_wins_over_the_nearest(known: TeamMap) -> None:
    look(known, at("mug", 1.0), at("mug", 1.4))
    assert look(known, at("mug", 1.35, instance="rover-mug-1")) == ["rover-mug-1"]


def test_what_has_no_box_or_no_label_is_left_out(known: TeamMap) -> None:
    assert look(known, Detection("mug", 0.9), at("", 1.0)) == []
    assert len(known.scene.objects) == 1


def test_reserved_names_are_given_to_nothing_new(known: TeamMap) -> None:
    known.reserve(["rover-mug-1", "rover-mug-2"])
    assert look(known, at("mug", 1.0)) == ["rover-mug-3"]


def test_what_was_put_on_a_counter_is_the_one_seen_there(known: TeamMap) -> None:
    look(known, at("mug", 0.7), time=1.0)
    known.take("rover-mug-1")
    known.put("rover-mug-1", "counter-1", (2.0, 0.3, 0.9))  # where on it nobody knows
    assert look(known, at("mug", 3.2), time=2.0) == ["rover-mug-1"]
    assert known.scene.objects["rover-mug-1"].box.center[0] == 3.2
    assert look(known, at("mug", 1.0), time=3.0) == ["rover-mug-2"], "its place is known by now"


def test_what_was_put_on_a_counter_is_not_the_one_on_the_floor(known: TeamMap) -> None:
    look(known, at("mug", 0.7), time=1.0)
    known.put("rover-mug-1", "counter-1", (2.0, 0.3, 0.9))
    assert look(known, at("mug", 3.2, 1.2, 0.05), time=2.0) == ["rover-mug-2"]


def test_what_is_seen_where_it_was_put_rests_on_what_it_was_put_on(known: TeamMap) -> None:
    """A smaller thing is taken to lie across the table: else what lies in both boxes is on it."""
    scene = known.scene
    overlapping(scene)
    (mug,) = look(known, at("mug", 0.7), time=1.0)
    known.take(mug)
    known.put(mug, "t-1", (4.1, 3.0, 0.75))
    for k, x in enumerate((4.15, 4.12)):
        assert look(known, at("mug", x, 3.0, 0.8), time=2.0 + k) == [mug]
        assert scene.objects[mug].support == "t-1"
    assert look(known, at("mug", 3.7, 3.0, 0.8), time=4.0) == [mug]
    assert scene.objects[mug].support == "d-1", "it has been moved"


@pytest.mark.parametrize(
    ("label", "x", "z", "stays"),
    [
        ("table", 4.95, 0.8, True),
        ("table", 4.95, 0.6, False),
        ("table", 5.1, 0.8, False),
        ("bathtub", 4.82, 0.2, True),
        ("bathtub", 4.9, 0.2, False),
    ],
)
def test_what_stands_as_high_as_it_was_put_is_there_though_the_box_ends_before(
    known: TeamMap, label: str, x: float, z: float, stays: bool
) -> None:
    """An armchair's box ended before the far side of its seat: what lay there "had fallen"."""
    mug = put_onto(known, label, Box((4.0, 3.0, 0.375), (1.6, 0.9, 0.75)), (4.65, 3.0, 0.75))
    for time in (2.0, 3.0):
        assert look(known, at("mug", x, 3.0, z), time=time) == [mug]
        assert (known.scene.objects[mug].support == "s-1") is stays


@pytest.mark.parametrize(
    ("label", "lies", "stays"),
    [("tv stand", 0.05, False), ("tv stand", 0.45, True), ("laundry basket", 0.05, True)],
)
def test_what_fell_from_what_it_was_put_on_is_not_on_it_though_it_lies_in_its_box(
    known: TeamMap, label: str, lies: float, stays: bool
) -> None:
    """A tv stand has doors: things do lie low in its box, but not what was put onto it."""
    mug = put_onto(known, label, Box((4.0, 3.0, 0.25), (1.4, 0.8, 0.5)), (4.1, 3.1, 0.5))
    for time in (2.0, 3.0):
        assert look(known, at("mug", 4.2, 3.1, lies + 0.05), time=time) == [mug]
        assert (known.scene.objects[mug].support == "s-1") is stays


def put_onto(known: TeamMap, label: str, box: Box, point: Vec3) -> str:
    """Have a mug be seen, taken and put onto a piece of furniture `s-1`; return its id."""
    known.scene.add_object(SceneObject("s-1", LabelBelief.of(label), box, kind="furniture"))
    (mug,) = look(known, at("mug", 0.7), time=1.0)
    known.take(mug)
    known.put(mug, "s-1", point)
    return mug


def overlapping(scene: SceneGraph) -> None:
    """Put a table into a scene, and a desk that is none across it."""
    for name, label, size in (
        ("t-1", "table", (1.6, 0.9, 0.75)),
        ("d-1", "desk", (0.9, 0.5, 0.75)),
    ):
        box = Box((4.0, 3.0, size[2] / 2.0), size)
        scene.add_object(SceneObject(name, LabelBelief.of(label), box, kind="furniture"))


def mugs(known: TeamMap) -> dict[str, float]:
    return {o.id: o.box.center[0] for o in known.scene.objects.values() if o.label.top == "mug"}


def test_what_is_seen_before_the_hand_tells_that_it_let_go_is_what_was_put_down(
    known: TeamMap,
) -> None:
    overlapping(known.scene)
    (mug,) = look(known, at("mug", 0.7), time=1.0)
    known.take(mug)
    known.about_to_put(mug)
    (twin,) = look(known, at("mug", 4.12, 3.0, 0.8), time=2.0)
    assert twin != mug and known.scene.objects[twin].support == "d-1"
    assert known.put(mug, "t-1", (4.1, 3.0, 0.75)) == twin
    assert mugs(known) == {mug: 4.12}, "its place is where it was seen"
    assert look(known, at("mug", 4.13, 3.0, 0.8), time=3.0) == [mug]
    assert known.scene.objects[mug].support == "t-1"


def test_what_stood_there_before_is_not_what_was_put_down(known: TeamMap) -> None:
    overlapping(known.scene)
    (mug,) = look(known, at("mug", 0.7), time=1.0)
    known.take(mug)
    (other,) = look(known, at("mug", 4.3, 3.0, 0.8), time=2.0)  # seen on the way there
    known.about_to_put(mug)
    assert known.put(mug, "t-1", (4.1, 3.0, 0.75)) == ""
    assert mugs(known) == {mug: 4.1, other: 4.3}


def test_what_another_robot_put_down_and_was_seen_doing_so_is_one_thing(known: TeamMap) -> None:
    overlapping(known.scene)
    (mug,) = look(known, at("mug", 0.7), time=1.0)
    told = {"robot": "slim", "object": "slim-mug-1", "label": "mug", "time": 2.0}
    known.note(ObjectEvent(id="1", kind="picked", position=(0.7, 0.3, 0.95), **told))
    look(known, at("mug", 4.12, 3.0, 0.8), time=3.0)
    known.note(
        ObjectEvent(
            id="2", kind="placed", holder="t-1", position=(4.1, 3.0, 0.75), **{**told, "time": 4.0}
        )
    )
    assert mugs(known) == {mug: 4.12}
    assert known.scene.objects[mug].support == "t-1"


def box_of(label: str, x: float, *size: float) -> Detection:
    wide, deep, high = size or (0.6, 0.5, 1.2)
    return Detection(label, 0.9, Box((x, 3.0, high / 2.0), (wide, deep, high)))


def test_no_two_pieces_of_furniture_stand_in_one_place(known: TeamMap) -> None:
    assert look(known, box_of("cabinet", 4.0)) == ["rover-cabinet-1"]
    assert look(known, box_of("shelf", 4.03), time=2.0) == ["rover-cabinet-1"], "it is misnamed"
    assert look(known, box_of("shelf", 3.99), time=3.0) == ["rover-cabinet-1"]
    thing = known.scene.objects["rover-cabinet-1"]
    assert thing.label.top == "shelf" and thing.is_open is None, "what it was called most"
    assert look(known, box_of("shelf", 4.7), time=4.0) == ["rover-shelf-1"]


def test_where_the_robot_drove_is_known_once_and_only_where_it_was_seen_to(known: TeamMap) -> None:
    at = [(0.0, 0.0), (0.4, 0.0), (0.8, 0.0), (3.0, 0.0), (3.3, 0.0), (3.0, 0.0), (3.3, 0.0)]
    for robot in ("rover", "slim"):
        for k, (x, y) in enumerate(at):
            known.observe(Observation(robot, k, float(k), Pose((x, y, 0.0)), "", None))
    assert [(a[0], b[0]) for a, b in known.trail] == [
        (0.0, 0.4),
        (0.4, 0.8),
        (3.0, 3.3),
        (3.3, 3.0),
    ]


def test_the_given_map_names_its_furniture(known: TeamMap) -> None:
    misnamed = Detection("dresser", 0.9, Box((2.0, 0.3, 0.45), (2.9, 0.6, 0.9)))
    assert look(known, misnamed) == ["counter-1"]
    assert known.scene.objects["counter-1"].label.top == "counter"


def test_what_hangs_in_or_lies_on_other_things_is_no_part_of_them(known: TeamMap) -> None:
    names = look(known, box_of("window", 4.0, 1.0, 0.1, 1.0), box_of("curtain", 4.0, 1.0, 0.1, 1.0))
    assert len(set(names)) == 2
    inside = (
        box_of("refrigerator", 3.0),
        Detection("milk", 0.9, Box((3.0, 3.0, 0.6), (0.5, 0.5, 1.0))),
    )
    assert len(set(look(known, *inside, time=2.0))) == 2


def test_what_was_given_is_never_dropped(known: TeamMap) -> None:
    look(known, box_of("cabinet", 4.0))
    known.drop("rover-cabinet-1")
    known.drop("counter-1")
    assert set(known.scene.objects) == {"counter-1"}


def test_what_was_only_told_of_has_the_usual_size_of_its_kind(known: TeamMap) -> None:
    told = known.learn(Thing(label="phone", id="phone-9", position=(2.0, 0.3, 0.905)))
    assert told is not None and told.box.size[2] < 0.05 < told.box.size[0]
    assert told.support == "counter-1"


def named(label: str, other: str, x: float, *, sure: float = 0.9, away: float = 1.0) -> Detection:
    box = Box((x, 0.3, 0.95), (0.1, 0.1, 0.1))
    return Detection(label, sure, box, None, away, "", {label: sure, other: 0.9 - 0.8 * sure})


def test_an_item_under_another_name_that_it_may_have_is_no_second_one(known: TeamMap) -> None:
    assert look(known, named("glass", "mug", 1.0)) == ["rover-glass-1"]
    assert look(known, named("mug", "glass", 1.01, sure=0.5)) == ["rover-glass-1"]
    assert known.scene.objects["rover-glass-1"].observations == 1, "it was not seen as a glass"
    assert look(known, named("mug", "glass", 1.15)) == ["rover-mug-1"], "beside it"
    assert look(known, named("vase", "jar", 1.0)) == ["rover-vase-1"], "nobody takes that for it"


def test_an_item_is_called_what_most_looks_say_and_counts_those(known: TeamMap) -> None:
    first = look(known, named("mug", "glass", 1.0, sure=0.5))
    assert look(known, named("glass", "mug", 1.0)) == first
    thing = known.scene.objects[first[0]]
    assert (thing.label.top, thing.observations) == ("glass", 1)


def test_a_far_look_hardly_moves_what_a_near_one_has_shown(known: TeamMap) -> None:
    (id,) = look(known, named("mug", "glass", 1.0, away=0.5))
    look(known, named("mug", "glass", 1.1, away=5.0))
    assert known.scene.objects[id].box.center[0] == pytest.approx(1.0, abs=0.005)
    look(known, named("mug", "glass", 1.02, away=0.5))
    assert known.scene.objects[id].box.center[0] == pytest.approx(1.01, abs=0.005)
    look(known, named("mug", "glass", 1.45, away=0.5))
    assert known.scene.objects[id].box.center[0] == pytest.approx(1.45), "it was moved"


def tub(x: float, wide: float) -> Detection:
    return Detection("bathtub", 0.9, Box((x, 3.6, 0.28), (wide, 0.75, 0.56)))


def test_a_tub_grows_as_furniture_does_and_things_fall_into_it(known: TeamMap) -> None:
    (seen,) = look(known, tub(1.2, 0.4))
    assert look(known, tub(1.7, 1.2)) == [seen]
    low, high = known.scene.objects[seen].box.axis_aligned()
    assert (low[0], high[0]) == pytest.approx((1.0, 2.3))
    (toy,) = look(known, at("toy", 3.0, 0.3))
    known.put(toy, seen, (1.7, 3.6, 0.56))
    box = known.scene.objects[toy].box
    assert box.center[:2] == (1.7, 3.6)
    assert box.bottom == pytest.approx(0.11), "a tub is 0.45 m deep"
    assert known.scene.objects[toy].support == seen


@pytest.mark.parametrize(("bottom", "on"), [(0.2, False), (0.33, True), (0.72, True)])
def test_what_lies_low_in_the_box_of_a_desk_lies_beside_it(
    known: TeamMap, bottom: float, on: bool
) -> None:
    """Its box is too wide, and what fell to the floor beside it is in it."""
    (desk,) = look(known, Detection("desk", 0.9, Box((4.0, 3.0, 0.375), (1.6, 0.9, 0.75))))
    (mug,) = look(known, at("mug", 4.0, 3.0, bottom + 0.05))
    assert (known.scene.objects[mug].support == desk) is on


@pytest.mark.parametrize(
    ("label", "size", "bottom", "inside"),
    [
        ("bathtub", (1.6, 0.9, 0.56), 0.0, False),
        ("bathtub", (1.6, 0.9, 0.56), 0.1, True),
        ("sink", (0.6, 0.5, 0.88), 0.3, False),
        ("sink", (0.6, 0.5, 0.88), 0.68, True),
        ("basket", (0.4, 0.3, 0.25), 0.0, True),  # its bottom is hardly higher than the floor
    ],
)
def test_what_lies_on_the_floor_in_the_box_of_a_tub_is_not_in_it(
    known: TeamMap, label: str, size: Vec3, bottom: float, inside: bool
) -> None:
    (tub,) = look(known, Detection(label, 0.9, Box((4.0, 3.0, size[2] / 2.0), size)))
    (mug,) = look(known, at("mug", 4.0, 3.0, bottom + 0.05))
    assert (known.scene.objects[mug].support == tub) is inside


@pytest.mark.parametrize(
    ("label", "size", "bottom"),
    [
        ("bathtub", (1.6, 0.75, 0.56), 0.11),
        ("laundry basket", (0.5, 0.35, 0.4), 0.04),
        ("sink", (0.6, 0.5, 0.88), 0.7),
        ("desk", (1.2, 0.6, 0.75), None),
        ("gizmo", (0.3, 0.3, 0.3), None),
    ],
)
def test_how_deep_a_hollow_thing_is(label: str, size: Vec3, bottom: float | None) -> None:
    box = Box((0.0, 0.0, size[2] / 2.0), size)
    assert hollow_bottom(label, box) == (None if bottom is None else pytest.approx(bottom))


def test_what_is_put_down_lies_where_such_furniture_carries_things(known: TeamMap) -> None:
    scene = known.scene
    mug = at("mug", 3.0).box
    assert mug is not None
    scene.add_object(SceneObject("mug-1", LabelBelief.of("mug"), mug, kind="item"))
    for name, label, box, z in (
        ("tub-1", "bathtub", tub(1.8, 1.6).box, 0.11),
        ("sofa-1", "sofa", Box((1.0, 2.0, 0.4), (2.0, 0.9, 0.8)), 0.45),
        ("desk-1", "desk", Box((4.0, 2.0, 0.375), (0.6, 1.2, 0.75)), 0.75),
    ):
        assert box is not None
        scene.add_object(SceneObject(name, LabelBelief.of(label), box, kind="furniture"))
        put_down(scene, "mug-1", name)
        assert scene.objects["mug-1"].box.bottom == pytest.approx(z), name
        assert scene.objects["mug-1"].support == name


def test_a_tub_that_another_robot_tells_of_has_the_size_of_one(known: TeamMap) -> None:
    learnt = known.learn(Thing(label="bathtub", id="slim-bathtub-1", position=(2.0, 3.0, 0.3)))
    assert learnt is not None and min(learnt.box.size) > 0.5
    small = known.learn(Thing(label="light switch", id="s-1", position=(4.0, 3.9, 1.1)))
    assert small is not None and max(small.box.size) <= 0.1


@pytest.mark.parametrize(
    ("label", "size", "bears"),
    [("toilet", (0.7, 0.4, 0.8), True), ("radiator", (1.0, 0.12, 0.6), True),
     ("mirror", (0.8, 0.03, 0.8), False)],
)  # fmt: skip
def test_things_lie_on_fixtures_that_fill_their_box(
    known: TeamMap, label: str, size: Vec3, bears: bool
) -> None:
    box = Box((4.0, 2.0, size[2] / 2.0), size)
    look(known, Detection(label, 0.9, box))
    (soap,) = look(known, at("soap", 4.0, 2.0, box.top + 0.05))
    assert known.scene.objects[soap].support == (f"rover-{label}-1" if bears else "")


def test_what_is_too_large_for_its_kind_takes_nothing_from_the_furniture_below(
    known: TeamMap,
) -> None:
    """In the lab a sink 2.5 m long, seen twice, lay across a kitchen island with a fruit on it."""
    island = Detection("kitchen island", 0.9, Box((3.0, 2.0, 0.47), (1.3, 0.8, 0.94)))
    sink = Detection("sink", 0.3, Box((2.6, 1.8, 0.83), (2.45, 0.22, 0.28)))
    look(known, island, sink)
    (fruit,) = look(known, at("fruit", 3.0, 1.8, 0.99))
    assert known.scene.objects[fruit].support == "rover-kitchen-island-1"
    look(known, Detection("basket", 0.9, Box((3.3, 2.1, 1.05), (0.4, 0.3, 0.2))))
    (ball,) = look(known, at("ball", 3.3, 2.1, 1.05))
    assert known.scene.objects[ball].support == "rover-basket-1", "the smallest one carries it"


def test_surfaces_of_the_teams_map_come_with_what_it_made_of_a_piece(known: TeamMap) -> None:
    level = Receptacle("object_7/level_1", Box((4.0, 3.0, 0.45), (0.5, 0.4, 0.0)), False, 1e-4)
    sofa = replace(box_of("sofa", 4.0, 2.0, 0.9, 0.8), fused=True, surfaces=(level,))
    assert look(known, sofa) == ["rover-sofa-1"]
    (own,) = known.scene.objects["rover-sofa-1"].receptacles
    assert own == replace(level, id="rover-sofa-1/level_1")
    cup = Detection("cup", 0.9, Box((4.1, 3.0, 0.5), (0.08, 0.08, 0.1)))
    (id_,) = look(known, cup, time=2.0)
    assert known.scene.objects[id_].support == "rover-sofa-1"
