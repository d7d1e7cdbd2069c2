"""What an agent keeps is bounded, however long it lives and whatever it is told."""

import asyncio
import json
import re
from itertools import islice

import pytest

from coterie_core.cooperation import Note, Thing
from coterie_fixtures.endpoint import Endpoint
from coterie_llm import Decider, ModelProfile, build_model
from research.bench.reveca.memory_soak import briefing, percepts, sizes
from reveca_agent.agent import RevecaAgent
from reveca_agent.entries import Entry
from reveca_agent.planning import ChoosePlan, PlanState, candidates
from reveca_agent.relevance import RATED
from reveca_agent.settings import Settings

ITEMS, NOTES = 150, 20


@pytest.mark.parametrize("more", [{}, {"ask": "always"}, {"talk": False}, {"relevance": False}])
def test_every_container_of_an_agent_is_bounded(more):
    """Some thousand steps with new things, hearsay, questions and failures in every one."""
    start = briefing()
    agent = RevecaAgent("Ada", settings=Settings(items=ITEMS, notes=NOTES, **more))
    agent.begin(start)
    halfway = {}

    async def live():
        for percept in islice(percepts(start), 2400):
            agent.observe(percept)
            if percept.step % 2:  # percepts may come more often than decisions
                await agent.act()
            if percept.step == 1200:
                halfway.update(sizes(agent))

    asyncio.run(live())
    found = sizes(agent)
    assert found["memory.scene"] == ITEMS
    assert found["memory.heard"] == NOTES
    for name, count in found.items():
        # Ids that were seen or told of are 10 000 and more by now; 500 is the longest fixed list.
        assert count <= max(2 * ITEMS, 500), name
        assert count <= 1.5 * halfway.get(name, 0) + 120, name


def test_what_one_searched_oneself_outlives_hearsay():
    memory = RevecaAgent("Ada", settings=Settings(items=50))
    memory.begin(briefing())
    memory.memory.search("cabinet-1")
    for k in range(1000):
        memory.memory.search(f"x-{k}", "Bob")
    memory.memory.search("cabinet-1", "Bob")
    assert memory.memory.searched["cabinet-1"] == ""
    assert len(memory.memory.searched) == 50


def filled(count, decider=None):
    """An agent that knows so many things, all new to it."""
    start = briefing()
    agent = RevecaAgent("Ada", decider)
    agent.begin(start)
    rooms = list(start.ways.rooms.values())
    labels = ["cabinet", "vase", "book", *sorted(start.goal.items)]
    for k in range(count):
        label = labels[k % len(labels)]
        kind = "container" if label == "cabinet" else "item"
        room = rooms[k % len(rooms)]
        is_open = False if kind == "container" else None
        thing = Thing(f"{label}-{k}", label, kind, room.spot, is_open=is_open, portable=True)
        agent.memory.put(Entry(thing, 0))
        agent.observer.new.append(thing)
        agent.memory.rooms[room.id] = 0
    agent.memory.spot = rooms[0].spot
    return agent


def test_prompts_of_5000_items_are_as_long_as_those_of_100():
    lengths = {}
    for count in (100, 1000, 5000):
        agent = filled(count)
        asyncio.run(agent._rate())
        state = PlanState(candidates(agent.memory, agent.briefing), agent.memory)
        lengths[count] = sum(len(m.text) for m in ChoosePlan().prompt(state))
        assert len(agent.memory.scene) == count
    assert max(lengths.values()) < 3000
    assert lengths[5000] <= 1.1 * lengths[100]


def test_a_model_rates_the_best_of_too_much_and_the_rule_the_rest():
    asked = []

    def reply(request):
        text = "\n".join(str(m["content"]) for m in request["messages"])
        asked.append(len(text))
        ids = re.findall(r'"((?:message \d+|[\w-]+)): ', text)
        assert len(ids) == RATED
        return json.dumps({"ratings": [{"id": id_, "level": 1} for id_ in ids]})

    with Endpoint(reply) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="m", max_retries=0)
        told = []
        decider = Decider(build_model(profile), on_decided=lambda name, d: told.append(d))
        agent = filled(3000, decider)
        agent.communicator.new += [
            Note(f"n{k}", "Bob", "text", "x" * 500, None, (), 0) for k in range(200)
        ]
        asyncio.run(agent._rate())
    assert [one.decided_by for one in told] == ["model"]
    assert len(asked) == 1 and asked[0] < 40_000
    levels = [entry.level for entry in agent.memory.scene.values()]
    assert 1 in levels and 3 in levels and 0 in levels
    assert not agent.observer.new and not agent.communicator.new
