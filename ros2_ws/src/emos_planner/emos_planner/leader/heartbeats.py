"""Which robots of a task are alive."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Heartbeats:
    """When each robot was heard last; who is silent for too long is dead until it is heard again.

    Those `held` are stopped by a person: they count as dead until they are let go, and may return.

    Args:
        silence: After which a robot is dead [s].
    """

    silence: float
    now: float = 0.0
    dead: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    _heard: dict[str, float] = field(default_factory=dict)

    def start_heartbeat(self, robots: Iterable[str], now: float) -> None:
        """Count the silence of robots from now."""
        self.now = max(self.now, now)
        for robot in robots:
            self._heard.setdefault(robot, now)

    def heard(self, robot: str, now: float) -> None:
        """Take down a sign of life that says nothing else; who was dead is so until it reports."""
        self._heard[robot] = now

    def reported(self, robot: str, now: float) -> bool:
        """Take down a report; return whether the robot was taken for dead."""
        self.now = max(self.now, now)
        self.heard(robot, now)
        if robot in self.held:
            return False
        was_dead = robot in self.dead
        self.dead.discard(robot)
        return was_dead

    def hold(self, robot: str, stopped: bool, now: float) -> bool:
        """Take a robot that a person stops for dead until it is released; tell if that is new."""
        if stopped is (robot in self.held):
            return False
        self.held ^= {robot}
        self.reported(robot, now)
        if stopped:
            self.dead.add(robot)
        return True

    def fallen_silent(self, now: float) -> dict[str, float]:
        """Take for dead who is silent for too long; return each with how long that is [s]."""
        self.now = max(self.now, now)
        silent = {
            robot: now - heard
            for robot, heard in self._heard.items()
            if robot not in self.dead and now - heard > self.silence
        }
        self.dead.update(silent)
        return silent

    def may_return(self, robot: str, within: float) -> bool:
        """Whether a robot is held, or dead for less than a time [s]: it may come back."""
        if robot in self.held:
            return True
        heard = self._heard.get(robot, -math.inf)
        return robot in self.dead and self.now - heard < self.silence + within
