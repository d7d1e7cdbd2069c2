"""Topics by which the ecosystem (Nav2, slam_toolbox, teleop, RViz) drives a simulated robot."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from geometry_msgs.msg import PoseStamped, TransformStamped, Twist
from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import JointState, LaserScan

from coterie_core.geometry import Pose, Vec2
from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.tree import Link, Tree, tree_of
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.conversions import Checks, ConversionError
from coterie_ros.safe_publisher import SafePublisher
from habitat_bridge.embedded.body import Velocity
from habitat_bridge.embedded.laser import laser_of
from habitat_bridge.embedded.world import Hardware
from habitat_bridge.links import BASE, posed_links, values_at_rest
from habitat_bridge.simulator import RobotState
from tf2_msgs.msg import TFMessage

_SCAN_PERIOD = 0.2  # [s]
_SLOW_PERIOD = 0.1  # [s]


class HardwareTopics:
    """What drivers of a real robot offer, for one simulated robot.

    Publishers and subscriptions are made when somebody else wants their topic: a robot that nobody
    drives from outside has none of them.

    Args:
        node: Publishes and listens.
        hardware: The drivers of the world's robots.
        robot: The robot's name.
        urdf: Its description.
        start: Where its odometry frame is, map frame.
        in_world: Has something done in the world's thread.
        go: Sends the robot of a name to a spot (x, y) [m] of its floor, facing a yaw [rad].
    """

    def __init__(
        self,
        node: AgentNode,
        hardware: Hardware,
        robot: str,
        urdf: str,
        start: Pose,
        *,
        in_world: Callable[[Callable[[], object]], object],
        go: Callable[[str, Vec2, float], object],
    ) -> None:
        self._node, self._in_world, self._go = node, in_world, go
        self._hardware = hardware
        self._robot = robot
        self._start = start
        try:
            tree = tree_of(urdf)
        except UrdfError:
            tree = Tree("", BASE, {BASE: Link(BASE)}, {})  # the bridge has said what is wrong
        self._links = posed_links(tree, {})
        self._joints = values_at_rest(tree)
        self._laser = laser_of(tree)
        self._due: dict[str, float] = {}
        self._floor = -1
        self._out: dict[str, SafePublisher] = {}
        self._heard: set[str] = set()
        kinds: dict[str, tuple[Any, str]] = {
            "joint_states": (JointState, "odometry"),
            "map": (OccupancyGrid, "latched"),
            "tf": (TFMessage, "tf"),
            "tf_static": (TFMessage, "tf_static"),
        }
        if self._laser is not None:
            kinds["scan"] = (LaserScan, "sensor_data")
        self._kinds = kinds
        self._ears: dict[str, tuple[Any, Callable[[Any], None]]] = {
            "cmd_vel": (Twist, self._velocity),
            "goal_pose": (PoseStamped, self._goal_pose),
        }

    def attend(self, topics: Collection[str]) -> None:
        """Make what somebody wants, given all topics there are; for the executor's thread."""
        node, robot = self._node, self._robot
        for name, (kind, qos) in self._kinds.items():
            topic = f"{robot}/{name}"
            if name not in self._out and node.resolve_topic_name(topic) in topics:
                self._out[name] = node.publisher(kind, topic, qos)
        for name, (kind, hear) in self._ears.items():
            topic = f"{robot}/{name}"
            if name not in self._heard and node.resolve_topic_name(topic) in topics:
                self._heard.add(name)
                node.subscribe(kind, topic, "commands", hear)

    # -- in the world's thread -------------------------------------------------------------------

    def publish(self, state: RobotState, stamp: float) -> None:
        """Publish what is wanted of a moment [s]."""
        if not self._out:
            return
        out = dict(self._out)
        if "tf" in out:
            transforms = [self._plain("odom", "base_link", self._moved(state.pose), stamp)]
            if self._node.parameters["localized"]:
                transforms.append(self._plain("map", "odom", self._start, stamp))
            out["tf"].publish(TFMessage(transforms=transforms))
        if "tf_static" in out and self._once("tf_static"):
            out["tf_static"].publish(TFMessage(transforms=self._fixed(stamp)))
        if "scan" in out and out["scan"].subscribers and self._is_due("scan", stamp, _SCAN_PERIOD):
            self._publish_scan(out["scan"], stamp)
        if "joint_states" in out and self._is_due("joint_states", stamp, _SLOW_PERIOD):
            head = conversions.header(stamp, "")
            out["joint_states"].publish(conversions.joint_states_to_msg(self._joints, head))
        if "map" in out:
            self._publish_map(out["map"], stamp)

    def _moved(self, pose: Pose) -> Pose:
        return conversions.relative(self._start, pose)

    def _is_due(self, name: str, stamp: float, period: float) -> bool:
        if stamp + 1e-9 < self._due.get(name, 0.0):
            return False
        self._due[name] = stamp + period
        return True

    def _once(self, name: str) -> bool:
        return self._due.setdefault(name, -1.0) == -1.0 and not self._due.update({name: 1.0})

    @staticmethod
    def _plain(parent: str, child: str, pose: Pose, stamp: float) -> TransformStamped:
        return conversions.transform_to_msg(parent, child, pose, stamp)

    def _fixed(self, stamp: float) -> list[TransformStamped]:
        """Return the links with plain names, and each once more under the name it has in /tf.

        So scans and images, whose frames are those of /tf, are found in the robot's own tree, too.
        """
        names = ["base_link", *(child for _, child, _, _ in self._links)]
        here = Pose((0.0, 0.0, 0.0))
        return [
            *(
                conversions.rigid_to_msg(parent, child, position, rotation, stamp)
                for parent, child, position, rotation in self._links
            ),
            *(self._plain(name, f"{self._robot}/{name}", here, stamp) for name in names),
        ]

    def _publish_scan(self, publisher: SafePublisher, stamp: float) -> None:
        laser = self._laser
        assert laser is not None
        head = conversions.header(stamp, f"{self._robot}/{laser.frame}")
        publisher.publish(
            conversions.scan_to_msg(
                self._hardware.scan(self._robot, laser),
                head,
                near=laser.near,
                far=laser.far,
                period=_SCAN_PERIOD,
            )
        )

    def _publish_map(self, publisher: SafePublisher, stamp: float) -> None:
        floor = self._hardware.floor(self._robot)
        if floor != self._floor:
            self._floor = floor
            values, cell, corner = self._hardware.floor_map(self._robot)
            head = conversions.header(stamp, conversions.MAP)
            publisher.publish(conversions.grid_to_msg(values, cell, corner, head))

    # -- in the loop's thread --------------------------------------------------------------------

    def _velocity(self, message: Twist) -> None:
        linear = message.linear
        velocity = Velocity(float(linear.x), float(linear.y), float(message.angular.z))
        self._in_world(lambda: self._hardware.drive(self._robot, velocity))

    def _goal_pose(self, message: PoseStamped) -> None:
        topic = f"{self._robot}/goal_pose"
        checks = Checks(topic)
        try:
            if message.header.frame_id.lstrip("/") != conversions.MAP:
                raise checks.fail("header.frame_id", conversions.MAP, message.header.frame_id)
            pose = conversions.pose_from_msg(message.pose, checks, "pose")
        except ConversionError as error:
            self._node.problem(f"goal dropped: {error}")
            return
        x, y, _ = pose.position
        self._go(self._robot, (x, y), pose.yaw)
