"""Odd words with digits in commands, questions and requests: understood or named, not dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from coterie_core.geometry import Box
from coterie_llm import Decider, RulesModel
from coterie_requests.ask_back import RequestState, settle
from coterie_requests.detector_vocabulary import DetectorVocabulary, household_vocabulary
from coterie_requests.grammar import read
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.coverage import Coverage
from coterie_world.scene import LabelBelief, Place, Receptacle, Room, SceneGraph, SceneObject
from emos_planner.leader.asking_back import task_state
from emos_planner.leader.understand import understand
from object_planner.asking_back import find_settled
from object_planner.workflows import Roles
from openeqa_agent.agents import OpenAgent

RULES = Decider(RulesModel())
WORDS = DetectorVocabulary.of(household_vocabulary())
TASKS = (
    "Bring the {} towel to the bedroom",
    "Bring the towel to the {} bedroom",
    "Put a mug from the {} desk on the table",
    "Find the towel on the {} table",
    "Bring all mugs except the {} mug to the bedroom",
    "Go to the {} desk",
    "Check whether there is a {} mug in the kitchen",
    "Take the towel or the {} mug to the bedroom",
)
QUESTIONS = (
    "What color is the {} towel?",
    "Where is the {} mug?",
    "Is there a {} towel in the kitchen?",
    "Is there a towel in the {} kitchen?",
    "How many {} mugs are there?",
    "What is next to the mug on the {} table?",
    "What color is the {} piano?",
)
REQUESTS = (
    "the {} towel",
    "find the {} mug",
    "a mug on the {} table",
    "a towel in the {} bedroom",
    "the towels except the {} towel",
    "the {} piano",
)
# A hex id, a model number, letters and digits at random: none of them means anything here.
ODD = st.one_of(
    st.from_regex(r"[0-9a-f]{2}[a-f][0-9][0-9a-f]{1,6}", fullmatch=True),
    st.from_regex(r"[b-df-hj-np-tv-z]{2}-[0-9]{3,4}[a-z]{2}[0-9]", fullmatch=True),
    st.from_regex(r"[a-z]{1,3}[0-9]{1,3}[bcfgjmqruvz]{2,3}", fullmatch=True),
    st.from_regex(r"[A-Z][0-9]{2}[A-Z]{2}", fullmatch=True),
)
MEASURES = st.one_of(
    st.builds("{}{}".format, st.integers(1, 300), st.sampled_from(["cm", "mm", "kg", "ml", "w"])),
    st.builds("{}{}".format, st.integers(1, 12), st.sampled_from(["am", "pm"])),
    st.builds("{}x{}cm".format, st.integers(2, 90), st.integers(2, 90)),
)
ROOMS = ("kitchen", "bedroom", "study")


def _home() -> SceneGraph:
    scene = SceneGraph()
    for k, name in enumerate(ROOMS):
        scene.add_room(Room(f"r{k}", name, name, ""))
        scene.add_place(Place(f"p{k}", (4.0 * k, 0.0, 0.0), f"r{k}"))
    for id_, room, x in (
        ("table-1", 0, 0.5), ("desk-1", 2, 8.5), ("bed-1", 1, 4.5),
        ("towel-1", 0, 0.4), ("mug-1", 0, 0.6), ("mug-2", 2, 8.4),
    ):  # fmt: skip
        label = id_.rpartition("-")[0]
        kind = "furniture" if label in ("table", "desk", "bed") else "item"
        box = Box((x, 0.0, 0.8), (0.2, 0.2, 0.2))
        thing = SceneObject(id_, LabelBelief({label: 1.0}), box, f"r{room}", kind, observations=5)
        if kind == "furniture":
            top = Box((x, 0.0, 0.9), (0.9, 0.9, 0.01))
            thing.receptacles = [Receptacle(f"{id_}-top", top)]
        scene.add_object(thing)
    return scene


HOME = _home()


async def told_of_task(words: str) -> str:
    """Return all that a person reads of a task before robots begin."""
    state = await task_state(words, HOME, ("ann",), RULES, rooms_given=True)
    settled = await settle(state, RULES)
    if not settled.go_on or settled.request is None:
        return settled.judgement.line
    return "; ".join(understand(settled.request, HOME, ("ann",)).notes)


async def told_of_question(words: str) -> str:
    """Return all that a person reads of an answer."""
    state = RequestState(words, "ask", HOME, Coverage(HOME), WORDS, rooms_given=True)
    settled = await settle(state, RULES)
    if not settled.go_on:
        return settled.judgement.line
    reply = await OpenAgent(RULES, vocabulary=WORDS).answer(words, HOME)
    return f"{reply.text}; {reply.explanation}; {reply.refused}"


async def told_of_request(words: str) -> str:
    """Return all that a person reads of what was found."""
    state = RequestState(words, "find", HOME, Coverage(HOME), WORDS, rooms_given=True)
    found = await find_settled(state, Roles(RULES))
    return f"{found.explanation}; {found.judgement.line}"


def told(told_of: Callable[[str], Coroutine[Any, Any, str]], words: str) -> str:
    """Return what a person reads: what was made of words, or why they are refused."""
    try:
        return asyncio.run(told_of(words))
    except NotUnderstood as error:
        return str(error)


FRONT_ENDS = [(told_of_task, s) for s in TASKS] + [(told_of_question, s) for s in QUESTIONS]
FRONT_ENDS += [(told_of_request, s) for s in REQUESTS]


@pytest.mark.parametrize(("told_of", "sentence"), FRONT_ENDS, ids=[s for _, s in FRONT_ENDS])
@given(word=st.one_of(ODD, MEASURES))
@settings(max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate])
def test_odd_word_is_named(told_of, sentence: str, word: str) -> None:
    assert word.lower() in told(told_of, sentence.format(word)).lower()


@pytest.mark.parametrize(
    "words",
    ["Bring the 2nd mug to the bedroom", "Bring 2 mugs to the bedroom", "Bring mug-2 to the table"],
)
def test_number_is_understood(words: str) -> None:
    request = read(words, Vocabulary.of(HOME, ("ann",)), "do")
    understanding = understand(request, HOME, ("ann",))
    assert not any("cannot tell" in note for note in understanding.notes)
