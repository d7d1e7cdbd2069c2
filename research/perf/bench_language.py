"""What a decision costs: by its rule, by a cassette, by a model on this machine.

.venv/bin/python -m pytest research/perf/bench_language.py --benchmark-only -s
"""

from __future__ import annotations

import asyncio
import json
import timeit
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from coterie_fixtures.endpoint import Endpoint
from coterie_llm import (
    Decider,
    Decision,
    Message,
    ModelProfile,
    RulesModel,
    as_data,
    build_model,
    extract_json,
)

BATCH = 1000
LABELS = [f"object {n}" for n in range(100)]


class Choice(BaseModel):
    place: str


class ChoosePlace(Decision[list[str], Choice]):
    """A decision of the usual size, with the cheapest rule there is."""

    name = "bench.choose_place"
    reply_type = Choice

    def prompt(self, state: list[str]) -> list[Message]:
        return [Message.system("Choose."), Message.user(as_data("objects", LABELS))]

    def rule(self, state: list[str]) -> Choice:
        return Choice(place=state[0])


CHOOSE = ChoosePlace()
STATE = ["p1", "p2", "p3"]


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


async def decide_often(decider: Decider, count: int) -> None:
    for _ in range(count):
        await decider.decide(CHOOSE, STATE)


def call_rule_often() -> None:
    for _ in range(BATCH):
        CHOOSE.rule(STATE)


def test_rules_through_decide(
    benchmark: Any, loop: asyncio.AbstractEventLoop, capsys: pytest.CaptureFixture[str]
) -> None:
    decider = Decider(RulesModel(), who="robot1")
    run = lambda: loop.run_until_complete(decide_often(decider, BATCH))  # noqa: E731
    benchmark(run)
    through = min(timeit.repeat(run, number=1, repeat=20)) / BATCH
    direct = min(timeit.repeat(call_rule_often, number=1, repeat=20)) / BATCH
    benchmark.extra_info["overhead_us"] = 1e6 * (through - direct)
    benchmark.extra_info["ratio"] = through / direct
    with capsys.disabled():
        print(
            f"\ndecide() {1e6 * through:.2f} us, the rule alone {1e6 * direct:.2f} us: "
            f"overhead {1e6 * (through - direct):.2f} us, ratio {through / direct:.2f}"
        )


def test_rule_alone(benchmark: Any) -> None:
    benchmark(call_rule_often)


def test_model_on_this_machine(benchmark: Any, loop: asyncio.AbstractEventLoop) -> None:
    with Endpoint(lambda request: {"place": "p2"}) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="m")
        model = build_model(profile)
        decider = Decider(model, who="robot1")
        benchmark(lambda: loop.run_until_complete(decide_often(decider, 1)))
        loop.run_until_complete(model.aclose())


def test_cassette(benchmark: Any, loop: asyncio.AbstractEventLoop, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    with Endpoint(lambda request: {"place": "p2"}) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="m", record_to=path)
        model = build_model(profile)
        loop.run_until_complete(decide_often(Decider(model), 1))
        loop.run_until_complete(model.aclose())
    path.write_text(path.read_text() * 20_000)
    replay = build_model(ModelProfile(kind="replay", cassette=path))
    decider = Decider(replay)
    benchmark.pedantic(
        lambda: loop.run_until_complete(decide_often(decider, 10)), rounds=1000, iterations=1
    )


def test_fence_of_a_hundred_objects(benchmark: Any) -> None:
    benchmark(as_data, "objects", LABELS)


def test_json_out_of_ten_thousand_characters(benchmark: Any) -> None:
    text = "I think. " * 1000 + "```json\n" + json.dumps({"places": LABELS}) + "\n```"
    assert benchmark(extract_json, text) == {"places": LABELS}
