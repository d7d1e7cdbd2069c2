"""Heartbeats of the robots: which are there, and which have been silent for too long."""

from __future__ import annotations

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
    _died: dict[str, float] = field(default_factory=dict)

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
        self._died.pop(robot, None)
        return was_dead

    def lost(self, robot: str) -> None:
        """Take a robot for dead."""
        if robot not in self.dead:
            self.dead.add(robot)
            self._died[robot] = self.now

    def hold(self, robot: str, now: float) -> bool:
        """Take a robot for dead until it is let go; return whether that is new."""
        self.now = max(self.now, now)
        fresh = robot not in self.held
        self.held.add(robot)
        self.lost(robot)
        return fresh

    def let_go(self, robot: str, now: float) -> bool:
        """Take a robot that was held for alive; return whether it was held."""
        if robot not in self.held:
            return False
        self.held.discard(robot)
        self.reported(robot, now)
        return True

    def fallen_silent(self, now: float) -> dict[str, float]:
        """Take for dead who is silent for too long; return each with how long that is [s]."""
        self.now = max(self.now, now)
        silent = {
            robot: now - heard
            for robot, heard in self._heard.items()
            if robot not in self.dead and now - heard > self.silence
        }
        for robot in silent:
            self.lost(robot)
        return silent

    def may_return(self, robot: str, within: float) -> bool:
        """Whether a robot is held, or dead for less than a time [s]: it may come back."""
        if robot in self.held:
            return True
        return robot in self.dead and self.now - self._died[robot] < within
