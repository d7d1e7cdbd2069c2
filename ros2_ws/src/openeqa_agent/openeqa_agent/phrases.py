"""What a map says in words: lists and floors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from coterie_core.household import plural
from coterie_core.wording import article, enumerated
from coterie_world.scene import Room, SceneObject
from openeqa_agent.things import MapIndex

_FLOORS = ("first floor", "second floor", "third floor", "fourth floor")


def listed(things: Sequence[tuple[SceneObject, str]]) -> str:
    """Name things in one phrase: "2 books, a lamp and a cup"."""
    counts = Counter(label for _, label in things)
    names = [article(name) if n == 1 else f"{n} {plural(name)}" for name, n in counts.items()]
    return enumerated(names)


def floor_name(index: MapIndex, thing: SceneObject) -> str:
    """Name of the floor a thing is on: "second floor"; "" where unknown."""
    room = index.room(thing)
    return floor_of_room(index, room) if room else ""


def floor_of_room(index: MapIndex, room: Room) -> str:
    """Name of the floor of a room, counted from the lowest as the first; "" where unknown."""
    floor = index.scene.floors.get(room.floor)
    if floor is None:
        return ""
    order = sorted(index.scene.floors.values(), key=lambda f: (f.index, f.elevation))
    at = order.index(floor)
    return _FLOORS[at] if at < len(_FLOORS) else f"floor {at + 1}"
