"""The oracle: to whom each question goes."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from coterie_bench.oracle.request import Question, question_of

Answerer = Callable[[Question], dict[str, Any]]
"""Returns a reply, or `question.call(...)` to look something up first."""


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

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a request.

        Raises:
            LookupError: Nobody answers this kind of question.
        """
        question = question_of(body)
        self.asked[question.title] += 1
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
