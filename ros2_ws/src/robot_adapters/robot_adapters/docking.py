"""Docking of one robot: when somebody asks, and when its battery is low and nothing else runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any, Protocol

from coterie_core.skills import Outcome, SkillRefused, SkillResult
from robot_adapters.battery import Battery
from robot_adapters.permission import Permitted

_PAUSE = 30.0
"""Time from a docking that failed to the next try of a robot whose battery is low [s]; it doubles
with every try, since a person may have to be asked each time."""
_LONGEST_PAUSE = 600.0
_NO_BASE = SkillResult(Outcome.UNSUPPORTED, "navigation.backend is none: it cannot drive")


class DockingBase(Protocol):
    """What a backend of a base does with a dock."""

    async def dock(self) -> SkillResult:
        """Go to the dock and charge."""
        ...

    async def undock(self) -> SkillResult:
        """Leave the dock; success with a reason says that the robot was not in it."""
        ...


Work = Callable[[], Coroutine[Any, Any, SkillResult]]


class Docking:
    """Brings a robot to its dock and out of it; use it in the node's loop.

    Args:
        battery: The robot's battery.
        dock: Name of its dock; "": it has none.
        base: What drives it; None: nothing does.
        allow: Lets docking pass; raises SkillRefused where it must not be driven now.
        permit: Gets the permit of a drive to the dock; raises SkillRefused where there is none.
        run: Runs work alone, with its permit, and returns how it ended.
        problem: Hears of a docking that failed.
        now: Clock [s].

    Attributes:
        docked: Whether the robot is known to stand in its dock: it drove there, or charges.
    """

    def __init__(
        self,
        battery: Battery,
        dock: str,
        base: DockingBase | None,
        *,
        allow: Callable[[], object],
        permit: Callable[[], Awaitable[Permitted | None]],
        run: Callable[[str, Work, Permitted | None], Awaitable[SkillResult]],
        problem: Callable[[str], object],
        now: Callable[[], float],
    ) -> None:
        self._battery, self._name, self._base = battery, dock, base
        self._allow, self._permit, self._run = allow, permit, run
        self._problem, self._now = problem, now
        self.docked = False
        self._charged = False
        self._charging: bool | None = None
        self._wanted = False
        self._going = 0
        self._due, self._pause = 0.0, _PAUSE

    def heard(self, became_low: bool) -> None:
        """Take in what the battery said last.

        Args:
            became_low: Whether the robot is to dock by itself as soon as it has nothing to do.
        """
        battery = self._battery
        if self._name and battery.charging != self._charging:
            # Only a change counts: a battery that says full is full on the way, too.
            self._charging = battery.charging
            if battery.charging:
                self._charged, self.docked = self._charged or not self.docked, True
            elif self._charged:
                self._charged, self.docked = False, False
        if became_low and self._name and battery.settings.dock:
            self._wanted, self._due, self._pause = True, self._now(), _PAUSE

    def forget(self) -> None:
        """Dock no more by itself: a person has stopped the robot, and a release moves nothing."""
        self._wanted = False

    async def tick(self, busy: str) -> None:
        """Dock where that is wanted; call it about once a second.

        Args:
            busy: What runs on the robot; "": nothing does.
        """
        if not self._battery.low or self.docked:
            self._wanted = False
        if not self._wanted or busy or self._going or self._now() < self._due:
            return
        await self.dock()
        self._due, self._pause = self._now() + self._pause, min(2.0 * self._pause, _LONGEST_PAUSE)

    async def dock(self) -> SkillResult:
        """Drive to the dock; a low battery is no reason against it."""
        self._going += 1
        try:
            result = await self._dock()
        finally:
            self._going -= 1
        if result.ok:
            self.docked, self._charged = True, False
        else:
            self._problem(f"docking: {result.reason}")
        return result

    async def _dock(self) -> SkillResult:
        if self._base is None:
            return _NO_BASE
        try:
            self._allow()
            permitted = await self._permit()
        except SkillRefused as refused:
            return refused.result
        return await self._run("Dock", self._base.dock, permitted)

    async def leave(self) -> SkillResult:
        """Drive out of the dock where the robot stands in it."""
        if not self.docked or self._base is None:
            return SkillResult(Outcome.SUCCEEDED)
        result = await self._base.undock()
        if result.ok and result.reason and self._battery.charging:
            why = f"{result.reason}, and its battery charges: look where it stands"
            return SkillResult(Outcome.FAULT, why)
        if result.ok:
            self.docked = self._charged = False
        elif self._charged:
            why = "it counts as docked, since its battery charges"
            return replace(result, reason=f"{result.reason} ({why})")
        return result
