"""A skill that runs on a robot: how far it has driven, and where it must not come."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coterie_core.geometry import Vec3
from coterie_core.skills import Outcome, SkillRefused, SkillResult
from coterie_safety.guard import Breach, Leaving
from robot_adapters.permission import Permission, Permitted

_TRACK_PERIOD = 0.2
LOST_AFTER = 2.0
"""How long a robot drives on where nobody knows where it is, and limits say where it may be [s]."""
Strays = Callable[[Vec3 | None], str | Sequence[Breach]]
"""Tells the limits that a robot breaks at a position [m], team's map, or one in words; "" or none:
it may be there. Asked with None, it tells whether the robot must not drive without a position."""


@dataclass(slots=True)
class Job:
    """A skill that runs.

    Attributes:
        task: Of the skill.
        what: Its name.
        reason: Why it was ended, if it was not by its own client.
        outcome: How it ended then.
        driven: How far the robot has driven on it [m].
    """

    task: asyncio.Task[SkillResult]
    what: str
    reason: str = ""
    outcome: Outcome = Outcome.CANCELLED
    driven: float = 0.0

    def end(self, reason: str, outcome: Outcome = Outcome.CANCELLED) -> None:
        """End the skill, once: after a second cancel it would not wait until the robot stands."""
        if not self.reason and not self.task.done():
            self.outcome, self.reason = outcome, reason
            self.task.cancel()

    async def track(
        self,
        position: Callable[[], Vec3 | None],
        strays: Strays,
        *,
        now: Callable[[], float] = time.monotonic,
        lost_after: float = LOST_AFTER,
    ) -> None:
        """Add up how far the robot drives; end the skill where the robot must not be.

        A robot that begins where it must not be may leave (`Leaving`), for example after a person
        has put it there. Ends with the skill, after a last look at where the robot is.

        Args:
            position: Tells where the robot is [m], team's map; None: that is not known.
            strays: Tells what a position breaks.
            now: The node's clock [s]; the wall clock counts as well, whichever is ahead.
            lost_after: How long the position may be unknown where there are limits of it [s].
        """
        last: Vec3 | None = None
        lost: tuple[float, float] | None = None
        leaving = Leaving()
        while True:
            here, times = position(), (now(), time.monotonic())
            if here is not None:
                lost = None
                if trouble := leaving.trouble(here, _breaches(strays(here))):
                    self.end(f"stopped on its way: {trouble}", Outcome.REFUSED)
                if last is not None:
                    self.driven += math.dist(here[:2], last[:2])
                last = here
            else:
                lost = lost or times
                gone = max(b - a for a, b in zip(lost, times, strict=True))
                if gone > lost_after and (broken := _breaches(strays(None))):
                    why = f"{broken[0].text}; that is so for {gone:.1f} s"
                    self.end(f"stopped on its way: {why}", Outcome.FAULT)
            if self.task.done():
                return
            await asyncio.wait([self.task], timeout=_TRACK_PERIOD)


def _breaches(told: str | Sequence[Breach]) -> Sequence[Breach]:
    """Return breaches; what is told in words has no known way out."""
    if isinstance(told, str):
        return (Breach("", told),) if told else ()
    return told


class Jobs:
    """Runs a robot's skills, one at a time, each with its permit; use it in the node's loop.

    Args:
        permission: Gets and checks permits.
        settled: Waits until nothing that was halted before is still being cancelled; raises
            SkillRefused where that does not end.
        position: Tells where it is [m], team's map; None: that is not known.
        strays: Tells what a position breaks.
        now: Tells the time [s].
        report: Hears of exceptions: what failed, and how.
        lost_after: How long its position may be unknown where there are limits of it [s].
    """

    def __init__(
        self,
        permission: Permission,
        *,
        settled: Callable[[], Awaitable[None]],
        position: Callable[[], Vec3 | None],
        strays: Strays,
        now: Callable[[], float],
        report: Callable[[str, BaseException], object],
        lost_after: float = LOST_AFTER,
    ) -> None:
        self._permission = permission
        permission.begins_to_wait = self.end
        self._settled, self._position, self._strays = settled, position, strays
        self._now, self._report = now, report
        self._lost_after = lost_after
        self._job: Job | None = None
        self._turn = asyncio.Lock()
        self._ends = 0
        self._why = ""

    @property
    def busy(self) -> str:
        """Name of the skill that runs; "": none does."""
        return self._job.what if self._job is not None else ""

    async def run(
        self,
        what: str,
        work: Callable[[], Coroutine[Any, Any, SkillResult]],
        permitted: Permitted | None,
        allow: Callable[[], None],
    ) -> SkillResult:
        """Run a skill alone, an older one is ended; cancelling this ends it on the robot.

        Args:
            what: Its name.
            work: Does it.
            permitted: It, with its permit.
            allow: Checks it once more when its turn has come, however long ago it was checked;
                raises SkillRefused.
        """
        self.end("a newer goal took its place")
        before = self._ends
        try:
            async with self._turn:
                if self._ends == before:
                    result = await self._alone(what, work, permitted, allow)
                else:
                    result = SkillResult(Outcome.CANCELLED, self._why)
        except asyncio.CancelledError:
            self._permission.ended(permitted, SkillResult(Outcome.CANCELLED, "cancelled"))
            raise
        self._permission.ended(permitted, result)
        return result

    async def _alone(
        self,
        what: str,
        work: Callable[[], Coroutine[Any, Any, SkillResult]],
        permitted: Permitted | None,
        allow: Callable[[], None],
    ) -> SkillResult:
        before = self._ends
        try:
            await self._settled()
            # What comes later finds the job; what came before does not.
            if self._ends != before:
                return SkillResult(Outcome.CANCELLED, self._why)
            allow()
            self._permission.begin(permitted)
        except SkillRefused as refused:
            return refused.result
        job = self._job = Job(asyncio.ensure_future(work()), what)
        begin = self._now()
        tracking = asyncio.ensure_future(
            job.track(self._position, self._strays, now=self._now, lost_after=self._lost_after)
        )
        try:
            while not job.task.done():
                try:
                    await asyncio.wait([job.task])
                except asyncio.CancelledError:
                    job.end("cancelled")
            result = job.task.result()
        except asyncio.CancelledError:
            result = SkillResult(job.outcome, job.reason or "cancelled")
        except Exception as error:
            self._report(what, error)
            result = SkillResult(Outcome.FAULT, f"the adapter failed: {error}")
        finally:
            self._job = None
        await asyncio.wait([tracking])
        if failure := tracking.exception():
            self._report(f"tracking of {what}", failure)
        duration = max(self._now() - begin, 0.0)
        return replace(result, duration=duration, distance=job.driven)

    def end(self, reason: str) -> None:
        """End the skill that runs, those that wait for it, and the goal that waits for a person."""
        self._ends, self._why = self._ends + 1, reason
        self._permission.end(reason)
        if self._job is not None:
            self._job.end(reason)
