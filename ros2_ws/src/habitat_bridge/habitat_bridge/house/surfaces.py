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
from coterie_world.scene import Receptacle

BOARD = 0.02
# Nothing is put higher than this [m above the floor], nobody could reach it.
HIGHEST = 2.0
SEAT = 0.44
MATTRESS = 0.5
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


def levels(shape: str, size: Vec3) -> list[Level]:
    """Return the surfaces of a shape whose box has this size (depth, width, height) [m]."""
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

    if shape in ("table", "desk", "bench", "stool", "counter", "stove", "fireplace"):
        return [top()]
    if shape == "chair":
        return [top(x0=-hx + CHAIR_BACK, z=SEAT, name="seat")]
    if shape == "sofa":
        return [
            Level(
                "seat",
                (-hx + BACK_DEPTH, hx),
                (-hy + ARM_WIDTH, hy - ARM_WIDTH),
                SEAT,
                free,
            )
        ]
    if shape == "bed":
        return [top(x0=-hx + HEADBOARD, z=MATTRESS, name="mattress")]
    if shape == "shelf":
        return [*inner(shelf_heights(height, 0.36, 0.08), False, 0.0), top()]
    if shape in ("cabinet", "low cabinet"):
        return [top(), *inner(shelf_heights(height, 0.34, 0.06), True, 2.0 * BOARD)]
    if shape == "drawers":
        return [top(), *inner(shelf_heights(height, 0.24, 0.06), True, 2.0 * BOARD)]
    if shape == "fridge":
        return inner(shelf_heights(height, 0.36, 0.1), True, 0.06)
    if shape == "oven":
        edge = 0.05 if height > 0.5 else 0.03
        z = 0.12 if height > 0.5 else 0.04
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
        z, edge = 0.25, 0.1
        return [
            top(),
            Level("drum", (-hx + edge, hx - edge), (-hy + edge, hy - edge), z, 0.4, True),
        ]
    if shape == "sink":
        e = SINK_EDGE + 0.01
        return [
            top(x1=-hx + SINK_RIM, name="rim"),
            Level("basin", (-hx + SINK_RIM + e, hx - e), (-hy + e, hy - e), height - BASIN, free),
        ]
    if shape == "toilet":
        return [top(x1=-hx + TANK, name="tank")]
    if shape == "tub":
        e = TUB_EDGE + 0.02
        return [Level("floor", (-hx + e, hx - e), (-hy + e, hy - e), TUB_FLOOR, free)]
    if shape == "shower":
        e = 0.06
        return [Level("tray", (-hx + e, hx - e), (-hy + e, hy - e), SHOWER_TRAY, 1.7)]
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


def receptacles_of(object_id: str, shape: str, box: Box, floor: float) -> list[Receptacle]:
    """Return the receptacles of an object; `floor` [m] is the elevation that it stands above."""
    found = []
    for level in levels(shape, box.size):
        z = box.bottom + level.z
        if z > floor + HIGHEST:
            continue
        found.append(
            Receptacle(
                f"{object_id}/{level.name.replace(' ', '-')}",
                Box(
                    (*to_map(box, (sum(level.x) / 2.0, sum(level.y) / 2.0)), z),
                    (level.x[1] - level.x[0], level.y[1] - level.y[0], 0.0),
                    box.yaw,
                ),
                level.inside,
            )
        )
    return found


def clearances(shape: str, box: Box) -> dict[str, float]:
    """Return the free height [m] above each surface, by the last part of its receptacle's id."""
    return {level.name.replace(" ", "-"): level.clearance for level in levels(shape, box.size)}


def to_map(box: Box, local: tuple[float, float]) -> tuple[float, float]:
    """Return the map (x, y) [m] of a point in the box's own frame."""
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    return (
        box.center[0] + c * local[0] - s * local[1],
        box.center[1] + s * local[0] + c * local[1],
    )
