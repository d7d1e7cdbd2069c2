"""What a request to chat completions asks, as a reader of it understands it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coterie_core.language.joining import QUESTION, TOGETHER

_FENCE = re.compile(r'<data label="([^"]*)">\n(.*?)\n</data>', re.DOTALL)
_IN_WORDS = "It must fit this JSON schema: "
_EXAMPLE = "Example"
_LEFT_OUT = re.compile(r"\n\((?:[^()]* )?left out[^()]*\)$")


@dataclass(frozen=True)
class Use:
    """A look-up that was made: which tool, with what, and what it told (None: refused)."""

    name: str
    arguments: Mapping[str, Any]
    value: Any


@dataclass(frozen=True)
class Question:
    """A request, read.

    Attributes:
        title: Title of the reply's schema: it tells which decision is asked.
        schema: The reply's schema; empty: none was given.
        system: The instruction.
        text: The question itself, fences included; examples left out.
        data: What stands in fences, by label; JSON where it is JSON.
        uses: Look-ups so far.
        tools: Names of the tools that may be called now.
        refused: Why the last reply could not be used; empty: there was none.
        images: How many images were sent.
    """

    title: str
    schema: Mapping[str, Any]
    system: str
    text: str
    data: Mapping[str, Any]
    uses: Sequence[Use] = ()
    tools: frozenset[str] = frozenset()
    refused: str = ""
    images: int = 0

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return an answer that calls a tool."""
        return self.calls((name, arguments))

    def calls(self, *calls: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return an answer that calls tools, all in one turn."""
        return {
            "tool_calls": [
                {
                    "id": f"call-{len(self.uses) + k}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for k, (name, arguments) in enumerate(calls)
            ]
        }

    def used(self, name: str, **arguments: Any) -> Use | None:
        """Return the look-up with these arguments (those given count), if it was made."""
        for use in self.uses:
            if use.name == name and arguments.items() <= dict(use.arguments).items():
                return use
        return None

    def choices(self, path: str) -> list[Any]:
        """Return the values that the schema allows for a field; empty: any.

        Args:
            path: As in `Decision.options`: `place`, `ratings[].id`.
        """
        node: Any = self.schema
        for part in path.split("."):
            name, _, item = part.partition("[")
            node = resolved(self.schema, node).get("properties", {}).get(name, {})
            if item:
                node = resolved(self.schema, node).get("items", {})
        return list(resolved(self.schema, node).get("enum", ()))


def resolved(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references within a schema."""
    while "$ref" in node or len(node.get("anyOf", ())) == 1:
        if "$ref" in node:
            node = schema.get("$defs", {})[node["$ref"].rpartition("/")[2]]
        else:
            node = node["anyOf"][0]
    return node


def question_of(body: Mapping[str, Any]) -> Question:
    """Read a request's JSON body."""
    messages = body.get("messages", [])
    schema = _schema(body, messages)
    asked = _without_examples(messages)
    said = [m for m in asked if m.get("role") in ("system", "user")]
    texts = [_text(m) for m in said]
    data: dict[str, Any] = {}
    for text in texts:
        for label, value in _FENCE.findall(text):
            data[label] = plain(value)
    return Question(
        title=str(schema.get("title", "")),
        schema=schema,
        system="\n".join(_text(m) for m in said if m["role"] == "system"),
        text="\n".join(_text(m) for m in said if m["role"] == "user"),
        data={k: v for k, v in data.items() if k != "error"},
        uses=_uses(messages),
        tools=frozenset(tool["function"]["name"] for tool in body.get("tools", ())),
        refused=str(data.get("error", "")),
        images=sum(
            part.get("type") == "image_url"
            for m in said
            if isinstance(m.get("content"), list)
            for part in m["content"]
        ),
    )


def one_by_one(answer: Callable[[dict[str, Any]], Any], body: dict[str, Any]) -> Any:
    """Answer a request; where it puts several questions at once, each of them by itself."""
    schema = _schema(body, body.get("messages", []))
    title = str(schema.get("title", ""))
    if not title.startswith(TOGETHER):
        return answer(body)
    listed = resolved(schema, schema["properties"]["answers"])["items"]
    fields = dict(resolved(schema, listed)["properties"])
    fields.pop("question", None)
    own = {"type": "object", "properties": fields, "$defs": schema.get("$defs", {})}
    form = {"name": title.removeprefix(TOGETHER), "schema": own}
    asks = rf"^{QUESTION} \d+:\n"
    messages = body["messages"]
    at = next(k for k, m in enumerate(messages) if re.search(asks, _text(m), re.MULTILINE))
    before = messages[:at]
    common, *parts = re.split(asks, _text(messages[at]), flags=re.MULTILINE)
    answers = []
    for number, part in enumerate(parts, start=1):
        asked = {"role": "user", "content": f"{common}{part}"}
        alone = {**body, "messages": [*before, asked]}
        alone["response_format"] = {"type": "json_schema", "json_schema": form}
        answers.append({"question": number, **answer(alone)})
    return {"answers": answers}


def plain(text: str) -> Any:
    """Return the value of a fence: JSON where it is, else the text; notes of cuts are left out."""
    try:
        return json.loads(_LEFT_OUT.sub("", text))
    except ValueError:
        return text


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return str(content or "")


def _without_examples(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Leave out questions that the prompt answers itself to show how."""
    return [
        m
        for m, after in zip(messages, (*messages[1:], {}), strict=True)
        if not (
            m.get("role") == "user"
            and after.get("role") == "assistant"
            and _text(m).startswith(_EXAMPLE)
        )
    ]


def _schema(body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        return {**form["json_schema"]["schema"], "title": form["json_schema"]["name"]}
    for message in messages:
        _, found, rest = _text(message).partition(_IN_WORDS)
        if found:
            schema: dict[str, Any] = json.JSONDecoder().raw_decode(rest)[0]
            return schema
    return {}


def _uses(messages: Sequence[Mapping[str, Any]]) -> tuple[Use, ...]:
    calls = {call["id"]: call["function"] for m in messages for call in m.get("tool_calls") or ()}
    uses = []
    for message in messages:
        call = calls.get(message.get("tool_call_id", ""))
        if call is None:
            continue
        told = _FENCE.search(_text(message))
        value = plain(told[2]) if told is not None else None
        uses.append(Use(call["name"], json.loads(call["arguments"]), value))
    return tuple(uses)
