"""A generated house: geometry and contents, before anyone moves in it (ROS-free, plain data)."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from coterie_core.geometry import Box, Vec2, Vec3
from coterie_world.scene import Connection, Floor, Room, SceneGraph, SceneObject


@dataclass(slots=True)
class Wall:
    """An upright slab from `start` to `end` (x, y) [m]; `base` and `height` [m] say from where up.

    Walls are cut at doors; the piece above a door is a wall with a high base.
    """

    floor: str
    start: Vec2
    end: Vec2
    base: float
    height: float
    thickness: float = 0.1


@dataclass(slots=True)
class Door:
    """A gap in a wall: centre on the floor [m], direction of the wall [rad], clear width [m].

    `kind` is "door" (with a frame) or "opening" (a wide gap without a leaf).
    """

    id: str
    floor: str
    room_a: str
    room_b: str
    center: Vec3
    yaw: float
    width: float
    height: float = 2.05
    kind: str = "door"


@dataclass(slots=True)
class Stairs:
    """A straight flight: `bottom` and `top` [m] are where one stands before and after it.

    `treads` are the solid steps from the bottom up; `riser` [m] is the height of each.
    `well` is the gap (x, y polygon) in the upper floor's slab.
    """

    id: str
    room_low: str
    room_high: str
    bottom: Vec3
    top: Vec3
    width: float
    riser: float
    treads: list[Box] = field(default_factory=list)
    well: list[Vec2] = field(default_factory=list)


@dataclass(slots=True)
class House:
    """All of a house. Object ids are unique; furniture, fixtures and items share `objects`."""

    seed: int
    floors: list[Floor]
    rooms: list[Room]
    walls: list[Wall]
    doors: list[Door]
    stairs: list[Stairs]
    objects: list[SceneObject]

    def room(self, room_id: str) -> Room:
        """Return a room by id.

        Raises:
            KeyError: No such room.
        """
        for room in self.rooms:
            if room.id == room_id:
                return room
        raise KeyError(f"house {self.seed} has no room {room_id!r}")

    def truth(self) -> SceneGraph:
        """Return the house as a scene graph: floors, rooms, connections and copies of all objects.

        Places are left to who walks in it. Stairs are connections with their riser [m].
        """
        graph = SceneGraph()
        for floor in self.floors:
            graph.add_floor(floor)
        for room in self.rooms:
            graph.add_room(room)
        for door in self.doors:
            graph.add_connection(
                Connection(
                    door.id,
                    door.room_a,
                    door.room_b,
                    "opening" if door.kind == "opening" else "door",
                    door.center,
                    door.width,
                )
            )
        for flight in self.stairs:
            graph.add_connection(
                Connection(
                    flight.id,
                    flight.room_low,
                    flight.room_high,
                    "stairs",
                    flight.bottom,
                    flight.width,
                    flight.riser,
                )
            )
        graph.extend(copy.deepcopy(self.objects))
        return graph
