"""A hand-made house of two floors and four rooms, for tests that need known geometry."""

from __future__ import annotations

import math
from dataclasses import replace

from coterie_core.geometry import Box, Vec2, Vec3
from coterie_core.scene import Floor, LabelBelief, Receptacle, Room, SceneObject
from coterie_core.scene.model import ObjectKind
from habitat_bridge.house.house import Door, House, Stairs, Wall

RISER = 0.175
UPPER = 16 * RISER  # [m] elevation of the upper floor
_CEILING = 2.6


def tiny_house(extra: list[SceneObject] | None = None) -> House:
    """Return the test house.

    Ground floor: kitchen (0..4, 0..4), living room (4..11, 0..4), bathroom (0..4, 4..7) behind a
    door 0.60 m wide. Stairs with 16 risers of 0.175 m along the living room's far wall lead to the
    bedroom above it. The fridge and the wardrobe are closed and hold milk and a shirt.

    Args:
        extra: More objects, already with room, support and box.
    """
    rooms = [
        _room("r_kitchen", "kitchen", "kitchen", "f0", 0, 0, 4, 4),
        _room("r_living", "living room", "living room", "f0", 4, 0, 11, 4),
        _room("r_bath", "bathroom", "bathroom", "f0", 0, 4, 4, 7),
        _room("r_bed", "bedroom", "bedroom", "f1", 4, 0, 11, 4),
    ]
    doors = [
        Door("d_kl", "f0", "r_kitchen", "r_living", (4.0, 2.0, 0.0), math.pi / 2, 0.9),
        Door("d_kb", "f0", "r_kitchen", "r_bath", (1.2, 4.0, 0.0), 0.0, 0.6),
    ]
    stairs = Stairs(
        "s1",
        "r_living",
        "r_bed",
        bottom=(5.0, 3.5, 0.0),
        top=(10.3, 3.5, UPPER),
        width=0.9,
        riser=RISER,
        treads=[
            _box((5.5 + 0.25 * (k + 0.5), 3.5), 0.0, (0.25, 0.9, RISER * (k + 1)))
            for k in range(16)
        ],
        well=[(5.6, 3.05), (9.5, 3.05), (9.5, 3.95), (5.6, 3.95)],
    )
    return House(
        seed=0,
        floors=[Floor("f0", 0, 0.0, _CEILING), Floor("f1", 1, UPPER, _CEILING)],
        rooms=rooms,
        walls=_walls(),
        doors=doors,
        stairs=[stairs],
        objects=[*_furniture(), *_items(), *(extra or [])],
    )


def thing(
    name: str,
    label: str,
    room: str,
    center: Vec2,
    bottom: float,
    size: Vec3,
    kind: ObjectKind = "item",
    support: str = "",
    container: str = "",
    is_open: bool | None = None,
    receptacles: list[Receptacle] | None = None,
    yaw: float = 0.0,
    shape: str = "box",
) -> SceneObject:
    """Return an object whose box stands at height `bottom` [m]; its front looks along `yaw`."""
    return SceneObject(
        name,
        LabelBelief.of(label),
        replace(_box(center, bottom, size), yaw=yaw),
        room,
        kind,
        support,
        container,
        is_open,
        receptacles or [],
        properties={"shape": shape},
    )


def _box(center: Vec2, bottom: float, size: Vec3) -> Box:
    return Box((center[0], center[1], bottom + size[2] / 2.0), size)


def _room(
    name: str, title: str, kind: str, floor: str, x0: float, y0: float, x1: float, y1: float
) -> Room:
    return Room(name, title, kind, floor, [(x0, y0), (x1, y0), (x1, y1), (x0, y1)])


def _walls() -> list[Wall]:
    walls: list[Wall] = []

    def wall(floor: str, start: Vec2, end: Vec2, low: float = 0.0) -> None:
        base = (UPPER if floor == "f1" else 0.0) + low
        walls.append(Wall(floor, start, end, base, _CEILING - low))

    wall("f0", (0, 0), (11, 0))
    wall("f0", (11, 0), (11, 4))
    wall("f0", (4, 4), (11, 4))
    wall("f0", (4, 4), (4, 7))
    wall("f0", (4, 7), (0, 7))
    wall("f0", (0, 7), (0, 0))
    wall("f0", (4, 0), (4, 1.55))
    wall("f0", (4, 2.45), (4, 4))
    wall("f0", (4, 1.55), (4, 2.45), 2.05)
    wall("f0", (0, 4), (0.9, 4))
    wall("f0", (1.5, 4), (4, 4))
    wall("f0", (0.9, 4), (1.5, 4), 2.05)
    for start, end in (((4, 0), (11, 0)), ((11, 0), (11, 4)), ((11, 4), (4, 4)), ((4, 4), (4, 0))):
        wall("f1", start, end)
    return walls


def _shelf(name: str, center: Vec2, z: float, size: Vec2, inside: bool = False) -> Receptacle:
    return Receptacle(name, Box((center[0], center[1], z), (size[0], size[1], 0.0)), inside)


def _furniture() -> list[SceneObject]:
    up = UPPER
    return [
        thing("o_counter", "kitchen counter", "r_kitchen", (0.4, 1.6), 0.0, (0.6, 2.0, 0.9),
              "furniture", receptacles=[_shelf("o_counter.top", (0.4, 1.6), 0.9, (0.55, 1.9))]),
        thing("o_fridge", "refrigerator", "r_kitchen", (3.5, 3.55), 0.0, (0.7, 0.7, 1.8),
              "furniture", is_open=False, yaw=-math.pi / 2, shape="fridge",
              receptacles=[_shelf("o_fridge.shelf", (3.5, 3.55), 1.0, (0.6, 0.6), True)]),
        thing("o_table", "coffee table", "r_living", (7.5, 1.7), 0.0, (1.0, 0.6, 0.45),
              "furniture", receptacles=[_shelf("o_table.top", (7.5, 1.7), 0.45, (0.95, 0.55))]),
        thing("o_sofa", "sofa", "r_living", (7.5, 0.55), 0.0, (2.0, 0.9, 0.8), "furniture"),
        thing("o_rug", "rug", "r_living", (7.5, 1.7), 0.0, (2.4, 1.6, 0.01), "furniture"),
        thing("o_shelf", "wall shelf", "r_living", (10.8, 1.0), 1.7, (0.25, 1.0, 0.04), "fixture",
              receptacles=[_shelf("o_shelf.top", (10.8, 1.0), 1.74, (0.22, 0.95))]),
        thing("o_toilet", "toilet", "r_bath", (3.5, 6.4), 0.0, (0.5, 0.7, 0.75), "fixture"),
        thing("o_bed", "bed", "r_bed", (5.2, 1.0), up, (1.8, 1.6, 0.55), "furniture"),
        thing("o_wardrobe", "wardrobe", "r_bed", (8.0, 0.4), up, (0.6, 1.4, 2.0), "furniture",
              is_open=False, yaw=math.pi / 2, shape="cabinet",
              receptacles=[_shelf("o_wardrobe.in", (8.0, 0.4), up + 0.5, (1.3, 0.5), True)]),
    ]  # fmt: skip


def _items() -> list[SceneObject]:
    return [
        thing("o_mug", "mug", "r_kitchen", (0.5, 1.2), 0.9, (0.09, 0.09, 0.1), "item", "o_counter"),
        thing("o_bowl", "bowl", "r_kitchen", (0.45, 2.2), 0.9, (0.18, 0.18, 0.08), "item",
              "o_counter"),
        thing("o_milk", "milk", "r_kitchen", (3.5, 3.5), 1.0, (0.08, 0.08, 0.2), "item",
              "o_fridge", "o_fridge"),
        thing("o_book", "book", "r_living", (7.3, 1.65), 0.45, (0.15, 0.22, 0.03), "item",
              "o_table"),
        thing("o_vase", "vase", "r_living", (10.8, 1.0), 1.74, (0.14, 0.14, 0.3), "item",
              "o_shelf"),
        thing("o_towel", "towel", "r_bath", (0.6, 6.5), 0.0, (0.3, 0.4, 0.1), "item"),
        thing("o_shirt", "shirt", "r_bed", (8.0, 0.4), UPPER + 0.5, (0.3, 0.3, 0.08), "item",
              "o_wardrobe", "o_wardrobe"),
        thing("o_pillow", "pillow", "r_bed", (4.6, 1.0), UPPER + 0.55, (0.4, 0.6, 0.12), "item",
              "o_bed"),
    ]  # fmt: skip
