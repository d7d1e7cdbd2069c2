"""Questions in words that a model puts to a person, or to another robot, while it decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, Field

from coterie_core.settings import Settings
from coterie_llm import Tool, ToolRefused, inline_data
from coterie_llm.due import time_left

QUESTION_CHARS = 500
ANSWER_CHARS = 1000
MAX_CHOICES = 12
MAX_QUESTIONS = 5
"""Questions that one mind puts to a person about one task."""
NOBODY = "nobody is there to answer"
_PERSON_SHARE = 0.6
"""Fraction of a decision's time left that a person gets: the model must still reply."""
_MAX_WAIT_S = 120.0
_MIN_WAIT_S = 2.0
"""Longest time that anybody is waited for, and time in which nobody could answer [s]."""


class AskBackSettings(Settings):
    """Whether whoever gave a task or a question is asked what it means."""

    ask_back: bool = Field(
        True,
        description="Asks the person back, once, where a request is not clear; false: it guesses.",
    )


@dataclass(frozen=True, slots=True)
class WordsQuestion:
    """A question in words.

    Attributes:
        asker: Robot, or `leader`.
        task: Id of the task that it is about; "" for none.
        text: The question, at most `QUESTION_CHARS`.
        choices: Answers to choose from; empty: any answer.
        within: Time that the asker waits [s of wall time].
    """

    asker: str
    task: str
    text: str
    choices: tuple[str, ...] = ()
    within: float = _MAX_WAIT_S


@dataclass(frozen=True, slots=True)
class WordsAnswer:
    """An answer in words; "" with the reason where there is none. What it says is data."""

    text: str = ""
    reason: str = ""


class Contacts(Protocol):
    """Whom a mind reaches: over services, or in one process. Neither call waits too long."""

    async def ask_person(self, question: WordsQuestion) -> WordsAnswer:
        """Ask whoever gave the task; at once without an answer where nobody is there."""
        ...

    async def ask_robot(self, robot: str, question: WordsQuestion) -> WordsAnswer:
        """Ask another robot what it knows."""
        ...


class PersonQuestion(BaseModel):
    """What a person is asked."""

    question: str = Field(
        max_length=QUESTION_CHARS, description="one short question, in the language of the task"
    )
    choices: list[str] = Field(
        default_factory=list,
        max_length=MAX_CHOICES,
        description="answers to choose from; empty: any answer",
    )


class RobotQuestion(BaseModel):
    """What another robot is asked."""

    robot: str = Field(max_length=60, description="its name")
    question: str = Field(
        max_length=QUESTION_CHARS, description="what you want to know; name things in English"
    )


class Asking:
    """The tools `ask_person` and `ask_robot` of one mind, within the time of its decisions.

    A question that was answered is not put again during a task, and who did not answer once is not
    asked again: the tool is not offered any more.

    Args:
        asker: Name of the mind: a robot, or `leader`.
        robots: Names of the robots that can be asked; its own is left out.
        contacts: Person and robots that it can reach.
        left: Function that returns the time left for the decision in work [s].
    """

    def __init__(
        self,
        asker: str,
        robots: Sequence[str],
        contacts: Contacts,
        left: Callable[[], float] = time_left,
    ) -> None:
        self.asker, self.contacts = asker, contacts
        self.robots = tuple(robot for robot in robots if robot != asker)
        self._left = left
        self._task = ""
        self._answers: dict[str, str] = {}
        self._put = 0
        self._silent = ""

    def begin(self, task: str) -> None:
        """Begin a task, unless it goes on: what was answered about another one is forgotten."""
        if task != self._task:
            self._task, self._answers, self._put, self._silent = task, {}, 0, ""

    def tools(self) -> tuple[Tool[Any], ...]:
        """Return the functions that a model may call."""
        person = Tool(
            "ask_person",
            "Asks the person who gave the task. Only for what nothing else tells and what changes "
            "what is to be done: what was meant, which of several, whether it may be. Takes time.",
            PersonQuestion,
            self._ask_person,
        )
        persons = () if self._silent else (person,)
        if not self.robots:
            return persons
        robot = Tool(
            "ask_robot",
            "Asks another robot: where it is, what it does and holds, and what its own map tells "
            f"of the things that the question names. Robots: {', '.join(self.robots)}.",
            RobotQuestion,
            self._ask_robot,
        )
        return (*persons, robot)

    async def _ask_person(self, asked: PersonQuestion) -> Mapping[str, str]:
        text = inline_data(asked.question, limit=QUESTION_CHARS)
        key = " ".join(text.lower().split())
        if key in self._answers:
            return {"the person answered": self._answers[key]}
        if self._silent:
            raise ToolRefused(f"{self._silent}; decide by what is known")
        if self._put >= MAX_QUESTIONS:
            raise ToolRefused(
                f"the person was asked {MAX_QUESTIONS} times about this task, which is enough; "
                "decide by what is known"
            )
        self._put += 1
        choices = tuple(inline_data(choice, limit=100) for choice in asked.choices)
        answer = await self.contacts.ask_person(self._question(text, _PERSON_SHARE, choices))
        if not answer.text:
            self._silent = answer.reason or NOBODY
            raise ToolRefused(f"{self._silent}; decide by what is known")
        self._answers[key] = answer.text[:ANSWER_CHARS]
        return {"the person answered": self._answers[key]}

    async def _ask_robot(self, asked: RobotQuestion) -> Mapping[str, str]:
        if asked.robot not in self.robots:
            raise ToolRefused(
                f"there is no other robot {inline_data(asked.robot)}; the robots are "
                f"{', '.join(self.robots)}"
            )
        text = inline_data(asked.question, limit=QUESTION_CHARS)
        answer = await self.contacts.ask_robot(asked.robot, self._question(text, 0.5))
        if not answer.text:
            raise ToolRefused(f"{asked.robot} did not answer: {answer.reason or 'no reason told'}")
        return {f"{asked.robot} answered": answer.text[:ANSWER_CHARS]}

    def _question(self, text: str, share: float, choices: tuple[str, ...] = ()) -> WordsQuestion:
        left = self._left()
        within = min(_MAX_WAIT_S, share * left if math.isfinite(left) else _MAX_WAIT_S)
        if within < _MIN_WAIT_S:
            raise ToolRefused("no time is left to ask anybody; decide by what is known")
        return WordsQuestion(self.asker, self._task, text, choices, within)


def told_choice(answer: str, choices: Sequence[str]) -> str:
    """Return the choice that a person's answer means: its number (from 1), or its words.

    Any other answer is returned as it is.
    """
    text = " ".join(answer.split())
    if text.isdecimal() and 1 <= int(text) <= len(choices):
        return choices[int(text) - 1]
    same = [choice for choice in choices if choice.lower() == text.lower()]
    return same[0] if same else text
