"""Outlines of rooms: what a closed line encloses, and whether it is an outline at all."""

from __future__ import annotations

from collections.abc import Sequence

import shapely

from coterie_core.geometry import Vec2

_SLIVER = 1e-3
"""Area [m^2] that a rounded outline may enclose twice, or not at all."""


def enclosed(outline: Sequence[Vec2]) -> shapely.Geometry:
    """Return all that a closed line over corners [m] goes around, also where it crosses itself.

    It is empty where the line goes around nothing.
    """
    if len(outline) < 3:
        return shapely.Polygon()
    line = shapely.node(shapely.LinearRing(outline))
    return shapely.union_all(shapely.get_parts(shapely.polygonize([line])))


def outline_trouble(outline: Sequence[Vec2]) -> str:
    """Return why corners [m] are no outline; "": they are one, or there are none.

    A line that touches itself is one, as regions of a grid have it; one that crosses itself is not.
    """
    if not outline:
        return ""
    if len(outline) < 3:
        return f"it has {len(outline)} corners"
    shape = shapely.Polygon(outline)
    area = enclosed(outline).area
    if area <= 0.0:
        return "it goes around nothing"
    if not shape.is_valid and abs(shape.area - area) > _SLIVER * (1.0 + area):
        return f"it crosses itself: {shapely.is_valid_reason(shape).lower()}"
    return ""
