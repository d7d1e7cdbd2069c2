"""The base by velocity commands alone: paths over the robot's map, stops at what stands there."""

from __future__ import annotations

import asyncio
import itertools
import math
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from geometry_msgs.msg import Twist, TwistStamped
from std_msgs.msg import Bool

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose, Vec2, Vec3, wrap_angle
from coterie_core.skills import NavigateTo, Outcome, SkillRefused, SkillResult
from coterie_ros import conversions
from robot_adapters.backends.base import AllowPath, Feedback, Progress
from robot_adapters.backends.goals import Ended, Stopwatch, joined
from robot_adapters.backends.obstacles import Ground, Obstacles
from robot_adapters.sensing.grid_space import GridSpace
from robot_adapters.steering import Motion, PathFollower, Points, room_ahead, turn_rate

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode
    from robot_adapters.settings_motion import NavigationSettings

_PERIOD = 0.05
_ARRIVED = 0.1
"""Distance to the goal at which a drive ends [m]."""
_TURNED = 0.08
"""Angle that is left when a turn ends [rad]."""
_MOVED = 0.05  # [m] and [rad] that count as progress
_OFF_PATH = 0.6
"""Farther from its path the robot plans anew [m]."""
_WAIT_BLOCKED = 2.0
"""How long the robot waits for an obstacle to go before it plans around it [s]."""
_CELL = 0.05
"""Obstacles that are planned around are told to this [m]."""
_NEARBY = 1.0
"""Obstacles that are so near to the robot are planned around in any case [m]."""
_SAME_CLEARANCE_M = 0.1
"""What is seen so near to what the map has is that [m]."""
_BESIDE = 0.3
"""What lies so much deeper than what the robot stands before belongs to it [m]."""
_CRAWL = 0.01
"""Room within which a robot brakes from 0.1 m/s [m]: with so much it crawls."""
_ZEROS = 5
"""Zero velocities that a stop sends: best-effort links lose some."""
_UNSEEN = "something that the camera does not see any more stands in front of the robot"


class VelocityNavigation:
    """Drives a base that takes velocities and tells where it is, and nothing more.

    Args:
        node: Whose publishers and subscriptions it has; made in its `on_start`.
        settings: Topics, speeds and time-outs.
        ground: Where the robot is, and its map.
        body: The robot's size and speed.
        needs_map: Nothing is driven before a map came; else without one the way is straight.
        allow: Takes a planned path and its goal, in the team's map; raises SkillRefused where it
            must not be driven.
    """

    limits_speed = True

    def __init__(
        self,
        node: AgentNode,
        settings: NavigationSettings,
        ground: Ground,
        body: Embodiment,
        needs_map: bool,
        allow: AllowPath = lambda points, goal: None,
    ) -> None:
        self._node, self._settings, self._ground, self._allow = node, settings, ground, allow
        self._needs_map = needs_map
        self.motion = Motion(
            min(settings.speed, body.linear_speed),
            min(settings.turn_speed, body.angular_speed),
            radius=body.radius,
            margin=settings.stop_distance,
        )
        self._obstacles = Obstacles(node, settings, ground, body.height, body.radius)
        kind = TwistStamped if settings.stamped_velocity else Twist
        topic = joined(settings.namespace, settings.cmd_vel or "cmd_vel")
        self._velocity = node.publisher(kind, topic, "odometry")
        self._topic = topic
        # A stop comes in another thread than that of the drive: no command may follow it.
        self._gate, self._open = threading.Lock(), False
        self._paused, self._spare = False, 0.0
        if settings.paused:
            paused = joined(settings.namespace, settings.paused)
            node.subscribe(Bool, paused, "messages", self._on_paused, latched=True)

    # -- what every backend does ---------------------------------------------------------------

    def halt(self) -> None:
        """Send zero velocities; nothing else is sent until the next skill begins."""
        with self._gate:
            self._open = False
            for _ in range(_ZEROS):
                self._publish(0.0, 0.0)

    def limit_speed(self, speed: float) -> None:
        """Drive no faster than so [m/s] from now on."""
        motion = self.motion
        self.motion = Motion(
            min(motion.speed, speed), motion.turn, motion.braking, motion.radius, motion.margin
        )

    def ready(self) -> str:
        """Return "" where the base can drive now, else why not."""
        if self._paused:
            return "a person drives the robot or has paused it"
        if not self._velocity.subscribers:
            return f"nobody listens to {self._topic}: is the base's driver running?"
        return self._obstacles.blind()

    def describe(self) -> dict[str, object]:
        """Return figures for the diagnostics."""
        return {
            "listeners": self._velocity.subscribers,
            "obstacles": self._obstacles.blind() or self._settings.obstacles,
            "speed": self.motion.speed,
            "paused": self._paused,
        }

    # -- skills --------------------------------------------------------------------------------

    async def navigate(self, skill: NavigateTo, goal: Pose, feedback: Feedback) -> SkillResult:
        """Drive to a pose of the team's map, or as near to it as `skill` allows."""

        async def work() -> None:
            target, path = await self._planned(skill, goal)
            await self._follow(target, path, skill.tolerance, feedback)
            if skill.yaw is not None:
                await self._turn_to(self._ground.to_robot_map(Pose(target, skill.yaw)).yaw)

        return await self._doing(work)

    async def look_around(self, feedback: Feedback) -> SkillResult:
        """Turn once about the own axis."""
        if self._settings.look_around == "none":
            return SkillResult(Outcome.UNSUPPORTED, "navigation.look_around is none")

        async def work() -> None:
            watch = _Watch(self, self._settings.stall_timeout + 4.0 * math.tau / self.motion.turn)
            done, last = 0.0, self._here().yaw
            while done < math.tau - _TURNED:
                here = await watch.step()
                if here is None:
                    continue
                done += max(wrap_angle(here.yaw - last), 0.0)
                last = here.yaw
                feedback(Progress(min(done / math.tau, 1.0)))
                self._send(0.0, self.motion.turn)

        return await self._doing(work)

    async def dock(self) -> SkillResult:
        """Say that it cannot."""
        return SkillResult(Outcome.UNSUPPORTED, "navigation.backend velocity knows no dock")

    async def undock(self) -> SkillResult:
        """Do nothing: the robot drives out of its dock."""
        return SkillResult(Outcome.SUCCEEDED)

    # -- inside --------------------------------------------------------------------------------

    async def _doing(self, work: Callable[[], Awaitable[None]]) -> SkillResult:
        """Do the work of a skill; the robot stands at its end, however it ends."""
        if why := self.ready():
            outcome = Outcome.CANCELLED if self._paused else Outcome.FAULT
            return SkillResult(outcome, why)
        with self._gate:
            self._open = True
        try:
            await work()
        except Ended as ended:
            return ended.result
        except SkillRefused as refused:
            return refused.result
        except RuntimeError as error:
            return SkillResult(Outcome.FAULT, str(error))
        finally:
            self.halt()
        return SkillResult(Outcome.SUCCEEDED)

    def _here(self) -> Pose:
        return self._ground.to_robot_map(self._ground.pose())

    async def _planned(self, skill: NavigateTo, goal: Pose) -> tuple[Vec3, list[Vec2]]:
        """Return the point to drive to and the way there, in the robot's map."""
        tolerance = 0.0 if skill.place else max(skill.tolerance - _ARRIVED, 0.0)
        points = self._ground.free_points(goal.position, tolerance) or [goal.position]
        for point in points:
            target = self._ground.to_robot_map(Pose(point)).position
            path = await self._way(target)
            if path is not None:
                return target, path
        x, y, _ = goal.position
        raise Ended(
            Outcome.UNREACHABLE, f"no way over the free cells of the map to ({x:.2f}, {y:.2f})"
        )

    async def _way(self, target: Vec3, around: Sequence[Vec2] = ()) -> list[Vec2] | None:
        """Return the way to a point of the robot's map, unless there is none.

        Raises:
            Ended: There is no map.
            SkillRefused: It must not be driven.
        """
        here = self._here().position
        space = self._ground.space_at(target)
        if space is None and self._needs_map:
            raise Ended(
                Outcome.FAULT,
                "no map came: name the robot's occupancy grid in sensors.map, or a saved map in "
                "sensors.map_file; with '' it drives straight, and stops at obstacles only",
            )
        if space is None:
            path: list[Vec2] | None = [(here[0], here[1]), (target[0], target[1])]
        else:
            # A way that leads nearer by a corner than obstacles stop the robot ends there.
            self._spare = _beside(self.motion)
            path = await asyncio.to_thread(space.path, here, target, around, self._spare)
            if path is None:
                self._spare = 0.0
                path = await asyncio.to_thread(space.path, here, target, around)
        if path is not None:
            z = target[2]
            to_team = self._ground.to_team_map
            self._allow([to_team((x, y, z)) for x, y in (here[:2], *path)], to_team(target))
        return path

    async def _follow(
        self, target: Vec3, path: list[Vec2], tolerance: float, feedback: Feedback
    ) -> None:
        space = self._ground.space_at(target)
        follower = PathFollower(path, self._fits(space))
        length = max(sum(math.dist(a, b) for a, b in itertools.pairwise(path)), 1e-6)
        watch = _Watch(self, self._settings.timeout)
        waiting: float | None = None
        now = watch.now()
        while True:
            here = await watch.step()
            now, before = watch.now(), now
            if here is None:
                continue
            left = math.dist(here.position[:2], target[:2])
            if left <= _ARRIVED:
                return
            margin = self.motion.margin
            dark = self._obstacles.dark()
            room = 0.0 if dark else room_ahead(self._obstacles.around(here), self.motion)
            doubted = room_ahead(self._obstacles.around(here, doubted=True), self.motion)
            # What may be gone does not stop the robot, but slows it down to a crawl.
            free = min(room, max(doubted, margin + _CRAWL))
            speed, turn = follower.command(here, free, self.motion)
            self._send(speed, turn)
            remaining = follower.remaining(here.position)
            feedback(Progress(min(max(1.0 - remaining / length, 0.0), 1.0), remaining))
            if speed > 0.0 or room > margin:
                waiting, watch.blocked = None, _UNSEEN if doubted <= margin else ""
                if follower.off(here.position) > _OFF_PATH:
                    follower = await self._anew(target, follower, np.zeros((0, 3)))
                continue
            if left <= tolerance:
                return
            self._obstacles.stood(here, self.motion.radius + margin + _BESIDE, now - before)
            watch.blocked = (
                f"{dark} have none at all: it is covered, or something is too near to it"
                if dark
                else f"something stands {max(room, 0.0):.2f} m in front of the robot"
            )
            waiting = now if waiting is None else waiting
            if now - waiting > _WAIT_BLOCKED:
                waiting = None
                follower = await self._anew(target, follower, self._obstacles.in_map())

    async def _anew(self, target: Vec3, follower: PathFollower, seen: Points) -> PathFollower:
        """Return a follower of a new way around points, or the old one where there is none.

        The robot stands meanwhile: nobody watches what is in its way.
        """
        for _ in range(_ZEROS):
            self._send(0.0, 0.0)
        space, motion = self._ground.space_at(target), self.motion
        away = np.hypot(*(seen[:, :2] - np.array(self._here().position[:2])).T)
        # At a distance from all; else what is far may be gone, and doors may be narrow.
        for reach, known in ((math.inf, None), (_NEARBY, space)):
            around = _grown(seen[away <= reach], motion, known)
            path = await self._way(target, [(x, y) for x, y in around.tolist()])
            if path is not None:
                break
        else:
            return follower
        fits = self._fits(space)
        return PathFollower(path, lambda a, b: fits(a, b) and _passes(around, motion.radius, a, b))

    def _fits(self, space: GridSpace | None) -> Callable[[Vec2, Vec2], bool]:
        """Return whether the body can go straight between points, as the way was planned."""
        return partial(space.line_fits, spare=self._spare) if space is not None else _anywhere

    async def _turn_to(self, yaw: float) -> None:
        watch = _Watch(self, self._settings.stall_timeout + 2.0 * math.tau / self.motion.turn)
        while True:
            here = await watch.step()
            if here is None:
                continue
            angle = wrap_angle(yaw - here.yaw)
            if abs(angle) < _TURNED:
                return
            self._send(0.0, turn_rate(angle, self.motion))

    def _send(self, speed: float, turn: float) -> None:
        with self._gate:
            if self._open:
                self._publish(speed, turn)

    def _publish(self, speed: float, turn: float) -> None:
        twist = Twist()
        twist.linear.x, twist.angular.z = float(speed), float(turn)
        if self._settings.stamped_velocity:
            head = conversions.header(self._node.now(), self._ground.base_frame)
            self._velocity.publish(TwistStamped(header=head, twist=twist))
        else:
            self._velocity.publish(twist)

    def _on_paused(self, message: Bool) -> None:
        self._paused = bool(message.data)


class _Watch:
    """Ends a motion that must not go on: taken over, lost, blind, stuck, too long.

    Args:
        owner: Whose motion.
        timeout: Longest time [s].

    Attributes:
        blocked: What stands in the way; "": nothing.
    """

    def __init__(self, owner: VelocityNavigation, timeout: float) -> None:
        self._owner = owner
        self.blocked = ""
        self._clock = Stopwatch(owner._node)
        self._timeout = timeout
        self._moved = self._sure = 0.0
        self._last: Pose | None = None

    def now(self) -> float:
        """Return the time since the motion began [s], by which limits go."""
        return self._clock.elapsed()

    async def step(self) -> Pose | None:
        """Return where the robot is after a moment; None while it stands, not knowing enough.

        Raises:
            Ended: The motion must end.
        """
        await asyncio.sleep(_PERIOD)
        owner, now = self._owner, self.now()
        settings = owner._settings
        if owner._paused:
            raise Ended(Outcome.CANCELLED, "a person drives the robot or has paused it")
        if now > self._timeout:
            raise Ended(Outcome.TIMED_OUT, f"the motion took longer than {self._timeout:g} s")
        trouble = owner._obstacles.blind()
        here = None
        if not trouble:
            try:
                here = owner._here()
            except RuntimeError as error:
                trouble = str(error)
        if here is None:
            owner._send(0.0, 0.0)
            if now - self._sure > settings.server_timeout:
                raise Ended(Outcome.FAULT, f"the motion was ended: {trouble}")
            return None
        self._sure = now
        last = self._last
        if last is None or (
            math.dist(here.position, last.position) > _MOVED
            or abs(wrap_angle(here.yaw - last.yaw)) > _MOVED
        ):
            self._last, self._moved = here, now
        if now - self._moved > settings.stall_timeout:
            if self.blocked:
                raise Ended(Outcome.BLOCKED, f"{self.blocked}; there is no way around it")
            raise Ended(
                Outcome.TIMED_OUT,
                f"the robot does not move by what is sent on {owner._topic}: is its motor on?",
            )
        return here


def _anywhere(a: Vec2, b: Vec2) -> bool:
    return True


def _beside(motion: Motion) -> float:
    """Return the room that a way needs beside the body [m]: as `room_ahead`, and what cells err."""
    return motion.beside + _CELL / 2.0


def _grown(points: Points, motion: Motion, known: GridSpace | None) -> Points:
    """Return points (m, 2) of what was seen, (n, 3), and of a margin around what is not known."""
    cells = np.unique(np.round(points[:, :2] / _CELL), axis=0) * _CELL
    news = cells
    if known is not None:
        at = [known.cell_of(one) for one in cells.tolist()]
        news = cells[[one is not None and known.clearance[one] > _SAME_CLEARANCE_M for one in at]]
    by = _beside(motion)
    turns = np.linspace(0.0, math.tau, 8, endpoint=False)
    ring = by * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    return np.concatenate([cells, (news[:, None] + ring).reshape(-1, 2)])


def _passes(points: Points, radius: float, a: Vec2, b: Vec2) -> bool:
    """Whether a body of a radius [m] gets past points (n, 2) on the line from `a` to `b` [m]."""
    line = np.subtract(b, a)
    off = points - np.array(a)
    along = np.clip(off @ line / max(float(line @ line), 1e-9), 0.0, 1.0)
    return bool((np.hypot(*(off - along[:, None] * line).T) >= radius).all())
