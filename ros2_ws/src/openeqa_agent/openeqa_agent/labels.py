"""Names of rooms, by what any home calls them."""

from __future__ import annotations

from functools import cache

from coterie_requests.request import Thing
from coterie_requests.understanding.vocabulary import Vocabulary, plain_name
from coterie_world.scene import SceneGraph


@cache
def household_names() -> Vocabulary:
    """Names that mean something in any home."""
    return Vocabulary.of(SceneGraph())


def is_room_name(name: str) -> bool:
    """Whether a name is a room's or a floor's in any home, and no thing's."""
    found = household_names().lookup(plain_name(name)) if name else None
    return found is not None and bool(found.room or found.floor) and not found.label


def room_said(thing: Thing) -> str:
    """Return the name of the room in which a thing is said to be, by the household's names."""
    for place in thing.places:
        if is_room_name(place.thing.name) and not place.negated:
            return place.thing.name
    inner = (room_said(anchor) for place in thing.places for anchor in place.things)
    return next(filter(None, inner), "")
