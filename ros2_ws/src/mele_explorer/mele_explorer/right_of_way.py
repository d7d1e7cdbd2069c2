"""Right of way of an explorer, which knows no map of the floor, but places and ways between."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from coterie_core.geometry import Vec3
from coterie_core.observation import Observation
from coterie_core.skills import NavigateTo, Skill, SkillResult
from coterie_llm import inline_data
from coterie_world.free_space.yield_pose import yield_place
from coterie_world.right_of_way import RightOfWay, YieldRequest, make_way
from mele_explorer.memory import Memory


class WayOfExplorer(RightOfWay):
    """Making way of one explorer.

    Args:
        memory: What the explorer knows.
        radius: Of its body [m].
        look: Tells what it perceives now; None: nothing yet.
        carry_out: Has the robot carry out a skill, and tells it why.
        ask: Asks the other robots for the way.
        now: Tells the time [s].
    """

    def __init__(
        self,
        memory: Memory,
        radius: float,
        look: Callable[[], Observation | None],
        carry_out: Callable[[Skill, str], Awaitable[SkillResult]],
        ask: Callable[[YieldRequest], object],
        now: Callable[[], float],
    ) -> None:
        super().__init__(memory.robot)
        self._memory, self._radius, self._look = memory, radius, look
        self._carry_out, self._ask, self._now = carry_out, ask, now

    async def hop_ended(self, skill: Skill, result: SkillResult) -> None:
        """Take in how a hop ended: ask for the way that was blocked, and go aside if asked to."""
        drive = self.blocked_drive(skill, result)
        if drive is not None:
            self._ask_way(drive)
            await self.go(idle=False)

    async def go(self, idle: bool) -> None:
        """Go aside for a robot that has asked for it.

        Args:
            idle: Whether this one has nothing else to do.
        """

        async def carry_out(skill: Skill) -> SkillResult:
            return await self._carry_out(skill, f"makes way for {inline_data(self.whom)}")

        await make_way(self, self._spot, carry_out, self._ask_way, idle)

    def _spot(self, request: YieldRequest, closed: Sequence[Vec3]) -> Vec3 | None:
        seen, graph = self._look(), self._memory.graph
        if seen is None:
            return None
        here = seen.pose.position
        return yield_place(graph, seen.place, here, self._radius, request, closed)

    def _ask_way(self, drive: NavigateTo) -> None:
        seen, place = self._look(), self._memory.graph.places.get(drive.place)
        goal = drive.position if place is None else place.position
        if seen is not None and goal is not None:
            self._ask(self.request((seen.pose.position, goal), self._radius, self._now()))
