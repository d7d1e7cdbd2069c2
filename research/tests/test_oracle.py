"""The oracle reads requests as they go over the wire; the guesser fills any form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from coterie_fixtures.endpoint import Endpoint
from coterie_fixtures.oracle import Oracle, question_of, random_answerer
from coterie_llm import (
    Decision,
    Message,
    ModelProfile,
    Tool,
    as_data,
    build_decider,
)


class Given(BaseModel):
    task: str = Field(description="the task")
    robot: str = ""


class Shares(BaseModel):
    reason: str = Field("", max_length=200)
    level: int = Field(ge=1, le=4)
    sure: float = Field(0.5, ge=0.0, le=1.0)
    mood: Literal["good", "bad"] = "good"
    given: list[Given] = Field(default_factory=list, max_length=5)


class Asking(BaseModel):
    robot: str


class WhoDoesWhat(Decision[tuple[str, ...], Shares]):
    name = "emos.reassign"
    reply_type = Shares
    looked_up: bool

    def __init__(self, looked_up: bool = False) -> None:
        self.looked_up = looked_up

    def prompt(self, state: tuple[str, ...]) -> Sequence[Message]:
        return (
            Message.system("You lead."),
            Message.user(f"Example. {as_data('robots', ['ghost'])}"),
            Message.assistant('{"level": 1}'),
            Message.user(f"{as_data('robots', list(state))}\n{as_data('task', 'a <b> c')}\nWho?"),
        )

    def options(self, state: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
        return {"given[].robot": list(state), "given[].task": ["mug", "plate"]}

    def tools(self, state: tuple[str, ...]) -> Sequence[Tool[Any]]:
        if not self.looked_up:
            return ()
        return (Tool("reach", "Reach [m].", Asking, lambda asked: {"reach": len(asked.robot)}),)

    def rule(self, state: tuple[str, ...]) -> Shares:
        return Shares(level=1)


def profile(endpoint: Endpoint, **more: Any) -> ModelProfile:
    return ModelProfile(kind="openai", base_url=endpoint.url, model="m", max_retries=0, **more)


def answers(question: Any) -> dict[str, Any]:
    robots = question.data["robots"]
    if question.tools:
        use = question.used("reach", robot=robots[0])
        if use is None:
            return question.calls(*(("reach", {"robot": name}) for name in robots))
        best = max(question.uses, key=lambda one: one.value["reach"]).arguments["robot"]
    else:
        best = robots[-1]
    return {"level": 2, "given": [{"task": "mug", "robot": best}]}


@pytest.mark.parametrize("looked_up", [False, True])
async def test_the_oracle_reads_data_schema_and_what_tools_told(looked_up: bool) -> None:
    oracle = Oracle({"Shares": answers})
    with Endpoint(oracle, usage=None) as endpoint:
        decider = build_decider(profile(endpoint))
        done = await decider.decide(WhoDoesWhat(looked_up), ("rover", "crane-2", "ant"))
        await decider.aclose()
    assert done.decided_by == "model", done.reason
    assert done.reply.given[0].robot == ("crane-2" if looked_up else "ant")
    assert len(done.tool_uses) == (3 if looked_up else 0)
    assert oracle.asked["Shares"] == (2 if looked_up else 1)
    read = question_of(endpoint.received[0].body)
    assert read.data == {"robots": ["rover", "crane-2", "ant"], "task": "a ‹b› c"}
    assert read.choices("given[].robot") == ["rover", "crane-2", "ant"]


async def test_a_question_of_a_kind_that_nobody_answers_is_named() -> None:
    with Endpoint(Oracle({}), usage=None) as endpoint:
        decider = build_decider(profile(endpoint))
        done = await decider.decide(WhoDoesWhat(), ("rover",))
        await decider.aclose()
    assert done.decided_by == "rule"
    assert "'Shares'" in done.reason


@pytest.mark.parametrize("seed", range(20))
async def test_guesses_are_valid_and_the_same_for_the_same_request(seed: int) -> None:
    with Endpoint(random_answerer(seed), usage=None) as endpoint:
        decider = build_decider(profile(endpoint, cache=0))
        done = [await decider.decide(WhoDoesWhat(), ("rover", "ant")) for _ in range(2)]
        await decider.aclose()
    assert [one.decided_by for one in done] == ["model", "model"], done[0].reason
    assert done[0].reply == done[1].reply
    assert {one.robot for one in done[0].reply.given} <= {"rover", "ant"}


def test_guesses_differ_by_seed() -> None:
    body = {
        "messages": [{"role": "user", "content": "?"}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "Shares", "schema": Shares.model_json_schema()},
        },
    }
    assert len({json.dumps(random_answerer(seed)(body)) for seed in range(10)}) > 1
