"""Parameters of the nodes that make the map from images, by what the team file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coterie_bringup.bodies import robot_body
from coterie_bringup.memory import memory_folder, memory_parameters
from coterie_bringup.node_parameters import (
    bridge_parameters,
    embedder_parameter,
    model_parameter,
    settings_of,
)
from coterie_bringup.team import Team
from robot_adapters.settings import RELAYED, AdapterSettings
from robot_adapters.settings_sensing import CameraSettings
from semantic_mapper.options import MapperSettings


def mapper_parameters(team: Team, run_directory: Path | None) -> dict[str, dict[str, Any]]:
    """Return the parameters of the mapper nodes, by process: one, or one per robot and their sum.

    Nodes are called `mapper`, and `mapper_<robot>` where a robot has its own.
    """
    spec = team.mapper
    if spec is None:
        return {}
    names = [robot.name for robot in team.robots]
    chosen = settings_of(spec, MapperSettings)
    folder = memory_folder(team, run_directory)
    kept = "" if folder is None else str(folder / "map")
    # No map before what is known beforehand is in it: who asks would take it for the whole.
    prior = "nothing" if team.real else bridge_parameters(team)["prior_map"]
    known: dict[str, Any] = {"prior_patience": 10.0} if prior != "nothing" else {}
    if team.real:
        # What adapters pass on: the robots' own topics and frames are as their drivers have them.
        common_topics = {
            "depth_topic": f"{{robot}}/{RELAYED}/{{camera}}/depth/image_raw",
            "info_topic": f"{{robot}}/{RELAYED}/{{camera}}/depth/camera_info",
            "detections_topic": f"{{robot}}/{RELAYED}/{{camera}}/detections",
            "color_topic": f"{{robot}}/{RELAYED}/{{camera}}/color/image_raw",
        }
        cameras_there = [camera for _, camera in _cameras_of(team)]
        if any(camera.detections.in_space for camera in cameras_there):
            common_topics["boxes_topic"] = f"{{robot}}/{RELAYED}/{{camera}}/boxes"
        colored = spec.color and any(camera.color for camera in cameras_there)
        chosen |= {**common_topics, "color": colored}
        known["prior_map"] = "{robot}/prior_map"  # rooms and places that adapters find
    cameras = (
        list(spec.cameras)
        or _real_cameras(team)
        or [
            f"{robot.name}/{camera.name}"
            for robot in team.robots
            for camera in robot_body(team, robot).cameras
        ]
    )
    chosen["embedder"] = embedder_parameter(team, spec.embedder)
    if team.profile(spec.model).vision:
        chosen["model_profile"] = model_parameter(team, spec.model)
    common = {**chosen, **known, "cameras": cameras, "state_directory": kept}
    memory = memory_parameters(team, run_directory)
    if not spec.per_robot:
        return {"mapper": {"mapper": {**common, "robots": names, **memory}}}
    alone = {
        f"mapper.{name}": {f"mapper_{name}": {**common, "robots": [name], "output": name}}
        for name in names
    }
    merged = {"robots": names, "merge": True, "state_directory": kept, **memory}
    return {**alone, "mapper": {"mapper": merged}}


def _real_cameras(team: Team) -> list[str]:
    """Return the cameras of real robots that find things in space; none for simulated ones."""
    if not team.real:
        return []
    return [
        f"{robot}/{camera.name}"
        for robot, camera in _cameras_of(team)
        if camera.detections.in_space or (camera.depth and camera.detections.topic)
    ]


def _cameras_of(team: Team) -> list[tuple[str, CameraSettings]]:
    """Return the cameras of real robots, each with its robot's name."""
    return [
        (robot.name, camera)
        for robot in team.robots
        for camera in (robot.adapter or AdapterSettings()).sensors.all_cameras()
    ]
