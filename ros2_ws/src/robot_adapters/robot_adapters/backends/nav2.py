"""The base through Nav2 (Jazzy): drive, ask for paths, turn, dock."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav2_msgs.action import ComputePathToPose, DockRobot, NavigateToPose, Spin, UndockRobot
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from coterie_core.geometry import Pose, Vec3, quaternion_to_yaw, wrap_angle
from coterie_core.skills import (
    POSITION_TOLERANCE,
    NavigateTo,
    Outcome,
    SkillRefused,
    SkillResult,
)
from coterie_ros import conversions
from coterie_ros.clients import GoalEnd, NoAnswer, ServiceClient
from robot_adapters.backends.base import AllowPath, Feedback, Progress, Whereabouts
from robot_adapters.backends.goals import Ended, RobotAction, Stopwatch, TakenOver
from robot_adapters.backends.nav2_servers import Nav2Parameters, SpeedCap
from robot_adapters.codes import DOCK, NAVIGATE, PLANNER, SPIN, explain
from robot_adapters.names import base_actions, drive_action, joined
from robot_adapters.standing import come_to_rest

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode
    from coterie_ros.halting import Halt
    from robot_adapters.settings_motion import NavigationSettings

_WATCH_PERIOD = 0.1
_MOVED = 0.05  # [m] and [rad] that count as progress
_MOST_POINTS = 6
"""Points near a goal that a path is asked for, before the goal counts as out of reach."""
_STOPS_OFF = 0.25
"""How far from a goal Nav2 ends a drive [m]: its goal checker's usual xy_goal_tolerance."""
_ARRIVED = 0.1
"""A path may end so far from its goal in any case [m]: planners go by the cells of a grid."""
_STEPS_OF_A_TURN = 4
_PATH_BEGINS = 0.5
"""How far from the robot a path of its own begins at most [m]."""
_CLEARED = 5.0
"""How long servers may take to say that what moves the base is cancelled [s]."""
_BRAKING = 3.0
"""How long a robot may take to come to rest after a drive [s]."""
_SAMPLE = 0.1
"""Nav2 tells about 98 times a second how far it is; so often that is looked at [s]."""
_SILENCE, _GAPS = 1.0, 5.0
"""Silence of feedback after which it is asked why [s], or in mean times between two pieces."""
_UNHEARD = 2.0
"""Silence after which a drive is ended though nothing is known to be wrong, in those units."""
_OLD_PATH = 0.5
"""How long the feedback of a goal may tell what is left of the path before it [s]."""


class Nav2Navigation:
    """Drives a robot's base through Nav2's actions.

    Args:
        node: Whose clients and subscriptions it has; made in its `on_start`.
        settings: Names, limits and time-outs.
        where: Where the robot and its map are.
        allow: Takes a planned path and its goal, in the team's map; raises SkillRefused where it
            must not be driven.
        must_plan: Nothing may be driven of which the path is not known.
    """

    limits_speed = True

    def __init__(
        self,
        node: AgentNode,
        settings: NavigationSettings,
        where: Whereabouts,
        halt: Halt,
        allow: AllowPath = lambda points, goal: None,
        must_plan: bool = False,
    ) -> None:
        self._must_plan = must_plan
        self._node, self._settings, self._where, self._allow = node, settings, where, allow
        space, wait = settings.namespace, settings.server_timeout
        self._drive = RobotAction(node, NavigateToPose, drive_action(settings), wait)
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
        self._parameters = Nav2Parameters(node, space)
        self._planner = settings.planner_id
        self._cap: SpeedCap | None = None
        self._halt, self._moving_actions = halt, base_actions(settings)
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
        """Do nothing: the base's velocities are Nav2's own, which `halting.Halt` cancels."""

    def limit_speed(self, speed: float) -> None:
        """Hold Nav2's controllers below a speed [m/s] until the node is deactivated."""
        space = self._settings.namespace
        self._cap = SpeedCap(self._node, space, speed, self._parameters)

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
            **({} if self._cap is None else {"speed_limit": self._cap.figure}),
        }

    # -- skills --------------------------------------------------------------------------------

    async def navigate(self, skill: NavigateTo, goal: Pose, feedback: Feedback) -> SkillResult:
        """Drive to a pose of the team's map, or as near to it as `skill` allows."""
        try:
            try:
                await self._go(skill, goal, feedback)
            except _WithoutCode:  # a busy computer's behavior tree gives up so, and it passes
                await self._go(skill, goal, feedback)
        except Ended as end:
            return end.result
        except RuntimeError as error:
            return SkillResult(Outcome.FAULT, str(error))
        return SkillResult(Outcome.SUCCEEDED)

    async def path(self, goal: Pose, target: Vec3, within: float) -> tuple[SkillResult, float]:
        """Return whether the base can get to a pose of the team's map, and how long the way is [m].

        Args:
            goal: The pose.
            target: What the robot is to get near to, team's map [m].
            within: How near [m]: planners may end a path before its goal.

        Returns:
            The length is NaN where nobody can tell.
        """
        if not self._plan.there:
            return SkillResult(Outcome.SUCCEEDED), math.nan
        try:
            end = await self._planned(goal)
        except Ended as ended:
            return ended.result, math.nan
        if not end.succeeded or end.result.error_code != 0:
            return self._explained(self._plan, PLANNER, end.result), math.nan
        points = [
            self._where.to_team_map((p.pose.position.x, p.pose.position.y, p.pose.position.z))
            for p in end.result.path.poses
        ]
        length = sum(math.dist(a, b) for a, b in itertools.pairwise(points))
        why, outcome = "", Outcome.UNREACHABLE
        if not points:
            why = "it planned a path without a pose"
        elif (off := math.dist(points[-1][:2], target[:2])) > within:
            why = f"the path ends {off:.2f} m from the target; tolerated are {within:g} m"
        elif (off := math.dist(points[0][:2], self._where.pose().position[:2])) > _PATH_BEGINS:
            why, outcome = f"the path begins {off:.2f} m from where the robot is", Outcome.FAULT
        if why:
            return SkillResult(outcome, f"{self._plan.name}: {why}"), length
        try:
            self._allow(points, goal.position)
        except SkillRefused as refused:
            return refused.result, length
        return SkillResult(Outcome.SUCCEEDED), length

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
            end = await self._moving(self._dock, goal, settings.timeout)
        except Ended as ended:
            return ended.result
        if end.succeeded and end.result.success:
            return SkillResult(Outcome.SUCCEEDED)
        return self._explained(self._dock, DOCK, end.result)

    async def undock(self) -> SkillResult:
        """Drive out of the dock; success has a reason where Nav2 says that it is in none."""
        if not self._undock.there:
            return SkillResult(Outcome.SUCCEEDED)
        try:
            end = await self._moving(
                self._undock,
                UndockRobot.Goal(max_undocking_time=self._settings.stall_timeout),
                2.0 * self._settings.stall_timeout,
            )
        except Ended as ended:
            return ended.result
        if end.succeeded and end.result.success:
            return SkillResult(Outcome.SUCCEEDED)
        if not end.result.success and end.result.error_code == 0:
            # Jazzy's docking server ends so, without a word, where the robot is in no dock.
            if why := await self._inactive():
                return SkillResult(Outcome.FAULT, f"{self._undock.name}: aborted; {why}")
            return SkillResult(Outcome.SUCCEEDED, f"{self._undock.name}: it is in no dock")
        return self._explained(self._undock, DOCK, end.result)

    # -- inside --------------------------------------------------------------------------------

    async def _require_ready(self, action: RobotAction) -> None:
        if self._paused:
            raise Ended(Outcome.CANCELLED, "a person drives the robot or has paused it")
        if not await action.wait():
            raise Ended(Outcome.FAULT, self._missing(action))
        if why := self._lost():
            raise Ended(Outcome.FAULT, why)
        if why := await self._inactive():
            raise Ended(Outcome.FAULT, f"{action.name}: {why}")

    async def _inactive(self, timeout: float | None = None) -> str:
        """Return why Nav2 is not active; "": it is, or no lifecycle manager tells."""
        if self._active is None or not self._active.there:
            return ""  # the action's server itself tells
        name = self._node.resolve_service_name(self._active.name)
        try:
            answer = await self._active.call(
                Trigger.Request(), timeout=timeout or self._settings.server_timeout, attempts=1
            )
        except NoAnswer as error:
            return str(error)
        if answer.success:
            return ""
        return f"{name} says that Nav2 is not active; it may be paused: activate it"

    def _missing(self, action: RobotAction) -> str:
        name = self._node.resolve_service_name(action.name)
        return (
            f"no server of {name}: is Nav2 running, in this ROS_DOMAIN_ID and in "
            "navigation.namespace?"
        )

    async def _moving(
        self,
        action: RobotAction,
        goal: Any,
        timeout: float,
        watch: Callable[[], Awaitable[SkillResult]] | None = None,
        on_feedback: Callable[[Any], object] | None = None,
    ) -> GoalEnd:
        """Run a goal that moves the base; the robot stands when this ends.

        A behavior tree that gives up, or is gone, may leave what it began: all that may move the
        base is cancelled, unless the goal succeeded, or another client's took its place.
        """

        async def watched() -> SkillResult:
            result = await (watch or self._watch_person)()
            self._cancel()  # before the wait for what the goal's own server says
            return result

        if open_ := await self._unanswered():
            raise Ended(Outcome.FAULT, f"{open_}: no answer to a cancel; look at Nav2's log")
        self._node.urgent.post(partial(self._halt.forget, self._moving_actions))
        motion = asyncio.ensure_future(
            action.run(goal, timeout=timeout, on_feedback=on_feedback, watch=watched)
        )
        try:
            end = await asyncio.shield(motion)
        except TakenOver:
            raise
        except Ended as ended:
            if moves := await self._clear():
                raise Ended(ended.result.outcome, f"{ended.result.reason}; {moves}") from None
            raise
        except asyncio.CancelledError:
            self._cancel()
            motion.cancel()
            await asyncio.wait({motion})
            await self._rests()
            raise
        if end.succeeded:
            if not await self._rests():
                return end
            self._node.problem("Nav2 says that it has arrived, and the robot moves on")
        if moves := await self._clear():
            raise Ended(Outcome.FAULT, moves)
        return end

    def _cancel(self) -> None:
        self._node.urgent.post(partial(self._halt.send, self._moving_actions))

    async def _rests(self) -> float:
        return await come_to_rest(self._pose, partial(Stopwatch, self._node), _BRAKING)

    async def _unanswered(self) -> str:
        """Wait for the answers to cancels, which would end what begins now; return who owes one."""
        watch = Stopwatch(self._node)
        while True:
            open_ = [one for one in self._halt.unanswered if one in self._moving_actions]
            if not open_ or watch.elapsed() >= _CLEARED:
                return ", ".join(open_)
            await asyncio.sleep(_WATCH_PERIOD)

    async def _clear(self) -> str:
        """Cancel all that may move the base; return that it moves on, if it does."""
        self._cancel()
        await asyncio.sleep(_WATCH_PERIOD)
        await self._unanswered()
        speed = await self._rests()
        if not speed:
            return ""
        moves = f"all is cancelled, and the robot still moves at {speed:.2f} m/s: stop it"
        self._node.problem(moves)
        return moves

    def _pose(self) -> Pose | None:
        try:
            return self._where.pose()
        except RuntimeError:
            return None

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

    async def _go(self, skill: NavigateTo, goal: Pose, feedback: Feedback) -> None:
        await self._require_ready(self._drive)
        point, length = await self._reachable(skill, goal)
        yaw = skill.yaw if skill.yaw is not None else self._heading(point, goal)
        await self._drive_to(Pose(point, yaw), length, feedback)

    async def _planned(self, goal: Pose) -> GoalEnd:
        """Ask for a path; where there are several planners and none is named, of the first one."""
        while True:
            end = await self._plan.run(
                ComputePathToPose.Goal(goal=self._stamped(goal), planner_id=self._planner),
                timeout=2.0 * self._settings.server_timeout,
            )
            if end.result.error_code != ComputePathToPose.Result.INVALID_PLANNER or self._planner:
                return end
            names = await self._parameters.planners()
            if not names:
                return end
            self._planner = names[0]

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
            within = POSITION_TOLERANCE if skill.place else max(skill.tolerance, _ARRIVED)
            pose = Pose(point, self._heading(point, goal))
            answer, length = await self.path(pose, goal.position, within)
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
        if self._cap is not None:
            await self._cap.tell()
        end = await self._moving(
            self._drive,
            NavigateToPose.Goal(pose=self._stamped(pose)),
            self._settings.timeout,
            drive.watch,
            drive.on_feedback,
        )
        if not end.succeeded:
            result = self._explained(self._drive, NAVIGATE, end.result)
            kind = Ended if end.result.error_code else _WithoutCode
            raise kind(result.outcome, result.reason)

    async def _turn(self) -> None:
        goal = Spin.Goal(
            target_yaw=2.0 * math.pi,
            time_allowance=conversions.duration_to_msg(self._settings.stall_timeout),
        )
        end = await self._moving(self._spin, goal, 2.0 * self._settings.stall_timeout)
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
            words = (
                f": {said[:200]}" if said else "; its server's log says why; on a busy computer "
            )
            words += "" if said else "raise default_server_timeout of Nav2's bt_navigator"
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


class _WithoutCode(Ended):
    """Nav2 has aborted a drive and does not say why."""


class _Drive:
    """One drive: tells how far it has come, and ends it where it must not go on."""

    def __init__(self, owner: Nav2Navigation, length: float, feedback: Feedback) -> None:
        self._owner, self._feedback = owner, feedback
        self._longest = length
        self._last: tuple[float, float, float, float, int] | None = None
        self._still = self._heard = Stopwatch(owner._node)
        self._first = self._last_heard = self._due = 0.0
        self._count = 0
        self._looked, self._quiet = time.monotonic(), 0.0

    def on_feedback(self, message: Any) -> None:
        """Take Nav2's feedback, of which a part is enough."""
        self._count += 1
        now = self._last_heard = time.monotonic()
        self._quiet = 0.0
        if now < self._due:
            return
        self._due = now + _SAMPLE
        self._first = self._first or now
        self._heard = Stopwatch(self._owner._node)
        self._take(message, now - self._first < _OLD_PATH)

    def _take(self, message: Any, old: bool) -> None:
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
        if math.isfinite(left) and left > 0.0 and not old:
            self._longest = max(left, self._longest) if self._longest == self._longest else left
            self._feedback(Progress(min(max(1.0 - left / self._longest, 0.0), 1.0), left))

    async def watch(self) -> SkillResult:
        """Wait until the drive must end: lost, taken over, stuck."""
        owner = self._owner
        while True:
            await self._pause()
            if owner._paused:
                return SkillResult(Outcome.CANCELLED, "a person drives the robot or has paused it")
            if why := owner._lost():
                return SkillResult(Outcome.FAULT, f"the drive was ended: {why}")
            if found := await self._silent():
                return SkillResult(Outcome.FAULT, found)
            idle = self._still.elapsed()
            if idle > owner._settings.stall_timeout:
                return SkillResult(
                    Outcome.TIMED_OUT,
                    f"{owner._drive.name}: no progress for {idle:.0f} s; the goal was cancelled",
                )

    async def _pause(self) -> None:
        """Wait a moment. One that takes long is no silence: what came may wait to be read."""
        await asyncio.sleep(_WATCH_PERIOD)
        now = time.monotonic()
        self._quiet += min(now - self._looked, 2.0 * _WATCH_PERIOD)
        self._looked = now

    def _silence(self) -> float:
        """Return how long nothing was heard [s], by the robot's clock and by its own looks."""
        return min(self._heard.elapsed(), self._quiet)

    async def _silent(self) -> str:
        """Return what is wrong where feedback came and comes no more; "": it comes."""
        owner, heard = self._owner, self._heard
        if self._count < 2:
            return ""
        gap = (self._last_heard - self._first) / (self._count - 1)
        patience = max(_SILENCE, _GAPS * gap)
        if self._silence() < patience:
            return ""
        found = "its server is gone" if not owner._drive.there else ""
        found = found or await owner._inactive(_SILENCE)
        while not found and self._heard is heard and self._silence() < _UNHEARD * patience:
            await self._pause()
        if self._heard is not heard:
            return ""
        return (
            f"the drive was ended: {owner._drive.name} has told nothing for {heard.elapsed():.1f} s"
            f"; {found or 'its process may hang or be gone'}"
        )
