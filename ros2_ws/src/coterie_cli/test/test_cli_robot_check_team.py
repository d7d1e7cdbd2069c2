"""`./coterie robot check`: the domain that the team will run in, and what its URDF tells."""

from __future__ import annotations

import dataclasses
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
from coterie_cli.robot.expected import expected_of
from coterie_cli.robot.facts import Facts, FrameLink
from coterie_cli.robot.findings import judge
from coterie_ros import main as ros_main
from robot_adapters.settings import AdapterSettings

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
        tmp_path / "team.yaml", robot=None, duration=0.1, domain=domain, as_json=True
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


def of_team(robot, *others, namespace="", **sections):
    """Return what is expected of a robot of a team."""
    expected = expected_of(robot, AdapterSettings.model_validate(sections), namespace)
    return dataclasses.replace(expected, team=(robot, *others))


@pytest.mark.parametrize(
    ("there", "base", "told"),
    [
        (["beta/base_footprint", "alpha/base_footprint"], "base_footprint", "alpha/base_footprint"),
        (["alpha/base_link", "base_footprint_2"], "base_footprint", "alpha/base_link"),
        (["beta/base_footprint"], "base_footprint", ""),
        (["beta_base_footprint", "alpha_base_footprint"], "base_footprint", "alpha_base_footprint"),
        (["alpha_2/base_link", "body/base_link"], "base_link", "body/base_link"),
        (["alpha/base_footprint"], "alpha/base_link", "alpha/base_footprint"),
        (["base_footprint"], "base_link", "base_footprint"),
    ],
)
def test_no_frame_of_another_robot_is_suggested(there, base, told):
    expected = of_team("alpha", "beta", "alpha_2", frames={"base": base})
    facts = Facts(links={name: FrameLink({"map"}) for name in there})
    (text,) = [f.text for f in judge(expected, facts) if f.what == base]
    assert text == f"no transform of {base!r} came" + (f"; there is {told!r}" if told else "")


TRIGGER, BOOL = "std_srvs/srv/Trigger", "std_srvs/srv/SetBool"
OWN = {
    "{0}/beta/dock": TRIGGER, "{0}/train": TRIGGER, "{0}/beta/stop": BOOL,
    "{0}/beta/navigate_to": "coterie_msgs/action/NavigateTo",
    "{0}/beta/manipulate": "coterie_msgs/action/Manipulate",
    "{0}/beta/spin_/_action/cancel_goal": "nav2_msgs/action/Spin",
    "{0}/alpha/spin": "nav2_msgs/action/Spin",
    "{0}/alpha/lifecycle_manager_navigation/is_active": TRIGGER,
}  # fmt: skip
HEARD = {
    "{0}/beta/team/front/depth/image_raw": "sensor_msgs/msg/Image",
    "{0}/beta/team/front/color/image_raw": "sensor_msgs/msg/Image",
    "{0}/semantic_map/grid/ground": "nav_msgs/msg/OccupancyGrid",
    "{0}/alpha/map": "nav_msgs/msg/OccupancyGrid",
}


@pytest.mark.parametrize("namespace", ["", "lab"])
@pytest.mark.parametrize("backend", ["nav2", "skills"])
def test_what_coterie_or_another_robot_has_is_not_suggested(namespace, backend):
    sections = {"sensors": {"depth": "camera/depth", "info": "camera/info"},
                "navigation": {"backend": backend, "look_around": "spin"}}  # fmt: skip
    expected = of_team("beta", "alpha", namespace=namespace, **sections)
    space = f"/{namespace}" if namespace else ""

    def told(**more):
        servers = {name.format(space): (kind,) for name, kind in OWN.items()}
        topics = {name.format(space): (kind,) for name, kind in HEARD.items()}
        servers |= more.get("servers", {})
        findings = judge(expected, Facts(all_topics=topics, all_servers=servers))
        return [f.text for f in findings if "is it meant" in f.text or "there is /" in f.text]

    assert told() == []
    if backend == "nav2":
        more = {f"{space}/beta/manager/is_active": (TRIGGER,), f"{space}/beta/spin2": ("a/b/C",)}
        hints = " ".join(told(servers=more))
        assert "/beta/manager/is_active has this type" in hints
        assert f"there is {space}/beta/spin2" in hints


def test_the_check_knows_all_robots_of_the_team(monkeypatch, tmp_path):
    known: list = []

    def listen(team, expected, *args, **options):
        known.extend(expected)
        return []

    monkeypatch.setattr(checking, "_listen", listen)
    monkeypatch.setattr(checking, "ensure_interfaces", lambda team: None)
    text = (
        TEAM + "  - name: eve\n    embodiment: slim\n    adapter: {navigation: {backend: none}}\n"
    )
    (tmp_path / "team.yaml").write_text(text)
    checking.check(tmp_path / "team.yaml", robot=["ada"], duration=0.1, domain=7, as_json=True)
    assert [(one.robot, one.team) for one in known] == [("ada", ("ada", "eve"))]
