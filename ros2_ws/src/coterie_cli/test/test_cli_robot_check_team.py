"""`./coterie robot check`: the domain that the team will run in, and what its URDF tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")

from coterie_bringup.team import parse_team
from coterie_cli import lab
from coterie_cli.robot import check as checking
from coterie_cli.robot.body import arm_joints, judge_body
from coterie_ros import main as ros_main

pytestmark = pytest.mark.ros
TEAM = """\
world: {kind: real}
robots:
  - name: ada
    adapter: {navigation: {backend: none}, sensors: {map: '', battery: ''}}
"""
HOSTS = """\
domain: 42
hosts:
  base: {address: 192.168.1.10, runs: [team]}
  cart: {address: 192.168.1.11, robots: [ada]}
"""
FETCH = "package://coterie_description/urdf/fetch.urdf"


@pytest.fixture
def fetch():
    """Give a robot with a URDF and settings of its adapter, and the findings about its body."""

    def make(adapter):
        text = f"world: {{kind: real}}\nrobots: [{{name: porter, urdf: '{FETCH}', adapter: "
        team = parse_team(f"{text}{adapter}}}]\n")
        (robot,) = team.robots
        told = [f for f in judge_body(team, robot, robot.adapter) if f.area in ("urdf", "arm")]
        return told, arm_joints(team, robot, robot.adapter)

    return make


@pytest.mark.parametrize(
    ("carry", "told", "word"),
    [("", "note", "as its last skill left it"),
     (", carry: {elbow: 1.0}", "bad", "no joint 'elbow'; it has torso_lift_joint"),
     (", carry: {elbow_flex_joint: 1.0}", "good", "")],
)  # fmt: skip
def test_how_the_arm_is_carried_on_drives(fetch, carry, told, word):
    findings, _ = fetch(f"{{frames: {{base: base_link}}, arm: {{backend: trajectory{carry}}}}}")
    about = [f for f in findings if "carry" in f"{f.what} {f.text}"]
    assert [f.state for f in about] == ([] if told == "good" else [told])
    assert all(word in f.text for f in about)


def listened(monkeypatch, tmp_path, text, *, domain=None):
    """Return the ROS domain that a check of a team file listens to, and its discovery settings."""
    told = []

    def listen(team, expected, number, *args, **options):
        told.append((number, checking._discovery(team)))
        return []

    monkeypatch.setattr(checking, "_listen", listen)
    monkeypatch.setattr(checking, "ensure_interfaces", lambda team: None)
    (tmp_path / "team.yaml").write_text(text)
    checking.check(
        tmp_path / "team.yaml", robots=(), duration=0.1, domain=domain, as_json=True
    )  # fmt: skip
    return told[0]


@pytest.mark.parametrize(
    ("variable", "line", "option", "number"),
    [("", "", None, 0), ("13", "", None, 13), ("13", "domain: 5", None, 5), ("13", "", 7, 7)],
)
def test_the_check_and_the_lab_are_in_the_domain_of_the_team(
    monkeypatch, tmp_path, variable, line, option, number
):
    monkeypatch.setenv("ROS_DOMAIN_ID", variable)
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "")
    text = f"{TEAM}{line}\n"
    found = listened(monkeypatch, tmp_path, text, domain=option)
    assert found == (number, {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"})
    monkeypatch.setattr(lab, "ensure_interfaces", lambda team: None)
    monkeypatch.setattr(ros_main, "run_nodes", lambda *_: int(os.environ["ROS_DOMAIN_ID"]))
    monkeypatch.setenv("FASTRTPS_DEFAULT_PROFILES_FILE", "")
    assert lab.lab(tmp_path / "team.yaml", domain=option) == number


@pytest.mark.parametrize(
    ("kind", "found"),
    [("multicast", "192.168.1.10;192.168.1.11"), ("server", None)],
)
def test_robots_of_several_hosts_are_looked_for_by_their_addresses(
    monkeypatch, tmp_path, kind, found
):
    text = f"{TEAM}{HOSTS}discovery: {{kind: {kind}}}\n"
    number, settings = listened(monkeypatch, tmp_path, text)
    assert number == 42 and settings.get("ROS_STATIC_PEERS") == found


def test_a_domain_without_anything_of_the_robot_is_named(ros, tmp_path):
    (tmp_path / "lab.yaml").write_text(TEAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    environment["ROS_DOMAIN_ID"] = str(ros.domain)
    process = subprocess.run(
        [sys.executable, "-m", "coterie_cli.cli", "robot", "check", str(tmp_path / "lab.yaml"),
         "--json", "--duration", "1"],
        env=environment, capture_output=True, text=True, timeout=120.0, check=False,
    )  # fmt: skip
    assert process.returncode == 1, process.stderr
    (alone,) = [f for f in json.loads(process.stdout)["findings"] if f["area"] == "domain"]
    reach = os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"]
    where = f"ROS domain {ros.domain} with discovery range {reach}"
    assert alone["text"] == f"nothing of this robot is in {where}"
    assert "ROS_DOMAIN_ID" in alone["remedy"] and "RANGE=SUBNET" in alone["remedy"]


@pytest.mark.parametrize(
    ("base", "state"), [("porter/base_link", "good"), ("porter/body", "bad"), ("base_link", "good")]
)
def test_links_of_the_urdf_have_no_name_of_the_robot_in_front(fetch, base, state):
    told, _ = fetch(f"{{frames: {{base: {base}}}}}")
    links = [f for f in told if "has no link" in f.text]
    assert [f.state for f in links] == [state] * (state == "bad"), told


def test_the_joints_of_an_arm_are_those_of_the_urdf(fetch):
    told, joints = fetch("{frames: {base: porter/base_link}, arm: {backend: trajectory}}")
    assert "shoulder_pan_joint" in joints and not [f for f in told if f.state == "bad"]
    told, joints = fetch("{arm: {backend: trajectory, tip: hook}}")
    assert joints == ()
    assert [f.text for f in told if f.state == "bad"] == ["arm.tip: the URDF has no link 'hook'"]
    assert fetch("{arm: {backend: moveit}}")[1] == ()
