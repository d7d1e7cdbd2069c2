"""The leader's service `hand_over`: what people wish waits here until the leader attends to it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping

from coterie_core.geometry import Vec3
from coterie_llm import inline_data
from coterie_msgs.srv import HandOver
from coterie_ros.agent_node import AgentNode
from coterie_safety.stop import one_line
from emos_planner.leader.hand_over import HandedOver, Wish
from emos_planner.leader.leader import Leader

SERVICE = "hand_over"
_MOST = 20
"""Wishes that wait at a time."""


class HandOverService:
    """Takes wishes while a task is carried out; for a node's `on_setup`.

    Whoever leads calls `begin` when robots begin to work, `attend` in turn with its other
    decisions, and `end`. A wish that comes while no task is carried out is refused.

    Args:
        node: The leader's node.
        wake: Called when a wish has come.
    """

    def __init__(self, node: AgentNode, wake: Callable[[], None]) -> None:
        self._node, self._wake = node, wake
        self._task = ""
        self._wishes: deque[tuple[Wish, asyncio.Future[HandedOver]]] = deque()
        node.serve(HandOver, SERVICE, self._take)

    def begin(self, task: str) -> None:
        """Take wishes for a task (id)."""
        self._task = task

    def end(self) -> None:
        """Take no more; refuse those that wait."""
        self._task = ""
        while self._wishes:
            self._tell(self._wishes.popleft()[1], HandedOver("the task is over"))

    async def attend(self, leader: Leader, starts: Callable[[], Mapping[str, Vec3 | None]]) -> bool:
        """Do what people wish, in turn; return whether who does what has changed.

        Args:
            leader: Of the task.
            starts: Returns the robots that are there and alive -> where they are [m].
        """
        changed = False
        while self._wishes:
            wish, told = self._wishes[0]
            handed = await leader.hand_over(wish, starts())
            self._node.get_logger().info(f"{inline_data(wish.by, limit=200)}: {handed.message}")
            self._wishes.popleft()
            self._tell(told, handed)
            changed |= handed.done
        return changed

    def _tell(self, told: asyncio.Future[HandedOver], handed: HandedOver) -> None:
        if not told.done():
            told.set_result(handed)

    async def _take(self, request: HandOver.Request) -> HandOver.Response:
        task = str(request.task)
        if not self._task:
            return HandOver.Response(
                message="no robot works on a task: none is in work, or its parts are not given yet"
            )
        if task and task != self._task:
            shown = inline_data(task, limit=60)
            return HandOver.Response(message=f"{shown} is over; {self._task} is in work")
        if len(self._wishes) >= _MOST:
            return HandOver.Response(message=f"{_MOST} hand-overs wait already; try again later")
        told: asyncio.Future[HandedOver] = asyncio.get_running_loop().create_future()
        wish = Wish(
            str(request.sub_task)[:60],
            str(request.robot)[:60],
            one_line(str(request.by)),
            one_line(str(request.reason)),
        )
        self._wishes.append((wish, told))
        self._wake()
        handed = await told
        return HandOver.Response(
            success=handed.done, message=handed.message, sub_tasks=list(handed.sub_tasks)
        )
