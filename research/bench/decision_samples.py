"""Every decision of the stack with states as they come up, for prompts, checks of models, tables.

The states are caught where they arise: robots explore, answer, debate, split tasks, cooperate and
look things up in houses that the seed generates, and a decider that answers by the rules keeps what
it was asked. Nothing is written by hand but a few sentences that a person says.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from coterie_llm import (
    DECISIONS,
    Decided,
    Decider,
    Decision,
    LanguageModel,
    ModelRequest,
    ModelUnavailable,
    Reply,
    Usage,
)

StateT = TypeVar("StateT")
ReplyT = TypeVar("ReplyT", bound=BaseModel)
T = TypeVar("T")

_KEPT = 24
"""Most states of one decision that are kept before some are chosen."""
_TRIES = 4
_NEXT_HOUSE = 1000
"""Houses that are tried for a decision that does not come up, and from one's seed to the next's."""
_ROBOTS = ("ada", "bob", "cyd")


@dataclass(frozen=True)
class Sample:
    """A decision and a state that came up.

    Attributes:
        decision: The decision.
        state: What it was asked about.
        who: The robot that asked.
    """

    decision: Decision[Any, Any]
    state: Any
    who: str = ""


def sampled() -> list[str]:
    """Return the names of the decisions that have samples; those about images have none."""
    return [name for name in DECISIONS if _scene_of(name) in _SCENES]


def decision_samples(
    names: Sequence[str] | None = None, *, seed: int = 0, count: int = 3
) -> dict[str, list[Sample]]:
    """Return states of decisions from what happens in the houses of a seed.

    Only what is needed for the names is played: seconds for most, longer for those of `emos` and
    of `openeqa`, which need images. The same seed gives the same states.

    Args:
        names: Of decisions.
        seed: Of houses, starts and tasks.
        count: Most states of each, spread over what came up.

    Returns:
        Name -> samples, at least one; in the order of `names`.

    Raises:
        KeyError: There is no such decision.
        RuntimeError: A decision did not come up.
    """
    names = sampled() if names is None else names
    for name in names:
        if name not in DECISIONS:
            raise KeyError(name)
    caught: dict[str, list[Sample]] = {}
    missing = list(names)
    for k in range(_TRIES):  # not every house gives rise to every decision
        for scene in dict.fromkeys(_scene_of(name) for name in missing):
            for one in _SCENES[scene](seed + k * _NEXT_HOUSE):
                if one.decision.name in missing or k == 0:
                    caught.setdefault(one.decision.name, []).append(one)
        missing = [name for name in names if not caught.get(name)]
    if missing:
        raise RuntimeError(f"seed {seed}: these decisions did not come up: {', '.join(missing)}")
    return {name: _spread(caught[name], count) for name in names}


def _spread(samples: Sequence[T], count: int) -> list[T]:
    """Choose so many, evenly from the first to the last."""
    if len(samples) <= count:
        return list(samples)
    if count == 1:
        return [samples[len(samples) // 2]]
    step = (len(samples) - 1) / (count - 1)
    return [samples[round(k * step)] for k in range(count)]


def _scene_of(name: str) -> str:
    return name if name in _SCENES else name.partition(".")[0]


# -- catching --------------------------------------------------------------------------------------


class _Unasked(LanguageModel):
    """Stands for a model, so that all is asked that a model would be asked."""

    name = "unasked"

    async def complete(self, request: ModelRequest) -> Reply:
        raise ModelUnavailable("nobody is asked while states are caught")


@dataclass
class _Catch:
    samples: list[Sample] = field(default_factory=list)

    def decider(self, who: str = "") -> Decider:
        return _Catching(self, who)

    def take(self, decision: Decision[Any, Any], state: Any, who: str) -> None:
        seen = sum(one.decision.name == decision.name for one in self.samples)
        if seen < _KEPT and decision.only_reply(state) is None:
            try:
                kept = copy.deepcopy(state)  # memories go on changing under some states
            except TypeError:  # it holds what nothing changes, and what cannot be copied
                kept = state
            self.samples.append(Sample(decision, kept, who))


class _Catching(Decider):
    """Keeps what it is asked and replies by the rule, as if a model had replied so."""

    def __init__(self, catch: _Catch, who: str, member: int = 0) -> None:
        super().__init__(_Unasked(), who=who)
        self._catch = catch
        self._member = member

    def sampled(self, temperature: float | None, seed: int) -> Decider:
        return _Catching(self._catch, self.who, seed)

    def _of_member(self, reply: ReplyT) -> ReplyT:
        """Let the members of an ensemble find different objects: a choice is left to be made."""
        found = getattr(reply, "relevant_objects", None)
        if not self._member or not found:
            return reply
        kept = found[: 1 + self._member % len(found)]
        return reply.model_copy(update={"relevant_objects": kept})

    async def decide(self, decision: Decision[StateT, ReplyT], state: StateT) -> Decided[ReplyT]:
        self._catch.take(decision, state, self.who)
        reply = self._of_member(decision.rule(state))
        return Decided(reply, "model", "", 1, Usage(), 0.0, mode="model", model="unasked")


def _caught(work: Callable[[_Catch], Coroutine[Any, Any, None]]) -> list[Sample]:
    catch = _Catch()
    asyncio.run(work(catch))
    return catch.samples


# -- what happens ----------------------------------------------------------------------------------


def _mele(seed: int) -> list[Sample]:
    """Three robots explore a house, answer questions on it, and debate where they disagree."""
    from coterie_core.questions import Question
    from coterie_fixtures.explorations import run_exploration
    from coterie_requests.common_sense import load_common_sense
    from coterie_requests.debate import LocalSpeaker, debate
    from coterie_requests.presence import read_presence
    from coterie_requests.understanding import NotUnderstood
    from coterie_requests.understanding.vocabulary import Vocabulary
    from coterie_world.scene import rooms_text
    from habitat_bridge.factory import WorldSpec, make_world
    from habitat_bridge.robots import EMBODIMENTS
    from mele_explorer.answering import Answerer
    from mele_explorer.bank import QuestionBank

    async def work(catch: _Catch) -> None:
        world = make_world(WorldSpec(kind="embedded", seed=seed))
        try:
            for name in _ROBOTS:
                world.add_robot(name, EMBODIMENTS["wheels"])
            truth = world.truth()
            deciders = {name: catch.decider(name) for name in _ROBOTS}
            runs = await run_exploration(world, steps=6, decider=deciders, seed=seed)
        finally:
            world.close()
        bank = QuestionBank.from_graph(truth, seed)
        asked = [item.question for item in _spread(list(bank), 12)]
        rooms = sorted({room.name for room in truth.rooms.values()})
        sense = load_common_sense()
        speakers = {
            run.robot: (run, Answerer(run.memory, sense, deciders[run.robot], rooms=rooms))
            for run in runs
        }
        for question in asked:
            for _, one in speakers.values():
                await one.answer(question)

        def unsure(question: Any) -> tuple[bool, float]:
            said = [one.answer_by_rule(question) for _, one in speakers.values()]
            return len({a.yes for a in said}) == 1, min(a.confidence for a in said)

        for question in sorted((item.question for item in bank), key=unsure)[:3]:
            await debate(
                question,
                [
                    LocalSpeaker(
                        one.answer_by_rule(question), rooms_text(run.memory.graph), deciders[name]
                    )
                    for name, (run, one) in speakers.items()
                ],
            )
        thing = asked[0].object
        labels = {seen.label.top for seen in truth.objects.values()}
        for words in (
            f"I cannot remember: did we leave a {thing} in the {rooms[0]} or not?",
            f"Liegt im {rooms[-1]} noch ein {thing}?",
        ):
            with suppress(NotUnderstood):
                await read_presence(
                    Question("", "", "", words), Vocabulary.named(labels, rooms), deciders["ada"]
                )

    return _caught(work)


def _emos(seed: int) -> list[Sample]:
    """Robots of different bodies split a task, judge their shares, refuse, and carry it out."""
    from coterie_core.tasks import Obstacle, Proposal, Reflection
    from coterie_fixtures.emos_team import LocalChannel, run_team
    from coterie_world.team_map import TeamMap
    from emos_planner.leader.leader import Leader
    from emos_planner.robot.agent import RobotAgent
    from habitat_bridge.prior import prior_map
    from research.bench.emos.episodes import world_of
    from research.bench.emos.scaling import with_robots

    class _OneRefuses(LocalChannel):
        """In the first round a robot cannot do what it was given: the leader finds another."""

        async def reflect(
            self, robots: Sequence[str], proposal: Proposal, deadline: float
        ) -> Mapping[str, object]:
            answers = dict(await super().reflect(robots, proposal, deadline))
            for robot, said in answers.items():
                if proposal.round == 0 and isinstance(said, Reflection) and said.verdicts:
                    no = {
                        "feasible": False,
                        "obstacle": Obstacle.NO_PATH,
                        "reason": "a closed gate",
                    }
                    verdicts = (said.verdicts[0].model_copy(update=no), *said.verdicts[1:])
                    refusal = said.model_copy(update={"agrees": False, "verdicts": verdicts})
                    return {**answers, robot: refusal}
            return answers

    async def work(catch: _Catch) -> None:
        episode = _episode(seed)
        episode = with_robots(episode, 4) or episode  # so that there is somebody to choose from
        world, resumes = world_of(episode, "embedded", "none")
        try:
            scene = prior_map(world.truth(), "furniture")
            agents = {
                name: RobotAgent(
                    name,
                    resume,
                    catch.decider(name),
                    TeamMap(scene, name),
                )
                for name, resume in resumes.items()
            }
            channel = _OneRefuses(agents)
            leader = Leader(catch.decider("leader"), scene, resumes, channel=channel)
            await run_team(world, leader, dict(agents), episode.words, max_steps=150)
        finally:
            world.close()

    return _caught(work)


def _episode(seed: int) -> Any:
    """Return the first task, of the houses from a seed on, that two robots must share."""
    from research.bench.emos.episodes import make_episode

    for house in range(seed, seed + 60):
        episode = make_episode(4, house)
        if episode is not None:
            return episode
    raise RuntimeError(f"no house from {seed} to {seed + 59} offers a task for several robots")


def _bodies(seed: int) -> list[Sample]:
    """The bodies of three robots are described from their URDF files."""
    from coterie_description import urdf_path
    from research.bench.emos.episodes import resume_of_kind
    from robot_resume.builder import analyse
    from robot_resume.skeleton import skeleton_text
    from robot_resume.verbalize import describe

    async def work(catch: _Catch) -> None:
        for kind in ("fetch", "spot", "m100_indoor"):
            tree = analyse(urdf_path(kind)).scene.tree
            await describe(resume_of_kind(kind), skeleton_text(tree), catch.decider(kind))

    return _caught(work)


def _reveca(seed: int) -> list[Sample]:
    """Two robots bring things together in a home that they do not know."""
    return _cooperation("reveca", seed)


def _coela(seed: int) -> list[Sample]:
    """The same by agents that talk in words."""
    return _cooperation("coela", seed)


def _cooperation(method: str, seed: int) -> list[Sample]:
    from research.bench.reveca.environment import run_episode
    from research.bench.reveca.methods import make_world
    from research.bench.reveca.methods import method as method_of

    async def work(catch: _Catch) -> None:
        world = make_world("household", 2)
        await run_episode(world, method_of(method).make(world, catch.decider("team")), seed)

    return _caught(work)


def _objects(seed: int) -> list[Sample]:
    """Objects of a house's map are looked for by all workflows."""
    from habitat_bridge.factory import WorldSpec, make_world
    from object_planner.plan import PlanState, by_tools
    from object_planner.review import ChoiceState, ChoosePlan
    from object_planner.workflows import METHODS, Options, Roles, plan_objects

    async def work(catch: _Catch) -> None:
        world = make_world(WorldSpec(kind="embedded", seed=seed))
        try:
            scene = world.truth()
        finally:
            world.close()
        for words in ("something to drink from", "where could a guest sit down and read?"):
            for method in METHODS:
                await plan_objects(scene, words, Roles(catch.decider("planner")), method, Options())
            # Rules all answer alike; of answers that differ one is chosen.
            question = PlanState(scene, words)
            whole = by_tools(question)
            part = whole.model_copy(update={"relevant_objects": whole.relevant_objects[1:2]})
            choice = ChoiceState(question, (part, whole, part))
            await catch.decider("chooser").decide(ChoosePlan(), choice)

    return _caught(work)


def _openeqa(seed: int) -> list[Sample]:
    """All methods answer questions on a tour through a house; a judge marks what they say."""
    from openeqa_agent.agents import METHODS, AgentOptions, OpenAgent
    from research.bench.openeqa.judge import judge
    from research.bench.openeqa.tour import make_tour
    from research.bench.openeqa.world import Home

    async def work(catch: _Catch) -> None:
        home = Home(seed)
        tour = make_tour(home, seed)
        things = sorted({thing.label.top for thing in tour.map.objects.values()})
        asked = [f"How many {things[0]}s are there?", f"What color is the {things[-1]}?"]
        options = AgentOptions(frames=6, vision=True, looks=2, guesses="always")
        for method in METHODS:
            agent = OpenAgent(catch.decider("robot"), method, options)
            for words in asked:
                reply = await agent.answer(words, tour.map, tour)
                await judge(catch.decider("judge"), words, "two", (), reply.text or "no idea")

    return _caught(work)


def _team(seed: int) -> list[Sample]:
    """Requests that are clear and unclear, about a house that was explored in part."""
    from coterie_requests.ask_back import settle
    from coterie_requests.asking import WordsAnswer, WordsQuestion
    from coterie_requests.understanding import NotUnderstood
    from research.bench.askback.cases import cases
    from research.bench.askback.judges import Judges
    from research.bench.askback.situation import explored

    async def person(question: WordsQuestion) -> WordsAnswer:
        return WordsAnswer(question.choices[0] if question.choices else "the kitchen")

    situation = explored(seed, False)
    judges = Judges(situation)

    async def work(catch: _Catch) -> None:
        for case in _spread(list(cases(situation, "development")), 8):
            leader = catch.decider("leader")
            with suppress(NotUnderstood):
                await settle(await judges.state(case, leader), leader, person)

    return _caught(work)


_SCENES: dict[str, Callable[[int], list[Sample]]] = {
    "coela": _coela,
    "emos": _emos,
    "emos.describe_body": _bodies,
    "mele": _mele,
    "objects": _objects,
    "openeqa": _openeqa,
    "reveca": _reveca,
    "team": _team,
}
