"""Where things can stand on or in a piece of furniture, and the measures its mesh is built from.

An object's own frame: x is ahead (the side one uses), y to the left, z up; the box is centred on
it. So `Box.size` is (depth, width, height), and a thing with its back to a wall has the yaw of the
wall's inward normal. Receptacles and meshes share these measures so that what stands on a board
touches the board.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from coterie_core.geometry import Box, Vec3
from coterie_core.household import load_household
from coterie_world.scene import Receptacle, SceneObject

BOARD = 0.02
# Nothing is put higher than this [m above the floor], nobody could reach it.
HIGHEST = 2.0
CHAIR_SEAT = 0.48
SOFA_SEAT = 0.53
MATTRESS = 0.5
"""Shares of a piece's height; a house disturbs these and the heights below by `level`."""
ARM_WIDTH = 0.12
BACK_DEPTH = 0.2
CHAIR_BACK = 0.05
HEADBOARD = 0.05
SINK_RIM = 0.15
SINK_EDGE = 0.04
BASIN = 0.16
TANK = 0.2
TUB_EDGE = 0.07
TUB_FLOOR = 0.12
SHOWER_TRAY = 0.06
PIANO_KEYS = 0.2
DRUM, DRUM_OPENING = 0.29, 0.47
"""Shares of a washing machine's height: the drum's floor, and what is free above it."""


@dataclass(frozen=True, slots=True)
class Level:
    """A surface in the object's frame: extent [m], height above the box's bottom, room above it."""

    name: str
    x: tuple[float, float]
    y: tuple[float, float]
    z: float
    clearance: float
    inside: bool = False


def shelf_heights(height: float, spacing: float, first: float) -> list[float]:
    """Return the heights [m] of boards' upper faces in a piece that is so high, lowest first."""
    count = max(1, math.floor((height - first - BOARD) / spacing))
    step = (height - first - BOARD) / count
    return [first + k * step for k in range(count)]


def levels(shape: str, size: Vec3, level: float = 1.0) -> list[Level]:
    """Return the surfaces of a shape.

    Args:
        shape: Name of the shape.
        size: Of its box (depth, width, height) [m].
        level: What the usual heights of surfaces within it are multiplied by.
    """
    depth, width, height = size
    hx, hy = depth / 2.0, width / 2.0
    free = 10.0

    def top(x0: float = -hx, x1: float = hx, z: float = height, name: str = "top") -> Level:
        return Level(name, (x0 + 0.01, x1 - 0.01), (-hy + 0.01, hy - 0.01), z, free)

    def inner(heights: list[float], inside: bool, front: float) -> list[Level]:
        ends = [*heights[1:], height]
        return [
            Level(
                f"shelf {k + 1}",
                (-hx + BOARD, hx - front),
                (-hy + BOARD, hy - BOARD),
                z,
                end - z - BOARD - 0.01,
                inside,
            )
            for k, (z, end) in enumerate(zip(heights, ends, strict=True))
        ]

    def boards(spacing: float, first: float) -> list[float]:
        return shelf_heights(height, spacing * level, first * level)

    if shape in ("table", "desk", "bench", "stool", "counter", "stove", "fireplace"):
        return [top()]
    if shape == "chair":
        return [top(x0=-hx + CHAIR_BACK, z=CHAIR_SEAT * height * level, name="seat")]
    if shape == "sofa":
        return [
            Level(
                "seat",
                (-hx + BACK_DEPTH, hx),
                (-hy + ARM_WIDTH, hy - ARM_WIDTH),
                SOFA_SEAT * height * level,
                free,
            )
        ]
    if shape == "bed":
        return [top(x0=-hx + HEADBOARD, z=MATTRESS * height * level, name="mattress")]
    if shape == "shelf":
        return [*inner(boards(0.36, 0.08), False, 0.0), top()]
    if shape in ("cabinet", "low cabinet"):
        return [top(), *inner(boards(0.34, 0.06), True, 2.0 * BOARD)]
    if shape == "drawers":
        return [top(), *inner(boards(0.24, 0.06), True, 2.0 * BOARD)]
    if shape == "fridge":
        return inner(boards(0.36, 0.1), True, 0.06)
    if shape == "oven":
        edge = 0.05 if height > 0.5 else 0.03
        z = (0.12 if height > 0.5 else 0.04) * level
        return [
            top(),
            Level(
                "inside",
                (-hx + edge, hx - edge),
                (-hy + edge, hy - edge),
                z,
                height - z - 0.08,
                True,
            ),
        ]
    if shape == "washer":
        z, edge = DRUM * height * level, 0.1
        clearance = DRUM_OPENING * height
        return [
            top(),
            Level("drum", (-hx + edge, hx - edge), (-hy + edge, hy - edge), z, clearance, True),
        ]
    if shape == "sink":
        e = SINK_EDGE + 0.01
        return [
            top(x1=-hx + SINK_RIM, name="rim"),
            Level(
                "basin",
                (-hx + SINK_RIM + e, hx - e),
                (-hy + e, hy - e),
                height - BASIN * level,
                free,
            ),
        ]
    if shape == "toilet":
        return [top(x1=-hx + TANK, name="tank")]
    if shape == "tub":
        e = TUB_EDGE + 0.02
        return [Level("floor", (-hx + e, hx - e), (-hy + e, hy - e), TUB_FLOOR * level, free)]
    if shape == "shower":
        e = 0.06
        return [Level("tray", (-hx + e, hx - e), (-hy + e, hy - e), SHOWER_TRAY * level, 1.4)]
    if shape == "piano":
        return [top(x1=hx - PIANO_KEYS)]
    if shape == "open box":
        e = 0.025
        return [Level("bottom", (-hx + e, hx - e), (-hy + e, hy - e), 0.02, height)]
    return []


def is_hollow(label: str) -> bool:
    """Tell whether things that are let go over the rim of such an object fall into it."""
    category = load_household().category(label)
    return category is not None and category.shape in ("sink", "tub", "open box")


def receptacles_of(
    object_id: str, shape: str, box: Box, floor: float, level: float = 1.0
) -> list[Receptacle]:
    """Return the receptacles of an object.

    Args:
        object_id: Its id.
        shape: Name of its shape.
        box: Its box.
        floor: Elevation that it stands above [m].
        level: As for `levels`.
    """
    found = []
    for one in levels(shape, box.size, level):
        z = box.bottom + one.z
        if z > floor + HIGHEST:
            continue
        found.append(
            Receptacle(
                f"{object_id}/{one.name.replace(' ', '-')}",
                Box(
                    (*to_map(box, (sum(one.x) / 2.0, sum(one.y) / 2.0)), z),
                    (one.x[1] - one.x[0], one.y[1] - one.y[0], 0.0),
                    box.yaw,
                ),
                one.inside,
            )
        )
    return found


def clearances(shape: str, box: Box, level: float) -> dict[str, float]:
    """Return the free height [m] above each surface, by the last part of its receptacle's id."""
    return {one.name.replace(" ", "-"): one.clearance for one in levels(shape, box.size, level)}


def level_of(thing: SceneObject) -> float:
    """Return what the heights of a thing's surfaces are multiplied by, as for `levels`."""
    return float(thing.properties.get("level", 1.0))


def to_map(box: Box, local: tuple[float, float]) -> tuple[float, float]:
    """Return the map (x, y) [m] of a point in the box's own frame."""
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    return (
        box.center[0] + c * local[0] - s * local[1],
        box.center[1] + s * local[0] + c * local[1],
    )
