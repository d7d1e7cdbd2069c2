"""Recorded conversations: written while a model is asked, replayed without one.

A cassette is a JSON Lines file. Each line holds the key of a request (SHA-256 of the canonical JSON
of model, messages, schema, tools and sampling), the request as text for people and diffs, and its
outcome: the reply, or the error that the decision met. Time-outs and tags are not part of the key;
images are there by their hash.
"""

from __future__ import annotations

import collections
import difflib
import fcntl
import hashlib
import json
import os
import threading
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coterie_core.plain_data import MAX_NUMBER, DataError, read_json, schema_problems
from coterie_llm import errors
from coterie_llm.errors import BadReply, LanguageError, ReplayMiss
from coterie_llm.redact import scrub
from coterie_llm.types import (
    LanguageModel,
    ModelRequest,
    Reply,
    ToolCall,
    Usage,
    Wrapper,
)

_VERSION = 1
# A miss compares with so many recorded prompts, by so many characters of each.
_COMPARED = 300
_COMPARED_CHARS = 6000
_DIFF_LINES = 80

_REPLAYED_ERRORS: dict[str, type[LanguageError]] = {
    kind.__name__: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, LanguageError)
}


def canonical_request(model: str, request: ModelRequest) -> dict[str, Any]:
    """What makes two requests the same, as plain data."""
    return {
        "model": model,
        "messages": [
            {
                "role": message.role,
                "text": message.text,
                "images": [
                    f"{image.mime} sha256:{hashlib.sha256(image.data).hexdigest()}"
                    for image in message.images
                ],
                "tool_calls": [
                    {"id": call.id, "name": call.name, "arguments": dict(call.arguments)}
                    for call in message.tool_calls
                ],
                "tool_call_id": message.tool_call_id,
            }
            for message in request.messages
        ],
        "schema": request.schema,
        "tools": [
            {"name": t.name, "description": t.description, "parameters": dict(t.parameters)}
            for t in request.tools
        ],
        "sampling": {
            "temperature": None if request.temperature is None else float(request.temperature),
            "seed": request.seed,
            "max_tokens": request.max_tokens,
            **({"reasoning_effort": request.reasoning_effort} if request.reasoning_effort else {}),
        },
    }


def request_key(model: str, request: ModelRequest) -> str:
    """Key of a request in a cassette: SHA-256 of its canonical JSON, as hex."""
    return _key_of(canonical_request(model, request))


def _key_of(canonical: dict[str, Any]) -> str:
    # surrogatepass: labels from files may hold lone surrogates.
    text = json.dumps(canonical, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Recording(Wrapper):
    """Appends every outcome, replies and errors alike, to a cassette.

    It sits outside retries and budgets, so that a replay meets what the decision met. A line is
    written with one call under a file lock: several robots, also in several processes, may share a
    cassette. No header and no key is ever written.

    Args:
        inner: The model.
        path: The cassette; made if absent, appended to otherwise.
    """

    def __init__(self, inner: LanguageModel, path: str | Path) -> None:
        super().__init__(inner)
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)

    async def complete(self, request: ModelRequest) -> Reply:
        """Answer the request and record the outcome.

        Raises:
            LanguageError: The inner model's, or the cassette cannot be written.
        """
        try:
            reply = await self.inner.complete(request)
        except LanguageError as error:
            self._append(request, {"error": _error_to_json(error)})
            raise
        self._append(request, {"reply": _reply_to_json(reply)})
        return reply

    def _append(self, request: ModelRequest, outcome: dict[str, Any]) -> None:
        canonical = canonical_request(self.name, request)
        line = {"v": _VERSION, "key": _key_of(canonical), "request": canonical, **outcome}
        data = scrub(json.dumps(line, sort_keys=True)).encode() + b"\n"
        try:
            _append_line(self.path, data)
        except OSError as error:
            raise LanguageError(
                f"cassette {self.path} cannot be written ({error.strerror}); make room or remove "
                "record_to from the profile"
            ) from None


def _append_line(path: Path, data: bytes) -> None:
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            data = b"\n" + data  # a process died in the middle of a line
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)


class ReplayModel(LanguageModel):
    """Answers from a cassette. Several outcomes recorded for one request are served in their order.

    Args:
        path: The cassette.
        model: Name that the recorded model had; by default the only one in the cassette.
        fatal_miss: Whether a miss stops the decision (see `ReplayMiss.fatal`).

    Raises:
        LanguageError: The file is missing, not a cassette, or holds several models and none is
            named.
    """

    def __init__(
        self, path: str | Path, *, model: str | None = None, fatal_miss: bool = True
    ) -> None:
        self.path = Path(path)
        self._fatal_miss = fatal_miss
        self._lock = threading.Lock()
        self._outcomes: dict[str, collections.deque[dict[str, Any]]] = {}
        self._requests: dict[str, dict[str, Any]] = {}
        for entry in self._read():
            self._outcomes.setdefault(entry["key"], collections.deque()).append(entry)
            self._requests[entry["key"]] = entry["request"]
        self._recorded = {key: len(outcomes) for key, outcomes in self._outcomes.items()}
        models = sorted({str(request.get("model", "")) for request in self._requests.values()})
        if model is None and len(models) > 1:
            raise LanguageError(
                f"cassette {self.path} holds several models ({', '.join(models)}); "
                "name one in the profile's field 'model'"
            )
        self.name = model if model is not None else (models[0] if models else "")

    def _read(self) -> list[dict[str, Any]]:
        try:
            # Not splitlines: a reply may hold other characters that end lines.
            lines = self.path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise LanguageError(
                f"cassette {self.path} cannot be read ({error}); record one with record_to"
            ) from None
        entries = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                entries.append(_entry(line))
            except DataError as error:
                if number == len(lines):  # only the last line may have been cut by a crash
                    continue
                raise LanguageError(
                    f"cassette {self.path}, line {number}: not a version {_VERSION} cassette line "
                    f"({error}); record it anew"
                ) from None
        return entries

    async def complete(self, request: ModelRequest) -> Reply:
        """The next outcome recorded for this request.

        Raises:
            ReplayMiss: None is left; the message shows how the nearest recorded request differs.
            LanguageError: The outcome is an error.
        """
        canonical = canonical_request(self.name, request)
        key = _key_of(canonical)
        with self._lock:
            outcomes = self._outcomes.get(key)
            entry = outcomes.popleft() if outcomes else None
        if entry is None:
            raise ReplayMiss(self._miss(key, canonical), fatal=self._fatal_miss)
        if "error" in entry:
            raise _error_from_json(entry["error"])
        return _reply_from_json(entry["reply"])

    def _miss(self, key: str, canonical: dict[str, Any]) -> str:
        if key in self._recorded:
            return (
                f"cassette {self.path}: this request was recorded {self._recorded[key]} times "
                "and is asked once more; the run differs from the recorded one"
            )
        if not self._requests:
            return f"cassette {self.path} is empty; record one with record_to"
        asked = _as_lines(canonical)
        text = "\n".join(asked)[:_COMPARED_CHARS]
        matcher = difflib.SequenceMatcher(autojunk=False)
        matcher.set_seq2(text)
        best: list[str] = []
        best_score = -1.0
        for request in list(self._requests.values())[:_COMPARED]:
            lines = _as_lines(request)
            matcher.set_seq1("\n".join(lines)[:_COMPARED_CHARS])
            if matcher.real_quick_ratio() > best_score:
                score = matcher.quick_ratio()
                if score > best_score:
                    best, best_score = lines, score
        diff = list(difflib.unified_diff(best, asked, "recorded", "asked", lineterm="", n=2))
        shown = "\n".join(diff[:_DIFF_LINES])
        more = f"\n... {len(diff) - _DIFF_LINES} more lines" if len(diff) > _DIFF_LINES else ""
        return scrub(
            f"cassette {self.path} has no reply for this request; difference to the nearest of "
            f"{len(self._requests)} recorded:\n{shown}{more}"
        )

    def __repr__(self) -> str:
        return f"ReplayModel({str(self.path)!r}, model={self.name!r})"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class _Call(_Part):
    id: str
    name: str
    arguments: dict[str, Any]


class _Message(_Part):
    role: str
    text: str
    images: list[str]
    tool_calls: list[_Call]
    tool_call_id: str


class _Request(_Part):
    model: str
    messages: list[_Message]
    schema_: dict[str, Any] | None = Field(alias="schema")
    tools: list[dict[str, Any]]
    sampling: dict[str, float | int | str | None]


class _Usage(_Part):
    prompt_tokens: int = Field(ge=0, le=2**53)
    completion_tokens: int = Field(ge=0, le=2**53)
    cost: float = Field(ge=0.0, le=MAX_NUMBER)
    estimated: bool


class _Reply(_Part):
    text: str
    parsed: dict[str, Any] | None
    tool_calls: list[_Call]
    usage: _Usage
    model: str
    finish_reason: str


class _Error(_Part):
    kind: str
    message: str
    text: str
    usage: _Usage


class _Line(_Part):
    v: Literal[1]
    key: str
    request: _Request
    reply: _Reply | None = None
    error: _Error | None = None


def _entry(line: str) -> dict[str, Any]:
    """Return a line of a cassette as plain data of the shape that `Recording` writes.

    Raises:
        DataError: It is no such line; says which field is wrong.
    """
    entry = read_json(line)
    try:
        checked = _Line.model_validate(entry)
    except ValidationError as error:
        raise DataError(schema_problems(error, "line")) from None
    if (checked.reply is None) == (checked.error is None):
        raise DataError("expected a reply or an error")
    found: dict[str, Any] = entry
    return {name: value for name, value in found.items() if value is not None}


def _as_lines(canonical: dict[str, Any]) -> list[str]:
    lines = [f"model: {canonical.get('model')}"]
    lines += [f"{name}: {value}" for name, value in sorted(canonical["sampling"].items())]
    for message in canonical["messages"]:
        lines.append(f"[{message['role']}]")
        lines += str(message["text"]).splitlines()
        lines += [f"image: {image}" for image in message["images"]]
        lines += [f"calls: {json.dumps(call)}" for call in message["tool_calls"]]
    lines += [f"tool: {json.dumps(tool, sort_keys=True)}" for tool in canonical["tools"]]
    if canonical["schema"] is not None:
        lines += [
            "schema:",
            *json.dumps(canonical["schema"], indent=1, sort_keys=True).splitlines(),
        ]
    return lines


def _usage_to_json(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": usage.cost,
        "estimated": usage.estimated,
    }


def _reply_to_json(reply: Reply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "parsed": reply.parsed,
        "tool_calls": [
            {"id": call.id, "name": call.name, "arguments": dict(call.arguments)}
            for call in reply.tool_calls
        ],
        "usage": _usage_to_json(reply.usage),
        "model": reply.model,
        "finish_reason": reply.finish_reason,
    }


def _reply_from_json(data: dict[str, Any]) -> Reply:
    return Reply(
        text=data["text"],
        parsed=data["parsed"],
        tool_calls=tuple(ToolCall(**call) for call in data["tool_calls"]),
        usage=Usage(**data["usage"]),
        model=data["model"],
        finish_reason=data["finish_reason"],
    )


def _error_to_json(error: LanguageError) -> dict[str, Any]:
    text = error.text if isinstance(error, BadReply) else ""
    return {
        "kind": type(error).__name__,
        "message": str(error),
        "text": text,
        "usage": _usage_to_json(error.usage),
    }


def _error_from_json(data: dict[str, Any]) -> LanguageError:
    kind = _REPLAYED_ERRORS.get(data["kind"], LanguageError)
    error = kind(data["message"])
    if isinstance(error, BadReply):
        error.text = data["text"]
    error.usage = Usage(**data["usage"])
    return error
