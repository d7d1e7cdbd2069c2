"""The semantic map: lifting, matching, evidence, what is gone, rooms, bounds; on drawn scenes."""

import math

import numpy as np
import pytest

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.geometry import iou
from coterie_core.scene import Floor, Room, SceneGraph
from semantic_mapper.lift import LiftOptions, lift
from semantic_mapper.mapper import MapperOptions, SemanticMapper, seen_through
from semantic_mapper.regions import Regions

ROWS, COLS, FOCAL = 200, 160, 140.0
INTRINSICS = (FOCAL, FOCAL, COLS / 2, ROWS / 2)


def looking(x, y, z, yaw):
    """Camera to map: at (x, y, z) [m], level, looking along `yaw` [rad]."""
    c, s = math.cos(yaw), math.sin(yaw)
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2] = (s, -c, 0), (0, 0, -1), (c, s, 0)
    pose[:3, 3] = (x, y, z)
    return pose


def view(boxes, pose, wall=6.0, time=0.0, robot="r"):
    """Cast rays at boxes {label: (low, high)}; return a frame and perfect detections."""
    v, u = np.mgrid[0:ROWS, 0:COLS]
    rays = np.stack(
        [(u + 0.5 - COLS / 2) / FOCAL, (v + 0.5 - ROWS / 2) / FOCAL, np.ones_like(u)], -1
    )
    rays = rays @ pose[:3, :3].T
    origin = pose[:3, 3]
    depth, owner = np.full((ROWS, COLS), wall), np.full((ROWS, COLS), -1)
    for k, (low, high) in enumerate(boxes.values()):
        with np.errstate(divide="ignore", invalid="ignore"):
            a, b = (np.array(low) - origin) / rays, (np.array(high) - origin) / rays
        enter, leave = np.minimum(a, b).max(-1), np.maximum(a, b).min(-1)
        hit = (enter < leave) & (enter > 0) & (enter < depth)
        depth[hit], owner[hit] = enter[hit], k
    found = []
    for k, label in enumerate(boxes):
        rows, cols = np.nonzero(owner == k)
        if len(rows) < 9:
            continue
        u0, v0 = cols.min(), rows.min()
        width, height = cols.max() - u0 + 1, rows.max() - v0 + 1
        mask = owner[v0 : v0 + height, u0 : u0 + width] == k
        name = label.partition("#")[0]
        found.append(ImageDetection((u0, v0, width, height), {name: 0.9, "thing": 0.05}, mask))
    frame = RgbdFrame(
        depth.astype(np.float32), INTRINSICS, pose, np.zeros((ROWS, COLS, 3), np.uint8), time, robot
    )
    return frame, found


TABLE = ((2.0, -0.6, 0.0), (2.8, 0.6, 0.75))
MUG = ((2.3, -0.1, 0.75), (2.4, 0.0, 0.87))
SIDES = [
    looking(0, 0, 1.4, 0),
    looking(2.4, -2.2, 1.4, math.pi / 2),
    looking(2.4, 2.2, 1.4, -math.pi / 2),
]


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
    mapper.options = MapperOptions(publish=1)
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
    blind = RgbdFrame(np.zeros_like(frame.depth), INTRINSICS, frame.camera_to_map)
    assert seen_through(blind, inverse, ahead) is None


def test_iou_helper_agrees():
    scene = mapped({"table": TABLE}, SIDES).scene()
    (thing,) = scene.objects.values()
    from coterie_core.geometry import Box

    truth = Box((2.4, 0.0, 0.375), (0.8, 1.2, 0.75))
    assert iou(thing.box, truth) > 0.75
