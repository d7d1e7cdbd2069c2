"""Drafts of questions about houses, and the little grammar that their words need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from research.bench.openeqa.facts import Facts
from research.bench.openeqa.phrases import Phrases

Rng = np.random.Generator
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight")


@dataclass(frozen=True, slots=True)
class Draft:
    """A question, its answer and others that are right, and what must be seen to answer it."""

    question: str
    answer: str
    evidence: tuple[str, ...]
    extra: tuple[str, ...] = ()
    anyone: bool = False


Maker = Callable[[Facts, Rng, Phrases], Iterator[Draft]]


def a(label: str) -> str:
    """Return a label with its article."""
    return f"an {label}" if label[0] in "aeiou" else f"a {label}"


def be(label: str) -> str:
    """Return "is", or "are" for what has a plural name ("books")."""
    return "are" if label.endswith("s") and not label.endswith(("ss", "us")) else "is"
