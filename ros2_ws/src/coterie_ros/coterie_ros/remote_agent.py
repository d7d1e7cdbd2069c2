"""A cooperating agent that lives in a ROS node, as who runs a world in lockstep knows agents."""

from __future__ import annotations

import asyncio
import contextlib

from coterie_core.cooperation import Action, Briefing, Note, Percept, Wait
from coterie_msgs.srv import Act, BeginEpisode
from coterie_ros.agent_node import AgentNode
from coterie_ros.clients import NoAnswer, ServiceClient
from coterie_ros.conversions import (
    ConversionError,
    PerceptWriter,
    action_from_msg,
    briefing_to_msg,
)
from coterie_ros.lockstep import ACT, BEGIN, TIMEOUT

PATIENCE = 2
"""Steps without an answer after which an agent is briefed anew, once it is back."""


class RosAgent:
    """An agent that lives in a ROS node, as `run_episode` knows agents.

    One that does not answer, or answers nonsense, waits for that step. After `PATIENCE` such steps
    in a row it is briefed again, as soon as it is there; nobody waits for that.

    Args:
        name: Its name, and its namespace below the node's.
        node: Whose clients call it; made in the node's `on_start`, used in its loop.
        timeout: How long a step may take [s].

    Attributes:
        timeout: The same; may be changed at any time.
        silent_steps: Steps of this episode without a usable answer.
        trouble: Why, the last time.
    """

    def __init__(self, name: str, node: AgentNode, timeout: float = TIMEOUT) -> None:
        self.name = name
        self.silent_steps = 0
        self.trouble = ""
        self.timeout = timeout
        self._begin = ServiceClient(node, BeginEpisode, f"{name}/{BEGIN}")
        self._act = ServiceClient(node, Act, f"{name}/{ACT}")
        self._writer = PerceptWriter()
        self._briefing: Briefing | None = None
        self._percept: Percept | None = None
        self._late: list[Note] = []
        self._begun = False
        self._in_a_row = 0
        self._return: asyncio.Task[bool] | None = None

    async def wait(self, timeout: float) -> bool:
        """Wait until its services are there; False where they were not in time [s]."""
        return await self._begin.wait(timeout) and await self._act.wait(timeout)

    def begin(self, briefing: Briefing) -> None:
        """Keep the briefing; it is sent before the first step."""
        if self._return is not None:
            self._return.cancel()
            self._return = None
        self._briefing = briefing
        self._percept = None
        self._late = []
        self._begun = False
        self._writer.forget()
        self.silent_steps = self._in_a_row = 0
        self.trouble = ""

    def observe(self, percept: Percept) -> None:
        """Keep the percept; it is sent with the question what to do."""
        if self._late:
            percept.notes = [*percept.notes, *self._late]
            self._late = []
        self._percept = percept

    def receive(self, note: Note) -> None:
        """Keep a message; it is sent with the next percept."""
        self._late.append(note)

    async def act(self) -> Action:
        """Ask the node."""
        try:
            action = await self._ask()
        except (NoAnswer, ConversionError) as error:
            action = None
            self.trouble = str(error)
        if action is not None:
            self._in_a_row = 0
            return action
        self.silent_steps += 1
        self._in_a_row += 1
        # Nobody knows what arrived: the next percept says everything.
        self._writer.forget()
        if self._in_a_row >= PATIENCE:
            self._begun = False
        return Wait(f"no answer: {self.trouble}"[:200])

    async def _ask(self) -> Action | None:
        if self._percept is None:
            self.trouble = "nothing observed yet"
            return None
        if not self._begun and not await self._brief():
            return None
        if self._in_a_row and not await self._act.wait(0.0):
            self.trouble = f"service {self._act.name}: nobody offers it"
            return None
        request = Act.Request(percept=self._writer.write(self._percept))
        answer = await self._act.call(request, timeout=self.timeout, attempts=1)
        if not answer.success:
            self.trouble = answer.message
            return None
        return action_from_msg(answer.action, self._act.name)

    async def _brief(self) -> bool:
        """Brief it; later on in an episode without waiting for it."""
        if self._in_a_row < PATIENCE:
            self._begun = await self._send_briefing()
            return self._begun
        if self._return is None:
            self._return = asyncio.ensure_future(self._send_briefing())
        if not self._return.done():
            # Let the loop turn: a world with nobody else in it would race through its steps.
            await asyncio.sleep(0.001)
            return False
        back, self._return = self._return, None
        self._begun = back.result()
        return self._begun

    async def _send_briefing(self) -> bool:
        if self._briefing is None:
            self.trouble = "not briefed yet"
            return False
        request = briefing_to_msg(self._briefing)
        try:
            answer = await self._begin.call(request, timeout=self.timeout / 2.0, attempts=2)
        except NoAnswer as error:
            self.trouble = str(error)
            return False
        if not answer.success:
            self.trouble = answer.message
        return bool(answer.success)

    async def aclose(self) -> None:
        """Stop waiting for it to return."""
        if self._return is not None:
            self._return.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._return
            self._return = None
