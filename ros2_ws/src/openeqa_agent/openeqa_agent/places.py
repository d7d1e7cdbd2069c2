"""The places of a house as far as an explorer knows them: ways, rooms, what was seen of them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import networkx as nx

from coterie_core.geometry import Vec3
from coterie_core.household import load_household, normalized
from coterie_core.observation import Observation, RoomView
from coterie_core.skills import Outcome
from coterie_requests.lexicon import canonical, is_narrower, load_lexicon, meant, serving
from coterie_requests.request import Thing
from coterie_world.coverage import SEEN_WELL_QUALITY
from coterie_world.scene import SceneGraph, SceneObject
from openeqa_agent.labels import is_room_name, room_said
from openeqa_agent.understood import OpenQuestion


@dataclass(frozen=True, slots=True)
class Wanted:
    """What must be seen.

    Attributes:
        things: Kinds of things, of which any label will do.
        anchors: Those of them that others stand to.
        room: The room that is asked about; "" if none is.
    """

    things: tuple[frozenset[str], ...] = ()
    anchors: tuple[frozenset[str], ...] = ()
    room: str = ""

    @staticmethod
    def of(question: OpenQuestion) -> Wanted:
        """Return what must be seen to answer a question.

        "What is on the desk?" takes a look at the desk; "what can I sit on?" at anything that
        serves.
        """
        named = [names for thing in question.things if (names := names_of(thing))]
        served = [
            frozenset(label for label, grade in serving(thing.use).items() if grade >= 0.7)
            for thing in question.things
            if thing.use
        ]
        rooms = [room for thing in question.things if (room := room_said(thing))]
        around = (one for t in question.things for place in t.places for one in place.things)
        return Wanted(
            tuple(dict.fromkeys(filter(None, (*served, *named)))),
            tuple(names for one in around if (names := names_of(one))),
            rooms[0] if rooms else "",
        )

    def is_room(self, kind: str, name: str) -> bool:
        """Whether a room of this type and name is the one that is asked about."""
        room = self.room.lower()
        if name and room == name.lower():
            return True
        if any(c.isdigit() for c in room) and name:
            return False
        return bool(room) and load_household().room_type(room) == kind

    def found(self, names: frozenset[str], scene: SceneGraph) -> list[SceneObject]:
        """Return things of the map by these names, in the room that is asked about if one is."""
        lexicon = load_lexicon()
        found = []
        for thing in scene.objects.values():
            if lexicon.canonical(thing.label.top) not in names:
                continue
            room = scene.rooms.get(thing.room)
            if self.room and room and not self.is_room(room.type, room.name):
                continue
            found.append(thing)
        return found

    def missing(self, scene: SceneGraph | None) -> list[frozenset[str]]:
        """Return the kinds of things that the map does not have yet; all, if it has each."""
        if scene is None:
            return list(self.things)
        return [names for names in self.things if not self.found(names, scene)] or list(self.things)


def names_of(thing: Thing) -> frozenset[str]:
    """Labels that a thing of a question may have; empty for any thing, and for rooms."""
    if not thing.name or is_room_name(thing.name):
        return frozenset()
    # A class has other things too: a coffee table is no "dining table" to look at.
    narrow = is_narrower(normalized(thing.name))
    return (
        frozenset((canonical(thing.name),)) if narrow else load_lexicon().members(meant(thing.name))
    )


_IMPOSSIBLE = (Outcome.UNREACHABLE, Outcome.UNKNOWN_TARGET, Outcome.UNSUPPORTED, Outcome.REFUSED)
TRIES = 3
"""Ways to a place, or failures, after which it is given up."""
_REST = 0.1  # share of its likelihood that a room keeps after all of it was seen
_NEAR = 2.5  # [m] from which small things on furniture are seen
_CLOSER = 3.0  # [m] how near a thing a place lies from which it is seen better


@dataclass(slots=True)
class Spot:
    """A place as far as it is known: where [m], its room, how well it was seen from afar (0..1).

    `looked`: the robot looked around there; `chosen`: how often it was sent there.
    """

    position: Vec3
    room: RoomView | None = None
    seen: float = 0.0
    visits: int = 0
    looked: bool = False
    failures: int = 0
    chosen: int = 0

    def near(self, thing: SceneObject, limit: float = _CLOSER) -> bool:
        """Whether a thing lies within so many metres, so that it is seen better from there."""
        return math.dist(thing.box.center[:2], self.position[:2]) <= limit


class KnownPlaces:
    """The places that one robot saw or heard of, and the ways between them.

    Attributes:
        spots: The places by id.
        here: Where the robot is; "" before the first observation.
    """

    def __init__(self) -> None:
        self.spots: dict[str, Spot] = {}
        self.here = ""
        self._seen: dict[str, float] = {}
        self._ways: nx.Graph = nx.Graph()

    def observe(self, observation: Observation, around: bool) -> None:
        """Take in what the robot perceives, which looked around or straight ahead only."""
        here = observation.place
        if not here:
            return  # no map has told the robot's driver of places yet
        spot = self.spots.setdefault(here, Spot(observation.pose.position))
        spot.room = observation.room or spot.room
        spot.looked = spot.looked or around
        if here != self.here:
            spot.visits += 1
        for place, quality in observation.seen.items():
            if place != here or around:
                self._seen[place] = max(self._seen.get(place, 0.0), quality)
        for view in observation.neighbours:
            other = self.spots.setdefault(view.id, Spot(view.position))
            other.room = view.room or other.room
            self._ways.add_edge(here, view.id, length=max(view.distance, 0.01))
        for place, known in self.spots.items():
            known.seen = self._seen.get(place, 0.0)
        self._ways.add_node(here)
        self.here = here

    def failed(self, place: str, outcome: Outcome) -> None:
        """Learn that a way ended early: what cannot be reached is not tried again for ever."""
        spot = self.spots.get(place)
        if spot is not None:
            spot.failures = TRIES if outcome in _IMPOSSIBLE else spot.failures + 1

    def lengths(self) -> dict[str, float]:
        """Return the places that can be gone to, each with the length of the way [m]."""
        ways: dict[str, float] = nx.single_source_dijkstra_path_length(
            self._ways, self.here, weight="length"
        )
        return ways

    def way(self, place: str) -> list[Vec3]:
        """Return the places on the way from the robot's to another one, both included [m]."""
        places = nx.dijkstra_path(self._ways, self.here, place, weight="length")
        return [self.spots[one].position for one in places]

    def around(self) -> list[Spot]:
        """Return the places next to the robot's."""
        return [self.spots[place] for place in self._ways[self.here]]

    def rooms_at(self, place: str) -> list[str]:
        """Return types of the rooms at a place, or at those it can be reached from."""
        spot = self.spots[place]
        if spot.room is not None:
            return [spot.room.type]
        rooms = (self.spots[k].room for k in self._ways[place])
        return sorted({room.type for room in rooms if room is not None}) or [""]

    def room_types(self) -> Counter[str]:
        """Return how many rooms of each type are known."""
        rooms = {spot.room.id: spot.room for spot in self.spots.values() if spot.room}
        return Counter(room.type for room in rooms.values())

    def left_in_rooms(self) -> dict[str, float]:
        """Return room id -> share of it (0..1) that may still hide something."""
        rest: dict[str, list[float]] = {}
        for spot in self.spots.values():
            if spot.room is not None:
                rest.setdefault(spot.room.id, []).append(0.0 if spot.visits else 1.0 - spot.seen)
        return {room: max(sum(v) / len(v), _REST) for room, v in rest.items()}

    def seen_closely(self, thing: SceneObject) -> bool:
        """Whether the robot has looked around near a thing, wherever it could."""
        near = [
            spot.looked
            for spot in self.spots.values()
            if spot.failures < TRIES and spot.near(thing)
        ]
        return bool(near) and all(near)

    def well_seen(self, thing: SceneObject, looks: int) -> bool:
        """Whether small things on or about a thing would have been seen: often, and from near.

        Args:
            thing: A thing of the map.
            looks: Observations of it that are often.
        """
        if self.seen_closely(thing):
            return True
        return thing.observations >= looks and any(
            spot.looked and spot.near(thing, _NEAR) for spot in self.spots.values()
        )

    def room_seen(self, wanted: Wanted) -> bool:
        """Whether the room that is asked about was entered, and all known of it was seen."""
        inside = [
            spot
            for spot in self.spots.values()
            if spot.room is not None and wanted.is_room(spot.room.type, spot.room.name)
        ]
        if not wanted.room or not inside:
            return False
        return any(spot.visits for spot in inside) and all(
            spot.looked or spot.seen >= SEEN_WELL_QUALITY or spot.failures >= TRIES
            for spot in inside
        )
