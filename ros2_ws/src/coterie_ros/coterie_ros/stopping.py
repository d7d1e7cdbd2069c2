"""Stops of robots on topics and services: who obeys them, and whose goals they end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool

from coterie_core.skills import SkillResult
from coterie_ros.qos import profile
from coterie_ros.serving import send_response
from coterie_safety.stop import StopLatch, is_stop, latch_file, one_line, stopped_by

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

STOP = "stop"
"""Topic that stops (std_msgs/String: who, and after a colon why), of the team and of each robot;
below a robot also the service that stops and releases (std_srvs/SetBool)."""
RELEASED_BY = "released_by"
"""Topic below a robot that names who is about to release it by the service (std_msgs/String: who,
and after a colon why), since a call does not tell. It releases nothing."""
_NAMING_WINDOW_S = 5.0
"""Longest time between naming somebody and that one's call [s]."""
_MAX_DELAY_S = 30.0
"""Longest delay with which the node's own executor hears the same stop as the thread of stops
[s]."""
_DUPLICATE_WINDOW_S = 0.5
"""Longest time between the same message on one subscription and on the other [s]."""
_SECOND_DELAY_S = 0.3
"""Time after which the second way looks whether a stop was obeyed [s]: a halt of ten robots in one
process, whose threads take turns at Python's lock, takes up to 0.15 s."""
_ANSWER_TIMEOUT_S = 0.4
"""Longest wait for the thread of stops from then on, before the second way obeys a stop [s]."""
_POLL_PERIOD_S = 0.1  # [s]
STOPPED = "stopped"
"""Topic, latched, that tells whether a robot is stopped (std_msgs/Bool)."""
_SYNC_DELAY_S = 1.0
"""Time after a stop at which it is made to outlast a loss of power [s]."""
_LOG_DELAY_S = 0.1
"""Time after a stop at which it is logged, which takes time that the robots' goals need to end
[s]."""
_RESULT_TIMEOUT_S = 1.0
"""Longest wait for the result of a skill, which tells who stopped it, after the news [s]."""
_CANCEL_TIMEOUT_S = 5.0
"""Longest time for cancelled work to end [s]."""
T = TypeVar("T")
_Heard = tuple[str, str, float, Callable[[str], None]]
"""A stop's topic and text, when it came [s], and what obeys it."""


class StopServer:
    """Obeys stops for robots: halts at once, refuses to go on until released; for `on_start`.

    All of it happens in a thread of its own: nothing that a goal, a model, the node's loop or its
    other callbacks do can delay it. The node's own executor hears the topics, too, and one more
    thread obeys what that one, hung or dead, did not. What a topic says only ever stops; a release
    takes a call of the service. What fails while one robot, or one part of it, is halted is
    reported, and keeps nothing else from being done.

    Args:
        node: The node that moves the robots.
        robots: Name of each robot -> its topics' prefix, such as `rover/`.
        team: Name of the team's topic.
        folder: Folder that keeps stops over restarts; None: they are not kept.
        halt: Stops robots (name -> what its goals are told), all at once: each wakes threads that
            take turns at Python's lock, and the last robot would wait for all of them. Must not
            wait. Called again with every stop.
        release: Lets a robot go on.
        note: Logs a stop or release of a robot, with by whom and why; returns what went wrong.
    """

    def __init__(
        self,
        node: AgentNode,
        robots: Mapping[str, str],
        team: str,
        folder: Path | None,
        halt: Callable[[Mapping[str, str]], object],
        release: Callable[[str], object],
        note: Callable[[str, str, Mapping[str, object]], str] = lambda robot, kind, body: "",
    ) -> None:
        self._node, self._halt, self._release, self._note = node, halt, release, note
        self._urgent = node.urgent
        self._beside = self._urgent.node
        self._disk, self._log = (ThreadPoolExecutor(1, name) for name in ("stops", "log of stops"))
        for thread in (self._disk, self._log):  # who holds the log keeps no stop from the disk
            node.at_end(thread.shutdown)
        self._stops, self._seen = dict.fromkeys(robots, 0), dict.fromkeys(robots, 0)
        self._named: dict[str, tuple[str, float]] = {}
        self._obeyed: deque[tuple[tuple[str, str], float]] = deque(maxlen=1000)
        self._told = {
            robot: node.publisher(Bool, prefix + STOPPED, "latched")
            for robot, prefix in robots.items()
        }
        self.latches = {robot: self._latch(robot, folder) for robot in robots}
        self._second: SimpleQueue[_Heard | None] = SimpleQueue()
        self._over = threading.Event()
        threading.Thread(
            target=self._obey_what_was_missed, name="stops, the second way", daemon=True
        ).start()
        node.at_end(self._end_second)
        self._listen(team, list(robots))
        for robot, prefix in robots.items():
            self._listen(prefix + STOP, [robot])
            self._beside.create_subscription(
                String, prefix + RELEASED_BY, partial(self._name, robot), profile("messages")
            )
            service = self._beside.create_service(SetBool, prefix + STOP, lambda asked, _: asked)
            # rclpy calls this with what the callback returned: the request itself.
            service.send_response = partial(self._serve, robot, service.send_response)
        held = [robot for robot, latch in self.latches.items() if latch.stopped]
        self._hold(held)
        self._complain(held)
        for robot in self.latches:
            self._tell(robot)
        node.diagnostics.add_source("stops", self._figures)

    def refusal(self, robot: str) -> str:
        """Return what a goal is told while its robot is stopped ("": it is not)."""
        latch = self.latches[robot]
        return latch.text if latch.stopped else ""

    def mark(self, robot: str) -> int:
        """Return what tells a goal from those before the next stop; for the executor's thread.

        Goals that wait for a busy executor are older than what it has not heard yet.
        """
        return self._seen[robot]

    def outdated(self, robot: str, mark: int) -> bool:
        """Whether a stop came after a goal got its mark: released or not, it must not begin."""
        return self._stops[robot] != mark

    def _latch(self, robot: str, folder: Path | None) -> StopLatch:
        file = None if folder is None else latch_file(folder, robot)
        return StopLatch(robot, file)

    def _hold(self, robots: Sequence[str]) -> None:
        if not robots:
            return
        try:
            self._halt({robot: self.latches[robot].text for robot in robots})
        except Exception as error:
            self._node.report_failure("halt", error)

    def _complain(self, robots: Sequence[str]) -> None:
        for robot in robots:
            latch = self.latches[robot]
            self._node.problem(f"{robot}: {latch.text}")
            with contextlib.suppress(RuntimeError):  # the node ended meanwhile
                body = {"by": latch.by, "reason": latch.reason}
                self._log.submit(self._logged, robot, "stop", body)

    def _listen(self, topic: str, robots: list[str]) -> None:
        def obey(text: str) -> None:
            by, _, reason = text.partition(": ")
            self._stop(robots, by, reason)

        qualities = ("messages", "sensor_data")
        alone: dict[str, deque[tuple[str, float]]] = {one: deque(maxlen=100) for one in qualities}

        def heard(message: String, quality: str) -> None:
            text, now = str(message.data), monotonic()
            self._obeyed.append(((topic, text), now))
            other = alone[next(one for one in qualities if one != quality)]
            twin = next(
                (one for one in other if one[0] == text and now - one[1] < _DUPLICATE_WINDOW_S),
                None,
            )
            if twin is not None:
                other.remove(twin)
                if all(self.latches[robot].stopped for robot in robots):
                    return  # the other subscription has brought it: halting twice takes longer
            else:
                alone[quality].append((text, now))
            obey(text)

        def heard_beside(message: String) -> None:
            self._second.put((topic, str(message.data), monotonic(), obey))

        # A reliable subscription does not hear a button that sends best effort; one of best effort
        # may miss what a reliable publisher would have sent again.
        for one in qualities:
            hear = partial(heard, quality=one)
            self._beside.create_subscription(String, topic, hear, profile(one))
        second = self._node.create_subscription(String, topic, heard_beside, profile("sensor_data"))
        self._node.at_end(lambda: self._node.destroy_subscription(second))

    def _obey_what_was_missed(self) -> None:
        """Obey, in a thread of its own, stops that the thread of stops has not obeyed.

        No timer of rclpy: one that is made with each stop delays the halt, and one that runs all
        the time wakes the executor ten times a second for every topic.
        """
        while (told := self._second.get()) is not None:
            topic, text, came, obey = told
            self._over.wait(max(0.0, came + _SECOND_DELAY_S - monotonic()))  # the halt goes first
            try:
                if self._missed(topic, text, came):
                    obey(text)
            except Exception as error:  # also of a node that ends meanwhile
                if not self._over.is_set():
                    self._node.report_failure("the second way of stops", error)

    def _end_second(self) -> None:
        self._over.set()
        self._second.put(None)

    def _missed(self, topic: str, text: str, came: float) -> bool:
        """Wait until the thread of stops has obeyed a stop; true where it has not in time."""
        answered, end = threading.Event(), monotonic() + _ANSWER_TIMEOUT_S
        if not self._over.is_set():
            self._urgent.post(answered.set)
        while not self._over.is_set() and self._urgent.alive and monotonic() < end:
            known = tuple(self._obeyed)
            obeyed = any(k == (topic, text) and came - at < _MAX_DELAY_S for k, at in known)
            if answered.is_set() and obeyed:
                return False
            self._over.wait(_POLL_PERIOD_S)
        return not self._over.is_set()

    def _stop(self, robots: Sequence[str], by: str, reason: str) -> None:
        fresh = [robot for robot in robots if self.latches[robot].stop(by or "somebody", reason)]
        for robot in robots:
            self._stops[robot] += 1
            self._node.post(partial(self._seen.__setitem__, robot, self._stops[robot]))
        self._hold(robots)
        for robot in robots:
            self._tell(robot)
        for robot in fresh:
            self._disk.submit(self._keep, robot)  # nobody waits for the disk
        if fresh:
            later = self._node.loop.loop.call_later
            self._node.loop.call(later, _LOG_DELAY_S, self._complain, fresh)
            self._node.loop.call(later, _SYNC_DELAY_S, self._make_durable)

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

    def _serve(
        self, robot: str, send: Callable[..., object], request: SetBool.Request, header: object
    ) -> None:
        try:
            self._obey(robot, send, request, header)
        except Exception as error:
            self._node.report_failure(f"the service {STOP} of {robot}", error)

    def _name(self, robot: str, message: String) -> None:
        self._named[robot] = (one_line(str(message.data)), monotonic())

    def _releaser(self, robot: str) -> str:
        name, at = self._named.pop(robot, ("", 0.0))
        return name if name and monotonic() - at < _NAMING_WINDOW_S else "a call of its service"

    def _obey(
        self, robot: str, send: Callable[..., object], request: SetBool.Request, header: object
    ) -> None:
        latch = self.latches[robot]

        def answer(message: str) -> None:
            response = SetBool.Response(success=True, message=message)
            name = f"{robot}/{STOP}"
            self._node.urgent.post(partial(send_response, self._node, name, send, response, header))

        if request.data:
            self._stop([robot], "a call of its service", "")
            answer(latch.text)
            return
        was, by = latch.release(), self._releaser(robot)
        message = "released" if was else "was not stopped"
        self._release(robot)
        self._tell(robot)
        self._node.get_logger().info(f"{robot}: {message} by {by}")

        def keep() -> None:
            try:
                self._keep(robot)
            finally:
                answer(latch.trouble or message)

        # Whoever asked is to hear what went wrong, and a stop must not wait for the disk meanwhile.
        self._disk.submit(keep)
        if was:
            self._log.submit(self._logged, robot, "release", {"by": by})

    def _logged(self, robot: str, kind: str, body: Mapping[str, object]) -> None:
        if trouble := self._note(robot, kind, {k: one_line(str(v)) for k, v in body.items()}):
            self._node.problem(trouble)

    def _tell(self, robot: str) -> None:
        try:
            self._told[robot].publish(Bool(data=self.latches[robot].stopped))
        except Exception as error:
            self._node.report_failure(f"{robot}/{STOPPED}", error)

    def _figures(self) -> dict[str, object]:
        return {robot: latch.text for robot, latch in self.latches.items() if latch.stopped}


class RobotStopped(Exception):
    """A person has stopped the robot, which ends the goal that it worked on; says who and why."""


class StopWatch:
    """Knows whether a robot is stopped, and ends what is done with it; for `on_start`.

    A stop ends the goal in work: a robot that is released stands until somebody gives it a new
    one. Its coroutines run in the node's loop.

    Args:
        node: Node that is told.
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
        self._robot = f"{node.get_namespace()}/{topic}".split("/")[-2]
        self._on_change = on_change
        self._stops = self._sending = 0
        self._halted = asyncio.Event()
        node.subscribe(Bool, topic, "latched", self._hear)

    def _hear(self, message: Bool) -> None:
        if bool(message.data) == self.stopped:
            return
        self.stopped = bool(message.data)
        if self.stopped:
            self._stops += 1
            self._halted.set()
        else:
            self._halted.clear()
        self._on_change(self.stopped)

    async def pursue(self, work: Coroutine[Any, Any, T]) -> T:
        """Do what a goal asks for until the robot is stopped, even where it is released at once.

        Args:
            work: Sends the robot's skills through `carried_out`.

        Raises:
            RobotStopped: The robot was stopped, or is; the work has been cancelled.
        """
        task = asyncio.ensure_future(work)
        halted = asyncio.ensure_future(self._halted.wait())
        try:
            await asyncio.wait({task, halted}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and self._sending:
                await asyncio.wait(
                    {task}, timeout=_RESULT_TIMEOUT_S
                )  # its skill's result tells who it was
            if task.done():
                return task.result()
        finally:
            halted.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=_CANCEL_TIMEOUT_S)
            if task.done() and not task.cancelled():
                task.exception()  # who is cancelled does not hear of it, and it is no fault
        raise RobotStopped(self._text)

    async def carried_out(self, send: Callable[[], Awaitable[SkillResult]]) -> SkillResult:
        """Have a skill done.

        Args:
            send: Sends the skill, and returns how it ended.

        Raises:
            RobotStopped: A stop ended it, or kept it from beginning.
        """
        if self.stopped:
            raise RobotStopped(self._text)
        before = self._stops
        self._sending += 1
        try:
            result = await send()
        finally:
            self._sending -= 1
        if is_stop(result):
            raise RobotStopped(result.reason)
        if self._stops != before:
            raise RobotStopped(self._text)
        return result

    @property
    def _text(self) -> str:
        return stopped_by("somebody", "", self._robot)
