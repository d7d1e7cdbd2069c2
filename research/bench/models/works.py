"""The works of the small set: in each an answerer decides, and the outcome tells how far it got."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from coterie_core.questions import Answer, LabelledQuestion, Question
from coterie_fixtures.explorations import ExplorerRun, run_exploration
from coterie_llm import Decider, ModelProfile, UsageMeter, build_decider
from coterie_requests.common_sense import load_common_sense
from coterie_requests.debate import LocalSpeaker, debate
from coterie_requests.detector_vocabulary import DetectorVocabulary
from coterie_requests.presence import read_presence
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.meaning import label_relevance
from coterie_world.scene import SceneGraph, rooms_text
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.robots import EMBODIMENTS
from mele_explorer.answering import Answerer
from mele_explorer.bank import QuestionBank
from object_planner.settings import Method
from object_planner.workflows import Options, Roles, plan_objects
from research.bench.decision_samples import decision_samples
from research.bench.emos.episodes import Episode, Family, make_episode
from research.bench.emos.run import run_episode
from research.bench.models import sets
from research.bench.models.requests import reading
from research.bench.models.requests import sentences as sentences_of
from research.bench.openeqa.judge import judge
from research.bench.openeqa.run import Asker, Setup, answer_house
from research.bench.reveca.episodes import play_one

ROBOTS = 3


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of each bench is done.

    Attributes:
        hops: Hops of each explorer.
        asked: Questions of a house, of which about half are about what is there.
        debated: Questions on which a team may debate.
        items: Sentences, requests, open questions of a kind and replies to mark; None: all.
        houses: Houses and episodes of a bench; None: all.
    """

    hops: int = 10
    asked: int = 60
    debated: int = 8
    items: int | None = None
    houses: int | None = None


FEW = Amount(hops=3, asked=6, debated=1, items=3, houses=1)
"""For a model that takes half a minute for a reply."""
OPEN_METHODS = ("blind", "captions", "scene_graph", "ours")
"""Agents for open questions that need no eyes."""
WORKFLOWS: tuple[Method, ...] = ("grounded", "self_reflection", "ensemble")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a part of a work ended.

    Attributes:
        bench: Which bench it is a small part of.
        part: What was done.
        score: Share that was right, or reached (0..1).
        of: How many things were counted.
        steps: Steps of the simulation; None: it has none.
    """

    bench: str
    part: str
    score: float
    of: int
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class Answering:
    """Who decides: a profile, and the meter that counts it; and how much is done."""

    profile: ModelProfile
    meter: UsageMeter
    amount: Amount = Amount()

    def decider(self, who: str) -> Decider:
        """Return who decides, for a bench."""
        return build_decider(self.profile, who=who, meter=self.meter)


Work = Callable[[Answering], Coroutine[Any, Any, list[Outcome]]]


def share(right: Sequence[bool]) -> float:
    """Return the share of what is right."""
    return sum(right) / max(len(right), 1)


async def _explored(
    seed: int, answering: Answering, decider: Decider
) -> tuple[list[ExplorerRun], SceneGraph, Outcome]:
    """Let robots explore a house; return their runs, the truth, and how much of it they met."""
    hops = answering.amount.hops
    world = EmbeddedWorld(generate_house(seed, floors=1), seed=seed, threads=1)
    try:
        for k in range(ROBOTS):
            world.add_robot(f"agent_{k + 1}", EMBODIMENTS["wheels"])
        truth = world.truth()
        runs = await run_exploration(world, steps=hops, seed=seed, decider=decider)
    finally:
        world.close()
    seen = {(t.room, t.label.top) for r in runs for t in r.memory.graph.objects.values()}
    there = {(t.room, t.label.top) for t in truth.objects.values() if t.room}
    met = len(seen & there) / max(len(there), 1)
    part = f"kinds of things met, house {seed}"
    return runs, truth, Outcome("mele", part, met, len(there), ROBOTS * hops)


def explore(seed: int) -> Work:
    """Return the work in which robots explore a house, and no more."""

    async def work(answering: Answering) -> list[Outcome]:
        decider = answering.decider("mele")
        try:
            return [(await _explored(seed, answering, decider))[2]]
        finally:
            await decider.aclose()

    return work


def mele(seed: int) -> Work:
    """Return the work in which robots explore a house, answer alone, and debate."""

    async def work(answering: Answering) -> list[Outcome]:
        amount = answering.amount
        decider = answering.decider("mele")
        try:
            runs, truth, met = await _explored(seed, answering, decider)
            bank = QuestionBank.from_graph(truth, seed)
            items = bank.items[:: max(1, len(bank) // amount.asked)][: amount.asked]
            rows = [await _answers(run, items, decider) for run in runs]
            talks = await _talks(runs, rows, items, decider, amount.debated)
        finally:
            await decider.aclose()
        right = [a.yes == one.truth for row in rows for a, one in zip(row, items, strict=True)]
        return [
            met,
            Outcome("mele", f"answers, house {seed}", share(right), len(right)),
            Outcome("mele", f"the team after debates, house {seed}", share(talks), len(talks)),
        ]

    return work


async def _answers(
    run: ExplorerRun, items: Sequence[LabelledQuestion], decider: Decider
) -> list[Answer]:
    vocabulary = DetectorVocabulary.of({one.question.object for one in items})
    rooms = sorted({one.question.room for one in items} - {""})
    answerer = Answerer(
        run.memory, load_common_sense(), decider, vocabulary=vocabulary, rooms=rooms
    )
    return await asyncio.gather(*(answerer.answer(one.question) for one in items))


async def _talks(
    runs: Sequence[ExplorerRun],
    rows: Sequence[Sequence[Answer]],
    items: Sequence[LabelledQuestion],
    decider: Decider,
    most: int,
) -> list[bool]:
    """Return where the team is right: it debates some questions on which its robots disagree.

    On the others most of them count.
    """
    right: list[bool] = []
    talks = 0
    for k, item in enumerate(items):
        answers = [row[k] for row in rows]
        yes = sum(answer.yes for answer in answers) * 2 > len(answers)
        if len({answer.yes for answer in answers}) > 1 and talks < most:
            talks += 1
            speakers = [
                LocalSpeaker(answer, _notes(run, item), decider)
                for answer, run in zip(answers, runs, strict=True)
            ]
            finals = (await debate(item.question, speakers)).finals
            yes = sum(said.p_yes for said in finals) / len(finals) > 0.5
        right.append(yes == item.truth)
    return right


def _notes(run: ExplorerRun, item: LabelledQuestion) -> str:
    """Return what a robot brings to a debate, as its node does."""
    relevance = label_relevance(item.question.object, {})
    return rooms_text(run.memory.graph, relevance=relevance, asked=item.question.room)


async def sentences(answering: Answering) -> list[Outcome]:
    """Questions in words: which thing, in which room?"""
    decider, names = answering.decider("mele"), Vocabulary.named(sets.LABELS, sets.ROOMS)
    right = []
    for text, thing, room in sets.SENTENCES[: answering.amount.items]:
        try:
            asked = await read_presence(Question("", "", "", text), names, decider)
        except NotUnderstood:
            right.append(False)
        else:
            right.append((asked.object, asked.room) == (thing, room))
    await decider.aclose()
    return [Outcome("mele", "sentences", share(right), len(right))]


def requests(tuned: bool) -> Work:
    """Return the work in which requests in five languages are read."""

    async def work(answering: Answering) -> list[Outcome]:
        decider = answering.decider("team")
        said = list(sentences_of(tuned).items())[: answering.amount.items]
        read = [await reading(words, meanings, decider) for words, meanings in said]
        await decider.aclose()
        part = "tuned requests" if tuned else "requests"
        return [
            Outcome("read", f"{part}: {key}", share([one[key] for one in read]), len(read))
            for key in read[0]
        ]

    return work


def reveca(method: str, seed: int) -> Work:
    """Return the work in which two agents tidy up a household."""

    async def work(answering: Answering) -> list[Outcome]:
        rules = answering.profile.kind == "rules"
        decider = answering.decider(method)
        try:
            told = await play_one("household", method, seed, decider=None if rules else decider)
        finally:
            await decider.aclose()
        steps, success = int(told["simulation_steps"]), float(told["success"])
        return [Outcome("reveca", f"{method}, household {seed}", success, 1, steps)]

    return work


def objects(house: int, workflows: Sequence[Method] = WORKFLOWS) -> Work:
    """Return the work in which requests on the map of a house are met: is the first object right?

    A request in a house is one of the set, another one in each house.
    """

    async def work(answering: Answering) -> list[Outcome]:
        scene, decider = sets.object_map(house), answering.decider("objects")
        first = 0 if house == sets.OBJECTS_HOUSE else house % len(sets.REQUESTS)
        asked = (*sets.REQUESTS[first:], *sets.REQUESTS[:first])[: answering.amount.items]
        outcomes = []
        for method in workflows:
            right = []
            for words, labels in asked:
                truth = sets.truth_of(scene, labels)
                options = Options(rounds=1, members=3)
                answer = await plan_objects(scene, words, Roles(decider), method, options)
                ids = answer.plan.relevant_objects
                right.append(ids[0] in truth if ids else not truth)
            outcomes.append(Outcome("objects", method, share(right), len(right)))
        await decider.aclose()
        return outcomes

    return work


async def openeqa(answering: Answering) -> list[Outcome]:
    """Open questions about a walk through a house by four agents, marked by the rules."""
    most = answering.amount.items
    setup = Setup(
        methods=OPEN_METHODS, settings=("em",), width=160, questions=2, most=most, rooms=5
    )
    decider = answering.decider("openeqa")
    asker = Asker(setup, decider, answering.meter, decider.model)
    records = await answer_house(sets.OPENEQA_HOUSE, setup, asker)
    outcomes = []
    for method in OPEN_METHODS:
        marks = [float(one["C"]) / 100.0 for one in records if one["method"] == method]
        outcomes.append(Outcome("openeqa", method, sum(marks) / len(marks), len(marks)))
    return outcomes


async def images(answering: Answering) -> list[Outcome]:
    """Photos: how many of the decisions on them does the answerer make itself?

    What is right is not known here; who cannot see refuses, and the rule decides.
    """
    decider = answering.decider("openeqa")
    names = ("openeqa.caption_frame", "openeqa.answer_from_frames")
    made = []
    # In a thread: it plays the house in a loop of its own.
    caught = await asyncio.to_thread(decision_samples, names, seed=sets.OPENEQA_HOUSE, count=2)
    for samples in caught.values():
        for one in samples:
            decided = await decider.decide(one.decision, one.state)
            made.append(decided.decided_by == "model")
    await decider.aclose()
    return [Outcome("openeqa", "photos, own decisions", share(made), len(made))]


async def judging(answering: Answering) -> list[Outcome]:
    """Marks of replies whose worth is plain."""
    decider = answering.decider("openeqa")
    right = []
    for question, truth, reply, (low, high) in sets.MARKED[: answering.amount.items]:
        mark = await judge(decider, question, truth, (), reply)
        right.append(mark is not None and low <= mark.value <= high)
    await decider.aclose()
    return [Outcome("openeqa", "judge", share(right), len(right))]


def emos(family: Family, house: int) -> Work:
    """Return the work in which a team with a leader does a task of Habitat-MAS."""

    async def work(answering: Answering) -> list[Outcome]:
        episode = _episode(family, house)
        if answering.amount.houses is not None:  # a few of everything: one thing of several
            episode = first_goal(episode)
        told = await run_episode(
            episode, "emos_reassign", profile=answering.profile, meter=answering.meter
        )
        part = f"{episode.id}, sub-goals"
        return [Outcome("emos", part, told.subgoals, len(episode.goals), told.steps)]

    return work


def first_goal(episode: Episode) -> Episode:
    """Return an episode with the first of its goals, and of what is said."""
    words = episode.words.partition(" and ")[0]
    return episode.model_copy(update={"goals": episode.goals[:1], "words": words})


def _episode(family: Family, house: int) -> Episode:
    for seed in range(house, house + 40):
        episode = make_episode(family, seed)
        if episode is not None:
            return episode
    raise ValueError(f"no house from {house} on offers an episode of family {family}")


def all_works(amount: Amount | None = None, houses: Sequence[int] = ()) -> dict[str, Work]:
    """Return the works by name, in the order in which they are done.

    Args:
        amount: How much of each is done; None: all.
        houses: Seeds of houses in which robots explore, and of MELE's works; empty: the fixed ones,
            nobody explores only, and no other work is done in each of them.
    """
    most = (amount or Amount()).houses
    works: dict[str, Work] = {"mele sentences": sentences}
    works |= {"read requests": requests(False), "read tuned requests": requests(True)}
    works |= {f"explore {seed}": explore(seed) for seed in houses}
    for seed in houses:
        works[f"house {seed}: do"] = emos(4, seed)
        works[f"house {seed}: find"] = objects(seed, ("grounded",))
        works[f"house {seed}: explore, ask"] = mele(seed)
        works[f"house {seed}: cooperate"] = reveca("reveca", seed)
    works |= {f"mele {seed}": mele(seed) for seed in houses or sets.MELE_HOUSES[:most]}
    for method in ("reveca", "coela"):
        works |= {f"{method} {seed}": reveca(method, seed) for seed in sets.REVECA_SEEDS[:most]}
    works |= {"objects": objects(sets.OBJECTS_HOUSE), "openeqa": openeqa, "openeqa judge": judging}
    works |= {"openeqa images": images}
    works |= {f"emos {family}": emos(family, house) for family, house in sets.EMOS_EPISODES[:most]}
    return works
