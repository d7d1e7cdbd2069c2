"""Stops of robots on topics and services: who obeys them, and who waits for their release."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool

from coterie_core.skills import SkillResult
from coterie_core.stop import StopLatch, is_stop, latch_file
from coterie_ros.qos import profile

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

STOP = "stop"
"""Topic that stops (std_msgs/String: who, and after a colon why), of the team and of each robot;
below a robot also the service that stops and releases (std_srvs/SetBool)."""
STOPPED = "stopped"
"""Topic, latched, that tells whether a robot is stopped (std_msgs/Bool)."""
_DURABLE = 1.0
"""How long after a stop it is made to outlast a loss of power [s]."""
_AGAIN = 0.2
"""How long a client waits for the news of a stop that a result told of [s]."""


class StopServer:
    """Obeys stops for robots: halts at once, refuses to go on until released; for `on_start`.

    All of it happens in the executor's callbacks: nothing that a goal, a model or the node's loop
    does can delay it. What a topic says only ever stops; a release takes a call of the service.

    Args:
        node: The node that moves the robots.
        robots: Name of each robot -> its topics' prefix, such as `rover/`.
        team: Name of the team's topic.
        folder: Where stops are kept over restarts; None: nowhere.
        halt: Stops a robot (name, what its goals are told); must not wait.
        release: Lets a robot go on.
    """

    def __init__(
        self,
        node: AgentNode,
        robots: Mapping[str, str],
        team: str,
        folder: Path | None,
        halt: Callable[[str, str], object],
        release: Callable[[str], object],
    ) -> None:
        self._node, self._halt, self._release = node, halt, release
        self._disk = ThreadPoolExecutor(1, "stops")
        node.at_end(self._disk.shutdown)
        self._told = {
            robot: node.publisher(Bool, prefix + STOPPED, "latched")
            for robot, prefix in robots.items()
        }
        self.latches = {robot: self._latch(robot, folder) for robot in robots}
        self._listen(team, list(robots))
        for robot, prefix in robots.items():
            self._listen(prefix + STOP, [robot])
            service = node.create_service(SetBool, prefix + STOP, partial(self._serve, robot))
            node.at_end(partial(node.destroy_service, service))
        for robot, latch in self.latches.items():
            if latch.stopped:
                self._halt(robot, latch.text)
                self._node.problem(f"{robot}: {latch.text}")
            self._tell(robot)
        node.diagnostics.add_source("stops", self._figures)

    def refusal(self, robot: str) -> str:
        """Return what a goal is told while its robot is stopped ("": it is not)."""
        latch = self.latches[robot]
        return latch.text if latch.stopped else ""

    def _latch(self, robot: str, folder: Path | None) -> StopLatch:
        file = None if folder is None else latch_file(folder, robot)
        return StopLatch(robot, file, lambda: self._halted(robot))

    def _halted(self, robot: str) -> None:
        self._halt(robot, self.latches[robot].text)
        self._tell(robot)

    def _listen(self, topic: str, robots: list[str]) -> None:
        def heard(message: String) -> None:
            by, _, reason = str(message.data).partition(": ")
            self._stop(robots, by, reason)

        subscription = self._node.create_subscription(String, topic, heard, profile("messages"))
        self._node.at_end(partial(self._node.destroy_subscription, subscription))

    def _stop(self, robots: Sequence[str], by: str, reason: str) -> None:
        fresh = [robot for robot in robots if self.latches[robot].stop(by or "somebody", reason)]
        for robot in fresh:
            self._disk.submit(self._keep, robot)  # nobody waits for the disk
            self._node.problem(f"{robot}: {self.latches[robot].text}")
        if fresh:
            self._node.loop.call(self._node.loop.loop.call_later, _DURABLE, self._make_durable)

    def _make_durable(self) -> None:
        with contextlib.suppress(RuntimeError):  # the node ended meanwhile
            for robot, latch in self.latches.items():
                if latch.stopped:
                    self._disk.submit(self._keep, robot, durable=True)

    def _keep(self, robot: str, *, durable: bool = False) -> None:
        latch = self.latches[robot]
        latch.keep(durable=durable)
        if latch.trouble:
            self._node.problem(latch.trouble)

    def _serve(self, robot: str, request: SetBool.Request, _: object) -> SetBool.Response:
        latch = self.latches[robot]
        if request.data:
            self._stop([robot], "a call of its service", "")
            return SetBool.Response(success=True, message=latch.text)
        was = latch.release()
        self._disk.submit(self._keep, robot).result()  # whoever asked is to hear what went wrong
        self._release(robot)
        self._tell(robot)
        message = "released" if was else "was not stopped"
        self._node.get_logger().info(f"{robot}: {message}")
        return SetBool.Response(success=True, message=latch.trouble or message)

    def _tell(self, robot: str) -> None:
        self._told[robot].publish(Bool(data=self.latches[robot].stopped))

    def _figures(self) -> dict[str, object]:
        return {robot: latch.text for robot, latch in self.latches.items() if latch.stopped}


class StopWatch:
    """Knows whether a robot is stopped; for `on_start`. Its coroutines run in the node's loop.

    Args:
        node: Who wants to know.
        topic: The robot's topic `stopped`.
        on_change: Called in the loop with every change.
    """

    def __init__(
        self,
        node: AgentNode,
        topic: str = STOPPED,
        on_change: Callable[[bool], object] = lambda stopped: None,
    ) -> None:
        self.stopped = False
        self._on_change = on_change
        self._go = asyncio.Event()
        self._go.set()
        node.subscribe(Bool, topic, "latched", self._hear)

    def _hear(self, message: Bool) -> None:
        if bool(message.data) == self.stopped:
            return
        self.stopped = bool(message.data)
        if self.stopped:
            self._go.clear()
        else:
            self._go.set()
        self._on_change(self.stopped)

    async def carried_out(self, send: Callable[[], Awaitable[SkillResult]]) -> SkillResult:
        """Have a skill done, and done again from the start after a stop that ended it.

        Args:
            send: Sends the skill, and returns how it ended.
        """
        while True:
            await self._go.wait()
            result = await send()
            if not is_stop(result):
                return result
            await asyncio.sleep(_AGAIN)
