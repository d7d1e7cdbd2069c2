"""A cooperating agent behind two services: whoever runs a world in lockstep drives it over ROS."""

from __future__ import annotations

import asyncio
from typing import Any

from coterie_core.cooperation import Agent
from coterie_llm import due_in
from coterie_msgs.srv import Act, BeginEpisode
from coterie_ros.agent_node import AgentNode
from coterie_ros.conversions import (
    ConversionError,
    PerceptReader,
    action_to_msg,
    briefing_from_msg,
)

TIMEOUT = 10.0
"""How long an agent may take for a step [s of wall time]."""
BEGIN = "begin_episode"
ACT = "act"


class LockstepServer:
    """Offers an agent as the services `begin_episode` and `act`; make it in a node's `on_start`.

    One call is answered at a time, in the order in which they came. The same step asked for again
    gets the answer that it got, so a caller whose answer was lost may repeat its call. An agent
    that raises spoils the call, not the node.

    Args:
        node: Where the services belong; in the robot's namespace.
        agent: Who decides.
        timeout: How long whoever calls waits for a step [s of wall time]: what the agent asks a
            model ends before that.

    Attributes:
        episodes: How many began.
    """

    def __init__(self, node: AgentNode, agent: Agent, timeout: float = TIMEOUT) -> None:
        self._node, self._agent, self._timeout = node, agent, timeout
        self._reader = PerceptReader()
        self._turn: asyncio.Lock | None = None
        self._acting: asyncio.Task[Any] | None = None
        self._robot = ""
        self._answered: tuple[int, Any] | None = None
        self.episodes = 0
        node.diagnostics.add_source("lockstep", lambda: {"episodes": self.episodes})
        node.serve(BeginEpisode, BEGIN, self._begin)
        node.serve(Act, ACT, self._act)

    async def _begin(self, request: Any) -> Any:
        try:
            briefing = briefing_from_msg(request, BEGIN)
        except ConversionError as error:
            return self._refusal(BeginEpisode, str(error))
        if briefing.name != self._agent.name:
            return self._refusal(
                BeginEpisode,
                f"{BEGIN}, field robot: expected {self._agent.name!r}, who answers here, "
                f"got {briefing.name!r}; call the service in the namespace of that robot",
            )
        if self._acting is not None:
            self._acting.cancel()  # nobody needs that decision any more
        async with self._lock():
            self._robot, self._answered = "", None
            self._reader.forget()
            try:
                self._agent.begin(briefing)
            except Exception as error:
                return self._broken(BeginEpisode, "begin", error)
            self._robot = briefing.name
            self.episodes += 1
        return BeginEpisode.Response(success=True)

    async def _act(self, request: Any) -> Any:
        async with self._lock():
            if not self._robot:
                return self._refusal(
                    Act, f"no episode has begun; call {BEGIN} with a briefing before {ACT}"
                )
            step = request.percept.step
            if self._answered is not None and step <= self._answered[0]:
                if step == self._answered[0]:
                    return self._answered[1]
                return self._refusal(
                    Act,
                    f"{ACT}, field percept.step: expected at least {self._answered[0]}, which was "
                    f"answered before, got {step}; call {BEGIN} to start another episode",
                )
            # A task of its own: a new episode cancels it, and the service still answers.
            self._acting = asyncio.ensure_future(self._decide(request.percept))
            try:
                await asyncio.wait({self._acting})
                if self._acting.cancelled():
                    return self._refusal(Act, "another episode began before the agent had decided")
                response = self._acting.result()
            finally:
                self._acting.cancel()
                self._acting = None
            if response.success:
                self._answered = (step, response)
            return response

    async def _decide(self, percept: Any) -> Any:
        try:
            seen = self._reader.read(percept, ACT)
        except ConversionError as error:
            return self._refusal(Act, str(error))
        try:
            self._agent.observe(seen)
            with due_in(self._timeout):
                action = await self._agent.act()
            return Act.Response(success=True, action=action_to_msg(action))
        except Exception as error:
            return self._broken(Act, "act", error)

    def _lock(self) -> asyncio.Lock:
        # Made in the node's loop: until Python 3.10 a lock belongs to the loop that it finds.
        if self._turn is None:
            self._turn = asyncio.Lock()
        return self._turn

    def _refusal(self, service: Any, why: str) -> Any:
        self._node.diagnostics.count("lockstep.refused")
        return service.Response(success=False, message=why)

    def _broken(self, service: Any, what: str, error: Exception) -> Any:
        self._node.report_failure(f"agent {self._agent.name}: {what}", error)
        return service.Response(
            success=False,
            message=f"agent {self._agent.name} could not {what}: {type(error).__name__}: {error}",
        )
