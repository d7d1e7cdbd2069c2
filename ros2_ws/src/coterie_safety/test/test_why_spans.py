"""A run as spans of a trace, and a real collector that takes them where OpenTelemetry is there."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from coterie_safety.ledger import Ledger
from coterie_safety.why import (
    JournalSettings,
    Story,
    belong,
    close_journal,
    follow,
    note,
    open_journal,
    read_story,
)
from coterie_safety.why.otlp import Exporter, NoTelemetry
from coterie_safety.why.spans import Span, spans_of

GOAL = "feed" * 8
SECRET = "the safe is behind the fern"


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    belong()
    open_journal(JournalSettings(str(tmp_path / "why")), "test")
    belong(task="task-5")
    note("task", "leader", {"words": SECRET})
    asked = {
        "name": "emos.choose_skill",
        "mode": "model",
        "by": "model",
        "model": "small",
        "asked": True,
        "seconds": 1.5,
        "tokens": [120, 30],
        "max_tokens": 200,
        "reply": {"option": "a"},
        "prompt": [{"role": "user", "text": SECRET}],
        "tries": [
            {"model": "small", "said": "what?", "refused": "BadReply: no JSON"},
            {"model": "small", "said": '{"option": "a"}', "refused": ""},
        ],
        "looked_up": [{"name": "where_is", "arguments": {}, "result": "there"}],
    }
    decision = note("decision", "ant", asked, sub_task="s1")
    follow(decision)
    follow(note("action", "ant", {"words": "go"}, sub_task="s1"))
    note("sent", "ant", {"action": "navigate_to", "physical": True}, id=GOAL)
    Ledger(tmp_path / "log").write("goal", "ant", {"action": GOAL, "goal": "x", "what": "drive"})
    note("ended", "ant", {"outcome": "BLOCKED", "message": "a chair"}, because=GOAL)
    belong(task="task-5")
    rule = {"name": "emos.reassign", "by": "rule", "asked": False, "seconds": 0.01, "reply": {}}
    note("decision", "leader", {**rule, "prompt": []})
    failed = {**asked, "by": "rule", "reason": "ModelTimeout: 20 s", "tries": asked["tries"][:1]}  # type: ignore[index]
    note("decision", "ant", failed)
    note("outcome", "leader", {"outcome": "done", "message": "all there"})
    close_journal()
    belong()
    yield read_story(tmp_path / "why", tmp_path / "log")


def named(spans: list[Span], name: str) -> list[Span]:
    return [span for span in spans if span.name == name]


def test_a_task_is_one_trace_by_the_conventions(story: Story) -> None:
    spans = spans_of(story)
    assert len({span.trace_id for span in spans}) == 1
    assert len({span.span_id for span in spans}) == len(spans)
    (root,) = named(spans, "invoke_agent leader")
    chat, failed = named(spans, "chat small")
    (goal,) = named(spans, "goal navigate_to")
    (rule,) = named(spans, "emos.reassign")
    (action,) = [span for span in spans if span.attributes["coterie.kind"] == "action"]
    parents = (root.parent_id, chat.parent_id, action.parent_id, goal.parent_id, rule.parent_id)
    assert parents == (0, root.span_id, chat.span_id, action.span_id, root.span_id)
    assert chat.kind == "client"
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.request.max_tokens": 200,
        "gen_ai.output.type": "json",
        "gen_ai.agent.name": "ant",
        "gen_ai.conversation.id": "task-5",
        "coterie.decision": "emos.choose_skill",
    }
    assert expected.items() <= chat.attributes.items()
    assert chat.end_ns - chat.begin_ns == 1_500_000_000
    assert [event.name for event in chat.events] == ["execute_tool", "coterie.reply_refused"]
    assert (chat.error, failed.attributes["error.type"]) == ("", "ModelTimeout")
    assert "gen_ai.request.model" not in rule.attributes
    assert goal.error == "BLOCKED: a chair"
    assert [event.name for event in goal.events] == ["coterie.log.goal"]
    assert root.end_ns > root.begin_ns
    assert "done" in str(root.attributes["coterie.outcome"])


def test_content_goes_only_where_it_is_asked_for(story: Story) -> None:
    assert SECRET not in str(spans_of(story))
    chat = named(spans_of(story, content=True), "chat small")[0]
    assert SECRET in str(chat.attributes["gen_ai.input.messages"])
    assert "what?" in str(chat.attributes["gen_ai.output.messages"])


def test_without_the_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(NoTelemetry, match="pip install opentelemetry-sdk"):
        Exporter("http://127.0.0.1:1/v1/traces", "team")


def test_a_goal_that_runs_is_no_error(tmp_path: Path) -> None:
    open_journal(JournalSettings(str(tmp_path / "why")), "test")
    belong(task="task-6")
    note("task", "leader", {"words": "drive"})
    note("sent", "ant", {"action": "navigate_to", "physical": True}, id=GOAL)
    close_journal()
    belong()
    (goal,) = named(spans_of(read_story(tmp_path / "why", tmp_path / "log")), "goal navigate_to")
    assert (goal.error, goal.attributes["coterie.outcome"]) == ("", "unknown")


def test_a_collector_takes_it_over_http(story: Story) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    proto = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    bodies: list[bytes] = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            import gzip

            body = self.rfile.read(int(self.headers["Content-Length"]))
            packed = self.headers.get("Content-Encoding") == "gzip"
            bodies.append(gzip.decompress(body) if packed else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        exporter = Exporter(f"http://127.0.0.1:{server.server_port}/v1/traces", "team")
        spans = spans_of(story)
        assert exporter.send(spans) == len(spans)
        exporter.close()
        server.shutdown()
    request = proto.ExportTraceServiceRequest()
    request.ParseFromString(bodies[0])
    (resource,) = request.resource_spans
    service = {one.key: one.value.string_value for one in resource.resource.attributes}
    assert (service["service.name"], service["service.namespace"]) == ("coterie", "team")
    got = {span.span_id: span for scope in resource.scope_spans for span in scope.spans}
    assert len(got) == len(spans)
    for span in spans:
        came = got[span.span_id.to_bytes(8, "big")]
        assert (came.name, came.start_time_unix_nano) == (span.name, span.begin_ns)
        assert came.trace_id == span.trace_id.to_bytes(16, "big")
        parent = span.parent_id.to_bytes(8, "big") if span.parent_id else b""
        assert came.parent_span_id == parent
