"""What does not change of a house, as a scene graph."""

from __future__ import annotations

from coterie_core.scene import Connection, SceneGraph
from coterie_core.scene.model import ConnectionKind
from habitat_bridge.embedded.places import PlaceMap
from habitat_bridge.house.house import House


def house_scene(house: House, places: PlaceMap) -> SceneGraph:
    """Return floors, rooms, connections, places and links of a house (no objects, no agents)."""
    scene = SceneGraph()
    for floor in house.floors:
        scene.add_floor(floor)
    for room in house.rooms:
        scene.add_room(room)
    for door in house.doors:
        kind: ConnectionKind = "opening" if door.kind == "opening" else "door"
        scene.add_connection(
            Connection(door.id, door.room_a, door.room_b, kind, door.center, door.width)
        )
    for stairs in house.stairs:
        scene.add_connection(
            Connection(
                stairs.id,
                stairs.room_low,
                stairs.room_high,
                "stairs",
                stairs.bottom,
                stairs.width,
                stairs.riser,
            )
        )
    for place in places.places.values():
        scene.add_place(place)
    for link in places.links.values():
        scene.add_link(link)
    return scene
