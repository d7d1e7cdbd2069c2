"""Cooperating robots in the embedded house without ROS: one loop, simulated time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from coterie_core.cooperation import Goal, Note
from coterie_core.scene import SceneGraph
from coterie_core.skills import Skill, SkillRefused, SkillResult
from habitat_bridge.embedded.world import EmbeddedWorld
from reveca_agent.agent import RevecaAgent
from reveca_agent.house import HouseBody, Shape, household_goal
from reveca_agent.working import Work

DT = 0.1


class SimulatedDriver:
    """Carries out one robot's skills in the house of a `Team`."""

    def __init__(self, team: Team, name: str, body: HouseBody) -> None:
        self.team, self.name, self.body = team, name, body
        self.notes: list[Note] = []
        self.waiting: asyncio.Future[SkillResult] | None = None
        self.skills = 0
        self._noted = asyncio.Event()

    async def skill(self, skill: Skill) -> SkillResult:
        """Wait until the world has done it."""
        world = self.team.world
        self.skills += 1
        try:
            world.start_skill(self.name, skill)
        except SkillRefused as refused:
            await asyncio.sleep(0)
            self.team.refusals += 1
            return refused.result
        self.waiting = asyncio.get_running_loop().create_future()
        self.team.wake.set()
        try:
            return await self.waiting
        except asyncio.CancelledError:
            world.cancel_skill(self.name)
            self.waiting = None
            raise

    def speak(self, note: Note) -> None:
        """Tell the others at once."""
        self.team.said.append(note)
        for name, other in self.team.drivers.items():
            if name != self.name:
                other.notes.append(replace(note, step=other.body.step))
                other._noted.set()
                other._noted.clear()

    def heard(self) -> Sequence[Note]:
        """Return what came."""
        notes, self.notes = self.notes, []
        return notes

    async def noted(self) -> None:
        """Wait until there is a message that was not heard yet."""
        while not self.notes:
            await self._noted.wait()


class Team:
    """Robots of a world that do one goal."""

    def __init__(
        self, world: EmbeddedWorld, prior: SceneGraph, shapes: Mapping[str, Shape]
    ) -> None:
        self.world = world
        self.wake = asyncio.Event()
        self.said: list[Note] = []
        self.refusals = 0
        self.drivers: dict[str, SimulatedDriver] = {}
        for name, shape in shapes.items():
            body = HouseBody(name, prior, shape)
            body.observe(world.observe(name))
            self.drivers[name] = SimulatedDriver(self, name, body)
        self.works: dict[str, Work] = {}
        self.ended: dict[str, str] = {}

    async def run(self, goal: Goal, max_time: float) -> dict[str, str]:
        """Let all work until each has ended; return what ended it."""
        names = list(self.drivers)
        for k, (name, driver) in enumerate(self.drivers.items()):
            agent = RevecaAgent(name)
            agent.begin(
                driver.body.briefing(household_goal(goal), names, max_time=max_time, seed=k)
            )
            self.works[name] = Work(agent, driver.body, driver)
        end = self.world.time + max_time
        tasks = {n: asyncio.ensure_future(self._one(n, end)) for n in names}
        clock = asyncio.ensure_future(self._tick(tasks))
        try:
            await asyncio.wait(
                {clock, asyncio.gather(*tasks.values())}, return_when="FIRST_COMPLETED"
            )
            if clock.done():
                clock.result()
            for task in tasks.values():
                task.result()
        finally:
            clock.cancel()
            for task in tasks.values():
                task.cancel()
        return self.ended

    async def _one(self, name: str, end: float) -> None:
        work = self.works[name]
        self.ended[name] = await work.until_met(end)
        await work.empty_hand()

    async def _tick(self, tasks: Mapping[str, asyncio.Task[None]]) -> None:
        while True:
            for _ in range(20):  # let all decide that can
                await asyncio.sleep(0)
            busy = [n for n, d in self.drivers.items() if d.waiting is not None]
            free = [n for n, t in tasks.items() if not t.done() and n not in busy]
            if free or not busy:
                await asyncio.sleep(0)
                continue
            for name, result in self.world.tick(DT).items():
                driver = self.drivers[name]
                driver.body.observe(self.world.observe(name))
                if driver.waiting is not None and not driver.waiting.done():
                    driver.waiting.set_result(result)
                driver.waiting = None
            for state in self.world.bodies:
                driver = self.drivers[state.name]
                driver.body.moved(state.pose.position, self.world.time)
