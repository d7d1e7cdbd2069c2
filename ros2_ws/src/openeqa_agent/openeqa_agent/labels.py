"""What an object of a map is and looks like: names, likelihoods, colors."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

from coterie_core.colors import are_alike, stated_color
from coterie_core.household import load_household, normalized, singulars
from coterie_requests.lexicon import load_lexicon
from coterie_requests.request import Thing
from coterie_requests.understanding.vocabulary import Vocabulary, plain_name
from coterie_world.scene import SceneGraph, SceneObject

_WORD = re.compile(r"[^\W\d_]+")


def belief(thing: SceneObject) -> dict[str, float]:
    """Label -> probability, sharpened by how often an object was seen, likeliest first.

    A mapper adds up a noisy detector's scores: the shares of its labels stay as uncertain as one
    look, however many there were. Looks that agree make the first label surer.
    """
    shares = thing.label.distribution()
    power = min(1.0 + thing.observations / 4.0, 3.0)
    weights = {label: share**power for label, share in shares.items() if share > 0.02}
    total = sum(weights.values())
    return {label: weight / total for label, weight in weights.items()} if total > 0.0 else {}


UNKNOWN_COLOR = 0.5
"""How well a color fits a thing of which the map knows none."""


def color_fit(thing: SceneObject, wanted: str) -> float:
    """How well an object's color fits (0..1): 0.5 where the map does not know it."""
    if not wanted:
        return 1.0
    own = stated_color(thing.properties)
    if not own:
        return UNKNOWN_COLOR
    if own == wanted:
        return 1.0
    return 0.6 if are_alike(own, wanted) else 0.12


@lru_cache(maxsize=8192)
def canonical(label: str) -> str:
    """The lexicon's one name of a label."""
    return load_lexicon().canonical(label[:100])


@lru_cache(maxsize=4096)
def meant(name: str) -> str:
    """Return the label or class that a noun stands for; a noun that no table has stays as it is."""
    text = normalized(name[:100])
    mentions = load_lexicon().mentions(text)
    if mentions and mentions[-1][1] == len(text):
        return mentions[-1][2]
    if load_household().category(text) is not None:
        return load_household().canonical(text)
    return next(iter(singulars(text)), text)


@lru_cache(maxsize=1024)
def members_of(name: str) -> frozenset[str]:
    """The labels of a class, or the one label."""
    return load_lexicon().members(name)


@lru_cache(maxsize=4096)
def plain(label: str) -> str:
    """Return a label as a person would say it: no codes, no end numbers, not endless."""
    words = " ".join(_WORD.findall(label.replace("_", " ").lower())[:6])
    return words[:60] or "thing"


@lru_cache(maxsize=1024)
def can_contain(label: str) -> bool:
    """Whether things may be inside such a thing."""
    lexicon = load_lexicon()
    name = lexicon.canonical(label)
    known = load_household().category(label)
    return (
        name in lexicon.members("container")
        or name in lexicon.spread(lexicon.uses["store"].things)
        or bool(known and known.opens)
        or name in ("sink", "bathtub", "oven", "microwave", "refrigerator", "drawer", "pot")
    )


@lru_cache(maxsize=1024)
def likeness(name: str) -> dict[str, float]:
    """Return label -> how much such a thing is what a name means (0..1).

    Where a class is called like one of its labels ("table"), that label is meant first, then what
    is called after it ("coffee table"); a desk only at a pinch.
    """
    members = members_of(name)
    if name not in members or len(members) == 1:
        return dict.fromkeys(members, 1.0)
    return {
        label: 1.0 if label == name else 0.9 if label.endswith(f" {name}") else 0.55
        for label in members
    }


@cache
def household_names() -> Vocabulary:
    """Names that mean something in any home."""
    return Vocabulary.of(SceneGraph())


def is_room_name(
    name: str, names: Vocabulary | None = None, has: Callable[[str], bool] = lambda name: False
) -> bool:
    """Whether a name is a room's or a floor's; of a thing's too ("closet") where `has` says so."""
    found = (names or household_names()).lookup(plain_name(name)) if name else None
    if found is None or not (found.room or found.floor):
        return False
    return not found.label or has(name)


def room_said(thing: Thing) -> str:
    """Return the name of the room in which a thing is said to be, by the household's names."""
    for place in thing.places:
        if is_room_name(place.thing.name) and not place.negated:
            return place.thing.name
    inner = (room_said(anchor) for place in thing.places for anchor in place.things)
    return next(filter(None, inner), "")
