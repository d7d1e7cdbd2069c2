"""The observations of one robot, in the order of its world."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from coterie_core.observation import Observation
from coterie_core.waiting import in_time

TIMEOUT_S = 10.0
"""Longest wait for an observation that is due [s]."""


class Observations:
    """Takes a robot's observations and tells who waits for a newer one; in a node's own loop.

    Args:
        robot: Its name.
        topic: Topic that they come from.
        problem: Told of what is dropped, and of steps that count anew.

    Attributes:
        latest: None: none has come yet.
        topic: Topic that they come from.
    """

    def __init__(self, robot: str, topic: str, problem: Callable[[str], object]) -> None:
        self.latest: Observation | None = None
        self.topic = topic
        self._unplaced = False  # those that came while somebody waited told no place
        self._robot = robot
        self._problem = problem
        self._came = asyncio.Event()

    def take(self, observation: Observation) -> bool:
        """Keep an observation as the latest; False for a repeat and for that of another robot."""
        if observation.robot != self._robot:
            self._problem(
                f"observation of {observation.robot!r} on the topic of {self._robot!r}: dropped"
            )
            return False
        if self.latest is not None and observation.step <= self.latest.step:
            if observation.time == self.latest.time:
                return False  # a repeat, for nodes that came late
            self._problem(
                f"{self._robot}'s observations count from {observation.step} again: its adapter "
                "(or the simulation) was started again; taking its observations"
            )
        self.latest = observation
        self._came.set()
        self._came = asyncio.Event()  # of the next one: who is about to wait misses none
        return True

    @property
    def missing(self) -> str:
        """What to say where `after` waited in vain."""
        if self._unplaced:
            return (
                f"observations on {self.topic} tell no place that the robot stands at: there are "
                "none before its map has come, it is located, and its detector tells something"
            )
        return (
            f"no observation on {self.topic} within {TIMEOUT_S:g} s; is the bridge running and "
            "does it know this robot?"
        )

    async def after(self, known: Observation | None, *, placed: bool = False) -> Observation | None:
        """Return an observation newer than a known one once it is there.

        The first one after a restart of the adapter or the simulation is newer, whatever its step.

        Args:
            known: An observation of this robot that was taken; None: any is newer.
            placed: Wait for one that tells at which place the robot stands.

        Returns:
            The latest observation; None where no newer one came within `TIMEOUT_S`.
        """
        end = asyncio.get_running_loop().time() + TIMEOUT_S
        while self.latest is None or self.latest is known or (placed and not self.latest.place):
            left = end - asyncio.get_running_loop().time()
            try:
                await in_time(self._came.wait(), max(left, 0.0))
            except asyncio.TimeoutError:
                self._unplaced = self.latest is not None and self.latest is not known
                return None
        return self.latest
