"""`./coterie robot check` against real publishers and servers, each with one fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped
from lifecycle_msgs.srv import GetState
from nav2_msgs.action import ComputePathToPose, NavigateToPose, Spin
from nav_msgs.msg import OccupancyGrid
from PIL import Image as Picture
from rclpy.action import ActionServer
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import BatteryState, CameraInfo, Image
from std_srvs.srv import Trigger

from coterie_bringup.team import load_team
from coterie_cli.robot.body import judge_body
from coterie_cli.robot.expected import expected_of, full_name
from coterie_cli.robot.facts import Facts, FrameLink, Source, TopicFacts
from coterie_cli.robot.findings import Finding, judge, worst
from coterie_cli.robot.probe import probing
from coterie_msgs.msg import ImageDetections
from robot_adapters.settings import AdapterSettings
from tf2_msgs.msg import TFMessage

SETTINGS = {
    "sensors": {
        "depth": "camera/depth",
        "info": "camera/camera_info",
        "detections": {"topic": "camera/found", "type": "coterie_msgs/ImageDetections"},
    },
    "frames": {"tf": "tf"},
}
EXPECTED = expected_of("ada", AdapterSettings.model_validate(SETTINGS))
LATCHED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


class FakeRobot:
    """A robot's topics and servers as Nav2 and drivers have them; attributes are its faults."""

    def __init__(self, ros, **faults) -> None:
        self.node = node = ros.node("driver", "ada")
        self.faults = faults
        without = faults.get("without", ())
        self.out = {}
        topics = {
            "tf": (TFMessage, 100), "tf_static": (TFMessage, LATCHED),
            "map": (OccupancyGrid, LATCHED),
            "battery_state": (BatteryState, 5), "camera/depth": (Image, 5),
            "camera/camera_info": (CameraInfo, 5), "camera/found": (ImageDetections, 5),
            "amcl_pose": (PoseWithCovarianceStamped, LATCHED),
        }  # fmt: skip
        topics |= faults.get("topics", {})
        for name, (kind, qos) in topics.items():
            if name not in without:
                self.out[name] = node.create_publisher(kind, name, qos)
        self.servers = [
            ActionServer(node, kind, name, lambda goal: None)
            for name, kind in {
                "navigate_to_pose": NavigateToPose,
                "compute_path_to_pose": ComputePathToPose,
                "spin": Spin,
                **faults.get("actions", {}),
            }.items()
            if name not in without
        ]
        node.create_service(Trigger, "lifecycle_manager_navigation/is_active", self._active)
        node.create_service(GetState, "controller_server/get_state", self._state)
        node.create_timer(0.1, self.publish)
        self.latch()

    def _active(self, request, response):
        response.success = "inactive" not in self.faults
        return response

    def _state(self, request, response):
        response.current_state.label = self.faults.get("inactive", "active")
        return response

    def stamp(self, message, frame):
        now = time.time() - self.faults.get("late", 0.0)
        message.header.stamp.sec = int(now)
        message.header.stamp.nanosec = int((now % 1.0) * 1e9)
        message.header.frame_id = frame
        return message

    def transform(self, parent, child):
        return self.stamp(TransformStamped(child_frame_id=child), parent)

    def say(self, name, message):
        if name in self.out and isinstance(message, self.out[name].msg_type):
            self.out[name].publish(message)

    def latch(self):
        frame = self.faults.get("map_frame", "map")
        self.say("map", self.stamp(OccupancyGrid(), frame))
        self.say("amcl_pose", self.stamp(PoseWithCovarianceStamped(), "map"))
        fixed = [self.transform("base_link", "optical")]
        self.say("tf_static", TFMessage(transforms=fixed))

    def publish(self):
        links = self.faults.get("links", [("map", "odom"), ("odom", "base_link")])
        self.say("tf", TFMessage(transforms=[self.transform(p, c) for p, c in links]))
        self.say("battery_state", BatteryState(percentage=self.faults.get("charge", 0.8)))
        if "silent" in self.faults:
            return
        image = Image(width=32, height=24, encoding=self.faults.get("encoding", "16UC1"))
        self.say("camera/depth", self.stamp(image, "optical"))
        width, height = self.faults.get("info", (32, 24))
        info = CameraInfo(width=width, height=height)
        info.k = np.array([self.faults.get("focal", 30.0), 0, 16, 0, 30.0, 12, 0, 0, 1.0])
        self.say("camera/camera_info", self.stamp(info, self.faults.get("optical", "optical")))
        self.say("camera/found", self.stamp(ImageDetections(), "optical"))


def found(ros, expected=EXPECTED, duration=1.5, **faults) -> list[Finding]:
    """Return what the probe, in a thread, finds of a robot with these faults."""
    FakeRobot(ros, **faults)
    findings: list[Finding] = []

    def look() -> None:
        with probing([expected], ros.domain) as probe:
            probe.listen(duration)
            findings.extend(judge(expected, probe.facts["ada"]))

    thread = threading.Thread(target=look)
    thread.start()
    ros.spin_until(lambda: not thread.is_alive(), what="the probe to end")
    return findings


def bad(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(f.what, f.text) for f in findings if f.state == "bad"]


def the(findings: list[Finding], what: str, part: str) -> Finding:
    """Return the one finding that is bad, about `what`, and says `part`."""
    assert [f for f in findings if f.state == "bad"], [f.text for f in findings]
    one = [f for f in findings if f.what == what and part in f.text]
    assert len(one) == 1, [(f.what, f.text) for f in findings]
    assert all(f.remedy for f in findings if f.state == "bad")
    return one[0]


pytestmark = pytest.mark.ros


def test_a_robot_with_all_that_is_expected(ros):
    findings = found(ros)
    assert bad(findings) == [] and worst(findings) == "good", findings
    texts = {f.what: f.text for f in findings}
    assert texts["base_link"] == "map -> odom -> base_link"
    assert texts["/ada/lifecycle_manager_navigation/is_active"] == "active"
    assert texts["/ada/battery_state"] == "80 %"
    clocks = [f for f in findings if f.area == "clock"]
    assert {f.what for f in clocks} >= {"/ada/tf", "/ada/camera/depth"}


def test_topics_that_are_missing_silent_mistyped_or_do_not_fit(ros):
    findings = found(
        ros,
        silent=True,
        without=("map",),
        topics={
            "grid": (OccupancyGrid, LATCHED),
            "camera/found": (DiagnosticArray, 5),
            "tf": (TFMessage, QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)),
        },
    )
    assert "/ada/grid has this type" in the(findings, "/ada/map", "nobody publishes").text
    the(findings, "/ada/camera/depth", "silent: not one message")
    mistyped = the(findings, "/ada/camera/found", "publishes diagnostic_msgs/msg/DiagnosticArray")
    assert "expected coterie_msgs/msg/ImageDetections" in mistyped.text
    assert "robots.ada.adapter.sensors.detections" in mistyped.remedy
    the(findings, "/ada/tf", "best effort, and the adapter wants every message")


def test_a_map_that_is_not_kept_for_who_comes_late(ros):
    volatile = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
    findings = found(ros, topics={"map": (OccupancyGrid, volatile)})
    the(findings, "/ada/map", "keeps no message for who comes late")
    the(findings, "/ada/map", "and none kept for who comes late")


def test_cameras_that_do_not_fit_and_frames_beside_the_tree(ros):
    findings = found(ros, info=(640, 480), encoding="rgb8", focal=0.0, optical="lens")
    the(findings, "/ada/camera/camera_info", "640 x 480 pixels, and the depth images have 32 x 24")
    the(findings, "/ada/camera/camera_info", "no calibration")
    the(findings, "/ada/camera/depth", "encoding 'rgb8'")
    the(findings, "lens", "not below 'base_link': no transform of it came")


def test_a_camera_without_info(ros):
    findings = found(ros, without=("camera/camera_info",))
    the(findings, "/ada/camera/camera_info", "nobody publishes it")
    the(findings, "/ada/camera/depth", "without CameraInfo")


def test_frames_that_do_not_join_and_a_map_of_another_name(ros):
    findings = found(ros, links=[("odom", "base_link")], map_frame="world")
    join = the(findings, "base_link", "hangs below 'odom', not below 'map'")
    assert "nobody publishes map -> odom: start localization" in join.remedy
    the(findings, "/ada/map", "is in frame 'world', and adapter.frames.map says 'map'")


def test_clocks_that_differ_are_told_with_the_figure(ros):
    findings = found(ros, late=37.0)
    offset = the(findings, "/ada/camera/depth", "behind this computer's clock; at most 0.5 s")
    assert 36.9 < float(offset.text.split()[2]) < 39.0
    the(findings, "odom", "s old when they come")


def test_servers_that_are_missing_mistyped_or_not_active(ros):
    findings = found(
        ros,
        inactive="inactive",
        without=("navigate_to_pose", "spin"),
        actions={"compute_path_to_pose": Spin, "drive": NavigateToPose},
        charge=82.0,
    )
    missing = the(findings, "/ada/navigate_to_pose", "no server of this action")
    assert "/ada/drive has this type" in missing.text
    spin = next(f for f in findings if f.what == "/ada/spin")
    assert spin.state == "note"
    the(findings, "/ada/compute_path_to_pose", "is of type nav2_msgs/action/Spin")
    the(findings, "/ada/lifecycle_manager_navigation/is_active", "not all of its nodes are active")
    the(findings, "/ada/controller_server", "lifecycle state is 'inactive'")
    the(findings, "/ada/battery_state", "percentage is 82")


def test_names_as_a_team_file_has_them():
    assert full_name("scan", "ada", "") == "/ada/scan"
    assert full_name("scan", "ada", "lab") == "/lab/ada/scan"
    assert full_name("scan", "ada", "lab", "base") == "/lab/base/scan"
    assert full_name("scan", "ada", "lab", "/base") == "/base/scan"
    assert full_name("/scan", "ada", "lab", "base") == "/scan"


def test_what_a_probe_cannot_bring_about():
    facts = Facts(
        topics={
            "/ada/tf": TopicFacts([Source("/a", "tf2_msgs/msg/TFMessage")], 9, 1.0),
            "/ada/camera/found": TopicFacts(trouble="its type is not installed here"),
        },
        links={
            "base_link": FrameLink({"odom", "map"}),
            "a": FrameLink({"b"}),
            "b": FrameLink({"a"}),
        },
        clock=False,
    )
    findings = judge(EXPECTED, facts)
    assert facts.root("a") in ("a", "b")  # a circle ends
    the(findings, "base_link", "two parents: map and odom")
    the(findings, "/clock", "nobody publishes /clock")
    assert any("setup --with robots" in f.remedy for f in findings)


TEAM = """\
world: {kind: real}
robots:
  - name: ada
    adapter:
      frames: {tf: tf}
      sensors:
        depth: camera/depth
        info: camera/camera_info
        detections: {topic: camera/found, type: coterie_msgs/ImageDetections}
"""


def test_the_command_tells_what_is_missing_as_json_and_by_its_exit_code(ros, tmp_path):
    FakeRobot(ros, encoding="bgr8")
    (tmp_path / "lab.yaml").write_text(TEAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}

    def coterie(*words):
        process = subprocess.Popen(
            [sys.executable, "-m", "coterie_cli.cli", "robot", "check", *words,
             "--domain", str(ros.domain)],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        ros.spin_until(lambda: process.poll() is not None, what="the command to end")
        return process.returncode, *process.communicate()

    code, out, err = coterie(str(tmp_path / "lab.yaml"), "--json", "--duration", "3")
    assert code == 1, err
    told = json.loads(out)
    bad_ones = {(f["area"], f["what"]) for f in told["findings"] if f["state"] == "bad"}
    assert bad_ones == {
        ("limits", "area"),
        ("permits", "policy"),
        ("camera", "/ada/camera/depth"),
    }
    (tmp_path / "lab.yaml").write_text(TEAM + "limits: {area: anywhere}\n")
    code, out, err = coterie(str(tmp_path / "lab.yaml"), "--robot", "eve")
    assert code == 2 and "no robot 'eve'" in err
    code, out, err = coterie("demo")
    assert code == 2 and "no robot has an `adapter:` section" in err


@pytest.mark.parametrize(("shade", "state"), [(254, "good"), (0, "bad")])
def test_a_saved_map_is_looked_at_and_no_topic_expected(tmp_path, shade, state):
    Picture.fromarray(np.full((30, 40), shade, np.uint8)).save(tmp_path / "floor.pgm")
    (tmp_path / "floor.yaml").write_text("{image: floor.pgm, resolution: 0.05, origin: [0, 0, 0]}")
    (tmp_path / "team.yaml").write_text(
        "world: {kind: real}\n"
        "robots: [{name: dog, embodiment: slim, radius: 0.12, adapter: "
        "{sensors: {map_file: floor.yaml}}}]\n"
    )
    team = load_team(tmp_path / "team.yaml")
    (robot,) = team.robots
    assert not [t for t in expected_of("dog", robot.adapter).topics if t.role == "map"]
    told = {one.what: one for one in judge_body(team, robot, robot.adapter)}
    assert told["floor.yaml"].state == state
    assert f"40 x 30 cells of 0.05 m, {3 if state == 'good' else 0} m" in told["floor.yaml"].text
    assert "0.12 m radius" in told["slim"].text
