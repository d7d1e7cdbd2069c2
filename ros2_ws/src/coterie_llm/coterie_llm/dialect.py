"""Requests in the dialect of one OpenAI-compatible endpoint, learnt from its refusals.

Endpoints differ in how a reply's form can be asked for (JSON schema, JSON object, not at all) and
in the parameters they take. The first request asks for the most; when the endpoint refuses it with
HTTP 400 or 422 and says why, the next one asks for less, and later requests start from there.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from coterie_llm.types import Message, ModelRequest

_JSON_SCHEMA, _JSON_OBJECT, _TEXT = 0, 1, 2
_FORM_WORDS = re.compile(
    r"response.?format|json.?schema|json.?object|json.?mode|structured.?output|guided|grammar|schema",
    re.IGNORECASE,
)
_TOOL_WORDS = re.compile(r"\btools?\b|tool.?choice|function.?call", re.IGNORECASE)
_FORM_ONLY = "Reply with one JSON object and nothing else, no code fence and no explanation."
_WITH_TOOLS = (
    "Call tools as far as you need them. Then reply with one JSON object and nothing else, no code "
    "fence and no explanation."
)
_UNDERSTOOD_UP_TO = 256


class Dialect:
    """Builds request bodies for one endpoint and model."""

    def __init__(self) -> None:
        self._form: dict[str, int] = {}
        self._dropped: set[str] = set()
        self._tokens_name = "max_tokens"
        self._no_tools = False

    def body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """The request as arguments of chat completions."""
        messages = request.messages
        body: dict[str, Any] = {"model": model}
        tools = () if self._no_tools else request.tools
        if request.schema is not None and tools:
            # Most endpoints that enforce a form call no tools then, or refuse both together.
            messages = _with_schema_in_words(messages, request.schema, _WITH_TOOLS)
        elif request.schema is not None:
            form = self._form.get(_name_of(request.schema), _JSON_SCHEMA)
            if form == _JSON_SCHEMA:
                body["response_format"] = _schema_format(request.schema)
            else:
                messages = _with_schema_in_words(messages, request.schema, _FORM_ONLY)
                if form == _JSON_OBJECT:
                    body["response_format"] = {"type": "json_object"}
        body["messages"] = [_message(message) for message in messages]
        body[self._tokens_name] = request.max_tokens
        if request.temperature is not None and "temperature" not in self._dropped:
            body["temperature"] = request.temperature
        if request.reasoning_effort is not None and "reasoning_effort" not in self._dropped:
            body["reasoning_effort"] = request.reasoning_effort
        if request.seed is not None and "seed" not in self._dropped:
            body["seed"] = request.seed
        if tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": dict(tool.parameters),
                    },
                }
                for tool in tools
            ]
        return body

    def form_of(self, schema: Mapping[str, Any]) -> str:
        """Return how the form of a reply is asked for: as JSON schema, JSON object or in words."""
        form = self._form.get(_name_of(schema), _JSON_SCHEMA)
        return ("JSON schema", "JSON object", "words")[form]

    def learn(self, request: ModelRequest, refusal: str) -> bool:
        """Learn from a refusal (HTTP 400 or 422).

        Returns:
            True when the next body for this request will be another one.
        """
        words = refusal.lower()
        if "max_completion_tokens" in words and self._tokens_name == "max_tokens":
            self._tokens_name = "max_completion_tokens"
            return True
        for name in ("temperature", "seed", "reasoning_effort"):
            sent = getattr(request, name) is not None and name not in self._dropped
            if sent and re.search(rf"\b{name}\b", words):
                self._dropped.add(name)
                return True
        if request.tools and not self._no_tools and _TOOL_WORDS.search(words):
            self._no_tools = True
            return True
        if request.schema is None or _FORM_WORDS.search(words) is None:
            return False
        name = _name_of(request.schema)
        form = self._form.get(name, _JSON_SCHEMA)
        if form == _TEXT:
            return False
        if len(self._form) >= _UNDERSTOOD_UP_TO:
            self._form.clear()
        self._form[name] = form + 1
        return True


def _name_of(schema: Mapping[str, Any]) -> str:
    """A name that endpoints accept; decisions' reply types have distinct ones."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title", "reply")))[:64] or "reply"


def _schema_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    strict = strict_schema(schema)
    wanted = dict(schema) if strict is None else strict
    return {
        "type": "json_schema",
        "json_schema": {"name": _name_of(schema), "schema": wanted, "strict": strict is not None},
    }


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema in the strict form: every field required, no others allowed, no defaults.

    Returns:
        None when the schema has an object with free keys, which the strict form cannot say.
    """
    try:
        result = _strict(schema)
    except ValueError:
        return None
    return result if isinstance(result, dict) else None


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        return {"$ref": node["$ref"]}  # nothing may stand beside a reference
    result = {
        key: {name: _strict(value) for name, value in node[key].items()}
        if key in ("properties", "$defs")
        else _strict(node[key])
        for key in node
        if key not in ("default", "title", "examples", "const", "enum", "required")
    }
    for key in ("const", "enum"):
        if key in node:
            result[key] = node[key]
    if node.get("type") == "object":
        if not node.get("properties"):
            raise ValueError("free keys")
        result["required"] = list(node["properties"])
        result["additionalProperties"] = False
    return result


def _with_schema_in_words(
    messages: tuple[Message, ...], schema: Mapping[str, Any], words: str
) -> tuple[Message, ...]:
    words = f"{words} It must fit this JSON schema: {json.dumps(schema, separators=(',', ':'))}"
    if messages and messages[0].role == "system":
        first = messages[0]
        return (Message("system", f"{first.text}\n\n{words}", first.images), *messages[1:])
    return (Message.system(words), *messages)


def _message(message: Message) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.images:
        parts: list[dict[str, Any]] = [{"type": "text", "text": message.text}]
        for image in message.images:
            data = base64.b64encode(image.data).decode()
            url = f"data:{image.mime};base64,{data}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
        sent["content"] = parts
    if message.tool_calls:
        sent["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in message.tool_calls
        ]
    if message.role == "tool":
        sent["tool_call_id"] = message.tool_call_id
    return sent
