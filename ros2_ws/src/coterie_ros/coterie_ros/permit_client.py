"""Requests for permits as a person's tool sees them: which wait, and how they are answered."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from coterie_msgs.msg import PermitRequests
from coterie_msgs.srv import AnswerPermit
from coterie_ros.clients import NoAnswer, ServiceClient
from coterie_ros.conversions.permits import answer_to_msg, requests_from_msg, standing_from_msg
from coterie_safety.permits import (
    Decision,
    Permit,
    PermitRequest,
    SignedAnswer,
    answered,
    load_key,
    revoked,
)
from coterie_safety.permits.names import ANSWER, REQUESTS

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

_ANSWERED_WITHIN = 5.0
_DISCOVERY_PERIOD_S = 1.0
"""Time between two looks for others that ask for permits [s]."""


class PermitClient:
    """Hears which goals of robots wait for a person, and passes on what the person decides.

    Args:
        node: The tool's node; make it in `on_setup` or `on_start`.
        robots: Names of the robots that are known; others that ask are found.
        key_file: The private key that answers are signed with.
        changed: Called in the node's loop when other requests wait, or other permits hold, than
            before.

    Attributes:
        waiting: The requests that wait, by their ids.
        standing: The permits for goals alike that hold, by their ids.
        heard: The robots whose lists have come.
    """

    def __init__(
        self,
        node: AgentNode,
        robots: Sequence[str],
        key_file: Path,
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        self.waiting: dict[str, PermitRequest] = {}
        self.standing: dict[str, Permit] = {}
        self.heard: set[str] = set()
        self._node, self._key_file, self._changed = node, key_file, changed
        self._services: dict[str, ServiceClient] = {}
        for robot in robots:
            self.watch(robot)
        # Robots of a team on another computer; assistants that propose tasks.
        node.every(_DISCOVERY_PERIOD_S, self._look, "who asks for permits")

    def watch(self, robot: str) -> None:
        """Hear of the requests of one more robot."""
        if robot in self._services:
            return
        self._services[robot] = ServiceClient(self._node, AnswerPermit, f"{robot}/{ANSWER}")
        topic = f"{robot}/{REQUESTS}"
        self._node.subscribe(
            PermitRequests,
            topic,
            "latched",
            partial(self._hear, robot),
            convert=lambda message: (
                requests_from_msg(message, topic),
                standing_from_msg(message, topic),
            ),
        )

    async def _look(self) -> None:
        own = self._node.get_namespace().rstrip("/")
        pattern = re.compile(re.escape(own) + rf"/(\w+)/{REQUESTS}")
        topics = await self._node.in_executor(self._node.get_topic_names_and_types)
        for name, _ in topics:
            if found := pattern.fullmatch(name):
                await self._node.in_executor(self.watch, found[1])

    def _hear(self, robot: str, told: tuple[tuple[PermitRequest, ...], tuple[Permit, ...]]) -> None:
        waiting, standing = told
        self.heard.add(robot)
        held = {id_: one for id_, one in self.standing.items() if one.goal.robot != robot}
        self.standing = held | {one.id: one for one in standing if one.goal.robot == robot}
        others = {id_: one for id_, one in self.waiting.items() if one.goal.robot != robot}
        self.waiting = others | {one.id: one for one in waiting if one.goal.robot == robot}
        self._changed()

    async def answer(
        self,
        request: PermitRequest,
        decision: Decision,
        by: str,
        reason: str = "",
        *,
        lasting: float = 0.0,
    ) -> tuple[bool, str]:
        """Answer a request; return whether that was accepted, and what is said.

        Args:
            request: The request.
            decision: Decision of the person.
            by: Name of the person.
            reason: Reason that the person gives.
            lasting: Time for which all goals alike are allowed [s]; 0: this goal is, once.

        Raises:
            ValueError: The key cannot be used.
        """
        signed = answered(
            request,
            decision,
            by,
            reason,
            lasting=lasting,
            now=time.time(),
            key=load_key(self._key_file),
        )
        return await self._sent(request.goal.robot, signed)

    async def revoke(self, permit: Permit, by: str, reason: str = "") -> tuple[bool, str]:
        """End a standing permit; return whether that was accepted, and what is said.

        Args:
            permit: The permit.
            by: Name of the person.
            reason: Reason that the person gives.

        Raises:
            ValueError: The key cannot be used.
        """
        signed = revoked(permit, by, reason, key=load_key(self._key_file))
        return await self._sent(permit.goal.robot, signed)

    async def _sent(self, robot: str, signed: SignedAnswer) -> tuple[bool, str]:
        service = self._services[robot]
        try:
            # Once: a second try of an answer that arrived would be refused.
            told = await service.call(answer_to_msg(signed), timeout=_ANSWERED_WITHIN, attempts=1)
        except NoAnswer as error:
            return False, str(error)
        return bool(told.accepted), str(told.message)
