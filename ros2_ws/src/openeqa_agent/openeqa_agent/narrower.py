"""Words for a thing that are narrower than its name: a "dining table" is no "coffee table"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from coterie_core.colors import basic_color
from coterie_core.household import load_household, normalized, singulars
from coterie_requests.lexicon import load_lexicon
from coterie_requests.understanding import words_of
from openeqa_agent.labels import canonical

_ROOM = re.compile(r"(?<=\w) room (?=\w+$)")
"""What may be left out between words: the "dining room table" is the dining table."""
_ADJECTIVES = frozenset(
    words_of(
        "big large small little tall high long short wooden wood metal plastic glass leather round "
        "square rectangular old new main double single foldable striped"
    )
)
"""Words in a label that make no other kind of thing of it."""


@lru_cache(maxsize=8192)
def narrower(words: str) -> str:
    """Return the words for a thing, in singular, where they are narrower than its name, else "".

    "The brown dining tables" are each a "dining table", not just any table. Adjectives ("round
    table"), other names ("cupboard") and what has a name of its own ("coffee table") are not
    narrower.
    """
    lexicon, text = load_lexicon(), _ROOM.sub(" ", normalized(words[:100]))
    mentions = lexicon.mentions(text)
    if not mentions or mentions[-1][1] != len(text):
        return ""
    said = text[mentions[-1][0] :]
    own = canonical(said)
    single = next((f for f in (said, *singulars(said)) if f.endswith(f" {own}")), "")
    # "Kitchen appliance" is a word for a whole class, but "table lamp" is one for a lamp, too.
    group = any(single in known.words for known in lexicon.classes.values())
    if not single or (group and single not in lexicon.labels.get(own, ())):
        return ""
    told = single.removesuffix(own).split()
    return single if [w for w in told if w not in _ADJECTIVES and not basic_color(w)] else ""


def place_of(phrase: str) -> str:
    """Return the room that a narrower phrase begins with ("kitchen table"), or ""."""
    part = phrase.removesuffix(canonical(phrase)).strip()
    return part if load_household().room_type(part) else ""


def phrase_share(belief: Mapping[str, float], phrase: str, there: bool) -> float:
    """Return how likely a thing is what a narrower phrase says (0..1).

    Its label may say less ("table") or be a synonym of the tables ("kitchen table"), but nothing
    else ("coffee table"). `there` is whether it stands where the phrase tells: what stands in the
    kitchen may be the "kitchen table", too.
    """
    return sum(
        share
        for label, share in belief.items()
        if is_called(label, phrase)
        or _says_less(label, phrase)
        or (there and _is_kind_of(label, phrase))
    )


def called_share(belief: Mapping[str, float], called: str) -> float:
    """Return how likely a thing has this very name, which is of several words (0..1)."""
    own = canonical(called) == called
    return sum(
        share
        for label, share in belief.items()
        if is_called(label, called) or (own and canonical(label) == called)
    )


@lru_cache(maxsize=8192)
def is_called(label: str, phrase: str) -> bool:
    """Whether a label says all that a phrase does: an "old dining table" is a "dining table"."""
    text, said = normalized(label), phrase.split()
    for form in (text, *singulars(text)):
        words = form.split()
        if words and said and words[-1] == said[-1] and set(said) <= set(words):
            return True
    return text.replace(" ", "") == phrase.replace(" ", "")


@lru_cache(maxsize=8192)
def _says_less(label: str, phrase: str) -> bool:
    """Whether a label has the phrase's name and no other word ("table"), or is a synonym of it."""
    name, said = canonical(phrase), narrower(label)
    # What the tables list as one thing may be: whoever asks for the other is not told "no".
    listed = load_lexicon().labels.get(name, ())
    return canonical(label) == name and (not said or {said, phrase} <= set(listed))


@lru_cache(maxsize=8192)
def _is_kind_of(label: str, phrase: str) -> bool:
    """Whether a label is of the kind that a phrase names: a "wall cabinet" is a cabinet."""
    name, kind = canonical(label), canonical(phrase)
    return name == kind or load_lexicon().kinds.get(name) == kind
