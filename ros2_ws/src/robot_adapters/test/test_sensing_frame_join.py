"""Images put together: what is late, missing, too much, of other sizes or another eye."""

import math

import numpy as np
import pytest

from coterie_core.detections import BoxDetection, ImageDetection, RgbdFrame
from coterie_core.geometry import Box, yaw_to_quaternion
from coterie_core.transforms import TransformBuffer, matrix
from coterie_world.perception.frame_join import Boxes, DepthImage, Detections, FrameJoin
from coterie_world.perception.registration import CameraModel, registered
from robot_adapters.sensing.grid_space import GridData, GridSpace
from robot_adapters.sensing.seen import Sight, cells_seen, clear, places_seen, seen_through

pytestmark = pytest.mark.quick

SIZE = (64, 48)
MODEL = CameraModel(SIZE, (50.0, 50.0, 32.0, 24.0))
OPTICAL = (-0.5, 0.5, -0.5, 0.5)  # looks along x of the map
FAR = 1e9


def wall(depth: float = 2.0) -> np.ndarray:
    return np.full((SIZE[1], SIZE[0]), depth, np.float32)


def feed(**options: object) -> FrameJoin:
    made = FrameJoin("head", TransformBuffer(), "map", **options)
    made.model = MODEL
    return made


def pose_at(made: FrameJoin, time: float) -> None:
    made.transforms.add("map", "eye", (0.0, 0.0, 1.0), OPTICAL, time)


def found(time: float, frame: str = "eye", size: tuple[int, int] = (0, 0)) -> Detections:
    return Detections((ImageDetection((10, 12, 8, 6), {"cup": 0.9}),), frame, time, size)


def test_frames_wait_for_their_pose_and_are_given_up_after_patience():
    made = feed(patience=1.0)
    made.add_depth(DepthImage(wall(), "eye", 5.0), 10.0)
    assert made.ready(10.5) == []
    pose_at(made, 5.0)
    (ready,) = made.ready(10.6)
    assert ready.frame.camera_to_map[:3, 3].tolist() == [0.0, 0.0, 1.0]
    made.add_depth(DepthImage(wall(), "eye", 7.0), 11.0)
    assert made.ready(12.5) == []
    assert made.counts == {"dropped_no_transform": 1}
    assert "known until 5.000 s" in made.problem


def test_without_camera_info_the_reason_is_told():
    made = FrameJoin("head", TransformBuffer(), "map")
    pose_at(made, 5.0)
    made.add_depth(DepthImage(wall(), "eye", 5.0), 1.0)
    assert made.ready(FAR) == []
    assert "no camera_info has come" in made.problem


def test_a_flood_that_waits_for_what_never_comes_says_for_what():
    made = FrameJoin("head", TransformBuffer(), "map")
    for k in range(30):  # 30 a second: none waits for as long as its patience
        pose_at(made, k / 30.0)
        made.add_depth(DepthImage(wall(), "eye", k / 30.0), k / 30.0)
        made.ready(k / 30.0)
    assert made.counts == {"dropped_too_many": 20}
    assert made.problem == "head: frame dropped: no camera_info has come"


def add(made: FrameJoin, what: Boxes | Detections) -> None:
    if isinstance(what, Boxes):
        made.add_boxes(what, 0.0)
    else:
        made.add_detections(what, 0.0)


def in_space(time: float, frame: str = "detector") -> Boxes:
    box = BoxDetection((0.0, 0.0, 2.0), (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 0.5), {"cup": 0.9})
    return Boxes((box,), frame, time)


@pytest.mark.parametrize("what", [in_space, lambda time: found(time, "detector")])
def test_detections_whose_frame_comes_late_are_used_and_those_without_one_are_told(what):
    made = feed(patience=1.0)
    pose_at(made, 1.0)
    made.add_depth(DepthImage(wall(), "eye", 1.0), 0.0)
    add(made, what(1.0))
    assert [r.detections for r in made.ready(0.1)] == [None]
    made.transforms.add("eye", "detector", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.0, fixed=True)
    (ready,) = made.ready(0.2)
    assert [one.label for one in ready.detections] == ["cup"]
    made = feed(patience=1.0)
    pose_at(made, 1.0)
    made.add_depth(DepthImage(wall(), "eye", 1.0), 0.0)
    add(made, what(1.0))
    for now in (0.1, 0.2, 2.0):
        made.ready(now)
    assert made.counts == {"dropped_no_transform": 1}
    assert "head: detections dropped: no transforms" in made.problem
    assert "nothing is known of 'detector'" in made.problem


def test_a_flood_of_images_of_a_camera_that_stands_still_is_not_read():
    made = feed(limit=6)
    read = []
    for k in range(1000):
        pose_at(made, k * 0.001)

        def source(k: int = k) -> np.ndarray:
            read.append(k)
            return wall()

        made.add_depth(DepthImage(source, "eye", k * 0.001), 0.0)
    (ready,) = made.ready(0.0)
    assert len(read) == 1 and read[0] > 990
    assert ready.frame.time == pytest.approx(read[0] * 0.001)
    assert made.counts["dropped_too_many"] > 900


def test_a_camera_that_turns_gives_all_its_views_though_they_come_at_once():
    made = feed(limit=20)
    for k in range(6):
        turned = yaw_to_quaternion(float(k))
        made.transforms.add("map", "body", (0.0, 0.0, 1.0), turned, float(k))
        made.add_depth(DepthImage(wall(), "eye", float(k)), 0.0)
    made.transforms.add("body", "eye", (0.0, 0.0, 0.0), OPTICAL, 0.0, fixed=True)
    assert [r.frame.time for r in made.ready(0.0)] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_detections_find_the_depth_of_their_moment_though_they_come_a_second_later():
    made = feed()
    for k in range(30):
        pose_at(made, k / 30.0)
        made.add_depth(DepthImage(wall(1.0 + k), "eye", k / 30.0), 0.0)
        made.ready(0.0)
    made.add_detections(found(10 / 30.0), 0.0)
    (ready,) = [r for r in made.ready(0.0) if r.detections is not None]
    assert ready.frame.depth[0, 0] == 11.0


def test_detections_of_a_larger_image_are_scaled_to_the_depth_images():
    made = feed()
    pose_at(made, 1.0)
    made.add_depth(DepthImage(wall(), "eye", 1.0), 0.0)
    made.add_detections(found(1.0, size=(128, 96)), 0.0)
    (ready,) = [r for r in made.ready(0.0) if r.detections is not None]
    assert ready.detections[0].box == (5, 6, 4, 3)
    made.add_depth(DepthImage(wall(), "eye", 2.0), 0.0)
    pose_at(made, 2.0)
    made.add_detections(found(2.0, size=(128, 72)), 0.0)
    made.ready(0.0)
    assert "do not show the same" in made.problem


def test_depth_is_registered_to_another_eye_and_refused_where_that_is_unknown():
    made = feed()
    pose_at(made, 1.0)
    made.transforms.add("eye", "color", (0.1, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.0, fixed=True)
    made.add_depth(DepthImage(wall(), "eye", 1.0), 0.0)
    made.add_detections(found(1.0, "color"), 0.0)
    made.ready(0.0)
    assert "camera_info of the detector's image" in made.problem
    made.detector_model = MODEL
    made.add_depth(DepthImage(wall(), "eye", 2.0), 0.0)
    pose_at(made, 2.0)
    made.add_detections(found(2.0, "color"), 0.0)
    (ready,) = [r for r in made.ready(0.0) if r.detections is not None]
    # 0.1 m to the right is 0.1 m toward -y of the map.
    assert ready.frame.camera_to_map[:3, 3] == pytest.approx([0.0, -0.1, 1.0])


def test_depth_is_registered_to_another_lens_in_the_same_frame():
    made = feed()
    pose_at(made, 1.0)
    made.detector_model = CameraModel(SIZE, (25.0, 25.0, 32.0, 24.0))  # sees twice as wide
    made.add_depth(DepthImage(wall(), "eye", 1.0), 0.0)
    made.add_detections(found(1.0), 0.0)
    (ready,) = [r for r in made.ready(0.0) if r.detections is not None]
    assert ready.frame.intrinsics[0] == 25.0
    assert np.flatnonzero(ready.frame.depth[24]).tolist() == list(range(16, 48))


def test_registered_depth_shows_a_thing_where_the_other_camera_sees_it():
    depth = wall(4.0)
    depth[20:28, 30:34] = 1.0
    to_other = matrix((0.1, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    moved = registered(depth, MODEL, to_other, MODEL)
    cols = np.flatnonzero((moved[24] > 0.5) & (moved[24] < 2.0))
    assert cols.tolist() == [35, 36, 37, 38]  # 50 px / m * 0.1 m at 1 m


def test_camera_info_of_another_size_and_unreadable_depth_are_told():
    made = feed()
    pose_at(made, 1.0)
    made.add_depth(DepthImage(np.ones((10, 10), np.float32), "eye", 1.0), 0.0)
    assert made.ready(0.0) == []
    assert "depth of 10 x 10 px, camera_info of 64 x 48 px" in made.problem

    def broken() -> np.ndarray:
        raise ValueError("a packed image, got half of one")

    pose_at(made, 2.0)
    made.add_depth(DepthImage(broken, "eye", 2.0), 0.0)
    assert made.ready(0.0) == []
    assert "got half of one" in made.problem


def frame_of(depth: np.ndarray, yaw: float = 0.0) -> RgbdFrame:
    pose = matrix((0.0, 0.0, 1.0), (0.0, 0.0, math.sin(yaw / 2.0), math.cos(yaw / 2.0)))
    pose = pose @ matrix((0.0, 0.0, 0.0), OPTICAL)
    return RgbdFrame(depth, MODEL.intrinsics, pose)


def test_only_what_lies_before_the_depth_is_in_view():
    points = np.array([(1.0, 0.0, 1.0), (2.5, 0.0, 1.0), (-1.0, 0.0, 1.0), (1.0, 3.0, 1.0)])
    assert clear(frame_of(wall(2.0)), points, Sight()).tolist() == [True, False, False, False]


@pytest.mark.parametrize("value, shown", [(0.0, False), (np.nan, False), (np.inf, True)])
def test_pixels_without_depth_tell_nothing_and_infinite_ones_that_nothing_is_there(value, shown):
    assert clear(frame_of(wall(value)), np.array([(1.0, 0.0, 1.0)]), Sight())[0] == shown


def test_quality_falls_with_the_distance_from_the_robot():
    places = {"near": (1.5, 0.0, 0.0), "far": (4.5, 0.0, 0.0), "behind": (-2.0, 0.0, 0.0)}
    seen = places_seen(frame_of(wall(8.0)), places, (0.0, 0.0, 0.0), Sight(far=6.0))
    assert seen == {"near": 0.75, "far": 0.25}


def test_cells_behind_a_wall_are_not_seen():
    grid = GridData(np.zeros((80, 120), np.int8), 0.05, (0.0, -2.0, 0.0))
    space = GridSpace(grid, 0.2)
    seen = cells_seen(frame_of(wall(3.0)), space, Sight())
    columns = np.flatnonzero(seen.any(axis=0)) * 0.05
    assert columns.max() == pytest.approx(3.1, abs=0.15)
    assert seen[40, 50] and not seen[40, 80]


def test_a_thing_is_gone_only_when_all_of_its_space_is_seen_through():
    cup = Box((2.0, 0.0, 1.0), (0.2, 0.2, 0.2))
    assert seen_through(frame_of(wall(4.0)), cup, Sight())
    assert not seen_through(frame_of(wall(2.0)), cup, Sight())  # it, or something, is there
    assert not seen_through(frame_of(wall(1.0)), cup, Sight())  # hidden
    assert not seen_through(frame_of(wall(4.0), yaw=1.5), cup, Sight())  # out of view
