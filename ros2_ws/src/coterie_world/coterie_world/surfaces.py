"""Surfaces that furniture usually has, for what no camera has looked down on, and the room on them.

The semantic map tells the surfaces that it has estimated (`perception.support_surfaces`); these are
the priors for the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Box
from coterie_core.household import load_household
from coterie_world.sizes import known_size

SEAT_HEIGHTS_M = {"bed": 0.55, "": 0.45}
"""Heights of seats above the floor, by category; "": of any other one. Benches are 0.43 to 0.485 m
high by the ADA Standards of 2010 (903.5); that chairs and sofas are, and mattresses 0.1 m more, is
a guess."""
BOARD_HEIGHTS = (0.15, 0.4, 0.65, 0.9)
"""Heights of boards that are open in front, as shares of a shelf's height: evenly spread."""
SEAT_SHARE = 0.6
"""Share of a seat's box, in both directions, that is surely neither arm nor back."""
_TALLER = 1.2
"""A box so many times as high as the highest of its kind takes in what stands on it."""
_EDGE_M = 0.08
"""Edge of other furniture's box on which nothing is put [m]."""
_LOWER = 0.8
"""Furniture is not lower than this share of the lowest of its kind."""
HOLLOW_SIDE = 0.04
"""Thickness that the sides of hollow things are taken to have [m]."""
_HOLLOW_SHARE = 0.9
"""Share of its height that a hollow thing is deep at most."""
_GRID = 0.05  # [m] between spots tried on a surface
_GAP = 0.01  # [m] between things on a surface


def usual_surfaces(
    label: str, box: Box, item: Box | None = None, floor: float | None = None
) -> list[Box]:
    """Return the surfaces that furniture usually has of which only the box is known.

    That is its upper face, or its seat; where its kind ends, if the box is much higher; and the
    boards of a shelf. The likeliest comes first. Edges are left out, since boxes that cameras give
    are too wide at times, and of seats what arms and back take; where an item does not fit on what
    is left, the whole box counts.

    Args:
        label: Label of the furniture.
        box: Its box.
        item: What is to fit; None: nothing.
        floor: Height of the floor it stands on [m]; None: its box's bottom. What other furniture
            hides from below has a box that ends above the floor.
    """
    x, y, _ = box.center
    category = load_household().category(label)
    length, width = between_arms(label, box).size[:2]
    if (length, width) == box.size[:2]:
        length, width = (max(edge - 2.0 * _EDGE_M, edge / 2.0) for edge in box.size[:2])
    need = sorted(item.size[:2]) if item is not None else [0.0, 0.0]
    if any(a > b for a, b in zip(need, sorted((length, width)), strict=True)):
        length, width = box.size[:2]
    heights = usual_tops(label, box, floor)
    if category is not None and category.boards:
        heights = (*heights, *board_heights(box))
    return [Box((x, y, z), (length, width, 0.0), box.yaw) for z in heights]


def usual_tops(label: str, box: Box, floor: float | None = None) -> tuple[float, ...]:
    """Return the heights [m] at which furniture that is known as a box only may carry things.

    The likeliest comes first; boards are left out. `floor` [m] is as for `usual_surfaces`.
    """
    home = load_household()
    if is_seat(label):
        bottom = box.bottom if floor is None else min(floor, box.bottom)
        seat = SEAT_HEIGHTS_M.get(home.canonical(label), SEAT_HEIGHTS_M[""])
        return (min(box.top, bottom + seat),)
    category, size = home.category(label), known_size(label)
    if category is None or size is None or category.boards:
        return (box.top,)
    highest = size[2][1]
    return (box.top, box.bottom + highest) if box.size[2] > _TALLER * highest else (box.top,)


def is_seat(label: str) -> bool:
    """Whether furniture is sat or lain on: its box ends at its back."""
    home = load_household()
    return home.canonical(label) in home.members("seats")


def between_arms(label: str, box: Box) -> Box:
    """Return of a seat's box what is surely neither arm nor back, and of any other box all."""
    if not is_seat(label):
        return box
    wide, deep, high = box.size
    return Box(box.center, (SEAT_SHARE * wide, SEAT_SHARE * deep, high), box.yaw)


def board_heights(box: Box) -> tuple[float, ...]:
    """Return how high the boards of shelves usually are of which only the box is known [m]."""
    return tuple(box.bottom + share * box.size[2] for share in BOARD_HEIGHTS)


def least_top(label: str) -> float:
    """Return the height above the floor [m] below which no furniture of a kind carries things.

    What is lower in its box stands beside it: a stool before a counter. Seats and shelves carry
    things anywhere, and so does what is no furniture or not known.
    """
    category, size = load_household().category(label), known_size(label)
    if category is None or size is None or category.kind != "furniture":
        return 0.0
    return 0.0 if category.boards or is_seat(label) else _LOWER * size[2][0]


def hollow_bottom(label: str, box: Box) -> float | None:
    """Return the height [m] of the bottom of a hollow thing that is known as a box only.

    Tubs, basins, baskets and bins are: what is put into them lies below their rim. None for what
    is not hollow, as far as is known.
    """
    category = load_household().category(label)
    if category is None or not category.depth:
        return None
    return box.top - min(category.depth, _HOLLOW_SHARE * box.size[2])


def free_points(surface: Box, item: Box, others: Iterable[Box]) -> npt.NDArray[np.float64]:
    """Return the middles (n, 2) [m] at which an item's box fits on a surface beside other boxes."""
    spare = (surface.size[0] - item.size[0], surface.size[1] - item.size[1])
    if min(spare) < 0.0:
        return np.zeros((0, 2))
    steps = [np.arange(-int(s / 2.0 / _GRID), int(s / 2.0 / _GRID) + 1) * _GRID for s in spare]
    dx, dy = (table.ravel() for table in np.meshgrid(*steps, indexing="ij"))
    c, s = math.cos(surface.yaw), math.sin(surface.yaw)
    x = surface.center[0] + c * dx - s * dy
    y = surface.center[1] + s * dx + c * dy
    half_x = (abs(c) * item.size[0] + abs(s) * item.size[1]) / 2.0 + _GAP
    half_y = (abs(s) * item.size[0] + abs(c) * item.size[1]) / 2.0 + _GAP
    free = np.ones(len(x), dtype=bool)
    for other in others:
        if abs(other.bottom - surface.center[2]) < 0.1:
            (x0, y0, _), (x1, y1, _) = other.axis_aligned()
            free &= (x + half_x < x0) | (x - half_x > x1) | (y + half_y < y0) | (y - half_y > y1)
    return np.stack([x[free], y[free]], axis=1)
