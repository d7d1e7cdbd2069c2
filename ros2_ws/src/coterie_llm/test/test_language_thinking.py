"""Limits of replies, and models that think before they reply; over a real local endpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from coterie_fixtures.endpoint import Endpoint, Says, Status
from coterie_llm import (
    Decided,
    Decision,
    Message,
    ModelProfile,
    build_decider,
)


class Reply(BaseModel):
    """Which lamp."""

    reason: str = ""
    lamp: str


class ChooseLamp(Decision[str, Reply]):
    """Which lamp to switch on."""

    name = "test.choose_lamp"
    reply_type = Reply
    max_tokens = 300

    def prompt(self, state: str) -> Sequence[Message]:
        return (Message.user(f"Which lamp lights the {state}?"),)

    def rule(self, state: str) -> Reply:
        return Reply(reason="the first", lamp="l1")


def thinker(thoughts: int) -> Any:
    """A model that thinks for so many tokens before it replies."""

    def answer(body: dict[str, Any]) -> Any:
        if body["max_tokens"] <= thoughts:
            return Says("", finish_reason="length")
        return {"reason": "why", "lamp": "l2"}

    return answer


async def choose(endpoint: Endpoint, **fields: Any) -> Decided[Reply]:
    settings = {"kind": "openai", "base_url": endpoint.url, "model": "m", "max_retries": 0}
    decider = build_decider(ModelProfile.model_validate({**settings, **fields}))
    try:
        return await decider.decide(ChooseLamp(), "desk")
    finally:
        await decider.aclose()


def sent(endpoint: Endpoint, name: str) -> list[Any]:
    return [request.body.get(name) for request in endpoint.received]


async def test_a_model_that_thinks_is_given_more_room_and_the_same_question() -> None:
    async with Endpoint(thinker(1000)) as endpoint:
        decided = await choose(endpoint)
    assert decided.decided_by == "model" and decided.attempts == 2
    assert "all went into thinking" in decided.reason and "thinking_tokens" in decided.reason
    assert sent(endpoint, "max_tokens") == [300, 1200]
    first, second = sent(endpoint, "messages")
    assert first == second  # there was nothing to mend


async def test_with_room_for_its_thoughts_it_replies_at_once() -> None:
    async with Endpoint(thinker(1000)) as endpoint:
        decided = await choose(endpoint, thinking_tokens=2000, reasoning_effort="low")
    assert decided.decided_by == "model" and decided.attempts == 1 and not decided.reason
    assert sent(endpoint, "max_tokens") == [2300]
    assert sent(endpoint, "reasoning_effort") == ["low"]


async def test_one_that_never_ends_thinking_is_given_up_within_bounds() -> None:
    async with Endpoint(thinker(10**9)) as endpoint:
        decided = await choose(endpoint, attempts=8)
    assert decided.decided_by == "rule"
    assert max(sent(endpoint, "max_tokens")) == 32_768


async def test_a_reply_that_was_cut_off_is_told_and_given_more_room() -> None:
    async with Endpoint(lambda body: {"lamp": "l2"}) as endpoint:
        endpoint.fail(Says('{"reason": "long', finish_reason="length"))
        decided = await choose(endpoint)
    assert decided.decided_by == "model"
    assert "cut off after 300 tokens" in decided.reason
    assert sent(endpoint, "max_tokens") == [300, 1200]
    assert "be brief" in json.dumps(sent(endpoint, "messages")[1])


async def test_an_endpoint_without_such_a_setting_is_asked_without() -> None:
    refusal = Status(400, "Unsupported parameter: 'reasoning_effort'", "unsupported_parameter")
    async with Endpoint(thinker(10)) as endpoint:
        endpoint.fail(refusal)
        decided = await choose(endpoint, reasoning_effort="high")
    assert decided.decided_by == "model" and decided.attempts == 1
    assert sent(endpoint, "reasoning_effort") == ["high", None]


@pytest.mark.parametrize(("factor", "limit"), [(0.5, 150), (2.0, 600)])
async def test_limits_of_replies_are_scaled(factor: float, limit: int) -> None:
    async with Endpoint(thinker(10)) as endpoint:
        await choose(endpoint, reply_factor=factor)
    assert sent(endpoint, "max_tokens") == [limit]


async def test_a_budget_pays_for_thoughts_too() -> None:
    async with Endpoint(thinker(10)) as endpoint:
        decided = await choose(endpoint, thinking_tokens=5000, budget_tokens=4000)
    assert decided.decided_by == "rule" and "BudgetExceeded" in decided.reason
    assert not endpoint.received


async def test_a_cassette_knows_with_how_much_thinking_it_was_recorded(tmp_path: Path) -> None:
    cassette = tmp_path / "c.jsonl"
    async with Endpoint(thinker(10)) as endpoint:
        await choose(endpoint, reasoning_effort="low", record_to=cassette)
    settings = {"kind": "replay", "cassette": cassette, "model": "m", "on_miss": "rule"}
    for effort, by in (("low", "model"), ("high", "rule"), (None, "rule")):
        profile = ModelProfile.model_validate({**settings, "reasoning_effort": effort})
        decided = await build_decider(profile).decide(ChooseLamp(), "desk")
        assert decided.decided_by == by
