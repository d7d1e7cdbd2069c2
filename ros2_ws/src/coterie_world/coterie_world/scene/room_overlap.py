"""Regions of a floor that several robots found for themselves: which of them are one room."""

from __future__ import annotations

import re
from collections.abc import Iterable

import shapely

from coterie_core.geometry import Vec2
from coterie_world.scene.model import Room

SAME_ROOM_OVERLAP = 0.6
"""Fraction of the smaller of two regions that the other covers, from which they are one room.

Regions are parted at narrow passages: neighbors share no more than an error of alignment, and of a
room that one robot has seen in part only, that part lies within what the other has seen.
"""
_REGION = re.compile(r"(.+_)?region_\d+")


def is_region(room: Room) -> bool:
    """Whether a room is a region that some robot parted the floor into: it comes and goes."""
    return not room.type and _REGION.fullmatch(room.id) is not None


def same_region(room: Room, others: Iterable[Room]) -> Room | None:
    """Return the region among others that is the same room as a region; None: there is none.

    Args:
        room: A region with an outline, in the frame of the others.
        others: Rooms; only regions on the same floor count.
    """
    if not is_region(room) or len(room.polygon) < 3:
        return None
    shape = _shape(room.polygon)
    best, found = SAME_ROOM_OVERLAP, None
    for other in others:
        if not is_region(other) or len(other.polygon) < 3:
            continue
        if room.floor and other.floor and room.floor != other.floor:
            continue
        theirs = _shape(other.polygon)
        least = min(shape.area, theirs.area)
        share = shape.intersection(theirs).area / least if least > 0.0 else 0.0
        if share > best or (share == best and found is None):
            best, found = share, other
    return found


def joined(room: Room, other: Room) -> list[Vec2]:
    """Return the outline of two regions that are one room: what either covers [m]."""
    whole = shapely.union(_shape(room.polygon), _shape(other.polygon))
    if not isinstance(whole, shapely.Polygon):  # they touch in parts: the largest is the room
        whole = max(whole.geoms, key=lambda part: float(part.area))
    return [(float(x), float(y)) for x, y in whole.exterior.coords[:-1]]


def _shape(polygon: Iterable[Vec2]) -> shapely.Geometry:
    return shapely.Polygon(list(polygon)).buffer(0)
