"""Heaps of words: little words where no English sentence has them, names strung together."""

from __future__ import annotations

import re

from coterie_core.household import load_household
from coterie_requests.lexicon import load_lexicon
from coterie_requests.understanding.text import words_of, written_out

_DETERMINERS = frozenset(words_of("a an the my your our their every"))
"""Words that a noun must follow, with or without adjectives."""
_VERBS = frozenset(
    words_of(
        "is are was were be been do does did can could will would shall should may might must has "
        "have had"
    )
)
_ASKING = frozenset(words_of("what which who whose whom where when why how"))
_CLAUSES = frozenset(words_of("because since unless although though while if whether until"))
_JOINING = frozenset(words_of("and or nor but"))
_LINKS = frozenset(words_of("of in on at from to into onto with for by under between beside than"))
_AFTER_DETERMINER = (
    (_VERBS - frozenset(words_of("be can will must might do")))
    | _ASKING
    | _CLAUSES
    | _JOINING
    | (_LINKS - frozenset(words_of("on in under")))
    | frozenset(words_of("i we they he she him them a an the"))
)
_NEVER = frozenset(words_of("never always"))
"""Words that no place follows: "on never"."""
_UNJOINED = frozenset(words_of("of at than between"))
"""Prepositions whose noun cannot be left out before "and" ("on and off" can)."""
_AT_END = _DETERMINERS | _JOINING | _CLAUSES | (_ASKING - {"how"}) | {"than"}
_KNOWING = frozenset(
    words_of(
        "know tell say remember see guess ask show wonder find out idea sure recall check me "
        "us says tells shows knows about exactly think suggest explain decide choose learn "
        "understand forgot forget it them please need want like is are was do does did just "
        "else so then thing"
    )
)
"""Words that a question within a question may follow ("tell me where", "it is what")."""
_ARTICLES = _DETERMINERS | frozenset(words_of("its his"))
_BEFORE_ARTICLE = (
    _JOINING
    | _LINKS
    | frozenset(
        words_of(
            "all both half along through outside inside into about against around towards over up "
            "down across past off upon with without top where"
        )
    )
)
_IN_NO_PHRASE = (_VERBS - {"can", "will", "might", "must"}) | _ASKING | _CLAUSES | {"than"}
_MAX_NAMES_IN_ROW = 3
"""Names of things in a row that are no compound noun any more."""
_WORD = re.compile(r"[\w'-]+|[.,;:?!]")


def misplaced_words(text: str) -> str:
    """Return the words of a text that stand where no sentence has them; "" if all may.

    Only what can be told without knowing what the words mean: a noun is missing after "the", a
    question word or a conjunction ends the sentence or stands in its middle, a word is said twice,
    names of things are strung together. A sentence may make no sense and still pass.

    Args:
        text: One or more sentences, as said.
    """
    for part in re.split(r"(?<=[.?!;])\s+", written_out(text)):
        words = [w for w in _WORD.findall(part) if w not in ".;:?!"]
        found = _misplaced(words) or _strung(part)
        if found:
            return found
    return ""


def heaped_words(phrase: str) -> str:
    """Return the words within a noun phrase that it cannot have; "" if it is one.

    Args:
        phrase: Words that were taken for one thing, without the article before them.
    """
    words = phrase.split()
    for k, word in enumerate(words):
        article = word in _ARTICLES and words[k - 1] not in _BEFORE_ARTICLE
        clause = word in _IN_NO_PHRASE
        if k and (article or clause) and k + 1 < len(words):
            return " ".join(words[k - 1 : k + 2])
    return ""


def _misplaced(words: list[str]) -> str:
    asked = False
    for k, word in enumerate(words):
        after = words[k + 1] if k + 1 < len(words) else ""
        before = words[k - 1] if k else ""
        if word in _DETERMINERS and word != after and (after in ("", ",", *_AFTER_DETERMINER)):
            return f"{word} {after}".strip(" ,")
        if word in _LINKS and (after in _NEVER or (word in _UNJOINED and after in _JOINING)):
            return f"{word} {after}"
        if not after and word in _AT_END and before not in ("", ",", "so", *_JOINING, *_LINKS):
            return word
        if word in _ASKING:
            if asked and word in ("what", "why", "how") and not _may_ask(before):
                return f"{before} {word}"
            asked = True
        if word == after and len(word) > 3 and word not in ("that", "very", "many"):
            return f"{word} {after}"
    return ""


def _may_ask(before: str) -> bool:
    return before in ("", ",", *_JOINING, *_LINKS, *_KNOWING, *_VERBS)


def _strung(text: str) -> str:
    """Return names of things that follow one another without a word between."""
    run: list[tuple[int, int]] = []
    house = load_household()
    for start, end, name in load_lexicon().mentions(text.lower()):
        if name not in house.categories or (run and text[run[-1][1] : start].strip("- ")):
            run = []
        run.append((start, end))
        if len(run) >= _MAX_NAMES_IN_ROW:
            return text[run[0][0] : end]
    return ""
