"""SceneGraph: a robot's memory, the team's map and a simulator's truth in one type."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from coterie_world.scene.model import (
    AgentState,
    Connection,
    Floor,
    Place,
    PlaceLink,
    Room,
    SceneObject,
)


def free_id(taken: Collection[str], wanted: str) -> str:
    """Return an id for something new: the one wanted, numbered where it is taken."""
    name, n = wanted, 2
    while name in taken:
        name, n = f"{wanted}-{n}", n + 1
    return name


@dataclass(slots=True)
class SceneGraph:
    """Floors, rooms and their connections, places and their links, objects, agents; all by id.

    Links are kept per place in both directions; connections once. `frame` is the map frame that
    all positions are in.
    """

    frame: str = "map"
    floors: dict[str, Floor] = field(default_factory=dict)
    rooms: dict[str, Room] = field(default_factory=dict)
    connections: dict[str, Connection] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    links: dict[str, dict[str, PlaceLink]] = field(default_factory=dict)
    objects: dict[str, SceneObject] = field(default_factory=dict)
    agents: dict[str, AgentState] = field(default_factory=dict)

    def add_floor(self, floor: Floor) -> None:
        """Add or replace a floor."""
        self.floors[floor.id] = floor

    def add_room(self, room: Room) -> None:
        """Add or replace a room."""
        self.rooms[room.id] = room

    def add_connection(self, connection: Connection) -> None:
        """Add or replace a way between two rooms."""
        self.connections[connection.id] = connection

    def add_place(self, place: Place) -> None:
        """Add or replace a place."""
        self.places[place.id] = place
        self.links.setdefault(place.id, {})

    def add_link(self, link: PlaceLink) -> None:
        """Add a way between two places, usable in both directions."""
        self.links.setdefault(link.a, {})[link.b] = link
        self.links.setdefault(link.b, {})[link.a] = link

    def add_object(self, thing: SceneObject) -> None:
        """Add or replace an object."""
        self.objects[thing.id] = thing

    def neighbours(self, place: str) -> dict[str, PlaceLink]:
        """Return neighbour id -> link of a place (empty for an unknown one)."""
        return self.links.get(place, {})

    def room_named(self, name: str) -> Room | None:
        """Return the room with this unique name, or None."""
        wanted = name.strip().lower()
        return next((room for room in self.rooms.values() if room.name.lower() == wanted), None)

    def objects_in(self, room: str) -> Iterator[SceneObject]:
        """Iterate over the objects whose room id is `room`."""
        return (thing for thing in self.objects.values() if thing.room == room)

    def remove_object(self, id_: str, instead: str = "") -> SceneObject | None:
        """Take an object out and return it; what was on or in it is on or in `instead`."""
        for thing in self.objects.values():
            thing.support = instead if thing.support == id_ else thing.support
            thing.container = instead if thing.container == id_ else thing.container
        return self.objects.pop(id_, None)

    def extend(self, things: Iterable[SceneObject]) -> None:
        """Add or replace several objects."""
        for thing in things:
            self.add_object(thing)
