"""`./coterie robot check` against real publishers and servers, each with one fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav2_msgs.action import NavigateToPose, Spin
from nav_msgs.msg import OccupancyGrid
from PIL import Image as Picture
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import Bool

from coterie_bringup.team import load_team
from coterie_cli import cli
from coterie_cli.robot import check as checking
from coterie_cli.robot.body import judge_body
from coterie_cli.robot.expected import expected_of, full_name
from coterie_cli.robot.facts import Facts, FrameLink, Source, TopicFacts
from coterie_cli.robot.finding import worst
from coterie_cli.robot.findings import judge
from coterie_fixtures.checked_robot import (
    EXPECTED,
    LATCHED,
    SETTINGS,
    FakeRobot,
    bad,
    found,
    the,
    with_settings,
)
from coterie_msgs.action import Manipulate, NavigateTo
from robot_adapters.settings import AdapterSettings
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros


def test_a_robot_with_all_that_is_expected(ros):
    findings = found(ros)
    assert bad(findings) == [] and worst(findings) == "good", findings
    texts = {f.what: f.text for f in findings}
    assert texts["base_link"] == "map -> odom -> base_link"
    assert texts["/ada/lifecycle_manager_navigation/is_active"] == "active"
    assert texts["/ada/battery_state"] == "80 %"
    clocks = {f.what for f in findings if f.area == "clock"}
    assert clocks == {
        "map -> odom", "odom -> base_link", "/ada/camera/depth", "/ada/camera/found"
    }  # fmt: skip


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


def test_a_pose_that_is_not_kept_as_slam_toolbox_has_it(ros):
    volatile = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
    kinds = {"amcl_pose": (PoseWithCovarianceStamped, volatile)}
    findings = found(ros, topics=kinds)
    assert bad(findings) == []
    pose = next(f for f in findings if f.what == "/ada/amcl_pose")
    assert pose.state == "note" and "none kept for who comes late" in pose.text
    assert "drive the robot a little" in pose.remedy


def test_a_battery_that_tells_percent(ros):
    battery = next(f for f in found(ros, charge=85.0) if f.area == "battery")
    assert battery.state == "note" and battery.text == "percentage is 85, which counts as 85 %"


def test_a_lens_that_distorts(ros):
    findings = found(ros, distortion=[0.1, -0.2, 0.0, 0.0, 0.0])
    lens = next(f for f in findings if "distortion" in f.text)
    assert (lens.state, lens.what) == ("note", "/ada/camera/camera_info")
    assert lens.remedy.startswith("rectify it")


def test_color_images_labels_joints_and_who_drives_the_robot(ros):
    sensors = SETTINGS["sensors"] | {
        "color": "camera/color",
        "detections": {"topic": "camera/found", "label_info": "camera/labels"},
    }
    expected = with_settings(
        sensors=sensors, arm={"backend": "trajectory"}, navigation={"paused": "joy_lock"}
    )
    states = {f.what: f.state for f in found(ros, expected) if f.area == "topic"}
    assert states["/ada/camera/color"] == "note"
    assert states["/ada/camera/labels"] == "bad"
    assert states["/ada/joint_states"] == "bad"
    assert states["/ada/joy_lock"] == "note"


def test_color_images_and_joints_that_come(ros):
    sensors = SETTINGS["sensors"] | {"color": "camera/color"}
    expected = with_settings(
        sensors=sensors, arm={"backend": "trajectory"}, navigation={"paused": "joy_lock"}
    )
    topics = {
        "camera/color": (Image, 5), "joint_states": (JointState, 5), "joy_lock": (Bool, 5)
    }  # fmt: skip
    findings = {f.what: f for f in found(ros, expected, topics=topics) if f.area == "topic"}
    assert findings["/ada/camera/color"].state == findings["/ada/joint_states"].state == "good"
    assert findings["/ada/joy_lock"].remedy.startswith("nothing is to do")


@pytest.mark.parametrize("arm", ["none", "skills"])
def test_a_driver_of_ones_own_that_cannot_manipulate(ros, arm):
    expected = with_settings(navigation={"backend": "skills"}, arm={"backend": arm})
    findings = found(ros, expected, actions={"driver/navigate_to": NavigateTo})
    look = [f for f in findings if f.what == "/ada/driver/manipulate"]
    assert [f.state for f in look] == ["note" if arm == "none" else "bad"]
    assert "no server of this action" in look[0].text


def test_a_driver_of_ones_own_that_has_all(ros):
    expected = with_settings(navigation={"backend": "skills"}, arm={"backend": "skills"})
    actions = {"driver/navigate_to": NavigateTo, "driver/manipulate": Manipulate}
    assert bad(found(ros, expected, actions=actions)) == []


def test_servers_that_are_missing_mistyped_or_not_active(ros):
    findings = found(
        ros,
        inactive="inactive",
        without=("navigate_to_pose", "spin"),
        actions={"compute_path_to_pose": Spin, "drive": NavigateToPose},
        charge=820.0,
    )
    missing = the(findings, "/ada/navigate_to_pose", "no server of this action")
    assert "/ada/drive has this type" in missing.text
    spin = next(f for f in findings if f.what == "/ada/spin")
    assert spin.state == "note"
    the(findings, "/ada/compute_path_to_pose", "is of type nav2_msgs/action/Spin")
    the(findings, "/ada/lifecycle_manager_navigation/is_active", "not all of its nodes are active")
    node = the(findings, "/ada/controller_server", "lifecycle state is 'inactive'")
    manage = "ros2 service call /ada/lifecycle_manager_navigation/manage_nodes "
    assert node.remedy.startswith(manage + "nav2_msgs/srv/ManageLifecycleNodes")
    assert '"{command: 2}"' in node.remedy  # resume
    the(findings, "/ada/battery_state", "percentage is 820")


def test_a_service_whose_first_answer_got_lost_is_asked_again(ros):
    findings = found(ros, deaf=1, duration=4.0)
    texts = {f.what: f.text for f in findings}
    assert texts["/ada/lifecycle_manager_navigation/is_active"] == "active"


def test_nodes_that_were_never_started_are_started_by_their_manager(ros):
    findings = found(ros, inactive="unconfigured")
    node = the(findings, "/ada/controller_server", "lifecycle state is 'unconfigured'")
    assert '"{command: 0}"' in node.remedy


@pytest.mark.parametrize(
    ("speeds", "state", "words"),
    [
        ({"controller_plugins": ["A"], "A.vx_max": 0.3}, "good", "drives at 0.3 m/s of its own"),
        ({"controller_plugins": ["A", "B"], "A.vx_max": 0.3}, "bad", "of controller B"),
        ({}, "bad", "cannot be passed on"),
    ],
)
def test_whether_nav2_can_be_held_to_a_speed(ros, speeds, state, words):
    expected = expected_of("ada", AdapterSettings.model_validate(SETTINGS), speed=0.5)
    findings = found(ros, expected, parameters=speeds)
    (speed,) = [f for f in findings if f.what == "/ada/controller_server/get_parameters"]
    assert speed.state == state and words in speed.text, speed


@pytest.mark.parametrize(("scene", "asked"), [("apply_planning_scene", 2), ("", 0)])
def test_both_services_of_moveits_scene_are_looked_for(scene, asked):
    expected = with_settings(arm={"backend": "moveit", "scene": scene})
    services = [one.name for one in expected.servers if "planning_scene" in one.name]
    assert services == ["/ada/apply_planning_scene", "/ada/get_planning_scene"][:asked]


def test_names_as_a_team_file_has_them():
    assert full_name("scan", "ada", "") == "/ada/scan"
    assert full_name("scan", "ada", "lab") == "/lab/ada/scan"
    assert full_name("scan", "ada", "lab", "base") == "/lab/base/scan"
    assert full_name("scan", "ada", "lab", "/base") == "/base/scan"
    assert full_name("/scan", "ada", "lab", "base") == "/scan"
    for root in ("", "/"):
        assert full_name("scan", "ada", "lab", root) == "/scan"


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


def test_the_command_tells_what_is_missing_as_json_and_by_its_exit_code(ros, tmp_path, capsys):
    FakeRobot(ros, encoding="bgr8")
    file = tmp_path / "lab.yaml"
    file.write_text(TEAM)
    process = subprocess.Popen(
        [sys.executable, "-m", "coterie_cli.cli", "robot", "check", str(file),
         "--json", "--duration", "3", "--domain", str(ros.domain)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    ros.spin_until(lambda: process.poll() is not None, what="the command to end")
    out, err = process.communicate()
    assert process.returncode == 1, err
    told = json.loads(out)
    bad_ones = {(f["area"], f["what"]) for f in told["findings"] if f["state"] == "bad"}
    assert bad_ones == {
        ("limits", "area"),
        ("permits", "policy"),
        ("camera", "/ada/camera/depth"),
    }
    file.write_text(TEAM + "limits: {area: anywhere}\n")
    for words, why in (
        ((str(file), "--robot", "eve"), "no robot 'eve'"),
        (("demo",), "no robot has an `adapter:` section"),
    ):
        with pytest.raises(SystemExit) as left:
            cli.main(["robot", "check", *words])
        assert left.value.code == 2 and why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("section", "field"),
    [
        ("limits: {keep_out: [{room: bathroom}]}", "limits.keep_out"),
        ("permits: {rules: [{rooms: [bathroom], answer: ask}]}", "permits.rules.rooms"),
        ("limits: {area: anywhere}", ""),
    ],
)
def test_who_must_know_its_way_needs_a_planner(tmp_path, monkeypatch, section, field):
    (tmp_path / "team.yaml").write_text(
        f"world: {{kind: real}}\n{section}\n"
        "robots: [{name: ada, embodiment: slim, adapter: {navigation: {check_path: false}}}]\n"
    )
    looked: list = []

    def listen(team, expected, *args, **options):
        looked.extend(expected)
        return []

    monkeypatch.setattr(checking, "_listen", listen)
    monkeypatch.setattr(checking, "ensure_interfaces", lambda team: None)
    checking.check(tmp_path / "team.yaml", robot=None, duration=0.1, domain=7, as_json=True)
    planners = [one for one in looked[0].servers if one.name == "/ada/compute_path_to_pose"]
    assert [(one.needed, one.field) for one in planners] == ([(True, field)] if field else [])
    missing = {one.what: one for one in judge(looked[0], Facts()) if one.area == "server"}
    if field:
        assert missing["/ada/compute_path_to_pose"].state == "bad"
        assert f"start it, or correct {field}" in missing["/ada/compute_path_to_pose"].remedy


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
