"""What an agent's memory holds: things, messages, own deeds, and what is where it belongs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from coterie_core.cooperation import Note, Thing


class MemoryFault(ValueError):
    """A saved memory cannot be restored: says what is wrong."""


def trim(table: dict[str, Any], most: int) -> None:
    """Drop the oldest of a table until it holds no more than so many."""
    while len(table) > most:
        del table[next(iter(table))]


def thing_text(thing: Thing) -> str:
    """Return a thing in words, for prompts."""
    relation = "held by" if thing.relation == "held" else thing.relation
    where = f" {relation} {thing.parent}" if thing.parent else ""
    state = "" if thing.is_open is None else ", open" if thing.is_open else ", closed"
    return f"{thing.label} ({thing.id}){where} in {thing.spot.room}{state}"


def tokens_of(thing: Thing) -> int:
    """Return about how many tokens a prompt takes for a thing."""
    return len(thing_text(thing)) // 4 + 2


@dataclass(slots=True)
class Entry:
    """A thing in the scene observation history.

    Attributes:
        thing: As it was last seen, or told of.
        step: When.
        by: Who saw it; "" for oneself.
        level: Relevance, 0 (none) up to R - 1 (strong).
        missing: It was looked for where it should be, and was not there.
    """

    thing: Thing
    step: int
    by: str = ""
    level: int = 0
    missing: bool = False


@dataclass(slots=True)
class Heard:
    """A message in the communication history, with its relevance."""

    note: Note
    step: int
    level: int


@dataclass(slots=True)
class Deed:
    """A plan of one's own that came to an end."""

    step: int
    kind: str
    target: str
    outcome: str


@dataclass(slots=True)
class Claim:
    """A thing that is where it belongs: at which target, seen when and by whom ("" oneself).

    It is known to be there `since` a step; -1: since `step`.
    """

    target: str
    key: str
    step: int
    by: str = ""
    since: int = -1

    def __post_init__(self) -> None:
        if self.since < 0:
            self.since = self.step
