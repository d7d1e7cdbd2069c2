"""Halts every motion of a robot from outside: cancels by name, and zero velocities.

It knows names only, no type of an action and no goal: it can halt what another process began.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import Twist, TwistStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from std_msgs.msg import Header, String

from coterie_ros.qos import profile

_ZERO_COMMANDS = 5
"""Zero velocities that a halt sends: best-effort links lose some."""
_ZERO_PAUSE_S = 0.05
"""Time after them in which no more are sent [s]: who ends a goal halts once more as it ends."""
_DISCOVERY_PERIOD_S = 0.1
"""Time between looks for servers that have not been asked or have not answered [s]."""
_REPEAT_PERIOD_S = 0.5
"""Longest wait for an answer before the server is asked again [s]: first ones may get lost."""
_HALT_WINDOW_S = 5.0
"""Time after a halt in which a server that comes into sight is still asked [s]."""
_MAX_PENDING = 10
"""Requests to one server whose answers are waited for; older ones are forgotten."""
_UNDER_WAY = (
    GoalStatus.STATUS_ACCEPTED,
    GoalStatus.STATUS_EXECUTING,
    GoalStatus.STATUS_CANCELING,
)


class Halt:
    """Cancels every goal that may move a robot, whoever sent it, and commands zero velocity.

    Use all of it in the thread that spins the node.

    Args:
        node: Node that owns the clients and publishers; names are below its namespace.
        actions: Names of the actions whose goals may move the robot, those that use others first.
        velocity: Topic of velocity commands; "": none.
        stamped: Whether velocities are TwistStamped, in the frame `frame`.
        frame: Frame of the robot's base.
        event: Topic that ends what MoveIt executes; "": none.
        listens: Whether it hears which servers have goals under way. Who does asks those first,
            and the others a moment later: on a computer with many robots that halves the time in
            which all of them stand.
    """

    def __init__(
        self,
        node: Node,
        actions: Sequence[str],
        *,
        velocity: str = "",
        stamped: bool = False,
        frame: str = "",
        event: str = "",
        listens: bool = True,
    ) -> None:
        self._node = node
        self._base_frame = frame
        self._servers = [_Server(node, name, self._safely, listens) for name in actions]
        self._velocity: Publisher | None = None
        self._stamped = stamped
        if velocity:
            kind = TwistStamped if stamped else Twist
            self._velocity = node.create_publisher(kind, velocity, profile("odometry"))
        self._event: Publisher | None = None
        if event:
            self._event = node.create_publisher(String, event, profile("messages"))
        self._told: dict[str, str] = {}
        self._last = 0
        self._zeroed_at = -math.inf
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(_DISCOVERY_PERIOD_S, self._look, clock=steady)

    def send(self, actions: Collection[str] | None = None, *, all_at_once: bool = False) -> None:
        """Halt the robot: zero velocities first, then cancels; returns at once, never raises.

        A server that is not in sight yet is asked once it is, and one that does not answer is
        asked again, for some seconds.

        Args:
            actions: Names of the actions that are cancelled; None: all of them, and MoveIt's stop.
            all_at_once: Ask now, too, who is not known to have a goal under way.
        """
        self._last += 1
        servers = [one for one in self._servers if actions is None or one.name in actions]
        for server in servers:
            server.wanted, server.until = self._last, time.monotonic() + _HALT_WINDOW_S
        self.zero()
        if self._event is not None and actions is None:
            self._safely("MoveIt's stop", partial(self._event.publish, String(data="stop")))
        for server in servers:
            if all_at_once or server.goals or not server.listens:  # the others: in `_look`
                self._safely(server.name, server.ask)

    def zero(self) -> None:
        """Command zero velocity and cancel nothing; never raises."""
        self._safely("zero velocities", self._zero)

    def remind(self) -> None:
        """Go on asking who has not answered: it may have been started again; from any thread."""
        for server in self._servers:
            server.until = time.monotonic() + _HALT_WINDOW_S

    def forget(self, actions: Collection[str] | None = None) -> None:
        """Ask no server of these actions any more that comes into sight later; from any thread."""
        for server in self._servers:
            if actions is None or server.name in actions:
                server.until = 0.0

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Actions whose servers are in sight and have not answered their last `send`."""
        now = time.monotonic()
        return tuple(
            one.name
            for one in self._servers
            if one.answered < one.wanted
            and (now <= one.until or one.asked == one.wanted)
            and one.there
        )

    @property
    def under_way(self) -> tuple[str, ...]:
        """Actions whose servers are in sight and say that a goal of theirs has not ended."""
        return tuple(one.name for one in self._servers if one.goals and one.there)

    def destroy(self) -> None:
        """Take everything off the node again."""
        self._safely("its timer", partial(self._node.destroy_timer, self._timer))
        for server in self._servers:
            self._safely(server.name, server.destroy)
        for publisher in (self._velocity, self._event):
            if publisher is not None:
                self._safely("a publisher", partial(self._node.destroy_publisher, publisher))
        self._servers, self._velocity, self._event = [], None, None

    def _zero(self) -> None:
        if self._velocity is None or time.monotonic() - self._zeroed_at < _ZERO_PAUSE_S:
            return
        self._zeroed_at = time.monotonic()
        message: Any = Twist()
        if self._stamped:
            # What is not stamped is too old for drivers and multiplexers that look.
            stamp = self._node.get_clock().now().to_msg()
            message = TwistStamped(header=Header(stamp=stamp, frame_id=self._base_frame))
        for _ in range(_ZERO_COMMANDS):
            self._velocity.publish(message)

    def _look(self) -> None:
        now = time.monotonic()
        for server in self._servers:
            late = server.asked < server.wanted or now - server.asked_at > _REPEAT_PERIOD_S
            if now <= server.until and server.answered < server.wanted and late:
                self._safely(server.name, server.ask)

    def _safely(self, what: str, function: Callable[[], object]) -> None:
        """Do a part of a halt: what fails is logged, once for each way, and ends nothing else."""
        try:
            function()
        except Exception as error:
            text = f"halting: {what}: {type(error).__name__}: {error}"
            if self._told.get(what) != text:
                self._told[what] = text
                try:
                    self._node.get_logger().error(text)
                except Exception:  # the context is gone, and the log with it
                    pass


class _Server:
    """An action's server, as who only cancels sees it.

    Attributes:
        name: Name of the action.
        wanted: Number of the newest halt that concerns it.
        until: Time until which it is looked for and asked again, by the monotonic clock [s].
        answered: Number of the newest halt that it has answered.
        asked: Number of the newest halt that it was asked for.
        asked_at: Time at which it was asked last, by the monotonic clock [s].
        listens: Whether it hears of its goals.
        goals: Number of its goals that have not ended, as it says.
    """

    def __init__(
        self,
        node: Node,
        name: str,
        safely: Callable[[str, Callable[[], object]], None],
        listens: bool,
    ) -> None:
        self.name, self._node, self._safely = name, node, safely
        self.wanted, self.until = 0, 0.0
        self.answered, self.asked, self.asked_at = 0, 0, 0.0
        self.listens, self.goals = listens, 0
        self._pending: list[Any] = []
        self._client = node.create_client(CancelGoal, f"{name}/_action/cancel_goal")
        self._status: Subscription[Any] | None = None
        if listens:
            self._status = node.create_subscription(
                GoalStatusArray, f"{name}/_action/status", self._on_status, profile("latched")
            )

    @property
    def there(self) -> bool:
        """Whether it is in sight; False where nobody can tell any more."""
        found = False

        def look() -> None:
            nonlocal found
            found = bool(self._client.service_is_ready())

        self._safely(self.name, look)
        return found

    def ask(self) -> None:
        """Ask it to cancel all its goals, if it is in sight; what is not matched would be lost."""
        if not self._client.service_is_ready():
            return
        self.asked, self.asked_at = self.wanted, time.monotonic()
        # The zero id and stamp stand for all goals (action_msgs/CancelGoal).
        future = self._client.call_async(CancelGoal.Request(goal_info=GoalInfo()))
        future.add_done_callback(partial(self._on_answer, self.wanted))
        self._pending.append(future)
        for old in self._pending[:-_MAX_PENDING]:
            self._client.remove_pending_request(old)
        del self._pending[:-_MAX_PENDING]

    def destroy(self) -> None:
        """Take it off its node."""
        self._node.destroy_client(self._client)
        if self._status is not None:
            self._node.destroy_subscription(self._status)

    def _on_answer(self, number: int, future: Any) -> None:
        response = future.result()
        if response is None or response.return_code != CancelGoal.Response.ERROR_REJECTED:
            self.answered = max(self.answered, number)  # one that refuses to cancel is asked again
        self._pending = [one for one in self._pending if one is not future]

    def _on_status(self, message: GoalStatusArray) -> None:
        self.goals = sum(one.status in _UNDER_WAY for one in message.status_list)
