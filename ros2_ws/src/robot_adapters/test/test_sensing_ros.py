"""Sensors over real ROS: maps, tf, images and detections become observations."""

from __future__ import annotations

import math
import re
import struct
import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, TransformStamped
from nav_msgs.msg import OccupancyGrid, Odometry
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from coterie_core.geometry import Pose, yaw_to_quaternion
from coterie_core.observation import Observation
from coterie_fixtures.packed_images import encode_depth
from coterie_fixtures.sensed_house import CAMERA, OPTICAL, SensedHouse
from coterie_msgs.msg import ImageDetections, SemanticMap
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.conversions.detections import Detection2DArray, Detection3DArray, LabelInfo
from coterie_ros.qos import profile
from coterie_world.scene import SceneGraph
from habitat_bridge.simulator import FrameRequest
from robot_adapters.relay import transform_of_pose
from robot_adapters.sensing.observer import SensingError
from robot_adapters.sensors import Sensors
from robot_adapters.settings import AdapterSettings
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

DEPTH, INFO, FOUND = "/r/head/depth", "/r/head/camera_info", "/r/head/detections"


class SensingNode(AgentNode):
    """A node that only senses."""

    def __init__(self, name: str, settings: dict[str, Any], **options: Any) -> None:
        self.settings = AdapterSettings.model_validate(settings)
        super().__init__(name, **options)

    def on_start(self) -> None:
        self.sensors = Sensors(self, self.settings, 0.22, "/semantic_map", "r")


class RobotStandIn:
    """What a real robot publishes, out of a generated house; stamps are of the wall clock."""

    def __init__(self, ros: Any, house: SensedHouse, settings: dict[str, Any]) -> None:
        self.ros, self.house, self.clock_off = ros, house, 0.0
        self.node = ros.node("robot")
        make, sensor = self.node.create_publisher, profile("sensor_data")
        frames = settings.get("frames", {})
        self.base = frames.get("base", "base_link")
        self.prefix = self.base[: -len("base_link")]
        tf = frames.get("tf", "/tf")
        camera = settings["sensors"].get("cameras", [settings["sensors"]])[0]
        depth = camera["depth"]
        self.packed = depth.endswith("compressedDepth")
        self.depth = make(CompressedImage if self.packed else Image, depth, sensor)
        self.info = make(CameraInfo, INFO, sensor)
        kinds = {
            "vision_msgs/Detection2DArray": Detection2DArray,
            "vision_msgs/Detection3DArray": Detection3DArray,
        }
        self.kind = kinds.get(camera["detections"]["type"], ImageDetections)
        self.found = make(self.kind, FOUND, profile("detections"))
        self.tf = make(TFMessage, tf, profile("tf"))
        self.tf_static = make(TFMessage, f"{tf}_static", profile("tf_static"))
        self.map = make(OccupancyGrid, "/r/map", profile("latched"))
        self.team = make(SemanticMap, "/semantic_map", profile("latched"))
        self.sensing = ros.add(SensingNode("adapter", settings, context=ros.context))
        ros.wait_active(self.sensing)
        ros.wait_for_matched(self.depth, self.info, self.found, self.tf, self.tf_static, self.map)
        self.tf_static.publish(TFMessage(transforms=self._mount()))
        self.publish_map()

    def publish_map(self) -> None:
        grid = self.house.grid()
        head = conversions.header(time.time(), "map")
        self.map.publish(conversions.grid_to_msg(grid.values, grid.cell, grid.origin, head))

    def _mount(self) -> list[TransformStamped]:
        half, p = CAMERA.pitch / 2.0, self.prefix
        tilt = (0.0, math.sin(half), 0.0, math.cos(half))
        up = (CAMERA.mount_forward, 0.0, CAMERA.mount_height)
        return [
            conversions.rigid_to_msg(self.base, f"{p}head_link", up, tilt, 0.0),
            conversions.rigid_to_msg(f"{p}head_link", f"{p}eye", (0.0, 0.0, 0.0), OPTICAL, 0.0),
        ]

    def stand(self, pose: Pose) -> float:
        """Publish where the robot is, from a moment ago to now; return the stamp."""
        now = time.time() + self.clock_off
        p, rotation = self.prefix, yaw_to_quaternion(pose.yaw)
        odom = f"{p}odom"
        for stamp in (now - 0.02, now):
            parts = [
                conversions.rigid_to_msg("map", odom, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), stamp),
                conversions.rigid_to_msg(odom, self.base, pose.position, rotation, stamp),
            ]
            self.tf.publish(TFMessage(transforms=parts))
        return now - 0.01

    def look(self, pose: Pose) -> None:
        self.house.body.pose, self.house.body.glance = pose, None
        (frame,) = self.house.world.render([FrameRequest("r", "head", ("depth", "semantic"))])
        stamp = self.stand(pose)
        head = conversions.header(stamp, f"{self.prefix}eye")
        self.info.publish(conversions.camera_info_to_msg(CAMERA, head))
        self.depth.publish(self._depth(frame.depth, head))
        self.found.publish(self._detections(self.house.detector.detect(frame), head))

    def _depth(self, depth: np.ndarray, head: Any) -> Any:
        if not self.packed:
            return conversions.image_to_msg(depth, head)
        message = CompressedImage(header=head, format="16UC1; compressedDepth png")
        message.data = struct.pack("<iff", 0, 0.0, 0.0) + encode_depth(depth)
        return message

    def _detections(self, found: list[Any], head: Any) -> Any:
        if self.kind is ImageDetections:
            return conversions.detections_to_msg(found, head, (CAMERA.width, CAMERA.height))
        from vision_msgs import msg

        message = self.kind(header=head)
        for one in found:
            hypothesis = msg.ObjectHypothesisWithPose()
            hypothesis.hypothesis.class_id = self.class_id(one.label)
            hypothesis.hypothesis.score = one.scores[one.label]
            item = msg.Detection2D(results=[hypothesis])
            x, y, width, height = one.box
            item.bbox.center.position.x, item.bbox.center.position.y = x + width / 2, y + height / 2
            item.bbox.size_x, item.bbox.size_y = float(width), float(height)
            message.detections.append(item)
        return message

    def class_id(self, label: str) -> str:
        return str(self.house.detector.labels.index(label))

    def turn(self, home: Any) -> None:
        for k in range(6):
            self.look(Pose(home, k * math.tau / 6))
            self.ros.spin(0.15)

    def ask(self) -> Observation:
        return self.ros.result(self.sensing.run(self.sensing.sensors.observation("r", 1)))

    def observation(self, pose: Pose) -> Observation:
        """What the adapter observes while the robot stands somewhere and its tf goes on."""
        seen: list[Observation] = []

        def told() -> bool:
            self.stand(pose)
            self.ros.spin(0.1)
            try:
                seen.append(self.ask())
            except SensingError:  # a busy machine: the pose was old when its turn came
                return False
            return True

        self.ros.spin_until(told)
        return seen[0]


@pytest.fixture(scope="module")
def house() -> SensedHouse:
    return SensedHouse(12, floors=1)


def settings(depth: str = DEPTH, kind: str = "coterie_msgs/ImageDetections", **more: Any) -> Any:
    found = {"topic": FOUND, "type": kind, **more.pop("detections", {})}
    sensors = {"map": "/r/map", "depth": depth, "info": INFO, "detections": found}
    return {"sensors": sensors, **more}


def home_of(house: SensedHouse):
    links = [k for pair in house.world.place_map.links for k in pair]
    return house.world.place_map.places[max(links, key=links.count)].position


def test_a_robot_with_plain_frames_and_packed_depth_is_seen_as_the_simulator_sees(ros, house):
    robot = RobotStandIn(ros, house, settings(f"{DEPTH}/compressedDepth", frames={"tf": "/r/tf"}))
    home = home_of(house)
    robot.turn(home)
    ros.spin_until(lambda: len(robot.sensing.sensors.observer.map.floors) == 1)
    robot.turn(home)
    seen = robot.observation(Pose(home, 0.0))
    assert math.dist(seen.pose.position, home) < 0.01
    assert seen.place and seen.neighbours and len(seen.seen) > 1
    assert seen.room.id.startswith("r_region_")
    house.world.look_around(house.body)
    truth = {d.label for d in house.world.observe("r").detections if d.distance < 3.0}
    mine = {d.label for d in seen.detections}
    assert len(truth & mine) >= 0.7 * len(truth)
    assert all(d.box is not None for d in seen.detections)


@pytest.mark.skipif(Detection2DArray is None, reason="needs ./coterie setup --with robots")
def test_vision_msgs_with_numbers_for_labels_on_a_shared_tf_with_prefixes(ros, house):
    from vision_msgs import msg

    frames = {"base": "r/base_link", "odom": "r/odom", "tf": "/tf"}
    robot = RobotStandIn(
        ros,
        house,
        settings(
            kind="vision_msgs/Detection2DArray",
            frames=frames,
            detections={"label_info": "/r/labels"},
        ),
    )
    labels = robot.node.create_publisher(LabelInfo, "/r/labels", profile("latched"))
    table = [
        msg.VisionClass(class_id=k, class_name=name) for k, name in enumerate(house.detector.labels)
    ]
    labels.publish(LabelInfo(class_map=table))
    ros.wait_for_matched(labels)
    ros.spin(0.5)
    home = home_of(house)
    robot.turn(home)
    found = robot.observation(Pose(home, 0.0)).detections
    assert found and {d.label for d in found} <= set(house.detector.labels)


class RobotWithoutTf(RobotStandIn):
    """A robot that tells its pose on a topic, and nothing of its frames."""

    def __init__(self, ros: Any, house: SensedHouse, settings: dict[str, Any]) -> None:
        super().__init__(ros, house, settings)
        topic = settings["frames"]["pose"]
        self.pose = self.node.create_publisher(PoseStamped, topic, profile("sensor_data"))
        ros.wait_for_matched(self.pose)

    def _mount(self) -> list[TransformStamped]:
        return []

    def stand(self, pose: Pose) -> float:
        now = time.time()
        for stamp in (now - 0.02, now):
            head = conversions.header(stamp, "a frame of its own")
            self.pose.publish(PoseStamped(header=head, pose=pose_message(pose)))
        return now - 0.01


def pose_message(pose: Pose) -> Any:
    message = PoseStamped().pose
    message.position = conversions.point_to_msg(pose.position)
    o, q = message.orientation, yaw_to_quaternion(pose.yaw)
    o.x, o.y, o.z, o.w = q
    return message


def test_poses_of_all_kinds_of_messages():
    head, pose = conversions.header(7.5, "earth"), pose_message(Pose((1.0, 2.0, 0.5), 0.3))
    odometry, covered = Odometry(header=head), PoseWithCovarianceStamped(header=head)
    odometry.pose.pose = covered.pose.pose = pose
    names = {"topic": "/r/pose", "parent": "map", "child": "base_link"}
    told = [
        transform_of_pose(message, **names)
        for message in (PoseStamped(header=head, pose=pose), odometry, covered)
    ]
    assert told[0] == told[1] == told[2]
    assert told[0][:3] == ("map", "base_link", (1.0, 2.0, 0.5)) and told[0][4] == 7.5
    assert told[0][3] == pytest.approx(yaw_to_quaternion(0.3))
    pose.orientation.w = pose.orientation.z = 0.0
    with pytest.raises(ValueError, match="/r/pose: expected a finite position"):
        transform_of_pose(PoseStamped(header=head, pose=pose), **names)


def test_a_robot_without_tf_is_placed_by_its_pose_and_its_camera_by_its_mount(ros, house):
    mount = {"x": CAMERA.mount_forward, "z": CAMERA.mount_height, "pitch": CAMERA.pitch}
    told = settings(frames={"pose": "/r/pose", "pose_type": "geometry_msgs/PoseStamped"})
    grid = told["sensors"].pop("map")
    told["sensors"] = {"map": grid, "cameras": [{**told["sensors"], "mount": mount}]}
    robot = RobotWithoutTf(ros, house, told)
    home = home_of(house)
    robot.turn(home)
    ros.spin_until(lambda: len(robot.sensing.sensors.observer.map.floors) == 1)
    robot.turn(home)
    seen = robot.observation(Pose(home, 0.0))
    assert math.dist(seen.pose.position, home) < 0.01 and seen.place
    truth = house.world.truth().objects
    near = [
        min(math.dist(one.box.center, thing.box.center) for thing in truth.values())
        for one in seen.detections
        if one.box is not None
    ]
    assert len(near) >= 3 and float(np.median(near)) < 0.3


def test_rooms_come_from_the_teams_map(ros, house):
    robot = RobotStandIn(ros, house, settings())
    known, home = SceneGraph(), home_of(house)
    for room in house.world.truth().rooms.values():
        known.add_room(room)
    robot.stand(Pose(home, 0.0))
    robot.team.publish(conversions.scene_to_msg(known))
    here = house.world.room_view(home)

    def told() -> bool:
        return robot.observation(Pose(home, 0.0)).room == here

    ros.spin_until(told)


def test_a_camera_whose_clock_is_off_is_refused_with_the_figure(ros, house):
    robot = RobotStandIn(ros, house, settings())
    home = home_of(house)
    assert robot.observation(Pose(home, 0.0)).detections == ()
    robot.clock_off = 40.0
    for _ in range(3):
        robot.look(Pose(home, 0.0))
        ros.spin(0.1)
    text = " ".join(robot.sensing.sensors.problems())
    for topic in (DEPTH, FOUND, "tf odom -> base_link"):
        assert re.search(rf"{topic}: stamps are (3\d\.\d|40\.0) s ahead", text), text
    robot.clock_off = 0.0
    assert robot.observation(Pose(home, 0.0)).detections == ()


def test_a_camera_that_floods_leaves_time_for_observations(ros, house):
    robot = RobotStandIn(ros, house, settings())
    home = home_of(house)
    robot.look(Pose(home, 0.0))
    ros.spin(0.3)
    depth = np.full((480, 640), 2.0, np.float32)
    for _ in range(300):
        stamp = robot.stand(Pose(home, 0.0))
        robot.depth.publish(conversions.image_to_msg(depth, conversions.header(stamp, "eye")))
    ros.spin(0.5)
    assert robot.observation(Pose(home, 0.0)).place


def test_without_tf_there_is_no_observation_and_it_is_told_why(ros, house):
    robot = RobotStandIn(ros, house, settings())
    with pytest.raises(SensingError, match="'map'"):
        robot.ask()
