"""Prompts that cannot show a whole map: what is near in meaning stays, the rest is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from coterie_core.cooperation import Briefing, Goal, HomeRoom, Spot, Thing, Walkways
from coterie_core.geometry import Box, Pose
from coterie_core.observation import Detection, Observation, RoomView
from coterie_core.questions import Question
from coterie_fixtures.emos_team import LocalChannel
from coterie_fixtures.endpoint import Endpoint
from coterie_fixtures.two_floor_home import small_house, small_team
from coterie_llm import Decider, ModelProfile, build_decider
from coterie_llm.embedders import EmbedderOptions, load_embedder
from coterie_requests.common_sense import HouseholdSense
from coterie_requests.request import Request, Step
from coterie_requests.request import Thing as Noun
from coterie_world.meaning import Meanings, label_relevance
from coterie_world.scene import LabelBelief, Room, SceneGraph, SceneObject, rooms_text
from emos_planner.leader.leader import Leader
from mele_explorer.answering import Answerer
from mele_explorer.memory import Memory
from object_planner.workflows import Options, Roles, plan_objects
from openeqa_agent.agents import AgentOptions, OpenAgent
from reveca_agent.agent import RevecaAgent

WORDS, SOUGHT = "telescope", "microscope"
"""What is asked for, and what the map calls it: neither stands in the household's tables."""
COMMON = (
    "chair", "book", "cup", "lamp", "toy", "pillow", "shoe", "bottle", "box", "bag", "clock",
    "plate", "towel", "vase", "picture", "basket", "jacket", "bucket", "broom", "mirror",
)  # fmt: skip

Prompts = list[str]


@pytest.fixture(scope="module")
def meanings() -> Meanings:
    embedder = load_embedder(EmbedderOptions(kind="wordllama"))
    assert embedder is not None
    return Meanings(embedder)


def crowd(scene: SceneGraph, count: int, room: str) -> SceneGraph:
    """Put in many common things, each seen often, and one odd thing that was seen once."""
    for k in range(count):
        x, y = 0.4 * (k % 25), 0.4 * (k // 25)
        label = LabelBelief.of(f"{COMMON[k % len(COMMON)]} {k}")
        box = Box((x, y, 0.2), (0.3, 0.3, 0.3))
        scene.add_object(SceneObject(f"a-{k}", label, box, room, observations=20))
    box = Box((11.0, 11.0, 0.2), (0.6, 0.3, 0.4))
    scene.add_object(SceneObject("z-odd", LabelBelief.of(SOUGHT), box, room, observations=2))
    return scene


def flat() -> SceneGraph:
    scene = SceneGraph()
    scene.add_room(Room("r1", "living room", "living room", "", [(0, 0), (12, 0), (12, 12)]))
    return scene


def prompts(work: Callable[[Decider], Coroutine[Any, Any, Any]]) -> Prompts:
    """Return what a model is sent while something is worked on; its replies are of no use."""
    with Endpoint(lambda request: {}) as endpoint:
        profile = ModelProfile(
            kind="openai", base_url=endpoint.url, model="m", max_retries=0, attempts=1, tool_turns=0
        )

        async def run() -> None:
            decider = build_decider(profile, who="test")
            await work(decider)
            await decider.aclose()

        asyncio.run(run())
        return [
            "\n".join(str(message["content"]) for message in received.body["messages"])
            for received in endpoint.received
        ]


def objects(meanings: Meanings | None) -> Prompts:
    options = Options(map_tokens=1500, meanings=meanings)
    scene = crowd(flat(), 400, "r1")
    request = f"the thing beside the {WORDS}"
    return prompts(lambda mind: plan_objects(scene, request, Roles(mind), "baseline", options))[:1]


def open_question(meanings: Meanings | None) -> Prompts:
    agent_options = AgentOptions(objects=75, meanings=meanings)
    scene = crowd(flat(), 400, "r1")
    return prompts(
        lambda mind: OpenAgent(mind, "scene_graph", agent_options).answer(
            f"What color is the {WORDS}?", scene
        )
    )[1:2]  # the first one reads the question


def split_task(meanings: Meanings | None) -> Prompts:
    scene = crowd(small_house(), 900, "living")

    async def work(mind: Decider) -> None:
        team = small_team()
        leader = Leader(mind, scene, team, channel=LocalChannel({}), meanings=meanings)
        words, starts = f"find the {WORDS}", dict.fromkeys(team, (3.0, 3.0, 0.0))
        step = Step(act="find", things=(Noun(name=WORDS),))
        await leader.discuss("t", words, starts, request=Request(words=words, steps=(step,)))

    return prompts(work)[:1]


def presence(meanings: Meanings | None) -> Prompts:
    memory = Memory("r")
    for k in range(40):
        room = RoomView(f"r{k}", f"room {k:02d}", "bedroom")
        labels = [f"{COMMON[i]} {k}" for i in range(20)] + ([SOUGHT] if k == 37 else [])
        found = tuple(Detection(label, 1.0, room=room) for label in labels)
        memory.update(Observation("r", k, float(k), Pose((0, 0, 0)), f"p{k}", room, found))
    asked = Question("q", WORDS, "house")
    return prompts(
        lambda mind: Answerer(memory, HouseholdSense(), mind, meanings=meanings).answer(asked)
    )[:1]


def rating(meanings: Meanings | None) -> Prompts:
    goal = Goal.parse(f"bring the {WORDS}", [f"ON({WORDS}, table)"])
    spot = Spot("kitchen", (0.0, 0.0, 0.0))
    labels = [*(COMMON[k % 20] for k in range(259)), SOUGHT]
    things = [Thing(f"t-{k}", label, "item", spot) for k, label in enumerate(labels)]
    home = Walkways([HomeRoom("kitchen", "kitchen", "kitchen", (0.0, 0.0, 0.0))], [])

    async def work(mind: Decider) -> None:
        agent = RevecaAgent("Ada", mind, meanings=meanings)
        agent.begin(Briefing("Ada", ("Ada",), goal, home, stride=0.5))
        agent.observer.new += things
        await agent._rate()

    return prompts(work)[:1]


DECISIONS = [objects, open_question, split_task, presence, rating]


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda one: one.__name__)
def test_a_thing_of_another_name_stays_in_a_prompt_that_is_cut(
    decision: Callable[[Meanings | None], Prompts], meanings: Meanings
) -> None:
    (without,), (prompt,) = decision(None), decision(meanings)
    assert (SOUGHT in prompt, SOUGHT in without) == (True, False)
    assert "left out" in prompt and "left out" in without


def test_the_house_in_a_debate_begins_with_what_is_asked(meanings: Meanings) -> None:
    scene = crowd(flat(), 5, "r1")
    for k in range(60):
        scene.add_room(Room(f"b{k}", f"bedroom {k:02d}", "bedroom"))
        box = Box((k, 50.0, 0.2), (0.3, 0.3, 0.3))
        label = LabelBelief.of(SOUGHT if k == 47 else COMMON[k % len(COMMON)])
        scene.add_object(SceneObject(f"b-{k}", label, box, f"b{k}", observations=3))
    likeness = meanings.ranked(WORDS, [SOUGHT, *COMMON])
    relevance = label_relevance(WORDS, likeness)
    text = rooms_text(scene, relevance=relevance, asked="bedroom 12", limit=600)
    assert text.startswith("bedroom 12:") and SOUGHT in text and "rooms left out" in text
    assert SOUGHT not in rooms_text(scene, limit=600)
