"""What stands around a base that takes velocities: points of its laser scan or depth cameras."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from sensor_msgs.msg import LaserScan

from coterie_core.detections import RgbdFrame
from coterie_core.geometry import Pose, heading_axes
from coterie_core.transforms import Matrix, TransformBuffer, TransformError
from coterie_ros import conversions
from coterie_world.perception.frame_join import DepthImage
from coterie_world.perception.registration import CameraModel
from robot_adapters.backends.base import Whereabouts
from robot_adapters.backends.goals import Stopwatch, joined
from robot_adapters.relay import mounted
from robot_adapters.sensing.grid_space import GridSpace
from robot_adapters.sensing.seen import Sight, clear
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
"""Obstacles farther away do not matter yet, or no more [m]."""
_VOXEL = 0.05
"""Of what depth images show, one point is kept in each voxel of this edge [m]."""
_PACK = np.array([1 << 42, 1 << 21, 1])  # makes one number of a voxel's three
_CORNERS = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * _VOXEL
_MOST = 10_000
"""Points that are kept, at most; the nearest stay."""
_BEHIND = 0.17
"""What an image shows so far behind a point lies behind it, with the slack of `clear` [m]."""
_BEHIND_SHARE = 0.02  # more of the distance of the point from the camera
_SIGHT = Sight(near=0.05, far=math.inf)
_IN_VAIN = 5.0
"""What no image shows any more is doubted when the robot has stood before it for so much longer
than a drive waits [s]: so the drive ends first, and somebody hears of it."""
_AHEAD = 0.5
"""Cosine of the angle up to which a camera looks where the robot drives."""
_BODY = 0.8
"""Points within this share of the body's radius are the body's own, or passed."""


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

    A scan replaces the last one. Points of depth images stay while they are near the robot, until
    an image sees through them: a camera does not see what is below its view, or too near. When the
    robot has stood before such a point for a while, it is doubted: somebody may have gone.

    Args:
        node: Whose subscriptions it has.
        settings: Which sensor, and its topic.
        ground: Where the robot is.
        height: Height of the body [m]: what hangs higher is no obstacle.
        radius: Radius of the body [m]: images that show a part of it show no obstacle.
    """

    def __init__(
        self,
        node: AgentNode,
        settings: NavigationSettings,
        ground: Ground,
        height: float,
        radius: float,
    ) -> None:
        self._kind, self._ground = settings.obstacles, ground
        self._height, self._radius = height, radius
        self._topic = joined(settings.namespace, settings.scan)
        self._mount, self._mounted = settings.scan_mount, False
        self._heard: dict[str, Stopwatch] = {}
        self._trouble: dict[str, str] = {}
        self._points: Points = np.zeros((0, 3))
        self._waited = np.zeros(0)  # [s] that the robot has stood before each, unseen
        self._in_vain = settings.stall_timeout + _IN_VAIN
        self._dark: set[str] = set()
        self._node = node
        if self._kind == "scan":
            node.subscribe(LaserScan, self._topic, "sensor_data", self._on_scan, limit=20)
        elif self._kind == "depth":
            ground.on_depth(self._on_depth)

    def blind(self) -> str:
        """Return why it is not known what stands around the robot now; "": it is.

        Each sensor that has been heard must go on: what one sees says nothing of another's side.
        """
        if self._kind == "none":
            return ""
        for name, trouble in self._trouble.items():
            return f"{name}: {trouble}"
        ages = {name: since.elapsed() for name, since in self._heard.items()}
        if not ages:
            what = self._topic if self._kind == "scan" else "the depth images of sensors.cameras"
            return (
                f"nothing came on {what}: name the robot's laser scan in navigation.scan, or let "
                "it see obstacles with its depth camera (navigation.obstacles: depth), or drive "
                "without (none)"
            )
        name = max(ages, key=ages.__getitem__)
        return f"{name}: the newest is {ages[name]:.1f} s old" if ages[name] > _FRESH else ""

    def dark(self) -> str:
        """Return which camera looks ahead and measures no depth at all; "": none.

        It is covered, or something is too near to it: nobody drives then, but may turn away.
        """
        return min(self._dark, default="")

    def around(self, pose: Pose, *, doubted: bool = False) -> Points:
        """Return points (n, 2) in the base frame of a pose in the robot's map [m].

        Args:
            pose: Of the base.
            doubted: Those that may be gone, instead of those that count.
        """
        return self._before(pose, self._points[(self._waited > self._in_vain) == doubted])

    def in_map(self) -> Points:
        """Return all points (n, 3), with those that may be gone, in the robot's map [m]."""
        return self._points

    def stood(self, pose: Pose, reach: float, seconds: float) -> None:
        """Note that the robot stood for a while [s] before what is ahead of it, so near [m]."""
        ahead = self._before(pose, self._points)
        self._waited[(ahead[:, 0] > 0.0) & (np.abs(ahead) < reach).all(axis=1)] += seconds

    def _before(self, pose: Pose, points: Points) -> Points:
        """Return points (n, 3) of the robot's map as (n, 2) in the base frame of a pose [m]."""
        moved = points[:, :2] - np.array(pose.position[:2])
        return np.asarray(moved @ heading_axes(pose.yaw)[:2, :2])

    def _on_scan(self, message: LaserScan) -> None:
        ranges = np.asarray(message.ranges, dtype=np.float64)
        nearest = float(message.range_min)
        most = min(float(message.range_max) or _RANGE, _RANGE)
        first, step = float(message.angle_min), float(message.angle_increment)
        frame = message.header.frame_id
        if self._mount is not None:  # a frame of its own: messages may name that of the base
            frame = f"{self._ground.base_frame}_scanner"
            if not self._mounted:
                self._mounted = True
                place = mounted(self._mount, self._ground.base_frame, frame, optical=False)
                self._ground.on_fixed([place], ours=True)
        if not ((ranges >= nearest) & (ranges > 0.0)).any():  # False for NaN, True for inf
            self._trouble[self._topic] = (
                "no ray measures anything: is the scanner covered, or something too near to it?"
            )
            return
        found = self._placed(self._topic, frame, conversions.time_from_msg(message.header.stamp))
        if found is not None:
            points = scan_points(ranges, first, step, nearest, most)
            self._points = points @ found[0][:3, :3].T + found[0][:3, 3]
            self._waited = np.zeros(len(points))

    def _on_depth(self, camera: str, image: DepthImage, model: CameraModel) -> None:
        name = f"the depth images of {camera}"
        try:
            depth = image.pixels()
        except ValueError as error:
            self._trouble[name] = str(error)
            return
        found = self._placed(name, image.frame, image.time)
        if found is None:
            return
        self._dark.discard(name)
        if (depth > 0.0).any():  # False for NaN, True for inf
            rows, cols = depth.shape
            intrinsics = model.scaled((cols, rows)).intrinsics
            self._remember(RgbdFrame(depth, intrinsics, found[0], time=image.time), found[1])
        elif found[0][:3, 2] @ found[1][:3, 0] > _AHEAD:
            self._dark.add(name)

    def _placed(self, name: str, frame: str, stamp: float) -> tuple[Matrix, Matrix] | None:
        """Return a sensor's frame and the base in the robot's map at a time [s]; None: unknown."""
        tf, there, base = self._ground.transforms, self._ground.map_frame, self._ground.base_frame
        try:
            time = min(stamp, tf.latest(there, frame), tf.latest(there, base))
            placed = tf.lookup(there, frame, time), tf.lookup(there, base, time)
        except TransformError as error:
            self._trouble[name] = str(error)
            return None
        self._trouble.pop(name, None)
        self._heard[name] = Stopwatch(self._node)
        return placed

    def _remember(self, frame: RgbdFrame, base: Matrix) -> None:
        """Take what an image shows; of what was known, what it sees through goes."""
        local = depth_points(frame.depth, frame.intrinsics)
        local = local[local[:, 2] <= _RANGE]
        local = local[np.argsort(local[:, 2])]
        at = frame.camera_to_map
        found = local @ at[:3, :3].T + at[:3, 3]
        stays = ~_seen_through(frame, self._points)
        points = np.concatenate([found, self._points[stays]])
        waited = np.concatenate([np.zeros(len(found)), self._waited[stays]])
        # The first one of a voxel stays: what is seen now, and of that the nearest.
        voxels = np.floor(points / _VOXEL).astype(np.int64) @ _PACK
        first = np.unique(voxels, return_index=True)[1]
        points, waited = points[first], waited[first]
        space = self._ground.space_at((float(at[0, 3]), float(at[1, 3]), float(at[2, 3])))
        above = points[:, 2] - (space.elevation if space is not None else 0.0)
        away = np.hypot(*(points[:, :2] - base[:2, 3]).T)
        counts = (above > _FLOOR) & (above < self._height + 0.1)
        counts &= (away > _BODY * self._radius) & (away <= _RANGE)
        near = np.flatnonzero(counts)
        near = near[np.argsort(away[near])][:_MOST]
        self._points, self._waited = points[near], waited[near]


def _seen_through(frame: RgbdFrame, points: Points) -> npt.NDArray[np.bool_]:
    """Tell which points (n, 3) of the map [m] an image sees through.

    One does not go while a part of its voxel still shows a surface there.
    """
    rays = points - frame.camera_to_map[:3, 3]
    reach = np.maximum(np.linalg.norm(rays, axis=1, keepdims=True), 0.1)
    # Pushed away from the camera: `clear` also tells of what lies on a surface that it is clear.
    push = rays * (_BEHIND / reach + _BEHIND_SHARE)
    gone = clear(frame, points + push, _SIGHT)
    at = np.flatnonzero(gone)
    corners = points[at, None] + _CORNERS
    behind = clear(frame, (corners + push[at, None]).reshape(-1, 3), _SIGHT)
    there = clear(frame, corners.reshape(-1, 3), _SIGHT) & ~behind
    gone[at] = ~there.reshape(-1, len(_CORNERS)).any(axis=1)
    return gone
