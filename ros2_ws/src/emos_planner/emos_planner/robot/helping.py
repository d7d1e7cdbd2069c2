"""Talk among the robots of a task: who asks for help, who has offered its hand, what was said."""

from __future__ import annotations

from collections import deque
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from coterie_core.tasks import Reflection, SubTask
from coterie_llm import inline_data
from emos_planner.leader.transcript import answer_line

LONGEST = 500
Kind = Literal["ask", "offer", "say"]

MOST_OFFERS = 100
"""Offers that a report tells, the latest ones."""
ANSWER_WAIT = 2.0
"""How long a robot waits for an answer, or for the way to become free [s]."""
_MOST_LINES = 20


class HelpMessage(BaseModel):
    """A request for help with a sub-task (TeamMessage HELP), the offer to do it (OFFER), or words.

    `recipients` empty: everybody.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1, max_length=80)
    sender: str = Field(min_length=1, max_length=60)
    recipients: tuple[str, ...] = ()
    kind: Kind = "ask"
    task: str = ""
    sub_task: str = Field("", max_length=60)
    text: str = Field("", max_length=LONGEST)


class HelpTalk:
    """What one robot says and hears.

    Args:
        robot: Its name.

    Attributes:
        spoken_to: Whether another robot has spoken to this one by name since it last chose.
    """

    def __init__(self, robot: str) -> None:
        self.robot = robot
        self.task = ""
        self.asked = ""
        self._offers: dict[str, None] = {}
        self._outbox: list[HelpMessage] = []
        self._heard: deque[str] = deque(maxlen=200)
        self._count = 0
        self.spoken_to = False
        self._lines: deque[str] = deque(maxlen=_MOST_LINES)
        self._lines_of = ""

    def begin(self, task: str) -> None:
        """Begin a task: nothing is asked for, nothing offered."""
        self.task, self.asked, self._offers = task, "", {}
        self.spoken_to = False
        self._take_down(task)

    @property
    def lines(self) -> tuple[str, ...]:
        """What other robots said of this task, the latest last; for prompts."""
        return tuple(self._lines)

    def overhear(self, reflection: Reflection) -> None:
        """Take in what another robot answered to the leader's proposal."""
        if reflection.robot != self.robot:
            self._take_down(reflection.task, answer_line(reflection))

    def _take_down(self, task: str, line: str = "") -> None:
        if task != self._lines_of:
            self._lines.clear()
            self._lines_of = task
        if line:
            self._lines.append(line)

    @property
    def offers(self) -> tuple[str, ...]:
        """Ids of the sub-tasks that this robot has offered to do."""
        return tuple(self._offers)[-MOST_OFFERS:]

    def ask(self, one: SubTask, reason: str, words: str = "") -> None:
        """Ask everybody for help with a sub-task, in a model's words if there are any."""
        text = f"{self.robot} cannot {one.description or one.kind}: {reason}"
        if words:
            text = f"{text}. {inline_data(words, limit=300)}"
        self.asked = text[:300]
        self._say("ask", one.id, text)

    def say(self, one: SubTask, words: str, to: str = "") -> None:
        """Say something in a model's words: an answer if it was spoken to, else a request.

        Args:
            one: What the robot works on.
            words: What it says.
            to: Name of a robot; empty: all.
        """
        kind: Kind = "say" if self.spoken_to else "ask"
        self._say(kind, one.id, inline_data(words, limit=400), (to,) if to else ())

    def hear(self, message: object) -> HelpMessage | None:
        """Return a message that asks this robot for help; None for others, or one heard before."""
        if not isinstance(message, HelpMessage) or message.id in self._heard:
            return None
        self._heard.append(message.id)
        concerned = not message.recipients or self.robot in message.recipients
        if not concerned or message.sender == self.robot or message.task != self.task:
            return None
        whom = "you" if message.recipients else "all"
        told = f"{inline_data(message.sender)} to {whom}: {inline_data(message.text, limit=400)}"
        self._take_down(message.task, told)
        self.spoken_to = self.spoken_to or (bool(message.recipients) and message.kind != "offer")
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
                text=text[:LONGEST],
            )
        )
