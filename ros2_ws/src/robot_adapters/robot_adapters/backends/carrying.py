"""A base that moves only once the robot's arm has taken the posture in which it is carried."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from coterie_core.geometry import Pose
from coterie_core.skills import NavigateTo, SkillResult
from robot_adapters.backends.base import ArmBackend, Feedback, NavigationBackend


class CarryingNavigation:
    """Drives as another backend does; before each motion the arm is drawn in, or nothing moves.

    Args:
        base: What drives the robot's base.
        arm: What moves its arm.
    """

    def __init__(self, base: NavigationBackend, arm: ArmBackend) -> None:
        self._base, self._arm = base, arm
        self.halt, self.ready, self.describe = base.halt, base.ready, base.describe
        self.limit_speed, self.limits_speed = base.limit_speed, base.limits_speed

    async def navigate(self, skill: NavigateTo, goal: Pose, feedback: Feedback) -> SkillResult:
        """Drive to a pose."""
        return await self._then(lambda: self._base.navigate(skill, goal, feedback))

    async def look_around(self, feedback: Feedback) -> SkillResult:
        """Turn once about the own axis."""
        return await self._then(lambda: self._base.look_around(feedback))

    async def dock(self) -> SkillResult:
        """Go to the dock and charge."""
        return await self._then(self._base.dock)

    async def undock(self) -> SkillResult:
        """Leave the dock."""
        return await self._then(self._base.undock)

    async def _then(self, motion: Callable[[], Awaitable[SkillResult]]) -> SkillResult:
        drawn_in = await self._arm.carry()
        return await motion() if drawn_in.ok else drawn_in
