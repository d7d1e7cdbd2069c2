"""Goals of a robot's actions: every way in which one can end becomes an outcome."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalStatus, GoalStatusArray

from coterie_core.geometry import Vec3
from coterie_core.skills import Outcome, SkillResult
from coterie_ros.clients import ActionClient, GoalEnd, GoalRejected, NoAnswer
from robot_adapters.names import joined as joined

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

_RUNNING = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING)
_SETTLE = 1.0
"""How long a server may take to say that another goal took the place of ours [s]."""
_SLOWEST = 0.1
"""Robots' time that runs slower than so, by the clock here, counts as standing still."""
_LOOK = 0.05  # [s]


class Ended(Exception):
    """A goal did not end in success: carries how."""

    def __init__(self, outcome: Outcome, reason: str, bears_at: Vec3 | None = None) -> None:
        super().__init__(reason)
        self.result = SkillResult(outcome, reason, bears_at=bears_at)


class TakenOver(Ended):
    """Another client's goal took the place of ours: what moves now is not ours to end."""


class Stopwatch:
    """Tells how long something takes a robot [s]: a simulated one that is slow has longer.

    Args:
        node: Whose clock the robot goes by.
    """

    def __init__(self, node: AgentNode) -> None:
        self._node = node
        self._begin = self._now()

    def elapsed(self) -> float:
        """Return the time since the beginning [s]: the shorter one of the robot's and of here."""
        wall, robot = (now - then for now, then in zip(self._now(), self._begin, strict=True))
        return max(min(wall, robot), _SLOWEST * wall)

    async def wait(self, duration: float) -> None:
        """Return when a duration [s] has passed since the beginning."""
        while self.elapsed() < duration:
            await asyncio.sleep(_LOOK)

    def _now(self) -> tuple[float, float]:
        return time.monotonic(), self._node.now()


class RobotAction:
    """An action of a robot, with everything that may go wrong with a goal named.

    Args:
        node: Whose clients it has.
        action_type: Its type.
        name: Its name.
        server_timeout: How long its server may take to accept, or be away [s].
    """

    def __init__(self, node: AgentNode, action_type: Any, name: str, server_timeout: float) -> None:
        self.name = name
        self._node = node
        self._timeout = server_timeout
        self._client = ActionClient(node, action_type, name)
        self._statuses: dict[bytes, int] = {}
        node.subscribe(GoalStatusArray, f"{name}/_action/status", "latched", self._on_status)

    @property
    def there(self) -> bool:
        """Whether a server is there."""
        return self._client.there

    async def wait(self) -> bool:
        """Wait until a server is there; False where none came in time."""
        return await self._client.wait(self._timeout)

    async def run(
        self,
        goal: Any,
        *,
        timeout: float,
        on_feedback: Callable[[Any], object] | None = None,
        watch: Callable[[], Awaitable[SkillResult]] | None = None,
    ) -> GoalEnd:
        """Send a goal and wait for its end; cancelling the caller cancels the goal.

        Args:
            goal: The goal message.
            timeout: Longest time [s], see `Stopwatch`.
            on_feedback: Called in the loop with every feedback message.
            watch: Ends when the goal must be cancelled, with how that ends the skill.

        Raises:
            Ended: There is no server, it rejected the goal, went away, took too long, somebody
                else cancelled the goal or sent another one, or `watch` ended.
        """
        goal_id = uuid.uuid4().bytes
        running = asyncio.ensure_future(
            self._client.run(
                goal,
                on_feedback=on_feedback,
                accept_timeout=self._timeout,
                attempts=1,
                poll=min(2.0, self._timeout),
                lost_after=self._timeout,
                stopping=2.0,
                goal_id=goal_id,
            )
        )
        late = asyncio.ensure_future(self._late(timeout))
        watchers = [late] if watch is None else [asyncio.ensure_future(watch()), late]
        tasks = [running, *watchers]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                result = next(one for one in watchers if one.done()).result()
                raise Ended(result.outcome, result.reason)
            end: GoalEnd = running.result()
        except GoalRejected as error:
            raise Ended(Outcome.FAULT, str(error)) from None
        except NoAnswer as error:
            raise Ended(Outcome.FAULT, str(error)) from None
        finally:
            await _cancelled(tasks)
        if end.status == GoalStatus.STATUS_CANCELED:
            raise Ended(
                Outcome.CANCELLED,
                f"{self.name}: somebody else cancelled the goal; a person may have taken over",
            )
        if end.status == GoalStatus.STATUS_ABORTED and await self._taken_over(goal_id):
            raise TakenOver(
                Outcome.CANCELLED,
                f"{self.name}: another client's goal took the place of ours; a person may have "
                "taken over",
            )
        return end

    async def _late(self, timeout: float) -> SkillResult:
        await Stopwatch(self._node).wait(timeout)
        return SkillResult(
            Outcome.TIMED_OUT, f"{self.name}: the goal did not end within {timeout:g} s"
        )

    async def _taken_over(self, goal_id: bytes) -> bool:
        """Whether the server works on another goal, as it says within a moment of ours' end.

        Nav2's servers abort a goal, without a code, when a newer one comes.
        """
        end = asyncio.get_running_loop().time() + _SETTLE
        while asyncio.get_running_loop().time() < end:
            if any(s in _RUNNING for k, s in self._statuses.items() if k != goal_id):
                return True
            if self._statuses.get(goal_id) == GoalStatus.STATUS_ABORTED:
                return False
            await asyncio.sleep(0.02)
        return False

    def _on_status(self, message: GoalStatusArray) -> None:
        self._statuses = {
            bytes(entry.goal_info.goal_id.uuid): entry.status for entry in message.status_list
        }


async def _cancelled(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Cancel tasks and wait for their end; being cancelled meanwhile takes effect after that."""
    lost = False
    for task in tasks:
        task.cancel()
    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            lost = True  # nobody cancels twice
    for task in tasks:
        if not task.cancelled():
            task.exception()  # told already, or of what nobody waits for any more
    if lost:
        raise asyncio.CancelledError
