"""Pytest plugin for tests over real rclpy: a domain each, spinning with a deadline, processes.

Put `pytest_plugins = ["coterie_ros.testing"]` into the root conftest. Nothing of ROS is imported
until a test asks for it; where rclpy is missing, tests marked `ros` are skipped.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest

from coterie_ros import domains
from coterie_ros.domains import LAST_DOMAIN

if TYPE_CHECKING:
    from rclpy.context import Context
    from rclpy.node import Node

# Ten times what is expected [s].
TIMEOUT_S = 30.0


def patience(timeout: float) -> float:
    """Return how long to wait now for what takes at most `timeout` [s] on an idle machine.

    Where more processes want to run than there are cores, each takes that many times as long.
    """
    return timeout * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files alone that have none of the tests asked for: importing them takes long."""
    marker = config.option.markexpr
    if marker in ("ros", "quick") and collection_path.suffix == ".py":
        return True if f"mark.{marker}" not in collection_path.read_text("utf-8") else None
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests marked `ros` where rclpy or the workspace's messages are missing."""
    if all(importlib.util.find_spec(name) for name in ("rclpy", "coterie_msgs")):
        return
    skip = pytest.mark.skip(
        reason="needs rclpy and coterie_msgs: source .venv/setup.bash and "
        "ros2_ws/install/setup.bash, or run ./coterie test"
    )
    for item in items:
        if item.get_closest_marker("ros"):
            item.add_marker(skip)


def take_domain() -> tuple[int, IO[str]]:
    """Return a ROS domain id (1-101) that nobody else on this machine uses, and its lock.

    The lock is a file that stays locked until it is closed or the process dies.
    """
    # Start somewhere else in each process: a domain used a moment ago may still be remembered.
    first = (os.getpid() * 37 + int(time.monotonic() * 10)) % LAST_DOMAIN
    taken = domains.take_domain(1 + (first + k) % LAST_DOMAIN for k in range(LAST_DOMAIN))
    if taken is None:
        raise RuntimeError(f"all ROS domains 1-{LAST_DOMAIN} are in use; wait for who uses them")
    return taken


class NodeProcess:
    """A real process in a session of its own; its output is collected line by line."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.lines: deque[str] = deque(maxlen=5000)
        self._may_end = False
        self._process = subprocess.Popen(
            list(command),
            env=dict(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_die_with_parent(),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def output(self) -> str:
        """All lines so far."""
        return "\n".join(self.lines)

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while it runs."""
        return self._process.poll()

    @property
    def broke(self) -> bool:
        """Whether it ended with an error although nobody asked it to end."""
        return not self._may_end and self.exit_code not in (None, 0)

    def send(self, number: int) -> None:
        """Send a signal."""
        self._may_end = True
        self._process.send_signal(number)

    def wait(self, timeout: float = TIMEOUT_S) -> int:
        """Wait for the end and return the exit code; fails the test after `timeout` [s]."""
        self._may_end = True
        try:
            code = self._process.wait(patience(timeout))
        except subprocess.TimeoutExpired:
            self.kill()
            pytest.fail(f"process did not end within {timeout:g} s; output:\n{self.output}")
        self._reader.join(5.0)
        return code

    def kill(self) -> None:
        """End the process and all it started."""
        self._may_end = True
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait(10.0)


class RosHarness:
    """One test's corner of ROS: a domain, a context, an executor, nodes and processes."""

    def __init__(self, domain: int) -> None:
        import rclpy
        from rclpy.context import Context

        from coterie_ros.executors import make_executor

        self.domain = domain
        self.context: Context = Context()
        rclpy.init(args=[], context=self.context, domain_id=domain)
        self.executor = make_executor(self.context)
        self._nodes: list[Any] = []
        self._processes: list[NodeProcess] = []

    def node(self, name: str = "test", namespace: str = "") -> Node:
        """Make a plain node that is spun with the others."""
        from coterie_ros.qos_events import PlainNode

        node = PlainNode(
            name,
            namespace=namespace or None,
            context=self.context,
            enable_rosout=False,
            start_parameter_services=False,
        )
        return self.add(node)

    def add(self, node: Any) -> Any:
        """Spin this node, too, and destroy it at the end; returns it."""
        self._nodes.append(node)
        self.executor.add_node(node)
        return node

    def remove(self, node: Any) -> None:
        """Destroy a node now."""
        from coterie_ros.ending import wind_down

        self._nodes.remove(node)
        if hasattr(node, "stop_work"):
            wind_down([node], self.executor, self.context)
            self.spin(0.05)
        self.executor.remove_node(node)
        self.spin(0.05)  # else an EventsExecutor crashes over what it has queued of it
        node.destroy_node()

    def lose(self, node: Any) -> None:
        """Have an AgentNode vanish without a word, as with a computer that loses its power."""
        self._nodes.remove(node)
        self.executor.remove_node(node)
        self.spin(0.05)
        node.stop_work()  # nobody spins it: what it has to say does not leave
        node.destroy_node()

    def spin_until(
        self, condition: Callable[[], Any], timeout: float = TIMEOUT_S, what: str = ""
    ) -> None:
        """Spin until the condition holds; fails the test after `timeout` [s].

        It fails at once where a process that was started ended with an error by itself.
        """
        from coterie_ros.executors import spin

        def over() -> bool:
            return bool(condition()) or any(process.broke for process in self._processes)

        begin = time.monotonic()
        # How busy the machine is counts when the time is up, and not only at the beginning.
        while (left := patience(timeout) - (time.monotonic() - begin)) > 0.0:
            if spin(self.executor, self.context, until=over, timeout=left, period=0.02):
                break
        if not condition():
            notes = "".join(
                f"\n--- output of process {p.pid} (exit code {p.exit_code}) ---\n{p.output}"
                for p in self._processes
            )
            failed = [f"\n{n.get_name()}: {n.failure}" for n in self._nodes if _failure(n)]
            pytest.fail(f"waited {timeout:g} s for {what or condition}{''.join(failed)}{notes}")

    def spin(self, duration: float) -> None:
        """Spin for a while [s]: to show that something does not happen."""
        from coterie_ros.executors import spin

        spin(self.executor, self.context, until=lambda: False, timeout=duration, period=0.02)

    def wait_for_matched(self, *ends: Any, count: int = 1, timeout: float = TIMEOUT_S) -> None:
        """Wait until every publisher, subscription or client has `count` counterparts."""
        for end in ends:
            what = f"{count} counterparts of {getattr(end, 'topic_name', end)}"
            self.spin_until(partial(_has_matched, end, count), timeout, what)

    def wait_active(self, *nodes: Any, timeout: float = TIMEOUT_S) -> None:
        """Wait until AgentNodes are active."""
        for node in nodes:
            what = f"{node.get_name()} to become active"
            self.spin_until(partial(_has_started, node), timeout, what)
            if node.failure:
                pytest.fail(f"{node.get_name()}: {node.failure}")

    def result(self, future: Any, timeout: float = TIMEOUT_S) -> Any:
        """Spin until an rclpy or concurrent future is done and return its result."""
        self.spin_until(future.done, timeout, "a future's result")
        return future.result()

    def start_process(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> NodeProcess:
        """Start a process in this test's domain; killed at the end of the test."""
        settings = {
            **os.environ,
            "ROS_DOMAIN_ID": str(self.domain),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "PYTHONUNBUFFERED": "1",
            **(environment or {}),
        }
        process = NodeProcess(command, settings)
        self._processes.append(process)
        return process

    def close(self) -> None:
        """End processes and nodes."""
        from coterie_ros.ending import wind_down

        for process in self._processes:
            process.kill()
        wind_down(
            [one for one in self._nodes if hasattr(one, "stop_work")], self.executor, self.context
        )
        if self.context.ok():
            self.spin(0.02)
        for node in self._nodes:
            for action in tuple(node.waitables):  # rclpy leaves them, and they hold the node
                action.destroy()
            node.destroy_node()
        self.executor.shutdown()
        self.context.try_shutdown()
        self.context.destroy()  # else its participant lives on until garbage is collected


@pytest.fixture
def ros_domain() -> Iterator[int]:
    """A ROS domain id that no other running test has."""
    domain, lock = take_domain()
    try:
        yield domain
    finally:
        lock.close()


@pytest.fixture
def ros(ros_domain: int) -> Iterator[RosHarness]:
    """This test's own corner of ROS."""
    pytest.importorskip("rclpy")
    harness = RosHarness(ros_domain)
    try:
        yield harness
    finally:
        harness.close()


def _die_with_parent() -> Callable[[], None] | None:
    """Return what ties a new process's life to this one's, so that a killed test leaves none."""
    if not sys.platform.startswith("linux"):
        return None
    control = ctypes.CDLL(None, use_errno=True).prctl
    death_signal = 1  # PR_SET_PDEATHSIG

    def tie() -> None:
        control(death_signal, signal.SIGKILL, 0, 0, 0)

    return tie


def _matched(end: Any) -> int:
    for name in ("get_subscription_count", "get_publisher_count", "subscribers"):
        value = getattr(end, name, None)
        if value is not None:
            return int(value() if callable(value) else value)
    for name in ("service_is_ready", "server_is_ready"):
        if hasattr(end, name):
            return int(getattr(end, name)())
    raise TypeError(f"cannot count the counterparts of a {type(end).__name__}")


def _has_matched(end: Any, count: int) -> bool:
    return _matched(end) >= count


def _has_started(node: Any) -> bool:
    return node.state_label == "active" or bool(node.failure)


def _failure(node: Any) -> str:
    return getattr(node, "failure", "")
