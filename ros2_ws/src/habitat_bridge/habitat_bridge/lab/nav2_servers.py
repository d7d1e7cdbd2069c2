"""Nav2's servers of one robot: drive, plan, turn, back up, dock, and whether they are active."""

from __future__ import annotations

import asyncio
import itertools
import math
from typing import Any

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, Twist, TwistStamped
from nav2_msgs.action import (
    BackUp,
    ComputePathToPose,
    DockRobot,
    NavigateToPose,
    Spin,
    UndockRobot,
)
from nav_msgs.msg import Path
from std_srvs.srv import Trigger

from coterie_core.geometry import Pose, Vec3
from coterie_core.skills import NavigateTo as Drive
from coterie_core.skills import Outcome, SkillResult
from coterie_ros import conversions
from coterie_ros.clients import ActionClient, GoalRejected, NoAnswer
from coterie_ros.conversions import Checks, ConversionError
from coterie_ros.safe_publisher import RCLError
from coterie_ros.serving import GoalContext
from habitat_bridge.embedded.body import Body, Velocity
from habitat_bridge.lab.controller import Controller, InnerAction, at_base, serve_parameters
from habitat_bridge.lab.faults import Fault
from habitat_bridge.lab.navigation import (
    FAILED_TO_MAKE_PROGRESS,
    GOAL_TOLERANCE,
    INVALID_PLANNER,
    PLANNER_TF_ERROR,
    NoPath,
    navigation_code,
    plan,
)
from habitat_bridge.lab.robot import BadGoal, LabRobotNode
from habitat_bridge.lab.servers import MortalServer
from habitat_bridge.simulator import RobotState

_FEEDBACK_PERIOD = 0.01
"""Nav2 ticks its behavior tree, and tells how far it is, so often: about 98 times a second [s]."""
_PLANNING = 0.1
"""How long the first feedback of a goal still tells what is left of the path before it [s]."""
_SPIN_PERIOD = 0.2  # [s] of simulated time between two pieces of feedback of a turn
_LEASE = 20.0
"""How long a process that was killed is still in the graph: DDS's usual lease [s]."""
_FAULT_AFTER = 1.5  # [s] on the way before a goal fails
_DOCK_NOT_IN_DB, _DOCK_FAILED_TO_STAGE, _DOCK_UNKNOWN = 901, 903, 999
_SPIN_TIMEOUT = 701
_STAGING = 0.6  # [m] before the dock
_WAYPOINT = 0.1  # [m] between the poses of a path
_STOREY = 0.5  # [m] that two points of one floor differ in height at most


class Nav2Servers:
    """Nav2 of one robot.

    Args:
        robot: The robot, with its node, localization and plant.
    """

    def __init__(self, robot: LabRobotNode) -> None:
        self.robot = robot
        node, topic = robot.node, robot.settings.topic
        self._navigate = MortalServer(
            node, NavigateToPose, topic("navigate_to_pose"), self._drive, check=self._refused
        )
        self.controller = Controller(robot)
        self.inner = {
            name: InnerAction(node, topic(name))
            for name in (
                "navigate_through_poses",
                "follow_waypoints",
                "drive_on_heading",
                "assisted_teleop",
                "wait",
            )
        }
        planners = robot.settings.planners
        serve_parameters(
            node, topic("planner_server/get_parameters"), {"planner_plugins": planners}
        )
        others: tuple[tuple[Any, str, Any], ...] = (
            (ComputePathToPose, "compute_path_to_pose", self._path),
            (Spin, "spin", self._spin),
            (BackUp, "backup", self._back_up),
            (DockRobot, "dock_robot", self._dock),
            (UndockRobot, "undock_robot", self._undock),
        )
        self._others = [
            MortalServer(node, kind, topic(name), work, check=self._inactive)
            for kind, name, work in others
        ]
        self._typed: Any = NavigateToPose
        self._killed: float | None = None
        self._left = 0.0
        self._next: Fault | None = None
        self._other: ActionClient | None = None
        self._theirs: NavigateToPose.Goal | None = None
        node.serve(Trigger, topic("lifecycle_manager_navigation/is_active"), self._is_active)
        stamped = robot.settings.stamped_velocity
        kind = TwistStamped if stamped else Twist
        node.subscribe(kind, topic("cmd_vel"), "commands", self._velocity)
        node.subscribe(PoseStamped, topic("goal_pose"), "commands", self._goal_pose)
        node.subscribe(
            PoseWithCovarianceStamped, topic("initialpose"), "commands", self._initial_pose
        )

    # -- whether they are there ----------------------------------------------------------------

    def look(self) -> None:
        """Let servers die and come back as the faults say; for the executor's thread."""
        gone = self.robot.suffers("navigation_dies") or self.robot.suffers("link_cut")
        if gone:
            self.robot.node.loop.call(self.controller.cancel)
            for server in (self._navigate, *self._others):
                if server.alive:
                    server.end()
            return
        if self.robot.suffers("navigator_dies"):  # it alone; what it began goes on
            now = self.robot.time
            self._killed = now if self._killed is None else self._killed
            if now - self._killed > _LEASE and self._navigate.alive:
                self._navigate.end()
            return
        self._killed = None
        wanted: Any = Spin if self.robot.suffers("other_types") else NavigateToPose
        if wanted is not self._typed:
            self._typed = wanted
            self._start_as(wanted)
        elif not self._navigate.alive and wanted is NavigateToPose:
            self._navigate.start()
        for server in self._others:
            if not server.alive:
                server.start()

    def _start_as(self, kind: Any) -> None:
        """Offer the drive under another type; where that cannot be, it is gone."""
        try:
            self._navigate.start(kind)
        except (ValueError, RCLError) as error:
            self._navigate.end()
            self.robot.node.problem(f"navigate_to_pose is not offered as {kind.__name__}: {error}")

    def _inactive(self, request: Any) -> str:
        return "Nav2 is not active" if self.robot.suffers("navigation_inactive") else ""

    def _refused(self, request: Any) -> str:
        if self._killed is not None:
            return "bt_navigator was killed"
        if request == self._theirs:  # what a fault sent is struck by none
            self._next = None
            return self._inactive(request)
        self._next = self.robot.strike("navigate")
        if self._next is not None and self._next.kind == "navigate_rejected":
            return "a fault of the lab"
        return self._inactive(request)

    async def _is_active(self, request: Trigger.Request) -> Trigger.Response:
        active = not (
            self.robot.suffers("navigation_inactive") or self.robot.suffers("navigation_dies")
        )
        if self.robot.suffers("link_cut"):
            await asyncio.sleep(3600.0)
        return Trigger.Response(success=active)

    # -- driving -------------------------------------------------------------------------------

    async def _drive(self, goal: GoalContext) -> Any:
        fault, self._next = self._next, None
        if self._typed is not NavigateToPose:
            return goal.abort(self._typed.Result())
        result = NavigateToPose.Result()
        robot = self.robot
        if robot.without_pose:
            return goal.abort(_coded(result, PLANNER_TF_ERROR))
        try:
            target = self._target(goal.request.pose)
        except BadGoal:
            return goal.abort(result)  # as on Jazzy: without a code
        if goal.request.behavior_tree:
            return goal.abort(result)
        if fault is not None and fault.kind == "navigate_hangs":
            await asyncio.Event().wait()
        telling = robot.node.loop.spawn(self._tell(goal), "feedback")
        try:
            route = await robot.in_world(lambda: plan(robot.body, target.position))
            end = Pose(route.points[-1], target.yaw)  # as near to the goal as the planner got
            ended = await self._until(robot.node.loop.spawn(self.controller.follow(end)), fault)
        except NoPath as none:
            return goal.abort(_coded(result, none.code))
        finally:
            telling.cancel()
        if ended is None:
            if fault is None or fault.kind == "navigate_abandoned":
                return goal.abort(result)
            if fault.kind == "navigate_preempted":
                # Their goal ends this one, as every newer goal does, but not the sending of it.
                await asyncio.shield(robot.node.loop.spawn(self._another_goal(), "another client"))
                return goal.abort(result)  # theirs was not accepted
            code = FAILED_TO_MAKE_PROGRESS if fault.code is None else fault.code
            return goal.abort(_coded(result, code))
        if ended.outcome in (Outcome.SUCCEEDED, Outcome.CANCELLED):
            return goal.succeed(result)  # its tree takes a path that was cancelled for one followed
        return goal.abort(_coded(result, navigation_code(ended)))

    async def _tell(self, goal: GoalContext) -> None:
        """Tell how far a drive is with every tick of the tree; at first of the path before it."""
        robot = self.robot
        begin, first = robot.stamp, asyncio.get_running_loop().time()
        while True:
            state = robot.state
            took = max(robot.stamp - begin, 0.0)
            if asyncio.get_running_loop().time() - first > _PLANNING:
                self._left = float(state.remaining)
            speed = math.hypot(*state.linear[:2])
            eta = self._left / speed if speed > 0.01 and self._left > 0.1 else 0.0
            if self._killed is None and not robot.suffers("link_cut"):
                goal.feedback(
                    NavigateToPose.Feedback(
                        current_pose=robot.pose_stamped(robot.localization.believed(state.pose)),
                        navigation_time=conversions.duration_to_msg(took),
                        estimated_time_remaining=conversions.duration_to_msg(eta),
                        distance_remaining=self._left,
                    )
                )
            await asyncio.sleep(_FEEDBACK_PERIOD)

    async def _until(
        self, drive: asyncio.Future[SkillResult], fault: Fault | None
    ) -> SkillResult | None:
        """Return how a drive ended; None where a fault, or a pose that gets lost, ended it."""
        begin, robot = self.robot.stamp, self.robot
        abandoned = False
        try:
            while True:
                await asyncio.wait({drive}, timeout=0.05)
                if self._killed is not None:  # it answers no more, and its controller drives on
                    abandoned = True
                    await asyncio.Event().wait()
                if fault is not None and (robot.stamp - begin > _FAULT_AFTER or drive.done()):
                    abandoned = fault.kind == "navigate_abandoned"
                    return None
                if drive.done():
                    return drive.result()
                if robot.suffers("navigation_inactive"):
                    return None
                if robot.without_pose:
                    raise NoPath(PLANNER_TF_ERROR, "robot pose is not available")
        finally:
            if not abandoned:
                self.controller.cancel()

    async def _another_goal(self) -> None:
        """Send the robot far away as another client of Nav2 does, a person at RViz for example."""
        robot = self.robot
        if self._other is None:
            name = robot.settings.topic("navigate_to_pose")
            self._other = await robot.node.in_executor(
                lambda: ActionClient(robot.node, NavigateToPose, name)
            )
        there = await robot.in_world(lambda: _farthest(robot.body))
        pose = robot.pose_stamped(robot.localization.believed(Pose(there)))
        self._theirs = NavigateToPose.Goal(pose=pose)
        try:
            if await self._other.wait():
                await self._other.run(self._theirs)
        except (GoalRejected, NoAnswer) as error:
            robot.node.problem(f"{robot.name}: the goal of another client: {error}")

    async def _go(self, target: Pose) -> SkillResult:
        """Drive to a pose, as a server does that moves the base itself."""
        robot = self.robot
        skill = Drive(position=target.position, yaw=target.yaw, tolerance=GOAL_TOLERANCE)
        return await at_base(robot, lambda job: robot.plant.begin(robot.name, skill, job))

    def _target(self, pose: PoseStamped) -> Pose:
        """Return the pose in the house that belongs to a goal.

        Raises:
            BadGoal: A frame that cannot be transformed, or numbers that are none.
        """
        try:
            at = conversions.pose_from_msg(pose.pose, Checks("navigate_to_pose"), "pose.pose")
        except ConversionError as error:
            raise BadGoal(str(error)) from None
        return self.robot.in_house(at, pose.header.frame_id)

    # -- planning, turning, docking --------------------------------------------------------------

    async def _path(self, goal: GoalContext) -> Any:
        robot, request, result = self.robot, goal.request, ComputePathToPose.Result()
        fault = robot.strike("path")
        if fault is not None:
            return goal.abort(_coded(result, fault.code or 200))
        planners = robot.settings.planners
        if request.planner_id not in planners and (request.planner_id or len(planners) > 1):
            return goal.abort(_coded(result, INVALID_PLANNER))
        if robot.without_pose and not request.use_start:
            return goal.abort(_coded(result, PLANNER_TF_ERROR))
        try:
            target = self._target(request.goal)
            route = await robot.in_world(lambda: plan(robot.body, target.position))
        except BadGoal:
            return goal.abort(_coded(result, PLANNER_TF_ERROR))
        except NoPath as none:
            return goal.abort(_coded(result, none.code))
        believed = robot.localization.believed
        result.path = Path(header=robot.header(robot.settings.map_frame))
        points = _spaced(route.points)
        for k, point in enumerate(points):
            after = points[min(k + 1, len(points) - 1)]
            yaw = math.atan2(after[1] - point[1], after[0] - point[0])
            yaw = target.yaw if k == len(points) - 1 else yaw
            result.path.poses.append(robot.pose_stamped(believed(Pose(point, yaw))))
        return goal.succeed(result)

    async def _spin(self, goal: GoalContext) -> Any:
        robot, result = self.robot, Spin.Result()
        fault = robot.strike("spin")
        if fault is not None:
            return goal.abort(_coded(result, fault.code or 703))
        angle = float(goal.request.target_yaw)
        if not math.isfinite(angle):
            return goal.abort(_coded(result, 700))
        begin, turned = robot.stamp, 0.0

        def feedback(state: RobotState) -> None:
            nonlocal turned
            turned += abs(state.angular) * _SPIN_PERIOD
            goal.feedback(Spin.Feedback(angular_distance_traveled=float(turned)))

        allowed = conversions.time_from_msg(goal.request.time_allowance) or math.inf
        spin = asyncio.ensure_future(
            at_base(robot, lambda job: robot.plant.spin(robot.name, angle, job), feedback)
        )
        try:
            while not spin.done():
                await asyncio.wait({spin}, timeout=0.05)
                if robot.stamp - begin > allowed and not spin.done():
                    return goal.abort(_coded(result, _SPIN_TIMEOUT))
        finally:
            spin.cancel()
        took = max(robot.stamp - begin, 0.0)
        result.total_elapsed_time = conversions.duration_to_msg(took)
        return goal.succeed(result) if spin.result().ok else goal.abort(_coded(result, 703))

    async def _back_up(self, goal: GoalContext) -> Any:
        """Drive straight back by velocities, as fast as asked for."""
        robot, request = self.robot, goal.request
        begin = robot.state.pose.position
        back = Velocity(-abs(float(request.speed)))
        try:
            while math.dist(robot.state.pose.position, begin) < abs(request.target.x):
                robot.post(lambda: robot.plant.drive(robot.name, back))
                await asyncio.sleep(0.05)
        finally:
            robot.post(lambda: robot.plant.drive(robot.name, Velocity()))
        return goal.succeed(BackUp.Result())

    async def _dock(self, goal: GoalContext) -> Any:
        robot, request, result = self.robot, goal.request, DockRobot.Result()
        result.success = False
        fault = robot.strike("dock")
        if fault is not None:
            return goal.abort(_coded(result, fault.code or 905))
        dock = robot.dock
        if request.use_dock_id and request.dock_id not in ("", robot.settings.dock):
            return goal.abort(_coded(result, _DOCK_NOT_IN_DB))
        if not request.use_dock_id:
            try:
                dock = self._target(request.dock_pose)
            except BadGoal:
                return goal.abort(_coded(result, _DOCK_UNKNOWN))
        c, s = math.cos(dock.yaw), math.sin(dock.yaw)
        x, y, z = dock.position
        staging = Pose((x - _STAGING * c, y - _STAGING * s, z), dock.yaw)
        if request.navigate_to_staging_pose:
            goal.feedback(DockRobot.Feedback(state=DockRobot.Feedback.NAV_TO_STAGING_POSE))
            ended = await self._go(staging)
            if ended.outcome is Outcome.UNREACHABLE:  # a dock in a corner: straight to it
                ended = await self._go(dock)
            if not ended.ok:
                return goal.abort(_coded(result, _DOCK_FAILED_TO_STAGE))
        goal.feedback(DockRobot.Feedback(state=DockRobot.Feedback.CONTROLLING))
        ended = await self._go(dock)
        if not ended.ok:
            return goal.abort(_coded(result, 905))
        robot.charging = True
        result.success = True
        return goal.succeed(result)

    async def _undock(self, goal: GoalContext) -> Any:
        robot, result = self.robot, UndockRobot.Result()
        result.success = False
        if not robot.charging:  # "Robot is not in the dock, no need to undock"
            return goal.abort(result)
        c, s = math.cos(robot.dock.yaw), math.sin(robot.dock.yaw)
        x, y, z = robot.dock.position
        for far in (-_STAGING, _STAGING):  # back out of it; a dock in a corner is left ahead
            away = Pose((x + far * c, y + far * s, z), robot.dock.yaw)
            ended = await self._go(away)
            if ended.ok:
                robot.charging = False
                result.success = True
                return goal.succeed(result)
        return goal.abort(_coded(result, 905))

    # -- teleoperation and RViz ------------------------------------------------------------------

    def _velocity(self, message: Twist | TwistStamped) -> None:
        if not self.robot.suffers("link_cut"):
            twist = message.twist if isinstance(message, TwistStamped) else message
            speed = twist.linear
            velocity = Velocity(float(speed.x), float(speed.y), float(twist.angular.z))
            self.robot.post(lambda: self.robot.plant.drive(self.robot.name, velocity))

    async def _goal_pose(self, message: PoseStamped) -> None:
        try:
            target = self._target(message)
        except BadGoal as bad:
            self.robot.node.problem(f"{self.robot.name}/goal_pose: {bad}")
        else:
            await self.controller.follow(target)

    def _initial_pose(self, message: PoseWithCovarianceStamped) -> None:
        robot = self.robot
        try:
            given = conversions.pose_from_msg(
                message.pose.pose, Checks(f"{robot.name}/initialpose"), "pose.pose"
            )
        except ConversionError as error:
            robot.node.problem(str(error))
        else:
            robot.post(lambda: robot.localization.believe(given, robot.body.pose))


def _coded(result: Any, code: int) -> Any:
    """Give a result its code; Nav2's planner and controller leave `error_msg` empty."""
    result.error_code = code
    return result


def _farthest(body: Body) -> Vec3:
    """Return where on its floor a body can drive to and is farthest from now; for the world."""
    here, places = body.pose.position, body.places
    spots = [spot for name in places.map.places if (spot := places.stand(name)) is not None]
    reached = [
        spot
        for spot in spots
        if abs(spot[2] - here[2]) < _STOREY and places.space.connected(here, spot)
    ]
    return max(reached, key=lambda spot: math.dist(spot, here), default=here)


def _spaced(points: tuple[Vec3, ...]) -> list[Vec3]:
    """Return a path with a point at least every 10 cm."""
    out = [points[0]]
    for a, b in itertools.pairwise(points):
        count = max(1, math.ceil(math.dist(a, b) / _WAYPOINT))
        out += [
            (
                a[0] + (b[0] - a[0]) * k / count,
                a[1] + (b[1] - a[1]) * k / count,
                a[2] + (b[2] - a[2]) * k / count,
            )
            for k in range(1, count + 1)
        ]
    return out
