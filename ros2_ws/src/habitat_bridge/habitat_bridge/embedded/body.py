"""A robot in the embedded house: its pose, and the stages a running skill consists of."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose, Vec3, wrap_angle
from coterie_core.skills import Outcome, Skill, SkillResult
from coterie_safety.guard import Guard
from habitat_bridge.embedded.body_places import BodyPlaces
from habitat_bridge.embedded.detector import Sighting
from habitat_bridge.embedded.navigation import NoWay, Route
from habitat_bridge.embedded.occupancy import CELL

COMMAND_TIMEOUT = 0.5
"""Time [s] after which a velocity command no longer holds, as drivers of mobile bases have it."""
_SIDEWAYS = ("legs", "air")

EPSILON = 1e-9
_TURN_FIRST = 0.35  # [rad] larger turns are made standing
_REPLAN = (1.0, 2.5, 5.0, 8.0, 11.0)  # [s] of waiting after which another way is looked for
_BEGINNING = 0.05  # [m] of a way that tell whether one gets away from a robot
_GIVE_UP = 15.0  # [s] of waiting after which a way counts as blocked


class SkillFailed(Exception):
    """A running skill cannot go on; carries how it ended."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Glance:
    """What was in view when a robot last looked around, and where it stood."""

    pose: Pose
    sightings: tuple[Sighting, ...]
    places: frozenset[str]
    revision: int


class Stage(Protocol):
    """One part of a skill."""

    def advance(self, body: Body, budget: float) -> tuple[float, bool]:
        """Go on for at most `budget` [s]; return what is left of it, and whether the stage is over.

        Raises:
            SkillFailed: The skill cannot go on.
        """
        ...


@dataclass(slots=True)
class Job:
    """A running skill: its stages, and what happens at its end."""

    skill: Skill
    stages: deque[Stage]
    finish: Callable[[], SkillResult]
    elapsed: float = 0.0
    travelled: float = 0.0


@dataclass(slots=True)
class Body:
    """A robot: what it is, where it stands, what it does and holds."""

    name: str
    embodiment: Embodiment
    places: BodyPlaces
    pose: Pose
    linear: Vec3 = (0.0, 0.0, 0.0)
    angular: float = 0.0
    travelled: float = 0.0
    holding: str = ""
    job: Job | None = None
    ended: SkillResult | None = None
    glance: Glance | None = None
    walk: Walk | None = None
    aside: YieldManeuver | None = None
    halted: bool = False
    guard: Guard | None = None
    drive: Drive | None = None

    def turn_toward(self, yaw: float, budget: float) -> tuple[float, bool]:
        """Turn toward `yaw` [rad] for at most `budget` [s]; return time left, and if done."""
        error = wrap_angle(yaw - self.pose.yaw)
        speed = self.embodiment.angular_speed
        step = min(abs(error), speed * budget)
        turned = wrap_angle(self.pose.yaw + math.copysign(step, error))
        self.pose = Pose(self.pose.position, turned)
        return budget - step / speed, abs(error) - step <= EPSILON


@dataclass(slots=True)
class Turn:
    """Turn on the spot until facing `yaw` [rad]."""

    yaw: float

    def advance(self, body: Body, budget: float) -> tuple[float, bool]:
        """Turn."""
        return body.turn_toward(self.yaw, budget)


@dataclass(slots=True)
class Spin:
    """Turn about the own axis, once unless told otherwise; `look` is called at the end.

    Attributes:
        look: What is done when the turn is complete.
        left: What is left of it [rad].
        direction: 1 for counter-clockwise, -1 for clockwise.
    """

    look: Callable[[], None]
    left: float = math.tau
    direction: float = 1.0

    def advance(self, body: Body, budget: float) -> tuple[float, bool]:
        """Turn further."""
        speed = body.embodiment.angular_speed
        step = min(self.left, speed * budget)
        self.left -= step
        turned = body.pose.yaw + self.direction * step
        body.pose = Pose(body.pose.position, wrap_angle(turned))
        if self.left > EPSILON:
            return 0.0, False
        self.look()
        return budget - step / speed, True


@dataclass(slots=True)
class Hold:
    """Stay for a while [s]: the time that a motion of the arm, or waiting, takes."""

    left: float

    def advance(self, body: Body, budget: float) -> tuple[float, bool]:
        """Let time pass."""
        used = min(self.left, budget)
        self.left -= used
        return budget - used, self.left <= EPSILON


@dataclass(slots=True)
class Walk:
    """Follow a route: turn toward each piece, then move along it; wait for robots in the way.

    Args:
        route: The way.
        blocker: Tells which robot is in the way of a step to a position ("" for none).
        replan: Returns a way around other robots from where the body stands.
        ask: Asks the robot of that name to make way, where there is no way around it.
    """

    route: Route
    blocker: Callable[[Body, Vec3], str]
    replan: Callable[[Body, Vec3], Route]
    ask: Callable[[Body, str], bool]
    at: int = 1
    waited: float = 0.0
    tries: int = 0
    done: float = 0.0
    _left: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Add up the lengths behind each corner."""
        self._measure()

    def remaining(self, body: Body) -> float:
        """Way still ahead [m]."""
        if self.at >= len(self.route.points):
            return 0.0
        return math.dist(body.pose.position, self.route.points[self.at]) + self._left[self.at]

    def advance(self, body: Body, budget: float) -> tuple[float, bool]:
        """Move along the route."""
        points = self.route.points
        while self.at < len(points):
            here, there = body.pose.position, points[self.at]
            gap = math.dist(here, there)
            if gap <= EPSILON:
                self.at += 1
                continue
            if budget <= EPSILON:
                return 0.0, False
            heading = body.pose.yaw
            if math.dist(here[:2], there[:2]) > EPSILON:
                heading = math.atan2(there[1] - here[1], there[0] - here[0])
            if abs(wrap_angle(heading - body.pose.yaw)) > _TURN_FIRST:
                budget, _ = body.turn_toward(heading, budget)
                continue
            speed = body.embodiment.linear_speed
            step = min(gap, speed * budget)
            t = step / gap
            position = (
                here[0] + t * (there[0] - here[0]),
                here[1] + t * (there[1] - here[1]),
                here[2] + t * (there[2] - here[2]),
            )
            other = self.blocker(body, position)
            if other:
                self._wait(body, other, budget)
                return 0.0, False
            self.waited, self.tries = 0.0, 0
            body.turn_toward(heading, step / speed)
            body.pose = Pose(position, body.pose.yaw)
            body.travelled += step
            self.done += step
            budget -= step / speed
        return budget, True

    def _wait(self, body: Body, other: str, budget: float) -> None:
        self.waited += budget
        if self.waited >= _GIVE_UP:
            raise SkillFailed(
                Outcome.BLOCKED,
                f"{other} stands in the way at ({body.pose.position[0]:.2f}, "
                f"{body.pose.position[1]:.2f}); waited {self.waited:.0f} s. "
                "Go elsewhere or ask it to move",
            )
        if self.tries < len(_REPLAN) and self.waited >= _REPLAN[self.tries]:
            self.tries += 1
            if not self.resume(body) or self._blocked(body, other):
                self.ask(body, other)

    def _blocked(self, body: Body, other: str) -> bool:
        """Tell whether the way begins past a robot that the body is as good as touching."""
        if self.at >= len(self.route.points):
            return False
        here, there = body.pose.position, self.route.points[self.at]
        t = min(1.0, _BEGINNING / max(math.dist(here, there), EPSILON))
        x, y, z = (a + t * (b - a) for a, b in zip(here, there, strict=True))
        return self.blocker(body, (x, y, z)) == other

    def resume(self, body: Body) -> bool:
        """Look for a way from where the body stands now; tell whether there is one."""
        try:
            self.route = self.replan(body, self.route.points[-1])
        except NoWay:
            return False
        self.at = 1
        self._measure()
        return True

    def _measure(self) -> None:
        points = self.route.points
        self._left = [0.0] * len(points)
        for k in range(len(points) - 2, -1, -1):
            self._left[k] = self._left[k + 1] + math.dist(points[k], points[k + 1])


@dataclass(slots=True)
class YieldManeuver:
    """A robot making way for `asker`: where it came from, and how far it has got.

    `walk` leads aside first, then (for a robot that was idle) back home.
    """

    asker: Body
    walk: Walk
    home: Pose
    glance: Glance | None
    waited: float = 0.0
    returning: bool = False


@dataclass(frozen=True, slots=True)
class Velocity:
    """A velocity command in the base frame.

    Attributes:
        ahead: Along x [m/s].
        left: Along y [m/s]; wheels and tracks cannot, and do not.
        turn: About z [rad/s], counter-clockwise.
    """

    ahead: float = 0.0
    left: float = 0.0
    turn: float = 0.0

    def limited(self, body: Body) -> Velocity:
        """Return the velocity that a body makes of it; numbers that are none count as 0."""
        numbers = (self.ahead, self.left, self.turn)
        ahead, left, turn = (v if math.isfinite(v) else 0.0 for v in numbers)
        if body.embodiment.mobility == "fixed":
            return Velocity()
        if body.embodiment.mobility not in _SIDEWAYS:
            left = 0.0
        speed, limit = math.hypot(ahead, left), body.embodiment.linear_speed
        scale = min(1.0, limit / speed) if speed > 0.0 else 1.0
        fastest = body.embodiment.angular_speed
        return Velocity(ahead * scale, left * scale, min(max(turn, -fastest), fastest))


@dataclass(slots=True)
class Drive:
    """A command that holds until a moment of simulated time [s]; `bumped`: it was stopped."""

    velocity: Velocity
    until: float
    bumped: bool = False


def advance_drive(
    body: Body, drive: Drive, dt: float, blocker: Callable[[Body, Vec3], str]
) -> None:
    """Move a body by its velocity command for `dt` [s]; it stops at what it would run into.

    It stops at the limits of where the robot may be, too.

    Args:
        body: The robot.
        drive: Its command.
        dt: Time that passes [s].
        blocker: Tells which robot is in the way of a step to a position ("" for none).
    """
    velocity = drive.velocity
    way = math.hypot(velocity.ahead, velocity.left) * dt
    count = max(1, math.ceil(way / (CELL / 2.0)), math.ceil(abs(velocity.turn) * dt / 0.1))
    step = dt / count
    space = body.places.space
    drive.bumped = False
    for _ in range(count):
        x, y, z = body.pose.position
        yaw = body.pose.yaw + velocity.turn * step / 2.0
        c, s = math.cos(yaw), math.sin(yaw)
        there = (
            x + (c * velocity.ahead - s * velocity.left) * step,
            y + (s * velocity.ahead + c * velocity.left) * step,
            z,
        )
        # Out of a spot where the body does not fit it may move on.
        free = space.is_free(there) or not space.is_free(body.pose.position)
        fenced = body.guard is not None and body.guard.step_trouble(body.pose.position, there)
        if way > 0.0 and (not free or fenced or blocker(body, there)):
            drive.bumped, there = True, body.pose.position
        body.travelled += math.dist(there, body.pose.position)
        body.pose = Pose(there, wrap_angle(body.pose.yaw + velocity.turn * step))
