"""Words of taste and opinion in a request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from coterie_requests.lexicon import load_lexicon
from coterie_requests.understanding.text import words_of


@dataclass(frozen=True, slots=True)
class _Tables:
    adjectives: frozenset[str]
    irregular: frozenset[str]
    with_use: frozenset[str]
    opinion: tuple[re.Pattern[str], ...]
    looks: str


@cache
def _tables() -> _Tables:
    text = resources.files("coterie_requests").joinpath("data/taste.yaml").read_text("utf-8")
    data = yaml.safe_load(text)
    return _Tables(
        frozenset(words_of(data["adjectives"])),
        frozenset(words_of(data["irregular"])),
        frozenset(words_of(data["with_use"])),
        tuple(re.compile(pattern) for pattern in data["opinion"]),
        str(data["looks"]),
    )


_USE = re.compile(r"\b(?:for|to (?!the\b|a\b|an\b|my\b|our\b|your\b)\w+|with which|in which)\b")

_OF_DOING = re.compile(
    r"\b(?:good|nice|great|lovely) (?=(?:look|search|check|peek|job|work|day|morning|evening)\b)"
)
"""Adjectives of doing something, not of things: "have a good look"."""


def subjective_terms(text: str) -> tuple[str, ...]:
    """Return the words of taste in a text in lower case; empty: it asks for no opinion.

    Args:
        text: Text, as `written_out` returns it.
    """
    tables = _tables()
    text = _OF_DOING.sub(" ", text)
    found = [match.group() for pattern in tables.opinion for match in pattern.finditer(text)]
    known = {word for name in load_lexicon().qualities_in(text) for word in name.split()}
    for match in re.finditer(r"[\w-]+", text):
        base = _base(match.group(), tables)
        if not base or base in known or match.group() in known:
            continue
        if base in tables.with_use and _USE.search(text, match.end()):
            continue
        found.append(match.group())
    return tuple(dict.fromkeys(found))


def _base(word: str, tables: _Tables) -> str:
    """Return the adjective of taste that a word is a form of; "" if it is none."""
    if word in tables.irregular or word in tables.adjectives:
        return word
    if word.endswith(tables.looks) and len(word) > len(tables.looks):
        return word
    for ending in ("est", "er"):
        stem = word.removesuffix(ending)
        if stem == word:
            continue
        for form in (stem, f"{stem}e", f"{stem[:-1]}y", stem[:-1]):
            if form in tables.adjectives:
                return form
    return ""
