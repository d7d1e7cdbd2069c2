"""A flat of which two and a half rooms were looked at; its map is what the questions are about."""

from __future__ import annotations

import pytest

from coterie_core.geometry import Box
from coterie_world.scene import Floor, LabelBelief, Room, SceneGraph, SceneObject

_ROOMS = (
    ("r1", "kitchen", "kitchen", "f0", 0.0, 4.0),
    ("r2", "living room", "living room", "f0", 4.0, 6.0),
    ("r3", "hallway", "hallway", "f0", 10.0, 2.0),
    ("r4", "bedroom", "bedroom", "f0", 12.0, 4.0),
    ("r5", "office", "office", "f1", 0.0, 4.0),
)
"""Id, name, type, floor, where it begins and how wide it is along x [m]."""
_THINGS = (
    ("fridge", "refrigerator", (0.4, 0.5, 0.9), (0.7, 0.7, 1.8), "r1", "white", "", True),
    ("counter", "counter", (2.2, 0.3, 0.45), (2.0, 0.6, 0.9), "r1", "grey", "", None),
    ("stove", "stove", (0.4, 1.6, 0.45), (0.6, 0.6, 0.9), "r1", "black", "", None),
    ("sink", "sink", (3.6, 1.8, 0.85), (0.5, 0.4, 0.2), "r1", "grey", "", None),
    ("cabinet", "cabinet", (2.6, 3.7, 0.45), (0.9, 0.5, 0.9), "r1", "brown", "", False),
    ("cabinet2", "cabinet", (1.4, 3.7, 0.45), (0.9, 0.5, 0.9), "r1", "brown", "", False),
    ("wallcab", "wall cabinet", (1.7, 0.2, 1.8), (0.8, 0.35, 0.6), "r1", "brown", "", False),
    ("wallcab2", "wall cabinet", (2.7, 0.2, 1.8), (0.8, 0.35, 0.6), "r1", "brown", "", False),
    ("mug", "mug", (2.5, 0.3, 0.95), (0.1, 0.1, 0.1), "r1", "red", "counter", None),
    ("toaster", "toaster", (1.6, 0.3, 1.0), (0.3, 0.2, 0.2), "r1", "grey", "counter", None),
    ("kettle", "kettle", (0.4, 1.5, 1.0), (0.2, 0.2, 0.2), "r1", "grey", "stove", None),
    ("chair1", "chair", (2.0, 2.4, 0.45), (0.45, 0.45, 0.9), "r1", "brown", "", None),
    ("chair2", "chair", (3.0, 2.4, 0.45), (0.45, 0.45, 0.9), "r1", "brown", "", None),
    ("sofa", "sofa", (6.5, 0.6, 0.4), (2.1, 0.9, 0.8), "r2", "blue", "", None),
    ("armchair", "armchair", (8.8, 0.6, 0.45), (0.8, 0.8, 0.9), "r2", "green", "", None),
    ("tvstand", "tv stand", (6.5, 3.6, 0.25), (1.4, 0.4, 0.5), "r2", "brown", "", None),
    ("tv", "television", (6.5, 3.7, 0.85), (1.1, 0.1, 0.65), "r2", "black", "tvstand", None),
    ("bookcase", "bookcase", (9.5, 2.5, 0.95), (0.35, 1.0, 1.9), "r2", "brown", "", None),
    ("books", "books", (9.5, 2.4, 1.3), (0.25, 0.4, 0.25), "r2", "red", "bookcase", None),
    ("vase", "vase", (9.5, 2.8, 1.95), (0.15, 0.15, 0.3), "r2", "white", "bookcase", None),
    ("lamp", "floor lamp", (4.6, 0.6, 0.8), (0.3, 0.3, 1.6), "r2", "white", "", None),
    ("clock", "clock", (5.5, 0.05, 1.9), (0.3, 0.05, 0.3), "r2", "black", "", None),
    ("umbrella", "umbrella", (10.6, 0.3, 0.4), (0.15, 0.15, 0.8), "r3", "black", "", None),
    ("shoes", "shoes", (10.7, 0.8, 0.08), (0.3, 0.25, 0.15), "r3", "white", "", None),
    ("rack", "coat rack", (10.3, 0.3, 0.9), (0.4, 0.4, 1.8), "r3", "brown", "", None),
    ("mirror", "mirror", (11.5, 0.05, 1.5), (0.5, 0.05, 0.9), "r3", "grey", "", None),
)  # fmt: skip


def make_flat() -> SceneGraph:
    """Return the map: kitchen, living room and hallway well seen, bedroom and upstairs not."""
    scene = SceneGraph()
    scene.add_floor(Floor("f0", 0, 0.0))
    scene.add_floor(Floor("f1", 1, 2.8))
    for id_, name, kind, floor, x, width in _ROOMS:
        outline = [(x, 0.0), (x + width, 0.0), (x + width, 4.0), (x, 4.0)]
        scene.add_room(Room(id_, name, kind, floor, outline))
    for id_, label, center, size, room, color, support, is_open in _THINGS:
        scene.add_object(
            SceneObject(
                id_, LabelBelief({label: 1.0}), Box(center, size), room,
                "furniture" if size[0] * size[1] > 0.12 and not support else "item",
                support, observations=8, is_open=is_open, properties={"color": color},
            )
        )  # fmt: skip
    return scene


@pytest.fixture
def flat() -> SceneGraph:
    """A map of its own for each test."""
    return make_flat()
