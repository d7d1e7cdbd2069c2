"""Requests for permits, and permits that hold, on a latched topic; a service takes answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from coterie_msgs.msg import PermitRequests
from coterie_msgs.srv import AnswerPermit
from coterie_ros.conversions.checks import ConversionError
from coterie_ros.conversions.permits import answer_from_msg, requests_to_msg
from coterie_safety.permits import PermitError, PermitGate
from coterie_safety.permits.names import ANSWER, REQUESTS

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

_ANSWERED_WITHIN = 5.0


class PermitServer:
    """Tells which goals wait for a person and which permits hold; takes answers; for `on_start`.

    Args:
        node: The node that moves the robots.
        gates: Each robot's gate.
        prefixes: Name of each robot -> its topics' prefix, such as `rover/`.
    """

    def __init__(
        self, node: AgentNode, gates: Mapping[str, PermitGate], prefixes: Mapping[str, str]
    ) -> None:
        self._node, self._gates = node, gates
        self._telling = threading.Lock()  # gates change in several threads: the newest goes last
        self._told = {
            robot: node.publisher(PermitRequests, prefixes[robot] + REQUESTS, "latched")
            for robot in gates
        }
        for robot, gate in gates.items():
            gate.changed = partial(self._tell, robot)
            name = prefixes[robot] + ANSWER
            work = partial(self._answer, robot, name)
            node.serve(AnswerPermit, name, work, _ANSWERED_WITHIN)
            self._tell(robot)

    def _tell(self, robot: str) -> None:
        gate = self._gates[robot]
        with self._telling:
            self._told[robot].publish(requests_to_msg(robot, gate.waiting, gate.standing))

    async def _answer(
        self, robot: str, name: str, request: AnswerPermit.Request
    ) -> AnswerPermit.Response:
        try:
            signed = answer_from_msg(request, name)
            # In a thread: it may wait for the log.
            told = await asyncio.to_thread(self._gates[robot].answer, signed)
        except (PermitError, ConversionError) as error:
            self._node.problem(f"{robot}: an answer was not accepted: {error}")
            self._tell(robot)  # whoever was shown something else sees what it is
            return AnswerPermit.Response(accepted=False, message=str(error))
        self._node.get_logger().info(f"{robot}: permit {told}")
        return AnswerPermit.Response(accepted=True, message=told)
