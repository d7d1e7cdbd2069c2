"""Help among the robots of a task: who asks for it, and who has offered its hand."""

from __future__ import annotations

from collections import deque

from coterie_core.tasks import SubTask
from emos_planner.robot.messages import HelpMessage, Kind

MOST_OFFERS = 100
"""Offers that a report tells, the latest ones."""


class HelpTalk:
    """What one robot says and hears of help.

    Args:
        robot: Its name.
    """

    def __init__(self, robot: str) -> None:
        self.robot = robot
        self.task = ""
        self.asked = ""
        self._offers: dict[str, None] = {}
        self._outbox: list[HelpMessage] = []
        self._heard: deque[str] = deque(maxlen=200)
        self._count = 0

    def begin(self, task: str) -> None:
        """Begin a task: nothing is asked for, nothing offered."""
        self.task, self.asked, self._offers = task, "", {}

    @property
    def offers(self) -> tuple[str, ...]:
        """Ids of the sub-tasks that this robot has offered to do."""
        return tuple(self._offers)[-MOST_OFFERS:]

    def ask(self, one: SubTask, reason: str) -> None:
        """Ask everybody for help with a sub-task."""
        text = f"{self.robot} cannot {one.description or one.kind}: {reason}"
        self.asked = text[:300]
        self._say("ask", one.id, text)

    def hear(self, message: object) -> HelpMessage | None:
        """Return a message that asks this robot for help; None for others, or one heard before."""
        if not isinstance(message, HelpMessage) or message.id in self._heard:
            return None
        self._heard.append(message.id)
        concerned = not message.recipients or self.robot in message.recipients
        if not concerned or message.sender == self.robot or message.task != self.task:
            return None
        return message if message.kind == "ask" else None

    def offer(self, request: HelpMessage) -> None:
        """Offer to do what was asked for.

        Who asked hears it; the leader, who gives out work, reads it in the report.
        """
        self._offers[request.sub_task] = None
        self._say("offer", request.sub_task, f"{self.robot} can do it", (request.sender,))

    def outbox(self) -> list[HelpMessage]:
        """Return what is to be said to other robots, and forget it."""
        said, self._outbox = self._outbox, []
        return said

    def _say(self, kind: Kind, sub_task: str, text: str, recipients: tuple[str, ...] = ()) -> None:
        self._count += 1
        self._outbox.append(
            HelpMessage(
                id=f"{self.robot}-{self.task}-{self._count}"[:80],
                sender=self.robot,
                recipients=recipients,
                kind=kind,
                task=self.task,
                sub_task=sub_task,
                text=text[:500],
            )
        )
