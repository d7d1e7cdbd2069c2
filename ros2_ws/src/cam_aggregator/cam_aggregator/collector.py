"""Collects the robots' answers to open questions until all are in or the deadline has passed."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

from coterie_core.questions import Answer, FinalAnswer, Question, is_guess
from coterie_safety.why import note


@dataclass(slots=True)
class OpenQuestion:
    """A question with the answers that came so far, in order of arrival.

    `asked` and `due` are times of the collector's clock [s].
    """

    question: Question
    asked: float
    due: float
    answers: list[Answer] = field(default_factory=list)
    closed: bool = False

    def answered_by(self) -> set[str]:
        """Return the robots that have answered."""
        return {answer.robot for answer in self.answers}


class Collector:
    """Keeps questions open until every expected robot has answered or time is up.

    A question asked again under the same id is the same question. Answers may come before their
    question (they travel on other topics) and are kept for it. Answers after the end are kept for
    training, but do not open the question again. Bounded: the oldest questions are forgotten.

    Args:
        expected: Robots of the team.
        deadline: How long to wait [s] where the question does not say.
        keep: How many questions, and how many early answers, to remember.
        clock: Seconds that only go forward.
    """

    def __init__(
        self,
        expected: Sequence[str],
        deadline: float = 10.0,
        *,
        keep: int = 20_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.expected = tuple(dict.fromkeys(expected))
        self.deadline = deadline
        self.keep = keep
        self.late = 0
        self._clock = clock
        self._questions: OrderedDict[str, OpenQuestion] = OrderedDict()
        self._open: dict[str, OpenQuestion] = {}
        self._early: OrderedDict[str, list[Answer]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """Number of open questions."""
        return len(self._open)

    def ask(self, question: Question, deadline: float = 0.0) -> bool:
        """Open a question; returns whether it is new.

        Args:
            question: What is asked; its id says whether it is new.
            deadline: How long to wait [s]; 0: as the collector was told.
        """
        if question.id in self._questions:
            return False
        now = self._clock()
        entry = OpenQuestion(question, now, now + (deadline or self.deadline))
        entry.answers = self._early.pop(question.id, [])
        self._questions[question.id] = self._open[question.id] = entry
        words = question.text or f"is there a {question.object} in {question.room or 'the house'}?"
        note("question", "aggregator", {"words": words}, question=question.id)
        while len(self._questions) > self.keep:
            old, forgotten = self._questions.popitem(last=False)
            forgotten.closed = True
            self._open.pop(old, None)
        return True

    @staticmethod
    def keep_answer(entry: OpenQuestion, final: FinalAnswer) -> None:
        """Keep for later what the team answers, and all that it was made of."""
        said = {answer.robot: answer for answer in entry.answers}
        counted = {vote.robot: vote.weight for vote in final.votes}
        votes = [
            {"explanation": one.explanation, "weight": counted.get(robot, 0.0), **asdict(one)}
            for robot, one in said.items()
        ]
        word = {True: "yes", False: "no", None: "it cannot tell"}[final.yes]
        if is_guess(final, said.values()):
            word = f"a guess: {word}"
        body = {
            "words": f"{word}, {final.confidence:.2f} sure" if final.yes is not None else word,
            "method": final.method,
            "explanation": final.explanation,
            "question": asdict(entry.question),
            "yes": final.yes,
            "confidence": final.confidence,
            "votes": votes,
            "missing": list(final.missing),
        }
        note("answer", "the team", body, question=entry.question.id)

    def add(self, answer: Answer) -> None:
        """Take in an answer, early, in time or late."""
        entry = self._questions.get(answer.question)
        if entry is None:
            waiting = self._early.setdefault(answer.question, [])
            if len(waiting) < 4 * max(len(self.expected), 1):
                waiting.append(answer)
            while len(self._early) > self.keep:
                self._early.popitem(last=False)
            return
        if entry.closed:
            self.late += 1
            if answer.robot in entry.answered_by():
                return
        elif len(entry.answers) >= 4 * max(len(self.expected), 1):
            return  # a robot that floods the topic cannot fill the memory
        entry.answers.append(answer)

    def take_complete(self, question_id: str) -> OpenQuestion | None:
        """Close and return a question if all expected robots have answered it."""
        entry = self._open.get(question_id)
        if entry is None or not entry.answered_by().issuperset(self.expected):
            return None
        return self._close(entry)

    def take_due(self) -> list[OpenQuestion]:
        """Close and return the questions whose time is up, those asked first first."""
        now = self._clock()
        return [self._close(entry) for entry in list(self._open.values()) if entry.due <= now]

    def get(self, question_id: str) -> OpenQuestion | None:
        """Return a remembered question, open or closed."""
        return self._questions.get(question_id)

    def __iter__(self) -> Iterator[OpenQuestion]:
        """Iterate over all remembered questions, oldest first."""
        return iter(self._questions.values())

    def _close(self, entry: OpenQuestion) -> OpenQuestion:
        entry.closed = True
        self._open.pop(entry.question.id, None)
        return entry
