"""Which robots of a task are alive, and what is in their hands."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from coterie_core.tasks import RobotReport, SubTask
from coterie_llm import inline_data

EMPTY_HANDS = 60.0
"""How long robots may take to put down what is left in their hands [s]."""


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

    def lost(self, robot: str) -> None:
        """Take a robot for dead."""
        self.dead.add(robot)

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
        heard = self._heard.get(robot, -math.inf)
        return robot in self.dead and self.now - heard < self.silence + within


@dataclass(slots=True)
class Hands:
    """The hands of a task's robots; those of the dead do not count.

    Args:
        task: Its id.
        reports: The robots' last ones.
        heartbeats: Who is dead, and the time.
    """

    task: str
    reports: Mapping[str, RobotReport]
    heartbeats: Heartbeats
    _since: dict[tuple[str, str], float] = field(default_factory=dict)

    def full(self) -> list[RobotReport]:
        """Return the reports of robots that hold something."""
        return [
            report
            for robot, report in self.reports.items()
            if report.holding and report.task == self.task and robot not in self.heartbeats.dead
        ]

    def told(self) -> list[str]:
        """Return what a person should know of what is, or may be, in hands."""
        mine = [r for r in self.reports.values() if r.task == self.task and r.put_down]
        put = [f"{r.robot} {inline_data(r.put_down, limit=120)}" for r in mine]
        return put + [f"{r.robot} still holds {inline_data(r.holding)}" for r in self.full()]

    def put_down(self, place: SubTask) -> None:
        """Take down that a robot is to put down beside it what it could not place."""
        self._since.setdefault((place.id, place.robot), self.heartbeats.now)

    def were_to(self, place: SubTask) -> bool:
        """Tell whether `put_down` has said so."""
        return (place.id, place.robot) in self._since

    def are_at_it(self, place: SubTask) -> bool:
        """Tell whether it holds the thing still: where that will lie nobody knows yet."""
        since = self._since.get((place.id, place.robot))
        if since is None or self.heartbeats.now - since > EMPTY_HANDS:
            return False
        return any(report.robot == place.robot for report in self.full())
