"""Diagnostics of a node: state, queues, counters, model usage, last error."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from coterie_ros.host import Host
from coterie_ros.qos import profile

Source = Callable[[], Mapping[str, object]]

# How long a problem colours the status [s].
_FRESH_S = 30.0


class Diagnostics:
    """Collects a node's figures and publishes them; all methods may be called from any thread."""

    def __init__(self, node: Host, hardware_id: str = "") -> None:
        self._node = node
        self._hardware_id = hardware_id
        self._publisher = node.create_publisher(
            DiagnosticArray, "/diagnostics", profile("diagnostics")
        )
        self._lock = threading.Lock()
        self._counters: dict[str, int] = {}
        self._sources: dict[str, Source] = {}
        self._problem: tuple[float, bytes, str] | None = None

    def count(self, name: str, by: int = 1) -> int:
        """Add to a counter and return its value."""
        with self._lock:
            self._counters[name] = value = self._counters.get(name, 0) + by
        return value

    def counter(self, name: str) -> int:
        """Return a counter's value (0 where nothing was counted)."""
        with self._lock:
            return self._counters.get(name, 0)

    def add_source(self, name: str, source: Source) -> None:
        """Let `source` add its values as `name.key` to every report, for example a usage meter."""
        with self._lock:
            self._sources[name] = source

    def warn(self, text: str) -> None:
        """Remember a problem that the node works around."""
        self._problem = (time.monotonic(), DiagnosticStatus.WARN, text)

    def error(self, text: str) -> None:
        """Remember a problem that the node does not work around."""
        self._problem = (time.monotonic(), DiagnosticStatus.ERROR, text)

    def status(self) -> DiagnosticStatus:
        """Return the present status."""
        level, text = DiagnosticStatus.OK, self._node.state_label
        problem = self._problem
        if problem is not None and time.monotonic() - problem[0] < _FRESH_S:
            level, text = problem[1], problem[2]
        values: dict[str, object] = {
            "state": self._node.state_label,
            "tasks": self._node.loop.running,
        }
        if problem is not None:
            values["last_error"] = problem[2]
            values["last_error_age_s"] = f"{time.monotonic() - problem[0]:.0f}"
        with self._lock:
            values.update(self._counters)
            sources = list(self._sources.items())
        for name, source in sources:
            try:
                values.update({f"{name}.{key}": value for key, value in source().items()})
            except Exception as error:  # a report must not fail because one of its sources does
                values[f"{name}.error"] = str(error)
        return DiagnosticStatus(
            level=level,
            name=self._node.get_fully_qualified_name().lstrip("/"),
            message=text[:500],
            hardware_id=self._hardware_id,
            values=[KeyValue(key=str(k), value=str(v)[:2000]) for k, v in values.items()],
        )

    def publish(self) -> None:
        """Publish the present status."""
        message = DiagnosticArray(status=[self.status()])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
