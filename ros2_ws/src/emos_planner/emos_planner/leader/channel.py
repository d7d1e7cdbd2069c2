"""The team's discussion over its topic: proposals out, the robots' answers in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from coterie_core.tasks import Proposal, Reflection
from coterie_llm import inline_data
from coterie_msgs.msg import DiscussionTurn
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.conversions.checks import ConversionError
from coterie_ros.conversions.tasks import proposal_to_msg, reflection_from_msg
from emos_planner.leader.transcript import Turn

TICK = 0.5
"""How often it is looked whether a robot has fallen silent [s of wall time]."""
_STATEMENT = 4000


class DiscussionTopic:
    """Asks robots on the topic `discussion` and gathers what they answer.

    It is made in `on_setup` and begun in `on_start` of its node.

    Args:
        node: The leader's node.
        alive: Whether a robot was heard lately.
    """

    def __init__(self, node: AgentNode, alive: Callable[[str], bool]) -> None:
        self._node, self._alive = node, alive
        self._answers: dict[tuple[str, int, str], asyncio.Future[Reflection]] = {}
        self._task = ""
        self._out = node.publisher(DiscussionTurn, "discussion", "messages")

    def begin(self) -> None:
        """Listen to what robots answer."""
        self._node.subscribe(
            DiscussionTurn,
            "discussion",
            "messages",
            self._on_turn,
            convert=conversions.checked_turn,
        )

    async def reflect(
        self, robots: Sequence[str], proposal: Proposal, deadline: float
    ) -> Mapping[str, object]:
        """Publish a proposal to robots; return what they answer until the deadline [s]."""
        loop = asyncio.get_running_loop()
        self._task = proposal.task
        keys = {robot: (proposal.task, proposal.round, robot) for robot in robots}
        for key in keys.values():
            self._answers[key] = loop.create_future()
        try:
            self._out.publish(proposal_to_msg(proposal, robots, time=self._node.now()))
            end = loop.time() + deadline
            # A robot that has fallen silent will not answer: the others need not wait for it.
            while waiting := [
                self._answers[key]
                for robot, key in keys.items()
                if not self._answers[key].done() and self._alive(robot)
            ]:
                left = end - loop.time()
                if left <= 0.0:
                    break
                await asyncio.wait(waiting, timeout=min(left, TICK))
            return {
                robot: self._answers[key].result()
                for robot, key in keys.items()
                if self._answers[key].done()
            }
        finally:
            for key in keys.values():
                self._answers.pop(key).cancel()

    def tell(self, turn: Turn, task: str) -> None:
        """Publish what the leader says besides its proposals."""
        if turn.kind not in ("statement", "problem", "silent"):
            return
        if turn.kind == "problem":
            self._node.problem(f"discussion: {turn.text}")
        self._out.publish(
            DiscussionTurn(
                header=conversions.header(self._node.now(), ""),
                topic=task or "task",
                speaker="leader",
                round=turn.round,
                kind=DiscussionTurn.STATEMENT,
                text=inline_data(f"{turn.speaker}: {turn.text}", limit=_STATEMENT - 100),
            )
        )

    def _on_turn(self, turn: DiscussionTurn) -> None:
        if turn.kind not in (DiscussionTurn.ACCEPT, DiscussionTurn.REJECT):
            return
        waiting = self._answers.get((turn.topic, int(turn.round), turn.speaker))
        if waiting is None:
            if turn.topic == self._task:
                self._node.diagnostics.count("late_answers")
            return
        try:
            reflection = reflection_from_msg(turn)
        except ConversionError as error:
            self._node.problem(f"discussion: answer of {turn.speaker!r} dropped: {error}")
            return
        if waiting.done():
            self._node.problem(f"discussion: {turn.speaker!r} answered twice; the first counts")
        else:
            waiting.set_result(reflection)
