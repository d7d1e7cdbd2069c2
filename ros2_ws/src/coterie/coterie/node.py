"""The node by which a program is in a team: it asks, and hears answers and events."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rclpy.context import Context
from std_msgs.msg import Bool

from coterie.results import Answer, Event, answer_of
from coterie_bringup.rundir import RunState
from coterie_bringup.team_client import Operator, TeamAnswer
from coterie_core.questions import FinalAnswer, Question
from coterie_core.tasks import RobotReport
from coterie_msgs.msg import Question as QuestionMsg
from coterie_ros.conversions import question_from_msg
from coterie_ros.reports import hear_reports

MOST_QUESTIONS = 1000
"""Questions whose words are remembered until they are answered."""


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
        super().__init__(state.robots, namespace=state.namespace, context=context)

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

    def remember(self, question: Question) -> None:
        """Keep the words of a question until it is answered."""
        while len(self._words) >= MOST_QUESTIONS:
            self._words.pop(next(iter(self._words)))
        self._words[question.id] = question.text or " ".join((question.object, question.room))

    def _on_final(self, final: FinalAnswer) -> None:
        super()._on_final(final)
        answers = (told.get(final.question) for told in self.answers.values())
        told = TeamAnswer(final, tuple(one for one in answers if one is not None))
        self._tell(answer_of(self._words.pop(final.question, final.question), told))

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
