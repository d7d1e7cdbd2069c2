"""`./coterie robot check`: clocks as the adapter takes them, and types of other distributions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")

from geometry_msgs.msg import Twist
from rosgraph_msgs.msg import Clock

from coterie_cli.robot.finding import worst
from coterie_cli.robot.probe import installed_hashes
from coterie_fixtures.checked_robot import bad, found, the, with_settings

pytestmark = pytest.mark.ros
OTHER = "RIHS01_" + 64 * "a"


def test_clocks_that_differ_are_told_with_the_figure(ros):
    findings = found(ros, late=37.0)
    offset = the(findings, "/ada/camera/depth", "behind this computer's clock; at most 3 s")
    assert 36.9 < float(offset.text.split()[2]) < 39.0
    the(findings, "odom", "s old when they come")
    the(findings, "odom -> base_link", "behind this computer's clock; at most 3 s")


def test_amcl_stamps_its_transform_ahead_on_purpose(ros):
    findings = found(ros, ahead={"odom": 1.0})
    assert bad(findings) == [] and worst(findings) == "good", findings
    clock = next(f for f in findings if f.what == "map -> odom")
    assert "ahead of this computer's clock, as localization means it" in clock.text


def test_stamps_that_are_ahead_farther_than_the_adapter_takes(ros):
    ahead = {"odom": 2.5, "base_link": 0.8}
    findings = found(ros, ahead=ahead)
    the(findings, "map -> odom", "ahead of this computer's clock; at most 2 s are taken")
    base = the(findings, "odom -> base_link", "at most 0.5 s are taken")
    assert base.field == "robots.ada.adapter.sensors.max_offset"


def test_stamps_that_are_late_and_taken_are_to_know(ros):
    findings = found(ros, late=0.8)
    assert bad(findings) == []
    late = next(f for f in findings if f.area == "clock" and f.what == "/ada/camera/depth")
    assert late.state == "note" and "they are taken" in late.text


def test_the_clocks_of_other_robots_on_a_shared_tf_do_not_matter(ros):
    others = [("map", "eve/odom"), ("eve/odom", "eve/base_link")]
    own = [("map", "odom"), ("odom", "base_link")]
    ahead = {"eve/odom": 37.0, "eve/base_link": 37.0}
    findings = found(ros, links=own + others, ahead=ahead)
    assert bad(findings) == [] and worst(findings) == "good", findings


@pytest.mark.parametrize(("paused", "text"), [
    (True, "/clock has a publisher that says nothing: is the simulation paused?"),
    (False, "use_sim_time is set and nobody publishes /clock"),
])  # fmt: skip
def test_a_clock_that_is_silent_is_there(ros, paused, text):
    topics = {"clock": (Clock, 5)}
    without = () if paused else ("clock",)
    findings = found(ros, topics=topics, names={"clock": "/clock"}, without=without, paused=True)
    assert [(f.what, f.text) for f in findings if f.area == "clock"] == [("/clock", text)]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Let what is installed here be other definitions than those of the robot's nodes."""
    prefixes = [Path(part) for part in os.environ["AMENT_PREFIX_PATH"].split(os.pathsep)]
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path}:{os.environ['AMENT_PREFIX_PATH']}")

    def install(interface, *changed, but=""):
        """Install one with these types, or as it is but for one part."""
        package, kind, name = interface.split("/")
        file = tmp_path / "share" / package / kind / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        types = [{"type_name": one, "hash_string": OTHER} for one in changed]
        if but:
            files = (prefix / file.relative_to(tmp_path) for prefix in prefixes)
            real = next(one for one in files if one.is_file())
            types = json.loads(real.read_text("utf-8"))["type_hashes"]
            next(t for t in types if t["type_name"] == f"{interface}_{but}")["hash_string"] = OTHER
        file.write_text(json.dumps({"type_hashes": types}))

    return install


def differing(findings):
    told = "/ada/driver has another definition of "
    return {what for what, text in bad(findings) if text.startswith(told)}


def test_types_that_another_distribution_defines_otherwise(ros, here):
    here("sensor_msgs/msg/CameraInfo", "sensor_msgs/msg/CameraInfo")
    here("nav2_msgs/action/Spin", "nav2_msgs/action/Spin_GetResult_Response")
    here("std_srvs/srv/Trigger", "std_srvs/srv/Trigger_Request")
    here("sensor_msgs/msg/Image")  # nothing is known of it
    findings = found(ros)
    assert differing(findings) == {
        "/ada/camera/camera_info", "/ada/spin", "/ada/lifecycle_manager_navigation/is_active"
    }  # fmt: skip
    info = the(findings, "/ada/camera/camera_info", "definition of sensor_msgs/msg/CameraInfo")
    assert info.remedy == "install the same version of sensor_msgs on both computers"


@pytest.mark.parametrize(
    ("spin", "drive", "active"),
    [
        ("GetResult_Response", "SendGoal_Request", "Request"),
        ("FeedbackMessage", "GetResult_Response", "Response"),
    ],
)
def test_servers_of_which_one_part_alone_is_another(ros, here, spin, drive, active):
    here("nav2_msgs/action/Spin", but=spin)
    here("nav2_msgs/action/NavigateToPose", but=drive)
    here("std_srvs/srv/Trigger", but=active)
    assert differing(found(ros)) == {
        "/ada/spin", "/ada/navigate_to_pose", "/ada/lifecycle_manager_navigation/is_active"
    }  # fmt: skip


def test_velocities_that_another_distribution_defines_otherwise(ros, here):
    here("geometry_msgs/msg/Twist", "geometry_msgs/msg/Twist")
    expected = with_settings(navigation={"backend": "velocity", "obstacles": "none"})
    findings = found(ros, expected, listens={"cmd_vel": Twist})
    assert differing(findings) == {"/ada/cmd_vel"}


def test_hashes_of_what_is_installed(tmp_path, monkeypatch):
    spin = installed_hashes("nav2_msgs/action/Spin")
    assert len(spin) > 5 and all(one.startswith("RIHS01_") for one in spin)
    assert installed_hashes("no_msgs/msg/Such") == frozenset()
    (tmp_path / "share/no_msgs/msg").mkdir(parents=True)
    (tmp_path / "share/no_msgs/msg/Such.json").write_text("{}")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    assert installed_hashes("no_msgs/msg/Such") == frozenset()
