"""Scene graphs: rooms, places, objects and agents of a house."""

from coterie_world.scene.graph import SceneGraph
from coterie_world.scene.merge import (
    MergeRule,
    absorb,
    associate,
    label_agreement,
    merge,
    size_similarity,
)
from coterie_world.scene.model import (
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
from coterie_world.scene.serial import SceneError, checked, from_json, load, save, to_json
from coterie_world.scene.text import rooms_text

__all__ = [
    "AgentState",
    "Connection",
    "Floor",
    "LabelBelief",
    "MergeRule",
    "Place",
    "PlaceLink",
    "Receptacle",
    "Room",
    "SceneError",
    "SceneGraph",
    "SceneObject",
    "Sighting",
    "absorb",
    "associate",
    "checked",
    "from_json",
    "label_agreement",
    "load",
    "merge",
    "rooms_text",
    "save",
    "size_similarity",
    "to_json",
]
