"""Which words speak of the use of which thing, from `data/associations.tsv` (out of WordNet)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

from coterie_core.household import singulars

_FAR_FROM = 0.2
"""Least sum of strengths that names a use; less is chance."""
_ENDINGS = (("ies", "y"), ("ied", "y"), ("es", "e"), ("es", ""), ("s", ""), ("ed", "e"), ("ed", ""),
            ("ing", "e"), ("ing", ""), ("er", ""), ("er", "e"), ("ly", ""), ("y", ""))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Associated:
    """Labels that a word speaks of, each with a strength, and labels that it names itself."""

    strengths: dict[str, float]
    named: frozenset[str]


@cache
def load_associations() -> dict[str, Associated]:
    """Return word -> labels, as `research/tools/derive_object_uses.py` wrote them.

    Raises:
        ValueError: A line of the data file is broken.
    """
    text = resources.files("openeqa_agent").joinpath("data/associations.tsv").read_text("utf-8")
    table = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        word, _, entries = line.partition("\t")
        parts = entries.split(",")
        pairs = (part.rsplit(":", 1) for part in parts if not part.startswith("-"))
        strengths = {label: int(value) / 100.0 for label, value in pairs}
        table[word] = Associated(strengths, frozenset(p[1:] for p in parts if p.startswith("-")))
    return table


def things_for(text: str) -> dict[str, float]:
    """Return label -> how much a text speaks of its use; empty where it says too little.

    Things that the text names itself, or kinds of, are what something is done to, not with.
    """
    table = load_associations()
    sums: dict[str, float] = {}
    named: set[str] = set()
    for word in dict.fromkeys(re.findall(r"[a-z]+", text.lower())):
        entry = next((table[form] for form in _forms(word) if form in table), None)
        if entry is None or len(word) < 3:
            continue
        named |= entry.named
        for label, strength in entry.strengths.items():
            sums[label] = sums.get(label, 0.0) + strength
    found = {label: value for label, value in sums.items() if label not in named}
    return found if max(found.values(), default=0.0) >= _FAR_FROM else {}


def _forms(word: str) -> Iterator[str]:
    """A word, and what it may be a form of."""
    yield word
    yield from singulars(word)
    for end, other in _ENDINGS:
        if word.endswith(end) and len(word) > len(end) + 2:
            form = word[: -len(end)] + other
            yield form
            if len(form) > 3 and form[-1] == form[-2]:
                yield form[:-1]
