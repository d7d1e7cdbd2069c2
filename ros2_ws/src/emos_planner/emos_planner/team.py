"""A whole team in lockstep without ROS: leader, robots' agents and a world, one step at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from coterie_core.geometry import Vec3
from coterie_core.observation import Observation
from coterie_core.skills import Outcome as SkillOutcome
from coterie_core.skills import Skill, SkillRefused, SkillResult
from coterie_core.tasks import Proposal, Reflection, RobotReport, SubTask
from coterie_core.waiting import in_time
from coterie_llm import due_in
from emos_planner.leader.leader import Leader
from emos_planner.leader.outcome import Outcome
from emos_planner.leader.task import Agreement

STALLED = 60.0
"""Simulated time in which no robot does anything after which a run ends [s]."""
MOST_EVENTS = 5000


class World(Protocol):
    """What a run needs of a simulator (`habitat_bridge.simulator.Simulator` has it)."""

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        ...

    def start_skill(self, robot: str, skill: Skill) -> None:
        """Begin a skill; raises SkillRefused."""
        ...

    def cancel_skill(self, robot: str) -> None:
        """Stop the running skill."""
        ...

    def tick(self, dt: float) -> dict[str, SkillResult]:
        """Advance; return the results of the skills that ended."""
        ...

    def observe(self, robot: str) -> Observation:
        """Return what a robot perceives."""
        ...


class Agent(Protocol):
    """What a run needs of a robot's agent (`emos_planner.robot.agent.RobotAgent` has it)."""

    async def reflect(self, proposal: Proposal) -> Reflection:
        """Judge the own share of a proposal."""
        ...

    def overhear(self, reflection: Reflection) -> None:
        """Take in what another robot answered to a proposal."""
        ...

    def assign(self, task: str, words: str, sub_tasks: Sequence[SubTask]) -> None:
        """Take over who does what."""
        ...

    def observe(self, observation: Observation) -> None:
        """Take in what is perceived."""
        ...

    def receive(self, message: Any, now: float | None = None) -> None:
        """Take in what another robot says at a time [s]."""
        ...

    async def next_skill(self) -> Skill | None:
        """Choose what to do next; None: wait."""
        ...

    def skill_ended(self, skill: Skill, result: SkillResult) -> None:
        """Take in how it went."""
        ...

    def report(self) -> RobotReport:
        """Tell how far it is."""
        ...

    def outbox(self) -> Iterable[Any]:
        """Return what is to be said to other robots, and forget it."""
        ...


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, at a simulated time [s]."""

    time: float
    robot: str
    text: str


@dataclass(slots=True)
class TeamRun:
    """How a run went.

    `steps` are ticks of the world, `skills` skills begun per robot, `trails` positions [m] per
    robot after every skill.
    """

    outcome: Outcome
    agreement: Agreement
    assignment: tuple[SubTask, ...]
    steps: int
    time: float
    replans: int
    skills: dict[str, int]
    trails: dict[str, list[Vec3]]
    events: list[Event] = field(default_factory=list)

    @property
    def success(self) -> bool:
        """Whether the leader says that the task is done."""
        return self.outcome.success


class LocalChannel:
    """Lets the agents of one process reflect, all at the same time."""

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self.agents = agents

    async def reflect(
        self, robots: Sequence[str], proposal: Proposal, deadline: float
    ) -> Mapping[str, object]:
        """Return what each robot answers within `deadline` [s]; who fails or is late is absent."""

        async def ask(robot: str) -> Reflection | None:
            agent = self.agents.get(robot)
            if agent is None:
                return None
            try:
                with due_in(deadline):
                    return await in_time(agent.reflect(proposal), deadline)
            except asyncio.TimeoutError:
                return None

        answers = await asyncio.gather(*(ask(robot) for robot in robots))
        for reflection in filter(None, answers):
            for robot, agent in self.agents.items():
                if robot != reflection.robot:
                    agent.overhear(reflection)
        return {r: answer for r, answer in zip(robots, answers, strict=True) if answer is not None}


OnStep = Callable[[int], Any]
_TASK = "task-1"


async def run_team(
    world: World,
    leader: Leader,
    agents: dict[str, Agent],
    words: str,
    *,
    max_steps: int = 4000,
    dt: float = 0.25,
    on_step: OnStep | None = None,
) -> TeamRun:
    """Let a team discuss a task and carry it out (EMOS, algorithm 1), and return how it went.

    Args:
        world: The world, with a robot of every agent's name in it.
        leader: Who leads; gets the agents as channel if it has none, and the clock of the world.
        agents: Robot -> agent. A robot that is taken out of it meanwhile is dead.
        words: The task.
        max_steps: Ticks after which the run ends.
        dt: Length of a tick [s].
        on_step: Called after every tick with its number; True ends the run.

    Raises:
        NotUnderstood: The words mean nothing to robots.
    """
    if leader.channel is None:
        leader.channel = LocalChannel(agents)
    leader.clock = lambda: world.time
    run = _Run(world, leader, agents, words)
    for robot in list(agents):
        run.look(robot)
    agreement = await leader.discuss(_TASK, words, run.starts())
    leader.progress.heartbeats.start_heartbeat(agents, leader.clock())
    run.publish()
    steps = 0
    while steps < max_steps and not leader.progress.finished:
        await run.step(dt)
        steps += 1
        if on_step is not None and on_step(steps) is True:
            break
        if world.time - run.last_news > STALLED:
            run.note("", "nothing has happened for a while: the run ends")
            break
    for robot in run.running:
        world.cancel_skill(robot)
    return TeamRun(
        leader.progress.outcome(),
        agreement,
        leader.assignment,
        steps,
        world.time,
        run.replans,
        run.skills,
        run.trails,
        run.events,
    )


class _Run:
    """The loop's books."""

    def __init__(self, world: World, leader: Leader, agents: dict[str, Agent], words: str) -> None:
        self.world, self.leader, self.agents = world, leader, agents
        self.words = words
        self.running: dict[str, Skill] = {}
        self.skills = dict.fromkeys(agents, 0)
        self.trails: dict[str, list[Vec3]] = {robot: [] for robot in agents}
        self.events: list[Event] = []
        self.replans = 0
        self.last_news = world.time

    def note(self, robot: str, text: str) -> None:
        if len(self.events) < MOST_EVENTS:
            self.events.append(Event(self.world.time, robot, text))

    def look(self, robot: str) -> None:
        observation = self.world.observe(robot)
        self.agents[robot].observe(observation)
        self.trails[robot].append(observation.pose.position)

    def starts(self) -> dict[str, Vec3 | None]:
        return {robot: agent.report().position for robot, agent in self.agents.items()}

    def publish(self) -> None:
        """Tell all robots who does what, as the latched topic does."""
        for agent in self.agents.values():
            agent.assign(_TASK, self.words, self.leader.assignment)

    async def step(self, dt: float) -> None:
        for robot in [r for r in self.running if r not in self.agents]:
            self.world.cancel_skill(robot)  # its agent is dead
            del self.running[robot]
        touched = {robot for robot in self.agents if robot not in self.running}
        ended = await self._choose()
        if self.running:
            self.last_news = self.world.time
        for robot, result in self.world.tick(dt).items():
            skill = self.running.pop(robot, None)
            if skill is not None and robot in self.agents:
                ended.append((robot, skill, result))
        for robot, skill, result in ended:
            self.agents[robot].skill_ended(skill, result)
            self.look(robot)
            name = type(skill).__name__
            self.note(robot, name if result.ok else f"{name}: {result.reason}")
            self.last_news = self.world.time
        self._exchange()
        # Who is in the middle of a skill has nothing new to tell.
        await self._tell_leader([r for r in self.agents if r in touched or r not in self.running])

    async def _choose(self) -> list[tuple[str, Skill, SkillResult]]:
        """Let every robot without a running skill begin one; return those refused at once."""
        idle = [robot for robot in self.agents if robot not in self.running]
        skills: Iterable[Skill | None] = await _all(self.agents[r].next_skill() for r in idle)
        refused: list[tuple[str, Skill, SkillResult]] = []
        for robot, skill in zip(idle, skills, strict=True):
            if skill is None:
                continue
            self.skills[robot] += 1
            try:
                self.world.start_skill(robot, skill)
            except SkillRefused as error:
                refused.append((robot, skill, error.result))
            except ValueError as error:
                result = SkillResult(SkillOutcome.REFUSED, str(error))
                refused.append((robot, skill, result))
            else:
                self.running[robot] = skill
                self.last_news = self.world.time
        return refused

    def _exchange(self) -> None:
        for robot, agent in list(self.agents.items()):
            for message in agent.outbox():
                for other, receiver in self.agents.items():
                    if other != robot:
                        receiver.receive(message, self.world.time)

    async def _tell_leader(self, robots: Sequence[str]) -> None:
        for robot in self.agents:
            self.leader.progress.heartbeats.heard(robot, self.world.time)
        changes = [c for r in robots for c in self.leader.update(self.agents[r].report())]
        changes += self.leader.check_heartbeats()
        for change in changes:
            self.note(change.robot, change.text)
        if self.leader.must_replan:
            self.replans += 1
            await self.leader.replan(self.starts())
            self.publish()
        elif changes:
            self.publish()


async def _all(work: Iterable[Awaitable[Skill | None]]) -> list[Skill | None]:
    return list(await asyncio.gather(*work))
