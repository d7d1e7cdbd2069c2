"""Numerals, ordinals and superlatives."""

from __future__ import annotations

import re

from coterie_requests.understanding.text import word_tables

NUMBERS: dict[str, int] = {
    **{word: number for number, word in enumerate(word_tables()["numbers"].split(), start=1)},
    "dozen": 12, "couple": 2, "single": 1,
}  # fmt: skip
COUNTS = NUMBERS | {"zero": 0, "pair": 2, "both": 2}
"""Words that an answer tells a number with."""
_ORDINALS = {
    **{word: number for number, word in enumerate(word_tables()["ordinals"].split(), start=1)},
    "last": -1,
}
SUPERLATIVES = {
    **dict.fromkeys(("nearest", "closest", "nearby"), "nearest"),
    **dict.fromkeys(("farthest", "furthest", "remotest"), "farthest"),
    **dict.fromkeys(("largest", "biggest", "widest", "longest"), "largest"),
    **dict.fromkeys(("smallest", "tiniest", "littlest"), "smallest"),
    "tallest": "tallest", "shortest": "shortest", "highest": "highest", "lowest": "lowest",
}  # fmt: skip
_WRITTEN_ORDINAL = re.compile(r"([1-9]\d{0,2})(?:st|nd|rd|th)")


def ordinal_of(word: str) -> int:
    """Return which one in order a word means ("second", "2nd"); -1: the last; 0: it is no such."""
    written = _WRITTEN_ORDINAL.fullmatch(word)
    return int(written[1]) if written is not None else _ORDINALS.get(word, 0)
