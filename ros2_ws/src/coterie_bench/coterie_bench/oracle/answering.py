"""The oracle: to whom each question goes."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from coterie_bench.oracle.request import Question, one_by_one, question_of
from coterie_core.testing.endpoint import Status

Answerer = Callable[[Question], dict[str, Any]]
"""Returns a reply, or `question.call(...)` to look something up first."""


NO_IMAGES = Status(400, "image input is not supported: a scripted answerer cannot see")
"""What is replied to a prompt with images: their decisions are not covered."""


class Oracle:
    """A responder for `coterie_core.testing.endpoint.Endpoint` that answers from the prompt alone.

    Every module of this package that has a table `ANSWERS` (title of a reply's schema -> function)
    adds the answers to its decisions.

    Args:
        answers: Table to use; None: all of this package.

    Attributes:
        asked: How often each kind of reply was asked for.
    """

    def __init__(self, answers: Mapping[str, Answerer] | None = None) -> None:
        self.answers = dict(all_answers() if answers is None else answers)
        self.asked: Counter[str] = Counter()

    def __call__(self, body: dict[str, Any]) -> Any:
        """Answer a request; refuse one with images.

        Raises:
            LookupError: Nobody answers this kind of question.
        """
        return one_by_one(self._answer, body)

    def _answer(self, body: dict[str, Any]) -> Any:
        question = question_of(body)
        self.asked[question.title] += 1
        if question.images:
            return NO_IMAGES
        if question.title not in self.answers:
            raise LookupError(f"the oracle has no answer of the kind {question.title!r}")
        return self.answers[question.title](question)


def all_answers() -> dict[str, Answerer]:
    """Return the tables of all modules of this package in one.

    Raises:
        ValueError: Two modules answer one kind of question.
    """
    found: dict[str, Answerer] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        loaded = importlib.import_module(f"coterie_bench.oracle.{module.name}")
        table: Mapping[str, Answerer] = getattr(loaded, "ANSWERS", {})
        twice = found.keys() & table.keys()
        if twice:
            raise ValueError(f"{module.name}: {', '.join(sorted(twice))} is answered elsewhere")
        found.update(table)
    return found
