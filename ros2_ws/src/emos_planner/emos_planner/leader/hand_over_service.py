"""The leader's service `hand_over`: people wish that another robot does a sub-task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from coterie_core.geometry import Vec3
from coterie_llm import inline_data
from coterie_msgs.srv import HandOver
from coterie_ros.agent_node import AgentNode
from coterie_safety.stop import one_line
from emos_planner.leader.hand_over import Wish
from emos_planner.leader.leader import Leader

SERVICE = "hand_over"


class HandOverService:
    """Does what people wish while a task is carried out; for a node's `on_setup`.

    Args:
        node: The leader's node.
        starts: Returns the robots that are there and alive -> where they are [m].
        changed: Called when who does what has changed.

    Attributes:
        leader: Whose task robots work on; None: wishes are refused.
        turn: Held by whoever decides who does what.
    """

    def __init__(
        self,
        node: AgentNode,
        starts: Callable[[], Mapping[str, Vec3 | None]],
        changed: Callable[[], None],
    ) -> None:
        self._node, self._starts, self._changed = node, starts, changed
        self.leader: Leader | None = None
        self.turn = asyncio.Lock()
        node.serve(HandOver, SERVICE, self._take)

    async def _take(self, request: HandOver.Request) -> HandOver.Response:
        task, leader = str(request.task), self.leader
        if leader is None:
            return HandOver.Response(
                message="no robot works on a task: none is in work, or its parts are not given yet"
            )
        if task and task != leader.task:
            shown = inline_data(task, limit=60)
            return HandOver.Response(message=f"{shown} is over; {leader.task} is in work")
        wish = Wish(
            str(request.sub_task)[:60],
            str(request.robot)[:60],
            one_line(str(request.by)),
            one_line(str(request.reason)),
        )
        async with self.turn:
            if self.leader is leader:
                handed = await leader.hand_over(wish, self._starts())
                self._node.get_logger().info(f"{inline_data(wish.by, limit=200)}: {handed.message}")
        if self.leader is not leader:
            return HandOver.Response(message="the task is over")
        if handed.done:
            self._changed()
        return HandOver.Response(
            success=handed.done, message=handed.message, sub_tasks=list(handed.sub_tasks)
        )
