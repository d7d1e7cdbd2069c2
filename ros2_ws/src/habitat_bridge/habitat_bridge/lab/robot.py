"""One robot of the lab on ROS: its frames, odometry, map, scanner, joints and battery."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, TransformStamped
from nav_msgs.msg import OccupancyGrid, Odometry
from sensor_msgs.msg import BatteryState, JointState, LaserScan
from std_msgs.msg import Header, String

from coterie_core.geometry import Pose, compose, relative
from coterie_core.urdf.tree import Tree
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from habitat_bridge.embedded.body import Body
from habitat_bridge.embedded.floor_map import seen_from
from habitat_bridge.embedded.laser import laser_of
from habitat_bridge.lab.faults import Fault, Faults
from habitat_bridge.lab.plant import Plant
from habitat_bridge.lab.settings import LabRobot
from habitat_bridge.links import Link, posed_links, values_at_rest
from habitat_bridge.sim_thread import SimThread
from habitat_bridge.simulator import RobotState
from tf2_msgs.msg import TFMessage

_ORIGIN = Pose((0.0, 0.0, 0.0))
_GOOD = 0.05  # [m] of a localization that works
_GOOD_YAW = 0.03  # [rad]

T = TypeVar("T")
_PERIODS = {"odom": 0.05, "scan": 0.2, "joints": 0.1, "slow": 1.0}  # [s] of simulated time
_ENDURANCE = 4 * 3600.0  # [s] that a full battery lasts
_CHARGE_TIME = 1800.0  # [s]
_LEFT_DOCK = 0.3  # [m]


@dataclass(slots=True)
class Localization:
    """A robot's belief about where it is.

    The house has a frame that nobody in the lab knows; each robot has a map of its own in it.

    Attributes:
        map_origin: The robot's map frame in the house.
        start: Where its odometry began, in the house.
        error: Pose of the true map frame in the believed one: nothing while localization works.
        deviation: Standard deviation of the believed position [m].
    """

    map_origin: Pose
    start: Pose
    error: Pose = _ORIGIN
    deviation: float = _GOOD

    @property
    def yaw_deviation(self) -> float:
        """Standard deviation of the believed heading [rad]."""
        return _GOOD_YAW if self.deviation <= _GOOD else math.pi / 2.0

    def believed(self, pose: Pose) -> Pose:
        """Return the pose in the robot's map that it believes to have at a pose in the house."""
        return compose(self.error, relative(self.map_origin, pose))

    def true(self, pose: Pose) -> Pose:
        """Return the pose in the house that belongs to a believed one in the robot's map."""
        return compose(self.map_origin, relative(self.error, pose))

    def odometry(self, pose: Pose) -> Pose:
        """Return a pose in the house in the odometry frame."""
        return relative(self.start, pose)

    def map_to_odom(self) -> Pose:
        """Return the odometry frame in the robot's map, as its localization corrects it."""
        return self.believed(self.start)

    def jump(self, distance: float) -> None:
        """Err by a distance [m] from now on."""
        self.error = Pose((0.8 * distance, -0.6 * distance, 0.0), 0.0)

    def believe(self, believed: Pose, pose: Pose) -> None:
        """Believe a pose from now on that a person tells (initialpose), at one in the house."""
        seen = relative(self.map_origin, pose)
        self.error = compose(believed, relative(seen, _ORIGIN))
        self.deviation = _GOOD

    def recover(self) -> None:
        """Be right again."""
        self.error, self.deviation = _ORIGIN, _GOOD


class BadGoal(ValueError):
    """A goal that the server cannot do anything with: its frame or its numbers."""


class LabHost(AgentNode):
    """A node whose topics the robots of a lab use.

    Attributes:
        faults: What goes wrong.
        thread: The world's thread.
        plant: The world.
        wall: Whether stamps are of the time of day.
    """

    faults: Faults
    thread: SimThread
    plant: Plant
    wall: bool

    def clock_time(self) -> float:
        """Return the time that stamps are of [s]: simulated, or the time of day."""
        return time.time() if self.wall else self.plant.world.time


class LabRobotNode:
    """What a robot of the lab publishes, and what its servers need.

    Args:
        node: Whose topics they are.
        plant: The world.
        settings: The robot.
        urdf: Its description.
        tree: The same, read.
        state: Where it starts.
    """

    def __init__(
        self,
        node: LabHost,
        plant: Plant,
        settings: LabRobot,
        urdf: str,
        tree: Tree,
        state: RobotState,
    ) -> None:
        self.node = node
        self.plant = plant
        self.settings = settings
        self.name = settings.name
        self.embodiment = settings.embodiment
        self.localization = Localization(settings.origin, state.pose)
        self.dock = state.pose
        self.charging = False
        self.charge = 1.0
        self.state = state
        self.urdf = urdf
        self._tree = tree
        self._moves = {
            frozenset((joint.parent, joint.child)): joint.axial for joint in tree.joints.values()
        }
        self._posed: tuple[dict[str, float], list[Link]] = ({}, posed_links(tree, {}))
        self._rest = values_at_rest(tree)
        self._laser = laser_of(tree)
        topic, own = settings.topic, settings.tf == "own"
        publisher = node.publisher
        self._tf = publisher(TFMessage, topic("tf") if own else "/tf", "tf")
        self._tf_static = publisher(
            TFMessage, topic("tf_static") if own else "/tf_static", "tf_static"
        )
        self._odom = publisher(Odometry, topic("odom"), "odometry")
        self._amcl = publisher(PoseWithCovarianceStamped, topic("amcl_pose"), "latched")
        self._map = publisher(OccupancyGrid, topic("map"), "latched")
        self._scan = publisher(LaserScan, topic("scan"), "sensor_data") if self._laser else None
        self._joint_states = publisher(JointState, topic("joint_states"), "odometry")
        self._battery = publisher(BatteryState, topic("battery_state"), "odometry")
        self._description = publisher(String, topic("robot_description"), "latched")
        self._due = dict.fromkeys(_PERIODS, 0.0)
        self._floor = -1
        self._jumped = False

    # -- what servers ask ------------------------------------------------------------------------

    @property
    def body(self) -> Body:
        """The robot in the world; for the world's thread."""
        return self.plant.body(self.name)

    @property
    def time(self) -> float:
        """Simulated time [s], which faults go by."""
        return self.plant.world.time

    @property
    def stamp(self) -> float:
        """The robot's own clock [s]."""
        off = self.suffers("clock_off")
        return max(self.node.clock_time() + (off.size if off else 0.0), 0.0)

    @property
    def without_pose(self) -> bool:
        """Whether nobody can tell where the robot is on its map."""
        return bool(self.suffers("tf_missing") or self.suffers("tf_stale"))

    def suffers(self, kind: str) -> Fault | None:
        """Return the fault of a kind that the robot has now."""
        return self.node.faults.active(self.name, kind, self.time)

    def strike(self, group: str) -> Fault | None:
        """Count a goal, and return the fault that strikes it."""
        return self.node.faults.strike(self.name, group, self.time)

    def post(self, work: Callable[[], object]) -> None:
        """Have something done in the world's thread."""
        self.node.thread.post(work)

    async def in_world(self, work: Callable[[], T]) -> T:
        """Have something done in the world's thread, and return what comes of it."""
        return await self.node.loop.elsewhere(self.post, work)

    def header(self, frame: str) -> Header:
        """Return a header of now, by the robot's own clock."""
        return conversions.header(self.stamp, frame)

    def pose_stamped(self, pose: Pose) -> PoseStamped:
        """Return a pose in the robot's map as a message."""
        return PoseStamped(
            header=self.header(self.settings.map_frame), pose=conversions.pose_to_msg(pose)
        )

    def in_house(self, pose: Pose, frame: str) -> Pose:
        """Return the pose in the house of a pose in one of the robot's frames, without its tilt.

        Raises:
            BadGoal: The robot has no such frame.
        """
        named = frame.lstrip("/")
        if named == self.settings.map_frame:
            return self.localization.true(pose)
        if named == self.settings.frame("odom"):
            return compose(self.localization.start, pose)
        if named in (self.settings.frame("base_link"), self.settings.frame("base_footprint")):
            return compose(self.state.pose, pose)
        raise BadGoal(f"no frame {frame!r} in tf")

    # -- publishing, in the world's thread ---------------------------------------------------------

    def begin(self) -> None:
        """Publish what is latched."""
        self._description.publish(String(data=self.urdf))
        self._tf_static.publish(TFMessage(transforms=self._links({}, moving=False)))
        self.publish_map()

    def step(self, state: RobotState) -> None:
        """Publish what a moment brought."""
        self.state = state
        self._wear(state)
        self._suffer()
        if self.suffers("link_cut"):
            return
        if self._is_due("odom"):
            self._publish_motion(state)
        if self._is_due("joints"):
            values = self._positions()
            self._joint_states.publish(conversions.joint_states_to_msg(values, self.header("")))
        if self._scan is not None and self._is_due("scan") and self._scan.subscribers:
            self._publish_scan()
        if self._is_due("slow"):
            self._publish_slow(state)

    def _is_due(self, what: str) -> bool:
        if self.time + 1e-9 < self._due[what]:
            return False
        self._due[what] = self.time + _PERIODS[what]
        return True

    def _wear(self, state: RobotState) -> None:
        passed = 1.0 / self.node.parameters["rate"]
        if self.charging and math.dist(state.pose.position, self.dock.position) > _LEFT_DOCK:
            self.charging = False
        rate = 1.0 / _CHARGE_TIME if self.charging else -1.0 / _ENDURANCE
        self.charge = min(max(self.charge + passed * rate, 0.0), 1.0)

    def _suffer(self) -> None:
        """Do what faults do to localization and hand."""
        lost, jumps = self.suffers("localization_lost"), self.suffers("localization_jumps")
        if lost is not None:
            self.localization.deviation = lost.size
        if jumps is not None and not self._jumped:
            self.localization.jump(jumps.size)
        if (self._jumped and jumps is None) or (lost is None and self.localization.deviation > 0.1):
            self.localization.recover()
        self._jumped = jumps is not None
        if self.suffers("object_slips"):
            self.plant.slip(self.name)

    def _publish_motion(self, state: RobotState) -> None:
        odom, base = self.settings.frame("odom"), self.settings.frame("base_link")
        stamp = self.stamp
        if not self.suffers("tf_stale"):
            transforms = [
                conversions.transform_to_msg(
                    odom, base, self.localization.odometry(state.pose), stamp
                ),
                *self._links(self._positions(), moving=True),
            ]
            if not self.suffers("tf_missing"):
                transforms.append(
                    conversions.transform_to_msg(
                        self.settings.map_frame, odom, self.localization.map_to_odom(), stamp
                    )
                )
            self._tf.publish(TFMessage(transforms=transforms))
        start = self.localization.start
        turned = conversions.relative(Pose((0.0, 0.0, 0.0), start.yaw), Pose(state.linear)).position
        message = conversions.odometry_to_msg(
            self.name, self.localization.odometry(state.pose), turned, state.angular, stamp
        )
        message.header.frame_id, message.child_frame_id = odom, base
        self._odom.publish(message)

    def _publish_scan(self) -> None:
        assert self._scan is not None and self._laser is not None
        ranges = self.plant.world.hardware.scan(self.name, self._laser)
        self._scan.publish(
            conversions.scan_to_msg(
                ranges,
                self.header(self.settings.frame(self._laser.frame)),
                near=self._laser.near,
                far=self._laser.far,
                period=_PERIODS["scan"],
            )
        )

    def _publish_slow(self, state: RobotState) -> None:
        low = self.suffers("battery_low")
        charge = low.size if low is not None else self.charge
        self._battery.publish(
            conversions.battery_to_msg(charge, self.header(""), charging=self.charging)
        )
        self._amcl.publish(
            conversions.estimated_pose_to_msg(
                self.localization.believed(state.pose),
                self.header(self.settings.map_frame),
                deviation=self.localization.deviation,
                yaw_deviation=self.localization.yaw_deviation,
            )
        )
        floor = self.plant.world.occupancy.floor_index(state.pose.position[2])
        if floor != self._floor:
            self.publish_map()

    def publish_map(self) -> None:
        """Publish the map of the floor that the robot is on, in its own map frame."""
        pose = self.state.pose
        self._floor = self.plant.world.occupancy.floor_index(pose.position[2])
        values, cell, corner = self.plant.world.hardware.floor_map(self.name)
        # Mapped by the robot itself: the grid lies along the axes of its own map frame.
        turned, low = seen_from(values, cell, corner, self.settings.origin)
        head = self.header(self.settings.map_frame)
        message = conversions.grid_to_msg(turned, cell, low, head)
        self._map.publish(message)

    def _positions(self) -> dict[str, float]:
        """Return the values of all joints now."""
        manipulator = self.plant.manipulators.get(self.name)
        if manipulator is None:
            return dict(self._rest)
        fingers = manipulator.arm.fingers
        each = manipulator.grip.gap / max(len(fingers), 1)
        return {**self._rest, **manipulator.joints, **dict.fromkeys(fingers, each)}

    def _links(self, values: Mapping[str, float], *, moving: bool) -> list[TransformStamped]:
        """Return the transforms of the robot's links: those that move, or those that do not."""
        stamp, frame = self.stamp, self.settings.frame
        if values != self._posed[0]:  # joints rest most of the time
            self._posed = dict(values), posed_links(self._tree, values)
        return [
            conversions.rigid_to_msg(frame(parent), frame(child), position, rotation, stamp)
            for parent, child, position, rotation in self._posed[1]
            if self._moves[frozenset((parent, child))] is moving
        ]
