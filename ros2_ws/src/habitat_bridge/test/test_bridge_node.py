"""The bridge node over real rclpy: observations, actions, frames, cameras, time, late joiners."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Point
from nav_msgs.msg import Odometry
from rclpy.action import ActionClient
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, PointCloud2
from std_msgs.msg import Bool, String

from coterie_core.embodiment import Arm, Camera, Embodiment
from coterie_core.geometry import Pose
from coterie_core.skills import NavigateTo as NavigateSkill
from coterie_core.skills import Outcome
from coterie_fixtures.read_messages import (
    cloud_from_msg,
    semantic_labels_from_msg,
    transform_from_msg,
)
from coterie_fixtures.tiny_house import tiny_house
from coterie_msgs.action import Manipulate, NavigateTo
from coterie_msgs.msg import ImageDetections, Observation, SemanticMap
from coterie_ros import conversions
from coterie_ros.qos import profile
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.node import BridgeNode
from habitat_bridge.simulator import FrameRequest
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

CAMERA = Camera(width=64, height=48, mount_height=1.0, pitch=0.3)
WHEELS = Embodiment(name="cart", radius=0.2, cameras=(CAMERA,), arm=Arm())
LEGS = Embodiment(name="dog", mobility="legs", radius=0.2, step_height=0.2, cameras=(CAMERA,))
STARTS = {"r1": (WHEELS, (2.0, 2.0, 0.0)), "r2": (LEGS, (6.0, 2.3, 0.0))}


def start_bridge(ros, robots=("r1",), mode="real_time", **parameters):
    specs = [
        {
            "name": name,
            "embodiment": STARTS[name][0].model_dump(),
            "start": {"pose": dict(zip("xyz", STARTS[name][1], strict=True))},
        }
        for name in robots
    ]
    node = BridgeNode(
        context=ros.context,
        # In real time a turn at the end of every way would cost four seconds.
        world=EmbeddedWorld(tiny_house(), seed=3, threads=1, look_on_arrival=mode == "lockstep"),
        parameters={"robots": json.dumps(specs), "mode": mode, "rate": 50.0, **parameters},
    )
    ros.add(node)
    ros.wait_active(node)
    return node


def goal_at(position, frame="map", **fields):
    goal = NavigateTo.Goal(**fields)
    goal.pose.header.frame_id = frame
    goal.pose.pose.position = conversions.point_to_msg(position)
    return goal


class Robot:
    """A client of one robot: its observations, and goals by action."""

    def __init__(self, ros, node, name):
        self.ros, self.seen, self.feedback = ros, [], []
        node.create_subscription(
            Observation, f"{name}/observation", self._hear, profile("observations")
        )
        self.navigate = ActionClient(node, NavigateTo, f"{name}/navigate_to")
        self.manipulate = ActionClient(node, Manipulate, f"{name}/manipulate")
        ros.wait_for_matched(self.navigate, self.manipulate)

    def _hear(self, message):
        observation = conversions.observation_from_msg(message, frame="map")
        if not self.seen or observation.step > self.seen[-1].step:
            self.seen.append(observation)

    def send(self, client, goal):
        handle = self.ros.result(
            client.send_goal_async(goal, feedback_callback=lambda m: self.feedback.append(m))
        )
        assert handle.accepted
        return handle, handle.get_result_async()

    def go(self, x, y, z=0.0):
        return self.send(self.navigate, goal_at((x, y, z)))

    def wait(self, duration):
        goal = Manipulate.Goal(
            skill=Manipulate.Goal.WAIT, duration=conversions.duration_to_msg(duration)
        )
        return self.send(self.manipulate, goal)


@pytest.mark.quick
def test_observation_at_the_start_and_after_a_way(ros):
    start_bridge(ros, mode="lockstep")
    robot = Robot(ros, ros.node(), "r1")
    ros.spin_until(lambda: robot.seen)
    first = robot.seen[0]
    assert (first.robot, first.step, first.room.type) == ("r1", 0, "kitchen")
    assert first.neighbours and first.detections and first.seen[first.place] == 1.0
    _, result = robot.go(3.0, 1.0)
    end = ros.result(result)
    assert end.status == GoalStatus.STATUS_SUCCEEDED
    assert end.result.result.outcome == Outcome.SUCCEEDED
    assert end.result.result.distance == pytest.approx(math.sqrt(2), abs=0.3)
    ros.spin_until(lambda: len(robot.seen) == 2)
    assert robot.seen[1].pose.position == pytest.approx((3.0, 1.0, 0.0), abs=0.05)
    assert end.result.pose.pose.position.x == pytest.approx(3.0, abs=0.05)
    assert robot.feedback and 0.0 <= robot.feedback[-1].feedback.progress <= 1.0


@pytest.mark.parametrize(
    ("goal", "outcome", "reason"),
    [
        (goal_at((8.0, 2.0, 2.8)), Outcome.UNREACHABLE, "stairs"),
        (goal_at((99.0, 0.0, 0.0)), Outcome.REFUSED, "outside the house"),
        (goal_at((math.nan, 0.0, 0.0)), Outcome.REFUSED, "position.x"),
        (goal_at((2.0, 2.0, 0.0), frame="r1/odom"), Outcome.REFUSED, "map frame ('map')"),
        (NavigateTo.Goal(place="atlantis"), Outcome.UNKNOWN_TARGET, "no place 'atlantis'"),
    ],
)
def test_refused_goals_say_why(ros, goal, outcome, reason):
    start_bridge(ros)
    robot = Robot(ros, ros.node(), "r1")
    _, result = robot.send(robot.navigate, goal)
    end = ros.result(result)
    assert end.status == GoalStatus.STATUS_ABORTED
    assert end.result.result.outcome == outcome
    assert reason in end.result.result.reason


def test_a_goal_succeeds_only_within_its_tolerance(ros):
    start_bridge(ros, mode="lockstep")
    robot = Robot(ros, ros.node(), "r1")
    inside = (0.3, 1.2, 0.0)  # where the counter stands
    end = ros.result(robot.send(robot.navigate, goal_at(inside))[1])
    assert end.result.result.outcome == Outcome.UNREACHABLE
    assert "within 0.25 m" in end.result.result.reason
    assert end.result.distance_left > 0.25
    near = goal_at(inside, position_tolerance=1.2, use_yaw=True)
    end = ros.result(robot.send(robot.navigate, near)[1])
    assert end.result.result.outcome == Outcome.SUCCEEDED, end.result.result.reason
    at = end.result.pose
    assert at.header.frame_id == "map" and at.header.stamp.sec > 0
    off = math.dist(inside[:2], (at.pose.position.x, at.pose.position.y))
    assert 0.25 < end.result.distance_left <= 1.2
    assert end.result.distance_left == pytest.approx(off, abs=1e-5)
    assert abs(end.result.yaw_left) <= 0.25
    end = ros.result(robot.send(robot.navigate, NavigateTo.Goal(place="atlantis"))[1])
    assert math.isnan(end.result.distance_left)
    unread = NavigateTo.Goal(place="x" * 10_000)  # nobody looks where the robot is
    end = ros.result(robot.send(robot.navigate, unread)[1])
    assert end.result.result.outcome == Outcome.REFUSED
    assert end.result.pose.header.frame_id == "" and math.isnan(end.result.distance_left)


def test_legs_take_the_stairs_that_wheels_are_refused(ros):
    start_bridge(ros, ("r2",), mode="lockstep")
    robot = Robot(ros, ros.node(), "r2")
    _, result = robot.go(8.0, 2.0, 2.8)
    end = ros.result(result)
    assert end.result.result.outcome == Outcome.SUCCEEDED, end.result.result.reason
    assert end.result.pose.pose.position.z == pytest.approx(2.8, abs=0.05)


def test_manipulate_says_what_it_holds_and_why_not(ros):
    start_bridge(ros, mode="lockstep")
    robot = Robot(ros, ros.node(), "r1")
    pick = Manipulate.Goal(skill=Manipulate.Goal.PICK, label="mug")
    pick.position = Point(x=0.5, y=1.2, z=0.95)
    _, result = robot.send(robot.manipulate, pick)
    end = ros.result(result)
    assert end.result.result.outcome == Outcome.OUT_OF_REACH and end.result.result.reason
    assert end.result.holding == ""
    assert ros.result(robot.go(1.1, 1.2)[1]).result.result.outcome == Outcome.SUCCEEDED
    end = ros.result(robot.send(robot.manipulate, pick)[1])
    assert end.result.result.outcome == Outcome.SUCCEEDED, end.result.result.reason
    assert "mug" in end.result.holding


@pytest.mark.quick
def test_cancelled_goal_stops_the_robot(ros):
    node = start_bridge(ros)
    robot = Robot(ros, ros.node(), "r1")
    handle, result = robot.go(10.0, 1.0)
    ros.spin_until(lambda: robot.feedback)
    ros.result(handle.cancel_goal_async())
    end = ros.result(result)
    assert end.status == GoalStatus.STATUS_CANCELED
    assert end.result.result.outcome == Outcome.CANCELLED
    where = end.result.pose.pose.position
    ros.spin(0.3)
    assert node.world.state("r1").pose.position[:2] == pytest.approx((where.x, where.y))


def test_newer_goal_takes_the_olders_place(ros):
    start_bridge(ros)
    robot = Robot(ros, ros.node(), "r1")
    _, old = robot.go(10.0, 1.0)
    _, new = robot.go(2.5, 2.0)
    end = ros.result(old)
    assert end.status == GoalStatus.STATUS_ABORTED
    assert "newer goal" in end.result.result.reason
    assert ros.result(new).result.result.outcome == Outcome.SUCCEEDED


def test_cancel_of_a_goal_that_waits_for_the_other_robot(ros):
    start_bridge(ros, ("r1", "r2"), mode="lockstep")
    robot = Robot(ros, ros.node(), "r1")
    handle, result = robot.go(3.0, 1.0)
    ros.result(handle.cancel_goal_async())
    assert ros.result(result).status == GoalStatus.STATUS_CANCELED


def test_frames_of_two_robots_hang_together(ros):
    node = start_bridge(ros, ("r1", "r2"), mode="lockstep", assembly_timeout=0.0)
    client = ros.node()
    moving, fixed, odometry = {}, {}, []

    def hear(book):
        return lambda m: book.update({t.child_frame_id: t for t in m.transforms})

    client.create_subscription(TFMessage, "/tf", hear(moving), profile("tf"))
    client.create_subscription(TFMessage, "/tf_static", hear(fixed), profile("tf_static"))
    client.create_subscription(Odometry, "r2/odom", odometry.append, profile("sensor_data"))
    robot = Robot(ros, client, "r2")
    ros.result(robot.send(robot.navigate, goal_with_yaw(7.0, 2.8, 1.0))[1])
    truth = {name: node.world.state(name).pose for name in ("r1", "r2")}
    count = len(odometry)
    ros.spin_until(lambda: len(odometry) > count + 2)
    for name, pose in truth.items():
        odom = transform_from_msg(fixed[f"{name}/odom"])
        assert fixed[f"{name}/odom"].header.frame_id == "map"
        assert moving[f"{name}/base_link"].header.frame_id == f"{name}/odom"
        base = transform_from_msg(moving[f"{name}/base_link"])
        found = conversions.compose(odom, base)
        assert found.position == pytest.approx(pose.position, abs=1e-6)
        assert math.cos(found.yaw - pose.yaw) == pytest.approx(1.0)
        assert fixed[f"{name}/camera_link"].header.frame_id == f"{name}/base_link"
        assert fixed[f"{name}/camera_optical_frame"].header.frame_id == f"{name}/camera_link"
    pose, _, _ = conversions.odometry_from_msg(odometry[-1])
    start = transform_from_msg(fixed["r2/odom"])
    assert conversions.compose(start, pose).position == pytest.approx(truth["r2"].position)
    assert odometry[-1].pose.covariance[0] > 0.0


def test_every_link_of_the_description_has_one_parent_in_tf_and_odometry_is_reliable(ros):
    start_bridge(ros)
    client = ros.node()
    frames, described, odometry = [], [], []
    client.create_subscription(
        TFMessage, "/tf_static", lambda m: frames.extend(m.transforms), profile("tf_static")
    )
    client.create_subscription(String, "r1/robot_description", described.append, profile("latched"))
    client.create_subscription(Odometry, "r1/odom", odometry.append, profile("messages"))
    ros.spin_until(lambda: frames and described and odometry)
    parents = {}
    for frame in frames:
        assert parents.setdefault(frame.child_frame_id, frame.header.frame_id) == (
            frame.header.frame_id
        )
    links = ElementTree.fromstring(described[0].data).iter("link")
    names = {f"r1/{link.get('name')}" for link in links}
    assert {"r1/arm_link", "r1/hand_link", "r1/camera_link"} <= names
    assert names - {"r1/base_link"} <= parents.keys()


def test_camera_info_comes_without_anybody_who_looks_at_images(ros):
    node = start_bridge(ros)
    rendered = []
    render = node.world.render
    node.world.render = lambda requests: rendered.append(requests) or render(requests)
    infos = []
    ros.node().create_subscription(
        CameraInfo, "r1/camera/depth/camera_info", infos.append, profile("sensor_data")
    )
    ros.spin_until(lambda: len(infos) > 1)
    assert infos[0].width == CAMERA.width and infos[0].header.frame_id.endswith("optical_frame")
    assert infos[1].header.stamp != infos[0].header.stamp
    assert not rendered


def test_numbers_of_semantic_images_have_labels(ros):
    node = start_bridge(ros)
    client = ros.node()
    images, labels = [], []
    client.create_subscription(
        Image, "r1/camera/semantic/image_raw", images.append, profile("sensor_data")
    )
    client.create_subscription(
        String, "r1/camera/semantic/labels", labels.append, profile("latched")
    )
    ros.spin_until(lambda: images and labels)
    known = semantic_labels_from_msg(labels[-1])
    seen = set(np.unique(conversions.image_from_msg(images[0])).tolist()) - {0}
    assert seen and seen <= known.keys()
    tops = {thing.label.top for thing in node.world.truth().objects.values()}
    assert set(known.values()) & tops
    vision_msgs = pytest.importorskip("vision_msgs.msg")
    infos = []
    client.create_subscription(
        vision_msgs.LabelInfo, "r1/camera/semantic/label_info", infos.append, profile("latched")
    )
    ros.spin_until(lambda: infos)
    told = {entry.class_id: entry.class_name for entry in infos[-1].class_map}
    assert told.items() <= semantic_labels_from_msg(labels[-1]).items() and told


def test_time_goes_on_after_a_restart_of_the_bridge(ros, tmp_path):
    clocks = []
    ros.node().create_subscription(Clock, "/clock", clocks.append, profile("clock"))
    node = start_bridge(ros, state_directory=str(tmp_path))
    ros.spin_until(lambda: clocks and clocks[-1].clock.nanosec > 0)
    last = conversions.time_from_msg(clocks[-1].clock)
    ros.remove(node)
    clocks.clear()
    start_bridge(ros, state_directory=str(tmp_path))
    ros.spin_until(lambda: clocks)
    assert conversions.time_from_msg(clocks[0].clock) > last


def goal_with_yaw(x, y, yaw):
    return conversions.navigate_to_msg(NavigateSkill(position=(x, y, 0.0), yaw=yaw))


def test_images_only_while_somebody_listens_and_with_true_geometry(ros):
    node = start_bridge(ros)
    rendered = []
    render = node.world.render
    node.world.render = lambda requests: rendered.append(list(requests)) or render(requests)
    client = ros.node()
    ros.spin(0.5)
    assert rendered == []
    got = {}

    def listen(kind, topic):
        client.create_subscription(
            kind, topic, lambda m: got.update({topic: m}), profile("sensor_data")
        )

    listen(Image, "r1/camera/depth/image_raw")
    listen(CameraInfo, "r1/camera/depth/camera_info")
    listen(PointCloud2, "r1/scan_points")
    fixed = {}
    client.create_subscription(
        TFMessage,
        "/tf_static",
        lambda m: fixed.update({t.child_frame_id: t for t in m.transforms}),
        profile("tf_static"),
    )
    ros.spin_until(lambda: len(got) == 3 and fixed)
    assert {r.channels for batch in rendered for r in batch} == {("depth",)}
    depth = conversions.image_from_msg(got["r1/camera/depth/image_raw"])
    assert depth.shape == (48, 64) and depth.dtype == np.float32
    info = got["r1/camera/depth/camera_info"]
    assert info.header.frame_id == "r1/camera_optical_frame"
    cloud = cloud_from_msg(got["r1/scan_points"])
    # Rays that the camera's model and the tf tree make must end where the world's geometry is: on
    # the floor (z = 0), on walls, on things; none of them below the floor or outside the walls.
    start = transform_from_msg(fixed["r1/odom"])
    here = node.world.state("r1").pose
    to_map = matrix(fixed["r1/camera_link"]) @ matrix(fixed["r1/camera_optical_frame"])
    base = np.eye(4)
    c, s = math.cos(here.yaw), math.sin(here.yaw)
    base[:2, :2] = [[c, -s], [s, c]]
    base[:3, 3] = here.position
    assert start.position == pytest.approx(here.position)
    points = (base @ to_map @ np.c_[cloud, np.ones(len(cloud))].T).T[:, :3]
    assert points[:, 2].min() > -0.005
    floor = np.abs(points[:, 2]) < 0.005
    assert floor.mean() > 0.2
    lowest_row = depth[-1]
    assert (lowest_row > 0.0).all()
    frame = render([FrameRequest("r1", "camera", ("depth",))])[0]
    assert base @ to_map == pytest.approx(frame.camera_to_map, abs=1e-6)


def test_detections_only_while_somebody_listens_and_the_same_for_one_moment(ros):
    node = start_bridge(ros, mode="lockstep", prior_map="rooms", prior_topic="prior_map")
    rendered = []
    render = node.world.render
    node.world.render = lambda requests: rendered.append(list(requests)) or render(requests)
    client, depths, found, maps = ros.node(), [], [], []
    client.create_subscription(
        Image, "r1/camera/depth/image_raw", depths.append, profile("sensor_data")
    )
    ros.spin_until(lambda: depths)
    assert {r.channels for batch in rendered for r in batch} == {("depth",)}
    client.create_subscription(
        ImageDetections, "r1/camera/detections", found.append, profile("detections")
    )
    client.create_subscription(SemanticMap, "prior_map", maps.append, profile("latched"))
    ros.spin_until(lambda: len(found) >= 3 and maps)
    assert rendered[-1][0].channels == ("depth", "semantic")
    first = conversions.detections_from_msg(found[0])
    assert (first.width, first.height, first.frame) == (64, 48, "r1/camera_optical_frame")
    assert first.time == conversions.time_from_msg(depths[-1].header.stamp)
    labels = {one.label: one for one in first.detections}
    assert {"fridge", "table"} & labels.keys() or len(labels) >= 2
    # Time stands still: the detector has nothing new to say.
    assert all(message.detections == found[0].detections for message in found)
    assert not [t for t, _ in client.get_topic_names_and_types() if t == "/semantic_map"]
    assert conversions.scene_from_msg(maps[0]).rooms


def matrix(transform):
    t, q = transform.transform.translation, transform.transform.rotation
    x, y, z, w = q.x, q.y, q.z, q.w
    result = np.eye(4)
    result[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    result[:3, 3] = t.x, t.y, t.z
    return result


def test_late_joiner_gets_description_resume_and_observation(ros):
    start_bridge(ros, mode="lockstep")
    ros.spin(0.3)
    got = {}
    client = ros.node("late")

    def listen(kind, topic, qos):
        client.create_subscription(kind, topic, lambda m: got.update({topic: m}), profile(qos))

    listen(String, "r1/robot_description", "latched")
    listen(String, "r1/resume", "latched")
    listen(Observation, "r1/observation", "observations")
    ros.spin_until(lambda: len(got) == 3)
    body = conversions.embodiment_from_msg(got["r1/resume"])
    assert (body.mobility, body.radius) == ("wheels", WHEELS.radius)
    assert "cannot take stairs" in conversions.resume_from_msg(got["r1/resume"]).summary
    assert 'link name="base_link"' in got["r1/robot_description"].data
    assert got["r1/observation"].step == 0


def test_lockstep_stands_still_and_real_time_goes_on(ros):
    clocks = []
    start_bridge(ros, mode="lockstep")
    ros.node().create_subscription(Clock, "/clock", clocks.append, profile("clock"))
    ros.spin_until(lambda: len(clocks) >= 2)
    assert {conversions.time_from_msg(c.clock) for c in clocks} == {0.0}


def test_real_time_clock_runs_without_goals(ros):
    times = []
    start_bridge(ros)
    ros.node().create_subscription(
        Clock,
        "/clock",
        lambda m: times.append(conversions.time_from_msg(m.clock)),
        profile("clock"),
    )
    ros.spin_until(lambda: times and times[-1] > 0.5)
    assert times == sorted(times)


def play(ros):
    """Two robots, three turns each, goals sent in no fixed order; returns all observations."""
    node = start_bridge(ros, ("r1", "r2"), mode="lockstep", barrier_timeout=1000.0)
    client = ros.node("client")
    robots = [Robot(ros, client, name) for name in ("r1", "r2")]
    gate = client.create_publisher(Bool, "r1/takes_part", profile("latched"))
    other = client.create_publisher(Bool, "r2/takes_part", profile("latched"))
    ros.wait_for_matched(gate, other)
    ros.spin_until(lambda: all(robot.seen for robot in robots))
    ways = {0: [(3.0, 1.0), (1.5, 2.5), (2.0, 3.0)], 1: [(7.0, 2.8), (9.0, 2.0), (6.0, 1.0)]}
    left = {k: list(way) for k, way in ways.items()}
    running = {}
    while left or running:
        for k in list(left):
            if k not in running:
                running[k] = robots[k].go(*left[k].pop(0))[1]
        ros.spin_until(lambda: any(future.done() for future in running.values()))
        for k in [k for k, future in running.items() if future.done()]:
            assert running.pop(k).result().result.result.outcome == Outcome.SUCCEEDED
            if not left[k]:
                del left[k]
                (gate, other)[k].publish(Bool(data=False))
    ros.spin_until(lambda: all(len(robot.seen) == 4 for robot in robots))
    time = node.world.time
    ros.remove(node)
    ros.remove(client)
    return [robot.seen for robot in robots], time


def test_lockstep_repeats_exactly(ros):
    first, second = play(ros), play(ros)
    assert first == second
    assert first[0][0][0].pose == Pose((2.0, 2.0, 0.0), first[0][0][0].pose.yaw)


def test_time_goes_on_without_a_robot_that_vanished(ros):
    node = start_bridge(ros, ("r1", "r2"), mode="lockstep", barrier_timeout=1.0)
    robots = [Robot(ros, ros.node(f"client{k}"), name) for k, name in enumerate(("r1", "r2"))]
    first = [robot.wait(0.5)[1] for robot in robots]
    for result in first:
        assert ros.result(result).status == GoalStatus.STATUS_SUCCEEDED
    # r2's client is gone for good now.
    assert ros.result(robots[0].wait(0.5)[1]).status == GoalStatus.STATUS_SUCCEEDED
    assert "r2 had no goal for 1 s and is left out" in node.diagnostics.status().message


def test_who_says_it_takes_no_part_is_not_waited_for(ros):
    start_bridge(
        ros, ("r1", "r2"), mode="lockstep", barrier_timeout=1000.0, assembly_timeout=1000.0
    )
    client = ros.node()
    robots = [Robot(ros, client, name) for name in ("r1", "r2")]
    gate = client.create_publisher(Bool, "r2/takes_part", profile("latched"))
    ros.wait_for_matched(gate)
    _, first = robots[0].wait(0.5)
    _, second = robots[1].wait(0.5)
    assert ros.result(second).status == ros.result(first).status == GoalStatus.STATUS_SUCCEEDED
    _, third = robots[0].wait(0.5)
    ros.spin(0.3)
    assert not third.done()
    gate.publish(Bool(data=False))
    assert ros.result(third).status == GoalStatus.STATUS_SUCCEEDED


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"robots": "[]"}, "at least one robot"),
        ({"robots": '[{"name": "r 1", "embodiment": {"name": "x"}}]'}, "0.name"),
        ({"robots": '[{"name": "r1", "embodiment": {"name": "x", "radius": -1}}]'}, "radius"),
    ],
)
def test_wrong_robots_are_named(ros, parameters, message):
    world = EmbeddedWorld(tiny_house(), threads=1)
    node = ros.add(BridgeNode(context=ros.context, world=world, parameters=parameters))
    ros.spin_until(lambda: node.failure)
    assert message in node.failure


WORLD = {"kind": "embedded", "seed": 1, "floors": 1, "rooms": 4}
ROBOTS = [{"name": "r1", "embodiment": "wheels"}, {"name": "r2", "embodiment": "legs"}]


def start_process(ros, tmp_path, **parameters):
    import yaml

    given = {
        "world": json.dumps(WORLD),
        "robots": json.dumps(ROBOTS),
        "mode": "real_time",
        **parameters,
    }
    file = tmp_path / "parameters.yaml"
    file.write_text(yaml.safe_dump({"/team/bridge": {"ros__parameters": given}}))
    program = (sys.executable, "-m", "habitat_bridge.node")
    return ros.start_process(
        [*program, "--ros-args", "-r", "__ns:=/team", "--params-file", str(file)]
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_process_serves_a_generated_house_and_ends_with_0(ros, tmp_path, number):
    process = start_process(ros, tmp_path)
    robot = Robot(ros, ros.node(), "team/r1")
    ros.spin_until(lambda: robot.seen)
    robot.wait(1000.0)
    ros.spin_until(lambda: robot.feedback)
    process.send(number)
    assert process.wait() == 0, process.output
    assert "Traceback" not in process.output


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"world": json.dumps({"kind": "embeded"})}, "world.kind"),
        ({"world": "{"}, "parameter 'world': expected JSON"),
        ({"robots": '[{"name": "r1", "embodiment": "weels"}]'}, "did you mean 'wheels'"),
        ({"mode": "turnbased"}, "none of lockstep, real_time"),
        ({"raet": 10.0}, "did you mean 'rate'"),
    ],
)
def test_process_with_wrong_parameters_says_which_and_is_not_to_be_restarted(
    ros, tmp_path, parameters, message
):
    process = start_process(ros, tmp_path, **parameters)
    assert process.wait() == os.EX_CONFIG
    assert message in process.output
    assert "Traceback" not in process.output
