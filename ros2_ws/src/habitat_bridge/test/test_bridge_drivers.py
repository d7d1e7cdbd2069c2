"""Simulated robots as Nav2, slam_toolbox, teleop and RViz drive them, over real rclpy."""

from __future__ import annotations

import json
import math

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from geometry_msgs.msg import PoseStamped, Twist
from nav_msgs.msg import OccupancyGrid, Odometry
from sensor_msgs.msg import JointState, LaserScan

from coterie_core.embodiment import Arm, Embodiment
from coterie_core.geometry import Pose, wrap_angle
from coterie_fixtures.tiny_house import tiny_house
from coterie_ros import conversions
from coterie_ros.qos import profile
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.node import BridgeNode
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

CART = Embodiment(
    name="cart", radius=0.2, cameras=(), arm=Arm(), linear_speed=1.5, angular_speed=3.0
)


def start_bridge(ros, x, y, **parameters):
    spec = {"name": "r1", "embodiment": CART.model_dump(), "start": {"pose": {"x": x, "y": y}}}
    node = BridgeNode(
        context=ros.context,
        world=EmbeddedWorld(tiny_house(), seed=3, threads=1, look_on_arrival=False),
        parameters={
            "robots": json.dumps([spec]),
            "mode": "real_time",
            "rate": 25.0,
            **parameters,
        },
    )
    ros.add(node)
    ros.wait_active(node)
    return node


class Pursuit:
    """A small pure pursuit: cmd_vel out, odom and scan in, as somebody's own node would have it."""

    def __init__(self, ros, waypoints):
        self.node = ros.node("pursuit")
        self.left = list(waypoints)
        self.pose, self.ahead, self.stopped = None, math.inf, 0
        self.out = self.node.create_publisher(Twist, "r1/cmd_vel", profile("commands"))
        self.node.create_subscription(LaserScan, "r1/scan", self._scan, profile("sensor_data"))
        self.node.create_subscription(Odometry, "r1/odom", self._odom, profile("odometry"))

    def _scan(self, message):
        middle = len(message.ranges) // 2
        self.ahead = min(message.ranges[middle - 10 : middle + 11])

    def _odom(self, message):
        self.pose, _, _ = conversions.odometry_from_msg(message)
        if not self.left:
            return
        x, y, _ = self.pose.position
        if math.dist((x, y), self.left[0]) < 0.15:
            self.left.pop(0)
            return
        tx, ty = self.left[0]
        turn = wrap_angle(math.atan2(ty - y, tx - x) - self.pose.yaw)
        command = Twist()
        command.angular.z = 2.5 * turn
        if self.ahead < CART.radius + 0.05:
            self.stopped += 1
        elif abs(turn) < 0.5:
            command.linear.x = min(1.2, 0.3 + self.ahead - CART.radius)
        self.out.publish(command)


def test_a_foreign_controller_drives_into_another_room_by_odometry_and_scan(ros):
    bridge = start_bridge(ros, 1.5, 2.0)
    # The odometry frame is where the robot started; the door is at x = 4, y = 2.
    pursuit = Pursuit(ros, [(2.0, 0.0), (3.6, 0.0), (4.0, -1.0)])
    ros.spin_until(lambda: not pursuit.left, timeout=60.0)
    state = bridge.world.state("r1")
    assert state.room == "r_living"
    assert math.dist(state.pose.position[:2], (5.5, 1.0)) < 0.35
    assert pursuit.stopped == 0


def test_a_wall_stops_a_controller_that_does_not_look_and_silence_stops_every_other(ros):
    bridge = start_bridge(ros, 3.0, 0.8)
    publisher = ros.node("pad").create_publisher(Twist, "r1/cmd_vel", profile("commands"))
    ros.wait_for_matched(publisher)
    command = Twist()
    command.linear.x = 1.0
    body = bridge.world.body("r1")

    def bumped():
        publisher.publish(command)
        return body.drive is not None and body.drive.bumped

    ros.spin_until(bumped)
    assert 3.5 < bridge.world.state("r1").pose.position[0] < 4.0 - CART.radius
    command.linear.x = -0.4
    ros.spin_until(lambda: publisher.publish(command) or bridge.world.state("r1").linear[0] < -0.3)
    ros.spin_until(lambda: bridge.world.state("r1").linear == (0.0, 0.0, 0.0))
    there = bridge.world.state("r1").pose
    ros.spin(0.3)
    assert bridge.world.state("r1").pose == there


def test_rviz_sends_the_robot_to_a_goal(ros):
    bridge = start_bridge(ros, 1.5, 2.0)
    publisher = ros.node("rviz").create_publisher(PoseStamped, "r1/goal_pose", profile("commands"))
    ros.wait_for_matched(publisher)
    goal = PoseStamped(pose=conversions.pose_to_msg(Pose((3.0, 1.5, 0.0), 1.0)))
    goal.header.frame_id = "map"
    publisher.publish(goal)
    ros.spin_until(lambda: math.dist(bridge.world.state("r1").pose.position, (3.0, 1.5, 0.0)) < 0.1)
    ros.spin_until(lambda: abs(bridge.world.state("r1").pose.yaw - 1.0) < 0.05)


def test_drivers_topics_are_made_when_somebody_wants_them_and_frames_join_up(ros):
    start_bridge(ros, 1.5, 2.0)
    ear = ros.node("ear")
    ros.spin(1.2)
    made = {name for name, _ in ear.get_topic_names_and_types()}
    assert not made & {"/r1/scan", "/r1/tf", "/r1/map", "/r1/joint_states", "/r1/cmd_vel"}
    frames, maps, joints, scans = {}, [], [], []

    def note(message):
        frames.update({t.child_frame_id: t.header.frame_id for t in message.transforms})

    ear.create_subscription(TFMessage, "r1/tf", note, profile("tf"))
    ear.create_subscription(TFMessage, "r1/tf_static", note, profile("tf_static"))
    ear.create_subscription(OccupancyGrid, "r1/map", maps.append, profile("latched"))
    ear.create_subscription(JointState, "r1/joint_states", joints.append, profile("odometry"))
    ear.create_subscription(LaserScan, "r1/scan", scans.append, profile("sensor_data"))
    ros.spin_until(lambda: maps and joints and scans and {"odom", "laser_link"} <= frames.keys())
    frame, root = scans[0].header.frame_id, []
    while frame in frames:
        frame = frames[frame]
        root.append(frame)
    assert root == ["laser_link", "base_link", "odom", "map"]
    info = maps[0].info
    cell = [
        int((v - getattr(info.origin.position, a)) / info.resolution)
        for v, a in ((1.5, "x"), (2.0, "y"))
    ]
    assert maps[0].data[cell[1] * info.width + cell[0]] == 0
    assert set(joints[0].name) >= {"arm_link_joint", "hand_link_joint"}
