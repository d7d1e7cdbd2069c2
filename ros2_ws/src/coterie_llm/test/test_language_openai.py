"""The endpoint's dialects: forms of reply, parameters, tools, images, odd but valid answers."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from pydantic import BaseModel, Field

from coterie_fixtures.endpoint import Endpoint, Raw, Says, Status, form_unsupported
from coterie_llm import (
    BadReply,
    Image,
    Message,
    ModelRequest,
    OpenAIModel,
    RequestRejected,
    ServerFault,
    ToolCall,
    ToolSpec,
)
from coterie_llm.dialect import strict_schema
from coterie_llm.openai_model import read_key
from coterie_llm.tokens import estimate_tokens, image_size, image_tokens, most_tokens

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x80\x00\x00\x01\xe0" + bytes(20)
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x01\xe0\x02\x80" + bytes(20)


class Inner(BaseModel):
    label: str = "mug"


class Choice(BaseModel):
    place: str = Field(description="where to")
    items: list[Inner] = []
    sure: float = Field(0.5, ge=0, le=1)


def asked(**fields: Any) -> ModelRequest:
    messages = (Message.system("Lead."), Message.user("Where to?"))
    return ModelRequest(messages=messages, **fields)


WITH_FORM = asked(schema=Choice.model_json_schema())


async def test_the_form_is_asked_for_in_the_way_the_endpoint_knows() -> None:
    def picky(request: dict[str, Any]) -> Any:
        form = request.get("response_format")
        return {"place": "p1"} if form is None else form_unsupported(form["type"])

    with Endpoint(picky) as endpoint:
        model = OpenAIModel("m", base_url=endpoint.url)
        assert (await model.complete(WITH_FORM)).parsed == {"place": "p1"}
        forms = [r.body.get("response_format", {}).get("type") for r in endpoint.received]
        assert forms == ["json_schema", "json_object", None]
        assert '"place"' not in endpoint.received[0].text
        for request in endpoint.received[1:]:
            assert '"place"' in request.text, "the schema is told in words"
        await model.complete(WITH_FORM)
        assert len(endpoint.received) == 4, "it was learnt"


async def test_a_refusal_for_another_reason_is_not_taken_for_a_dialect() -> None:
    with Endpoint() as endpoint:
        endpoint.fail(Status(400, "this model's maximum context length is 4096 tokens"))
        with pytest.raises(RequestRejected, match="maximum context length"):
            await OpenAIModel("m", base_url=endpoint.url).complete(WITH_FORM)
        assert len(endpoint.received) == 1


async def test_an_endpoint_that_refuses_everything_is_left_alone() -> None:
    with Endpoint(lambda request: form_unsupported()) as endpoint:
        with pytest.raises(RequestRejected):
            await OpenAIModel("m", base_url=endpoint.url).complete(WITH_FORM)
        assert len(endpoint.received) == 3


async def test_parameters_that_are_not_known_are_left_out() -> None:
    def modern(request: dict[str, Any]) -> Any:
        if "max_tokens" in request:
            return Status(400, "Unsupported parameter 'max_tokens', use 'max_completion_tokens'")
        for name in ("temperature", "seed"):
            if name in request:
                return Status(400, f"Unsupported value: '{name}' is not supported")
        return "hello"

    with Endpoint(modern) as endpoint:
        model = OpenAIModel("m", base_url=endpoint.url)
        assert (await model.complete(asked(seed=1))).text == "hello"
        last = endpoint.received[-1].body
        assert last["max_completion_tokens"] == 1024
        assert not {"max_tokens", "temperature", "seed"} & set(last)


def test_the_strict_form_of_a_schema() -> None:
    strict = strict_schema(Choice.model_json_schema())
    assert strict is not None
    assert strict["required"] == ["place", "items", "sure"]
    assert strict["additionalProperties"] is False
    assert strict["$defs"]["Inner"]["required"] == ["label"]
    assert "default" not in repr(strict)
    assert strict["properties"]["place"]["description"] == "where to"

    class Free(BaseModel):
        counts: dict[str, int]

    assert strict_schema(Free.model_json_schema()) is None


async def test_tools_are_offered_and_called() -> None:
    call = {
        "id": "7",
        "type": "function",
        "function": {"name": "look", "arguments": '{"at": "shelf"}'},
    }
    look = ToolSpec("look", "looks at something", {"type": "object"})
    with Endpoint(lambda request: {"tool_calls": [call]}) as endpoint:
        model = OpenAIModel("m", base_url=endpoint.url)
        reply = await model.complete(asked(tools=(look,), schema=Choice.model_json_schema()))
        assert reply.tool_calls == (ToolCall("7", "look", {"at": "shelf"}),)
        assert (reply.parsed, reply.finish_reason) == (None, "tool_calls")
        history = (
            Message.user("Where to?"),
            Message("assistant", "", tool_calls=reply.tool_calls),
            Message("tool", "a mug", tool_call_id="7"),
        )
        endpoint.fail(Says("done"))
        await model.complete(ModelRequest(messages=history, tools=(look,)))
        sent = endpoint.received[-1].body
        assert sent["messages"][1]["tool_calls"][0]["id"] == "7"
        assert sent["messages"][2]["tool_call_id"] == "7"
        assert sent["tools"][0]["function"]["name"] == "look"
        with pytest.raises(BadReply, match="there is no tool 'look'; the tools are none"):
            await model.complete(asked())
        call["function"] = {"name": "look", "arguments": '{"at": '}
        with pytest.raises(BadReply, match="arguments of tool 'look' are no JSON object"):
            await model.complete(asked(tools=(look,)))


async def test_images_go_as_data_urls() -> None:
    with Endpoint(lambda request: "a mug") as endpoint:
        message = Message.user("What is this?", Image(PNG), Image(JPEG, "image/jpeg"))
        await OpenAIModel("m", base_url=endpoint.url).complete(ModelRequest(messages=(message,)))
        text, png, jpeg = endpoint.received[0].body["messages"][0]["content"]
        assert text == {"type": "text", "text": "What is this?"}
        assert png["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
        assert jpeg["image_url"]["url"].startswith("data:image/jpeg;base64,")


def test_images_are_checked() -> None:
    with pytest.raises(ValueError, match="is not image/png"):
        Image(JPEG)
    with pytest.raises(ValueError, match="not supported; use one of"):
        Image(b"GIF89a", "image/gif")
    with pytest.raises(ValueError, match="at most 8000000 are sent"):
        Image(PNG + bytes(8_000_000))
    assert "PNG" not in repr(Image(PNG))


def test_tokens_are_counted_without_a_tokenizer() -> None:
    assert image_size(PNG) == image_size(JPEG) == (640, 480)
    assert image_size(b"\xff\xd8\xff") is None
    assert image_tokens(Image(PNG)) == 85 + 170 * 2
    text = "The robot stands in the kitchen next to the table."
    assert 10 <= estimate_tokens(text) <= 16
    assert estimate_tokens("") == most_tokens("") == 0
    assert estimate_tokens("台所") == 2
    assert most_tokens("台所") == 6
    assert most_tokens("\ud800") == 3


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b'{"choices": [{"message": {"content": "hello"}}]}', "hello"),
        (b'{"choices": [{"message": {"content": [{"text": "hel"}, {"text": "lo"}]}}]}', "hello"),
        (b'{"choices": [{"message": {"content": null}}], "usage": null}', ""),
        (b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": -5}}', "x"),
    ],
)
async def test_sparse_answers_are_read(payload: bytes, text: str) -> None:
    with Endpoint(lambda request: Raw(payload)) as endpoint:
        reply = await OpenAIModel("m", base_url=endpoint.url).complete(asked())
    assert reply.text == text
    assert reply.finish_reason == "stop"
    assert reply.usage.estimated


@pytest.mark.parametrize(
    ("payload", "error", "words"),
    [
        (b"[]", ServerFault, "no object"),
        (b'{"error": "overloaded"}', ServerFault, "overloaded"),
        (b"{}", BadReply, "no choice"),
        (b'{"choices": [null]}', BadReply, "no choice"),
        (b'{"choices": [{"message": "hi"}]}', BadReply, "no choice"),
        (b"[" * 50_000, ServerFault, "not JSON"),
        (b"\xff\xfe\x00", ServerFault, "not JSON"),
        (b"", ServerFault, "not JSON"),
        (
            b'{"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}',
            BadReply,
            "content filter",
        ),
    ],
)
async def test_answers_that_are_none(payload: bytes, error: type[Exception], words: str) -> None:
    with Endpoint(lambda request: Raw(payload)) as endpoint:
        with pytest.raises(error, match=words):
            await OpenAIModel("m", base_url=endpoint.url).complete(WITH_FORM)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_a_reply_where_the_thoughts_belong_is_read_or_named(field: str) -> None:
    """What a parser of thoughts swallows: whole replies, and thoughts that hold half a one."""

    def said(text: str) -> Raw:
        message = {"role": "assistant", "content": None, field: text}
        return Raw(json.dumps({"choices": [{"message": message}]}).encode())

    with Endpoint() as endpoint:
        endpoint.fail(said('\n{"place": "p1"}\n'), said('Perhaps {"place": "p2"}? No.'))
        model = OpenAIModel("m", base_url=endpoint.url)
        assert (await model.complete(WITH_FORM)).parsed == {"place": "p1"}
        with pytest.raises(BadReply, match=rf"empty.*'{field}'.*reasoning parser"):
            await model.complete(WITH_FORM)


async def test_a_byte_order_mark_is_no_part_of_the_answer() -> None:
    body = b'\xef\xbb\xbf{"choices": [{"message": {"content": "hello"}}]}'
    with Endpoint(lambda request: Raw(body)) as endpoint:
        reply = await OpenAIModel("m", base_url=endpoint.url).complete(asked())
    assert reply.text == "hello"


async def test_a_huge_reply_is_not_read() -> None:
    with Endpoint() as endpoint:
        endpoint.fail(
            Raw(b'{"choices": "' + b"a" * 3_000_000 + b'"}'), Raw(b"x" * 900_000, status=500)
        )
        model = OpenAIModel("m", base_url=endpoint.url)
        with pytest.raises(BadReply, match="longer than 2000000 bytes"):
            await model.complete(asked())
        with pytest.raises(ServerFault) as error:
            await model.complete(asked())
        assert len(str(error.value)) < 1000


def test_the_endpoint_serves_synchronous_clients() -> None:
    import urllib.request

    with Endpoint(model="tiny") as endpoint:
        with urllib.request.urlopen(f"{endpoint.url}/models", timeout=10) as answer:
            assert b'"tiny"' in answer.read()


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        ("http://gpu.lab:8000/v1", True),
        ("http://192.168.1.20/v1", True),
        ("https://gpu.lab/v1", False),
        ("http://localhost:11434/v1", False),
        ("http://[::1]:8000/v1", False),
    ],
)
def test_a_key_that_goes_to_another_machine_unencrypted_is_told(caplog, url, warned) -> None:
    read_key("LAB_KEY", {"LAB_KEY": "abcdefgh"}, url)
    assert ("$LAB_KEY goes to" in caplog.text) is warned and "abcdefgh" not in caplog.text
