"""What robots would have found of a house without one of them, and what they would answer then."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from cam_aggregator.registry import accepted_options, aggregator_names, make_aggregator
from coterie_core.questions import FinalAnswer, LabelledQuestion
from coterie_core.skills import NavigateTo, Skill, SkillRefused
from coterie_core.yaml_checks import suggestion
from coterie_fixtures.explorations import ExplorerRun, answer_all
from coterie_llm import ModelProfile
from coterie_safety.why import Story
from habitat_bridge.simulator import Simulator, WorldError
from mele_explorer.bank import QuestionBank
from mele_explorer.explorer import Explorer, ExplorerLimits
from research.whatif.cooperation import check_left
from research.whatif.rerun.kept import CannotReplay, KeptNodes
from research.whatif.rerun.worlds import (
    WorldAgain,
    check_repeatable,
    check_there,
    decider_of,
    profile_of,
)

WORD = "exploration"
"""What the exploration of a run is called where a task or question may stand."""
_CHOICE = "mele.choose_place"
_FREE = "confidence_vote"
_LONGEST = 36_000.0


@dataclass(frozen=True, slots=True)
class Explored:
    """How an exploration ended.

    Attributes:
        chosen: Robot -> places that it chose to go to, in order.
        kinds: Robot -> kinds of things that it met.
        rooms: Robot -> rooms that it met.
        seconds: Simulated time.
        method: Name of the aggregator that answers.
        asked: Questions about the house, with what is so.
        answers: What the team answers to each.
    """

    chosen: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, frozenset[str]]
    rooms: Mapping[str, frozenset[str]]
    seconds: float
    method: str
    asked: tuple[LabelledQuestion, ...]
    answers: tuple[FinalAnswer, ...]

    @property
    def team_kinds(self) -> frozenset[str]:
        """Kinds of things that any robot met."""
        return frozenset[str]().union(*self.kinds.values())

    @property
    def right(self) -> int:
        """Number of right answers."""
        return sum(a.yes == q.truth for a, q in zip(self.answers, self.asked, strict=True))

    @property
    def same(self) -> tuple[object, ...]:
        """Return what two runs have to have in common to count as the same."""
        told = tuple((one.yes, round(one.confidence, 9)) for one in self.answers)
        return tuple(self.chosen.items()), tuple(self.kinds.items()), self.seconds, told


class ExplorationAgain:
    """Lets a run's robots explore again, in the same house from the same starts.

    Args:
        nodes: Parameters of the run's nodes.
        hops: Hops that each of them made at most.

    Raises:
        CannotReplay: No robots explored a simulated house.
    """

    def __init__(self, nodes: KeptNodes, hops: int) -> None:
        self._explorers = nodes.all_of("explorer")
        self._world = WorldAgain(nodes)
        self._hops = hops
        if not self._explorers:
            raise CannotReplay("no robot of this team explores")
        check_repeatable([profile_of(own) for own in self._explorers.values()])
        method = str(nodes.of("aggregator").get("method", _FREE))
        # What learns was trained on labels of people, or debates: neither can be had again here.
        self.method = method if _answers_alone(method) else _FREE

    @property
    def lockstep(self) -> bool:
        """Whether the run's time stood still while robots thought."""
        return self._world.lockstep

    @property
    def robots(self) -> list[str]:
        """Names of the robots that explore."""
        return [spec.name for spec in self._world.specs if spec.name in self._explorers]

    def run(
        self,
        without: Collection[str] = (),
        aggregator: str = "",
        profile: ModelProfile | None = None,
    ) -> Explored:
        """Explore once.

        Args:
            without: Robots that are not there.
            aggregator: Who answers; "": the team's own.
            profile: Of the model that all think with; None: each its own.

        Raises:
            CannotReplay: There is no such robot or aggregator, or the world cannot be made again.
        """
        check_there(without, self.robots, "explores")
        check_left(without, self.robots)
        if aggregator and aggregator not in aggregator_names():
            raise CannotReplay(
                f"--aggregator {aggregator}: no such aggregator"
                f"{suggestion(aggregator, aggregator_names())}"
            )
        if aggregator and not _answers_alone(aggregator):
            raise CannotReplay(
                f"{aggregator} needs labels of people or a debate, and there are none in a replay"
            )
        try:
            return asyncio.run(self._run(frozenset(without), aggregator or self.method, profile))
        except WorldError as error:
            raise CannotReplay(f"its world cannot be made again: {error}") from None

    async def _run(
        self, without: frozenset[str], method: str, profile: ModelProfile | None
    ) -> Explored:
        world = self._world.make(without)
        try:
            there = {name: self._explorers[name] for name in self.robots if name not in without}
            explorers = {
                name: Explorer(
                    name,
                    decider_of(name, profile_of(own), profile),
                    ExplorerLimits(steps=self._hops),
                    int(own.get("seed", 0)),
                )
                for name, own in there.items()
            }
            chosen = await _explore_at_once(world, explorers, self._world.dt)
            bank = QuestionBank.from_graph(world.truth(), self._world.seed)
            seconds = round(float(world.time), 6)
        finally:
            world.close()
        runs = [ExplorerRun(name, one.memory) for name, one in explorers.items()]
        return await _explored(runs, chosen, bank, method, seconds, self._world.seed)


async def _explore_at_once(
    world: Simulator, explorers: Mapping[str, Explorer], dt: float
) -> dict[str, tuple[str, ...]]:
    """Let each robot go on as soon as it has arrived, as the bridge does in lockstep.

    Return the places that each has chosen. (`run_exploration` lets those that have arrived wait
    for the others.)
    """
    for name, explorer in explorers.items():
        explorer.observe(world.observe(name))
    active, running = list(explorers), dict[str, Skill]()
    chosen: dict[str, list[str]] = {name: [] for name in explorers}
    while active:
        for name in [name for name in active if name not in running]:
            skill = await explorers[name].next_skill()
            if skill is None:
                active.remove(name)
                continue
            chosen[name].append(skill.place if isinstance(skill, NavigateTo) else "")
            try:
                world.start_skill(name, skill)
                running[name] = skill
            except SkillRefused as refused:
                explorers[name].skill_ended(skill, refused.result)
        if world.time > _LONGEST:
            raise CannotReplay(f"a robot was still on its way after {_LONGEST:g} simulated seconds")
        for name, result in world.tick(dt).items() if running else ():
            explorers[name].skill_ended(running.pop(name), result)
            explorers[name].observe(world.observe(name))
    return {name: tuple(places) for name, places in chosen.items()}


async def _explored(
    runs: Sequence[ExplorerRun],
    chosen: Mapping[str, tuple[str, ...]],
    bank: QuestionBank,
    method: str,
    seconds: float,
    seed: int,
) -> Explored:
    table = await answer_all(runs, bank)
    options = {"seed": seed} if "seed" in accepted_options(method) else {}
    aggregator = make_aggregator(method, **options)
    aggregator.fit(table)
    return Explored(
        chosen,
        {run.robot: frozenset(run.memory.labels) for run in runs},
        {run.robot: frozenset(run.memory.looks) for run in runs},
        seconds,
        method,
        tuple(bank.items),
        tuple(aggregator.predict(table)),
    )


def _answers_alone(method: str) -> bool:
    return method != "debate" and not make_aggregator(method).needs_labels


def kept_hops(story: Story) -> dict[str, list[str]]:
    """Return the places that each robot of a run chose to go to, in order."""
    found: dict[str, list[str]] = {}
    for record in story.records:
        if record.kind == "decision" and record.body.get("name") == _CHOICE:
            reply = record.body.get("reply")
            place = str(reply.get("place", "")) if isinstance(reply, Mapping) else ""
            found.setdefault(record.who, []).append(place)
    return found


def differs_from_run(kept: Mapping[str, Sequence[str]], again: Explored) -> str:
    """Return in what a replay is not as the run was; "" where all robots go where they went."""
    for robot, now in again.chosen.items():
        was = list(kept.get(robot, ()))
        for number in range(max(len(was), len(now))):
            one = was[number] if number < len(was) else "nowhere"
            other = now[number] if number < len(now) else "nowhere"
            if one != other:
                return f"{robot}'s hop {number + 1} led to {one}, and leads to {other} now"
    return ""
