"""Things that a free text names, by the words of the lexicon."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from coterie_requests.lexicon import mentionable


def mentions(text: str) -> list[tuple[int, int, str]]:
    """Return (start, end, label or class) of things named in a text, longest first in place.

    A class wins over a label of the same word ("bag", "table", "seat"): it contains it.
    """
    found: list[tuple[int, int, str]] = []
    for name in _names():
        # Most names are not in a text: looking for their letters is far quicker.
        for match in _pattern(name.word).finditer(text) if name.stem in text else ():
            if not any(a < match.end() and match.start() < b for a, b, _ in found):
                found.append((match.start(), match.end(), name.means))
    return sorted(found)


@dataclass(frozen=True, slots=True)
class _Name:
    """A name: its word, letters that every form of it has, and the label or class it means."""

    word: str
    stem: str
    means: str


@cache
def _names() -> tuple[_Name, ...]:
    """All names, longest first."""
    ordered = sorted(mentionable().items(), key=lambda kv: (-len(kv[0]), kv[0]))
    return tuple(_Name(word, word[:-2] or word, name) for word, name in ordered)


@cache
def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"\b{_plural(word)}\b")


def _plural(word: str) -> str:
    """Pattern of a noun in singular and plural."""
    escaped = re.escape(word)
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return rf"(?:{escaped}|{re.escape(word[:-1])}ies)"
    if word.endswith("fe"):
        return rf"(?:{escaped}|{re.escape(word[:-2])}ves)"
    if word.endswith("f"):
        return rf"(?:{escaped}s?|{re.escape(word[:-1])}ves)"
    return rf"{escaped}(?:s|es)?"
