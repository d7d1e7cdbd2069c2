"""What a detector with prompt words looks for: what it was given, else what homes have."""

from __future__ import annotations

from collections.abc import Sequence

from coterie_perception.coco import INDOORS

MOST_WORDS = 40
"""Most words of one prompt: open-vocabulary networks read some 250 tokens."""
_MOST_CHARS = 60


class PromptWords:
    """The words, those that the team asked for last first.

    Args:
        given: Words of the team file; none: what COCO has of homes.
    """

    def __init__(self, given: Sequence[str]) -> None:
        self._base = tuple(given) or INDOORS
        self._asked: list[str] = []

    def add(self, words: Sequence[str]) -> None:
        """Take what the team looks for; of a word letters, digits, spaces, - and ' count."""
        for word in words:
            plain = "".join(c for c in word[:_MOST_CHARS] if c.isalnum() or c in " -'")
            if plain := " ".join(plain.lower().split()):
                self._asked = [plain, *(one for one in self._asked if one != plain)][:MOST_WORDS]

    @property
    def words(self) -> tuple[str, ...]:
        """At most `MOST_WORDS` words, each once."""
        return tuple(dict.fromkeys((*self._asked, *self._base)))[:MOST_WORDS]
