"""Runs K explorers in one world in lockstep; then each answers a question bank (ROS-free)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from coterie_core.answers import AnswerTable
from coterie_core.confidence import DetectorModel, PriorModel
from coterie_core.geometry import Pose
from coterie_core.observation import Detection, Observation, RoomView
from coterie_core.skills import Skill, SkillRefused, SkillResult
from coterie_llm import Decider
from coterie_requests.common_sense import CommonSense, load_common_sense
from coterie_requests.detector_vocabulary import DetectorVocabulary
from coterie_world.scene import SceneGraph
from mele_explorer.answering import Answerer
from mele_explorer.bank import QuestionBank
from mele_explorer.explorer import Explorer, ExplorerLimits, Feedback
from mele_explorer.memory import Memory

_TICK = 0.5  # [s]
_SKILL_LIMIT = 600.0  # [s] of simulated time after which a hop is given up


class World(Protocol):
    """The part of a simulator that an exploration needs."""

    @property
    def robots(self) -> tuple[str, ...]:
        """Names of the robots in it."""
        ...

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        ...

    def observe(self, robot: str) -> Observation:
        """Return what a robot perceives."""
        ...

    def start_skill(self, robot: str, skill: Skill) -> None:
        """Begin a skill."""
        ...

    def cancel_skill(self, robot: str) -> None:
        """Stop a skill."""
        ...

    def tick(self, dt: float) -> dict[str, SkillResult]:
        """Advance time [s]."""
        ...


@dataclass(slots=True)
class ExplorerRun:
    """A robot's finished exploration: memory, places in order, coverage per observation."""

    robot: str
    memory: Memory
    path: tuple[str, ...] = ()
    coverage_curve: tuple[float, ...] = ()
    feedback: Feedback | None = None
    stopped: str = ""
    chosen_by: Mapping[str, int] = field(default_factory=dict)


async def run_exploration(
    world: World,
    robots: Sequence[str] | None = None,
    *,
    steps: int | None = 10,
    limits: ExplorerLimits | None = None,
    decider: Decider | Mapping[str, Decider] | None = None,
    seed: int = 0,
    on_round: Callable[[int, Sequence[Explorer]], None] | None = None,
) -> list[ExplorerRun]:
    """Let robots that stand in a world explore it, step by step together.

    Per round every robot, in order, chooses its next hop; then time runs until all have arrived.
    The same world, seed and deciders give the same runs.

    Args:
        world: The world; its robots were added before, each at its own start.
        robots: Who explores; None: all robots in the world.
        steps: Hops per robot (10 in the paper); None: until everything reachable was seen.
        limits: All limits; replaces `steps`.
        decider: One for all or by robot name; None: the rule.
        seed: For ties.
        on_round: Called after every round with its number, for progress bars and pictures.
    """
    limits = limits or ExplorerLimits(steps=steps)
    names = tuple(world.robots if robots is None else robots)
    explorers = {
        name: Explorer(name, _decider_of(decider, name), limits, seed=seed) for name in names
    }
    for name, explorer in explorers.items():
        explorer.observe(world.observe(name))
    active = list(names)
    rounds = 0
    while active:
        running: dict[str, Skill] = {}
        for name in list(active):
            skill = await explorers[name].next_skill()
            if skill is None:
                active.remove(name)
                continue
            try:
                world.start_skill(name, skill)
                running[name] = skill
            except SkillRefused as refused:
                explorers[name].skill_ended(skill, refused.result)
        _run_to_end(world, explorers, running)
        rounds += 1
        if on_round is not None:
            on_round(rounds, list(explorers.values()))
    return [_run_of(explorer) for explorer in explorers.values()]


def _run_to_end(world: World, explorers: Mapping[str, Explorer], running: dict[str, Skill]) -> None:
    """Advance time until all running skills have ended; each robot then looks."""
    end = world.time + _SKILL_LIMIT
    while running:
        if world.time >= end:
            for name in running:
                world.cancel_skill(name)
        results = world.tick(_TICK)
        for name in [name for name in running if name in results]:
            explorers[name].skill_ended(running.pop(name), results[name])
            explorers[name].observe(world.observe(name))


def _decider_of(decider: Decider | Mapping[str, Decider] | None, robot: str) -> Decider | None:
    return decider.get(robot) if isinstance(decider, Mapping) else decider


def _run_of(explorer: Explorer) -> ExplorerRun:
    return ExplorerRun(
        explorer.robot,
        explorer.memory,
        tuple(explorer.path),
        tuple(explorer.coverage_curve),
        explorer.feedback(),
        explorer.stopped,
        dict(explorer.chosen_by),
    )


async def answer_all(
    runs: Sequence[ExplorerRun],
    bank: QuestionBank,
    *,
    house: str = "",
    sense: CommonSense | None = None,
    decider: Decider | Mapping[str, Decider] | None = None,
    detector: DetectorModel | None = None,
    prior: PriorModel | None = None,
) -> AnswerTable:
    """Let every robot answer every question from its own memory; return the table of answers.

    The bank's objects and rooms are those that the house's detector and floor plan name.
    """
    sense = sense or load_common_sense()
    answers = []
    items = bank.items
    vocabulary = DetectorVocabulary.of({item.question.object for item in items})
    rooms = sorted({item.question.room for item in items} - {""})
    for run in runs:
        model = _decider_of(decider, run.robot)
        answerer = Answerer(run.memory, sense, model, detector, prior, vocabulary, rooms)
        for question in bank.questions():
            answers.append(await answerer.answer(question))
    return AnswerTable.of(house, [run.robot for run in runs], bank.items, answers)


def oracle_run(truth: SceneGraph, room: str, robot: str) -> ExplorerRun:
    """Return the run of a robot that knows exactly one room of the truth (MELE, section 5).

    Raises:
        KeyError: There is no room of this name.
    """
    known = truth.room_named(room)
    if known is None:
        names = ", ".join(sorted(place.name for place in truth.rooms.values()))
        raise KeyError(f"no room named {room!r}; rooms: {names}")
    view = RoomView(known.id, known.name, known.type)
    places = [place for place in truth.places.values() if place.room == known.id]
    position = places[0].position if places else (0.0, 0.0, 0.0)
    detections = tuple(
        Detection(thing.label.top, 1.0, thing.box, view, instance=thing.id)
        for thing in truth.objects_in(known.id)
        if thing.label.top
    )
    memory = Memory(robot)
    here = places[0].id if places else f"in {known.id}"
    memory.update(Observation(robot, 0, 0.0, Pose(position), here, view, detections))
    return ExplorerRun(robot, memory, (here,), (1.0,), stopped="told one room")
