"""Choices between two answers, taken apart: "is the mug in the kitchen or in the office?"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from coterie_requests.understanding.relation_words import PREPOSITION

_THERE = re.compile(
    r"^(?P<aux>is|are) there (?P<a>(?:an?|any|some|the) [\w -]+?) or (?P<b>(?:an?|any|some|the) "
    rf"[\w -]+?)(?P<where> {PREPOSITION} .+)?$"
)
_PLACES = re.compile(
    rf"^(?P<head>(?:is|are) (?:the|my|our|your|an?) [\w -]+?) (?P<a>{PREPOSITION} [\w -]+?) or "
    r"(?P<b>[\w -]+)$"
)
_SUBJECTS = re.compile(
    r"^(?P<aux>is|are) (?P<a>(?:the|my|our|your) [\w -]+?) or (?P<b>(?:the|my|our|your) [\w -]+?) "
    rf"(?P<where>{PREPOSITION} .+)$"
)
_MORE = re.compile(
    r"^(?:are|is) there more (?P<a>[\w -]+?) or (?:more )?(?P<b>[\w -]+?)"
    rf"(?P<where> {PREPOSITION} .+)?$|^(?:are|is) there more (?P<c>[\w -]+?) than (?P<d>[\w -]+?)"
    rf"(?P<there> {PREPOSITION} .+)?$"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What is offered, as said, and a question for each: of yes or no, or of how many."""

    words: tuple[str, ...]
    questions: tuple[str, ...]


def split_choice(core: str) -> Choice | None:
    """Return the choice that a clause offers between things or places; None: it offers none."""
    if " or " not in core and " than " not in core:
        return None
    more = _MORE.match(core)
    if more and more["a"]:
        where = more["where"] or ""
        return _choice((more["a"], more["b"]), "how many {} are there" + where)
    if " or " not in core:
        return None
    there = _THERE.match(core)
    if there:
        return _choice((there["a"], there["b"]), f"is there {{}}{there['where'] or ''}")
    subjects = _SUBJECTS.match(core)
    if subjects:
        return _choice((subjects["a"], subjects["b"]), f"is {{}} {subjects['where']}")
    places = _PLACES.match(core)
    if places:
        first, second = places["a"], places["b"]
        if not re.match(rf"(?:{PREPOSITION}|the|my|our|an?)\b", second):
            return None  # "is the chest in the hall open or closed"
        if not re.match(rf"{PREPOSITION}\b", second):
            second = f"{re.match(PREPOSITION, first)[0]} {second}"  # type: ignore[index]
        return _choice((first, second), f"{places['head']} {{}}")
    return None


def _choice(words: tuple[str, str], form: str) -> Choice:
    said = tuple(word.strip() for word in words)
    return Choice(said, tuple(form.format(word) for word in said))
