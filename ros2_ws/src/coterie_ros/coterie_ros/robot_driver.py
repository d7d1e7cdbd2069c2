"""Base class of a robot's own driver: serves what an adapter with backend `skills` asks for.

A driver runs on the robot's computer. This module therefore imports rclpy and interfaces only.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import rclpy
from geometry_msgs.msg import Point, PoseStamped, TransformStamped
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node

from coterie_msgs.action import Manipulate, NavigateTo
from coterie_msgs.msg import SkillResult
from tf2_msgs.msg import TFMessage

Pose2D = tuple[float, float, float]
"""Position x, y [m] and heading [rad] in the robot's map."""
Position = tuple[float, float, float]

_POSE_PERIOD = 0.05
_OBJECTS_PERIOD = 0.25
_SKILLS = {
    Manipulate.Goal.LOOK_AROUND: "look_around",
    Manipulate.Goal.MOVE_ARM_TO: "move_arm_to",
    Manipulate.Goal.PICK: "pick",
    Manipulate.Goal.PLACE: "place",
    Manipulate.Goal.OPEN: "open",
    Manipulate.Goal.CLOSE: "close",
}


@dataclass(frozen=True, slots=True)
class SeenObject:
    """An object that the robot's own detector sees now.

    Attributes:
        label: What it is.
        position: Its middle in the robot's map [m].
        size: Edges of the box around it [m], the first along its heading.
        yaw: Its heading in the robot's map [rad].
        score: How sure the detector is (0..1).
    """

    label: str
    position: Position
    size: Position = (0.1, 0.1, 0.1)
    yaw: float = 0.0
    score: float = 1.0


class Failed(Exception):
    """A skill failed.

    Args:
        outcome: How: a number of coterie_msgs/SkillResult, such as SkillResult.UNREACHABLE.
        reason: What was wrong and what to do, for a person.
    """

    def __init__(self, outcome: int, reason: str) -> None:
        super().__init__(reason)
        self.outcome, self.reason = outcome, reason


class Cancelled(Failed):
    """The skill is to end now; `RobotDriver.wait` raises it."""

    def __init__(self) -> None:
        super().__init__(SkillResult.CANCELLED, "cancelled")


class RobotDriver(Node):
    """Node of one robot. Override what the robot can do; what is not overridden is refused.

    Skills run one at a time, each in a thread of its own, and may block. Positions are in the
    robot's map [m].

    Args:
        **options: Those of rclpy's Node, such as `namespace`.

    Attributes:
        holding: Label of what the hand holds; "": nothing. Picks and places that succeed set it.
    """

    map_frame = "map"
    base_frame = "base_link"

    def __init__(self, **options: Any) -> None:
        super().__init__("driver", **options)
        self.holding = ""
        self._turn, self._ended = threading.Lock(), threading.Event()
        self._cancelled: set[bytes] = set()
        self.connect()
        both = {
            "callback_group": ReentrantCallbackGroup(),
            "cancel_callback": self._cancel,
        }
        self._servers = [
            ActionServer(self, NavigateTo, "driver/navigate_to", self._navigate, **both),
            ActionServer(self, Manipulate, "driver/manipulate", self._manipulate, **both),
        ]
        self._tf = self.create_publisher(TFMessage, "tf", 100)
        self.create_timer(_POSE_PERIOD, self._tell_pose)
        if type(self).objects is not RobotDriver.objects:
            self._detections = _DetectionPublisher(self)
            # In a group of its own: a detector that takes long must not hold up the pose.
            own = MutuallyExclusiveCallbackGroup()
            self.create_timer(_OBJECTS_PERIOD, self._tell_objects, callback_group=own)

    # -- what a robot overrides ----------------------------------------------------------------

    def connect(self) -> None:
        """Connect to the robot: its library, or clients, publishers and subscriptions of ROS."""

    def pose(self) -> Pose2D | None:
        """Return where the base is; None: not known, or the robot itself tells it in tf."""
        return None

    def objects(self) -> Iterable[SeenObject] | None:
        """Return what the robot's own detector sees now; None: nothing is known.

        Called four times a second; what it returns goes out on `driver/detections`. An empty list
        says that it looks and sees none.
        """
        return None

    def stop(self) -> None:
        """Stand still, now. Called in another thread than that of the skill that runs."""

    def drive(self, x: float, y: float, yaw: float | None) -> None:
        """Drive to a position; return when the robot is there.

        Args:
            x: Of the goal [m].
            y: Of the goal [m].
            yaw: Heading at the goal [rad]; None: any.

        Raises:
            Failed: It cannot.
        """
        self._unsupported("drive")

    def look_around(self) -> None:
        """Turn once about the own axis: drives on the spot, where the pose is known."""
        here = self.pose()
        if here is None:
            raise Failed(
                SkillResult.UNSUPPORTED,
                f"{type(self).__name__}.pose tells nothing to turn from; write look_around",
            )
        for quarter in (0.5, 1.0, 1.5, 2.0):
            yaw = here[2] + quarter * math.pi
            self.drive(here[0], here[1], math.atan2(math.sin(yaw), math.cos(yaw)))

    def pick(self, label: str, position: Position) -> None:
        """Take a thing into the hand."""
        self._unsupported("pick")

    def place(self, label: str, position: Position) -> Position | None:
        """Put what the hand holds onto or into the thing called `label`.

        Returns:
            Where the foot of it stands then, in the robot's map [m]; None: about where asked.
        """
        self._unsupported("place")

    def open(self, label: str, position: Position) -> None:
        """Open a container or a door."""
        self._unsupported("open")

    def close(self, label: str, position: Position) -> None:
        """Close a container or a door."""
        self._unsupported("close")

    def move_arm_to(self, label: str, position: Position) -> None:
        """Move the hand to a position."""
        self._unsupported("move_arm_to")

    # -- what a skill may use ------------------------------------------------------------------

    def wait(self, duration: float) -> None:
        """Let so much time pass [s].

        Raises:
            Cancelled: The skill is to end.
        """
        if self._ended.wait(duration):
            raise Cancelled

    def wait_for(self, condition: Callable[[], object], timeout: float, what: str) -> None:
        """Wait until a condition holds.

        Args:
            condition: Tested twenty times a second.
            timeout: Longest wait [s].
            what: What is waited for, for the reason of a failure.

        Raises:
            Cancelled: The skill is to end.
            Failed: It did not hold in time.
        """
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                raise Failed(SkillResult.TIMED_OUT, f"{what}: not within {timeout:g} s")
            self.wait(0.05)

    def call(self, client: Any, request: Any, timeout: float = 10.0) -> Any:
        """Call a service of the robot and return its response.

        Raises:
            Cancelled: The skill is to end; the call goes on on the robot, so stop it in `stop`.
            Failed: There is no server, or it did not answer in time [s].
        """
        end = time.monotonic() + timeout
        self.wait_for(client.service_is_ready, timeout, f"server of {client.srv_name}")
        future = client.call_async(request)
        left = max(end - time.monotonic(), 0.0)
        self.wait_for(future.done, left, f"answer of {client.srv_name}")
        return future.result()

    # -- inside --------------------------------------------------------------------------------

    def _unsupported(self, skill: str) -> NoReturn:
        raise Failed(SkillResult.UNSUPPORTED, f"{type(self).__name__} has no skill {skill}")

    def _tell_pose(self) -> None:
        here = self.pose()
        if here is None:
            return
        moved = TransformStamped(child_frame_id=self.base_frame)
        moved.header.frame_id = self.map_frame
        moved.header.stamp = self.get_clock().now().to_msg()
        moved.transform.translation.x, moved.transform.translation.y = map(float, here[:2])
        moved.transform.rotation.z = math.sin(here[2] / 2.0)
        moved.transform.rotation.w = math.cos(here[2] / 2.0)
        self._tf.publish(TFMessage(transforms=[moved]))

    def _tell_objects(self) -> None:
        seen = self.objects()
        if seen is not None:
            self._detections.publish(seen, self.map_frame)

    def _cancel(self, goal: Any) -> CancelResponse:
        self._cancelled.add(bytes(goal.goal_id.uuid))
        self._ended.set()
        self.stop()
        return CancelResponse.ACCEPT

    def _navigate(self, goal: Any) -> Any:
        wanted = goal.request.pose.pose
        turn = wanted.orientation
        yaw = 2.0 * math.atan2(turn.z, turn.w) if goal.request.use_yaw else None
        at = wanted.position
        result = NavigateTo.Result(distance_left=math.nan)
        result.result = self._run(goal, lambda: self.drive(at.x, at.y, yaw))
        here = self.pose()
        if here is not None:
            result.pose = PoseStamped()
            result.pose.header.frame_id = self.map_frame
            result.pose.pose.position = Point(x=float(here[0]), y=float(here[1]))
            result.pose.pose.orientation.z = math.sin(here[2] / 2.0)
            result.pose.pose.orientation.w = math.cos(here[2] / 2.0)
            result.distance_left = math.hypot(at.x - here[0], at.y - here[1])
        return result

    def _manipulate(self, goal: Any) -> Any:
        asked = goal.request
        skill = _SKILLS.get(asked.skill, "")
        put_at: list[Point] = []

        def work() -> None:
            if not skill:
                self._unsupported(f"number {asked.skill}")
            at = (asked.position.x, asked.position.y, asked.position.z)
            arguments = () if skill == "look_around" else (asked.label, at)
            got = getattr(self, skill)(*arguments)
            if skill == "place" and got is not None:
                x, y, z = map(float, got)
                put_at.append(Point(x=x, y=y, z=z))
            if skill in ("pick", "place"):
                self.holding = asked.label if skill == "pick" else ""

        result = self._run(goal, work)
        result.put_at = put_at
        return Manipulate.Result(result=result, holding=self.holding)

    def _run(self, goal: Any, work: Callable[[], None]) -> SkillResult:
        """Do the work of a goal and end the goal; a newer goal ends the one that runs."""
        begin, number = self.get_clock().now(), bytes(goal.goal_id.uuid)
        told = SkillResult(outcome=SkillResult.SUCCEEDED)
        if not self._turn.acquire(blocking=False):
            self._ended.set()
            self.stop()
            self._turn.acquire()
        try:
            self._ended.clear()
            # A goal may be cancelled before its turn comes.
            if number in self._cancelled:
                raise Cancelled
            work()
        except Failed as failed:
            told.outcome, told.reason = failed.outcome, failed.reason
            self.stop()
        except Exception as error:
            told.outcome, told.reason = SkillResult.FAULT, f"{type(error).__name__}: {error}"
            self.get_logger().error(told.reason)
            self.stop()
        finally:
            self._turn.release()
        told.duration = (self.get_clock().now() - begin).to_msg()
        if told.outcome == SkillResult.SUCCEEDED:
            goal.succeed()
        elif number in self._cancelled:
            told.outcome = SkillResult.CANCELLED
            goal.canceled()
        else:
            goal.abort()
        self._cancelled.discard(number)
        return told


class _DetectionPublisher:
    """Publishes what a driver sees on `driver/detections`.

    Raises:
        ImportError: vision_msgs is not installed.
    """

    def __init__(self, node: Node) -> None:
        try:  # drivers without a detector do without it
            from vision_msgs import msg
        except ImportError as error:
            raise ImportError(
                "vision_msgs is not installed, and the driver's `objects` are published with it: "
                "install ros-jazzy-vision-msgs, or run ./coterie setup --with robots"
            ) from error
        self._msg = msg
        self._clock = node.get_clock()
        self._out = node.create_publisher(msg.Detection3DArray, "driver/detections", 10)

    def publish(self, seen: Iterable[SeenObject], frame: str) -> None:
        """Publish objects whose positions are in a frame, as seen now."""
        message = self._msg.Detection3DArray()
        message.header.frame_id, message.header.stamp = frame, self._clock.now().to_msg()
        for one in seen:
            item = self._msg.Detection3D(header=message.header)
            center, size = item.bbox.center, item.bbox.size
            center.position.x, center.position.y, center.position.z = map(float, one.position)
            center.orientation.z = math.sin(one.yaw / 2.0)
            center.orientation.w = math.cos(one.yaw / 2.0)
            size.x, size.y, size.z = map(float, one.size)
            guess = self._msg.ObjectHypothesisWithPose()
            guess.hypothesis.class_id, guess.hypothesis.score = one.label, float(one.score)
            guess.pose.pose = center
            item.results.append(guess)
            message.detections.append(item)
        self._out.publish(message)


def run(driver: Callable[[], RobotDriver], args: Sequence[str] | None = None) -> None:
    """Run a driver until Ctrl-C or SIGTERM; the robot is stopped at the end.

    Args:
        driver: Makes it: its class.
        args: Command line; None: that of the process.
    """
    rclpy.init(args=args)
    node = driver()
    executor = MultiThreadedExecutor()
    executor.add_node(node)
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node._ended.set()
        node.stop()
        rclpy.try_shutdown()
