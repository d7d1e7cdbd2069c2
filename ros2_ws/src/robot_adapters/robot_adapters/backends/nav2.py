"""The base through Nav2 (Jazzy): drive, ask for paths, turn, dock."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, Twist, TwistStamped
from nav2_msgs.action import ComputePathToPose, DockRobot, NavigateToPose, Spin, UndockRobot
from nav2_msgs.msg import SpeedLimit
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from coterie_core.geometry import Pose, Vec3, quaternion_to_yaw, wrap_angle
from coterie_core.skills import NavigateTo, Outcome, SkillRefused, SkillResult
from coterie_ros import conversions
from coterie_ros.clients import NoAnswer, ServiceClient
from robot_adapters.backends.base import Feedback, Progress, Whereabouts
from robot_adapters.backends.goals import Ended, RobotAction, Stopwatch, joined
from robot_adapters.codes import DOCK, NAVIGATE, PLANNER, SPIN, explain

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode
    from robot_adapters.settings_motion import NavigationSettings

_WATCH_PERIOD = 0.1
_SPEED_PERIOD = 2.0
_MOVED = 0.05  # [m] and [rad] that count as progress
_MOST_POINTS = 6
"""Points near a goal that a path is asked for, before the goal counts as out of reach."""
_STOPS_OFF = 0.25
"""How far from a goal Nav2 ends a drive [m]: its goal checker's usual xy_goal_tolerance."""
_STEPS_OF_A_TURN = 4
_ZEROS = 5
"""Zero velocities that a stop sends: best-effort links lose some."""


class Nav2Navigation:
    """Drives a robot's base through Nav2's actions.

    Args:
        node: Whose clients and subscriptions it has; made in its `on_start`.
        settings: Names, limits and time-outs.
        where: Where the robot and its map are.
        allow: Takes a planned path, in the team's map; raises SkillRefused where it must not be
            driven.
        must_plan: Nothing may be driven of which the path is not known.
    """

    limits_speed = True

    def __init__(
        self,
        node: AgentNode,
        settings: NavigationSettings,
        where: Whereabouts,
        allow: Callable[[Sequence[Vec3]], None] = lambda points: None,
        must_plan: bool = False,
    ) -> None:
        self._must_plan = must_plan
        self._node, self._settings, self._where, self._allow = node, settings, where, allow
        space, wait = settings.namespace, settings.server_timeout
        self._drive = RobotAction(
            node, NavigateToPose, joined(space, settings.action or "navigate_to_pose"), wait
        )
        self._plan = RobotAction(
            node, ComputePathToPose, joined(space, "compute_path_to_pose"), wait
        )
        self._spin = RobotAction(node, Spin, joined(space, "spin"), wait)
        self._dock = RobotAction(node, DockRobot, joined(space, "dock_robot"), wait)
        self._undock = RobotAction(node, UndockRobot, joined(space, "undock_robot"), wait)
        self._active = (
            ServiceClient(node, Trigger, joined(space, f"{settings.lifecycle}/is_active"))
            if settings.lifecycle
            else None
        )
        self._velocity = None
        if settings.cmd_vel:
            kind = TwistStamped if settings.stamped_velocity else Twist
            self._velocity = node.publisher(kind, joined(space, settings.cmd_vel), "odometry")
        self._spread: tuple[float, float] | None = None
        self._paused = False
        if settings.localization:  # amcl latches it, and says it again only when the robot moves
            node.subscribe(
                PoseWithCovarianceStamped,
                joined(space, settings.localization),
                "odometry",
                self._on_localization,
                latched=True,
            )
        if settings.paused:
            paused = joined(space, settings.paused)
            node.subscribe(Bool, paused, "messages", self._on_paused, latched=True)

    # -- what every backend does ---------------------------------------------------------------

    def halt(self) -> None:
        """Cancel all goals of the base and send zero velocities."""
        for action in (self._drive, self._spin, self._dock, self._undock):
            action.halt()
        if self._velocity is not None:
            message = Twist()
            if self._settings.stamped_velocity:
                # What is not stamped is too old for drivers and multiplexers that look.
                head = conversions.header(self._node.now(), self._where.base_frame)
                message = TwistStamped(header=head)
            for _ in range(_ZEROS):
                self._velocity.publish(message)

    def limit_speed(self, speed: float) -> None:
        """Tell Nav2's controllers a speed limit [m/s], again and again: they forget it."""
        topic = joined(self._settings.namespace, "speed_limit")
        limits = self._node.publisher(SpeedLimit, topic, "messages")
        self._node.every(
            _SPEED_PERIOD,
            lambda: limits.publish(
                SpeedLimit(
                    header=conversions.header(self._node.now(), ""),
                    percentage=False,
                    speed_limit=float(speed),
                )
            ),
            "speed limit",
        )

    def ready(self) -> str:
        """Return "" where the base can drive now, else why not."""
        if self._paused:
            return "a person drives the robot or has paused it"
        if not self._drive.there:
            return self._missing(self._drive)
        return self._lost()

    def describe(self) -> dict[str, object]:
        """Return figures for the diagnostics."""
        spread = self._spread
        return {
            "navigate_to_pose": "there" if self._drive.there else "missing",
            "compute_path_to_pose": "there" if self._plan.there else "missing",
            "localization": "unknown"
            if spread is None
            else f"{spread[0]:.2f} m, {math.degrees(spread[1]):.0f} degrees",
            "paused": self._paused,
        }

    # -- skills --------------------------------------------------------------------------------

    async def navigate(self, skill: NavigateTo, goal: Pose, feedback: Feedback) -> SkillResult:
        """Drive to a pose of the team's map, or as near to it as `skill` allows."""
        try:
            await self._require_ready(self._drive)
            point, length = await self._reachable(skill, goal)
            yaw = skill.yaw if skill.yaw is not None else self._heading(point, goal)
            await self._drive_to(Pose(point, yaw), length, feedback)
        except Ended as end:
            return end.result
        except RuntimeError as error:
            return SkillResult(Outcome.FAULT, str(error))
        return SkillResult(Outcome.SUCCEEDED)

    async def path(self, goal: Pose) -> tuple[SkillResult, float]:
        """Return whether the base can get to a pose of the team's map, and how long the way is [m].

        The length is NaN where nobody can tell.
        """
        if not self._plan.there:
            return SkillResult(Outcome.SUCCEEDED), math.nan
        try:
            end = await self._plan.run(
                ComputePathToPose.Goal(goal=self._stamped(goal)),
                timeout=2.0 * self._settings.server_timeout,
            )
        except Ended as ended:
            return ended.result, math.nan
        if end.succeeded and end.result.error_code == 0:
            points = [
                (p.pose.position.x, p.pose.position.y, p.pose.position.z)
                for p in end.result.path.poses
            ]
            length = sum(math.dist(a, b) for a, b in itertools.pairwise(points))
            try:
                self._allow([self._where.to_team_map(point) for point in points])
            except SkillRefused as refused:
                return refused.result, length
            return SkillResult(Outcome.SUCCEEDED), length
        return self._explained(self._plan, PLANNER, end.result), math.nan

    async def look_around(self, feedback: Feedback) -> SkillResult:
        """Turn once about the own axis, as the settings say."""
        way = self._settings.look_around
        if way == "none":
            return SkillResult(Outcome.UNSUPPORTED, "navigation.look_around is none")
        try:
            await self._require_ready(self._spin if way == "spin" else self._drive)
            if way == "spin":
                await self._turn()
            else:
                await self._turn_by_goals(feedback)
        except Ended as end:
            return end.result
        except RuntimeError as error:
            return SkillResult(Outcome.FAULT, str(error))
        return SkillResult(Outcome.SUCCEEDED)

    async def dock(self) -> SkillResult:
        """Drive to the dock and into it."""
        settings = self._settings
        if not settings.dock:
            return SkillResult(Outcome.UNSUPPORTED, "navigation.dock is empty: no dock is known")
        goal = DockRobot.Goal(
            use_dock_id=True, dock_id=settings.dock, navigate_to_staging_pose=True,
            max_staging_time=settings.timeout,
        )  # fmt: skip
        try:
            end = await self._dock.run(goal, timeout=settings.timeout, watch=self._watch_person)
        except Ended as ended:
            return ended.result
        if end.succeeded and end.result.success:
            return SkillResult(Outcome.SUCCEEDED)
        return self._explained(self._dock, DOCK, end.result)

    async def undock(self) -> SkillResult:
        """Drive out of the dock; where Nav2 does not know that it is in one, nothing is to do."""
        if not self._undock.there:
            return SkillResult(Outcome.SUCCEEDED)
        try:
            end = await self._undock.run(
                UndockRobot.Goal(max_undocking_time=self._settings.stall_timeout),
                timeout=2.0 * self._settings.stall_timeout,
                watch=self._watch_person,
            )
        except Ended as ended:
            return ended.result
        if end.succeeded and end.result.success:
            return SkillResult(Outcome.SUCCEEDED)
        return self._explained(self._undock, DOCK, end.result)

    # -- inside --------------------------------------------------------------------------------

    async def _require_ready(self, action: RobotAction) -> None:
        if self._paused:
            raise Ended(Outcome.CANCELLED, "a person drives the robot or has paused it")
        if not await action.wait():
            raise Ended(Outcome.FAULT, self._missing(action))
        if why := self._lost():
            raise Ended(Outcome.FAULT, why)
        if self._active is None or not await self._active.wait(0.0):
            return  # no lifecycle manager of this name: the action's server itself tells
        try:
            answer = await self._active.call(
                Trigger.Request(), timeout=self._settings.server_timeout, attempts=1
            )
        except NoAnswer as error:
            raise Ended(Outcome.FAULT, str(error)) from None
        if not answer.success:
            raise Ended(
                Outcome.FAULT,
                f"{self._active.name} says that Nav2 is not active; it may be paused: activate it",
            )

    @staticmethod
    def _missing(action: RobotAction) -> str:
        return f"no server of {action.name}: is Nav2 running, in this ROS_DOMAIN_ID?"

    def _lost(self) -> str:
        settings = self._settings
        if not settings.localization:
            return ""
        if self._spread is None:
            return (
                f"the robot is not localized: nothing came on {settings.localization}; set its "
                "initial pose, or leave navigation.localization empty"
            )
        position, yaw = self._spread
        if position > settings.max_position_spread or yaw > settings.max_yaw_spread:
            return (
                f"the robot is not localized: {settings.localization} spreads over "
                f"{position:.2f} m and {yaw:.2f} rad (allowed "
                f"{settings.max_position_spread:g} m and {settings.max_yaw_spread:g} rad); "
                "drive it a little, or set its pose"
            )
        return ""

    async def _reachable(self, skill: NavigateTo, goal: Pose) -> tuple[Vec3, float]:
        """Return the point to drive to and the length of the path (NaN: not known)."""
        tolerance = 0.0 if skill.place else skill.tolerance
        points = (
            self._where.free_points(goal.position, max(tolerance - _STOPS_OFF, 0.0))
            or self._where.free_points(goal.position, tolerance)
            or [goal.position]
        )
        planned = (self._settings.check_path or self._must_plan) and self._plan.there
        if self._must_plan and not planned:
            raise Ended(
                Outcome.REFUSED,
                f"limits.keep_out: no server of {self._plan.name} tells which way the robot would "
                "take, so that it must not drive",
            )
        if not planned:
            return points[0], math.nan
        first: SkillResult | None = None
        for point in points[:_MOST_POINTS]:
            answer, length = await self.path(Pose(point, self._heading(point, goal)))
            if answer.ok:
                return point, length
            first = first or answer
            if answer.outcome is not Outcome.UNREACHABLE:
                break
        assert first is not None
        raise Ended(first.outcome, first.reason)

    def _heading(self, point: Vec3, goal: Pose) -> float:
        """Return the heading to arrive with: toward the goal, or as the robot drives there."""
        dx, dy = goal.position[0] - point[0], goal.position[1] - point[1]
        if math.hypot(dx, dy) > 0.05:
            return math.atan2(dy, dx)
        here = self._where.pose()
        dx, dy = point[0] - here.position[0], point[1] - here.position[1]
        return math.atan2(dy, dx) if math.hypot(dx, dy) > 0.05 else here.yaw

    async def _drive_to(self, pose: Pose, length: float, feedback: Feedback) -> None:
        drive = _Drive(self, length, feedback)
        end = await self._drive.run(
            NavigateToPose.Goal(pose=self._stamped(pose)),
            timeout=self._settings.timeout,
            on_feedback=drive.on_feedback,
            watch=drive.watch,
        )
        if not end.succeeded:
            result = self._explained(self._drive, NAVIGATE, end.result)
            raise Ended(result.outcome, result.reason)

    async def _turn(self) -> None:
        end = await self._spin.run(
            Spin.Goal(
                target_yaw=2.0 * math.pi,
                time_allowance=conversions.duration_to_msg(self._settings.stall_timeout),
            ),
            timeout=2.0 * self._settings.stall_timeout,
            watch=self._watch_person,
        )
        if not end.succeeded:
            result = self._explained(self._spin, SPIN, end.result)
            raise Ended(result.outcome, result.reason)

    async def _turn_by_goals(self, feedback: Feedback) -> None:
        here = self._where.pose()
        for step in range(1, _STEPS_OF_A_TURN + 1):
            yaw = wrap_angle(here.yaw + step * 2.0 * math.pi / _STEPS_OF_A_TURN)
            await self._drive_to(Pose(here.position, yaw), math.nan, lambda progress: None)
            feedback(Progress(step / _STEPS_OF_A_TURN))

    def _stamped(self, pose: Pose) -> PoseStamped:
        own = self._where.to_robot_map(pose)
        # Without a stamp: at any time. A map's frame does not move.
        return PoseStamped(
            header=conversions.header(0.0, self._where.map_frame), pose=conversions.pose_to_msg(own)
        )

    def _explained(self, action: RobotAction, codes: Any, result: Any) -> SkillResult:
        code, said = int(result.error_code), str(getattr(result, "error_msg", ""))
        if code == 0:
            words = f": {said[:200]}" if said else "; its server's log says why"
            return SkillResult(Outcome.FAULT, f"{action.name}: aborted without a code{words}")
        return explain(action.name, codes, code, said)

    async def _watch_person(self) -> SkillResult:
        while not self._paused:
            await asyncio.sleep(_WATCH_PERIOD)
        return SkillResult(Outcome.CANCELLED, "a person drives the robot or has paused it")

    def _on_localization(self, message: PoseWithCovarianceStamped) -> None:
        spread = message.pose.covariance
        # Row-major (x, y, z, roll, pitch, yaw): variances lie on the diagonal.
        values = [float(spread[0]), float(spread[7]), float(spread[35])]
        if not all(math.isfinite(v) and v >= 0.0 for v in values):
            self._spread = (math.inf, math.inf)
            return
        self._spread = (math.sqrt(max(values[0], values[1])), math.sqrt(values[2]))

    def _on_paused(self, message: Bool) -> None:
        self._paused = bool(message.data)


class _Drive:
    """One drive: tells how far it has come, and ends it where it must not go on."""

    def __init__(self, owner: Nav2Navigation, length: float, feedback: Feedback) -> None:
        self._owner, self._feedback = owner, feedback
        self._longest = length
        self._last: tuple[float, float, float, float, int] | None = None
        self._still = Stopwatch(owner._node)

    def on_feedback(self, message: Any) -> None:
        """Take Nav2's feedback."""
        pose, left = message.current_pose.pose, float(message.distance_remaining)
        o = pose.orientation
        yaw = quaternion_to_yaw((o.x, o.y, o.z, o.w))
        now = (pose.position.x, pose.position.y, yaw, left, int(message.number_of_recoveries))
        last = self._last
        if last is None or (
            math.dist(now[:2], last[:2]) > _MOVED
            or abs(wrap_angle(now[2] - last[2])) > _MOVED
            or now[4] != last[4]
        ):
            self._last = now
            self._still = Stopwatch(self._owner._node)
        if math.isfinite(left) and left > 0.0:
            self._longest = max(left, self._longest) if self._longest == self._longest else left
            self._feedback(Progress(min(max(1.0 - left / self._longest, 0.0), 1.0), left))

    async def watch(self) -> SkillResult:
        """Wait until the drive must end: lost, taken over, stuck."""
        owner = self._owner
        while True:
            await asyncio.sleep(_WATCH_PERIOD)
            if owner._paused:
                return SkillResult(Outcome.CANCELLED, "a person drives the robot or has paused it")
            if why := owner._lost():
                return SkillResult(Outcome.FAULT, f"the drive was ended: {why}")
            idle = self._still.elapsed()
            if idle > owner._settings.stall_timeout:
                return SkillResult(
                    Outcome.TIMED_OUT,
                    f"{owner._drive.name}: no progress for {idle:.0f} s; the goal was cancelled",
                )
