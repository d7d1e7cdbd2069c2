"""A run as spans of a trace, by OpenTelemetry's conventions for generative AI.

One trace for each task and question. A decision that was put to a model is a `chat` span, one that
a rule made an internal span; a task is an `invoke_agent` span from its words to its outcome, a goal
a span from when it was sent to its end. https://opentelemetry.io/docs/specs/semconv/gen-ai/
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from coterie_safety.why.reading import Story
from coterie_safety.why.record import Record
from coterie_safety.why.words import entry_words, line, mappings, sentence

Value = str | int | float | bool
_PROVIDER = "openai_compatible"
"""Coterie's models answer by OpenAI's interface, whoever serves them."""
_CONTENT_CHARS = 24_000


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that happened within a span: its name, when [ns since 1970], attributes."""

    name: str
    at_ns: int
    attributes: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span:
    """A span: ids as OpenTelemetry has them (128 and 64 bits), times [ns since 1970].

    `over`: whether its end is kept; else `end_ns` is its beginning.
    """

    name: str
    trace_id: int
    span_id: int
    parent_id: int
    kind: Literal["internal", "client"]
    begin_ns: int
    end_ns: int
    attributes: Mapping[str, Value] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    error: str = ""
    over: bool = True


def spans_of(story: Story, *, content: bool = False) -> list[Span]:
    """Return a run's spans, parents before what came of them where both are kept.

    Args:
        story: Records of the run.
        content: Whether prompts and replies go with them; they may hold what is private.
    """
    maker = _Maker(story, content)
    return [span for record in story.records if (span := maker.span(record)) is not None]


class _Maker:
    def __init__(self, story: Story, content: bool) -> None:
        self.story, self.content = story, content
        self.ends = {r.of.because: r for r in story.of_kind("ended")}
        self.outcomes = {r.of.task: r for r in story.of_kind("outcome")}
        self.answers = {r.of.question: r for r in story.of_kind("answer")}
        self.roots = {r.of.task or r.of.question: r for r in story.of_kind("task", "question")}

    def span(self, record: Record) -> Span | None:
        if record.kind == "decision":
            return self._decision(record)
        if record.kind in ("task", "question"):
            return self._root(record)
        if record.kind == "sent":
            return self._goal(record)
        if record.kind in ("assignment", "action"):
            return self._made(record, sentence(record), {})
        return None

    def _made(
        self,
        record: Record,
        name: str,
        attributes: Mapping[str, Value],
        *,
        begin_ns: int = 0,
        end_ns: int = 0,
        kind: Literal["internal", "client"] = "internal",
        events: tuple[SpanEvent, ...] = (),
        error: str = "",
        over: bool = True,
    ) -> Span:
        now = _ns(record.at)
        common: dict[str, Value] = {"coterie.record": record.id, "coterie.kind": record.kind}
        if record.who:
            common["gen_ai.agent.name"] = line(record.who, 60)
        thread = record.of.task or record.of.question
        if thread:
            common["gen_ai.conversation.id"] = line(thread, 100)
        if record.of.sub_task:
            common["coterie.sub_task"] = line(record.of.sub_task, 60)
        return Span(
            line(name, 120),
            _number(f"trace {thread or self._top(record)}", 16),
            _number(record.id, 8),
            self._parent(record),
            kind,
            begin_ns or now,
            max(end_ns or now, begin_ns or now),
            {**common, **attributes},
            events,
            error,
            over,
        )

    def _parent(self, record: Record) -> int:
        """Return the span that a record's is in: of what led to it, else of the task."""
        before = self.story.get(record.of.because) if record.of.because else None
        if before is not None and before.kind in ("action", "decision", "sent", "assignment"):
            return _number(before.id, 8)
        root = self.roots.get(record.of.task or record.of.question)
        return _number(root.id, 8) if root is not None and root is not record else 0

    def _top(self, record: Record) -> str:
        for _ in range(40):
            before = self.story.get(record.of.because) if record.of.because else None
            if before is None:
                break
            record = before
        return record.of.task or record.of.question or record.of.goal or record.id

    def _root(self, record: Record) -> Span:
        task = record.kind == "task"
        end = (self.outcomes if task else self.answers).get(record.of.task or record.of.question)
        attributes: dict[str, Value] = {"gen_ai.operation.name": "invoke_agent"}
        if self.content:
            attributes["coterie.words"] = line(record.body.get("words", ""), 1000)
        if end is not None:
            attributes["coterie.outcome"] = sentence(end)
        name = f"invoke_agent {record.who or 'team'}"
        end_ns = _ns(end.at) if end is not None else 0
        return self._made(record, name, attributes, end_ns=end_ns, over=end is not None)

    def _decision(self, record: Record) -> Span:
        body = record.body
        seconds = body.get("seconds")
        took = int(1e9 * seconds) if isinstance(seconds, (int, float)) and seconds > 0 else 0
        end = _ns(record.at)
        attributes: dict[str, Value] = {
            "coterie.decision": line(body.get("name", ""), 60),
            "coterie.decided_by": line(body.get("by", ""), 10),
            "coterie.mode": line(body.get("mode", ""), 10),
        }
        if not body.get("asked"):
            name = str(body.get("name", ""))
            return self._made(record, name, attributes, begin_ns=end - took, end_ns=end)
        tries = mappings(body.get("tries"))
        model = line(tries[-1].get("model", "") if tries else body.get("model", ""), 100)
        tokens = body.get("tokens")
        attributes |= {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDER,
            "gen_ai.request.model": model,
            "gen_ai.output.type": "json",
        }
        if isinstance(body.get("max_tokens"), int):
            attributes["gen_ai.request.max_tokens"] = body["max_tokens"]
        if isinstance(tokens, list) and len(tokens) == 2:
            names = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
            attributes |= {n: t for n, t in zip(names, tokens, strict=True) if isinstance(t, int)}
        if self.content:
            attributes |= _content(body, tries)
        refused = tuple(
            SpanEvent(
                "coterie.reply_refused",
                end,
                {"gen_ai.request.model": line(one.get("model", ""), 100),
                 "coterie.reason": line(one.get("refused", ""), 400)},
            )
            for one in tries
            if one.get("refused")
        )  # fmt: skip
        looked = tuple(
            SpanEvent("execute_tool", end, {"gen_ai.tool.name": line(use.get("name", ""), 60)})
            for use in mappings(body.get("looked_up"))
        )
        failed = body.get("by") != "model"
        if failed:
            attributes["error.type"] = line(str(body.get("reason", "")).partition(":")[0], 60)
        error = line(body.get("reason", ""), 400) if failed else ""
        return self._made(
            record, f"chat {model}", attributes, begin_ns=end - took, end_ns=end, kind="client",
            events=(*looked, *refused), error=error,
        )  # fmt: skip

    def _goal(self, record: Record) -> Span:
        end = self.ends.get(record.id)
        action = line(record.body.get("action", ""), 80)
        outcome = line(end.body.get("outcome", ""), 40) if end is not None else "unknown"
        events = tuple(
            SpanEvent(f"coterie.log.{one.kind}", _ns(one.at), {"coterie.says": entry_words(one)})
            for one in self.story.log_of(record.id)
        )
        error = "" if outcome in ("SUCCEEDED", "unknown") else outcome  # unknown: it still runs
        message = line(end.body.get("message", ""), 300) if end is not None else ""
        return self._made(
            record, f"goal {action}", {"coterie.outcome": outcome, "coterie.goal": record.id},
            end_ns=_ns(end.at) if end is not None else 0, kind="client", events=events,
            error=f"{error}: {message}" if error and message else error, over=end is not None,
        )  # fmt: skip


def _content(body: Mapping[str, Any], tries: list[Mapping[str, Any]]) -> dict[str, Value]:
    """Return prompt and reply as the conventions have them: JSON of messages with parts."""
    given = [
        {"role": str(one.get("role", "")), "parts": [_part(one.get("text", ""))]}
        for one in mappings(body.get("prompt"))
    ]
    said = [
        {"role": "assistant", "parts": [_part(one.get("said", ""))], "finish_reason": "stop"}
        for one in tries
    ]
    return {
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": json.dumps(said),
    }


def _part(text: object) -> dict[str, str]:
    return {"type": "text", "content": str(text)[:_CONTENT_CHARS]}


def _number(text: str, size: int) -> int:
    """Return an id of so many bytes, the same for the same text, and never 0."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size], "big") or 1


def _ns(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp() * 1e6) * 1000
