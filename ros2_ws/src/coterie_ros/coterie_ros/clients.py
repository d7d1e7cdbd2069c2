"""Service and action clients for asyncio code, with time-outs and repeats."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.action.client import ClientGoalHandle
from rclpy.node import Node
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from coterie_core.skills import Outcome
from coterie_core.waiting import in_time
from coterie_msgs.action import Manipulate, NavigateTo
from coterie_msgs.msg import SkillResult
from coterie_ros.waitables import DestroySafeActionClient
from coterie_safety.why import note
from coterie_safety.why.journal import keeping

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

_CANCEL_TIMEOUT_S = 60.0
"""Time that a goal that was given up is cancelled while its server does not know it [s]."""
_FINAL_CANCEL_TIMEOUT_S = 1.0
"""Time that it is cancelled once its node ends [s]."""

__all__ = ["ActionClient", "GoalEnd", "GoalRejected", "NoAnswer", "ServiceClient"]


class NoAnswer(TimeoutError):
    """A service or action server did not answer in time; says which, after how long, what to do."""


class GoalRejected(RuntimeError):
    """An action server did not accept a goal."""


class ServiceClient:
    """Calls one service from the loop of its node."""

    def __init__(self, node: AgentNode, service_type: Any, name: str) -> None:
        self._node = node
        self._client = node.create_client(service_type, name)
        node.at_end(lambda: node.destroy_client(self._client))
        self.name = name

    async def call(self, request: Any, *, timeout: float = 5.0, attempts: int = 3) -> Any:
        """Return the response.

        The same request is sent up to `attempts` times: put an id into it where doing it twice
        would hurt.

        Args:
            request: The request message.
            timeout: Longest wait for each attempt's response [s].
            attempts: Number of times that it is sent.

        Raises:
            NoAnswer: No response came.
        """
        for _ in range(attempts):
            # A request that nobody has been matched with yet is lost without a word.
            if not await self.wait(timeout):
                continue
            answer = await _sent(self._node, lambda: self._client.call_async(request))
            try:
                return await in_time(answer.wait(), timeout)
            except asyncio.TimeoutError:
                self._client.remove_pending_request(answer.future)
        raise NoAnswer(
            f"service {self.name}: no response to {attempts} requests of {timeout:g} s each; "
            "is the node that offers it running and reachable (same ROS_DOMAIN_ID)?"
        )

    async def wait(self, timeout: float = 10.0) -> bool:
        """Wait until a server is there; False where none came in time [s]."""
        return await _until(self._client.service_is_ready, timeout)

    @property
    def there(self) -> bool:
        """Whether a server is there."""
        return bool(self._client.service_is_ready())


@dataclass(frozen=True, slots=True)
class GoalEnd:
    """How a goal ended: an `action_msgs.msg.GoalStatus` number and the result message."""

    status: int
    result: Any

    @property
    def succeeded(self) -> bool:
        """Whether the server says that it reached the goal."""
        return self.status == GoalStatus.STATUS_SUCCEEDED


class ActionClient:
    """Runs goals of one action from the loop of its node."""

    def __init__(self, node: AgentNode, action_type: Any, name: str) -> None:
        self._node = node
        self._type = action_type
        self._client = DestroySafeActionClient.of(
            node, action_type, name
        ) or DestroySafeActionClient(node, action_type, name)
        node.at_end(self._client.destroy)
        self.name = name

    async def wait(self, timeout: float = 10.0) -> bool:
        """Wait until a server is there; False where none came in time [s]."""
        return await _until(self._client.server_is_ready, timeout)

    @property
    def there(self) -> bool:
        """Whether a server is there."""
        return not self._client.ended and bool(self._client.server_is_ready())

    async def run(
        self,
        goal: Any,
        *,
        on_feedback: Callable[[Any], object] | None = None,
        accept_timeout: float = 5.0,
        attempts: int = 3,
        timeout: float | None = None,
        poll: float = 5.0,
        lost_after: float = 15.0,
        stopping: float = 0.0,
        goal_id: bytes | None = None,
    ) -> GoalEnd:
        """Send a goal and return how it ended; cancelling the caller cancels the goal.

        The goal keeps its id when it is sent again, so that it is never run twice, and the result
        is asked for again every `poll` seconds, because the response to one request may be lost.

        Args:
            goal: The goal message.
            on_feedback: Called in the loop with every feedback message.
            accept_timeout: Longest wait for each attempt to be accepted [s].
            attempts: Number of times that the goal is sent.
            timeout: Longest wall time [s], after which the goal is cancelled; None: no limit.
            poll: Time between requests for the result [s].
            lost_after: Time that the server may be out of sight before the goal is given up [s].
            stopping: Longest wait for the goal's end once the caller was cancelled [s].
            goal_id: 16 bytes; None: random ones.

        Raises:
            GoalRejected: The server does not accept the goal.
            NoAnswer: The server did not answer, or the goal did not end in time.
        """
        identity = UUID(uuid=list(goal_id or uuid.uuid4().bytes))
        attempt = _Attempt(_handle_of(self._client, identity))
        sent = note_sent(self._node, self.name, goal, bytes(identity.uuid).hex())
        try:
            await self._accepted(attempt, goal, on_feedback, accept_timeout, attempts)
            end = await in_time(self._result(attempt.handle, poll, lost_after), timeout)
            note_ended(self._node, sent, end.status, end.result)
            return end
        except asyncio.TimeoutError as error:
            note_ended(self._node, sent, GoalStatus.STATUS_UNKNOWN, None, str(error))
            self._take_back(attempt)
            if isinstance(error, NoAnswer):
                raise
            raise NoAnswer(f"action {self.name}: the goal did not end within {timeout} s") from None
        except asyncio.CancelledError:
            note_ended(self._node, sent, GoalStatus.STATUS_CANCELED, None)
            self._take_back(attempt)
            with contextlib.suppress(asyncio.TimeoutError, GoalRejected):
                if stopping > 0.0 and attempt.answers:
                    await in_time(self._result(attempt.handle, poll, lost_after), stopping)
            raise
        finally:
            self._client._feedback_callbacks.pop(bytes(identity.uuid), None)

    async def _accepted(
        self,
        attempt: _Attempt,
        goal: Any,
        on_feedback: Callable[[Any], object] | None,
        timeout: float,
        attempts: int,
    ) -> None:
        def feedback(message: Any) -> None:
            if on_feedback is not None:
                self._node.loop.call(on_feedback, message.feedback)

        def send() -> Future:
            future = self._client.send_goal_async(
                goal, feedback_callback=feedback, goal_uuid=attempt.handle.goal_id
            )
            attempt.answers.append(future)
            return future

        for _ in range(attempts):
            if not await self.wait(timeout):
                continue
            answer = await _sent(self._node, send)
            try:
                handle: ClientGoalHandle = await in_time(answer.wait(), timeout)
            except asyncio.TimeoutError:
                continue
            # A later answer says no where an earlier one, saying yes, was lost.
            if handle.accepted or len(attempt.answers) > 1:
                return
            raise GoalRejected(
                f"action {self.name}: the goal was rejected; the server's log says why"
            )
        raise NoAnswer(
            f"action {self.name}: no server accepted the goal ({attempts} attempts of {timeout:g} "
            "s); is the node that offers it running and reachable (same ROS_DOMAIN_ID)?"
        )

    async def _result(self, handle: ClientGoalHandle, poll: float, lost_after: float) -> GoalEnd:
        answers: list[_Answer] = []
        clock = asyncio.get_running_loop().time
        seen = clock()
        while True:
            if self._client.server_is_ready():
                seen = clock()
            elif clock() - seen > lost_after:
                raise NoAnswer(
                    f"action {self.name}: its server has been gone for {lost_after:g} s while a "
                    "goal was running; start it again, and send the goal again"
                )
            answers.append(await _sent(self._node, handle.get_result_async))
            tasks = [asyncio.ensure_future(answer.wait()) for answer in answers]
            try:
                done, _ = await asyncio.wait(
                    tasks, timeout=poll, return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                for task in tasks:
                    task.cancel()
            if done:
                response = done.pop().result()
                if response.status == GoalStatus.STATUS_UNKNOWN:
                    raise GoalRejected(
                        f"action {self.name}: the server does not know the goal (any more); it was "
                        "started again: send the goal again"
                    )
                return GoalEnd(response.status, response.result)
            del answers[:-2]

    def _take_back(self, attempt: _Attempt) -> None:
        """Cancel what was sent until its server says that it is gone; in the background."""
        if attempt.answers and not self._client.ended:
            self._node.loop.spawn(self._taken_back(attempt), f"cancel a goal of {self.name}")

    async def _taken_back(self, attempt: _Attempt) -> None:
        clock = asyncio.get_running_loop().time
        end, pause = clock() + _CANCEL_TIMEOUT_S, 0.1
        while clock() < end and not self._client.ended:
            try:
                if attempt.rejected or await self._is_gone(attempt, pause):
                    return
                await asyncio.sleep(pause)
                pause = min(2.0 * pause, 1.0)
            except asyncio.CancelledError:
                end = min(
                    end, clock() + _FINAL_CANCEL_TIMEOUT_S
                )  # the node ends; the goal must, too
            except RuntimeError:
                return  # the node has ended
        if attempt.accepted and not self._client.ended:
            self._node.problem(
                f"action {self.name}: its server does not end a goal that was cancelled; what it "
                "moves may still move"
            )

    async def _is_gone(self, attempt: _Attempt, timeout: float) -> bool:
        """Cancel a goal; tell whether its server has ended it, ends it, or has forgotten it.

        A server that has not got to the goal yet does not know it either, and begins it later.
        """
        known = attempt.accepted  # what it accepts after the cancel is not gone
        answer = await _sent(self._node, attempt.handle.cancel_goal_async)
        try:
            response = await in_time(answer.wait(), timeout)
        except asyncio.TimeoutError:
            return False
        if response.return_code == CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID:
            return known
        return response.return_code != CancelGoal.Response.ERROR_REJECTED


@dataclass(slots=True)
class _Attempt:
    """A goal that may have been sent: what would cancel it, and the server's answers to it."""

    handle: ClientGoalHandle
    answers: list[Future] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        return any(one.done() and one.result().accepted for one in self.answers)

    @property
    def rejected(self) -> bool:
        return all(one.done() and not one.result().accepted for one in self.answers)


class _Answer:
    """An rclpy future, seen from the loop."""

    def __init__(self, node: AgentNode, future: Future) -> None:
        self.future = future
        self._event = asyncio.Event()
        future.add_done_callback(lambda _: node.loop.call(self._event.set))

    async def wait(self) -> Any:
        await self._event.wait()
        return self.future.result()


async def _sent(node: AgentNode, send: Callable[[], Future]) -> _Answer:
    return _Answer(node, await node.in_executor(send))


def _handle_of(client: DestroySafeActionClient, identity: UUID) -> ClientGoalHandle:
    response = client.made_for[0].Impl.SendGoalService.Response(accepted=True)
    return ClientGoalHandle(client, identity, response)


async def _until(condition: Callable[[], bool], timeout: float) -> bool:
    end = asyncio.get_running_loop().time() + timeout
    while not condition():
        if asyncio.get_running_loop().time() >= end:
            return False
        await asyncio.sleep(0.02)
    return True


_STANDING_STILL = (Manipulate.Goal.DETECT, Manipulate.Goal.WAIT)
_STATUS = {
    GoalStatus.STATUS_SUCCEEDED: "SUCCEEDED",
    GoalStatus.STATUS_CANCELED: "CANCELLED",
    GoalStatus.STATUS_ABORTED: "ABORTED",
}


def note_sent(node: Node, action: str, goal: Any, goal_id: str) -> str:
    """Keep that a goal is sent; return its record's id, which is the goal's ("": nothing is kept).

    Args:
        node: Node that sends it.
        action: The action's name.
        goal: The goal message.
        goal_id: 32 hexadecimal digits.
    """
    if not keeping():
        return ""
    moves = isinstance(goal, NavigateTo.Goal)
    if isinstance(goal, Manipulate.Goal):
        moves = goal.skill not in _STANDING_STILL
    body = {"action": action, "why": str(getattr(goal, "why", "")), "physical": moves}
    return note("sent", name_of(node), body, id=goal_id)


def note_ended(node: Node, sent: str, status: int, result: Any, message: str = "") -> None:
    """Keep how a goal ended that was sent.

    Args:
        node: Node that sent it.
        sent: Id that `note_sent` returned.
        status: A number of `action_msgs.msg.GoalStatus`.
        result: The result message; None: there is none.
        message: Sentence that says why there is no result message.
    """
    if not sent:
        return
    outcome = _STATUS.get(status, "UNKNOWN")
    skill = getattr(result, "result", None)
    if isinstance(skill, SkillResult):
        known = {int(one): one.name for one in Outcome}
        outcome = known.get(skill.outcome, outcome)
        message = message or skill.reason
    message = message or str(getattr(result, "message", "") or getattr(result, "reason", ""))
    note("ended", name_of(node), {"outcome": outcome, "message": message}, because=sent)


def name_of(node: Node) -> str:
    """Return the name of the robot whose node it is, who speaks by it, or the node's own."""
    if told := getattr(node, "on_behalf_of", ""):
        return str(told)
    robot = getattr(node, "robot", "")
    return robot.rpartition("/")[2] if isinstance(robot, str) and robot else node.get_name()
