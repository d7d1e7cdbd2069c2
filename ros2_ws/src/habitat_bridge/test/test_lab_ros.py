"""The lab over real rclpy: what Nav2's, MoveIt's and the drivers' interfaces say and do."""

from __future__ import annotations

import itertools
import json
import math

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")

from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import Point, PoseStamped, PoseWithCovarianceStamped, Twist
from nav2_msgs.action import (
    BackUp,
    ComputePathToPose,
    DockRobot,
    NavigateToPose,
    Spin,
    UndockRobot,
)
from nav2_msgs.msg import SpeedLimit
from nav_msgs.msg import OccupancyGrid, Odometry
from rcl_interfaces.srv import GetParameters
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import BatteryState, CompressedImage, Image, JointState, LaserScan
from std_srvs.srv import Trigger
from vision_msgs.msg import Detection2DArray, Detection3DArray

from coterie_core.embodiment import Arm, Camera, Embodiment
from coterie_core.geometry import Pose
from coterie_fixtures.lab_clients import ActionUser
from coterie_fixtures.read_messages import transform_from_msg
from coterie_fixtures.tiny_house import tiny_house
from coterie_ros import conversions
from coterie_ros.qos import profile
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.lab.faults import parse_fault
from habitat_bridge.lab.node import LabNode
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

CAMERA = Camera(name="head", width=64, height=48, mount_height=1.0, pitch=0.3)
CART = Embodiment(
    name="cart", radius=0.28, cameras=(CAMERA,), arm=Arm(), linear_speed=1.0, angular_speed=2.0
)


def start_lab(ros, robots=("r1",), faults=(), start=(2.0, 2.0), pace=8.0, **fields):
    specs = [
        {
            "name": name,
            "embodiment": CART.model_dump(),
            "start": {"pose": {"x": start[0] + 3.5 * k, "y": start[1]}},
            **fields,
        }
        for k, name in enumerate(robots)
    ]
    node = LabNode(
        context=ros.context,
        world=EmbeddedWorld(tiny_house(), seed=3, threads=1, look_on_arrival=False),
        parameters={
            "robots": json.dumps(specs),
            "pace": pace,
            "faults": json.dumps(list(faults)),
        },
    )
    ros.add(node)
    ros.wait_active(node)
    return node


def pose_at(x, y, yaw=0.0, frame="map"):
    message = PoseStamped(pose=conversions.pose_to_msg(Pose((x, y, 0.0), yaw)))
    message.header.frame_id = frame
    return message


def navigator(ros, name="r1"):
    return ActionUser(ros, ros.node("client"), NavigateToPose, f"{name}/navigate_to_pose")


def heard(ros, kind, topic, qos):
    messages = []
    ros.node("ear").create_subscription(kind, topic, messages.append, profile(qos))
    return messages


def test_nav2_drives_tells_how_far_and_ends_within_its_tolerance(ros):
    lab = start_lab(ros)
    client = navigator(ros)
    end = client.end(NavigateToPose.Goal(pose=pose_at(6.0, 2.3, 1.5)))
    assert end.status == GoalStatus.STATUS_SUCCEEDED and end.result.error_code == 0
    pose = lab.plant.world.state("r1").pose
    assert math.dist(pose.position[:2], (6.0, 2.3)) <= 0.25
    assert abs(pose.yaw - 1.5) <= 0.25
    left = [m.feedback.distance_remaining for m in client.feedback]
    # A goal begins with what was left of the path before it; Nav2 tells with each tick of its tree.
    assert left[0] == 0.0 and 3.0 < max(left) < 6.0 and left[-1] < 1.0 and len(left) > 30
    assert client.feedback[-1].feedback.current_pose.header.frame_id == "map"


@pytest.mark.parametrize(
    ("pose", "code"),
    [
        (pose_at(0.3, 1.2), 208),  # where the counter stands
        (pose_at(60.0, 2.0), 204),
        (pose_at(0.6, 6.2), 208),  # the bathroom, behind a narrow door
        (pose_at(2.0, 2.0, frame="moon"), 0),
        (pose_at(math.nan, 2.0), 0),
    ],
)
def test_nav2_aborts_with_its_codes(ros, pose, code):
    start_lab(ros)
    end = navigator(ros).end(NavigateToPose.Goal(pose=pose))
    assert end.status == GoalStatus.STATUS_ABORTED
    assert end.result.error_code == code and end.result.error_msg == ""


def test_a_path_may_end_off_its_goal_and_is_driven_to_its_end(ros):
    lab = start_lab(ros)
    counter = pose_at(0.7, 1.2)
    paths = ActionUser(ros, ros.node("client"), ComputePathToPose, "r1/compute_path_to_pose")
    path = paths.end(ComputePathToPose.Goal(goal=counter))
    last = path.result.path.poses[-1].pose.position
    assert path.status == GoalStatus.STATUS_SUCCEEDED
    assert 0.25 < math.dist((last.x, last.y), (0.7, 1.2)) <= 0.5
    assert navigator(ros).end(NavigateToPose.Goal(pose=counter)).result.error_code == 0
    there = lab.plant.world.state("r1").pose.position
    assert math.dist(there[:2], (last.x, last.y)) <= 0.25


def test_with_several_planners_a_goal_names_one(ros):
    start_lab(ros, planners=["GridBased", "Careful"])
    node = ros.node("client")
    paths = ActionUser(ros, node, ComputePathToPose, "r1/compute_path_to_pose")
    ends = [
        paths.end(ComputePathToPose.Goal(goal=pose_at(6.0, 2.3), planner_id=name))
        for name in ("", "Unheard", "Careful")
    ]
    assert [end.result.error_code for end in ends] == [201, 201, 0]
    names = ["planner_planned", "planner_plugins"]
    assert parameters(ros, node, "planner_server", names) == []  # as rclcpp: all or nothing
    (value,) = parameters(ros, node, "planner_server", names[1:])
    assert list(value.string_array_value) == ["GridBased", "Careful"]


def parameters(ros, node, server, names):
    client = node.create_client(GetParameters, f"r1/{server}/get_parameters")
    ros.wait_for_matched(client)
    return ros.result(client.call_async(GetParameters.Request(names=names))).values


@pytest.mark.parametrize("fault", ["navigate_abandoned", "navigator_dies"])
def test_where_the_tree_ends_alone_the_controller_drives_on_until_it_is_told_not_to(ros, fault):
    lab = start_lab(ros, pace=1.0)
    client = navigator(ros)
    if fault == "navigate_abandoned":
        lab.faults.add([parse_fault(fault)], lab.plant.world.time)
    _, end = client.send(NavigateToPose.Goal(pose=pose_at(6.0, 2.3)))
    position = lambda: lab.plant.world.state("r1").pose.position  # noqa: E731
    ros.spin_until(lambda: position()[0] > 2.3)
    if fault == "navigate_abandoned":
        assert ros.result(end).result.error_code == 0
    else:
        lab.faults.add([parse_fault(fault)], lab.plant.world.time)
        ros.spin_until(lambda: lab._navigation[0]._killed is not None)
        client.feedback.clear()
    at = position()[0]
    ros.spin_until(lambda: position()[0] > at + 0.3)
    assert len(client.feedback) < 3 or fault == "navigate_abandoned"
    cancel = ros.node("stop").create_client(CancelGoal, "r1/follow_path/_action/cancel_goal")
    ros.wait_for_matched(cancel)
    assert len(ros.result(cancel.call_async(CancelGoal.Request())).goals_canceling) == 1
    ros.spin_until(lambda: lab.plant.busy == 0)
    at = position()
    assert at[0] < 5.9
    ros.spin(0.3)
    assert position() == at


def test_an_absolute_speed_limit_is_the_speed_that_is_wished_for_and_0_lifts_it(ros):
    lab = start_lab(ros)
    node = ros.node("client")
    told = node.create_publisher(SpeedLimit, "r1/speed_limit", profile("commands"))
    ros.wait_for_matched(told)
    names = ["FollowPath.desired_linear_vel"]
    for limit, percentage, speed in (
        (1.5, False, 1.5), (9.0, False, 2.0), (50.0, True, 0.5), (0.0, False, 1.0)
    ):  # fmt: skip
        told.publish(SpeedLimit(speed_limit=limit, percentage=percentage))
        ros.spin_until(lambda speed=speed: lab.plant.body("r1").embodiment.linear_speed == speed)
        assert parameters(ros, node, "controller_server", names)[0].double_value == 1.0


def test_a_robot_that_backs_up_goes_on_in_spite_of_zeros_until_it_is_cancelled(ros):
    lab = start_lab(ros, pace=1.0)
    node = ros.node("client")
    back = ActionUser(ros, node, BackUp, "r1/backup")
    zeros = node.create_publisher(Twist, "r1/cmd_vel", profile("commands"))
    handle, end = back.send(BackUp.Goal(target=Point(x=1.0), speed=0.3))
    position = lambda: lab.plant.world.state("r1").pose.position  # noqa: E731
    ros.spin_until(lambda: (zeros.publish(Twist()), position()[0] < 1.9)[1])
    ros.result(handle.cancel_goal_async())
    assert ros.result(end).status == GoalStatus.STATUS_CANCELED
    at = position()
    ros.spin(0.3)
    assert math.dist(position(), at) < 0.1 and at[0] > 1.2


def test_a_newer_goal_aborts_the_older_and_a_cancelled_one_stops(ros):
    lab = start_lab(ros, pace=2.0)
    client = navigator(ros)
    _, old = client.send(NavigateToPose.Goal(pose=pose_at(6.0, 2.3)))
    ros.spin_until(lambda: client.feedback)
    handle, new = client.send(NavigateToPose.Goal(pose=pose_at(1.5, 3.0)))
    end = ros.result(old)
    assert (end.status, end.result.error_code) == (GoalStatus.STATUS_ABORTED, 0)
    client.feedback.clear()
    ros.spin_until(lambda: client.feedback)
    ros.result(handle.cancel_goal_async())
    assert ros.result(new).status == GoalStatus.STATUS_CANCELED
    ros.spin_until(lambda: lab.plant.busy == 0)
    there = lab.plant.world.state("r1").pose.position
    ros.spin(0.3)
    assert lab.plant.world.state("r1").pose.position == there


def test_paths_spins_docks_and_whether_nav2_is_active(ros):
    lab = start_lab(ros)
    node = ros.node("client")
    paths = ActionUser(ros, node, ComputePathToPose, "r1/compute_path_to_pose")
    path = paths.end(ComputePathToPose.Goal(goal=pose_at(6.0, 2.3))).result.path
    points = [(p.pose.position.x, p.pose.position.y) for p in path.poses]
    length = sum(math.dist(a, b) for a, b in itertools.pairwise(points))
    assert 4.0 <= length <= 5.0 and math.dist(points[-1], (6.0, 2.3)) < 0.3
    assert paths.end(ComputePathToPose.Goal(goal=pose_at(0.6, 6.2))).result.error_code == 208
    before = lab.plant.world.state("r1").pose.yaw
    spins = ActionUser(ros, node, Spin, "r1/spin")
    assert spins.end(Spin.Goal(target_yaw=-1.0)).status == GoalStatus.STATUS_SUCCEEDED
    assert lab.plant.world.state("r1").pose.yaw - before == pytest.approx(-1.0, abs=1e-3)
    docks = ActionUser(ros, node, DockRobot, "r1/dock_robot")
    assert docks.end(DockRobot.Goal(dock_id="nowhere")).result.error_code == 901
    assert docks.end(DockRobot.Goal(dock_id="home")).result.success
    undock = ActionUser(ros, node, UndockRobot, "r1/undock_robot")
    assert undock.end(UndockRobot.Goal()).result.success
    # Out of its dock there is nothing to do, which Nav2 calls aborted, without a code.
    again = undock.end(UndockRobot.Goal())
    assert again.status == GoalStatus.STATUS_ABORTED
    assert (again.result.success, again.result.error_code) == (False, 0)
    active = node.create_client(Trigger, "r1/lifecycle_manager_navigation/is_active")
    ros.wait_for_matched(active)
    assert ros.result(active.call_async(Trigger.Request())).success


def test_frames_join_up_in_the_robots_own_map(ros):
    lab = start_lab(ros, map_origin={"x": 1.0, "y": -2.0, "yaw": math.pi / 2})
    frames, grids, poses = {}, [], []
    ear = ros.node("ear")

    def note(message):
        frames.update({t.child_frame_id: t for t in message.transforms})

    ear.create_subscription(TFMessage, "r1/tf", note, profile("tf"))
    ear.create_subscription(TFMessage, "r1/tf_static", note, profile("tf_static"))
    ear.create_subscription(OccupancyGrid, "r1/map", grids.append, profile("latched"))
    ear.create_subscription(
        PoseWithCovarianceStamped, "r1/amcl_pose", poses.append, profile("latched")
    )
    ros.spin_until(lambda: {"odom", "base_link", "hand_link", "laser_link"} <= frames.keys())
    ros.spin_until(lambda: grids and poses)
    odom = transform_from_msg(frames["odom"])
    base = transform_from_msg(frames["base_link"])
    found = conversions.compose(odom, base)
    expected = conversions.relative(Pose((1.0, -2.0, 0.0), math.pi / 2), Pose((2.0, 2.0, 0.0)))
    assert found.position == pytest.approx(expected.position, abs=1e-6)
    assert frames["odom"].header.frame_id == "map"
    assert frames["head_optical_frame"].header.frame_id == "head_link"
    believed = poses[-1].pose.pose.position
    assert (believed.x, believed.y) == pytest.approx(expected.position[:2], abs=1e-6)
    # The cell of the grid that the robot stands in is free, whichever way the map is turned.
    info = grids[-1].info
    corner = conversions.pose_from_msg(info.origin)
    cell = conversions.relative(corner, found).position
    row, col = int(cell[1] / info.resolution), int(cell[0] / info.resolution)
    assert grids[-1].data[row * info.width + col] == 0
    assert (
        navigator(ros)
        .end(
            NavigateToPose.Goal(
                pose=pose_at(
                    *conversions.relative(
                        Pose((1.0, -2.0, 0.0), math.pi / 2), Pose((3.0, 1.5, 0.0))
                    ).position[:2]
                )
            )
        )
        .result.error_code
        == 0
    )
    assert math.dist(lab.plant.world.state("r1").pose.position[:2], (3.0, 1.5)) <= 0.25


def test_sensors_speak_as_drivers_do(ros):
    start_lab(ros, start=(1.3, 1.3))
    scans = heard(ros, LaserScan, "r1/scan", "sensor_data")
    joints = heard(ros, JointState, "r1/joint_states", "odometry")
    batteries = heard(ros, BatteryState, "r1/battery_state", "odometry")
    odometry = heard(ros, Odometry, "r1/odom", "odometry")
    clocks = heard(ros, Clock, "/clock", "clock")
    color = heard(ros, Image, "r1/head/color/image_raw", "sensor_data")
    jpeg = heard(ros, CompressedImage, "r1/head/color/image_raw/compressed", "sensor_data")
    depth = heard(ros, Image, "r1/head/depth/image_raw", "sensor_data")
    png = heard(ros, CompressedImage, "r1/head/depth/image_raw/compressedDepth", "sensor_data")
    flat = heard(ros, Detection2DArray, "r1/head/detections", "detections")
    solid = heard(ros, Detection3DArray, "r1/head/detections_3d", "detections")
    everything = (scans, joints, batteries, odometry, clocks, color, jpeg, depth, png, flat, solid)
    ros.spin_until(lambda: all(everything))
    assert scans[-1].header.frame_id == "laser_link" and len(scans[-1].ranges) == 360
    assert {"arm_link_joint", "hand_link_joint", "finger_link_joint"} <= set(joints[-1].name)
    assert 0.9 < batteries[-1].percentage <= 1.0
    pixels = conversions.color_from_msg(color[-1])
    packed = conversions.color_from_msg(jpeg[-1])
    assert packed.shape == pixels.shape
    assert abs(packed.astype(int) - pixels.astype(int)).mean() < 12
    meters = conversions.depth_from_msg(depth[-1])
    assert conversions.depth_from_msg(png[-1]) == pytest.approx(meters, abs=6e-4)
    assert color[-1].header.frame_id == "head_optical_frame"
    ros.spin_until(lambda: flat[-1].detections and solid[-1].detections)
    one = solid[-1].detections[0]
    assert 0.0 < one.bbox.center.position.z < 8.0 and one.bbox.size.z > 0.0
    assert one.results[0].hypothesis.class_id and 0.0 < one.results[0].hypothesis.score <= 1.0


def test_teleoperation_drives_and_a_wall_stops_it(ros):
    lab = start_lab(ros, start=(3.0, 0.8))
    publisher = ros.node("pad").create_publisher(Twist, "r1/cmd_vel", profile("commands"))
    ros.wait_for_matched(publisher)
    command = Twist()
    command.linear.x = 0.8

    def there():
        publisher.publish(command)
        return lab.plant.body("r1").drive is not None and lab.plant.body("r1").drive.bumped

    ros.spin_until(there)
    x = lab.plant.world.state("r1").pose.position[0]
    assert 3.4 < x < 3.8
