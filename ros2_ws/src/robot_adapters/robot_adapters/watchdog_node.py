"""The watchdog of one real robot: halts it when its adapter cannot, and hears stops by itself.

It runs beside the adapter, in a process of its own, and is made of as little as possible: no loop
of coroutines, no thread, another executor than the adapter's. It only ever halts: nothing that it
does moves a robot or releases one.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.context import Context
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args
from std_msgs.msg import Bool, Header, String

from coterie_ros.main import MISCONFIGURED, take_namespace, team_remaps
from coterie_ros.parameters import ParameterSpec, declare, remember_arguments
from coterie_ros.qos import profile
from coterie_ros.stopping import STOP, STOPPED
from coterie_safety.stop import one_line
from robot_adapters.halting import halt_of
from robot_adapters.heartbeat import BEATS, HALTED, HEARTBEAT
from robot_adapters.parameters import SETTINGS_PARAMETERS
from robot_adapters.settings import AdapterSettings

WATCHDOG_PARAMETERS = (
    ParameterSpec(
        "silence",
        1.0,
        "Time without a heartbeat of the adapter after which the robot is halted.",
        "s",
        minimum=0.5,
        maximum=60.0,
    ),
    *SETTINGS_PARAMETERS,
)

RESTARTED = "COTERIE_RESTARTED"
"""Variable by which a supervisor tells a program that it was started before."""
_LOOK = 0.1
"""Time between looks at the adapter [s]."""
_LATE = 0.2
"""A look that comes late adds no more silence than so [s]: heartbeats may wait to be read."""
_AGAIN = 0.2
"""Time between halts of a robot whose adapter does not answer for it [s]."""
_FIRST = 0.2
"""How long an adapter that beats may take to tell that it obeys a stop [s]."""
_BESIDE = 1.0
"""Time between halts of a stopped robot whose adapter holds the stop as well [s]."""
_UNREAD = 0.5
"""How long such a robot has a goal before that is cancelled [s]: word of a release may wait to be
read, and the goal be what came after it."""
_AT_ONCE = 100_000_000
"""So long before a stop an answer to it may come in [ns]: threads take turns."""
_LEAST = 5.0
"""How long a robot is halted at least after its adapter went silent [s]."""
_QUIET = 1.0
"""For so long no server has a goal before the watchdog lets go [s]."""
_FAREWELL = (0.6, 3.0)
"""Shortest and longest time for a last halt [s]: the shortest where all servers have answered."""
_WAITS = 5.0
"""How long the watchdog, told to end, waits for the end of its adapter [s]."""
_TELL = 1.0


class Watchdog:
    """Watches the adapter of one robot.

    Call `look` again and again; the node's callbacks run in the same thread, between two looks.

    Args:
        node: A plain node in the robot's namespace.

    Raises:
        ValueError: A parameter cannot be used.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        values = declare(node, WATCHDOG_PARAMETERS)
        self._limit = float(values["silence"])
        self._halt = halt_of(node, AdapterSettings.from_parameters(values))
        # One that was started again has watched before: silence is what it may have died in.
        self._heard, self._silent = bool(os.environ.get(RESTARTED)), 0.0
        self._lost = ""  # why the robot is halted, for want of its adapter
        self._stands = False  # it has been halted for long enough since
        self._since = self._busy = self._open_for = self._sent = self._told = 0.0
        self._stopped, self._pending, self._asked = False, "", 0.0
        self._answered = 0  # when word came last that the robot is stopped [ns]
        self._stops: deque[tuple[int, str]] = deque(maxlen=50)  # when sent, and what they say
        self._looked, self._said = time.monotonic(), ""
        self._closing = 0.0
        team = node.get_namespace().rpartition("/")[0]
        self._on(Header, HEARTBEAT, self._on_beat, profile(BEATS))
        qos = profile("latched")
        qos.depth = 100  # a release soon after a stop must not hide that the stop was answered
        self._on(Bool, STOPPED, self._on_stopped, qos)
        for topic in (f"{team}/{STOP}", STOP):
            # Best effort fits every publisher; what is reliable comes again where it got lost.
            for reliability in (ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE):
                qos = profile("messages")
                qos.reliability = reliability
                self._on(String, topic, self._on_stop, qos)
        self._stop_again = node.create_publisher(String, STOP, profile("messages"))
        self._say_halted = node.create_publisher(String, HALTED, profile("messages"))
        self._diagnostics = node.create_publisher(
            DiagnosticArray, "/diagnostics", profile("diagnostics")
        )

    @property
    def alive(self) -> bool:
        """Whether the adapter has been heard, and of late."""
        if not self._heard or self._silent > self._limit:
            return False
        return bool(self.node.count_publishers(self._full(HEARTBEAT)))

    def look(self) -> None:
        """Do what is due; never raises."""
        self._safely("a look", self._look)

    def close(self, why: str) -> None:
        """Begin the last halt of the robot, after which the watchdog ends."""
        if not self._closing:
            self._closing = self._since = self._busy = time.monotonic()
            self._lost, self._stands = why, False
            self._say(f"{why}: halting the robot, then ending")
            self._send()

    @property
    def closing(self) -> bool:
        """Whether the last halt has begun."""
        return self._closing > 0.0

    @property
    def closed(self) -> bool:
        """Whether the last halt is over: all servers have answered, or it took too long."""
        if not self._closing:
            return False
        least, most = _FAREWELL
        took = time.monotonic() - self._closing
        return took > most or (took > least and not self._open())

    # -- what it hears -------------------------------------------------------------------------

    def _on(
        self, kind: Any, topic: str, hear: Callable[[Any, int, int], object], qos: QoSProfile
    ) -> None:
        def guarded(message: Any, info: Any) -> None:
            times = (int(info["source_timestamp"]), int(info["received_timestamp"]))
            self._safely(topic, partial(hear, message, *times))

        # A publisher that fits the other one of two subscriptions is no trouble to tell.
        events = SubscriptionEventCallbacks(use_default_callbacks=False)
        self.node.create_subscription(kind, topic, guarded, qos, event_callbacks=events)

    def _on_beat(self, message: Header, sent: int, came: int) -> None:
        self._heard, self._silent = True, 0.0

    def _on_stop(self, message: String, sent: int, came: int) -> None:
        stop = (sent, str(message.data))
        if stop in self._stops:
            return  # by the other subscription; its robot may have been released since
        self._stops.append(stop)
        if self._answered and came < self._answered + _AT_ONCE:
            return  # the adapter has obeyed it, and may have been released since
        if self._stopped or not self.alive:
            self._send()
        # Else the adapter may halt it first: two at once take the time in which all robots of one
        # computer are to stand.
        if not self._stopped and not self._pending:
            self._pending, self._asked = stop[1] or "somebody", time.monotonic()

    def _on_stopped(self, message: Bool, sent: int, came: int) -> None:
        if bool(message.data):
            if self._pending:
                self._sent = time.monotonic()  # the adapter has halted it
            self._stopped, self._pending, self._answered = True, "", came
        elif self._stopped and not self._pending:
            self._stopped = False
            self._halt.forget()

    # -- what it does --------------------------------------------------------------------------

    def _look(self) -> None:
        now = time.monotonic()
        passed = now - self._looked
        if passed < _LOOK:
            return
        self._looked = now
        self._silent += min(passed, _LATE)
        alive = self.alive
        if self._closing:
            pass
        elif alive and self._lost:
            self._lost = ""
            self._halt.forget()  # what begins now was not meant
            self._say("the adapter is back")
        elif self._heard and not alive and not self._lost:
            silent = self._silent > self._limit
            how = f"has been silent for {self._limit:g} s" if silent else "has ended"
            self._lost = f"the robot's adapter {how}"
            self._since = self._busy = now
            self._stands = False
            self._say(f"{self._lost}: halting the robot")
            self._say_halted.publish(String(data=f"the watchdog halted the robot: {self._lost}"))
        if self._open():
            self._busy, self._open_for = now, self._open_for + min(passed, _LATE)
        else:
            self._open_for = 0.0
        if self._lost and not self._stands:
            # What is begun later is a person's, who moves the robot without its adapter.
            self._stands = now - self._since > _LEAST and now - self._busy > _QUIET
        pause = self._pause(alive)
        if now - self._sent < pause or (self._first(alive) and now - self._asked < _FIRST):
            pass
        elif pause == _BESIDE and self._open_for < _UNREAD:
            self._sent = now
            self._halt.zero()
        else:
            self._send()
        if now - self._told >= _TELL:
            self._told = now
            self._tell()

    def _pause(self, alive: bool) -> float:
        """Return the time between halts [s]; infinite: the robot needs none."""
        halting = self._lost and not self._stands
        if halting or self._pending or (self._stopped and not alive):
            return _AGAIN
        return _BESIDE if self._stopped else float("inf")

    def _first(self, alive: bool) -> bool:
        """Whether the adapter is to obey a stop before the watchdog does."""
        return bool(self._pending) and alive and not self._lost

    def _open(self) -> bool:
        """Whether a server has not answered yet, or has a goal that has not ended."""
        return bool(self._halt.unanswered or self._halt.under_way)

    def _send(self) -> None:
        self._sent = time.monotonic()
        self._halt.send(all_at_once=True)

    def _tell(self) -> None:
        """Pass on a stop that the adapter does not answer; say in the diagnostics how it is."""
        level, text = DiagnosticStatus.OK, "watching"
        if self._pending and time.monotonic() - self._asked > _TELL:
            # An adapter that begins again, or hears again, is to hold what was said meanwhile.
            self._stop_again.publish(String(data=self._pending))
            level = DiagnosticStatus.ERROR
            text = f"the adapter does not answer a stop: {one_line(self._pending)}"
            if text != self._said:
                self._say(f"{text}; halting the robot until it does")
            self._said = text
        elif self._lost:
            level, text = DiagnosticStatus.ERROR, f"{self._lost}; the robot was halted"
        elif not self._heard:
            text = "the adapter has not been heard yet"
        values = {
            "silent_s": f"{self._silent:.1f}",
            "stopped": self._stopped,
            "unanswered": ", ".join(self._halt.unanswered) or "none",
            "under_way": ", ".join(self._halt.under_way) or "none",
        }
        status = DiagnosticStatus(
            level=level,
            name=self.node.get_fully_qualified_name().lstrip("/"),
            message=text[:500],
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self.node.get_clock().now().to_msg()
        self._diagnostics.publish(message)

    def _full(self, topic: str) -> str:
        return f"{self.node.get_namespace().rstrip('/')}/{topic}"

    def _say(self, text: str) -> None:
        self.node.get_logger().warning(text)

    def report(self, what: str, error: Exception) -> None:
        """Log what was raised; never raises."""
        try:
            self._say(f"{what}: {type(error).__name__}: {error}")
        except Exception:  # who read the log is gone
            pass

    def _safely(self, what: str, function: Callable[[], object]) -> None:
        """Do something; what it raises is logged, and ends nothing else."""
        try:
            function()
        except Exception as error:
            self.report(what, error)


class Watch:
    """Runs the watchdogs of one process until it is told to end, or its supervisor is gone.

    Args:
        context: Of the nodes.
        dogs: The watchdogs.
        parent: Process id of the supervisor; 0: there is none.
    """

    def __init__(self, context: Context, dogs: Sequence[Watchdog], parent: int) -> None:
        self._context, self._dogs, self._parent = context, dogs, parent
        self._asked = 0.0

    def end(self, number: int = 0, frame: FrameType | None = None) -> None:
        """End it, once the adapters have ended; a handler of signals."""
        self._asked = self._asked or time.monotonic()

    def run(self) -> None:
        """Watch until it is over; an executor that fails is replaced."""
        while self._context.ok():
            executor = SingleThreadedExecutor(context=self._context)
            try:
                for dog in self._dogs:
                    executor.add_node(dog.node)
                while self._context.ok():
                    executor.spin_once(timeout_sec=_LOOK / 2.0)
                    if self._over():
                        return
            except Exception as error:
                # Halts go on meanwhile, also where no executor lives for long.
                for dog in self._dogs:
                    dog.report("the executor", error)
                if self._over():
                    return
                time.sleep(_LOOK)
            finally:
                executor.shutdown(timeout_sec=0.0)

    def _over(self) -> bool:
        """Let the watchdogs look; tell whether all is done."""
        now = time.monotonic()
        orphan = bool(self._parent) and os.getppid() != self._parent
        for dog in self._dogs:
            dog.look()
            if orphan:
                dog.close("the supervisor of the robot's adapter has ended")
            elif self._asked and not dog.alive:
                dog.close("the watchdog was told to end, and the robot's adapter has ended")
        late = bool(self._asked) and now - self._asked > _WAITS
        return all(dog.closed or (late and not dog.closing) for dog in self._dogs)


def make_watchdog(name: str = "watchdog", **options: Any) -> Watchdog:
    """Make a watchdog with a plain node.

    Args:
        name: The node's name.
        **options: `namespace`, that of the robot; `context`; `parameters`, which go before the
            defaults and after the command line.

    Raises:
        ValueError: A parameter cannot be used.
    """
    given = options.pop("parameters", None) or {}
    overrides = [Parameter(key, value=value) for key, value in given.items()]
    overrides.append(Parameter("start_type_description_service", value=False))
    node = Node(
        name,
        enable_rosout=False,
        start_parameter_services=False,
        parameter_overrides=overrides,
        **options,
    )
    try:
        return Watchdog(node)
    except Exception:
        node.destroy_node()
        raise


def main(args: Sequence[str] | None = None) -> None:
    """Watch the adapters of one process's robots until it is told to end."""
    code = _run(args)
    sys.stdout.flush()
    os._exit(code)  # what tears down libraries may hang, and the robot stands


def _run(args: Sequence[str] | None) -> int:
    parent = os.environ.get("COTERIE_PARENT", "")
    arguments, namespace = take_namespace(sys.argv if args is None else args)
    arguments += team_remaps(arguments, namespace)
    context = Context()
    try:
        rclpy.init(args=arguments, context=context, signal_handler_options=SignalHandlerOptions.NO)
        remember_arguments(context, arguments)
        parser = argparse.ArgumentParser(prog="watchdog_node", description=__doc__)
        parser.add_argument("--robots", nargs="+", required=True, metavar="NAME")
        robots = parser.parse_args(remove_ros_args(args=arguments)[1:]).robots
        dogs = [make_watchdog(namespace=f"{namespace}/{name}", context=context) for name in robots]
    except SystemExit as wish:
        return wish.code if isinstance(wish.code, int) else 1
    except Exception as error:
        print(f"watchdog_node: {error}", file=sys.stderr, flush=True)
        return MISCONFIGURED if isinstance(error, ValueError) else 1
    watch = Watch(context, dogs, int(parent) if parent.isdigit() else 0)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, watch.end)
    for dog in dogs:
        dog.node.get_logger().info("ready")
    watch.run()
    return 0


if __name__ == "__main__":
    main()
