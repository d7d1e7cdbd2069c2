"""Words that turn a meaning round or compare: a reading that has no field for them is wrong."""

from __future__ import annotations

import re
from functools import lru_cache

from coterie_requests.lexicon import cue_pattern, load_lexicon
from coterie_requests.understanding.english import household_words, in_dictionary
from coterie_requests.understanding.text import written_out

_NOT = re.compile(
    r"\b(?:not|no|never|neither|nor|nobody|nothing|none|nowhere|without)\b"
    r"|\b(?:keep|keeps|stop|stops|prevent|prevents|hinder|hinders)\b[\w ]{1,40}? (?P<from>from"
    r" \w+ing)\b"
)
_SAYS_NOTHING = re.compile(
    r"\b(?:or|why|if|whether or) not\b|\bnot (?:only|just|sure|remember|know)\b"
    r"|\bnot (?:\w+ )?(?:find|locate|see|mind)\b"
    r"|^(?:is|are|was|were|do|does|did|has|have|can|could|will|would) not\b"
    r"|\bno (?:idea|matter|longer|problem|worries|one)\b"
)
"""Negations that ask for the same without it: "or not", "I can not find ...", "is there not"."""
_THAN = re.compile(r"\b(?:more|less|fewer)\b.*\bthan\b|\bthan\b")
_AS = re.compile(
    r"\bas (?!well\b|soon\b|usual\b|far\b|possible\b)\w+ (?:[\w ]+ )?as\b(?! possible)"
)
_IRREGULAR = frozenset(("better", "worse", "farther", "further", "less", "fewer"))
_NO_COMPARATIVES = frozenset(("number",))
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


def negations(text: str) -> tuple[str, ...]:
    """Return the words of a text that say what is not: "not", "without", "from closing".

    Args:
        text: One clause or more; contractions count as written in full ("isn't").
    """
    said = _SAYS_NOTHING.sub(" ", written_out(text))
    found = [one for one in _NOT.finditer(said) if not (one["from"] and _is_use(said, one))]
    return tuple(dict.fromkeys(one["from"] or one[0] for one in found))


def _is_use(said: str, prevented: re.Match[str]) -> bool:
    """Whether to prevent this is a use that is known: "to keep the milk from going sour".

    The use "close" is that of what closes, and prevents no closing.
    """
    start, end = prevented.span("from")
    verb = prevented["from"].removeprefix("from ")[:3]
    uses = ((name, cue) for name, use in load_lexicon().uses.items() for cue in use.cues)
    return any(
        start < match.end() and match.start() < end
        for name, cue in uses
        if not name.startswith(verb)
        for match in cue_pattern(cue).finditer(said)
    )


def comparatives(text: str) -> tuple[str, ...]:
    """Return the words of a text that compare ("heavier", "than"), without names of things."""
    said = written_out(text)
    named = [(start, end) for start, end, _ in load_lexicon().mentions(said)]
    found = [
        word[0]
        for word in _WORD.finditer(said)
        if is_comparative(word[0]) and not any(a <= word.start() < b for a, b in named)
    ]
    found += [one[0].split()[-1] for one in _THAN.finditer(said)]
    found += [" ".join(one[0].split()[:2]) for one in _AS.finditer(said)]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1024)
def is_comparative(word: str) -> bool:
    """Whether a word is the comparative of an adjective: its superlative is a word, too."""
    if word in _IRREGULAR:
        return True
    if not word.endswith("er") or len(word) < 5 or word in household_words() | _NO_COMPARATIVES:
        return False
    stem = word[:-2]
    base = {stem, f"{stem}e", stem[:-1] if stem[-1] == stem[-2] else stem}
    base |= {f"{stem[:-1]}y"} if stem.endswith("i") else set()
    return in_dictionary(f"{stem}est") and any(map(in_dictionary, base))
