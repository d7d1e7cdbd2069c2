"""Plausibility of sizes for labels, by the household's general knowledge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Literal

from coterie_core.geometry import Box
from coterie_core.household import load_household

SIZE_TOLERANCE = 1.5
"""A side may be so many times the largest known of its kind, or so many times smaller."""

MIN_PLAUSIBILITY = 0.6
"""Furniture whose box is less plausible (0..1) is not told. The two longer sides of a box that is
too small then span less than a sixth of the least face that is known of its kind."""

SizeOrder = Literal["largest", "smallest", "tallest", "shortest", "highest", "lowest"]
SIZE_ORDERS: Mapping[SizeOrder, Callable[[Box], float]] = {
    "largest": lambda box: -box.volume,
    "smallest": lambda box: box.volume,
    "tallest": lambda box: -box.size[2],
    "shortest": lambda box: box.size[2],
    "highest": lambda box: -box.center[2],
    "lowest": lambda box: box.center[2],
}
"""Quantities that superlatives order objects by, least first [m^3, m]."""


@cache
def _ranges(label: str) -> tuple[tuple[float, float], ...] | None:
    """Least and greatest length [m] of the sides of a label's objects, longest side first."""
    house = load_household()
    category = house.categories.get(house.canonical(label))
    if category is None or category.size is None:
        return None
    least = sorted((low for low, _ in category.size), reverse=True)
    most = sorted((high for _, high in category.size), reverse=True)
    return tuple(zip(least, most, strict=True))


def oversize(label: str, size: Sequence[float]) -> float:
    """How far the worst side exceeds SIZE_TOLERANCE times what is known of a label (1: not).

    Args:
        label: Label that it is taken for.
        size: Lengths of the sides [m], in any order.
    """
    ranges = _ranges(label)
    if ranges is None:
        return 1.0
    sides = zip(sorted(size, reverse=True), ranges, strict=True)
    return max(1.0, *(side / (SIZE_TOLERANCE * most) for side, (_, most) in sides))


def plausible_size(label: str, size: Sequence[float]) -> float:
    """How plausible a box is for a label (0..1); 1 where the label's sizes are not known.

    A side beyond SIZE_TOLERANCE times what is known counts by how far beyond. Too small is what was
    seen in parts as well, so that it counts less: by the square root, and of the two longer sides
    only, since depth cameras see front faces.

    Args:
        label: Label that it is taken for.
        size: Lengths of the sides [m], in any order.
    """
    ranges = _ranges(label)
    if ranges is None:
        return 1.0
    worth = 1.0 / oversize(label, size)
    for side, (least, _) in list(zip(sorted(size, reverse=True), ranges, strict=True))[:2]:
        worth *= min(side * SIZE_TOLERANCE / least, 1.0) ** 0.5
    return worth


def is_sliver(label: str, size: Sequence[float]) -> bool:
    """Tell whether a box cannot be the furniture that it is taken for, by the sides that it shows.

    Depth at the edge of something else makes such boxes. Things that are no furniture are small
    anyway, and never slivers; nor is what the household does not know.

    Args:
        label: Label that it is taken for.
        size: Lengths of the sides [m], in any order.
    """
    category = load_household().category(label)
    if category is None or category.kind != "furniture":
        return False
    return plausible_size(label, size) < MIN_PLAUSIBILITY
