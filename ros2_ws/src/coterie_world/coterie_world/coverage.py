"""Coverage of rooms: the fraction of each that was looked at, from the map and robots' views."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import lru_cache

from coterie_core.household import load_household
from coterie_core.observation import Observation, RoomView
from coterie_core.wording import enumerated
from coterie_world.scene import Room, SceneGraph
from coterie_world.sizes import known_size

LOOKED_AT = 0.4
"""Share of a room (0..1) from which it counts as looked at."""
SEEN_WELL_QUALITY = 0.7
"""Quality from which a place counts as seen altogether."""
_OBJECTS = 3.5
"""Objects seen in a room for which its share is 1 - 1/e."""
SEEN_WELL_RECALL = 0.85
"""Probability that a thing in a room that was seen altogether is in the map, whatever it is."""
_BY_SIZE = (3.73, 1.49)
"""The same of things that lie open, as the log odds a + b ln(size [m]): a sofa is hardly missed,
keys are. Fitted, as `_SHUT_AWAY`, to what two robots with a usual detector saw of generated houses
44000-44009, which serve neither thresholds nor tests."""
_SHUT_AWAY = 0.64
"""Probability that a thing that is kept only in what opens (cupboards, drawers, ovens) is not
seen."""
MIN_LIKELIHOOD = 0.03
"""Least likelihood for which a room that was not looked at keeps a thing from being denied."""
_HOMES_DIFFER = 0.7
"""Share of what is usual that a home has."""
_MAX_ROOMS_NAMED = 3
"""Most rooms that are named in a sentence."""


class PlacesSeen:
    """How well robots have seen the places they know of."""

    def __init__(self) -> None:
        self._quality: dict[str, float] = {}
        self._rooms: dict[str, str] = {}

    def observe(self, observation: Observation) -> None:
        """Take in what one robot perceives at one moment."""
        self._note(observation.place, observation.room)
        for view in observation.neighbours:
            self._note(view.id, view.room)
        for place, quality in observation.seen.items():
            self._quality[place] = max(self._quality.get(place, 0.0), quality)

    def _note(self, place: str, room: RoomView | None) -> None:
        if place:
            self._quality.setdefault(place, 0.0)
            if room is not None:
                self._rooms[place] = room.id

    def beyond(self, rooms: Collection[str]) -> int:
        """Return how many places are known that nobody has seen and that none of the rooms has.

        They lead to rooms that no map shows yet.
        """
        return sum(
            quality < LOOKED_AT and self._rooms.get(place, "") not in rooms
            for place, quality in self._quality.items()
        )

    def share(self, room: str, places: Collection[str] = ()) -> float | None:
        """Return the share of a room (0..1) that was seen; None where no place of it is known.

        Args:
            room: Its id.
            places: Further places of it, known from a map.
        """
        own = {place for place, at in self._rooms.items() if at == room} | set(places)
        if not own:
            return None
        return sum(min(self._quality.get(p, 0.0) / SEEN_WELL_QUALITY, 1.0) for p in own) / len(own)


class Coverage:
    """How much of each room of a map was looked at.

    A room's share is what robots say that they have seen of its places. Where none says so it is
    what the number of things that were seen in it tells: most rooms have several. Where one does,
    that number counts for nothing: however many things are on the map, a corner that nobody has
    seen may have one more.

    Args:
        scene: The map.
        seen: Places that robots saw; None: not known.
        given: Whether the map may hold things that no robot saw: only those count that one did.
    """

    def __init__(
        self, scene: SceneGraph, seen: PlacesSeen | None = None, *, given: bool = False
    ) -> None:
        self.scene = scene
        places: dict[str, list[str]] = {}
        for place in scene.places.values():
            places.setdefault(place.room, []).append(place.id)
        objects: dict[str, int] = {}
        for thing in scene.objects.values():
            if thing.observations or not given:
                objects[thing.room] = objects.get(thing.room, 0) + 1
        self.closed = seen is not None and not seen.beyond(scene.rooms)
        """Whether robots know of no place that leads to a room that the map does not show."""
        self._shares: dict[str, float] = {}
        for id_ in scene.rooms:
            by_places = seen.share(id_, places.get(id_, ())) if seen is not None else None
            by_things = 1.0 - math.exp(-objects.get(id_, 0) / _OBJECTS)
            self._shares[id_] = by_things if by_places is None else by_places
        self.everywhere = 1.0 - math.exp(-sum(objects.values()) / (2.0 * _OBJECTS))
        """The same of a map without rooms, by the number of its objects."""

    def share(self, room: str) -> float:
        """Return how much of a room was looked at (0..1)."""
        return self._shares.get(room, 0.0)

    def missing(self, rooms: Sequence[Room]) -> list[Room]:
        """Return those of some rooms that were not looked at."""
        return [room for room in rooms if self.share(room.id) < LOOKED_AT]

    def absence(self, label: str, rooms: Sequence[Room]) -> float:
        """Return how sure it is that none of some rooms has a thing that no map shows (0..1).

        By Bayes' theorem from what such rooms usually hold, and how much of them was looked at.
        """
        sure = 1.0
        for room in rooms:
            p = likely_in(label, room)
            missed = 1.0 - recall(label) * self.share(room.id)
            sure *= (1.0 - p) / (1.0 - p + p * missed) if p < 1.0 else missed
        return sure

    def unlooked(self, label: str, rooms: Sequence[Room]) -> list[Room]:
        """Return those of some rooms that may well have a thing and were not looked at."""
        return [room for room in self.missing(rooms) if likely_in(label, room) >= MIN_LIKELIHOOD]

    def glanced(self, rooms: Sequence[Room]) -> list[Room]:
        """Return those of some rooms of which a part only was seen, through a door perhaps."""
        return [room for room in rooms if self.share(room.id) < SEEN_WELL_QUALITY]

    def told(self, rooms: Sequence[Room]) -> str:
        """Return a clause that names rooms: "the bedroom and upstairs were not looked at"."""
        names = self.names(rooms)
        if not names:
            return ""
        if len(names) > _MAX_ROOMS_NAMED:
            names = [
                *names[: _MAX_ROOMS_NAMED - 1],
                f"{len(names) - _MAX_ROOMS_NAMED + 1} more rooms",
            ]
        said = enumerated(names)
        many = len(names) > 1 or said.endswith("rooms")
        return f"{said} {'were' if many else 'was'} not looked at"

    def names(self, rooms: Sequence[Room]) -> list[str]:
        """Rooms by name, and whole floors of which nothing was looked at as such."""
        lowest = min((f.index for f in self.scene.floors.values()), default=0)
        names: list[str] = []
        for room in rooms:
            floor = self.scene.floors.get(room.floor)
            mates = [r for r in self.scene.rooms.values() if r.floor == room.floor]
            whole = floor is not None and len(self.scene.floors) > 1
            if whole and len(self.missing(mates)) == len(mates) and len(mates) <= len(rooms):
                names.append("downstairs" if floor and floor.index <= lowest else "upstairs")
            else:
                names.append(room.name if room.name[-1:].isdigit() else f"the {room.name}")
        return list(dict.fromkeys(names))


@lru_cache(maxsize=2000)
def recall(label: str) -> float:
    """Return how often such a thing is on the map of a room that was seen altogether (0..1).

    Small things are overlooked, and what is kept in cupboards and drawers is not in view.
    """
    household = load_household()
    category = household.category(label)
    size = known_size(label)
    if category is None or size is None:
        return SEEN_WELL_RECALL
    depth, width = sorted(sum(extent) / 2.0 for extent in size)[1:]
    a, b = _BY_SIZE
    in_view = 1.0 / (1.0 + math.exp(-a - b * 0.5 * math.log(depth * width)))
    owners = household.usual_owners(label)
    shut = [name in household.categories and household.categories[name].opens for name in owners]
    return in_view * (1.0 - _SHUT_AWAY * sum(shut) / max(len(shut), 1))


def likely_in(label: str, room: Room) -> float:
    """Return how likely a room has a thing of a label, from common sense alone (0..1)."""
    return _HOMES_DIFFER * load_household().likelihood(label, room.type or room.name)
