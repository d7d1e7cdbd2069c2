"""Decisions end before the deadline of who waits for them; a real endpoint that never answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from coterie_fixtures.endpoint import Endpoint, Hang, Says, Status
from coterie_llm import (
    Decided,
    Decision,
    Message,
    ModelProfile,
    as_data,
    build_decider,
    due_in,
)
from coterie_llm.due import time_left, time_to_think


class Reply(BaseModel):
    """Which door."""

    reason: str = ""
    door: str


class ChooseDoor(Decision[str, Reply]):
    """Which of two doors."""

    name = "test.choose_door"
    reply_type = Reply

    def prompt(self, state: str) -> Sequence[Message]:
        return (Message.user(f"Which door leads to the {state}?"),)

    def rule(self, state: str) -> Reply:
        return Reply(reason="the first", door="d1")


class LongDoor(ChooseDoor):
    """The same with much to read."""

    def prompt(self, state: str) -> Sequence[Message]:
        return (Message.user(as_data("seen", [state] * 40, limit=9000)),)


def patient(endpoint: Endpoint, **more: Any) -> ModelProfile:
    """A profile that would wait for ten minutes."""
    return ModelProfile(
        kind="openai", base_url=endpoint.url, model="slow", timeout_s=600.0, max_retries=0, **more
    )


async def choose(decider: Any, state: str = "bath") -> Decided[Reply]:
    decided: Decided[Reply] = await decider.decide(ChooseDoor(), state)
    return decided


@pytest.fixture(scope="module", autouse=True)
def client_is_loaded() -> None:
    """The first call of a process imports its client: on a busy machine that takes seconds."""

    async def ask() -> None:
        async with Endpoint(lambda request: {"reason": "", "door": "d1"}) as endpoint:
            decider = build_decider(patient(endpoint))
            await choose(decider)
            await decider.aclose()

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("deadline", "thought"), [(10.0, 8.0), (5.0, 4.0), (1.0, 0.67), (0.4, 0.2)]
)
def test_part_of_a_deadline_is_for_the_way_there_and_back(deadline: float, thought: float) -> None:
    assert time_to_think(deadline) == pytest.approx(thought)


async def test_the_rule_answers_in_time_where_the_model_would_not() -> None:
    async with Endpoint() as endpoint:
        endpoint.fail(*[Hang(seconds=300.0)] * 9)
        decider = build_decider(patient(endpoint), timeout_s=600.0)
        began = time.perf_counter()
        with due_in(1.5):
            first = await choose(decider)
            late = time.perf_counter() - began
            while time_left() > 0.0:
                await asyncio.sleep(0.01)
            second = await choose(decider, "kitchen")
        await decider.aclose()
    assert first.decided_by == second.decided_by == "rule"
    assert "ModelTimeout" in first.reason and first.attempts == 1
    assert late < 1.5
    # Nothing is left for the second: no model is asked, and nothing billed.
    assert second.attempts == 0 and "no time left to ask" in second.reason
    assert len(endpoint.received) == 1


async def test_a_larger_model_shares_the_time_of_the_first() -> None:
    async with Endpoint() as endpoint:
        endpoint.fail(*[Hang(seconds=300.0)] * 9)
        larger = patient(endpoint)
        decider = build_decider(patient(endpoint, larger=larger), timeout_s=600.0)
        began = time.perf_counter()
        with due_in(1.5):
            decided = await choose(decider)
        assert time.perf_counter() - began < 1.5
        await decider.aclose()
    assert decided.decided_by == "rule"


async def test_a_first_model_that_hangs_leaves_time_for_the_larger() -> None:
    async with Endpoint() as small, Endpoint(lambda request: {"reason": "", "door": "d2"}) as big:
        small.fail(*[Hang(seconds=300.0)] * 9)
        decider = build_decider(patient(small, larger=patient(big)), timeout_s=600.0)
        with due_in(6.0):
            decided = await choose(decider)
        await decider.aclose()
    assert decided.decided_by == "model" and "ModelTimeout" in decided.reason
    assert len(small.received) == len(big.received) == 1


async def test_the_larger_model_gets_a_prompt_for_its_own_context() -> None:
    async with Endpoint() as small, Endpoint(lambda request: {"reason": "", "door": "d2"}) as big:
        small.fail(Status(500))
        decider = build_decider(patient(small, context=260, larger=patient(big)))
        decided = await decider.decide(LongDoor(), "a long corridor with a carpet")
        await decider.aclose()
    assert decided.decided_by == "model"
    assert len(big.received[0].text) > 2 * len(small.received[0].text)


async def test_asking_again_ends_in_time_too() -> None:
    async with Endpoint() as endpoint:
        endpoint.fail(Says("no JSON at all"), *[Hang(seconds=300.0)] * 9)
        decider = build_decider(patient(endpoint), timeout_s=600.0)
        with due_in(1.5):
            decided = await choose(decider)
        await decider.aclose()
    assert decided.decided_by == "rule" and decided.attempts == 2
    assert "asked again" in decided.reason and "ModelTimeout" in decided.reason


async def test_a_model_that_is_quick_enough_decides() -> None:
    async with Endpoint(lambda request: {"reason": "why", "door": "d2"}) as endpoint:
        decider = build_decider(patient(endpoint))
        with due_in(30.0):
            decided = await choose(decider)
        await decider.aclose()
    assert decided.decided_by == "model" and decided.reply.door == "d2"


async def test_it_holds_for_tasks_that_begin_in_the_block_and_ends_with_it() -> None:
    assert time_left() == float("inf")
    with due_in(100.0):
        with due_in(10.0):
            assert 7.0 < time_left() <= 8.0
            begun = asyncio.ensure_future(_time_left())
        with due_in(1000.0):  # whoever waits less long counts
            assert 70.0 < time_left() <= 80.0
        with due_in(0.0):  # nobody waits here, but outside
            assert 70.0 < time_left() <= 80.0
    assert time_left() == float("inf")
    assert await begun <= 8.0


async def _time_left() -> float:
    return time_left()
