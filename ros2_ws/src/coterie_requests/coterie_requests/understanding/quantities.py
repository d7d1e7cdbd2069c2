"""Numbers and choices of a noun phrase: numerals, ordinals, "all", "the other"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from coterie_requests.understanding.text import words_of

Number = Literal["one", "some", "all"]
Which = Literal["", "other", "another", "rest"]

NUMBERS = {
    **{
        word: number
        for number, word in enumerate(
            words_of(
                "one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
                "fifteen sixteen seventeen eighteen nineteen twenty"
            ),
            start=1,
        )
    },
    "dozen": 12,
    "couple": 2,
    "single": 1,
}
COUNTS = NUMBERS | {"zero": 0, "pair": 2, "both": 2}
"""Words that an answer tells a number with."""
ORDINALS = {
    **{
        word: number
        for number, word in enumerate(
            words_of(
    "first second third fourth fifth sixth seventh eighth ninth tenth"
), start=1
        )
    },
    "last": -1,
}  # fmt: skip
SUPERLATIVES = {
    **dict.fromkeys(("nearest", "closest", "nearby"), "nearest"),
    **dict.fromkeys(("farthest", "furthest", "remotest"), "farthest"),
    **dict.fromkeys(("largest", "biggest", "widest", "longest"), "largest"),
    **dict.fromkeys(("smallest", "tiniest", "littlest"), "smallest"),
    "tallest": "tallest",
    "shortest": "shortest",
    "highest": "highest",
    "lowest": "lowest",
}
ARTICLES = frozenset(("the", "my", "your", "our", "his", "her", "their", "its", "this", "that",
                      "these", "those"))  # fmt: skip
INDEFINITE = frozenset(("a", "an", "any"))
_ALL = frozenset(("all", "every", "each"))
_WRITTEN_ORDINAL = re.compile(r"([1-9]\d{0,2})(?:st|nd|rd|th)")
_FEW = frozenset(("several", "some", "few", "many", "various"))


@dataclass(frozen=True, slots=True)
class Quantity:
    """What stands before a noun.

    Attributes:
        said: The words.
        number: One, some (`count`), or all of them.
        count: Number of things; 0: not said.
        definite: Whether it is said of things that are known ("the", "my").
        ordinal: Place in order, from 1; -1: the last; 0: not said.
        which: "the other", "another", "the rest of".
    """

    said: str = ""
    number: Number = "one"
    count: int = 0
    definite: bool = False
    ordinal: int = 0
    which: Which = ""


def ordinal_of(word: str) -> int:
    """Return which one in order a word means ("second", "2nd"); -1: the last; 0: it is no such."""
    written = _WRITTEN_ORDINAL.fullmatch(word)
    return int(written[1]) if written is not None else ORDINALS.get(word, 0)


def begins_phrase(word: str) -> bool:
    """Whether a word can only be the first of a noun phrase."""
    return word in ARTICLES or word in INDEFINITE or word in _ALL or word in ("both", "another")


def read_quantity(words: list[str], start: int) -> tuple[Quantity, int]:
    """Return how many things the words from `start` on mean, and the index after these words."""
    i = start
    number: Number = "one"
    count, ordinal, definite = 0, 0, False
    which: Which = ""
    said_any = False
    while i < len(words):
        word = words[i]
        after = words[i + 1] if i + 1 < len(words) else ""
        if word == "of" and said_any:
            pass
        elif word in ARTICLES:
            definite = True
        elif word in INDEFINITE or (word == "half" and after in ("a", "dozen")):
            if word == "half":
                count, number = 6, "some"
                i += 1 if after == "dozen" else 2
            else:
                count = count or 1
        elif word in _ALL:
            number, count = "all", 0
        elif word == "both" or word in _FEW or word in ("couple", "pair"):
            number, count = "some", 2
        elif word in ("another", "more"):
            which = "another"
            count = count or (1 if word == "another" else 0)
        elif word in ("other", "others") and (definite or which or number == "all"):
            which = "other"
            if word == "others":
                number = "all"
        elif word in ("rest", "remaining"):
            which, number, count = "rest", "all", 0
        elif ordinal_of(word) and after not in ("floor", "level"):
            ordinal = ordinal_of(word)
        elif word == "single" and number == "all":
            pass
        elif _is_number(words, i):
            count = int(word) if word.isdecimal() else NUMBERS[word]
            number = "some" if count > 1 else "one"
            if word == "dozen" and i > start and words[i - 1] in NUMBERS:
                count = 12 * NUMBERS[words[i - 1]]
        else:
            break
        said_any = True
        i += 1
    # "half the", "of": nothing before a noun.
    return (
        Quantity(" ".join(words[start:i]), number, count, definite, ordinal, which),
        i,
    )


def _is_number(words: list[str], i: int) -> bool:
    word = words[i]
    if word.isdecimal():
        return len(word) < 4
    if word == "one":
        # "the red one", "one in the kitchen": a pronoun, unless a noun follows.
        before = words[i - 1] if i else ""
        return before not in ARTICLES and before not in ("each", "every", "other", "which")
    return word in NUMBERS
