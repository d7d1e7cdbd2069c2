"""Permits of one real robot's goals: got before a skill, waited for, checked, and logged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from coterie_core.geometry import Vec3
from coterie_core.skills import Outcome, Skill, SkillRefused, SkillResult
from coterie_safety.permits import PermitGate, PermitGoal, PermitRequest
from coterie_safety.permits.gate import needs_permit
from coterie_safety.permits.request import Permit
from coterie_safety.why.context import current

_AGAIN = 1.0
"""How often whoever sent a goal is told that it waits [s]."""


@dataclass(frozen=True, slots=True)
class Permitted:
    """A goal with its permit."""

    goal: PermitGoal
    permit: Permit
    skill: Skill | str
    spot: Vec3 | None


class Permission:
    """Gets permits for a robot's goals, one after the other; use it in the node's loop.

    What is logged is logged in a thread: whoever holds the log must not hold the loop.

    Args:
        gate: The robot's gate.
        robot: Its name.
        call: Has a function called in the loop, from any thread.
        problem: Hears of what could not be logged.

    Attributes:
        begins_to_wait: Called with a reason when a goal begins to wait, which ends the older one.
    """

    def __init__(
        self,
        gate: PermitGate,
        robot: str,
        call: Callable[..., object],
        problem: Callable[[str], object],
    ) -> None:
        self._gate, self._robot, self._call, self._problem = gate, robot, call, problem
        self.begins_to_wait: Callable[[str], object] = self.end
        self._asked: asyncio.Future[Permit | SkillResult] | None = None
        self._turn = asyncio.Lock()
        self._writer = ThreadPoolExecutor(1, "log of goals")
        self._runs: PermitGoal | None = None

    async def get(
        self,
        skill: Skill | str,
        here: Vec3 | None,
        speed: float,
        *,
        spot: Vec3 | None = None,
        holding: str = "",
        why: str = "",
        waits: Callable[[str], object] = lambda what: None,
    ) -> Permitted | None:
        """Return a skill's permit, once a person has given it where one is asked; None: needs none.

        Args:
            skill: The skill, or `dock`.
            here: Where the robot is [m], team's map; None: nobody knows.
            speed: Its highest speed [m/s]; infinite: its own node decides.
            spot: Position [m] of the place that a NavigateTo names.
            holding: Label of what it holds.
            why: What it is for.
            waits: Called now and then while a person is waited for.

        Raises:
            SkillRefused: There is none; or the goal was cancelled while it waited.
        """
        if not needs_permit(skill):
            return None
        goal = self._gate.around.goal(
            self._robot,
            skill,
            here,
            speed,
            spot=spot,
            holding=holding,
            why=why,
            action=current().goal,
        )
        asked: asyncio.Future[Permit | SkillResult] = asyncio.get_running_loop().create_future()

        def settle(permit: Permit | None, reason: str) -> None:
            if not asked.done():
                asked.set_result(permit or SkillResult(Outcome.REFUSED, reason))

        try:
            async with self._turn:  # goals come out in the order in which they came
                answer = await self._applied(goal, lambda *told: self._call(settle, *told))
                if isinstance(answer, PermitRequest):
                    self.begins_to_wait("a newer goal took its place")
                    self._asked = asked
            if isinstance(answer, PermitRequest):
                answer = await self._answered(answer, asked, waits)
        except asyncio.CancelledError:
            self._log(goal, SkillResult(Outcome.CANCELLED, "cancelled"))
            raise SkillRefused(Outcome.CANCELLED, "cancelled") from None
        except SkillRefused as refused:
            self._log(goal, refused.result)
            raise
        return Permitted(goal, answer, skill, spot)

    async def _applied(
        self, goal: PermitGoal, settled: Callable[[Permit | None, str], object]
    ) -> Permit | PermitRequest:
        """Apply for a permit; a goal that is cancelled meanwhile has asked nobody.

        Raises:
            SkillRefused: There is none.
        """
        applied = self._writer.submit(self._gate.apply, goal, settled)
        try:
            return await asyncio.wrap_future(applied)
        except asyncio.CancelledError:
            self._writer.submit(self._take_back, applied)
            raise

    def _take_back(self, applied: Future[Permit | PermitRequest]) -> None:
        if not applied.cancelled() and applied.exception() is None:
            answer = applied.result()
            if isinstance(answer, PermitRequest):
                self._gate.drop(answer.id, "the goal was taken back")

    async def _answered(
        self,
        request: PermitRequest,
        asked: asyncio.Future[Permit | SkillResult],
        waits: Callable[[str], object],
    ) -> Permit:
        try:
            while not asked.done():
                waits(f"{request.rule} asks a person (./coterie permits)")
                await asyncio.wait([asked], timeout=_AGAIN)
            answer = asked.result()
        finally:
            self._writer.submit(self._gate.drop, request.id, "the goal was taken back")
            if self._asked is asked:
                self._asked = None
        if isinstance(answer, SkillResult):
            raise SkillRefused(answer.outcome, answer.reason)
        return answer

    def end(self, reason: str) -> None:
        """End what waits for a person."""
        if self._asked is not None and not self._asked.done():
            self._asked.set_result(SkillResult(Outcome.CANCELLED, reason))

    def begin(self, permitted: Permitted | None) -> None:
        """Let a goal begin; the last thing before the robot is told to move. Call `ended` next.

        Raises:
            SkillRefused: Its permit does not hold.
        """
        if permitted is None:
            return
        goal, permit = permitted.goal, permitted.permit
        self._gate.begin(permit, goal, permitted.skill, permitted.spot)
        self._runs = goal

    def ended(self, permitted: Permitted | None, result: SkillResult) -> None:
        """Log how a goal ended that got its permit."""
        if permitted is None:
            return
        if self._runs is permitted.goal:  # one that ended while it waited never ran
            self._runs = None
        self._log(permitted.goal, result)

    def _log(self, goal: PermitGoal, result: SkillResult) -> None:
        def write() -> None:
            if trouble := self._gate.ended(goal, result):
                self._call(self._problem, trouble)

        self._writer.submit(write)

    def check_path(self, points: Sequence[Vec3]) -> None:
        """Let the path [m] of the goal that runs pass.

        Raises:
            SkillRefused: It leads where the goal's permit is not for.
        """
        if self._runs is not None:
            self._gate.check_path(self._runs, points)
