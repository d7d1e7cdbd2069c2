"""What a team file of real robots says, for a lab in a box that plays them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from coterie_bringup.errors import CommandError
from coterie_bringup.node_parameters import robot_body_parameters
from coterie_bringup.team import Team
from coterie_bringup.team_robots import RobotSpec
from robot_adapters.names import joined
from robot_adapters.settings_base import MountSettings
from robot_adapters.settings_sensing import CameraSettings

_NAVIGATION = (
    "navigate_to_pose",
    "compute_path_to_pose",
    "navigate_through_poses",
    "follow_waypoints",
    "follow_path",
    "controller_server/get_parameters",
    "planner_server/get_parameters",
    "speed_limit",
    "spin",
    "backup",
    "drive_on_heading",
    "assisted_teleop",
    "wait",
    "dock_robot",
    "undock_robot",
    "goal_pose",
    "initialpose",
)
_SPREAD = 4.0  # [m] how far apart the maps of robots are that are to be matched


def lab_parameters(
    team: Team,
    world: Mapping[str, Any],
    *,
    faults: Sequence[str | Mapping[str, Any]] = (),
    seed: int = 0,
    pace: float = 1.0,
) -> dict[str, Any]:
    """Return the parameters of a lab's node in which a team finds its robots.

    The robots have the names, topics, actions and frames that the team file expects. Where a
    robot's map lies is what the file says; where it says `match`, the seed decides.

    Args:
        team: The team; robots without an adapter are played with the usual names.
        world: The house: fields of a `WorldSpec`.
        faults: What goes wrong (habitat_bridge.lab.faults).
        seed: Seed of the lab.
        pace: Simulated seconds per second of wall time, where the team's time is simulated.
    """
    robots = [_robot(team, robot, k, seed) for k, robot in enumerate(team.robots)]
    return {
        "world": json.dumps(dict(world), sort_keys=True),
        "robots": json.dumps(robots, sort_keys=True),
        "faults": json.dumps(list(faults)),
        "seed": seed,
        "clock": "sim" if team.simulated_time else "wall",
        "pace": pace,
    }


def _robot(team: Team, robot: RobotSpec, index: int, seed: int) -> dict[str, Any]:
    start = robot.start.model_dump(mode="json", exclude_none=True)
    found = {**robot_body_parameters(team, robot), "name": robot.name, "start": start}
    adapter = robot.adapter
    if adapter is None:
        return found
    navigation, arm, sensors = adapter.navigation, adapter.arm, adapter.sensors
    names: dict[str, str] = {}
    below = partial(joined, robot=robot.name)
    for name in _NAVIGATION:
        names[name] = below(navigation.namespace, name)
    if navigation.action:
        names["navigate_to_pose"] = below(navigation.namespace, navigation.action)
    names["cmd_vel"] = below(navigation.namespace, navigation.cmd_vel or "cmd_vel")
    names["scan"] = below(navigation.namespace, navigation.scan)
    names["amcl_pose"] = below(navigation.namespace, navigation.localization or "amcl_pose")
    manager = navigation.lifecycle or "lifecycle_manager_navigation"
    names["lifecycle_manager_navigation/is_active"] = (
        f"{below(navigation.namespace, manager)}/is_active"
    )
    names["map"] = below(None, sensors.map or "map")
    tf = below(None, adapter.frames.tf)
    names |= {"tf": tf, "tf_static": f"{tf}_static"}
    names["battery_state"] = below(None, sensors.battery or "battery_state")
    names["joint_states"] = below(arm.namespace, arm.joint_states)
    trajectory = f"{arm.group}_controller/follow_joint_trajectory"
    usual = {"moveit": "move_action", "trajectory": trajectory}.get(arm.backend)
    if usual is not None:
        names[usual] = below(arm.namespace, arm.action or usual)
    if arm.scene:
        names["apply_planning_scene"] = below(arm.namespace, arm.scene)
        names["get_planning_scene"] = below(arm.namespace, arm.scene_told)
    names["gripper_controller/gripper_cmd"] = below(arm.namespace, arm.gripper.action)
    detections: dict[str, str] = {}
    for one, own in zip(sensors.all_cameras(), found["embodiment"]["cameras"], strict=False):
        names |= _camera_names(one, camera := own["name"], below)
        if one.mount is not None:
            own |= _mounted(one.mount, f"robots: {robot.name}: {one.name}")
        if one.detections.topic:
            detections[camera] = one.detections.type
        if one.detections.detector:  # which looks at the lab's images itself
            names[f"{camera}/detections"] = below(None, f"{camera}/of_the_lab")
            detections.pop(camera)
    return {
        **found,
        "names": {name: value for name, value in names.items() if value != f"{robot.name}/{name}"},
        "detections": detections,
        "frames": {
            "map": adapter.frames.map,
            "odom": adapter.frames.odom or "odom",
            "base_link": adapter.frames.base,
        },
        "tf": "shared" if adapter.frames.tf == "/tf" else "own",
        "map_origin": _map_origin(adapter.in_team_map, index, seed),
        "arm_group": arm.group,
        "tip_link": "" if arm.backend == "none" else arm.tip,
        "gripper": "parallel" if arm.gripper.backend == "parallel_gripper" else "gripper_command",
        "moveit": arm.backend != "trajectory",
        "dock": navigation.dock or "home",
        "stamped_velocity": navigation.stamped_velocity,
    }


def _camera_names(
    camera: CameraSettings, own: str, below: Callable[[None, str], str]
) -> dict[str, str]:
    """Return the names of a camera's topics by those of the lab's; packed images are beside."""
    usual = "detections_3d" if camera.detections.in_space else "detections"
    given = {
        f"{own}/depth/image_raw": camera.depth.removesuffix("/compressedDepth"),
        f"{own}/depth/camera_info": camera.info,
        f"{own}/color/image_raw": camera.color.removesuffix("/compressed"),
        f"{own}/{usual}": camera.detections.topic,
    }
    return {name: below(None, topic) for name, topic in given.items() if topic}


def _mounted(mount: MountSettings, where: str) -> dict[str, float]:
    """Return where a camera of the lab sits.

    Raises:
        CommandError: Somewhere that no camera of the lab does.
    """
    if mount.y or mount.roll or mount.yaw:
        raise CommandError(
            f"{where}: mount: the lab's cameras are in the middle and look straight ahead; play it "
            "with y, roll and yaw of 0"
        )
    return {"mount_forward": mount.x, "mount_height": mount.z, "pitch": mount.pitch}


def _map_origin(given: Any, index: int, seed: int) -> dict[str, float]:
    if given != "match":
        return {"x": given.x, "y": given.y, "z": given.z, "yaw": given.yaw}
    if index == 0:
        return {"x": 0.0, "y": 0.0}
    rng = np.random.default_rng([seed, index])
    x, y = rng.uniform(-_SPREAD, _SPREAD, 2).round(2).tolist()
    return {"x": x, "y": y, "yaw": round(float(rng.uniform(-3.1, 3.1)), 3)}
