"""Answers and marks: one house from memory and exploring, or one episode of a data set."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from coterie_core.skills import Outcome, SkillResult
from coterie_llm import (
    Decider,
    Decision,
    LanguageModel,
    ModelProfile,
    RulesModel,
    UsageMeter,
    build_decider,
)
from coterie_recordings import Recording
from coterie_world.scene import SceneGraph
from habitat_bridge.embedded.navigation import NoWay
from habitat_bridge.factory import NoiseLevel
from openeqa_agent.agents import METHODS, AgentOptions, OpenAgent
from openeqa_agent.decisions import AnswerBlind, AnswerFromCaptions, AnswerFromMap, AnswerWithTools
from openeqa_agent.explore import Explorer
from openeqa_agent.reply import OpenReply
from openeqa_agent.understood import OpenQuestion
from research.bench.openeqa.facts import Facts
from research.bench.openeqa.judge import efficiency, judge, match_score, rule_mark
from research.bench.openeqa.judge_official import OfficialPrompts, official_mark
from research.bench.openeqa.phrases import PhraseSet, load_phrases
from research.bench.openeqa.questions import HouseQuestion, ask_house
from research.bench.openeqa.tour import Episode, Sight, episode_of, make_tour
from research.bench.openeqa.world import Home, OutOfSteps, Seeker, Shown

Exploration = Literal["frontier", "frontier_stop", "question"]
EXPLORATIONS: tuple[Exploration, ...] = ("frontier", "frontier_stop", "question")
"""The paper's baseline, which answers when all was seen; the same that answers when it is sure;
and ours, which goes where the answer is likely."""
MOST_STEPS = 500
"""Atomic steps after which an active agent must answer."""
ACTIVE_FRAMES = 75
"""Frames an agent looks at after exploring; 50 from memory (OpenEQA, appendix V.C)."""

JOINED: Mapping[str, tuple[type[Decision[Any, Any]], ...]] = {
    "blind": (AnswerBlind,),
    "captions": (AnswerFromCaptions,),
    "scene_graph": (AnswerFromMap,),
}
"""Methods whose questions on one place may go out together; the others look things up, or look at
images, for each."""

ENOUGH = "the map answers the question"


@dataclass(frozen=True, slots=True)
class Setup:
    """Who answers, who marks, and how.

    Attributes:
        methods: Agents, of openeqa_agent.agents.METHODS.
        settings: "em", "active", or both.
        noise: How badly the detector errs.
        width: Of the images [px].
        questions: Most questions per category and house.
        most: Most questions per house, spread over the categories; None: no such limit.
        steps: Most atomic steps of an active episode.
        rooms: Of a generated house; None: its seed decides.
        profile: A model's profile as JSON; "": the rules.
        judge: "rule", "model" (with our prompt), or "official" (a model with OpenEQA's prompt).
        prompts: Folder of OpenEQA's prompts, for the official judge.
        detector: "module:function" for recordings without detections; "": none.
        rooms_told: Whether agents are told rooms' names, kinds and outlines.
        phrases: How questions about generated houses are worded.
    """

    methods: tuple[str, ...] = METHODS
    settings: tuple[str, ...] = ("em", "active")
    noise: NoiseLevel = "normal"
    width: int = 256
    questions: int = 3
    most: int | None = None
    steps: int = MOST_STEPS
    rooms: int | None = None
    profile: str = ""
    judge: Literal["rule", "model", "official"] = "rule"
    prompts: str = ""
    detector: str = ""
    rooms_told: bool = True
    phrases: PhraseSet = "day"


class Posed(Protocol):
    """A question with its right answers."""

    @property
    def question(self) -> str:
        """In words."""
        ...

    @property
    def answer(self) -> str:
        """The right one."""
        ...

    @property
    def extra(self) -> Sequence[str]:
        """Others that are right."""
        ...


@dataclass(slots=True)
class Asker:
    """Asks agents and marks what they say, with one model, whose tokens it counts."""

    setup: Setup
    decider: Decider
    meter: UsageMeter
    model: LanguageModel | None = None

    @staticmethod
    def of(setup: Setup) -> Asker:
        """Return one for a set-up.

        Raises:
            LanguageError: The profile cannot be used.
        """
        meter = UsageMeter()
        if not setup.profile:
            return Asker(setup, Decider(RulesModel(), who="bench"), meter)
        profile = ModelProfile.model_validate_json(setup.profile)
        decider = build_decider(profile, who="bench", meter=meter)
        return Asker(setup, decider, meter, decider.model)

    async def close(self) -> None:
        """Close the model's connections."""
        if self.model is not None:
            await self.model.aclose()

    async def ask(
        self,
        method: str,
        questions: Sequence[Posed],
        scene: SceneGraph | None,
        recording: Recording | None,
        frames: int,
    ) -> list[dict[str, Any]]:
        """Return what a method answers to questions on one place, their marks, and what they took.

        Questions that a model may be asked in one request are asked at the same time; what these
        took is shared out evenly.
        """
        agent = OpenAgent(self.decider, method, AgentOptions(frames=frames, guesses="always"))
        together = any(self.decider.gathers(kind()) for kind in JOINED.get(method, ()))
        size = len(questions) if together else 1
        told = []
        for start in range(0, len(questions), size):
            group = questions[start : start + size]
            calls, tokens = self._used()
            begun = time.perf_counter()
            asked = (agent.answer(one.question, scene, recording) for one in group)
            replies = await asyncio.gather(*asked)
            seconds = time.perf_counter() - begun
            calls_now, tokens_now = self._used()
            took = {
                "calls": _shared(calls_now - calls, len(group)),
                "tokens": _shared(tokens_now - tokens, len(group)),
                "seconds": round(seconds / len(group), 4),
            }
            for one, reply in zip(group, replies, strict=True):
                told.append({**await self._marked(one, reply), **took})
        return told

    async def _marked(self, one: Posed, reply: OpenReply) -> dict[str, Any]:
        question, answer, extra = one.question, one.answer, one.extra
        by_rule = rule_mark(question, answer, extra, reply.text)
        mark: int | None = by_rule
        if self.setup.judge == "official":
            assert self.model is not None
            prompts = OfficialPrompts.load(Path(self.setup.prompts))
            given = await official_mark(self.model, prompts, question, answer, extra, reply.text)
            mark = given.value if given is not None else None
        elif self.setup.judge == "model":
            told = await judge(self.decider, question, answer, extra, reply.text)
            mark = told.value if told is not None else None
        return {
            "prediction": reply.text,
            "mark": mark,
            "rule_mark": by_rule,
            "C": None if mark is None else match_score([mark]),
            "guessed": reply.guessed,
            "confidence": round(reply.confidence, 3),
            "decided_by": reply.decided_by,
            "mode": self.decider.mode_of(AnswerWithTools.name),
        }

    def _used(self) -> tuple[int, int]:
        return sum(row["calls"] for row in self.meter.as_json()), self.meter.total().tokens


def _shared(count: int, questions: int) -> float:
    """Return what one of several questions took; a whole number where it was asked alone."""
    return count if questions == 1 else round(count / questions, 2)


async def run_house(seed: int, setup: Setup) -> list[dict[str, Any]]:
    """Return the records of a generated house: every question by every method and setting."""
    return await answer_house(seed, setup, Asker.of(setup))


async def answer_house(seed: int, setup: Setup, asker: Asker) -> list[dict[str, Any]]:
    """As `run_house`, by who asks a model already; its connections are closed at the end."""
    home = Home(
        seed,
        noise=setup.noise,
        width=setup.width,
        rooms=setup.rooms,
        rooms_told=setup.rooms_told,
    )
    try:
        tour = make_tour(home, seed)
        questions = ask_house(
            Facts(home, tour, Sight(home)), seed, setup.questions, load_phrases(setup.phrases)
        )
        if setup.most is not None:
            questions = questions[:: max(1, len(questions) // setup.most)][: setup.most]
        records: list[dict[str, Any]] = []
        if "em" in setup.settings:
            for method in setup.methods:
                records += await _records(asker, questions, method, "em", tour)
        if "active" in setup.settings:
            records += await _explore_all(home, tour, questions, asker)
        return records
    finally:
        home.close()
        await asker.close()


async def _records(
    asker: Asker,
    questions: Sequence[HouseQuestion],
    method: str,
    setting: str,
    episode: Episode,
    exploration: str = "",
    steps: int | None = None,
    stopped: str = "",
) -> list[dict[str, Any]]:
    blind = method == "blind"
    every = await asker.ask(
        method,
        questions,
        None if blind else episode.map,
        None if blind else episode,
        50 if setting == "em" else ACTIVE_FRAMES,
    )
    records = []
    for one, told in zip(questions, every, strict=True):
        record: dict[str, Any] = {
            "method": method,
            "setting": setting,
            "exploration": "" if blind else exploration,
            "category": one.category,
            "source": "generated",
            "episode": episode.name,
            "question_id": one.id,
            "template": one.template,
            "question": one.question,
            "answer": one.answer,
            **told,
            "E": None,
            "steps": None if blind else steps,
            "reference": one.reference if setting == "active" else None,
            "stopped": stopped,
        }
        if steps is not None and not blind and record["mark"] is not None:
            record["E"] = efficiency([record["mark"]], [steps], [one.reference])
        records.append(record)
    return records


async def _explore_all(
    home: Home, tour: Episode, questions: Sequence[HouseQuestion], asker: Asker
) -> list[dict[str, Any]]:
    """Active episodes: one of frontier exploration for all questions, one of ours for each.

    Frontier exploration does not depend on the question, so that its walk is the same for all.
    """
    records = []
    seeker = Seeker(home, tour.start, tour.yaw, limit=asker.setup.steps)
    read = OpenAgent(asker.decider).read
    stops = {one.id: Explorer(await read(one.question), "question") for one in questions}
    halted: dict[str, tuple[int, Episode]] = {}

    def arrived() -> None:
        for one in questions:
            if one.id not in halted:
                explorer = stops[one.id]
                explorer.observe(seeker.last, seeker.scene(), around=seeker.last_around)
                if explorer.answer() is not None:
                    halted[one.id] = seeker.steps, episode_of(seeker, tour.name)

    stopped = await explore(seeker, Explorer(OpenQuestion(""), "frontier"), arrived)
    whole = episode_of(seeker, tour.name)
    for method in asker.setup.methods:
        records += await _records(
            asker, questions, method, "active", whole, "frontier", seeker.steps, stopped
        )
    for one in questions if "ours" in asker.setup.methods else ():
        steps, part = halted.get(one.id, (seeker.steps, whole))
        why = ENOUGH if one.id in halted else stopped
        records += await _records(asker, [one], "ours", "active", part, "frontier_stop", steps, why)
        records += await _ours(home, tour, one, asker)
    return records


async def _ours(
    home: Home, tour: Episode, one: HouseQuestion, asker: Asker
) -> list[dict[str, Any]]:
    """Explore for one question."""
    seeker = Seeker(home, tour.start, tour.yaw, limit=asker.setup.steps)
    stopped = await explore_for(seeker, one.question, asker.decider)
    part = episode_of(seeker, tour.name)
    return await _records(asker, [one], "ours", "active", part, "question", seeker.steps, stopped)


async def explore_for(seeker: Seeker, words: str, decider: Decider) -> str:
    """Let our explorer lead a body until its map answers a question; return why it stopped."""
    explorer = Explorer(await OpenAgent(decider).read(words), "question")

    def answers(shown: Shown) -> bool:
        labels = [detection.label for detection in shown.detections]
        return explorer.concerns(labels) and explorer.answer(seeker.scene()) is not None

    seeker.after = answers
    return await explore(seeker, explorer)


async def explore(
    seeker: Seeker, explorer: Explorer, arrived: Callable[[], None] | None = None
) -> str:
    """Let an explorer lead a body about until it stops; return why it did.

    Where it starts and wherever it arrives, it looks around if the explorer finds that worth it.

    Args:
        seeker: The body; what `seeker.after` says after an image may end it all.
        explorer: Says where to go.
        arrived: Called after every look around.
    """
    try:
        if seeker.see():
            return ENOUGH
        while True:
            explorer.observe(seeker.observe(False), seeker.scene(), around=False)
            if explorer.look_here():
                if seeker.look_around():
                    return ENOUGH
                explorer.observe(seeker.observe(True), seeker.scene())
            if arrived is not None:
                arrived()
            skill = await explorer.next_skill()
            if skill is None:
                return explorer.stopped
            try:
                if seeker.go(skill.place):
                    return ENOUGH
            except NoWay as trouble:
                explorer.skill_ended(skill, SkillResult(Outcome.UNREACHABLE, str(trouble)))
    except OutOfSteps:
        return f"limit of {seeker.limit} steps"
