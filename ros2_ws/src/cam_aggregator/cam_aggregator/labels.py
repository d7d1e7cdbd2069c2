"""The truth of questions as people told it, with the robots' answers, in memory and in a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from cam_aggregator.base import Aggregator
from cam_aggregator.collector import OpenQuestion
from coterie_core.answer_table import AnswerTable
from coterie_core.files import write_atomically
from coterie_core.questions import Answer, LabelledQuestion

FILE = "answers.json"
MOST = 20_000
"""Labelled questions of earlier runs that are kept."""


def few_labels(aggregator: Aggregator, needed: int) -> str:
    """Return as the end of a sentence that the coverage asked for is not held; "" if it is.

    Args:
        aggregator: What has learned.
        needed: Labels from which the coverage is promised.
    """
    known = int(getattr(aggregator, "trained_on", needed))
    if not aggregator.needs_labels or known >= needed:
        return ""
    return (
        f"; the coverage that the team file asks for is promised from {needed} labels on, and "
        f"these are {known}"
    )


class Labels:
    """Labelled questions of this run and of earlier ones.

    The file is an answer table (`AnswerTable.from_json` reads it). One of another house or team is
    neither learned from nor written over.

    Args:
        house: Name of the house.
        robots: Names of the robots whose answers count.
        file: Where they are kept; None: nowhere.
    """

    def __init__(self, house: str, robots: Sequence[str], file: Path | None) -> None:
        self.house, self.robots, self.file = house, tuple(robots), file
        self.truths: dict[str, bool] = {}
        self.unsaved = False
        self._before: dict[str, tuple[LabelledQuestion, list[Answer]]] = {}

    @staticmethod
    def beside(model: Path | None, house: str, robots: Sequence[str]) -> Labels:
        """Return the labels of the file beside a model's folder; None: of no file."""
        return Labels(house, robots, model.with_name(FILE) if model is not None else None)

    def __len__(self) -> int:
        """Return how many questions have a label."""
        return len(self.truths.keys() | self._before.keys())

    def read(self) -> str:
        """Read the labels of earlier runs; return what is wrong with the file ("": nothing)."""
        if self.file is None or not self.file.exists():
            return ""
        try:
            table = AnswerTable.from_json(self.file.read_text(encoding="utf-8"))
            if (table.house, table.agents) != (self.house, self.robots):
                of = f"{table.house!r} with {', '.join(table.agents)}"
                raise ValueError(f"its labels are of another house or team: {of}")
            first = max(len(table) - MOST, 0)
            for k in range(first, len(table)):
                asked = table.question(k)
                self._before[asked.question.id] = (asked, table.row(k))
        except (OSError, ValueError, KeyError, TypeError) as error:
            trouble = f"{self.file}: {error}; labels are not kept until it is moved away"
            self.file = None
            return trouble
        return ""

    def tell(self, question: str, truth: bool) -> None:
        """Take the truth of a question."""
        self.truths[question] = truth
        self.unsaved = True

    def table(self, questions: Iterable[OpenQuestion]) -> AnswerTable:
        """Return the answers to all questions that somebody told the truth of.

        Args:
            questions: Those of this run.
        """
        rows = dict(self._before)
        for id_ in rows.keys() & self.truths.keys():
            asked, said = rows[id_]
            asked = LabelledQuestion(asked.question, self.truths[id_], asked.group)
            rows[id_] = (asked, said)
        for entry in questions:
            truth = self.truths.get(entry.question.id)
            if truth is None or not entry.answers:
                continue
            last = {answer.robot: answer for answer in entry.answers if answer.robot in self.robots}
            asked = LabelledQuestion(entry.question, truth, entry.question.object)
            rows[entry.question.id] = (asked, list(last.values()))
        items = [asked for asked, _ in rows.values()]
        answers = [answer for _, said in rows.values() for answer in said]
        return AnswerTable.of(self.house, self.robots, items, answers)

    def save(self, questions: Iterable[OpenQuestion]) -> str:
        """Write the file, where there is news for it; return why it cannot be ("": it is)."""
        if self.file is None or not self.unsaved:
            return ""
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.file, self.table(questions).to_json())
        except OSError as error:
            return f"labels not kept: {error}"
        self.unsaved = False
        return ""
