"""The key goes to the endpoint and nowhere else: no log, cassette, repr, error, table, reply."""

from __future__ import annotations

import asyncio
import copy
import io
import json
import logging
import pickle
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from coterie_fixtures.endpoint import (
    BROKEN_JSON,
    HTML,
    Cut,
    Echo,
    EmptyChoices,
    Endpoint,
    Fault,
    Hang,
    Huge,
    Raw,
    Refusal,
    Says,
    Status,
    form_unsupported,
    rate_limit,
    server_error,
)
from coterie_llm import (
    Decider,
    Decision,
    LanguageError,
    LanguageModel,
    Message,
    ModelProfile,
    ModelRequest,
    OpenAIModel,
    UsageMeter,
    Wrapper,
    build_model,
)
from coterie_llm.redact import REMOVED, Secret, scrub

KEY = "sk-test-0a1b2c3d4e5f60718293a4b5"
ESCAPED = "".join(f"\\u{ord(c):04x}" for c in KEY)
TOOLS = [{"id": "1", "type": "function", "function": {"name": KEY, "arguments": "{"}}]

FAULTS: dict[str, Fault] = {
    "none": Fault(),
    "echo 400": Echo(400),
    "echo 401": Echo(401),
    "echo 403": Echo(403),
    "echo 404": Echo(404),
    "echo 307": Echo(307),
    "echo 429": Echo(429),
    "echo 500": Echo(500),
    "echo 418": Echo(418),
    "key in the message": Status(401, f"wrong key {KEY}", KEY),
    "key in quota": Status(429, f"no quota for {KEY}", "insufficient_quota"),
    "key in html": Raw(f"<html>Bearer {KEY}</html>".encode(), "text/html"),
    "key in error html": Raw(f"<html>Bearer {KEY}</html>".encode(), "text/html", 502),
    "key in error of a good status": Raw(json.dumps({"error": {"message": KEY}}).encode()),
    "key in the reply": Says(f'{{"place": "{KEY}"}}'),
    "key in the reply, escaped": Raw(
        f'{{"choices": [{{"message": {{"content": "{ESCAPED} {{}}"}}}}]}}'.encode()
    ),
    "key in a refusal": Refusal(f"{KEY} may not ask this"),
    "key as a tool": Says({"tool_calls": TOOLS}),
    "rate limit": rate_limit("0"),
    "server": server_error(),
    "form": form_unsupported(),
    "hang": Hang(),
    "cut": Cut(),
    "cut at once": Cut(before_headers=True),
    "broken": BROKEN_JSON,
    "html": HTML,
    "huge": Huge(5_000_000),
    "empty": EmptyChoices(),
}


class Choice(BaseModel):
    place: str


class Choose(Decision[str, Choice]):
    name = "test.choose"
    reply_type = Choice

    def prompt(self, state: str) -> list[Message]:
        return [Message.user(state)]

    def rule(self, state: str) -> Choice:
        return Choice(place="rule")


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Everything that any library logs, at the lowest level."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(1)
    yield stream
    root.removeHandler(handler)
    root.setLevel(level)


def chain(model: LanguageModel) -> list[LanguageModel]:
    models = [model]
    while isinstance(models[-1], Wrapper):
        models.append(models[-1].inner)
    return models


def everything_about(error: BaseException) -> str:
    """An error with all that hangs on it, as a crash reporter might collect it."""
    found = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    seen: list[BaseException | None] = [error]
    while seen[-1] is not None:
        found += repr(seen[-1]) + repr(vars(seen[-1])) + repr(seen[-1].args)
        seen.append(seen[-1].__cause__ or seen[-1].__context__)
    return found


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_key_is_nowhere(fault: str, tmp_path: Path, log: io.StringIO) -> None:
    cassette = tmp_path / "c.jsonl"
    meter = UsageMeter()
    with Endpoint(lambda request: {"place": "p1"}, key=KEY) as endpoint:
        profile = ModelProfile(
            kind="openai",
            base_url=endpoint.url,
            model="test-model",
            api_key_env="SOME_KEY",
            timeout_s=0.3 if fault == "hang" else 10.0,
            max_retries=1,
            budget_tokens=100_000,
            record_to=cassette,
        )
        model = build_model(profile, meter, env={"SOME_KEY": KEY})
        endpoint.fail(*[FAULTS[fault]] * 2)
        # The prompt carries the key as well: someone typed it into a question.
        decided = await Decider(model, timeout_s=30).decide(Choose(), f"my key is {KEY}, hello")
        endpoint.fail(*[FAULTS[fault]] * 2)
        schema = Choice.model_json_schema()
        asked = ModelRequest(messages=(Message.user(f"key {KEY}"),), schema=schema)
        problem = ""
        reply: Any = None
        try:
            reply = await model.complete(asked)
        except LanguageError as error:
            problem = everything_about(error)
        await model.aclose()
        assert endpoint.received[0].headers["authorization"] == f"Bearer {KEY}"
    collected = {
        "log": log.getvalue(),
        "cassette": cassette.read_text(),
        "decided": repr(decided),
        "reply": repr(reply),
        "error": problem,
        "reprs": "".join(map(repr, chain(model))),
        "attributes": "".join(repr(vars(m)) for m in chain(model)),
        "table": meter.table() + meter.to_json(),
        "profile": repr(profile) + profile.model_dump_json(),
    }
    assert [where for where, text in collected.items() if KEY in text] == []
    assert collected["log"], "the log was really listened to"
    assert collected["cassette"]
    if "echo" in fault or "key in" in fault:
        assert REMOVED in "".join(collected.values()), "the endpoint did send it back"


async def test_a_cancelled_call_does_not_tell_either(log: io.StringIO) -> None:
    with Endpoint(key=KEY) as endpoint:
        endpoint.fail(Hang())
        model = OpenAIModel(
            "m", base_url=endpoint.url, api_key_env="SOME_KEY", env={"SOME_KEY": KEY}
        )
        asked = ModelRequest(messages=(Message.user("hello"),))
        task = asyncio.create_task(model.complete(asked))
        while not endpoint.received:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as error:
            await task
        await model.aclose()
    assert KEY not in everything_about(error.value) + log.getvalue()


def test_a_secret_does_not_print_pickle_or_copy() -> None:
    secret = Secret(KEY)
    assert KEY not in f"{secret} {secret!r} {[secret]} { ({'a': secret}) }"
    assert secret.reveal() == KEY
    for spread in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            spread(secret)


def test_placeholders_of_keyless_endpoints_are_not_torn_out_of_text() -> None:
    Secret("none")
    Secret("ollama")
    assert scrub("none of the ollamas") == "none of the ollamas"
    Secret(KEY + "-longer")
    Secret(KEY)
    assert scrub(f"{KEY}-longer {KEY}") == f"{REMOVED} {REMOVED}"
