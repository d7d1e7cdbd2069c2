"""The team files of robots that labs have, each played by the lab in a box as it is written."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("yolo_msgs")

from coterie_core.skills import NavigateTo
from coterie_fixtures.lab_rig import LabRig

pytestmark = [pytest.mark.ros, pytest.mark.slow]

TEAMS = Path(__file__).resolve().parents[2] / "config" / "teams"
THERE = NavigateTo(position=(2.6, 2.0, 0.0), yaw=math.pi)


def played(ros, name: str) -> tuple[LabRig, str, set[str]]:
    """Play a team's only robot, where it stands in a house of two rooms; return its topics, too."""
    text = (TEAMS / f"{name}.yaml").read_text("utf-8")
    rig = LabRig(
        ros, text.replace("    embodiment:", "    start: {pose: {x: 1.3, y: 1.3}}\n    embodiment:")
    )
    (robot,) = rig.adapters
    rig.wait_ready()
    return rig, robot, {topic for topic, _ in rig.node.get_topic_names_and_types()}


@pytest.mark.parametrize(
    ("name", "topics"),
    [
        ("turtlebot4", {"/cmd_vel", "/amcl_pose", "/map", "/camera/camera/color/image_raw"}),
        ("stretch3", {"/stretch/cmd_vel", "/battery", "/camera/aligned_depth_to_color/image_raw"}),
        ("spot", {"/spot/cmd_vel", "/spot/depth_registered/hand/image"}),
    ],
)
def test_it_drives_and_tells_what_its_yolo_sees(ros, name, topics):
    rig, robot, found = played(ros, name)
    assert topics | {"/yolo/detections"} <= found
    ended = rig.end(THERE, robot, timeout=120.0)
    assert ended.ok, ended.reason
    assert math.dist(rig.world.state(robot).pose.position[:2], THERE.position[:2]) < 0.3
    things = [(one.label.top, one.box.center) for one in rig.world.truth().objects.values()]

    def told() -> bool:
        seen = [found for each in rig.seen[robot] for found in each.detections]
        return any(
            found.label == label
            and math.dist((found.box.center.x, found.box.center.y), at[:2]) < 0.6
            for found in seen
            for label, at in things
        )

    ros.spin_until(told, timeout=90.0, what="a thing told where it is")
