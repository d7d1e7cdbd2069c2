"""Actions and services whose work is a coroutine in the node's loop, never in an executor callback.

An rclpy callback that is a coroutine keeps an EventsExecutor busy for as long as it waits. Here the
callbacks return at once; when the coroutine ends, its result is handed back to the executor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import RCLError, ServerGoalHandle
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import InvalidHandle
from rclpy.service import Service

from coterie_core.waiting import in_time
from coterie_ros.host import Host
from coterie_ros.waitables import DestroySafeActionServer
from coterie_safety.why.context import about

WhenBusy = Literal["parallel", "preempt", "reject"]
Execute = Callable[["GoalContext"], Awaitable[Any]]
Check = Callable[[Any], "str | None"]
Mark = Callable[[], Any]

# How long the result of a goal can be asked for after its end [s]; longer than any link is cut for
# before peers are forgotten, and short enough for thousands of goals.
_KEEP_RESULTS = 120


def no_mark() -> None:
    """Mark nothing."""


class GoalContext:
    """One goal of an action server, as its coroutine sees it. Use it in the loop's thread.

    Attributes:
        request: The goal message.
        id: The goal's id, 32 hexadecimal digits.
        cancelled: Whether a client asked to cancel it.
        preempted: Whether a newer goal takes its place.
        mark: Value that the server's `mark` returned when the goal was accepted.
    """

    def __init__(self, handle: ServerGoalHandle, action_type: Any, mark: Any = None) -> None:
        self._handle = handle
        self._type = action_type
        self.request = handle.request
        self.mark = mark
        self.id = bytes(handle.goal_id.uuid).hex()
        self.cancelled = False
        self.preempted = False
        self.wanted: Literal["succeed", "abort", "cancel"] | None = None

    def feedback(self, message: Any) -> None:
        """Publish feedback."""
        try:
            self._handle.publish_feedback(message)
        except RCLError:
            pass  # the goal or the node ended this moment

    def succeed(self, result: Any) -> Any:
        """Mark the goal as succeeded: `return goal.succeed(result)` (a plain return does, too)."""
        self.wanted = "succeed"
        return result

    def abort(self, result: Any) -> Any:
        """Mark the goal as failed; say why in the result."""
        self.wanted = "abort"
        return result

    def cancel(self, result: Any) -> Any:
        """Mark the goal as cancelled (as failed where no client asked for it)."""
        self.wanted = "cancel"
        return result

    def end(self, ok: bool, result: Any) -> Any:
        """Mark the goal as it went: reached, cancelled where a client asked for it, or failed."""
        if ok:
            return self.succeed(result)
        return self.cancel(result) if self.cancelled else self.abort(result)

    def conclude(self, result: Any) -> Any:
        """Bring the goal into its final state; for the executor's thread. Returns the result."""
        try:
            if self.wanted == "cancel":
                if self._handle.is_cancel_requested:
                    self._handle.canceled()
                else:
                    self._handle.abort()
            elif self.wanted == "abort":
                self._handle.abort()
            else:
                self._handle.succeed()
        except RCLError:
            pass  # the node ended this moment
        return result


class _WithOwnClock:
    """A node with another clock, for what rclpy's action server takes from a node.

    It keeps a timer on that clock to forget old results. On the node's own clock the timers of many
    servers get into each other's way, and while simulated time stands still none would ever fire.
    """

    def __init__(self, node: Host) -> None:
        self._node = node
        self._clock = Clock(clock_type=ClockType.SYSTEM_TIME)

    def get_clock(self) -> Clock:
        return self._clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)


class CoroutineActionServer:
    """An action server that runs one coroutine per goal; made by `AgentNode.serve_action`."""

    def __init__(
        self,
        node: Host,
        action_type: Any,
        name: str,
        execute: Execute,
        *,
        when_busy: WhenBusy = "parallel",
        check: Check | None = None,
        mark: Mark = no_mark,
    ) -> None:
        self._node = node
        self._mark = mark
        self._type = action_type
        self._name = name
        self._execute = execute
        self._when_busy = when_busy
        self._check = check
        self._running: dict[str, tuple[GoalContext, asyncio.Task[Any] | None]] = {}
        self._server = DestroySafeActionServer.of(
            node, action_type, name
        ) or DestroySafeActionServer(
            node,
            _WithOwnClock(node),
            action_type,
            name,
            execute_callback=lambda handle: action_type.Result(),
            result_timeout=_KEEP_RESULTS,
        )
        self._server.register_goal_callback(self._on_goal)
        self._server.register_handle_accepted_callback(self._on_accepted)
        self._server.register_cancel_callback(self._on_cancel)

    @property
    def busy(self) -> int:
        """Number of goals that run."""
        return len(self._running)

    def destroy(self) -> None:
        """Refuse all goals from now on; those that run have been cancelled before."""
        self._server.destroy()

    def vanish(self) -> None:
        """Take the server off the graph, as if its process had died.

        An EventsExecutor that has events of it queued does not survive that: for simulators.
        """
        self._server.end()

    def _on_goal(self, request: Any) -> GoalResponse:
        if self._server.ended:
            return GoalResponse.REJECT
        if not self._node.active:
            self._node.problem(f"{self._name}: goal refused, the node is {self._node.state_label}")
            return GoalResponse.REJECT
        if self._when_busy == "reject" and self._running:
            self._node.problem(
                f"{self._name}: goal refused, another one is running; cancel it first"
            )
            return GoalResponse.REJECT
        why = self._check(request) if self._check is not None else None
        if why:
            self._node.problem(f"{self._name}: goal refused: {why}")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        context = GoalContext(handle, self._type, self._mark())
        self._running[context.id] = (context, None)
        try:
            handle.execute()
        except RCLError:
            pass  # cancelled already
        if not self._node.loop.call(self._start, handle, context):
            self._running.pop(context.id, None)
            context.wanted = "abort"
            self._hand_back(handle, context, self._failure("the node is shutting down"))

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        self._node.loop.call(self._cancel, bytes(handle.goal_id.uuid).hex())
        return CancelResponse.ACCEPT

    # -- in the loop's thread ------------------------------------------------------------------

    def _start(self, handle: ServerGoalHandle, context: GoalContext) -> None:
        if self._when_busy == "preempt":
            for other, task in list(self._running.values()):
                if other is not context and task is not None:
                    other.preempted = True
                    self._cancel_soon(task)
        task = self._node.loop.spawn(self._work(handle, context), f"{self._name} {context.id[:8]}")
        self._running[context.id] = (context, task)
        if context.cancelled:
            self._cancel_soon(task)

    def _cancel(self, goal_id: str) -> None:
        context, task = self._running.get(goal_id, (None, None))
        if context is not None:
            context.cancelled = True
            if task is not None:
                self._cancel_soon(task)

    def _cancel_soon(self, task: asyncio.Task[Any]) -> None:
        # Not before its first step: a coroutine that never began could not say how it ended.
        self._node.loop.loop.call_soon(task.cancel)

    async def _work(self, handle: ServerGoalHandle, context: GoalContext) -> None:
        try:
            with about(goal=context.id):
                result = await self._execute(context)
            if not isinstance(result, self._type.Result):
                raise TypeError(
                    f"{self._name}: expected a {self._type.Result.__name__} to be returned, "
                    f"got {type(result).__name__}"
                )
        except asyncio.CancelledError:
            context.wanted = "cancel"
            why = "cancelled" if context.cancelled else "the node stopped"
            result = self._failure("a newer goal took its place" if context.preempted else why)
        except Exception as error:
            self._node.report_failure(f"action {self._name}", error)
            context.wanted = "abort"
            result = self._failure(f"internal error: {error}")
        finally:
            self._running.pop(context.id, None)
        self._hand_back(handle, context, result)

    def _hand_back(self, handle: ServerGoalHandle, context: GoalContext, result: Any) -> None:
        if self._node.executor is not None and self._node.context.ok():
            self._server.notify_execute(handle, lambda _: context.conclude(result))

    def _failure(self, why: str) -> Any:
        return _explained(self._type.Result(), why)


def serve(
    node: Host,
    service_type: Any,
    name: str,
    work: Callable[[Any], Awaitable[Any]],
    timeout: float | None = None,
) -> Service:
    """Create a service whose response comes from a coroutine in the node's loop.

    Args:
        node: The node that offers it.
        service_type: Type of the service, for example `std_srvs.srv.Trigger`.
        name: Its name.
        work: Takes the request, returns the response.
        timeout: Longest time that the work may take [s]; None for no limit.
    """
    service: Service = node.create_service(service_type, name, lambda request, _: request)
    send = service.send_response

    def respond(response: Any, header: Any) -> None:
        def put() -> None:
            send_response(node, name, send, response, header)

        node.post(put)

    async def answer(request: Any, header: Any) -> None:
        try:
            response = await in_time(work(request), timeout)
        except asyncio.CancelledError:
            response = _explained(service_type.Response(), "the node stopped; ask again later")
        except asyncio.TimeoutError:
            response = _explained(service_type.Response(), f"no answer within {timeout:g} s")
        except Exception as error:
            node.report_failure(f"service {name}", error)
            response = _explained(service_type.Response(), f"internal error: {error}")
        respond(response, header)

    def take(request: Any, header: Any) -> None:
        # rclpy calls this with what the callback returned: the request itself.
        if not node.active:
            why = f"the node is {node.state_label}; activate it first"
            send_response(node, name, send, _explained(service_type.Response(), why), header)
        elif node.loop.closed:
            why = "the node is shutting down"
            send_response(node, name, send, _explained(service_type.Response(), why), header)
        else:
            node.loop.run(answer(request, header), f"service {name}")

    service.send_response = take
    return service


def send_response(
    node: Host, name: str, send: Callable[[Any, Any], object], response: Any, header: Any
) -> None:
    """Send a response; one that has no service or no client left any more is dropped."""
    try:
        send(response, header)
    except InvalidHandle:
        pass  # the service was destroyed meanwhile: the node stops or ends
    except RCLError as error:
        node.problem(f"service {name}: response not sent ({error})")


def _explained(message: Any, why: str) -> Any:
    """Put a reason into the field of a result or response that is made for it, if it has one."""
    inner = getattr(message, "result", None)
    for target in (message, inner):
        if target is None:
            continue
        for field in ("reason", "message"):
            if isinstance(getattr(target, field, None), str):
                setattr(target, field, why)
                return message
    return message
