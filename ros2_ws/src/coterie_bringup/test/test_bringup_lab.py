"""What a lab is told of a team's robots: their names, frames, maps and starts."""

from __future__ import annotations

import json

import pytest

from coterie_bringup.errors import CommandError
from coterie_bringup.lab import lab_parameters
from coterie_bringup.team import load_team, parse_team

TEAM = """
world: {kind: real}
limits: {area: anywhere}
robots:
  - name: porter
    embodiment: slim
    start: {pose: {x: 1.0, y: 2.0}}
    adapter:
      navigation: {namespace: nav/porter, cmd_vel: /porter_base/cmd_vel, dock: corner}
      arm: {backend: trajectory, group: left, action: left_controller/follow, tip: palm}
      sensors:
        map: slam/map
        cameras:
          - name: eye
            depth: eye/depth
            info: eye/info
            detections: {topic: yolo/boxes, type: vision_msgs/Detection2DArray}
      frames: {tf: /tf, odom: porter/odom, base: porter/base_link}
      in_team_map: {x: 3.0, yaw: 0.5}
  - name: runner
    embodiment: wheels
    adapter: {in_team_map: match, arm: {gripper: {backend: parallel_gripper}}}
"""


def robots_of(team, **options):
    parameters = lab_parameters(team, {"kind": "embedded"}, **options)
    return parameters, {r["name"]: r for r in json.loads(parameters["robots"])}


def test_the_lab_has_the_names_that_the_team_expects():
    parameters, robots = robots_of(parse_team(TEAM))
    porter = robots["porter"]
    names = porter["names"]
    assert names["navigate_to_pose"] == "nav/porter/navigate_to_pose"
    assert names["lifecycle_manager_navigation/is_active"].startswith("nav/porter/")
    assert names["cmd_vel"] == "/porter_base/cmd_vel"
    assert names["left_controller/follow_joint_trajectory"] == "porter/left_controller/follow"
    assert names["map"] == "porter/slam/map"
    assert names["head/depth/image_raw"] == "porter/eye/depth"
    assert names["head/detections"] == "porter/yolo/boxes"
    assert "head/detections_3d" not in names and "joint_states" not in names
    assert (porter["tf"], porter["tip_link"], porter["dock"]) == ("shared", "palm", "corner")
    assert porter["start"] == {"pose": {"x": 1.0, "y": 2.0, "z": 0.0, "yaw": 0.0}}
    assert porter["map_origin"]["x"] == 3.0 and porter["map_origin"]["yaw"] == 0.5
    assert not porter["moveit"] and parameters["clock"] == "wall"


def test_a_map_that_is_to_be_matched_lies_where_the_seed_says():
    team = parse_team(TEAM)
    origins = [robots_of(team, seed=s)[1]["runner"]["map_origin"] for s in (1, 1, 2)]
    assert origins[0] == origins[1] != origins[2]
    runner = robots_of(team)[1]["runner"]
    assert (runner["tf"], runner["gripper"]) == ("shared", "parallel")


def test_the_team_that_comes_with_coterie_finds_its_robots():
    from coterie_bringup.resources import team_file

    parameters, robots = robots_of(load_team(team_file("lab")), pace=3.0)
    assert parameters["clock"] == "sim" and parameters["pace"] == 3.0
    assert {r["tf"] for r in robots.values()} == {"own"}
    assert all(not robot["names"] for robot in robots.values())


def test_cameras_are_played_with_their_mounts_types_and_packed_images():
    text = TEAM.replace(
        "depth: eye/depth\n            info: eye/info",
        "depth: eye/depth/compressedDepth\n            info: eye/info\n"
        "            color: /eye/rgb/compressed\n            mount: {x: 0.1, z: 0.4, pitch: 0.2}",
    ).replace("vision_msgs/Detection2DArray", "yolo_msgs/DetectionArray")
    _, robots = robots_of(parse_team(text))
    porter = robots["porter"]
    assert porter["names"]["head/depth/image_raw"] == "porter/eye/depth"
    assert porter["names"]["head/color/image_raw"] == "/eye/rgb"
    assert porter["detections"] == {"head": "yolo_msgs/DetectionArray"}
    camera = porter["embodiment"]["cameras"][0]
    assert (camera["mount_forward"], camera["mount_height"], camera["pitch"]) == (0.1, 0.4, 0.2)
    with pytest.raises(CommandError, match="porter: eye: mount"):
        robots_of(parse_team(text.replace("x: 0.1", "y: 0.1")))


def test_an_arm_that_nothing_drives_is_none():
    _, robots = robots_of(parse_team(TEAM.replace("backend: trajectory", "backend: none")))
    assert robots["porter"]["embodiment"]["arm"] is None
    assert robots_of(parse_team(TEAM))[1]["porter"]["embodiment"]["arm"] is not None


def test_a_nav2_at_the_root_has_plain_names_and_none_given_is_the_robots_name():
    for root in ("''", "/"):
        text = TEAM.replace("namespace: nav/porter", f"namespace: {root}")
        _, robots = robots_of(parse_team(text))
        names = robots["porter"]["names"]
        assert names["amcl_pose"] == "/amcl_pose" and names["follow_path"] == "/follow_path"
        assert names["map"] == "porter/slam/map"
    assert "amcl_pose" not in robots["runner"]["names"]
