"""Who has to have a goal before simulated time moves on in lockstep."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable


class Part(enum.Enum):
    """What a robot is to the barrier."""

    EXPECTED = "expected"  # not heard of since the last assembly
    TAKES_PART = "takes part"  # time waits for it
    LEFT_OUT = "left out"  # it kept the others waiting; back with its next goal


class LockstepBarrier:
    """Opens while every robot that takes part has a goal.

    A robot takes part from its first goal, or from when it says so, until it says otherwise. When
    the first one comes while none takes part, the team assembles: all robots that were not left
    out before get `assembly_timeout` to come, so that a team that starts together starts at the
    same simulated time, run after run.

    Args:
        robots: All names.
        timeout: A robot that takes part and has no goal for so long [s of wall time] is left out.
        assembly_timeout: How long the team assembles at most [s of wall time].
        warn: Called with a sentence when a robot is left out.
    """

    def __init__(
        self,
        robots: Iterable[str],
        timeout: float = 60.0,
        assembly_timeout: float = 5.0,
        warn: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.parts = dict.fromkeys(robots, Part.EXPECTED)
        self._timeout = timeout
        self._assembly_timeout = assembly_timeout
        self._warn = warn
        self._idle_since: dict[str, float] = {}
        self._assembling: float | None = None

    def joins(self, robot: str, now: float) -> None:
        """Note that a robot has a goal, or says that it takes part; `now` is the wall clock [s]."""
        if Part.TAKES_PART not in self.parts.values():
            self._assembling = now
        self.parts[robot] = Part.TAKES_PART
        self._idle_since.setdefault(robot, now)

    def leaves(self, robot: str) -> None:
        """Note that a robot does not take part any more."""
        self.parts[robot] = Part.EXPECTED
        self._idle_since.pop(robot, None)

    def leaves_out(self, robot: str) -> None:
        """Note that a robot cannot take part; it is back with its next goal."""
        self.parts[robot] = Part.LEFT_OUT
        self._idle_since.pop(robot, None)

    def open(self, with_goal: Iterable[str], now: float) -> bool:
        """Tell whether time may move on, given who has a goal; leaves out who is too late."""
        busy = set(with_goal)
        for robot in busy:
            self._idle_since[robot] = now
        for robot, part in self.parts.items():
            if part is not Part.TAKES_PART or robot in busy:
                continue
            if now - self._idle_since.setdefault(robot, now) >= self._timeout:
                self._leave_out(robot, self._timeout)
        if self._assembling is not None:
            missing = [robot for robot, part in self.parts.items() if part is Part.EXPECTED]
            if missing and now - self._assembling < self._assembly_timeout:
                return False
            self._assembling = None
            for robot in missing:
                self._leave_out(robot, self._assembly_timeout)
        members = {robot for robot, part in self.parts.items() if part is Part.TAKES_PART}
        return bool(members) and members <= busy

    def _leave_out(self, robot: str, waited: float) -> None:
        self.leaves_out(robot)
        self._warn(
            f"lockstep: {robot} had no goal for {waited:g} s and is left out; "
            "it is back with its next goal"
        )
