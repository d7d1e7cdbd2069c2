"""Tells English words from others: a dictionary, the household's words, and what neither knows."""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from coterie_core.household import load_household
from coterie_requests.lexicon import load_lexicon
from coterie_requests.understanding.text import is_measure, nearest, with_digits, words_in, words_of

_MAX_SUGGESTED = 6
"""Unknown words of one text that suggestions are looked up for."""
_WRITTEN_WITH_DIGITS = frozenset(words_of("co2 h2o o2 mp3 mp4 a3 a4 a5 b12 v6 v8 pm10"))
"""English words that are written with a digit."""
_SIGNS = re.compile(r"[\s_#/.:'-]+")
_JOINED_CHARS = 8
"""Letters from which a word may be two that are written as one."""


@dataclass(frozen=True, slots=True)
class UnknownWord:
    """A word that is no English, where it stands [characters], and what may be meant."""

    word: str
    position: int
    suggestions: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def _dictionary() -> tuple[frozenset[str], frozenset[str]]:
    """Return the English words in lower case, and the names, which begin with a capital."""
    packed = resources.files("coterie_requests").joinpath("data/english_words.txt.gz").read_bytes()
    entries = gzip.decompress(packed).decode("utf-8").split()
    names = frozenset(entry for entry in entries if entry[0].isupper())
    return frozenset(entries) - names | {"i"}, names


@lru_cache(maxsize=1)
def household_words() -> frozenset[str]:
    """Return the single words that names of things, classes, rooms and colors consist of."""
    household, lexicon = load_household(), load_lexicon()
    names: set[str] = {*household.colors}
    for category in household.categories.values():
        names |= {category.label, *category.synonyms}
    names |= household.room_words.keys()
    for label, synonyms in lexicon.labels.items():
        names |= {label, *synonyms}
    for found in lexicon.classes.values():
        names |= {*found.words}
    return frozenset(word.lower() for name in names for word, _ in words_in(name))


def in_dictionary(word: str) -> bool:
    """Whether the dictionary of English has a word in this very form; it has no compounds."""
    return word in _dictionary()[0]


def is_english(word: str) -> bool:
    """Whether a dictionary of English or the household knows a word (not a name), in any form."""
    text = word.lower().strip("'")
    if text.endswith("'s"):
        text = text[:-2]
    words, _ = _dictionary()
    if text in words or text in household_words():
        return True
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    if plain != text:
        return is_english(plain)  # "cafe" with an accent
    if "-" in text:
        return all(is_english(part) for part in text.split("-") if part)
    # What the list leaves out: plurals of the household's own words ("fridges"), and two words
    # written as one ("bedsheet").
    if text.endswith("s") and text[:-1] in household_words():
        return True
    return len(text) >= _JOINED_CHARS and any(
        text[:k] in words and text[k:] in words for k in range(3, len(text) - 2)
    )


def is_name(word: str) -> bool:
    """Whether a word is known as a name of persons or places, written in any case ("john")."""
    return word.capitalize().removesuffix("'s") in _dictionary()[1]


def unknown_words(
    text: str, known: Collection[str] = (), *, near: Iterable[str] | None = None
) -> list[UnknownWord]:
    """Return the words of a text that are neither English nor known otherwise.

    What has digits is known as a number ("2nd", "3pm", "50cm"), as a name, or where each of its
    parts is a number or a word ("mug_2", "6-pack"); "486cb7" and "wh-1000xm4" are unknown.

    Args:
        text: Words as a person wrote them.
        known: More words that mean something here: labels, names of rooms and robots.
        near: Words to suggest; None: the household's words, then all of the dictionary.
    """
    known = tuple(known)
    also = {word.lower() for name in known for word, _ in words_in(name)}
    numbered = _with_digits_known(known)
    tokens = with_digits(text)
    odd = [(token, at) for token, at in tokens if not _reads(token, also, numbered)]
    within = [range(at, at + len(token)) for token, at in tokens]
    plain = [(word, at) for word, at in words_in(text) if not any(at in one for one in within)]
    found: list[UnknownWord] = []
    for word, position in sorted((*plain, *odd), key=lambda one: one[1]):
        if (word, position) in odd:
            found.append(UnknownWord(word, position))
            continue
        low = word.lower()
        if len(low) < 2 or low in also or is_english(low) or (word[0].isupper() and is_name(word)):
            continue
        suggestions: tuple[str, ...] = ()
        if len(found) < _MAX_SUGGESTED:
            suggestions = suggested(low, near, also)
        found.append(UnknownWord(word, position, suggestions))
    return found


def _with_digits_known(names: Collection[str]) -> frozenset[str]:
    """Return the words with digits of names, as they stand and with single spaces for signs."""
    words: set[str] = set()
    for name in names:
        low = name.lower()
        if any(c.isdigit() for c in low):
            words |= {low, *low.split(), *_SIGNS.split(low)}
    return frozenset(words)


def _reads(token: str, words: Collection[str], numbered: Collection[str]) -> bool:
    """Whether a token with digits means something: a number, a name, or made of such and words."""
    low = token.lower()
    bare = low.removesuffix("'s")
    if is_measure(low) or bare in numbered:
        return True
    return all(
        is_measure(part)
        or part in numbered
        or part in _WRITTEN_WITH_DIGITS
        or (part.isalpha() and len(part) > 1 and (part in words or is_english(part)))
        for part in _SIGNS.split(low)
        if part
    )


def suggested(
    word: str, near: Iterable[str] | None = None, known: Collection[str] = ()
) -> tuple[str, ...]:
    """Return words that are spelled much like one, likeliest first (at most three)."""
    if near is not None:
        return nearest(word, near)
    first = nearest(word, [*sorted(known), *sorted(household_words())])
    return first or nearest(word, sorted(_dictionary()[0]))
