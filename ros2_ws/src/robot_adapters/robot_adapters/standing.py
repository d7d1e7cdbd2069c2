"""Whether a robot that is stopped stands: cancelled goals and zero velocities are but requests."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import Protocol

from coterie_core.geometry import Pose, Vec3, wrap_angle

_BRAKING = 1.0
"""How long after a stop it may still move [s]."""
_SPAN = 0.8
"""How long it has to move before that is told [s]."""
_STEP = 0.01
"""It moves where each position is farther than this from the one before [m]: localization jumps."""

_STILL = 0.3
"""A robot stands that has not moved for so long [s], to speak of."""
_SLOWEST = 0.05
"""Slower than so a robot counts as standing [m/s]: localization wavers."""
_SLOWEST_TURN = 0.15
"""The same of a turn [rad/s]."""
_LOOK = 0.05  # [s]


class Watch(Protocol):
    """Tells how long it has run."""

    def elapsed(self) -> float:
        """Return the time since it was made [s]."""
        ...


async def come_to_rest(
    pose: Callable[[], Pose | None], watch: Callable[[], Watch], patience: float
) -> float:
    """Wait until a robot stands, and return how fast it moves where it does not in time [m/s].

    Args:
        pose: Where it is now; None: that is not known, and nobody can tell whether it stands.
        watch: Makes a stopwatch.
        patience: Longest wait [s].

    Returns:
        0.0: it stands, or nobody can tell. What only turns on counts by its turn rate, in rad/s.
    """
    whole = watch()
    while True:
        before, since = pose(), watch()
        while since.elapsed() < _STILL:
            await asyncio.sleep(_LOOK)
        now, took = pose(), since.elapsed()
        if before is None or now is None:
            return 0.0
        speed = math.dist(before.position, now.position) / took
        turn = abs(wrap_angle(now.yaw - before.yaw)) / took
        if speed < _SLOWEST and turn < _SLOWEST_TURN:
            return 0.0
        if whole.elapsed() > patience:
            return speed if speed >= _SLOWEST else turn


class Standing:
    """Compares the positions of a stopped robot."""

    def __init__(self) -> None:
        self._since = math.inf
        self._track: deque[tuple[float, Vec3]] = deque()
        self._told = False

    def look(self, stopped: bool, position: Vec3 | None, now: float) -> str:
        """Take in where a robot is, several times a second; return what is to be told.

        Args:
            stopped: Whether it is stopped.
            position: Where it is [m]; None: that is not known.
            now: Clock that goes on, also where simulated time stands still [s].

        Returns:
            That it moves, once for each stop; "": nothing is to be told.
        """
        if not stopped:
            self._since, self._told = math.inf, False
            self._track.clear()
            return ""
        self._since = min(self._since, now)
        if self._told or now - self._since < _BRAKING:
            return ""
        last = self._track[-1][1] if self._track else position
        if position is None or last is None or math.dist(position, last) < _STEP:
            self._track.clear()
        if position is None:
            return ""
        self._track.append((now, position))
        first, begin = self._track[0]
        if now - first < _SPAN:
            return ""
        self._told = True
        speed = math.dist(position, begin) / (now - first)
        return (
            f"it is stopped, and moves at {speed:.2f} m/s: its base does not obey, or somebody "
            "moves it; use its emergency stop"
        )
