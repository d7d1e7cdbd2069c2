"""Suggests words for a misspelled one: those at the fewest slips of a finger from it."""

from __future__ import annotations

from collections.abc import Iterable

_MAX_WORD_CHARS = 30
"""Letters of a word that suggestions are looked up for."""


def nearest(word: str, words: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Return the words that are spelled most like one, nearest first; none where none is near.

    A slip is a letter too many, too few, another one, or two neighbors that changed places. Short
    words may have one slip, longer ones two, and those of nine letters and more three. Among words
    as near, those of the same letters come first, then those that begin with the same letter, then
    the earlier in `words`.
    """
    said = word.lower()
    most = allowed_slips(said)
    if not most or len(said) > _MAX_WORD_CHARS:
        return ()
    found: list[tuple[int, bool, bool, int, str]] = []
    letters = sorted(said)
    for k, other in enumerate(dict.fromkeys(words)):
        low = other.lower()
        if abs(len(low) - len(said)) > most or len(low) < 2:
            continue
        apart = slips(said, low, most)
        if apart <= most:
            found.append((apart, sorted(low) != letters, low[:1] != said[:1], k, other))
    if not found:
        return ()
    # A word much nearer than others is the one.
    best = min(found)[0]
    return tuple(entry[-1] for entry in sorted(found) if entry[0] <= best + 1)[:limit]


def allowed_slips(word: str) -> int:
    """Return how many slips a word of this length may have and still be recognized."""
    if len(word) < 3:
        return 0
    return 1 if len(word) < 6 else 2 if len(word) < 9 else 3


def slips(a: str, b: str, most: int) -> int:
    """Return the number of slips between two words (optimal string alignment distance).

    Returns `most` + 1 as soon as it is known to be more than `most`.
    """
    if a == b:
        return 0
    if _letters_apart(a, b) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        row = [i]
        for j, y in enumerate(b, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return last[-1]


def _letters_apart(a: str, b: str) -> int:
    """A lower bound of the slips: letters of one word that the other does not have."""
    missing = a
    over = 0
    for letter in b:
        shorter = missing.replace(letter, "", 1)
        over += shorter == missing
        missing = shorter
    return max(len(missing), over)
