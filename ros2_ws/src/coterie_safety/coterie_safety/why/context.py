"""Context of the work in hand: its goal, task, sub-task, question, and the step before it."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Belongs:
    """What a record belongs to; "" where to nothing of the kind.

    Attributes:
        goal: Id of the action's goal that is served, 32 hexadecimal digits.
        task: Id of the task.
        sub_task: Id of the sub-task.
        question: Id of the question.
        because: Id of the record that led to it.
    """

    goal: str = ""
    task: str = ""
    sub_task: str = ""
    question: str = ""
    because: str = ""


_NOTHING = Belongs()
_now: contextvars.ContextVar[Belongs] = contextvars.ContextVar("coterie_why", default=_NOTHING)


def current() -> Belongs:
    """Return what the work in hand belongs to."""
    return _now.get()


@contextlib.contextmanager
def about(
    *,
    goal: str | None = None,
    task: str | None = None,
    sub_task: str | None = None,
    question: str | None = None,
    because: str | None = None,
) -> Iterator[None]:
    """Let what is recorded in this block, and in tasks begun in it, belong to these, too."""
    given = {
        "goal": goal,
        "task": task,
        "sub_task": sub_task,
        "question": question,
        "because": because,
    }
    changed = {name: value for name, value in given.items() if value is not None}
    token = _now.set(replace(_now.get(), **changed))
    try:
        yield
    finally:
        _now.reset(token)


def belong(*, task: str = "", sub_task: str = "", question: str = "") -> None:
    """Let what comes next in this task of the loop belong to these, and follow from nothing yet."""
    _now.set(Belongs(_now.get().goal, task, sub_task, question))


def follow(because: str) -> None:
    """Let what comes next in this task of the loop follow from a record; "" changes nothing."""
    if because:
        _now.set(replace(_now.get(), because=because))
