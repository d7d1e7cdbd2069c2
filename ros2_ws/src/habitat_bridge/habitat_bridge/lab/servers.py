"""Servers of a robot that can die and come back, as processes of a robot do."""

from __future__ import annotations

import asyncio
from typing import Any

from coterie_ros.agent_node import AgentNode
from coterie_ros.serving import Check, CoroutineActionServer, Execute, WhenBusy


class MortalServer:
    """An action server that is there or not.

    While it is gone nobody is told anything: goals that ran end without a result.

    Args:
        node: Whose server it is.
        action_type: Type of the action.
        name: Its name.
        execute: Coroutine that does a goal and returns the result.
        when_busy: What a goal does while another one runs.
        check: Says why a goal is rejected ("" or None: it is not).
    """

    def __init__(
        self,
        node: AgentNode,
        action_type: Any,
        name: str,
        execute: Execute,
        *,
        when_busy: WhenBusy = "preempt",
        check: Check | None = None,
    ) -> None:
        self._node = node
        self._type = action_type
        self.name = name
        self._execute = execute
        self._when_busy = when_busy
        self._check = check
        self._server: CoroutineActionServer | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self.start()
        node.at_end(self._destroy)

    @property
    def alive(self) -> bool:
        """Whether it is there."""
        return self._server is not None

    def start(self, action_type: Any = None) -> None:
        """Be there from now on; for the executor's thread.

        Args:
            action_type: Another type than its own: that of another distribution.
        """
        self.end()
        self._server = CoroutineActionServer(
            self._node,
            action_type or self._type,
            self.name,
            self._run,
            when_busy=self._when_busy,
            check=self._check,
        )

    def end(self) -> None:
        """Be gone, with all goals; for the executor's thread."""
        server, self._server = self._server, None
        if server is not None:
            server.vanish()
            self._node.loop.call(self._cancel)

    def _destroy(self) -> None:
        """End with the node: an executor does not survive `end` while requests come."""
        server, self._server = self._server, None
        if server is not None:
            server.destroy()

    async def _run(self, goal: Any) -> Any:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            return await self._execute(goal)
        finally:
            self._tasks.discard(task)

    def _cancel(self) -> None:
        for task in list(self._tasks):
            task.cancel()
