"""Guesses the language of a sentence by its script and its commonest words."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from coterie_core.yaml_marks import read_yaml
from coterie_requests.understanding.english import is_english, is_name
from coterie_requests.understanding.text import words_in

_SCRIPTS = {
    "CJK": "Chinese",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "ARABIC": "Arabic",
    "HEBREW": "Hebrew",
    "CYRILLIC": "Russian",
    "GREEK": "Greek",
    "DEVANAGARI": "Hindi",
    "BENGALI": "Bengali",
    "TAMIL": "Tamil",
    "TELUGU": "Telugu",
    "THAI": "Thai",
    "GEORGIAN": "Georgian",
    "ARMENIAN": "Armenian",
    "ETHIOPIC": "Amharic",
}
"""First word of a letter's Unicode name -> the language that most who write it speak."""
_ALSO_ENGLISH = 0.3
"""Weight of a word for a language where English has the same word ("die", "was")."""
_DECISIVE = 0.9


@dataclass(frozen=True, slots=True)
class Foreign:
    """Words that are not English.

    Attributes:
        language: Language that they seem to be, by its English name ("" where that is not known).
        words: The words, as said.
        whole: Whether the sentence is in that language, rather than English with a word of it.
    """

    language: str
    words: tuple[str, ...]
    whole: bool


@lru_cache(maxsize=1)
def _languages() -> dict[str, frozenset[str]]:
    text = resources.files("coterie_requests").joinpath("data/languages.yaml").read_text("utf-8")
    return {name: frozenset(words.split()) for name, words in read_yaml(text).items()}


def foreign_words(text: str, known: Collection[str] = ()) -> Foreign | None:
    """Return the words of a text that are of another language than English; None: there are none.

    A single unknown word that no table has is not taken for foreign: it may be misspelled, see
    `unknown_words`.

    Args:
        text: Words as a person wrote them.
        known: Words that mean something here, whatever language they are of: labels, names.
    """
    also = {word.lower() for name in known for word, _ in words_in(name)}
    said = [word for word, _ in words_in(text)]
    script = _script(text, also)
    if script is not None:
        return script
    said = [word for word in said if not (word[0].isupper() and is_name(word)) or word == said[0]]
    low = [word.lower() for word in said]
    strange = [
        word for word in said if len(word) > 1 and word.lower() not in also and not is_english(word)
    ]
    best, most = "", 0.0
    for name, table in _languages().items():
        weight = sum(
            (1.0 if not is_english(word) else _ALSO_ENGLISH)
            for word in low
            if word in table and word not in also
        )
        if weight > most:
            best, most = name, weight
    accented = [w for w in strange if any(ord(c) > 127 for c in w)]
    of_it = _languages().get(best, frozenset())
    foreign = [w for w in strange if w.lower() in of_it or w in accented]
    if (most < _DECISIVE and not accented) or not foreign:
        return None
    if most < _DECISIVE:
        best = ""
    fitting = sum(1 for word in low if word in of_it) + sum(
        1 for word in strange if word.lower() not in of_it
    )
    english = [w for w in low if (is_english(w) or w in also) and w not in of_it]
    return Foreign(best, tuple(foreign), fitting > len(english))


def _script(text: str, known: Collection[str]) -> Foreign | None:
    """Return the words in other letters than Latin ones."""
    found: dict[str, int] = {}
    words: list[str] = []
    for part in text.split():
        if part.lower() in known:
            continue
        names = [_SCRIPTS.get(unicodedata.name(c, "?").split()[0], "") for c in part]
        names = [name for name in names if name]
        if names:
            words.append(part)
        for name in names:
            found[name] = found.get(name, 0) + 1
    if not found:
        return None
    # Japanese is written with Chinese letters among its own.
    language = "Japanese" if "Japanese" in found else max(found, key=lambda name: found[name])
    letters = sum(1 for c in text if c.isalpha())
    return Foreign(language, tuple(words), 2 * sum(found.values()) > letters)


def language_told(foreign: Foreign, *, what: str = "sentence") -> str:
    """Return a line that says which language was heard and which one is read.

    Args:
        foreign: Words that `foreign_words` found.
        what: Kind of text that the person wrote: a sentence, a question, a request.
    """
    heard = ", ".join(repr(word) for word in foreign.words[:6])
    seems = f"seems to be {foreign.language}" if foreign.language else "is not English"
    if not foreign.whole:
        seems = f"has words that {seems.replace('seems', 'seem').replace('is not', 'are not')}"
    return (
        f"the {what} {seems} ({heard}): the rules read English only; say it in English, or "
        "configure a language model (model_profile), which reads other languages"
    )
