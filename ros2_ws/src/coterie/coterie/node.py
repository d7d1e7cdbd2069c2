"""The node by which a program is in a team: it asks, and hears answers and events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

from rclpy.context import Context
from std_msgs.msg import Bool

from coterie.results import Answer, Event, answer_of
from coterie_bringup.rundir import RunState
from coterie_bringup.team_client import Operator, TeamAnswer
from coterie_core.questions import FinalAnswer, Question
from coterie_core.tasks import RobotReport
from coterie_msgs.msg import Question as QuestionMsg
from coterie_ros.clients import NoAnswer
from coterie_ros.conversions import ConversionError, question_from_msg
from coterie_ros.reports import hear_reports
from coterie_safety.ledger import Entry
from coterie_safety.ledger_tail import LedgerTail
from coterie_safety.why.words import entry_words
from coterie_world.scene import SceneGraph

MOST_QUESTIONS = 1000
"""Questions whose words are remembered until they are answered."""
LOG_PERIOD, MEMORY = 0.5, 3.0
"""How often the log of goals is read, and how long a robot may take to tell what it saw [s]."""
_KINDS: dict[str, Literal["goal", "ended", "refused"]] = {
    "goal": "goal",
    "result": "ended",
    "refusal": "refused",
}


class TeamNode(Operator):
    """Tells of answers and events, in its own loop.

    Args:
        state: The team.
        tell: Hears of them.
        context: Of rclpy.
    """

    def __init__(
        self,
        state: RunState,
        tell: Callable[[Answer | Event], object],
        *,
        context: Context | None = None,
    ) -> None:
        self._tell = tell
        self._words: dict[str, str] = {}
        self._stopped: dict[str, bool] = {}
        self._skills: dict[str, str] = {}
        self._memories: dict[str, SceneGraph] = {}
        self._reading = asyncio.Lock()
        self._has_map = "map" not in state.lacks
        self._log = LedgerTail(Path(state.log)) if state.log else None
        super().__init__(
            state.robots,
            namespace=state.namespace,
            environment=state.environment,
            context=context,
        )

    def on_start(self) -> None:
        """Hear questions, and how robots are."""
        super().on_start()
        self.subscribe(
            QuestionMsg, "question", "questions", self.remember, convert=question_from_msg
        )
        for robot in self.robots:
            stopped = partial(self._on_stopped, robot)
            self.subscribe(Bool, f"{robot}/stopped", "latched", stopped)
        hear_reports(self, self.robots, self._on_report)
        if self._log is not None:
            self._new_entries()  # what happened before is no news
            self.every(LOG_PERIOD, self._on_log, "log")

    def remember(self, question: Question) -> None:
        """Keep the words of a question until it is answered."""
        while len(self._words) >= MOST_QUESTIONS:
            self._words.pop(next(iter(self._words)))
        self._words[question.id] = question.text or " ".join((question.object, question.room))

    async def seen(self, told: TeamAnswer, *, anew: bool = True) -> list[SceneGraph]:
        """Return maps that know what an answer rests on: of the robots that saw it, the team's.

        Args:
            told: The answer.
            anew: Ask them; else only where what they told before lacks an object.
        """
        async with self._reading:
            for one in told.answers:
                kept = self._memories.get(one.robot)
                lacks = kept is None or not kept.objects.keys() >= set(one.evidence.objects)
                if one.evidence.objects and one.robot in self.robots and (anew or lacks):
                    with contextlib.suppress(NoAnswer, ConversionError):
                        self._memories[one.robot] = await self.memory(one.robot, MEMORY)
            known = [self._memories[r] for r in self.robots if r in self._memories]
            ids = {id_ for one in told.answers for id_ in one.evidence.objects}
            if self._has_map and ids.difference(*(scene.objects for scene in known)):
                scene = await self.map(MEMORY)
                self._has_map = scene is not None
                known += [scene] if scene is not None else []
        return known

    def _on_final(self, final: FinalAnswer) -> None:
        super()._on_final(final)
        answers = (told.get(final.question) for told in self.answers.values())
        told = TeamAnswer(final, tuple(one for one in answers if one is not None))
        words = self._words.pop(final.question, final.question)
        self.loop.spawn(self._tell_final(words, told), "an answer")

    async def _tell_final(self, words: str, told: TeamAnswer) -> None:
        self._tell(answer_of(words, told, *await self.seen(told, anew=False)))

    def _new_entries(self) -> list[Entry]:
        try:
            return self._log.read() if self._log is not None else []
        except OSError:
            return []

    def _on_log(self) -> None:
        for entry in self._new_entries():
            if (kind := _KINDS.get(entry.kind)) is not None:
                text = entry_words(entry).removeprefix(f"{entry.robot} was to ")
                self._tell(Event(kind, entry.robot, text))

    def _on_stopped(self, robot: str, message: Bool) -> None:
        stopped = bool(message.data)
        if self._stopped.get(robot, False) != stopped:
            self._stopped[robot] = stopped
            text = "it stands until it is released" if stopped else "it may move again"
            self._tell(Event("stopped" if stopped else "released", robot, text))

    def _on_report(self, report: RobotReport) -> None:
        if self._skills.get(report.robot, "") != report.skill:
            self._skills[report.robot] = report.skill
            self._tell(Event("skill", report.robot, report.skill))
