"""Cooperating robots in the embedded house without ROS: one loop, simulated time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coterie_core.cooperation import Goal, Note
from coterie_core.embodiment import Embodiment
from coterie_core.household import load_household
from coterie_core.making_way import WayRequest
from coterie_core.scene import SceneGraph
from coterie_core.skills import Skill, SkillRefused, SkillResult
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.robots import EMBODIMENTS
from reveca_agent.agent import RevecaAgent
from reveca_agent.house import HouseBody
from reveca_agent.house_map import Shape
from reveca_agent.household_goal import household_goal
from reveca_agent.making_way import make_way
from reveca_agent.working import Work

DT = 0.1
"""Step of the world [s]."""
_TURNS = 20
"""Turns of the loop in which robots may decide before the world goes on."""


@dataclass(frozen=True, slots=True)
class Deed:
    """A skill that a robot began, at a time of the world [s]."""

    time: float
    robot: str
    skill: Skill


class SimulatedDriver:
    """Carries out one robot's skills in the house of a `HouseTeam`."""

    def __init__(self, team: HouseTeam, name: str, body: HouseBody) -> None:
        self.team, self.name, self.body = team, name, body
        self.notes: list[Note] = []
        self.waiting: asyncio.Future[SkillResult] | None = None
        self._noted = asyncio.Event()

    async def skill(self, skill: Skill) -> SkillResult:
        """Wait until the world has done it."""
        world = self.team.world
        self.team.deeds.append(Deed(world.time, self.name, skill))
        try:
            world.start_skill(self.name, skill)
        except SkillRefused as refused:
            await asyncio.sleep(0)
            return refused.result
        self.waiting = asyncio.get_running_loop().create_future()
        try:
            return await self.waiting
        except asyncio.CancelledError:
            world.cancel_skill(self.name)
            self.waiting = None
            raise

    def speak(self, note: Note) -> None:
        """Tell the others at once."""
        self.team.say(note)

    def ask_way(self, request: WayRequest) -> None:
        """Ask the others for the way at once."""
        self.team.ask_way(request)

    def hear(self, note: Note) -> None:
        """Take in what another says."""
        self.notes.append(replace(note, step=self.body.step))
        self._noted.set()
        self._noted.clear()

    def heard(self) -> Sequence[Note]:
        """Return what came."""
        notes, self.notes = self.notes, []
        return notes

    async def noted(self) -> None:
        """Wait until there is a message that was not heard yet."""
        while not self.notes:
            await self._noted.wait()


class HouseTeam:
    """Robots of a world that do one goal.

    Args:
        world: The house; robots that are not in it yet are put into it.
        prior: What they know of it beforehand.
        robots: Name -> embodiment, or its name in `habitat_bridge.robots.EMBODIMENTS`.
        gets_through: Tells whether a message reaches the robot of that name.
        step: Length of a decision's step [s].

    Attributes:
        deeds: All skills that were begun, in order.
        said: All messages, in order.
        asked: All requests for the way, in order.
        works: Name -> the robot's work on the goal.
        ended: Name -> what ended its work.
    """

    def __init__(
        self,
        world: EmbeddedWorld,
        prior: SceneGraph,
        robots: Mapping[str, str | Embodiment],
        gets_through: Callable[[Note, str], bool] = lambda note, name: True,
        step: float = 1.0,
    ) -> None:
        self.world, self.gets_through = world, gets_through
        self.said: list[Note] = []
        self.asked: list[WayRequest] = []
        self.deeds: list[Deed] = []
        self.drivers: dict[str, SimulatedDriver] = {}
        for name, kind in robots.items():
            shape = EMBODIMENTS[kind] if isinstance(kind, str) else kind
            arm = shape.arm
            if arm is None:
                raise ValueError(f"robot {name}: its embodiment {shape.name!r} has no arm")
            if name not in world.robots:
                world.add_robot(name, shape.model_copy(update={"name": name}))
            body = HouseBody(
                name,
                prior,
                Shape(
                    shape.radius,
                    arm.reach,
                    shape.linear_speed,
                    step,
                    arm.min_height,
                    arm.max_height,
                    shape.cameras,
                ),
            )
            body.observe(world.observe(name))
            self.drivers[name] = SimulatedDriver(self, name, body)
        self.works: dict[str, Work] = {}
        self.ended: dict[str, str] = {}
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    def say(self, note: Note) -> None:
        """Let a robot's message, or a person's, reach all others."""
        self.said.append(note)
        for name, driver in self.drivers.items():
            if name != note.sender and self.gets_through(note, name):
                driver.hear(note)

    def ask_way(self, request: WayRequest) -> None:
        """Let a robot's request for the way reach all others; who has ended its work goes aside."""
        self.asked.append(request)
        for name, driver in self.drivers.items():
            if name == request.sender or self.ended.get(name) == "taken out":
                continue
            driver.body.aside.hear(request, self.world.time)
            if self._tasks[name].done():
                self._tasks[name] = asyncio.ensure_future(
                    make_way(driver.body, driver.skill, driver.ask_way, idle=True)
                )

    def take_out(self, name: str) -> None:
        """Let a robot's mind die: it stands where it is and says nothing more."""
        self.ended[name] = "taken out"
        self._tasks[name].cancel()

    async def run(
        self,
        goal: Goal,
        max_time: float,
        each: Callable[[], object] = lambda: None,
        people: Sequence[str] = (),
        idle: Sequence[str] = (),
        agents: Mapping[str, RevecaAgent] | None = None,
        seeds: Mapping[str, int] | None = None,
    ) -> dict[str, str]:
        """Let all work until each has ended; return what ended it.

        Args:
            goal: The goal.
            max_time: It may take [s of the world's time].
            each: Called after each step of the world.
            people: Names of people who take part.
            idle: Names of robots that get no goal: they stand where they are.
            agents: Name -> who decides; else by the rules.
            seeds: Name -> seed of its decisions; else their numbers.
        """
        names = [*self.drivers, *people]
        for k, (name, driver) in enumerate(self.drivers.items()):
            agent = RevecaAgent(name) if agents is None else agents[name]
            seed = k if seeds is None else seeds[name]
            agent.begin(
                driver.body.briefing(household_goal(goal), names, max_time=max_time, seed=seed)
            )
            self.works[name] = Work(agent, driver.body, driver)
        end = self.world.time + max_time
        self._tasks = {
            name: asyncio.ensure_future(asyncio.sleep(0) if name in idle else self._one(name, end))
            for name in self.drivers
        }
        clock = asyncio.ensure_future(self._tick(each))
        try:
            while not all(task.done() for task in self._tasks.values()):
                pending = [task for task in self._tasks.values() if not task.done()]
                await asyncio.wait({clock, *pending}, return_when=asyncio.FIRST_COMPLETED)
                if clock.done():
                    clock.result()
            for name, task in self._tasks.items():
                if self.ended.get(name) != "taken out":
                    task.result()
        finally:
            for task in (clock, *self._tasks.values()):
                task.cancel()
        return self.ended

    async def _one(self, name: str, end: float) -> None:
        work = self.works[name]
        self.ended[name] = await work.to_the_end(end)

    async def _tick(self, each: Callable[[], object]) -> None:
        while True:
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            busy = {name for name, driver in self.drivers.items() if driver.waiting is not None}
            if not busy or any(n not in busy for n, t in self._tasks.items() if not t.done()):
                continue
            for name, result in self.world.tick(DT).items():
                driver = self.drivers[name]
                driver.body.observe(self.world.observe(name))
                if driver.waiting is not None and not driver.waiting.done():
                    driver.waiting.set_result(result)
                driver.waiting = None
            for state in self.world.bodies:
                self.drivers[state.name].body.moved(state.pose.position, self.world.time)
            each()


def in_place(world: EmbeddedWorld, goal: Goal) -> dict[str, int]:
    """Return how many things are where each sub-goal wants them, in truth."""
    household, truth = load_household(), world.truth()

    def label(id_: str) -> str:
        thing = truth.objects.get(id_)
        return "" if thing is None else household.canonical(thing.label.top)

    return {
        str(one): sum(
            label(thing.id) == one.item and label(thing.container or thing.support) == one.target
            for thing in truth.objects.values()
        )
        for one in goal.subgoals
    }
