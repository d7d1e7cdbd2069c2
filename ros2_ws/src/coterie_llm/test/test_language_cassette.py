"""Cassettes: what was recorded over HTTP is replayed without it, and a miss shows why."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from coterie_fixtures.endpoint import Endpoint, Hang, Refusal, Says, server_error
from coterie_llm import (
    BadReply,
    Decider,
    Decision,
    Image,
    LanguageError,
    Message,
    ModelProfile,
    ModelRequest,
    ModelTimeout,
    RateLimited,
    Recording,
    ReplayMiss,
    ReplayModel,
    Reply,
    RequestRejected,
    ToolCall,
    ToolSpec,
    Usage,
    build_model,
)
from coterie_llm.cassette import request_key
from coterie_llm.types import LanguageModel

PNG = b"\x89PNG\r\n\x1a\n" + bytes(32)


class Choice(BaseModel):
    place: str


class Choose(Decision[str, Choice]):
    name = "test.choose"
    reply_type = Choice

    def prompt(self, state: str) -> list[Message]:
        return [
            Message.system("You lead a robot."),
            Message.user(f"It stands in the {state}.\nWhere does it go?"),
        ]

    def rule(self, state: str) -> Choice:
        return Choice(place="rule")


def request(text: str = "where to?", **fields: Any) -> ModelRequest:
    return ModelRequest(messages=(Message.user(text),), **fields)


class Parrot(LanguageModel):
    """Replies what it is asked, numbered."""

    name = "parrot"

    def __init__(self) -> None:
        self.count = 0

    async def complete(self, request: ModelRequest) -> Reply:
        self.count += 1
        call = ToolCall("1", "look", {"at": ["a", 2]})
        usage = Usage(3, 4, 0.5, True)
        text = f"{request.messages[-1].text} {self.count}"
        return Reply(text, {"n": self.count}, (call,), usage, "parrot-2", "stop")


async def test_round_trip_over_http(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "team.jsonl"
    states = ["kitchen", "hall", "kitchen", "bath", "attic"]
    with Endpoint(lambda body: {"place": f"p{len(endpoint.received)}"}) as endpoint:
        common = {"model": "test-model", "temperature": 0.5, "seed": 7}
        endpoint.fail(server_error(), Says("hm"))
        live = build_model(
            ModelProfile(kind="openai", base_url=endpoint.url, record_to=path, **common)
        )
        endpoint_decider = Decider(live)
        recorded = [await endpoint_decider.decide(Choose(), state) for state in states]
        endpoint.fail(*[Refusal()] * 2)
        recorded.append(await endpoint_decider.decide(Choose(), "cellar"))
        endpoint.fail(*[Hang()] * 9)
        recorded.append(await Decider(live, timeout_s=1.0).decide(Choose(), "cellar"))
    replay = build_model(ModelProfile(kind="replay", cassette=path, **common))
    decider = Decider(replay)
    replayed = [await decider.decide(Choose(), s) for s in [*states, "cellar", "cellar"]]
    for before, after in zip(recorded, replayed, strict=True):
        assert dataclasses.replace(before, seconds=0) == dataclasses.replace(after, seconds=0)
    assert [d.decided_by for d in replayed] == ["model"] * 5 + ["rule"] * 2
    assert replayed[0].attempts == 2, "the second question was replayed too"
    assert "refused" in replayed[5].reason
    assert "ModelTimeout" in replayed[6].reason


async def test_replies_for_one_request_come_in_order_then_it_is_a_miss(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    recording = Recording(Parrot(), path)
    recorded = [await recording.complete(request()) for _ in range(3)]
    replay = ReplayModel(path)
    assert [await replay.complete(request()) for _ in range(3)] == recorded
    with pytest.raises(ReplayMiss, match="recorded 3 times and is asked once more"):
        await replay.complete(request())


async def test_a_miss_shows_the_nearest_recorded_prompt(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    recording = Recording(Parrot(), path)
    for text in [
        "the cat sat\non the mat",
        "robot1 stands in the kitchen\nit sees a mug",
        "x" * 50,
    ]:
        await recording.complete(request(text))
    with pytest.raises(ReplayMiss) as miss:
        await ReplayModel(path).complete(request("robot1 stands in the kitchen\nit sees a cup"))
    lines = str(miss.value).splitlines()
    assert "-it sees a mug" in lines
    assert "+it sees a cup" in lines
    assert not any("cat" in line for line in lines)
    with pytest.raises(ReplayMiss) as miss:
        await ReplayModel(path).complete(request("the cat sat\non the mat", temperature=0.7))
    assert "-temperature: 0.0" in str(miss.value)
    assert "+temperature: 0.7" in str(miss.value)


async def test_a_miss_stops_the_decision_unless_the_profile_lets_the_rule_decide(
    tmp_path: Path,
) -> None:
    path = tmp_path / "c.jsonl"
    await Recording(Parrot(), path).complete(request())
    strict = build_model(ModelProfile(kind="replay", cassette=path))
    with pytest.raises(ReplayMiss):
        await Decider(strict).decide(Choose(), "hall")
    lenient = build_model(ModelProfile(kind="replay", cassette=path, on_miss="rule"))
    decided = await Decider(lenient).decide(Choose(), "hall")
    assert decided.decided_by == "rule"
    assert "ReplayMiss" in decided.reason


BASE = request(
    schema={"type": "object"}, tools=(ToolSpec("look", "looks", {"type": "object"}),), seed=1
)
CHANGES: list[dict[str, Any]] = [
    {"messages": (Message.user("where to"),)},
    {"messages": (Message.system("where to?"),)},
    {"messages": (Message.user("where to?", Image(PNG)),)},
    {"messages": (Message.user("where to?", Image(PNG + b"1")),)},
    {"schema": None},
    {"schema": {"type": "array"}},
    {"tools": ()},
    {"temperature": 0.1},
    {"temperature": None},
    {"seed": 2},
    {"max_tokens": 5},
]


def test_every_part_of_a_request_is_in_its_key_and_nothing_else() -> None:
    keys = {request_key("m", dataclasses.replace(BASE, **change)) for change in CHANGES}
    keys |= {request_key("m", BASE), request_key("n", BASE)}
    assert len(keys) == len(CHANGES) + 2
    same = dataclasses.replace(BASE, timeout_s=3.0, tags={"who": "robot9"}, temperature=0)
    assert request_key("m", same) == request_key("m", BASE)
    assert request_key("m", request("\ud800")) != request_key("m", request("\ud801"))


class Failing(LanguageModel):
    name = "failing"

    def __init__(self, error: LanguageError) -> None:
        self._error = error

    async def complete(self, request: ModelRequest) -> Reply:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        BadReply("refused", text="no", usage=Usage(1, 2)),
        RateLimited("slow", retry_after_s=3.0),
        ModelTimeout("late"),
        RequestRejected("wrong key", status=401),
        LanguageError("odd"),
    ],
)
async def test_errors_are_replayed(tmp_path: Path, error: LanguageError) -> None:
    path = tmp_path / "c.jsonl"
    with pytest.raises(type(error)):
        await Recording(Failing(error), path).complete(request())
    with pytest.raises(type(error)) as replayed:
        await ReplayModel(path).complete(request())
    assert str(replayed.value) == str(error)
    assert replayed.value.usage == error.usage
    assert getattr(replayed.value, "text", "") == getattr(error, "text", "")


async def test_a_line_cut_by_a_crash_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    await Recording(Parrot(), path).complete(request("a"))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    assert (await ReplayModel(path).complete(request("a"))).text == "a 1"
    await Recording(Parrot(), path).complete(request("b"))
    with pytest.raises(LanguageError, match="line 2: not a version 1 cassette line"):
        ReplayModel(path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[2]]))
    assert (await ReplayModel(path).complete(request("b"))).text == "b 1"


async def test_a_cassette_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    recording = Recording(Parrot(), tmp_path)  # a directory
    with pytest.raises(LanguageError, match=r"cannot be written.*remove record_to"):
        await recording.complete(request())


def test_what_is_no_cassette_is_named(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match="cannot be read"):
        ReplayModel(tmp_path / "absent.jsonl")
    path = tmp_path / "c.jsonl"
    path.write_text('[1]\n{"v": 1}\n')
    with pytest.raises(LanguageError, match="line 1"):
        ReplayModel(path)


async def test_two_models_in_one_cassette_need_a_name(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    for name in ("a", "b"):
        model = Parrot()
        model.name = name
        await Recording(model, path).complete(request())
    with pytest.raises(LanguageError, match=r"several models \(a, b\)"):
        ReplayModel(path)
    assert (await ReplayModel(path, model="b").complete(request())).text == "where to? 1"


def _record_many(path: str, who: str) -> None:
    async def record() -> None:
        model = Recording(Parrot(), path)
        for n in range(40):
            await model.complete(request(f"{who} {n} " + "long " * 2000))

    asyncio.run(record())


def test_processes_share_a_cassette(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    # Forked, not spawned: a spawned child would have to import this test module by name.
    context = multiprocessing.get_context("fork")
    workers = [
        context.Process(target=_record_many, args=(str(path), f"robot{n}")) for n in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(entries) == 120
    assert len({entry["key"] for entry in entries}) == 120
