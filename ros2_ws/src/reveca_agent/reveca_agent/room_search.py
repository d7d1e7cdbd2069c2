"""How far a robot has looked through the rooms of a house."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from coterie_core.cooperation import Spot
from coterie_world.scene import SceneGraph
from reveca_agent.lookouts import Lookout

WELL_SEEN = (0.5, 0.75, 0.9)
"""How well a place must be seen to count as looked at, at the first look, the second, and later.

What was not found from afar may be seen from near by: from the second look on the robot also looks
into all that has a rim or boards, and from the third one on at all of the room from near by.
"""
LOOK_AGAIN = 60.0
"""A room that was left so long ago is looked through anew [s]."""


@dataclass(slots=True)
class _Look:
    """How well a room's places were seen since it was entered, and which were gone to.

    `before` is how often the room was looked through before.
    """

    before: int = 0
    left: float = math.inf
    quality: dict[str, float] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)


class RoomSearch:
    """Which places of each room were looked at since the robot entered it.

    Args:
        scene: The house; its places are what is looked at.
        into: Returns from where one sees what is not seen from a room's places, by how often that
            was looked through before.
    """

    def __init__(self, scene: SceneGraph, into: Callable[[str, int], list[Lookout]]) -> None:
        self._scene, self._into = scene, into
        self._looks: dict[str, _Look] = {}

    def enter(self, room: str, left: str, time: float) -> None:
        """Take in that the robot went from one room into another at a time [s]."""
        if left in self._looks:
            self._looks[left].left = time
        look = self._looks.get(room)
        if look is None:
            self._looks[room] = _Look()
        elif time - look.left > LOOK_AGAIN:
            self._looks[room] = _Look(look.before + self.covered(room))

    def saw(self, room: str, seen: Mapping[str, float]) -> None:
        """Take in how well places were seen (0..1) from within a room."""
        quality = self._looks[room].quality
        for id_, how_well in seen.items():
            place = self._scene.places.get(id_)
            if place is not None and place.room == room:
                quality[id_] = max(how_well, quality.get(id_, 0.0))

    def covered(self, room: str) -> bool:
        """Tell whether all places of a room were looked at."""
        look = self._looks.get(room)
        return look is not None and bool(look.quality) and not self._unseen(room, look)

    def next_place(self, here: Spot) -> Lookout | None:
        """Return the nearest of what is to be looked at in this room, once; None: nothing left."""
        look = self._looks[here.room]
        left = self._unseen(here.room, look)
        if not left:
            look.quality.setdefault(here.room, 1.0)  # a map without places: one look counts
            return None
        chosen = min(left, key=lambda p: (math.dist(p.position, here.position), p.id))
        look.tried.add(chosen.id)
        return chosen

    def _unseen(self, room: str, look: _Look) -> list[Lookout]:
        well = WELL_SEEN[min(look.before, len(WELL_SEEN) - 1)]
        left = [
            Lookout(place.id, place.position)
            for place in self._scene.places.values()
            if place.room == room and look.quality.get(place.id, 0.0) < well
        ]
        left += self._into(room, look.before)
        return [one for one in left if one.id not in look.tried]
