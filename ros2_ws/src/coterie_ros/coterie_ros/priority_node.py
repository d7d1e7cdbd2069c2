"""A node beside another one, in a thread of its own, for work that must not wait for callbacks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rclpy.parameter import Parameter

from coterie_ros.executors import make_executor, spin
from coterie_ros.host import Host
from coterie_ros.qos_events import PlainNode

_FAILING_FOR = 5.0  # [s]
_MAX_FAILURES = 10
"""More failures than so in the time above: the executor itself is broken."""


class PriorityNode:
    """A node `<name>_stop` beside another one, with an executor and a thread of its own.

    A flood of images, or a callback that takes long, keeps the other node's executor busy; this
    one waits for Python's lock alone. Callbacks must not wait. What raises is reported, and the
    thread goes on; where it cannot, the node fails, which ends its process.

    Args:
        beside: The node; the context is shared, so that there is no further DDS participant.
    """

    def __init__(self, beside: Host) -> None:
        self._beside = beside
        self.node = PlainNode(
            f"{beside.get_name()}_stop",
            namespace=beside.get_namespace(),
            context=beside.context,
            enable_rosout=False,
            start_parameter_services=False,
            parameter_overrides=[Parameter("start_type_description_service", value=False)],
        )
        self._executor = make_executor(beside.context)
        self._executor.add_node(self.node)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="urgent", daemon=True)
        self._thread.start()

    def post(self, function: Callable[[], object]) -> None:
        """Run a short function in the thread: now where that is the caller's, else soon.

        Errors are reported.
        """

        def work() -> None:
            try:
                function()
            except Exception as error:
                if not self._ended.is_set() and self._beside.context.ok():
                    self._beside.report_failure("an urgent task", error)

        if threading.current_thread() is self._thread:
            work()
        elif not self._ended.is_set() and self._beside.context.ok():
            self._executor.create_task(work)

    def close(self) -> None:
        """End the thread and the node."""
        self.post(self._ended.set)
        self._thread.join(2.0)
        self._ended.set()
        self._executor.shutdown()
        self.node.destroy_node()

    @property
    def alive(self) -> bool:
        """Whether the thread still does what it is given."""
        return self._thread.is_alive()

    def _run(self) -> None:
        failures: list[float] = []
        while True:
            try:
                spin(self._executor, self._beside.context, until=self._ended.is_set)
                return
            except Exception as error:
                self._beside.report_failure("the thread of stops", error)
                now = time.monotonic()
                failures = [*(then for then in failures if now - then < _FAILING_FOR), now]
                if len(failures) > _MAX_FAILURES:
                    self._beside.failure = f"the thread of stops fails again and again: {error}"
                    return
