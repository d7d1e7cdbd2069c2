"""The semantic map: lifting, matching, evidence, what is gone, rooms, bounds; on drawn scenes."""

import numpy as np
import pytest

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.geometry import iou
from coterie_fixtures.drawn_scenes import COLS, MUG, SIDES, TABLE, looking, view
from coterie_world.perception.backprojection import lift
from coterie_world.perception.lift_options import LiftOptions
from coterie_world.scene import Floor, Room, SceneGraph
from coterie_world.scene.regions import Regions
from semantic_mapper.mapper import SemanticMapper, seen_through
from semantic_mapper.options import MapperOptions

pytestmark = pytest.mark.quick


def mapped(boxes, poses, **options):
    mapper = SemanticMapper(MapperOptions(publish=1, **options))
    for k, pose in enumerate(poses):
        mapper.update(*view(boxes, pose, time=float(k)))
    return mapper


def test_several_views_are_one_thing_each_and_boxes_fit():
    mapper = mapped({"table": TABLE, "mug": MUG}, SIDES)
    scene = mapper.scene()
    assert sorted(t.label.top for t in scene.objects.values()) == ["mug", "table"]
    for thing in scene.objects.values():
        low, high = TABLE if thing.label.top == "table" else MUG
        assert np.abs(np.array(thing.box.axis_aligned()) - [low, high]).max() < 0.09
        assert thing.observations == 3
    mug = next(t for t in scene.objects.values() if t.label.top == "mug")
    assert scene.objects[mug.support].label.top == "table"


def test_two_alike_side_by_side_stay_two():
    chairs = {"chair#1": ((2, -0.5, 0), (2.5, 0, 0.9)), "chair#2": ((2, 0.15, 0), (2.5, 0.65, 0.9))}
    scene = mapped(chairs, [*SIDES, *SIDES]).scene()
    assert [t.label.top for t in scene.objects.values()] == ["chair", "chair"]


def test_labels_are_evidence():
    frame, (detection,) = view({"cup": MUG}, SIDES[0])
    mapper = SemanticMapper(MapperOptions(publish=1))
    for scores in ({"cup": 0.8}, {"bowl": 0.6, "cup": 0.3}, {"cup": 0.7}):
        mapper.update(frame, [ImageDetection(detection.box, scores, detection.mask)])
    (thing,) = mapper.scene().objects.values()
    assert thing.label.top == "cup"
    assert 0.2 < thing.label.probability("bowl") < 0.5


def test_background_in_a_mask_is_dropped():
    frame, (detection,) = view({"mug": MUG}, SIDES[0])
    u, v, width, height = detection.box
    loose = ImageDetection((u - 1, v - 1, width + 2, height + 2), {"mug": 0.9})
    mask = np.ones((height + 2, width + 2), bool)
    for one in (loose, ImageDetection(loose.box, {"mug": 0.9}, mask)):
        (lifted,) = lift(frame, [one], LiftOptions(far=8.0))
        assert lifted.points[:, 0].max() < 2.6, "the wall at 6 m is no part of the mug"


def test_depth_outside_the_range_and_broken_depth_are_left_out():
    frame, found = view({"mug": MUG}, SIDES[0])
    assert not lift(frame, found, LiftOptions(far=2.0))
    broken = frame.depth.copy()
    broken[::2] = np.nan
    broken[1::4] = np.inf
    holed = RgbdFrame(broken, frame.intrinsics, frame.camera_to_map)
    for one in lift(holed, found, LiftOptions()):
        assert np.isfinite(one.points).all()
    outside = ImageDetection((COLS + 5, -40, 10, 10), {"mug": 0.5})
    assert not lift(frame, [outside], LiftOptions())


def test_a_thing_that_was_taken_away_is_gone_and_found_again():
    mapper = mapped({"table": TABLE, "mug": MUG}, SIDES[:2])
    gone = []
    for k in range(3):
        gone += mapper.update(*view({"table": TABLE}, SIDES[0], time=10.0 + k)).gone
    assert [mapper.scene().objects.get(id_) for id_ in gone] == [None]
    assert [t.label.top for t in mapper.scene().objects.values()] == ["table"]
    mapper.update(*view({"table": TABLE, "mug": MUG}, SIDES[0], time=20.0))
    assert sorted(t.label.top for t in mapper.scene().objects.values()) == ["mug", "table"]


def test_hidden_is_not_gone():
    boxes = {"mug": MUG}
    mapper = mapped(boxes, SIDES[:1])
    hidden = {"screen": ((1.0, -1.5, 0.0), (1.05, 1.5, 2.0)), "mug": MUG}
    for _ in range(5):
        assert not mapper.update(*view(hidden, SIDES[0])).gone


def test_a_moved_thing_is_known_as_moved():
    mapper = mapped({"table": TABLE, "mug": MUG}, SIDES[:1])
    there = ((2.3, 0.35, 0.75), (2.4, 0.45, 0.87))
    reports = [
        mapper.update(*view({"table": TABLE, "mug": there}, SIDES[0], time=9.0)) for _ in range(3)
    ]
    assert any(r.moved for r in reports)
    mugs = [t for t in mapper.scene().objects.values() if t.label.top == "mug"]
    assert [m.properties.get("state") for m in mugs] == ["moved"]
    assert mugs[0].box.center[1] == pytest.approx(0.4, abs=0.05)


def test_rooms_and_floors():
    graph = SceneGraph()
    graph.add_floor(Floor("f0", 0, 0.0))
    graph.add_floor(Floor("f1", 1, 3.0))
    square = [(0.0, -3.0), (4.0, -3.0), (4.0, 3.0), (0.0, 3.0)]
    graph.add_room(Room("low", "kitchen", "kitchen", "f0", square))
    graph.add_room(Room("high", "bedroom", "bedroom", "f1", square))
    regions = Regions(graph)
    assert regions.room_at((1.0, 0.0, 0.8)) == "low"
    assert regions.room_at((1.0, 0.0, 3.8)) == "high"
    assert regions.room_at((4.3, 0.0, 0.8)) == "low", "a thing on the wall"
    assert regions.room_at((9.0, 0.0, 0.8)) == ""
    mapper = SemanticMapper(MapperOptions(publish=1), regions)
    mapper.update(*view({"mug": MUG}, SIDES[0]))
    assert [t.room for t in mapper.scene().objects.values()] == ["low"]


def test_memory_is_bounded():
    mapper = SemanticMapper(MapperOptions(publish=1, most_instances=5, most_points=60))
    for k in range(12):
        low = (2.0, -0.2, 0.5)
        pose = looking(0.0, 10.0 * k, 0.9, 0.0)
        box = (tuple(np.add(low, (0, 10 * k, 0))), tuple(np.add(low, (0.4, 10 * k + 0.4, 0.4))))
        mapper.update(*view({f"box{k}": box}, pose, time=float(k)))
    assert len(mapper) == 5
    assert max(len(t.points) for t in mapper.instances) <= 60
    assert {t.label.top for t in mapper.scene().objects.values()} == {
        f"box{k}" for k in range(7, 12)
    }


def test_things_that_grow_together_are_joined():
    mapper = SemanticMapper(MapperOptions(publish=1, same_place=2.0, match=9.0))  # matches nothing
    for _ in range(3):
        mapper.update(*view({"table": TABLE}, SIDES[0]))
    assert len(mapper) == 3
    mapper.association.options = MapperOptions(publish=1)
    assert mapper.tidy() == 2
    (thing,) = mapper.scene().objects.values()
    assert thing.observations == 3


def test_the_same_frames_make_the_same_map():
    maps = [mapped({"table": TABLE, "mug": MUG}, SIDES).scene() for _ in range(2)]
    assert maps[0] == maps[1]


def test_seen_through_needs_a_view():
    frame, _ = view({}, SIDES[0])
    inverse = np.linalg.inv(frame.camera_to_map)
    ahead = np.array([[2.0, 0.0, 1.4]], np.float32)
    assert seen_through(frame, inverse, ahead) is True
    assert seen_through(frame, inverse, -ahead) is None
    blind = RgbdFrame(np.zeros_like(frame.depth), frame.intrinsics, frame.camera_to_map)
    assert seen_through(blind, inverse, ahead) is None


def test_iou_helper_agrees():
    scene = mapped({"table": TABLE}, SIDES).scene()
    (thing,) = scene.objects.values()
    from coterie_core.geometry import Box

    truth = Box((2.4, 0.0, 0.375), (0.8, 1.2, 0.75))
    assert iou(thing.box, truth) > 0.75


def test_what_is_hardly_ever_reported_in_its_place_is_no_thing():
    mapper = mapped({"table": TABLE, "mug": MUG}, SIDES[:1] * 2)
    spots = [looking(0.0, 0.2 * k, 1.4, 0.0) for k in (-4, -3, -2, -1, 1, 2, 3, 4)]

    def stare(spots, reported):
        for k, spot in enumerate(spots):
            frame, found = view({"table": TABLE, "mug": MUG}, spot)
            some = [one for one in found if one.label == "table" or reported(k)]
            mapper.update(frame, some)

    stare(spots, lambda k: k % 4 == 0)
    assert labels(mapper) == ["mug", "table"]
    # Staring from one spot says no more than one look; from farther away it is too small.
    stare(spots[:1] * 30, lambda k: False)
    stare([looking(-1.2, 0.2 * k, 1.4, 0.0) for k in range(-3, 4)] * 3, lambda k: False)
    assert labels(mapper) == ["mug", "table"]
    stare(spots * 3, lambda k: False)
    assert labels(mapper) == ["table"]


def labels(mapper):
    return sorted(t.label.top for t in mapper.scene().objects.values())
