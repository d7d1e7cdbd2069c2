"""AgentNode: a lifecycle node with an asyncio loop of its own, in which the agent lives."""

from __future__ import annotations

import asyncio
import inspect
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, ClassVar, TypeVar

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.action.server import RCLError
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter

from coterie_core.plain_data import MAX_ERROR_CHARS, shorten
from coterie_ros import serving
from coterie_ros.diagnostics import Diagnostics
from coterie_ros.loop import LoopThread
from coterie_ros.parameters import Parameters, ParameterSpec, declare
from coterie_ros.priority_node import PriorityNode
from coterie_ros.private_rclpy import require_private_rclpy
from coterie_ros.qos import profile
from coterie_ros.qos_events import WithoutQosEvents
from coterie_ros.safe_publisher import SafePublisher
from coterie_ros.subscribing import subscribe
from coterie_ros.waitables import DestroySafe
from coterie_safety.stop import one_line

T = TypeVar("T")

_OK = TransitionCallbackReturn.SUCCESS
_FAILED = TransitionCallbackReturn.FAILURE
_WIND_DOWN = 2.0
"""Longest time between the halt of a node's work and its deactivation [s]."""
_POLL_PERIOD_S = 0.02  # [s]
_LEAVES_ACTIVE = (
    Transition.TRANSITION_DEACTIVATE,
    Transition.TRANSITION_ACTIVE_SHUTDOWN,
)

COMMON_PARAMETERS = (
    ParameterSpec(
        "autostart",
        True,
        "The node configures and activates itself; false: a lifecycle manager does.",
    ),
    ParameterSpec(
        "diagnostics_period",
        1.0,
        "Time between diagnostic reports of the node; 0: no reports.",
        "s",
        minimum=0.0,
        maximum=60.0,
    ),
)


class AgentNode(WithoutQosEvents, LifecycleNode):
    """A lifecycle node whose work is coroutines in an asyncio loop in a thread of its own.

    Executor callbacks only hand things over and return; nothing that they call waits. Subclasses
    set `PARAMETERS` and override the hooks, which run in the executor's thread:

    - `on_setup(parameters)`: read files, make publishers, services and actions. What it makes is
      destroyed when the node is cleaned up.
    - `on_start()`: subscribe, start tasks with `run` and `every`. What it makes is destroyed, and
      all tasks are cancelled, when the node is deactivated.
    - `on_halt()`: whatever this node moves is to stand; before anything else ends.
    - `on_stop()`, `on_release()`: before that is done.

    A node ends in two steps. `wind_down` halts, refuses new work and cancels all tasks, while the
    executor still spins, so that what they cancel is cancelled by its server, too. Only then is the
    node deactivated. A change of its state by service, a signal and a failure all go this way.

    Args:
        name: The node's name.
        namespace: Its namespace; relative ones are below the root.
        context: rclpy context; None for the default one.
        parameters: Values that go before the defaults and after the command line.
        light: Whether it goes without rosout, parameter services and type description: several
            times faster to make, for nodes that are made by the dozen. Topics that several nodes of
            a process listen to are then subscribed to together.
    """

    PARAMETERS: ClassVar[Sequence[ParameterSpec]] = ()
    SAYS_READY: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        *,
        namespace: str | None = None,
        context: Context | None = None,
        parameters: Mapping[str, Any] | None = None,
        light: bool = False,
    ) -> None:
        overrides = [Parameter(key, value=value) for key, value in (parameters or {}).items()]
        if light:
            overrides.append(Parameter("start_type_description_service", value=False))
        require_private_rclpy()
        super().__init__(
            name,
            namespace=namespace or None,
            context=context,
            parameter_overrides=overrides,
            enable_rosout=not light,
            start_parameter_services=not light,
        )
        self.failure = ""  # why the process has to end, if it has to
        self.misconfigured = False  # what it was told is impossible: no restart helps
        self._trouble = ""
        self._scopes: dict[str, list[Callable[[], object]]] = {"setup": [], "start": []}
        self._scope = "setup"
        self.stopping = False
        self.ending = False  # the whole process ends: nothing is begun any more
        self._wound_down_by: float | None = None  # on the monotonic clock [s]
        self.light = light
        change = self._service_change_state
        self._change_state, self._send_change = change.callback, change.send_response
        # rclpy calls the second one with what the first one returns: the request itself.
        change.callback = lambda request, response: request
        change.send_response = self._on_change_request
        self._urgent: PriorityNode | None = None
        self.loop = LoopThread(self.get_fully_qualified_name(), self.report_failure)
        try:
            self.parameters: Parameters = declare(self, (*COMMON_PARAMETERS, *self.PARAMETERS))
        except Exception:
            self.loop.close()
            super().destroy_node()
            raise
        self.diagnostics = Diagnostics(self)
        self._starter = None
        if self.parameters["autostart"]:
            # Steady time: with use_sim_time there may be no clock yet.
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self._starter = self.create_timer(0.001, self._autostart, clock=steady)

    # -- hooks ---------------------------------------------------------------------------------

    def on_setup(self, parameters: Parameters) -> None:
        """Get ready; raise to say that it is impossible, and what to do."""

    def on_start(self) -> None:
        """Begin to work."""

    def on_halt(self) -> None:
        """Have what this node moves stand; called in any thread, must not wait."""

    def halt_answered(self) -> bool:
        """Return whether what `on_halt` asked for has been answered."""
        return True

    def on_stop(self) -> None:
        """End the work; tasks are cancelled afterwards."""

    def on_release(self) -> None:
        """Let go of what `on_setup` took; publishers, services and actions go by themselves."""

    # -- lifecycle -----------------------------------------------------------------------------

    @property
    def state_label(self) -> str:
        """The lifecycle state's name: unconfigured, inactive, active, finalized."""
        try:
            return str(self._state_machine.current_state[1])
        except Exception:  # the handle is gone
            return "finalized"

    @property
    def active(self) -> bool:
        """Whether the node works, and takes work."""
        return self._wound_down_by is None and self.state_label in ("active", "activating")

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run `on_setup`; the node stays unconfigured where that fails."""
        self._scope = "setup"
        return self._attempt("configure", lambda: self.on_setup(self.parameters), "setup")

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run `on_start`; the node stays inactive where that fails."""
        self._scope = "start"
        period = self.parameters["diagnostics_period"]
        if period > 0.0:
            self.every(period, self.diagnostics.publish, name="diagnostics")
        return self._attempt("activate", self.on_start, "start")

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run `on_stop`, cancel all tasks, destroy what `on_start` made."""
        waited = self._wound_down_by is not None
        if not waited:
            self._halt_at_once()
        result = self._attempt("deactivate", self.on_stop, None)
        self._end("start", waited=waited)
        self._scope = "setup"
        self._wound_down_by = None
        return result

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run `on_release`, destroy what `on_setup` made."""
        result = self._attempt("clean up", self.on_release, None)
        self._end("setup")
        return result

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop and release, from whatever state."""
        if state.label == "active":
            self.on_deactivate(state)
        if state.label in ("active", "inactive"):
            self.on_cleanup(state)
        return _OK

    def wind_down(self) -> None:
        """Halt, refuse new work, cancel all tasks; returns at once, from any thread.

        Spin until `wound_down` next: cancelled tasks tell their servers.
        """
        if self._wound_down_by is None and self.state_label == "active":
            self._wound_down_by = time.monotonic() + _WIND_DOWN
            self._halt_at_once()
            self.loop.cancel_soon()

    @property
    def wound_down(self) -> bool:
        """Whether all tasks have ended and what was moved stands, or that took too long."""
        by = self._wound_down_by
        if by is None or time.monotonic() >= by:
            return True
        return self.loop.running == 0 and self.halt_answered()

    def _halt_at_once(self) -> None:
        try:
            self.on_halt()
        except Exception as error:
            self.report_failure("halt", error)

    def _on_change_request(self, request: ChangeState.Request, header: Any) -> None:
        """Change the state as a service call asks, once the work has been wound down."""
        number, label = int(request.transition.id), str(request.transition.label)
        leaves = number in _LEAVES_ACTIVE if not label else label in ("deactivate", "shutdown")

        def change() -> None:
            try:
                response = self._change_state(request, ChangeState.Response())
            except RCLError as error:  # from this state nothing leads there; the node goes on
                why = f"transition {label or number} from {self.state_label}"
                self.problem(f"change_state: {why}: {one_line(str(error))}")
                response = ChangeState.Response(success=False)
            serving.send_response(self, "change_state", self._send_change, response, header)

        if self._wound_down_by is not None:  # it leaves the state already
            response = ChangeState.Response(success=False)
            serving.send_response(self, "change_state", self._send_change, response, header)
        elif not leaves or self.state_label != "active":
            change()
        else:
            self.wind_down()
            self._once_wound_down(change)

    def _once_wound_down(self, work: Callable[[], object]) -> None:
        def look() -> None:
            if self.wound_down and not self.stopping:
                self.destroy_timer(timer)
                work()

        # Steady time: simulated time may stand still. An executor's timer: the loop may be blocked.
        timer = self.create_timer(
            _POLL_PERIOD_S, look, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def stop_work(self) -> None:
        """Deactivate and clean up; call before `destroy_node`, when the node is `wound_down`."""
        if self.stopping:
            return
        self.stopping = True
        waited = self._wound_down_by is not None
        if self._starter is not None:
            self.destroy_timer(self._starter)
            self._starter = None
        if self.state_label == "active":
            self.trigger_deactivate()
        if self.state_label == "inactive":
            self.trigger_cleanup()
        if not self.loop.close(*[_POLL_PERIOD_S] * waited):
            self.get_logger().warning("tasks did not end within 2 s of being cancelled")

    def destroy_node(self) -> None:
        """Stop, then destroy the node; its executor must not spin afterwards."""
        self.stop_work()
        for one in tuple(self.waitables):
            if isinstance(one, DestroySafe):
                one.end()
        super().destroy_node()
        # rclpy leaves it; it holds the node, and with it the DDS participant and its threads.
        self._state_machine.destroy_when_not_in_use()

    def _autostart(self) -> None:
        if self._starter is None:
            return
        self.destroy_timer(self._starter)
        self._starter = None
        if self.trigger_configure() != _OK or self.trigger_activate() != _OK:
            self.failure = self._trouble or "could not start"
        elif self.SAYS_READY:
            self.get_logger().info("ready")

    def _attempt(
        self, what: str, hook: Callable[[], object], undo: str | None
    ) -> TransitionCallbackReturn:
        try:
            hook()
        except Exception as error:
            self._trouble = f"could not {what}: {shorten(str(error), MAX_ERROR_CHARS)}"
            self.misconfigured = isinstance(error, ValueError)
            self.get_logger().error(self._trouble)
            if not isinstance(error, (ValueError, OSError)):
                self.get_logger().error(traceback.format_exc())
            self.diagnostics.error(self._trouble)
            if undo is not None:
                self._end(undo)
                return _FAILED
        return _OK

    def _end(self, scope: str, *, waited: bool = False) -> None:
        if not self.loop.cancel_all(*[_POLL_PERIOD_S] * waited):
            self.get_logger().warning("some tasks did not end within 2 s of being cancelled")
        ends, self._scopes[scope] = self._scopes[scope], []
        for end in reversed(ends):
            try:
                end()
            except InvalidHandle:
                pass

    # -- work ----------------------------------------------------------------------------------

    def run(self, work: Coroutine[Any, Any, T], name: str = "") -> Future[T]:
        """Start a coroutine in the loop, from any thread; returns at once.

        An exception in it is logged and shown in the diagnostics. Cancelling the future cancels
        the coroutine.
        """
        return self.loop.run(work, name)

    def live_by(self, work: Coroutine[Any, Any, None], name: str) -> Future[None]:
        """Start what the node is there for: an exception in it ends the process with the node.

        Who watches the process starts it again; a node that only seems to work holds up the team.
        """

        async def whole() -> None:
            try:
                await work
            except Exception as error:
                self.failure = f"{name}: {type(error).__name__}: {error}"
                raise

        return self.run(whole(), name)

    def every(
        self,
        period: float,
        callback: Callable[[], Awaitable[None] | None],
        name: str = "",
    ) -> Future[None]:
        """Call something in the loop every `period` [s] of wall time; late calls are skipped."""

        async def repeat() -> None:
            loop = asyncio.get_running_loop()
            due = loop.time()
            while True:
                try:
                    outcome = callback()
                    if inspect.isawaitable(outcome):
                        await outcome
                except Exception as error:
                    self.report_failure(name or "timer", error)
                due += period
                now = loop.time()
                if due < now:
                    due = now + period
                await asyncio.sleep(due - now)

        return self.run(repeat(), name or "timer")

    async def in_executor(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run a short function in the executor's thread and await it; for use in the loop.

        rclpy's clients keep their books without a lock: call them from there.
        """
        executor = self.executor
        if executor is None:
            raise RuntimeError("the node has not been added to an executor")
        return await self.loop.elsewhere(executor.create_task, partial(function, *arguments))

    def post(self, function: Callable[[], object]) -> None:
        """Run a short function in the executor's thread soon, from any thread; errors are reported.

        What raises inside an EventsExecutor takes the process down, so nothing may.
        """

        def work() -> None:
            try:
                function()
            except Exception as error:
                if self.context.ok() and self.state_label != "finalized":
                    self.report_failure("a task of the executor", error)

        if self.executor is not None and self.context.ok():
            self.executor.create_task(work)

    @property
    def urgent(self) -> PriorityNode:
        """A node beside this one for what must not wait for its callbacks; for `on_start`."""
        if self._urgent is None:
            self._urgent = PriorityNode(self)
            self.at_end(self._end_urgent)
        return self._urgent

    def _end_urgent(self) -> None:
        urgent, self._urgent = self._urgent, None
        if urgent is not None:
            urgent.close()

    # -- topics, services, actions -------------------------------------------------------------

    def publisher(self, message_type: Any, topic: str, qos: str) -> SafePublisher:
        """Create a publisher with a named QoS profile."""
        publisher = self.create_publisher(message_type, topic, profile(qos))
        self._scopes[self._scope].append(lambda: self.destroy_publisher(publisher))
        return SafePublisher(self, publisher)

    def subscribe(
        self,
        message_type: Any,
        topic: str,
        qos: str,
        callback: Callable[[Any], Awaitable[None] | None],
        *,
        convert: Callable[[Any], Any] | None = None,
        limit: int = 2000,
        rate: float | None = None,
        sampled: bool = False,
        latched: bool = False,
    ) -> None:
        """Subscribe; `callback` gets each message in the loop's thread, in the order they came.

        Args:
            message_type: Type of the messages.
            topic: Topic.
            qos: Name of the QoS profile.
            callback: A function, or a coroutine function, which becomes a task.
            convert: Turns the message into what the callback gets; where it raises ValueError,
                the message is dropped, counted and reported.
            limit: Most messages that wait; more are dropped and counted.
            rate: Largest rate at which messages are read [1/s]; more are dropped unread. For
                images: a camera that floods takes no time from others then. None: no limit.
            sampled: More messages than `rate` are no problem that is told.
            latched: Publishers that send once, and latch it, are heard, too.
        """
        end = subscribe(
            self,
            message_type,
            topic,
            qos,
            callback,
            convert=convert,
            limit=limit,
            rate=rate,
            sampled=sampled,
            latched=latched,
        )
        self._scopes[self._scope].append(end)

    def serve(
        self,
        service_type: Any,
        name: str,
        work: Callable[[Any], Awaitable[Any]],
        timeout: float | None = None,
    ) -> None:
        """Offer a service; `work(request)` is a coroutine that returns the response."""
        service = serving.serve(self, service_type, name, work, timeout)
        self._scopes[self._scope].append(lambda: self.destroy_service(service))

    def serve_action(
        self,
        action_type: Any,
        name: str,
        execute: serving.Execute,
        *,
        when_busy: serving.WhenBusy = "parallel",
        check: serving.Check | None = None,
        mark: serving.Mark = serving.no_mark,
    ) -> serving.CoroutineActionServer:
        """Offer an action; `execute(goal)` is a coroutine that returns the result.

        Cancelling the goal cancels the coroutine; it may catch `asyncio.CancelledError` and return
        `goal.cancel(result)` with what it has reached.

        Args:
            action_type: Type of the action.
            name: Its name.
            execute: Takes a `GoalContext`.
            when_busy: Effect of a new goal on those that run: none, it ends them, or it is refused.
            check: Returns why a goal cannot be accepted, or None; called before it is accepted.
            mark: Called in the executor's thread when a goal is accepted, however long the loop
                takes to begin it; the goal keeps what it returns.
        """
        server = serving.CoroutineActionServer(
            self, action_type, name, execute, when_busy=when_busy, check=check, mark=mark
        )
        self.at_end(server.destroy)
        return server

    def at_end(self, function: Callable[[], object]) -> None:
        """Call a function when what is made now is destroyed (see the class's description)."""
        self._scopes[self._scope].append(function)

    def now(self) -> float:
        """Return the node's clock [s]: simulated time where use_sim_time is set."""
        return float(self.get_clock().now().nanoseconds) * 1e-9

    # -- what goes wrong -----------------------------------------------------------------------

    def problem(self, text: str) -> None:
        """Log a problem that the node works around, and show it in the diagnostics."""
        self.diagnostics.warn(text)
        self.get_logger().warning(text)

    def report_failure(self, what: str, error: BaseException) -> None:
        """Log an exception that nobody awaits, with its traceback, and show it."""
        text = f"{what}: {type(error).__name__}: {error}"
        self.diagnostics.count("failures")
        self.diagnostics.error(text)
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        self.get_logger().error(text + "\n" + "".join(lines))
