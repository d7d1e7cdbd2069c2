"""Scene graphs: rooms, places, objects and agents of a house."""

from coterie_core.scene.graph import SceneGraph
from coterie_core.scene.model import (
    AgentState,
    Connection,
    Floor,
    LabelBelief,
    Place,
    PlaceLink,
    Receptacle,
    Room,
    SceneObject,
    Sighting,
)

__all__ = [
    "AgentState",
    "Connection",
    "Floor",
    "LabelBelief",
    "Place",
    "PlaceLink",
    "Receptacle",
    "Room",
    "SceneGraph",
    "SceneObject",
    "Sighting",
]
