"""A team at work in a house, directly or through a lab: asked for one thing after the other."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from coterie_bringup import rundir
from coterie_bringup.errors import CommandError
from coterie_bringup.lab import lab_parameters
from coterie_bringup.running_team import TeamRun, prepared
from coterie_bringup.signals import ended_by_signals
from coterie_bringup.spinning import in_loop, spinning
from coterie_bringup.task_record import TaskRecord
from coterie_bringup.task_watcher import watching
from coterie_bringup.team import Team
from coterie_bringup.team_client import Operator, exploration_goal, operating
from coterie_bringup.team_sections import LeaderSpec, MapperSpec, OpenQuestionsSpec, PlannerSpec
from coterie_cli.demo.map_watch import MapWatch
from coterie_cli.demo.questions import Asked
from coterie_cli.do.goal_record import CooperationRecord
from coterie_cli.do.goal_watcher import CooperationWatcher
from coterie_core.observation import Observation
from coterie_core.questions import Question
from coterie_core.tasks import SubTaskState
from coterie_ros.clients import GoalRejected, NoAnswer
from coterie_safety.permits import Permits
from coterie_world.scene import SceneGraph
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.factory import RoomOutline, WorldSpec, make_world
from habitat_bridge.image_detector import NO_THINGS
from research.bench.lab.works import (
    Errand,
    Kind,
    Role,
    Trial,
    Way,
    errands,
    found_right,
    kinds_met,
    mapped,
    questions,
    requests,
    shared_goals,
    tours,
)

NODES_UP = 180.0
"""How long nodes may take until they can be spoken to [s]."""
HALF = 0.5
"""Least share of what shows in a house that a map has, if it is to count as done."""
MAP_PATIENCE = 60.0
"""How long the mapper may take for images that wait when the robots are done [s]."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much a team is asked for in a house.

    Attributes:
        rooms: Of the house.
        hops: Of each robot that explores.
        asked: Questions, and as many requests for things.
        tours: Of other questions each.
        errands: Tasks for a leader, and goals that robots share.
        max_time: Simulated time that each of these and an answer may take [s].
        pace: Simulated seconds per second in the lab, and of robots that explore directly.
    """

    rooms: int
    hops: int
    asked: int
    tours: int
    errands: int
    max_time: float
    pace: float


@dataclass(slots=True)
class Session:
    """One team in one house, one way; `trials` grows as it goes."""

    team: Team
    house: int
    role: Role
    way: Way
    size: Size
    told: Callable[[Trial], object]
    trials: list[Trial] = field(default_factory=list)
    world: EmbeddedWorld = field(init=False)
    truth: SceneGraph = field(init=False)

    def __post_init__(self) -> None:
        """Make the house."""
        self.world = make_house(self.house, self.size.rooms, look=self.way == "direct")
        self.truth = self.world.truth()

    def run(self, domain: int | None) -> None:
        """Start the team, ask it for everything, end it.

        Raises:
            CommandError: It does not come up, or cannot be kept running.
        """
        team = cast_team(self.team, self.role, self.way, self.house, self.size, self.truth)
        try:
            # A free one: real robots are looked for in 0, and none must be driven.
            with (
                rundir.domain(domain) as number,
                prepared(team, domain=number, without=("bridge",)) as run,
            ):
                asyncio.run(self._main(run))
        finally:
            self.world.close()

    async def _main(self, run: TeamRun) -> None:
        with self._hosted(run):
            async with ended_by_signals(), run.supervisor.running():
                lead = {
                    "explorer": self._explorers,
                    "worker": self._workers,
                    "cooperator": self._cooperators,
                }
                await run.unless_it_fails(lead[self.role](run))

    @contextlib.contextmanager
    def _hosted(self, run: TeamRun) -> Iterator[None]:
        """Have the house in this process, so that what is so in it can be looked up."""
        # Interfaces of real robots: only who runs this bench needs them.
        from habitat_bridge.lab.node import LabNode
        from habitat_bridge.node import BridgeNode

        world, namespace = self.world, run.team.namespace or None
        make: Callable[[Any], Any]
        if self.way == "lab":
            given = lab_parameters(run.team, {"kind": "embedded"}, pace=self.size.pace)

            def make(context: Any) -> LabNode:
                return LabNode(world=world, namespace=namespace, context=context, parameters=given)
        else:
            (spec,) = (spec for spec in run.specs if spec.name == "bridge")
            values = dict(spec.parameters["bridge"])
            if self.role == "explorer":
                # No faster than the lab: the mapper would lose images that it has no time for.
                values["pace"] = self.size.pace

            def make(context: Any) -> BridgeNode:
                return BridgeNode(
                    world=world, namespace=namespace, context=context, parameters=values
                )

        with spinning(make, domain=run.domain, environment=run.environment):
            yield

    # -- robots that explore and answer ----------------------------------------------------------

    async def _explorers(self, run: TeamRun) -> None:
        robots = [robot.name for robot in run.team.explorers]
        seen: dict[str, list[tuple[str, tuple[float, ...]]]] = {name: [] for name in robots}

        met: set[str] = set()

        def look(observation: Observation) -> None:
            met.add(observation.robot)
            seen[observation.robot] += [
                (found.label, found.box.center)
                for found in observation.detections
                if found.box is not None
            ]

        with operating(
            robots, domain=run.domain, namespace=run.team.namespace, environment=run.environment
        ) as operator:
            operator.on_observation = look
            watch = MapWatch(operator)
            if lacks := await in_loop(operator, operator.wait_for_team(NODES_UP)):
                raise CommandError(f"not there after {NODES_UP:.0f} s: {', '.join(lacks)}")
            await in_loop(operator, watch.start())
            await self._until(lambda: set(robots) <= met, "an observation of every robot")
            goal = exploration_goal(run.team.exploration)

            async def explore(number: int, robot: str) -> None:
                clock = self._clock()
                try:
                    end = await in_loop(operator, operator.explore(robot, goal, lambda news: None))
                    failed = "" if end.success else str(end.reason)
                except (GoalRejected, NoAnswer) as error:
                    failed = str(error)
                self._book("explore", number, robot, clock, failed,
                           score=kinds_met(self.truth, seen[robot]))  # fmt: skip

            await asyncio.gather(*(explore(k, robot) for k, robot in enumerate(robots)))
            clock = self._clock()
            await in_loop(operator, watch.settled(MAP_PATIENCE))
            contents = self.world.contents
            shows = [
                id_ for id_, hidden in zip(contents.ids, contents.hidden, strict=True)
                if not hidden and contents.things[id_].label.top not in NO_THINGS
            ]  # fmt: skip
            told, share = mapped(watch.shown.scene or SceneGraph(), self.truth, shows)
            self._book("map", 0, told, clock, "" if share >= HALF else told,
                       cause="less than half is in it", score=share)  # fmt: skip
            for number, item in enumerate(questions(self.truth, self.house, self.size.asked)):
                clock = self._clock()
                asked = await self._ask(operator, Asked(item.question.text))
                right = asked.answer == ("yes" if item.truth else "no")
                told = f"answered {asked.answer!r}: {asked.because}"
                self._book("ask", number, asked.text, clock, "" if right else told,
                           cause=f"{asked.kind}: said {asked.answer!r}")  # fmt: skip
            for number, label in enumerate(requests(self.truth, self.house, self.size.asked)):
                clock = self._clock()
                asked = await self._ask(operator, Asked(f"a {label}", find=True))
                scene = watch.shown.scene or SceneGraph()
                things = [scene.objects[id_] for id_ in asked.objects if id_ in scene.objects]
                right = found_right(self.truth, label, things)
                self._book("find", number, asked.text, clock, "" if right else asked.because,
                           cause="nothing found" if not things else "another thing")  # fmt: skip
            for number, parts in enumerate(tours(self.truth, self.house, self.size.tours)):
                await self._tour(operator, number, parts)

    async def _tour(self, operator: Operator, number: int, asked: list[Asked]) -> None:
        """Ask what a tour asks: it is done when all of it is answered."""
        clock = self._clock()
        for one in asked:
            await self._ask(operator, one)
        known = [one for one in asked if one.truth]
        wrong = [
            f"{one.text} {one.answer}; in truth: {one.truth}"
            for one in known
            if one.truth.lower() not in one.answer.lower()
        ]
        lacks = [f"{one.text} {one.answer}" for one in asked if one.kind == "none"]
        self._book("tour", number, f"{len(asked)} questions", clock, "; ".join(lacks),
                   cause="not answered", score=1.0 - len(wrong) / max(len(known), 1),
                   wrong=wrong)  # fmt: skip

    async def _ask(self, operator: Operator, asked: Asked) -> Asked:
        """Put a question or a request to the team, and write down what came back.

        A robot may go and look for the answer, as long as tasks may take.
        """
        patience = self.size.max_time / self.size.pace
        try:
            if asked.find:
                asked.take(await in_loop(operator, operator.find(asked.text, 10, 60.0)))
            else:
                question = Question(f"bench-{time.monotonic_ns()}", "", "", asked.text)
                asked.take(await in_loop(operator, operator.ask(question, patience)))
        except (NoAnswer, GoalRejected) as error:
            asked.take(str(error))
        return asked

    # -- robots that do tasks for a leader -------------------------------------------------------

    def _errands(self, run: TeamRun) -> list[Errand]:
        """Choose what the team can do, in a house of its own that is as this one at the start."""
        world = make_house(self.house, self.size.rooms, look=False)
        try:
            for robot in run.team.robots:
                world.add_robot(robot.name, self.world.body(robot.name).embodiment)
            return errands(world, run.team.robots[-1].name, self.house, 2 * self.size.errands)
        finally:
            world.close()

    async def _workers(self, run: TeamRun) -> None:
        for number, errand in enumerate(self._errands(run)[: self.size.errands]):
            record = TaskRecord(errand.words, run.team.name)
            clock = self._clock()
            failed = ""
            with watching(
                run.state.robots, record, domain=run.domain, environment=run.environment
            ) as watcher:
                if not await in_loop(watcher, watcher.leader_there(NODES_UP)):
                    raise CommandError(f"no leader within {NODES_UP:.0f} s")
                await self._until(partial(_has_map, record), "the team's map")
                clock = self._clock()
                try:
                    await in_loop(watcher, watcher.give(self.size.max_time))
                except CommandError as error:
                    failed = str(error)
            if not errand.done(self.world.contents):
                failed = failed or record.message or record.outcome
            bad = [one for one in record.sub_tasks if one.state == SubTaskState.FAILED]
            cause = f"could not {bad[-1].kind}" if bad else f"said {record.outcome}"
            reason = f"{failed}; {bad[-1].reason}" if failed and bad else failed
            if reason:
                reason = f"{reason[:300]}; in truth: {errand.truth(self.world.contents)}"
            self._book("do", number, errand.words, clock, reason, cause=cause)

    # -- robots that share a goal ----------------------------------------------------------------

    async def _cooperators(self, run: TeamRun) -> None:
        robots = [robot.name for robot in run.team.cooperators]
        goals = shared_goals(self._errands(run), self.size.errands)
        for number, (goal, parts) in enumerate(goals):
            record = CooperationRecord(goal, run.team.name)

            def make(context: Any, record: CooperationRecord = record) -> CooperationWatcher:
                return CooperationWatcher(
                    robots, record, namespace=run.team.namespace, context=context
                )

            failed = ""
            with spinning(make, domain=run.domain, environment=run.environment) as watcher:
                there = await in_loop(watcher, watcher.robots_there(NODES_UP))
                if not there:
                    raise CommandError(f"no robot that cooperates within {NODES_UP:.0f} s")
                clock = self._clock()
                try:
                    await in_loop(watcher, watcher.give(there, self.size.max_time))
                except CommandError as error:
                    failed = str(error)
            left = [part for part in parts if not part.done(self.world.contents)]
            if left:
                truth = "; ".join(part.truth(self.world.contents) for part in left)
                failed = f"{(failed or record.message)[:300]}; in truth: {truth}"
            self._book("cooperate", number, goal.text(), clock, failed,
                       cause=f"{len(left)} of {len(parts)} left")  # fmt: skip

    # -- the book --------------------------------------------------------------------------------

    @staticmethod
    async def _until(ready: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + NODES_UP
        while not ready():
            if time.monotonic() > end:
                raise CommandError(f"not there after {NODES_UP:.0f} s: {what}")
            await asyncio.sleep(0.2)

    def _clock(self) -> tuple[float, float]:
        return self.world.time, time.monotonic()

    def _book(
        self, kind: Kind, number: int, what: str, begin: tuple[float, float], failed: str,
        *, cause: str = "", score: float | None = None, wrong: list[str] | None = None,
    ) -> None:  # fmt: skip
        """Write down how one thing went; `failed` says why it was not done ("": it was)."""
        done = not failed
        trial = Trial(
            self.house, kind, number, self.way, done,
            float(done) if score is None else score, what,
            "" if done else cause or "failed", failed[:1000],
            round(self.world.time - begin[0], 1), round(time.monotonic() - begin[1], 1),
            wrong or [],
        )  # fmt: skip
        self.trials.append(trial)
        self.told(trial)


def _has_map(record: TaskRecord) -> bool:
    """Whether the leader has got the rooms that a person drew: in a lab they come after a while."""
    return record.scene is not None and bool(record.scene.rooms)


def make_house(seed: int, rooms: int, *, look: bool) -> EmbeddedWorld:
    """Return a house without robots; `look`: whether robots look around after each drive."""
    world = make_world(
        {"kind": "embedded", "seed": seed, "floors": 1, "rooms": rooms, "look_on_arrival": look}
    )
    assert isinstance(world, EmbeddedWorld)
    return world


def cast_team(team: Team, role: Role, way: Way, house: int, size: Size, truth: SceneGraph) -> Team:
    """Return a team of real robots in a role, driven through a lab or directly.

    Rooms are known both ways, as a person may draw them; what is in them is not.
    """
    outlines = tuple(
        RoomOutline(name=room.name, type=room.type, floor="", polygon=tuple(room.polygon))
        for room in truth.rooms.values()
    )
    changes: dict[str, Any] = {
        "robots": tuple(robot.model_copy(update={"role": role}) for robot in team.robots),
        "permits": Permits(otherwise="allow"),  # nobody is there to be asked
        "seed": house,
        "exploration": team.exploration.model_copy(update={"steps": size.hops}),
        "mapper": MapperSpec(prior_map="rooms"),
        "planner": PlannerSpec() if role == "explorer" else None,
        "open_questions": OpenQuestionsSpec() if role == "explorer" else None,
        "leader": LeaderSpec(prior_map="rooms") if role == "worker" else None,
        "cooperation": team.cooperation.model_copy(update={"prior_map": "rooms"}),
        "domain": None,
    }
    if way == "lab":
        changes["world"] = team.world.model_copy(update={"room_outlines": outlines})
    else:
        changes |= {"world": WorldSpec(kind="embedded", seed=house), "mode": "lockstep"}
    return team.model_copy(update=changes)
