"""Frames of robots without a whole tf, over real ROS: what an adapter takes and what it tells."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")
pytest.importorskip("vision_msgs")

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import CameraInfo, Image
from vision_msgs.msg import Detection3D, Detection3DArray, ObjectHypothesisWithPose

from coterie_core.embodiment import Camera
from coterie_core.transforms import TransformError, TransformNotYet
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.qos import profile
from robot_adapters.sensors import Sensors
from robot_adapters.settings import AdapterSettings
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

CAMERA = Camera(width=32, height=24, mount_height=0.5, pitch=0.0)
STILL = (0.0, 0.0, 0.0, 1.0)
MOUNT = {"x": 0.2, "z": 0.5}


class SensingNode(AgentNode):
    """A node that only senses."""

    def __init__(self, robot: str, settings: dict[str, Any], **options: Any) -> None:
        self.robot, self.settings = robot, AdapterSettings.model_validate(settings)
        super().__init__("adapter", namespace=f"/{robot}", **options)

    def on_start(self) -> None:
        self.sensors = Sensors(self, self.settings, 0.22, robot=self.robot)


class Robot:
    """What a robot without tf of its own publishes, and what its adapter makes of that."""

    def __init__(self, ros, robot="r", mount=MOUNT, matched=True, latched=False, **frames):
        self.ros, self.robot = ros, robot
        self.node = node = ros.node(f"{robot}_drivers")
        sensor = profile("sensor_data")
        once = profile("latched") if latched else sensor

        def make(kind, topic, qos):
            return node.create_publisher(kind, f"/{robot}/{topic}", qos)

        self.pose = make(PoseStamped, "pose", once)
        self.info = make(CameraInfo, "info", once)
        self.depth = make(Image, "depth", sensor)
        self.boxes = make(Detection3DArray, "boxes", 10)
        self.tf = node.create_publisher(TFMessage, "/tf", profile("tf"))
        if latched:
            self.tell()
            self.say_info("eye")
        camera = {
            "name": "front",
            "depth": "depth",
            "info": "info",
            "detections": {"topic": "boxes", "type": "vision_msgs/Detection3DArray"},
            **({"mount": mount} if mount else {}),
        }
        told = {
            "sensors": {"map": "", "cameras": [camera]},
            "frames": {"pose": "pose", "pose_type": "geometry_msgs/PoseStamped", **frames},
        }
        self.adapter = ros.add(SensingNode(robot, told, context=ros.context))
        ros.wait_active(self.adapter)
        if matched:
            ros.wait_for_matched(self.pose, self.info, self.depth, self.boxes)

    def tell(self, x=1.0):
        """Tell where the base is in the map."""
        one = PoseStamped(header=conversions.header(time.time(), "its own map"))
        one.pose.position.x, one.pose.orientation.w = x, 1.0
        self.pose.publish(one)

    def say_info(self, frame):
        head = conversions.header(time.time(), frame)
        self.info.publish(conversions.camera_info_to_msg(CAMERA, head))

    def look(self, frame, info=True):
        """Send an image of a wall 3 m ahead."""
        if info:
            self.say_info(frame)
        head = conversions.header(time.time(), frame)
        self.depth.publish(conversions.image_to_msg(np.full((24, 32), 3.0, np.float32), head))

    def find(self, frame, *sizes):
        """Send boxes of these edges [m], 3 m along z of a frame."""
        message = Detection3DArray(header=conversions.header(time.time(), frame))
        for size in sizes or (0.3,):
            one = Detection3D()
            one.bbox.center.position.z, one.bbox.center.orientation.w = 3.0, 1.0
            one.bbox.size.x = one.bbox.size.y = one.bbox.size.z = size
            guess = ObjectHypothesisWithPose()
            guess.hypothesis.class_id, guess.hypothesis.score = "vase", 0.9
            one.results.append(guess)
            message.detections.append(one)
        self.boxes.publish(message)

    def relayed(self, kind, topic):
        """Return a list that gets what the adapter passes on to the team."""
        got: list = []
        name = f"/{self.robot}/team/front/{topic}"
        self.node.create_subscription(kind, name, got.append, profile("sensor_data"))
        self.ros.spin(0.3)
        return got

    def figures(self):
        return {one.key: one.value for one in self.adapter.diagnostics.status().values}


def frames_heard(ros):
    """Return a set that gets (parent, child) of all transforms that the team hears."""
    heard: set = set()
    node = ros.node("listener")
    for topic in ("tf", "tf_static"):
        node.create_subscription(
            TFMessage,
            f"/{topic}",
            lambda m: heard.update((t.header.frame_id, t.child_frame_id) for t in m.transforms),
            profile(topic),
        )
    return heard


def moving(parent, child):
    one = conversions.rigid_to_msg(parent, child, (0.5, 0.0, 0.0), STILL, time.time())
    return TFMessage(transforms=[one])


def test_two_robots_without_tf_do_not_take_what_they_send_the_team_for_their_own(ros):
    heard = frames_heard(ros)
    frames = {"map": "world", "base": "k9_body"}
    robots = [Robot(ros, name, **frames) for name in ("r1", "r2")]
    for _ in range(10):
        for robot in robots:
            robot.tell()
        ros.spin(0.1)
    assert heard == {
        pair
        for name in ("r1", "r2")
        for pair in (
            ("map", f"{name}/world"),
            (f"{name}/world", f"{name}/k9_body"),
            (f"{name}/k9_body", f"{name}/front_mounted_optical_frame"),
        )
    }
    for robot in robots:
        assert robot.adapter.sensors.pose().position == (1.0, 0.0, 0.0)
        assert not robot.adapter.sensors.clocks.problems


def test_a_base_named_after_its_robot_keeps_its_name_and_its_tf_counts(ros):
    heard = frames_heard(ros)
    robot = Robot(ros, mount=None, base="r/base_link")

    def known():
        robot.tell()
        robot.tf.publish(moving("r/base_link", "r/mast"))
        robot.tf.publish(moving("other/base_link", "other/mast"))
        ros.spin(0.1)
        try:
            robot.adapter.sensors.transforms.latest("map", "r/mast")
        except TransformError:
            return False
        return True

    ros.spin_until(known)
    ros.spin(0.5)
    assert heard == {
        ("map", "r/map"), ("r/map", "r/base_link"), ("r/base_link", "r/mast"),
        ("other/base_link", "other/mast"),
    }  # fmt: skip
    assert "/tf.base_unused" not in robot.figures()


def test_a_mounted_camera_has_a_frame_of_its_own_whatever_its_messages_name(ros):
    robot = Robot(ros)
    depth, info = (
        robot.relayed(Image, "depth/image_raw"),
        robot.relayed(CameraInfo, "depth/camera_info"),
    )
    boxes = robot.relayed(Detection3DArray, "boxes")

    def sent(frame):
        del boxes[:]

        def came():
            robot.tell()
            robot.look("base_link")
            ros.spin(0.1)
            robot.find(frame)
            return boxes

        ros.spin_until(came, what=f"boxes in {frame!r}")
        return boxes[-1].header.frame_id

    own = "r/front_mounted_optical_frame"
    assert sent("base_link") == own  # as the images
    assert sent("") == own
    assert sent("map") == "r/map"
    assert sent("odom") == "r/odom"
    assert depth[-1].header.frame_id == info[-1].header.frame_id == own
    sensors = robot.adapter.sensors
    assert sensors.pose().position == (1.0, 0.0, 0.0)
    at = sensors.transforms.lookup("base_link", "front_mounted_optical_frame", 0.0)
    assert at[:3, 3].tolist() == [0.2, 0.0, 0.5]


def test_tf_beside_a_pose_does_not_tear_the_base_away_and_is_told_once(ros):
    robot = Robot(ros)
    ros.wait_for_matched(robot.tf)
    for _ in range(15):
        robot.tell()
        robot.look("base_link")
        robot.tf.publish(moving("odom", "base_link"))
        ros.spin(0.1)
    ros.spin(0.5)
    assert not [p for p in robot.adapter.sensors.problems() if "dropped" in p]
    assert "front.dropped_no_transform" not in robot.adapter.sensors.figures()
    figures = robot.figures()
    assert int(figures["/tf.base_unused"]) > 10
    for part in ("/tf: where base_link is in odom is not used", "(pose)", "leave out frames.pose"):
        assert part in figures["last_error"]


def test_a_model_and_a_pose_that_were_sent_once_arrive_and_the_team_gets_the_model(ros):
    robot = Robot(ros, latched=True, matched=False)
    sensors = robot.adapter.sensors
    ros.spin_until(lambda: "front" in sensors.cameras._models, what="the model sent before")

    def located():
        with suppress(TransformNotYet):
            return sensors.transforms.latest("map", "base_link") <= time.time()

    ros.spin_until(located, what="the pose sent before")
    ros.wait_for_matched(robot.depth)
    info = robot.relayed(CameraInfo, "depth/camera_info")  # later than the model came

    def came():
        robot.tell()
        robot.look("eye", info=False)
        ros.spin(0.1)
        return len(info) > 1

    ros.spin_until(came, what="the model, told again")
    assert info[-1].width == 32 and info[-1].header.frame_id == "r/front_mounted_optical_frame"


def test_that_a_topic_is_heard_twice_is_no_warning(ros, capfd):
    robot = Robot(ros)
    ros.spin(0.5)
    ros.remove(robot.adapter)
    assert "offering incompatible QoS" not in "".join(capfd.readouterr())


def test_images_without_a_model_say_so_however_fast_they_come(ros):
    robot = Robot(ros)
    for _ in range(60):
        robot.tell()
        robot.look("eye", info=False)
        ros.spin(0.02)
    assert "front: frame dropped: no camera_info has come" in robot.adapter.sensors.problems()


def test_frames_with_a_slash_in_front_have_none_for_the_team(ros):
    heard = frames_heard(ros)
    robot = Robot(ros, mount=None, map="/map", base="/base_link", odom="/odom")
    depth = robot.relayed(Image, "depth/image_raw")
    fixed = ros.node("fixed").create_publisher(TFMessage, "/tf_static", profile("tf_static"))
    fixed.publish(moving("/base_link", "/eye"))

    def came():
        robot.tell()
        robot.look("/eye")
        ros.spin(0.1)
        return depth and ("r/base_link", "r/eye") in heard

    ros.spin_until(came)
    assert depth[-1].header.frame_id == "r/eye"
    assert {("map", "r/map"), ("r/map", "r/base_link")} <= heard
    assert not [pair for pair in heard if "//" in "".join(pair)]


def test_one_box_that_cannot_be_takes_no_other_with_it_and_is_counted(ros):
    robot = Robot(ros)
    boxes = robot.relayed(Detection3DArray, "boxes")

    def came():
        robot.tell()
        robot.look("eye")
        ros.spin(0.1)
        robot.find("eye", 0.3, 0.0, 0.2)
        return boxes

    ros.spin_until(came, what="boxes for the team")
    assert [one.bbox.size.x for one in boxes[-1].detections] == pytest.approx([0.3, 0.2])
    figures = robot.figures()
    assert int(figures["boxes.skipped"]) >= 1
    assert "detections[1].bbox.size.x" in figures["last_error"]
