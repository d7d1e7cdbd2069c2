"""Spans of a run to an OpenTelemetry collector, for who has OpenTelemetry's packages installed."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

from coterie_safety.why.spans import Span

NEEDED = "opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"


class NoTelemetry(ValueError):
    """The packages are not installed, or the collector took nothing; says what to do."""


class Exporter:
    """Sends spans by OTLP over HTTP.

    Args:
        url: URL of the collector, such as http://localhost:4318/v1/traces.
        team: Name of the team.
        exporter: Another exporter of the SDK in place of OTLP's.

    Raises:
        NoTelemetry: The packages are not installed.
    """

    def __init__(self, url: str, team: str, exporter: Any = None) -> None:
        try:
            self._api = importlib.import_module("opentelemetry.trace")
            sdk = importlib.import_module("opentelemetry.sdk.trace")
            resources = importlib.import_module("opentelemetry.sdk.resources")
            self._result = importlib.import_module("opentelemetry.sdk.trace.export")
            if exporter is None:
                otlp = importlib.import_module(
                    "opentelemetry.exporter.otlp.proto.http.trace_exporter"
                )
                exporter = otlp.OTLPSpanExporter(endpoint=url)
        except ImportError as error:
            raise NoTelemetry(
                f"OpenTelemetry is not installed ({error.name}): pip install {NEEDED}"
            ) from None
        self._sdk, self._exporter, self._url = sdk, exporter, url
        self._resource = resources.Resource.create(
            {"service.name": "coterie", "service.namespace": team}
        )
        scope = importlib.import_module("opentelemetry.sdk.util.instrumentation")
        self._scope = scope.InstrumentationScope("coterie.why")

    def send(self, spans: Iterable[Span]) -> int:
        """Send spans; return how many.

        Raises:
            NoTelemetry: The collector did not take them.
        """
        made = [self._made(span) for span in spans]
        for begin in range(0, len(made), 500):
            result = self._exporter.export(made[begin : begin + 500])
            if result is not self._result.SpanExportResult.SUCCESS:
                raise NoTelemetry(f"{self._url} did not take the spans; is a collector there?")
        return len(made)

    def close(self) -> None:
        """End the exporter."""
        self._exporter.shutdown()

    def _made(self, span: Span) -> Any:
        api = self._api
        kinds = {"internal": api.SpanKind.INTERNAL, "client": api.SpanKind.CLIENT}
        status = api.Status(api.StatusCode.ERROR, span.error) if span.error else None
        return self._sdk.ReadableSpan(
            name=span.name,
            context=self._context(span.trace_id, span.span_id),
            parent=self._context(span.trace_id, span.parent_id) if span.parent_id else None,
            resource=self._resource,
            attributes=dict(span.attributes),
            events=[
                self._sdk.Event(event.name, dict(event.attributes), event.at_ns)
                for event in span.events
            ],
            kind=kinds[span.kind],
            status=status or api.Status(api.StatusCode.UNSET),
            start_time=span.begin_ns,
            end_time=span.end_ns,
            instrumentation_scope=self._scope,
        )

    def _context(self, trace: int, span: int) -> Any:
        api = self._api
        return api.SpanContext(trace, span, is_remote=False, trace_flags=api.TraceFlags(1))
