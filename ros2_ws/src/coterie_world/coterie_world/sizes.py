"""How large things of a kind are, and how plausible a size is for a label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Literal

from pydantic import TypeAdapter

from coterie_core.geometry import Box
from coterie_core.household import Range, load_household
from coterie_core.yaml_marks import read_own

SIZE_TOLERANCE = 1.25
"""A side may be so many times the largest known of its kind, or so many times smaller: what is
known are eight of ten models."""

MIN_PLAUSIBILITY = 0.6
"""Furniture whose box is less plausible (0..1) is not told. The two longer sides of a box that is
too small then span less than a quarter of the least face that is known of its kind."""

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
def _table() -> Mapping[str, tuple[Range, Range, Range]]:
    text = resources.files("coterie_world").joinpath("data/sizes.yaml").read_text("utf-8")
    kind = TypeAdapter(dict[str, tuple[Range, Range, Range]])
    return kind.validate_python(read_own("sizes.yaml", text))


def known_size(label: str) -> tuple[Range, Range, Range] | None:
    """Return how large things of a kind are, as `data/sizes.yaml` has it; None: not known.

    Returns:
        Longer horizontal side, shorter one, and height, each (least, most) [m].
    """
    return _table().get(load_household().canonical(label))


@lru_cache(maxsize=4096)
def _ranges(label: str) -> tuple[Range, ...] | None:
    """Least and greatest length [m] of the sides of a label's objects, longest side first.

    Furniture of a kind whose size is not known is as large as some furniture is.
    """
    house, size = load_household(), known_size(label)
    sizes = [size] if size is not None else []
    if not sizes and house.kind(label) == "furniture":
        sizes = [one for name, one in _table().items() if house.kind(name) == "furniture"]
    if not sizes:
        return None
    least = [sorted((low for low, _ in one), reverse=True) for one in sizes]
    most = [sorted((high for _, high in one), reverse=True) for one in sizes]
    return tuple(
        (min(lows), max(highs))
        for lows, highs in zip(zip(*least, strict=True), zip(*most, strict=True), strict=True)
    )


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
