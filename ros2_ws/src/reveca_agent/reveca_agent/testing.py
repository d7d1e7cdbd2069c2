"""A home of two rooms as a map, and what a robot sees in it, for tests."""

from __future__ import annotations

from coterie_core.geometry import Box, Pose, Vec3
from coterie_core.observation import Detection, Observation
from coterie_core.scene import (
    Connection,
    Floor,
    LabelBelief,
    Place,
    Receptacle,
    Room,
    SceneGraph,
    SceneObject,
)
from coterie_core.scene.model import ObjectKind
from reveca_agent.house import HouseBody
from reveca_agent.house_map import Shape

SHAPE = Shape(radius=0.2, reach=0.7, speed=0.5, step=1.0, low=0.2, high=1.5)
KITCHEN: Vec3 = (2.0, 1.3, 0.0)
"""In the kitchen, in front of the counter [m]."""
LIVING: Vec3 = (6.5, 1.2, 0.0)
"""In the living room, in front of the table [m]."""


def two_rooms(*, outlines: bool = True, places: bool = True) -> SceneGraph:
    """Return a kitchen (0..4 x 0..4) and a living room (4..9 x 0..4) with a door between them.

    `counter-1` and `cabinet-1` (closed) stand in the kitchen, `table-1` and, 2 m above the floor,
    `shelf-1` in the living room.
    """
    scene = SceneGraph()
    scene.add_floor(Floor("f0", 0, 0.0))
    for name, x0, x1 in (("kitchen", 0.0, 4.0), ("living", 4.0, 9.0)):
        polygon = [(x0, 0.0), (x1, 0.0), (x1, 4.0), (x0, 4.0)] if outlines else []
        scene.add_room(Room(name, name, name, "f0", polygon))
    scene.add_connection(Connection("door", "kitchen", "living", "door", (4.0, 2.0, 0.0), 0.9))
    if places:
        for id_, x, room in (
            ("p1", 1.0, "kitchen"),
            ("p2", 3.0, "kitchen"),
            ("p3", 5.0, "living"),
            ("p4", 8.0, "living"),
        ):
            scene.add_place(Place(id_, (x, 2.0, 0.0), room, "f0"))
    for one in (
        furniture("counter-1", "counter", "kitchen", (2.0, 0.3, 0.45), (2.0, 0.6, 0.9)),
        furniture(
            "cabinet-1", "cabinet", "kitchen", (0.3, 3.5, 0.5), (0.6, 0.6, 1.0), is_open=False
        ),
        furniture("table-1", "table", "living", (6.5, 2.0, 0.375), (1.0, 0.8, 0.75)),
        furniture("shelf-1", "shelf", "living", (8.9, 2.0, 2.0), (0.2, 1.0, 0.04), kind="fixture"),
    ):
        scene.add_object(one)
    return scene


def furniture(
    id_: str,
    label: str,
    room: str,
    center: Vec3,
    size: Vec3,
    *,
    kind: ObjectKind = "furniture",
    is_open: bool | None = None,
) -> SceneObject:
    """Return a piece of furniture with one surface: its top, or a shelf behind its door."""
    x, y, z = center
    inside = is_open is not None
    height = z if inside else z + size[2] / 2.0
    shelf = Receptacle(f"{id_}.0", Box((x, y, height), (size[0], size[1], 0.0)), inside)
    return SceneObject(
        id_, LabelBelief.of(label), Box(center, size), room, kind, "", "", is_open, [shelf]
    )


def detected(label: str, x: float, y: float, bottom: float, size: float = 0.1) -> Detection:
    """Return a detection of a cube that stands at height `bottom` [m]."""
    return Detection(label, 0.9, Box((x, y, bottom + size / 2.0), (size, size, size)))


class Eyes:
    """Gives a body one observation after the other, a second apart.

    Args:
        body: The body.
    """

    def __init__(self, body: HouseBody) -> None:
        self.body = body
        self.steps = 0

    def see(
        self, *things: Detection, at: Vec3 = KITCHEN, places: dict[str, float] | None = None
    ) -> None:
        """Let the body stand somewhere [m] and see things there, and places so well."""
        self.steps += 1
        self.body.observe(
            Observation(
                self.body.name,
                self.steps,
                float(self.steps),
                Pose(at),
                "",
                None,
                things,
                seen=places or {},
            )
        )
