"""Sentences as they come from outside: bounded, without control characters, in plain letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from functools import cache
from importlib import resources
from typing import Any

from coterie_core.yaml_marks import read_own


@cache
def word_tables() -> dict[str, Any]:
    """Return the tables of `data/request_words.yaml`."""
    file = resources.files("coterie_requests").joinpath("data/request_words.yaml")
    tables: dict[str, Any] = read_own("request_words.yaml", file.read_text("utf-8"))
    return tables


MAX_SENTENCE_CHARS = 1000
"""Characters of a sentence that the rules read."""
_SHOWN_CHARS = 80
_MAX_WORD_CHARS = 30
"""Letters of a word that suggestions are looked up for."""
_NEAR = 0.75
"""Least likeness (`difflib`, 0..1) of words of which one may be the other misspelled."""
_QUOTES = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201b": "'", "\u2032": "'", "\u00b4": "'", "`": "'",
    "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"',
    "\u2013": " , ", "\u2014": " , ", "\u2026": " . ", "\u00a0": " ",
})  # fmt: skip
_NO_TEXT = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "So", "Sk"))
"""Unicode categories of what is no text: control characters, surrogates, pictures."""
_CONTRACTIONS = tuple(
    (re.compile(rf"\b{short}\b"), full)
    for short, full in (
        (r"cannot|can['’]?t", "can not"),
        (r"won['’]?t", "will not"),
        (r"(do|does|did|is|are|was|were|could|should|would|have|has|had|must)n['’]?t", r"\1 not"),
        (r"let['’]?s", "let us"),
        (r"i['’]?m", "i am"),
        (r"(\w+)['’]re", r"\1 are"),
        (r"(\w+)['’]ve", r"\1 have"),
        (r"(\w+)['’]ll", r"\1 will"),
        (r"(\w+)['’]d", r"\1 would"),
        (r"(that|there|where|what|who|how)['’]?s", r"\1 is"),
        (r"(it|which|here|he|she)['’]s", r"\1 is"),
    )
)
"""Contractions; the apostrophe may be missing where no other word comes of it (not "its")."""
_CODE = re.compile(r"[{}\[\]<>=\\|^~]|&&|::|\w\((?!(?:s|es|ies)\))")
"""Signs that no sentence has, and a call; "mug(s)" is none."""


def plain_text(text: str) -> str:
    """Return a text with typographic quotes and dashes plain, without control characters.

    Lone surrogates, control characters, pictures and marks that turn the direction of writing
    become spaces.
    """
    kept = unicodedata.normalize("NFC", text).translate(_QUOTES)
    kept = "".join(" " if unicodedata.category(c) in _NO_TEXT else c for c in kept)
    return " ".join(kept.split())


def written_out(text: str) -> str:
    """Return a text in lower case with its contractions in full: "Don't" becomes "do not".

    The 's of an owner ("mom's mug") stays.
    """
    text = text.lower()
    for pattern, full in _CONTRACTIONS:
        text = pattern.sub(full, text)
    return text


def code_in(text: str, known: Collection[str] = ()) -> list[str]:
    """Return the pieces of a text that are code or markup: "mug[0]", "<b>sofa</b>", "wash()".

    Args:
        text: Text of a person.
        known: Names that mean something here, whatever signs they have.
    """
    for name in known:
        if _CODE.search(name):
            text = text.replace(name, " ")
    return [piece for piece in text.split() if _CODE.search(piece)]


def nearest(word: str, words: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Return the words that are spelled most like one, nearest first; none where none is near."""
    known = {other.lower(): other for other in words}
    said = word.lower()[:_MAX_WORD_CHARS]
    return tuple(known[low] for low in get_close_matches(said, known, limit, _NEAR))


def shown(text: str, limit: int = _SHOWN_CHARS) -> str:
    """Return a text short enough to be shown in a message; what was cut is told by its count."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}... ({len(text) - limit} more characters)"
