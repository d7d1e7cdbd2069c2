"""A skill that runs on a robot: how far it has driven, and where it must not come."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass

from coterie_core.geometry import Vec3
from coterie_core.skills import Outcome, SkillResult

_TRACK_PERIOD = 0.2


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

    async def track(
        self, position: Callable[[], Vec3 | None], strays: Callable[[Vec3], str]
    ) -> None:
        """Add up how far the robot drives; end the skill where the robot must not be.

        A robot that begins where it must not be may leave, for example after a person has put it
        there. Ends with the skill, after a last look at where the robot is.

        Args:
            position: Tells where the robot is [m], team's map; None: that is not known.
            strays: Tells why it must not be at a position; "": it may be.
        """
        last: Vec3 | None = None
        strayed = True
        while True:
            here = position()
            if here is not None:
                trouble = strays(here)
                if trouble and not strayed and not self.task.done():
                    self.outcome, self.reason = Outcome.REFUSED, f"stopped on its way: {trouble}"
                    self.task.cancel()
                strayed = bool(trouble) and (strayed or last is None)
                if last is not None:
                    self.driven += math.dist(here[:2], last[:2])
                last = here
            if self.task.done():
                return
            await asyncio.wait([self.task], timeout=_TRACK_PERIOD)
