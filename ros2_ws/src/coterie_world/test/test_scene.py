"""Scene graphs: beliefs, merge of two robots' views, JSON round trip, text for prompts."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from shapely.geometry import Point, Polygon

from coterie_core.geometry import (
    Box,
    Pose,
    grounds_meet,
    iou,
    quaternion_to_yaw,
    wrap_angle,
    yaw_to_quaternion,
)
from coterie_world.scene import (
    AgentState,
    Connection,
    Floor,
    LabelBelief,
    Place,
    PlaceLink,
    Receptacle,
    Room,
    SceneError,
    SceneGraph,
    SceneObject,
    Sighting,
    from_json,
    load,
    merge,
    rooms_text,
    save,
    to_json,
)

pytestmark = pytest.mark.quick


def thing(
    name: str,
    label: str,
    x: float,
    *,
    y: float = 0.0,
    size: float = 0.2,
    room: str = "r1",
    time: float = 1.0,
    seen: int = 1,
) -> SceneObject:
    return SceneObject(
        name,
        LabelBelief.of(label, float(seen)),
        Box((x, y, 0.5), (size, size, size)),
        room=room,
        observations=seen,
        last_seen=Sighting(time, "a"),
    )


def house(*things: SceneObject, rooms: tuple[str, ...] = ("kitchen",)) -> SceneGraph:
    graph = SceneGraph()
    for n, name in enumerate(rooms, 1):
        graph.add_room(Room(f"r{n}", name, name.split()[0]))
    graph.extend(things)
    return graph


def full_graph() -> SceneGraph:
    graph = house(thing("mug-1", "mug", 1.0), rooms=("kitchen", "bedroom 1"))
    graph.add_floor(Floor("f0", 0, 0.0))
    graph.rooms["r1"].polygon = [(0.0, 0.0), (3.0, 0.0), (3.0, 3.0)]
    graph.add_connection(Connection("d1", "r1", "r2", "door", (3.0, 1.0, 0.0), 0.8))
    graph.add_place(Place("p1", (1.0, 1.0, 0.0), "r1", "f0"))
    graph.add_place(Place("p2", (4.0, 1.0, 0.0), "r2", "f0"))
    graph.add_link(PlaceLink("p1", "p2", 3.0, 0.8))
    fridge = thing("fridge-1", "refrigerator", 2.5, size=0.7)
    fridge.is_open = False
    fridge.receptacles = [Receptacle("shelf", Box((2.5, 0.0, 0.4), (0.5, 0.5, 0.01)), inside=True)]
    fridge.kind = "furniture"
    graph.add_object(fridge)
    graph.objects["mug-1"].container = "fridge-1"
    graph.agents["a"] = AgentState("a", Pose((1.0, 1.0, 0.0), 0.3), "r1", "mug-1")
    return graph


def test_belief_gives_probabilities_and_a_stable_top_label() -> None:
    belief = LabelBelief({"mug": 3.0, "cup": 1.0})
    belief.add(LabelBelief.of("cup", 2.0))
    assert belief.top == "cup"  # a tie goes to the first in the alphabet
    assert belief.distribution() == {"cup": 0.5, "mug": 0.5}
    assert belief.probability("bowl") == 0.0
    assert LabelBelief().distribution() == {} and LabelBelief().top == ""


def test_same_mug_seen_twice_is_one_mug() -> None:
    graph, report = merge(house(thing("m1", "mug", 1.0)), house(thing("x9", "mug", 1.1)))
    assert list(graph.objects) == ["m1"]
    assert report.matched == {"x9": "m1"} and report.added == {}
    assert graph.objects["m1"].observations == 2
    assert graph.objects["m1"].box.center[0] == pytest.approx(1.05)


def test_disagreeing_labels_on_one_spot_become_a_distribution() -> None:
    graph, _ = merge(
        house(thing("m1", "mug", 1.0, seen=3)), house(thing("c1", "cup", 1.01, seen=1))
    )
    assert graph.objects["m1"].label.distribution() == {"mug": 0.75, "cup": 0.25}


def test_two_mugs_side_by_side_stay_two() -> None:
    ours = house(thing("m1", "mug", 1.0), thing("m2", "mug", 1.3))
    theirs = house(thing("a", "mug", 1.31), thing("b", "mug", 0.99))
    graph, report = merge(ours, theirs)
    assert len(graph.objects) == 2
    assert report.matched == {"a": "m2", "b": "m1"}


def test_different_things_next_to_each_other_stay_apart() -> None:
    graph, _ = merge(house(thing("m1", "mug", 1.0)), house(thing("p1", "plant", 1.25)))
    assert len(graph.objects) == 2


def test_far_things_with_one_id_get_a_new_id_and_references_follow() -> None:
    ours = house(thing("o1", "table", 0.0, size=1.0))
    theirs = house(thing("o1", "shelf", 9.0, size=1.0), thing("o2", "mug", 9.0, y=0.0, size=0.1))
    theirs.objects["o2"].box = Box((9.0, 0.0, 1.05), (0.1, 0.1, 0.1))
    theirs.objects["o2"].support = "o1"
    graph, report = merge(ours, theirs)
    assert report.added["o1"] == "o1-2"
    assert graph.objects["o2"].support == "o1-2"
    assert graph.objects["o1"].label.top == "table"


def test_what_was_moved_is_where_it_was_seen_last() -> None:
    old, new = thing("t1", "table", 0.0, size=1.0), thing("t9", "table", 0.85, size=1.0, time=9.0)
    graph, _ = merge(house(old), house(new))
    assert graph.objects["t1"].box.center[0] > 0.4
    assert graph.objects["t1"].last_seen == Sighting(9.0, "a")


def test_things_without_geometry_match_by_id_only() -> None:
    def flat(name: str, label: str) -> SceneObject:
        return SceneObject(
            name, LabelBelief.of(label), Box((0, 0, 0), (0, 0, 0)), room="r1", observations=1
        )

    graph, _ = merge(house(flat("7", "chair"), flat("8", "sofa")), house(flat("7", "stool")))
    assert len(graph.objects) == 2
    assert graph.objects["7"].label.distribution() == {"chair": 0.5, "stool": 0.5}


def test_rooms_meet_by_name_and_frames_must_agree() -> None:
    theirs = SceneGraph()
    theirs.add_room(Room("zz", "Kitchen", "kitchen"))
    theirs.add_object(thing("m", "mug", 5.0, room="zz"))
    graph, report = merge(house(), theirs)
    assert report.rooms == {"zz": "r1"} and graph.objects["m"].room == "r1"
    theirs.frame = "other_map"
    with pytest.raises(ValueError, match="different frames"):
        merge(house(), theirs)


def test_merge_changes_neither_graph() -> None:
    a, b = full_graph(), full_graph()
    before = to_json(a), to_json(b)
    merge(a, b)
    assert (to_json(a), to_json(b)) == before


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["mug", "cup", "plant"]), st.floats(0, 10), st.floats(0, 10)),
        max_size=25,
    )
)
def test_merging_a_graph_with_itself_adds_nothing(spots: list[tuple[str, float, float]]) -> None:
    graph = house(
        *(thing(f"o{n}", label, x, y=y) for n, (label, x, y) in enumerate(spots)),
    )
    both, report = merge(graph, graph)
    assert both.objects.keys() == graph.objects.keys()
    assert report.added == {}
    assert sum(t.observations for t in both.objects.values()) == 2 * len(spots)


def test_json_round_trip_is_lossless(tmp_path) -> None:
    graph = full_graph()
    assert from_json(to_json(graph)) == graph
    save(graph, tmp_path / "map.json")
    assert load(tmp_path / "map.json") == graph
    assert [p.name for p in tmp_path.iterdir()] == ["map.json"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a scene graph"),
        ('{"rooms": {"r": {"id": "r"}}}', "rooms.r.name"),
        ('{"rooms": {"r": {"id": "q", "name": "a", "type": "b"}}}', "its own id is 'q'"),
        (
            '{"places": {"p": {"id": "p", "position": [0,0,0], "room": "nowhere"}}}',
            "no room 'nowhere'",
        ),
    ],
)
def test_bad_json_names_the_field(text: str, words: str) -> None:
    with pytest.raises(SceneError, match=words) as caught:
        from_json(text, "team.json")
    assert "team.json" in str(caught.value)


def test_missing_file_is_a_clear_error(tmp_path) -> None:
    with pytest.raises(SceneError, match=r"nothing\.json.*cannot be read"):
        load(tmp_path / "nothing.json")


def test_text_lists_rooms_and_says_what_it_cut() -> None:
    graph = full_graph()
    assert rooms_text(graph) == "bedroom 1: nothing seen\nkitchen: mug, refrigerator"
    text = rooms_text(graph, limit=30)
    assert text == "bedroom 1: nothing seen\n(1 more rooms left out)"


@given(st.floats(-50, 50))
def test_angles_wrap_and_survive_quaternions(angle: float) -> None:
    wrapped = wrap_angle(angle)
    assert -math.pi < wrapped <= math.pi
    back = quaternion_to_yaw(yaw_to_quaternion(wrapped))
    assert abs(wrap_angle(back - wrapped)) < 1e-9


boxes = st.builds(
    lambda x, y, long, wide, yaw: Box((x, y, 0.0), (long, wide, 1.0), yaw),
    st.floats(-2, 2), st.floats(-2, 2), st.floats(0.1, 2), st.floats(0.1, 2), st.floats(-4, 4),
)  # fmt: skip


@given(boxes, boxes)
def test_grounds_meet_where_the_rectangles_do(a: Box, b: Box) -> None:
    away = Polygon(a.footprint()).distance(Polygon(b.footprint()))
    shared = Polygon(a.footprint()).intersection(Polygon(b.footprint())).area
    assume(away > 1e-6 or shared > 1e-6)  # what only touches may count as either
    assert grounds_meet(a, b) is (away == 0.0) is grounds_meet(b, a)
    assert grounds_meet(a, b, away + 1e-6)


@given(boxes, st.floats(-3, 3), st.floats(-3, 3))
def test_distance_to_a_box_is_that_to_its_rectangle_beside_it(box: Box, x: float, y: float) -> None:
    assert box.distance((x, y, 0.2)) == pytest.approx(
        Polygon(box.footprint()).distance(Point(x, y)), abs=1e-9
    )
    assert box.distance((*box.center[:2], 0.8)) == pytest.approx(0.3)


def test_iou_of_boxes() -> None:
    a = Box((0, 0, 0), (2, 2, 2))
    assert iou(a, a) == pytest.approx(1.0)
    assert iou(a, Box((1, 0, 0), (2, 2, 2))) == pytest.approx(1 / 3)
    assert iou(a, Box((5, 0, 0), (2, 2, 2))) == 0.0
    assert Box((0, 0, 0), (2, 1, 1), math.pi / 2).contains((0, 0.9, 0))
