"""Frames and clocks: stale and missing tf, jumps, prefixes, clocks that differ."""

import math

import pytest

from coterie_core.detections import BoxDetection
from coterie_core.geometry import Pose, yaw_to_quaternion
from coterie_core.transforms import TransformBuffer, TransformError
from coterie_world.perception.frame_join import Boxes
from robot_adapters.sensing.clocks import ClockCheck, ClockLimits
from robot_adapters.sensing.frames import FrameNames, Localization
from robot_adapters.sensing.observer import Observer, SensingError, SensingSettings

PLAIN = FrameNames()


class Robot:
    """A robot whose odometry and localization are told apart, as tf has them."""

    def __init__(self, names: FrameNames = PLAIN) -> None:
        self.names = names
        self.transforms = TransformBuffer()
        self.where = Localization(self.transforms, names)

    def tell(self, time: float, odom: Pose, correction: Pose | None = None) -> None:
        map_to_odom = correction or Pose((0.0, 0.0, 0.0))
        for parent, child, pose in (
            (self.names.map, self.names.odom, map_to_odom),
            (self.names.odom, self.names.base, odom),
        ):
            self.transforms.add(parent, child, pose.position, yaw_to_quaternion(pose.yaw), time)


def at(x: float, y: float = 0.0, yaw: float = 0.0) -> Pose:
    return Pose((x, y, 0.0), yaw)


def test_driving_is_no_jump_however_fast():
    robot = Robot()
    for k in range(20):
        robot.tell(k * 0.1, at(0.5 * k, yaw=0.3 * k), at(0.001 * k))
        assert robot.where.check_jump() is None


def test_a_correction_beyond_what_odometry_drove_is_a_jump_with_its_figures():
    robot = Robot()
    robot.tell(1.0, at(2.0))
    assert robot.where.check_jump() is None
    robot.tell(1.1, at(2.05), at(0.0, 3.0))
    jump = robot.where.check_jump()
    assert jump is not None
    assert (jump.time, jump.distance) == pytest.approx((1.1, 3.0), abs=0.01)
    assert "3.00 m" in str(jump) and "1.10 s" in str(jump)
    assert robot.where.check_jump() is None  # told once


def test_a_turn_of_the_odometry_frame_is_judged_where_the_robot_is():
    """Far from the origin a small turn of map -> odom moves the robot by metres."""
    robot = Robot()
    robot.tell(1.0, at(40.0))
    robot.where.check_jump()
    robot.tell(1.1, at(40.0), at(0.0, yaw=0.05))
    jump = robot.where.check_jump()
    assert jump is not None and jump.distance == pytest.approx(2.0, abs=0.05)


def test_without_odometry_only_what_no_robot_drives_is_a_jump():
    names = FrameNames(odom="")
    transforms = TransformBuffer()
    where = Localization(transforms, names, speed=1.0)
    for k, x in enumerate((0.0, 0.1, 0.2, 3.0)):
        transforms.add("map", "base_link", (x, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.1 * k)
        jump = where.check_jump()
        assert (jump is not None) == (x == 3.0)


@pytest.mark.parametrize("names", [PLAIN, FrameNames("map", "walker/base_link", "walker/odom")])
def test_plain_names_and_names_with_a_prefix(names):
    robot = Robot(names)
    robot.tell(5.0, at(1.0, yaw=0.5), at(2.0))
    pose, stamp = robot.where.pose(5.2)
    assert pose.position[0] == pytest.approx(3.0) and pose.yaw == pytest.approx(0.5)
    assert stamp == 5.0


def test_localization_that_stamps_ahead_as_amcl_does_is_used_at_the_time_of_odometry():
    robot = Robot()
    robot.transforms.add("odom", "base_link", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 9.9)
    robot.transforms.add("odom", "base_link", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 10.0)
    robot.transforms.add("map", "odom", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 9.0)
    robot.transforms.add("map", "odom", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 11.0)
    pose, stamp = robot.where.pose(10.05)
    assert (stamp, pose.position[0]) == (10.0, 1.0)


def test_stale_and_missing_transforms_are_told_with_the_figure_and_the_frame():
    robot = Robot()
    with pytest.raises(TransformError, match="nothing is known of 'map'"):
        robot.where.pose(1.0)
    robot.tell(1.0, at(0.0))
    with pytest.raises(TransformError, match=r"newest from 1\.00 s, 4\.0 s ago"):
        robot.where.pose(5.0)


def test_what_was_seen_before_a_jump_is_dropped_and_the_jump_is_in_the_diagnostics():
    robot = Robot()
    observer = Observer(SensingSettings(min_views=1), robot.transforms)
    robot.tell(1.0, at(0.0))
    cup = BoxDetection((1.0, 0.0, 0.8), (0.0, 0.0, 0.0, 1.0), (0.1, 0.1, 0.1), {"cup": 0.9})
    observer.add_boxes("head", Boxes((cup,), "base_link", 1.0), 1.0)
    robot.tell(1.1, at(0.0))
    (before,) = observer.observation("r", 0, 1.1).detections
    assert before.label == "cup" and before.box.center == pytest.approx((1.0, 0.0, 0.8))
    robot.tell(1.2, at(0.0), at(5.0))
    assert observer.observation("r", 1, 1.2).detections == ()
    assert observer.jumps == 1
    assert "5.00 m" in str(observer.figures()["last_jump"])
    # What comes late, from before the jump, is not believed; what comes after it is.
    observer.add_boxes("head", Boxes((cup,), "base_link", 1.1), 1.1)
    assert observer.observation("r", 2, 1.2).detections == ()
    robot.tell(1.3, at(0.0), at(5.0))
    observer.add_boxes("head", Boxes((cup,), "base_link", 1.3), 1.3)
    (after,) = observer.observation("r", 3, 1.3).detections
    assert after.box.center == pytest.approx((6.0, 0.0, 0.8))


def test_boxes_are_turned_upright_from_the_optical_frame():
    """A detector in 3D tells of a box in the camera's optical frame: z ahead, y down."""
    robot = Robot()
    observer = Observer(SensingSettings(min_views=1), robot.transforms)
    optical = (-0.5, 0.5, -0.5, 0.5)
    robot.transforms.add("base_link", "eye", (0.0, 0.0, 1.0), optical, 0.0, fixed=True)
    robot.tell(1.0, at(0.0, yaw=math.pi / 2.0))
    # 0.4 m wide (x right), 0.6 m high (y down), 0.2 m deep (z ahead); 2 m ahead of the camera.
    sofa = BoxDetection((0.0, 0.3, 2.0), (0.0, 0.0, 0.0, 1.0), (0.4, 0.6, 0.2), {"box": 1.0})
    observer.add_boxes("head", Boxes((sofa,), "eye", 1.0), 1.0)
    (found,) = observer.observation("r", 0, 1.0).detections
    assert found.box.center == pytest.approx((0.0, 2.0, 0.7))
    (low, high) = found.box.axis_aligned()
    size = [b - a for a, b in zip(low, high, strict=True)]
    assert size == pytest.approx([0.4, 0.2, 0.6])
    assert found.distance == pytest.approx(math.dist((0.0, 2.0, 0.7), (0.0, 0.0, 0.0)))


def test_clocks_that_differ_are_refused_with_the_figure_and_the_topic():
    check = ClockCheck(ClockLimits(ahead=0.5, behind=3.0))
    for k in range(12):
        assert check.passes("good", k - 0.2, float(k))
        assert not check.passes("camera/depth", k + 37.0, float(k))
        assert check.passes("lidar", k - 3600.0, float(k)) == (k < 2)
    assert "camera/depth: stamps are 37.0 s ahead" in check.problem("camera/depth")
    assert "lidar: stamps are 3600.0 s behind" in check.problem("lidar")
    assert check.problem("good") == ""
    assert sorted(check.problems) == ["camera/depth", "lidar"]


def test_what_is_stamped_ahead_on_purpose_is_no_problem():
    check = ClockCheck(ClockLimits(ahead=0.5))
    for k in range(5):  # as amcl stamps its transform, a second ahead
        assert check.passes("tf map -> odom", 1.0 + k, float(k), ahead=1.5)
    assert check.problems == {}
    assert not check.passes("tf map -> odom", 40.0, 5.0, ahead=1.5)
    assert "35.0 s ahead" in check.problems["tf map -> odom"]


def test_one_late_message_is_no_clock_and_a_clock_that_was_set_right_is_believed_again():
    check = ClockCheck()
    for k in range(10):
        late = 8.0 if k == 5 else 0.1
        assert check.passes("slow", k - late, float(k))
    for k in range(10):
        assert check.passes("set", k - 60.0, float(k)) == (k < 2)
    assert check.passes("set", 20.0, 20.1)
    assert check.problem("set") == ""


@pytest.mark.parametrize("takes", [0.02, 1.6])  # [s] until all is handed over
def test_what_waited_while_this_process_started_blames_nobodys_clock(takes):
    check = ClockCheck()
    told = []
    for k in range(160):  # 8 s of a topic of 20 Hz
        now = 8.0 + takes * k / 160
        check.passes("tf map -> odom", k * 0.05, now)
        told.append(check.news("tf map -> odom"))
    assert not any(told) and check.problems == {}
    assert check.passes("tf map -> odom", 9.6, 9.7)


def test_a_clock_that_differs_is_told_once_within_a_second_or_so_and_refused_before():
    check = ClockCheck()
    told = []
    for k in range(60):  # 20 Hz, while simulated time stands still
        jitter = 0.3 * (k % 3)
        assert check.passes("lidar", -5.0 - jitter, 0.0, wall=k * 0.05) == (k < 2)
        told.append(check.news("lidar"))
    assert [20 <= k <= 24 for k, text in enumerate(told) if text] == [True]
    assert "lidar: stamps are 5.0 s behind" in check.problem("lidar")


def test_one_message_from_the_future_is_refused_though_the_others_are_right():
    check = ClockCheck()
    assert check.passes("tf", 1.0, 1.1)
    assert not check.passes("tf", 42.0, 1.2)
    assert "40.8 s ahead" in check.problem("tf")
    assert check.passes("tf", 1.2, 1.3)


def test_transforms_that_are_stamped_ahead_on_purpose_pass():
    check = ClockCheck(ClockLimits(ahead=0.5))
    assert check.passes("tf map -> odom", 11.0, 10.0, ahead=1.0)
    assert not check.passes("tf odom -> base_link", 11.0, 10.0)


def test_a_robot_that_is_not_placed_says_what_is_missing():
    observer = Observer(SensingSettings(map_pose=None), TransformBuffer())
    with pytest.raises(SensingError, match="team's map has not come"):
        observer.pose(1.0)
    assert any("not aligned" in text for text in observer.problems())
