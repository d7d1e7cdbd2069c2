"""Words of taste: nobody can look up what they ask for."""

from __future__ import annotations

from functools import cache
from importlib import resources

from coterie_core.yaml_marks import OWN, read_yaml
from coterie_requests.lexicon import load_lexicon


@cache
def _taste() -> dict[str, frozenset[str]]:
    text = resources.files("coterie_requests").joinpath("data/taste.yaml").read_text("utf-8")
    return {name: frozenset(words.split()) for name, words in read_yaml(text, OWN).items()}


def is_taste(word: str, use: str = "") -> bool:
    """Whether an adjective, or its comparative or superlative, tells a taste.

    Args:
        word: The adjective.
        use: What the thing serves: "the best knife to cut bread" asks for no opinion.
    """
    low = word.lower().split()[-1] if word.strip() else ""
    base = _base(low)
    known = {part for name in load_lexicon().qualities_in(low) for part in name.split()}
    return bool(base) and not (base in known or low in known or (use and base in _taste()["use"]))


def _base(word: str) -> str:
    """Return the adjective of taste that a word is a form of; "" if it is none."""
    if word in _taste()["adjectives"] or word.endswith("-looking"):
        return word
    for ending in ("est", "er"):
        stem = word.removesuffix(ending)
        for form in (stem, f"{stem}e", f"{stem[:-1]}y", stem[:-1]) if stem != word else ():
            if form in _taste()["adjectives"]:
                return form
    return ""
