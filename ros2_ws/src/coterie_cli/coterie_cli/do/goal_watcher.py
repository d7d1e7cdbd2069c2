"""The side of `./coterie do --together` that speaks ROS: gives the goal to all and listens."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rclpy.context import Context

from coterie_bringup.errors import CommandError
from coterie_cli.do.goal_record import CooperationRecord, Said, Share
from coterie_cli.person import PersonAtTerminal
from coterie_cli.person_seat import attend
from coterie_core.cooperation import Note
from coterie_msgs.action import Cooperate
from coterie_msgs.msg import TeamMessage
from coterie_ros.agent_node import AgentNode
from coterie_ros.clients import ActionClient, GoalRejected, NoAnswer
from coterie_ros.conversions.basics import duration_from_msg, duration_to_msg
from coterie_ros.conversions.cooperation import goal_to_msg
from coterie_ros.conversions.notes import note_from_msg
from coterie_ros.parameters import Parameters

MOST_SAID = 20_000
RESTARTS = 5
"""How often a robot that was lost is given the goal again."""
NOTICE = 30.0
"""How long robots go on after one of them knows that all is done [s of wall time]."""
BACK_WITHIN = 60.0
"""How long a robot whose process died may take to be back [s]."""


class CooperationWatcher(AgentNode):
    """Gives one goal and keeps a record of what it hears; `on_news` is called on each change.

    Args:
        robots: Who may take the goal.
        record: Is filled.
        person: Answers what the robots' models ask, where somebody is there.
        namespace: The team's namespace.
        context: ROS context of its own.
    """

    def __init__(
        self,
        robots: Sequence[str],
        record: CooperationRecord,
        *,
        person: PersonAtTerminal | None = None,
        namespace: str = "",
        context: Context | None = None,
    ) -> None:
        self.robots = tuple(robots)
        self.record = record
        self._person = person
        self.on_news: Callable[[], object] = lambda: None
        self._begin = time.monotonic()
        super().__init__(
            f"cooperation_watcher_{os.getpid()}",
            namespace=namespace or None,
            context=context,
            parameters={"diagnostics_period": 0.0},
            light=True,
        )

    def on_setup(self, parameters: Parameters) -> None:
        """Make the clients."""
        self._clients_of = {
            robot: ActionClient(self, Cooperate, f"{robot}/cooperate") for robot in self.robots
        }

    def on_start(self) -> None:
        """Listen to what the robots say; put what they ask to the person."""
        if self._person is not None:
            attend(self, self.robots, self._person, "do")
        for robot in self.robots:
            self.subscribe(
                TeamMessage,
                f"{robot}/message",
                "messages",
                partial(self._on_note, robot),
                convert=partial(note_from_msg, topic=f"{robot}/message"),
            )

    async def robots_there(self, timeout: float) -> list[str]:
        """Return the robots that cooperate and came in time [s]; after the first, 10 s at most."""
        end = time.monotonic() + timeout

        async def there(robot: str) -> bool:
            return await self._clients_of[robot].wait(max(0.0, end - time.monotonic()))

        waiting = {asyncio.ensure_future(there(robot)): robot for robot in self.robots}
        found: set[str] = set()
        pending = set(waiting)
        while pending:
            limit = end if not found else min(end, time.monotonic() + 10.0)
            done, pending = await asyncio.wait(
                pending,
                timeout=max(0.0, limit - time.monotonic()),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not done:
                break
            found |= {waiting[task] for task in done if task.result()}
        for task in pending:
            task.cancel()
        return [robot for robot in self.robots if robot in found]

    async def give(self, robots: Sequence[str], max_time: float) -> None:
        """Give the goal to robots at the same time; return when the last of them has ended.

        Args:
            robots: Who shall do it.
            max_time: Simulated time it may take [s]; 0: the robots' default.

        Raises:
            CommandError: No robot took it.
        """
        self._begin = time.monotonic()
        for robot in robots:
            self.record.shares[robot] = Share(robot, wanted=self.record.goal.total)
        tasks = [asyncio.ensure_future(self._one(robot, max_time)) for robot in robots]
        try:
            pending = set(tasks)
            while pending:
                # Who knows that all is done says so; who does not hear it needs not go on for long.
                limit = NOTICE if self.record.success else None
                done, pending = await asyncio.wait(
                    pending, timeout=limit, return_when=asyncio.FIRST_COMPLETED
                )
                if not done:
                    break
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error
        shares = self.record.shares.values()
        if not self.record.success:
            self.record.message = "; ".join(f"{s.robot}: {s.outcome}" for s in shares)
        if not any(s.steps for s in shares) and not self.record.success:
            raise CommandError(f"the goal was not begun: {self.record.message}", exit_code=1)

    async def _one(self, robot: str, max_time: float) -> None:
        share = self.record.shares[robot]
        goal = Cooperate.Goal(
            name=self.record.goal.name,
            goal=goal_to_msg(self.record.goal),
            max_time=duration_to_msg(max_time),
        )
        for _ in range(RESTARTS):
            share.starts += 1
            try:
                end = await self._clients_of[robot].run(
                    goal,
                    on_feedback=partial(self._on_feedback, share),
                    accept_timeout=10.0,
                )
            except asyncio.CancelledError:
                share.outcome = share.outcome or "told to stop"
                raise
            except (GoalRejected, NoAnswer) as error:
                share.outcome = str(error)
                self.on_news()
                if isinstance(error, GoalRejected) and not share.steps:
                    break  # it does not want it; one that had begun was started again
                if not await self._clients_of[robot].wait(BACK_WITHIN):
                    break
                share.outcome = ""
                continue
            self._ended(share, end.result)
            break
        self.on_news()

    def _ended(self, share: Share, result: Any) -> None:
        share.success, share.outcome = bool(result.success), str(result.message)
        share.placed, share.wanted = int(result.placed), int(result.wanted) or share.wanted
        share.steps, share.duration = int(result.steps), duration_from_msg(result.duration)
        share.distance = float(result.distance)
        share.messages, share.characters = int(result.messages), int(result.characters)

    def _on_feedback(self, share: Share, feedback: Any) -> None:
        share.plan, share.room = str(feedback.plan), str(feedback.room)
        share.placed, share.wanted = int(feedback.placed), int(feedback.wanted)
        share.steps = int(feedback.steps)
        self.on_news()

    def _on_note(self, robot: str, note: Note) -> None:
        if note.sender != robot or len(self.record.said) >= MOST_SAID:
            return
        seconds = time.monotonic() - self._begin
        self.record.said.append(Said(seconds, note.sender, note.to, note.text))
        self.on_news()
