"""Velocity commands to a base (cmd_vel): limited, timed out, stopped by what is in the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from coterie_core.geometry import Pose, Vec3, wrap_angle
from habitat_bridge.embedded.body import Body
from habitat_bridge.embedded.occupancy import CELL

COMMAND_TIMEOUT = 0.5
"""Time [s] after which a velocity command no longer holds, as drivers of mobile bases have it."""
_SIDEWAYS = ("legs", "air")


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
