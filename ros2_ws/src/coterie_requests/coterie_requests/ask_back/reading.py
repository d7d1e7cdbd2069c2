"""A request read for what it takes for granted: things and places spoken of as known."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Literal

from coterie_core.yaml_marks import read_yaml
from coterie_requests.ask_back.judgement import Command
from coterie_requests.lexicon import load_lexicon
from coterie_requests.understanding.phrases import Phrase, parse_phrase
from coterie_requests.understanding.quantities import ARTICLES
from coterie_requests.understanding.text import plain_text, words_of, written_out
from coterie_requests.understanding.vocabulary import Vocabulary


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
    data = read_yaml(text)
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


_WORD = re.compile(r"[\w'-]+")
_RELATIONS = {
    "in": "in", "inside": "in", "within": "in", "on": "on", "at": "near", "near": "near",
    "beside": "near", "by": "near", "under": "under", "below": "under", "above": "above",
    "behind": "behind", "from": "in",
}  # fmt: skip
_LONG_RELATIONS = {("next", "to"): "near", ("on", "top", "of"): "on", ("close", "to"): "near"}
_POLAR = re.compile(r"(?:is|are|was|were|does|do|did|has|have|can|could)\b")
_BARE_COUNT = re.compile(r"\bhow many (?:are|do|can|have|of (?:them|those|these))\b")
_DEMONSTRATIVES = ("that", "this", "those", "these")
_ANAPHORS = ("it", "they", "them")
_POINTED = re.compile(r"\b(?:that|this) one\b")
_SOME = re.compile(r"\b(?:something|anything|somewhere|somebody|everything|what else)\b")
_IT_SEEMS = re.compile(
    r"\bit (?:is|was|will be) (?:\w+ )?(?:to|that|time|raining|cold|hot|dark)\b"
    r"|\bhow (?:far|close) (?:is|was) it from\b|\bis it (?:\w+ )?(?:far|close) from\b"
)
"""Phrases in which "it" stands for nothing that was said before: "how far is it from the bed?"."""


@dataclass(frozen=True, slots=True)
class Mention:
    """What a request speaks of as known: "the mug on the desk", "the attic".

    `role`: a thing, or a place that a thing is brought to; `only`: whether one certain thing is
    meant, so that several that fit are too many; `presumed`: whether it is taken to be there.
    """

    phrase: Phrase
    role: Literal["thing", "target"] = "thing"
    only: bool = True
    presumed: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """What a request takes for granted.

    `pronoun`: a word that stands for nothing that was said, `taste`: words of taste.
    """

    text: str
    mentions: tuple[Mention, ...] = ()
    pronoun: str = ""
    taste: tuple[str, ...] = ()


def read_request(words: str, names: Vocabulary, command: Command) -> Reading:
    """Return what a request in English takes for granted; of other languages, nothing.

    Args:
        words: The request.
        names: Names that mean something, see `Vocabulary.of`.
        command: Command that it is given to.
    """
    text = _POINTED.sub("it", written_out(plain_text(words[:1000])))
    reader = _Reader(text, names, attached=not (command == "ask" and _POLAR.match(text)))
    for clause in re.split(r"[,.;?!]+", text):
        reader.read(_WORD.findall(clause))
    pronoun = reader.pronoun
    if not reader.found and _BARE_COUNT.search(text):
        pronoun = "how many"
    return Reading(text, tuple(reader.mentions), pronoun, subjective_terms(text))


class _Reader:
    """Collects the noun phrases of a request, clause by clause."""

    def __init__(self, text: str, names: Vocabulary, *, attached: bool) -> None:
        self.names = names
        self.found: list[Phrase] = []
        self.mentions: list[Mention] = []
        self.pronoun = ""
        self._attached = attached
        self._loose = bool(_SOME.search(text)) or bool(_IT_SEEMS.search(text))

    def read(self, tokens: list[str]) -> None:
        """Take in a clause."""
        i = last = 0
        while i < len(tokens):
            if tokens[i] in _ANAPHORS:
                self._point(tokens[i])
                i = last = i + 1
                continue
            parsed = parse_phrase(tokens, i, self.names)
            if parsed is None or not _speaks_of(parsed[0], tokens, i):
                i += 1
                continue
            phrase, end = parsed
            if phrase.pronoun:
                relative = tokens[i] in _DEMONSTRATIVES and i == last and i > 0
                if not relative:
                    self._point(phrase.said)
                i = last = end
                continue
            inner: list[Phrase] = []
            if self._attached:
                phrase, end, inner = _with_places(phrase, tokens, end, self.names)
            for one in (phrase, *inner):
                if one.definite or one.floor or (one.room and not one.label):
                    only = one.definite and one.number == "one"
                    self.mentions.append(Mention(one, only=only))
            self.found.append(phrase)
            i = last = end

    def _point(self, said: str) -> None:
        """Take in a pronoun: it needs something that was said before."""
        if not (self.found or self._loose or self.pronoun):
            self.pronoun = said


def _speaks_of(phrase: Phrase, tokens: list[str], start: int) -> bool:
    """Whether what was parsed is a noun phrase: it is pointed to, or its noun is known."""
    if phrase.person or phrase.house or phrase.robot:
        return False
    if phrase.pronoun:
        return start == 0 or tokens[start - 1] != "how"  # "how many", "how large" stand for nothing
    if phrase.anything:
        return False
    if tokens[start] in ARTICLES:
        return bool(phrase.noun)
    return phrase.known and bool(phrase.label or phrase.room or phrase.floor)


def _with_places(
    phrase: Phrase, tokens: list[str], end: int, names: Vocabulary
) -> tuple[Phrase, int, list[Phrase]]:
    """Attach what is said of where a thing is; return the phrase, its end, and those places."""
    inner: list[Phrase] = []
    while end < len(tokens):
        relation, start = _relation(tokens, end)
        parsed = parse_phrase(tokens, start, names) if relation and start < len(tokens) else None
        if parsed is None or parsed[0].pronoun or parsed[0].person:
            break
        place, end = parsed
        if place.house or place.anything:
            continue
        inner.append(place)
        phrase = replace(phrase.within(relation, place), definite=phrase.definite)
    return phrase, end, inner


def _relation(tokens: list[str], at: int) -> tuple[str, int]:
    for said, relation in _LONG_RELATIONS.items():
        if tuple(tokens[at : at + len(said)]) == said:
            return relation, at + len(said)
    return _RELATIONS.get(tokens[at], ""), at + 1
