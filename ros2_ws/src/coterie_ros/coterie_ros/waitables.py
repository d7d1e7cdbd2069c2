"""Action servers and clients that an executor may still touch after they were destroyed.

An event that arrived just before an action was destroyed is worked on afterwards. rclpy then raises
from inside the executor, and an EventsExecutor does not survive that: it unwinds without Python's
lock and the process crashes. So an action stays with its node for as long as that may spin; one
that is made again, as by a node that is activated again, is the one that was there.
"""

from __future__ import annotations

from typing import Any

from rclpy.action import ActionClient

from coterie_ros.host import Host
from coterie_ros.late_actions import LateActionServer


class DestroySafe:
    """Mix-in: what is destroyed goes on taking what arrives, and is not worked on; see `end`.

    What nobody takes would be taken, one piece late each, by who uses the action again. Errors are
    reported.
    """

    ended = False
    _gone = False
    made_for: tuple[Any, str]
    _ready = False
    owner: Host

    def destroy(self) -> None:
        """Use it no more; the node destroys it when its executor is over (`end`)."""
        self.ended = True

    def end(self) -> None:
        """Destroy it now, once; its executor must not spin any more."""
        self.ended = True
        if not self._gone:
            self._gone = True
            super().destroy()  # type: ignore[misc]

    @classmethod
    def of(cls, owner: Host, action_type: Any, name: str) -> Any:
        """Return the one of a node that has been destroyed, for use again; None: there is none."""
        for one in owner.waitables:
            if (
                isinstance(one, cls)
                and one.ended
                and not one._gone
                and one.made_for == (action_type, name)
            ):
                one.ended = False
                return one
        return None

    def is_ready(self, wait_set: Any) -> bool:
        """Note what there is to take; true in any case, since a no would raise in the executor."""
        self._ready = False
        if not self._gone:
            try:
                self._ready = bool(super().is_ready(wait_set))  # type: ignore[misc]
            except Exception as error:
                self._failed(error)
        return True

    def take_data(self) -> dict[str, Any]:
        """Take what has arrived."""
        if self._gone or not self._ready:
            return {}
        try:
            return super().take_data() or {}  # type: ignore[misc]
        except Exception as error:
            self._failed(error)
            return {}

    async def execute(self, taken_data: dict[str, Any]) -> None:
        """Work on what was taken."""
        if self._dropped or not taken_data:
            return
        try:
            await super().execute(taken_data)  # type: ignore[misc]
        except Exception as error:
            self._failed(error)

    @property
    def _dropped(self) -> bool:
        """Whether nobody waits for what arrives."""
        return self.ended

    def _failed(self, error: Exception) -> None:
        if not self.ended and self.owner.context.ok():
            self.owner.report_failure(f"action {self.made_for[1]}", error)


class DestroySafeActionServer(DestroySafe, LateActionServer):
    """An action server that its executor outlives; destroyed, it refuses what comes (`serving`)."""

    @property
    def _dropped(self) -> bool:
        return self._gone

    def __init__(
        self, owner: Host, node: Any, action_type: Any, name: str, *arguments: Any, **options: Any
    ) -> None:
        self.owner, self.made_for = owner, (action_type, name)
        super().__init__(node, action_type, name, *arguments, **options)

    # The executor runs these two as tasks of their own.

    async def _execute_goal(self, execute_callback: Any, goal_handle: Any) -> None:
        if self._gone:
            return
        try:
            await super()._execute_goal(execute_callback, goal_handle)
        except Exception as error:
            self._failed(error)

    def _send_result_response(self, request_header: Any, future: Any) -> None:
        if self._gone:
            return
        try:
            super()._send_result_response(request_header, future)
        except Exception as error:
            self._failed(error)


class DestroySafeActionClient(DestroySafe, ActionClient):
    """An action client that its executor outlives."""

    def __init__(self, owner: Host, action_type: Any, name: str) -> None:
        self.owner, self.made_for = owner, (action_type, name)
        super().__init__(owner, action_type, name)
