"""Names as sentences say them: with an article, and several in one phrase."""

from __future__ import annotations

import re
from collections.abc import Iterable


def article(name: str) -> str:
    """Return a name with its indefinite article; a plural ("books") has none."""
    if name.endswith("s") and not name.endswith(("ss", "us")):
        return name
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def enumerated(names: Iterable[str], most: int = 0) -> str:
    """Return names in one phrase: "a lamp, 2 books and a cup".

    Args:
        names: The names, in order.
        most: Names that are said; the rest is counted ("and 3 more"); 0: all.
    """
    shown = list(names)
    if most and len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def spoken(text: str, robots: Iterable[str]) -> str:
    """Return a text with robots' ids of things as people say them: "rover-mug-1", "rover's mug 1".

    Args:
        text: Words in which such ids may stand.
        robots: The robots' names.
    """
    names = "|".join(re.escape(name) for name in sorted(filter(None, robots), key=len)[::-1])
    if not names:
        return text
    ids = rf"(?<![\w-])({names})-([a-z]+(?:-[a-z]+)*)-(\d+)(?![\w-])"
    return re.sub(ids, lambda m: f"{m[1]}'s {m[2].replace('-', ' ')} {m[3]}", text)
