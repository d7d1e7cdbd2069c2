"""What RViz shows of a team: a configuration made from the team file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from coterie_bringup.bodies import robot_body
from coterie_bringup.team import Team
from coterie_core.colors import robot_colors
from coterie_core.files import write_atomically

FIXED_FRAME = "map"


@dataclass(frozen=True, slots=True)
class Qos:
    """Quality of service of a display, in RViz's words."""

    reliable: bool = True
    latched: bool = False
    depth: int = 5

    def topic(self, name: str) -> dict[str, Any]:
        """Return the property `Topic` of a display."""
        return {
            "Depth": self.depth,
            "Durability Policy": "Transient Local" if self.latched else "Volatile",
            "History Policy": "Keep Last",
            "Reliability Policy": "Reliable" if self.reliable else "Best Effort",
            "Value": name,
        }


LATCHED = Qos(latched=True, depth=1)
"""For maps, so that an RViz that comes late still sees them."""
SENSOR = Qos(reliable=False)


def rviz_config(
    robots: Sequence[str],
    *,
    namespace: str = "",
    floors: Sequence[str] = ("floor_0",),
    cameras: Mapping[str, Sequence[str]] | None = None,
    mapped: bool = True,
    per_robot: bool = False,
) -> dict[str, Any]:
    """Return a configuration of RViz: the semantic map, and every robot.

    Args:
        robots: Their names.
        namespace: The team's ROS namespace.
        floors: Parts of the topics of the grids, one per storey, lowest first.
        cameras: Robot -> names of its cameras; None: one called `camera` each.
        mapped: Whether there is a semantic map.
        per_robot: Whether each robot has one: then floor plans and points are the robots' own, off
            but for the first robot's, and only things and rooms are the team's.
    """
    base = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
    ground = {"Cell Size": 1, "Plane Cell Count": 40, "Color": "160; 160; 164"}
    frames = {"Marker Scale": 0.4, "Show Names": False}
    shown = [
        _display("Grid", "Ground", ground),
        _display("TF", "Frames", frames, enabled=False),
    ]
    if mapped:
        pictures = [] if per_robot else _picture_displays(f"{base}semantic_map", floors)
        shown.append(_group("Semantic map", [*pictures, *_map_displays(base)]))
    colors = robot_colors(robots)
    for k, robot in enumerate(robots):
        names = (cameras or {}).get(robot, ("camera",))
        color = "; ".join(str(v) for v in bytes.fromhex(colors[robot][1:]))
        displays = _robot_displays(base, robot, names, color)
        if mapped and per_robot:
            displays += _picture_displays(f"{base}{robot}/semantic_map", floors, enabled=k == 0)
        shown.append(_group(robot, displays))
    return {
        "Panels": [
            {"Class": "rviz_common/Displays", "Name": "Displays"},
            {"Class": "rviz_common/Views", "Name": "Views"},
            {"Class": "rviz_common/Time", "Name": "Time"},
        ],
        "Visualization Manager": {
            "Class": "",
            "Displays": shown,
            "Enabled": True,
            "Global Options": {
                "Background Color": "48; 48; 48",
                "Fixed Frame": FIXED_FRAME,
                "Frame Rate": 30,
            },
            "Name": "root",
            "Tools": [
                {"Class": "rviz_default_plugins/MoveCamera"},
                {"Class": "rviz_default_plugins/Select"},
                {"Class": "rviz_default_plugins/FocusCamera"},
                {"Class": "rviz_default_plugins/Measure"},
            ],
            "Value": True,
            "Views": {
                "Current": {
                    "Class": "rviz_default_plugins/Orbit",
                    "Distance": 18.0,
                    "Focal Point": {"X": 5.0, "Y": 4.0, "Z": 0.0},
                    "Name": "Current View",
                    "Pitch": 1.0,
                    "Target Frame": "<Fixed Frame>",
                    "Value": "Orbit (rviz_default_plugins)",
                    "Yaw": 4.5,
                },
                "Saved": None,
            },
        },
        "Window Geometry": {"Width": 1600, "Height": 1000},
    }


def team_config(team: Team) -> dict[str, Any]:
    """Return the configuration for a team: its robots, cameras and storeys."""
    cameras = {
        robot.name: [camera.name for camera in robot_body(team, robot).cameras]
        for robot in team.robots
    }
    # A world that does not say how many storeys it has may have two: an empty display does no harm.
    floors = [f"floor_{k}" for k in range(team.world.floors or 2)]
    if team.mapper is not None and team.leader is None and team.mapper.prior_map == "nothing":
        floors = ["ground"]  # the mapper's name for the floor of a place that it knows nothing of
    names = [robot.name for robot in team.robots]
    return rviz_config(
        names,
        namespace=team.namespace,
        floors=floors,
        cameras=cameras,
        mapped=team.mapper is not None,
        per_robot=team.mapper is not None and team.mapper.per_robot,
    )


def write_config(config: Mapping[str, Any], path: Path) -> None:
    """Write a configuration.

    Raises:
        OSError: The folder does not exist, or cannot be written.
    """
    write_atomically(path, yaml.safe_dump(dict(config), sort_keys=False, width=100))


def topics(config: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return topic -> (class of the display, the property `Topic`) of everything it shows."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}

    def walk(displays: Sequence[Mapping[str, Any]]) -> None:
        for display in displays:
            walk(display.get("Displays", ()))
            for key in ("Topic", "Description Topic"):
                if key in display:
                    found[display[key]["Value"]] = (display["Class"], display[key])

    walk(config["Visualization Manager"]["Displays"])
    return found


def _map_displays(base: str) -> list[dict[str, Any]]:
    rooms = {"Topic": LATCHED.topic(f"{base}semantic_map/rooms")}
    objects = {"Topic": LATCHED.topic(f"{base}semantic_map/markers")}
    return [
        _display("MarkerArray", "Rooms", rooms),
        _display("MarkerArray", "Objects", objects),
    ]


def _picture_displays(
    topic: str, floors: Sequence[str], *, enabled: bool = True
) -> list[dict[str, Any]]:
    """Floor plans and points of the map on a topic."""
    grids = [
        _display(
            "Map",
            f"Floor plan, {floor}",
            {
                "Topic": LATCHED.topic(f"{topic}/grid/{floor}"),
                "Alpha": 0.7,
                "Color Scheme": "map",
                "Draw Behind": True,
            },
            # One storey at a time: grids of several lie on top of one another seen from above.
            enabled=enabled and k == 0,
        )
        for k, floor in enumerate(floors)
    ]
    points = {
        "Topic": LATCHED.topic(f"{topic}/points"),
        "Style": "Flat Squares",
        "Size (m)": 0.02,
        "Color Transformer": "RGB8",
        "Decay Time": 0,
    }
    return [*grids, _display("PointCloud2", "Points of objects", points, enabled=enabled)]


def _robot_displays(
    base: str, robot: str, cameras: Sequence[str], color: str
) -> list[dict[str, Any]]:
    # Images and depth are rendered only while somebody looks at them: off until they are wanted.
    images = [
        _display(
            "Image",
            f"{robot}/{camera}",
            {"Topic": SENSOR.topic(f"{base}{robot}/{camera}/color/image_raw")},
            enabled=False,
        )
        for camera in cameras
    ]
    model = {
        "Description Source": "Topic",
        "Description Topic": LATCHED.topic(f"{base}{robot}/robot_description"),
        "TF Prefix": robot,
    }
    way = {
        "Topic": SENSOR.topic(f"{base}{robot}/odom"),
        "Keep": 200,
        "Position Tolerance": 0.2,
        "Angle Tolerance": 0.5,
        "Shape": {"Value": "Arrow", "Color": color, "Shaft Length": 0.15, "Head Length": 0.08},
        "Covariance": {"Value": False},
    }
    points = {
        "Topic": SENSOR.topic(f"{base}{robot}/scan_points"),
        "Size (m)": 0.02,
        "Color Transformer": "AxisColor",
    }
    return [
        _display("RobotModel", "Model", model),
        _display("Odometry", "Way", way),
        *images,
        _display("PointCloud2", "Depth points", points, enabled=False),
    ]


def _display(
    kind: str, name: str, properties: Mapping[str, Any], *, enabled: bool = True
) -> dict[str, Any]:
    return {
        "Class": f"rviz_default_plugins/{kind}",
        "Name": name,
        "Enabled": enabled,
        "Value": enabled,
        **properties,
    }


def _group(name: str, displays: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "Class": "rviz_common/Group",
        "Name": name,
        "Enabled": True,
        "Displays": displays,
    }
