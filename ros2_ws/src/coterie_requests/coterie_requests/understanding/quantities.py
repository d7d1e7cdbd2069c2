"""Numerals, ordinals and superlatives."""

from __future__ import annotations

import re

from coterie_requests.understanding.text import words_of

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
_WRITTEN_ORDINAL = re.compile(r"([1-9]\d{0,2})(?:st|nd|rd|th)")


def ordinal_of(word: str) -> int:
    """Return which one in order a word means ("second", "2nd"); -1: the last; 0: it is no such."""
    written = _WRITTEN_ORDINAL.fullmatch(word)
    return int(written[1]) if written is not None else ORDINALS.get(word, 0)
