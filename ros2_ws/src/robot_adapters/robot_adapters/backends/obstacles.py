"""What stands around a base that takes velocities: points of its laser scan or depth cameras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sensor_msgs.msg import LaserScan

from coterie_core.geometry import Pose, heading_axes
from coterie_core.transforms import TransformBuffer, TransformError
from coterie_ros import conversions
from robot_adapters.backends.base import Whereabouts
from robot_adapters.backends.goals import Stopwatch, joined
from robot_adapters.placing import mounted
from robot_adapters.sensing.camera import CameraModel, DepthImage
from robot_adapters.sensing.grid_space import GridSpace
from robot_adapters.steering import Points, depth_points, scan_points

if TYPE_CHECKING:
    from collections.abc import Callable

    from coterie_core.geometry import Vec3
    from coterie_ros.agent_node import AgentNode
    from robot_adapters.settings_motion import NavigationSettings

_FRESH = 1.0
"""How old the newest scan or image may be while the robot drives [s]."""
_FLOOR = 0.08
"""Points of depth images lower than this above the floor are the floor [m]."""
_RANGE = 4.0
"""Obstacles farther away do not matter yet [m]."""
_NONE: Points = np.zeros((0, 3))


class Ground(Whereabouts, Protocol):
    """Where the robot is, and the ground that it drives on."""

    transforms: TransformBuffer

    def space_at(self, position: Vec3) -> GridSpace | None:
        """Return the floor at a point of the robot's map [m]; None: no map came."""
        ...

    def on_fixed(self, transforms: Any, *, ours: bool = False) -> None:
        """Take transforms that hold at all times; ours: which the robot itself does not tell."""
        ...

    def on_depth(self, callback: Callable[[str, DepthImage, CameraModel], object]) -> None:
        """Call something, in the loop, with every depth image, its camera's name and model."""
        ...


class Obstacles:
    """Points that a robot's sensors see, in its map.

    Args:
        node: Whose subscriptions it has.
        settings: Which sensor, and its topic.
        ground: Where the robot is.
        height: Height of the body [m]: what hangs higher is no obstacle.
    """

    def __init__(
        self, node: AgentNode, settings: NavigationSettings, ground: Ground, height: float
    ) -> None:
        self._kind, self._ground, self._height = settings.obstacles, ground, height
        self._topic = joined(settings.namespace, settings.scan)
        self._mount, self._mounted = settings.scan_mount, ""
        self._seen: dict[str, tuple[Stopwatch, Points]] = {}
        self._trouble = ""
        self._node = node
        if self._kind == "scan":
            node.subscribe(LaserScan, self._topic, "sensor_data", self._on_scan, limit=20)
        elif self._kind == "depth":
            ground.on_depth(self._on_depth)

    def blind(self) -> str:
        """Return why it is not known what stands around the robot now; "": it is."""
        if self._kind == "none":
            return ""
        what = self._topic if self._kind == "scan" else "the depth images of sensors.cameras"
        if self._trouble:
            return f"{what}: {self._trouble}"
        age = min((since.elapsed() for since, _ in self._seen.values()), default=None)
        if age is None:
            return (
                f"nothing came on {what}: name the robot's laser scan in navigation.scan, or let "
                "it see obstacles with its depth camera (navigation.obstacles: depth), or drive "
                "without (none)"
            )
        return f"{what}: the newest is {age:.1f} s old" if age > _FRESH else ""

    def around(self, pose: Pose) -> Points:
        """Return the points (n, 2) that count, in the base frame of a pose in the robot's map."""
        points = self.in_map()
        if not len(points):
            return points[:, :2]
        moved = points[:, :2] - np.array(pose.position[:2])
        return np.asarray(moved @ heading_axes(pose.yaw)[:2, :2])

    def in_map(self) -> Points:
        """Return the points (n, 3) that count, in the robot's map."""
        fresh = [points for since, points in self._seen.values() if since.elapsed() <= _FRESH]
        return np.concatenate(fresh) if fresh else _NONE

    def _on_scan(self, message: LaserScan) -> None:
        most = min(float(message.range_max) or _RANGE, _RANGE)
        points = scan_points(
            np.asarray(message.ranges, dtype=np.float64),
            float(message.angle_min), float(message.angle_increment),
            float(message.range_min), most,
        )  # fmt: skip
        frame = message.header.frame_id
        if self._mount is not None:
            frame = frame or "scanner"
            if self._mounted != frame:
                self._mounted = frame
                place = mounted(self._mount, self._ground.base_frame, frame, optical=False)
                self._ground.on_fixed([place], ours=True)
        self._keep("scan", points, frame, conversions.time_from_msg(message.header.stamp))

    def _on_depth(self, camera: str, image: DepthImage, model: CameraModel) -> None:
        try:
            depth = image.pixels()
        except ValueError as error:
            self._trouble = str(error)
            return
        rows, cols = depth.shape
        points = depth_points(depth, model.scaled((cols, rows)).intrinsics)
        self._keep(camera, points[points[:, 2] <= _RANGE], image.frame, image.time)

    def _keep(self, name: str, points: Points, frame: str, stamp: float) -> None:
        """Take points of a frame at a time [s] into the robot's map."""
        ground = self._ground
        try:
            newest = ground.transforms.latest(ground.map_frame, frame)
            at = ground.transforms.lookup(ground.map_frame, frame, min(stamp, newest))
        except TransformError as error:
            self._trouble = str(error)
            return
        self._trouble = ""
        found = points @ at[:3, :3].T + at[:3, 3]
        if self._kind == "depth":
            here = (float(at[0, 3]), float(at[1, 3]), float(at[2, 3]))
            space = ground.space_at(here)
            floor = space.elevation if space is not None else 0.0
            above = found[:, 2] - floor
            found = found[(above > _FLOOR) & (above < self._height + 0.1)]
        self._seen[name] = (Stopwatch(self._node), found)
