"""Base class of a robot's own driver: serves what an adapter with backend `skills` asks for.

A driver runs on the robot's computer. This module therefore imports rclpy and interfaces only.
"""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import rclpy
from geometry_msgs.msg import Point, PoseStamped, TransformStamped
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import RCLError
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.executors import (
    ExternalShutdownException,
    MultiThreadedExecutor,
    SingleThreadedExecutor,
)
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from coterie_core.skill_registry import ON_TARGET
from coterie_msgs.action import Manipulate, NavigateTo
from coterie_msgs.msg import SkillResult
from coterie_ros.late_actions import LateActionServer
from tf2_msgs.msg import TFMessage

Pose2D = tuple[float, float, float]
"""Position x, y [m] and heading [rad] in the robot's map."""
Position = tuple[float, float, float]

_POSE_PERIOD = 0.05
_OBJECTS_PERIOD = 0.25
_THREADS = 4
"""Threads for pose, objects and the driver's own callbacks, also on a computer with one CPU."""
_STOP_TIMEOUT = 5.0
"""Longest wait for the robot's `stop`, and at the end of the process for the skill, too [s]."""
_NEWER = "a newer goal took its place"
_ENDS = "the driver ends"
_SKILLS = {
    getattr(Manipulate.Goal, name.upper()): name
    for name in ("look_around", "move_arm_to", *ON_TARGET)
    if hasattr(Manipulate.Goal, name.upper())
}
"""Methods that do them, by the numbers of the action."""


@dataclass(frozen=True, slots=True)
class SeenObject:
    """An object that the robot's own detector sees now.

    Attributes:
        label: Category of the object, such as "mug".
        position: Its middle in the robot's map [m].
        size: Edges of the box around it [m], the first along its heading.
        yaw: Its heading in the robot's map [rad].
        score: Confidence of the detector (0..1).
    """

    label: str
    position: Position
    size: Position = (0.1, 0.1, 0.1)
    yaw: float = 0.0
    score: float = 1.0


class Failed(Exception):
    """A skill failed.

    Args:
        outcome: Outcome, a number of coterie_msgs/SkillResult, such as SkillResult.UNREACHABLE.
        reason: Sentence for a person that says what was wrong and what to do.
    """

    def __init__(self, outcome: int, reason: str) -> None:
        super().__init__(reason)
        self.outcome, self.reason = outcome, reason


class Cancelled(Failed):
    """The skill is to end now; `RobotDriver.wait` raises it."""

    def __init__(self) -> None:
        super().__init__(SkillResult.CANCELLED, "cancelled")


@dataclass(slots=True)
class _Goal:
    """An accepted goal, its result, and the event that ends it."""

    server: Any
    handle: Any
    work: Callable[[Any, Any], None]
    result: Any
    ended: threading.Event = field(default_factory=threading.Event)
    why: str = ""

    def end(self, why: str) -> None:
        self.why = self.why or why
        self.ended.set()


class RobotDriver(Node):
    """Node of one robot. Override what the robot can do; what is not overridden is refused.

    Skills run one at a time, in a thread of their own, and may block. Goals and cancels come in a
    node `<name>_actions` beside this one, in another thread, and `stop` is called in a third one:
    neither a skill nor a callback that blocks delays them. Of the goals that come while a skill
    runs, the newest is done next. Goals are served once an executor spins this node. Positions
    are in the robot's map [m].

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
        self._changed, self._closing = threading.Condition(), threading.Event()
        self._running: _Goal | None = None
        self._waiting: _Goal | None = None
        self._goals: dict[bytes, _Goal] = {}
        self._stop_asked = self._stop_runs = False
        self._action_thread = threading.Thread(target=self._spin_actions, daemon=True)
        self._stop_thread = threading.Thread(target=self._stop_as_asked, daemon=True)
        self.connect()  # it may wait, and call
        name = f"{self.get_name()}_actions"
        self._actions = Node(
            name,
            namespace=self.get_namespace(),
            context=self.context,
            # Else a `__node` of the command line would be the name of both nodes.
            cli_args=["--ros-args", "-r", f"__node:={name}"],
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._action_executor = SingleThreadedExecutor(context=self.context)
        self._action_executor.add_node(self._actions)
        self._serve(NavigateTo, "driver/navigate_to", self._navigate)
        self._serve(Manipulate, "driver/manipulate", self._manipulate)
        self._tf = self.create_publisher(TFMessage, "tf", 100)
        self.create_timer(_POSE_PERIOD, self._tell_pose)
        if type(self).objects is not RobotDriver.objects:
            self._detections = _DetectionPublisher(self)
            # In a group of its own: a detector that takes long must not hold up the pose.
            own = MutuallyExclusiveCallbackGroup()
            self.create_timer(_OBJECTS_PERIOD, self._tell_objects, callback_group=own)
        self._stop_thread.start()
        threading.Thread(target=self._work, daemon=True).start()
        # Not before the constructors of the classes below this one are through.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._begin = self.create_timer(0.001, self._spun, clock=steady)

    def destroy_node(self) -> None:
        """Stop the robot, end the skill, and destroy both nodes."""
        self._end()
        self._action_executor.shutdown()
        self._actions.destroy_node()
        super().destroy_node()

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
        """Stand still, now.

        Called in a thread of its own, while the skill may still run: when a goal is cancelled or
        replaced, after a skill that failed, and at the end of the driver. It may use `call`, which
        ends at its time-out only. No skill begins before it returned.
        """

    def drive(self, x: float, y: float, yaw: float | None) -> None:
        """Drive to a position; return when the robot is there.

        Args:
            x: Position of the goal along x [m].
            y: Position of the goal along y [m].
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
            Position of its foot then, in the robot's map [m]; None: about the one that was asked
            for.
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
            Cancelled: The skill is to end; never in `stop`.
        """
        if threading.current_thread() is self._stop_thread:
            time.sleep(duration)
            return
        goal = self._running
        if (self._closing if goal is None else goal.ended).wait(duration):
            raise Cancelled

    def wait_for(self, condition: Callable[[], object], timeout: float, what: str) -> None:
        """Wait until a condition holds.

        Args:
            condition: Tested twenty times a second.
            timeout: Longest wait [s].
            what: Name of what is waited for, for the reason of a failure.

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

    def _navigate(self, request: Any, result: Any) -> None:
        wanted = request.pose.pose
        turn, at = wanted.orientation, wanted.position
        yaw = 2.0 * math.atan2(turn.z, turn.w) if request.use_yaw else None
        try:
            self.drive(at.x, at.y, yaw)
        finally:
            here = self.pose()
            if here is not None:
                result.pose = PoseStamped()
                result.pose.header.frame_id = self.map_frame
                result.pose.pose.position = Point(x=float(here[0]), y=float(here[1]))
                result.pose.pose.orientation.z = math.sin(here[2] / 2.0)
                result.pose.pose.orientation.w = math.cos(here[2] / 2.0)
                result.distance_left = math.hypot(at.x - here[0], at.y - here[1])

    def _manipulate(self, request: Any, result: Any) -> None:
        own = request.name if request.name in ON_TARGET else ""
        skill = own if request.skill == request.OTHER else _SKILLS.get(request.skill, "")
        if not hasattr(self, skill):
            self._unsupported(skill or f"number {request.skill}")
        at = (request.position.x, request.position.y, request.position.z)
        arguments = () if skill == "look_around" else (request.label, at)
        got = getattr(self, skill)(*arguments)
        if skill == "place" and got is not None:
            x, y, z = map(float, got)
            result.result.put_at = [Point(x=x, y=y, z=z)]
        if skill in ("pick", "place"):
            self.holding = request.label if skill == "pick" else ""

    # -- in the thread of the actions ----------------------------------------------------------

    def _serve(self, kind: Any, name: str, work: Callable[[Any, Any], None]) -> None:
        def accepted(handle: Any) -> None:
            result = kind.Result()
            if kind is NavigateTo:
                result.distance_left = math.nan
            self._accepted(_Goal(server, handle, work, result))

        server = LateActionServer(
            self._actions,
            kind,
            name,
            lambda handle: kind.Result(),
            goal_callback=self._asked,
            handle_accepted_callback=accepted,
            cancel_callback=self._cancel,
        )

    def _spun(self) -> None:
        self._begin.cancel()
        if not self._closing.is_set():
            self._action_thread.start()

    def _spin_actions(self) -> None:
        while self.context.ok() and (self._goals or not self._closing.is_set()):
            try:
                self._action_executor.spin_once(timeout_sec=0.5)
            except ExternalShutdownException:
                break
            except Exception as error:  # whatever it is, the next cancel is to be heard
                if self.context.ok():
                    self.get_logger().error(f"actions: {type(error).__name__}: {error}")
                    self._closing.wait(0.1)
        self._end()  # what cannot be cancelled any more does not go on

    def _asked(self, request: Any) -> GoalResponse:
        return GoalResponse.REJECT if self._closing.is_set() else GoalResponse.ACCEPT

    def _accepted(self, goal: _Goal) -> None:
        with contextlib.suppress(RCLError):
            goal.handle.execute()
        self._goals[bytes(goal.handle.goal_id.uuid)] = goal
        with self._changed:
            older, self._waiting = self._waiting, goal
            if self._running is not None:
                self._running.end(_NEWER)
                self._stop_asked = True
            self._changed.notify_all()
        if older is not None:
            self._refuse(older, _NEWER)

    def _cancel(self, handle: Any) -> CancelResponse:
        goal = self._goals[bytes(handle.goal_id.uuid)]
        with self._changed:
            waits = goal is self._waiting
            if waits:
                self._waiting = None
            else:
                goal.end("cancelled")
                # One that has just ended must not stop the next one.
                self._stop_asked |= goal is self._running
            self._changed.notify_all()
        if waits:
            self._refuse(goal, "cancelled")
        return CancelResponse.ACCEPT

    def _refuse(self, goal: _Goal, why: str) -> None:
        """End a goal that has not begun."""
        goal.result.result.outcome, goal.result.result.reason = SkillResult.CANCELLED, why
        self._hand_back(goal)

    def _hand_back(self, goal: _Goal) -> None:
        """Send the result of a goal from the thread of the actions."""
        told = goal.result.result

        def conclude(handle: Any) -> Any:
            self._goals.pop(bytes(handle.goal_id.uuid), None)
            with contextlib.suppress(RCLError):  # the node ends
                if told.outcome == SkillResult.SUCCEEDED:
                    handle.succeed()
                elif handle.is_cancel_requested:
                    told.outcome = SkillResult.CANCELLED
                    handle.canceled()
                else:
                    handle.abort()
            return goal.result

        goal.server.notify_execute(goal.handle, conclude)

    # -- in the thread of the skills -----------------------------------------------------------

    def _work(self) -> None:
        """Do one goal after the other."""
        while (goal := self._next()) is not None:
            begin, told = self.get_clock().now(), goal.result.result
            told.outcome = SkillResult.SUCCEEDED
            try:
                goal.work(goal.handle.request, goal.result)
                if goal.ended.is_set():  # the robot was stopped meanwhile: it has not done it
                    raise Cancelled
            except Failed as failed:
                told.outcome, told.reason = failed.outcome, failed.reason
                if isinstance(failed, Cancelled):
                    told.reason = goal.why or failed.reason
            except BaseException as error:  # the next goal needs this thread
                told.outcome, told.reason = SkillResult.FAULT, f"{type(error).__name__}: {error}"
                self.get_logger().error(told.reason)
            if isinstance(goal.result, Manipulate.Result):
                goal.result.holding = self.holding
            if told.outcome != SkillResult.SUCCEEDED:
                with self._changed:
                    self._stop_asked = True
                    self._changed.notify_all()
                    self._changed.wait_for(self._stopped, _STOP_TIMEOUT)
            told.duration = (self.get_clock().now() - begin).to_msg()
            self._hand_back(goal)

    def _next(self) -> _Goal | None:
        """Wait for a goal that may begin; None: the driver ends."""

        def ready() -> bool:
            return self._closing.is_set() or (self._waiting is not None and self._stopped())

        with self._changed:
            self._running = None
            self._changed.notify_all()
            self._changed.wait_for(ready)
            if self._closing.is_set():
                return None
            self._running, self._waiting = self._waiting, None
            return self._running

    # -- in the thread of the stop -------------------------------------------------------------

    def _stopped(self) -> bool:
        """Whether `stop` has returned as often as it was asked for; with the lock held."""
        return not (self._stop_asked or self._stop_runs)

    def _stop_as_asked(self) -> None:
        def ended() -> bool:
            return self._closing.is_set() and self._running is None

        while True:
            with self._changed:
                self._stop_runs = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._stop_asked or ended())
                if not self._stop_asked:
                    return
                self._stop_asked, self._stop_runs = False, True
            try:
                self.stop()
            except Exception as error:  # a stop that failed once must not be the last one
                self.get_logger().error(f"stop: {type(error).__name__}: {error}")

    def _end(self) -> None:
        """Stop the robot, begin no further goal, and wait for both as long as is reasonable."""
        with self._changed:
            if self._closing.is_set():
                return
            self._closing.set()
            waiting, self._waiting = self._waiting, None
            if self._running is not None:
                self._running.end(_ENDS)
            self._stop_asked = True
            self._changed.notify_all()
        if waiting is not None:
            self._refuse(waiting, _ENDS)
        with self._changed:
            self._changed.wait_for(lambda: self._running is None and self._stopped(), _STOP_TIMEOUT)
        if self._action_thread.is_alive() and threading.current_thread() is not self._action_thread:
            self._action_executor.wake()
            self._action_thread.join(1.0)  # it sends the results


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
    # rclpy's own handlers would end the context, and with it all that `stop` needs.
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    ended = threading.Event()
    errors: list[Exception] = []
    spinning: threading.Thread | None = None

    def spin() -> None:
        try:
            executor.spin()
        except ExternalShutdownException:
            pass
        except Exception as error:
            errors.append(error)
        finally:
            ended.set()

    try:
        node = driver()
        executor = MultiThreadedExecutor(_THREADS)
        executor.add_node(node)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        spinning = threading.Thread(target=spin, daemon=True)
        spinning.start()
        while not ended.wait(0.1):  # a signal that another thread gets does not end a longer wait
            pass
        node._end()
    finally:
        rclpy.try_shutdown()
        if spinning is not None:  # an interpreter that ends under it may abort
            spinning.join(_STOP_TIMEOUT)
    if errors:
        raise errors[0]
