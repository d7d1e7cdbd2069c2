"""Expectations of rooms that no robot has seen: contents and positions, cached."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Protocol

from coterie_core.household import load_household


class CommonSense(Protocol):
    """Prior knowledge about homes."""

    def likelihood(self, object_label: str, room: str) -> float:
        """Return the probability (0..1) that a room of this type holds such an object."""
        ...

    def alike(self, label: str, other: str) -> bool:
        """Tell whether two words stand for the same kind of thing."""
        ...


class HouseholdSense:
    """The household knowledge of coterie_core; what was looked up is remembered."""

    def __init__(self) -> None:
        self.household = load_household()

    def likelihood(self, object_label: str, room: str) -> float:
        """Return the probability (0..1) that a room of this type or name holds such an object."""
        return _likelihood(object_label, room)

    def alike(self, label: str, other: str) -> bool:
        """Tell whether two labels have the same name in the household knowledge."""
        return self.household.canonical(label) == self.household.canonical(other)

    def rooms_beside(self, room: str) -> dict[str, float]:
        """Return how likely a room next to one of this type or name is of each type (sums to 1).

        Types are as likely as houses have them, more so where they are said to lie side by side;
        an unknown name gives the first part alone.
        """
        return _beside(self.household.room_type(room))


@lru_cache(maxsize=50_000)
def _likelihood(label: str, room: str) -> float:
    return load_household().likelihood(label, room)


@cache
def _beside(here: str) -> dict[str, float]:
    types = load_household().room_types
    near = types[here].adjacent if here else {}
    weights = {
        name: (sum(kind.per_house) / 2.0)
        * (1.0 + near.get(name, 0.0) + kind.adjacent.get(here, 0.0))
        for name, kind in types.items()
    }
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def load_common_sense() -> CommonSense:
    """Return the household knowledge that comes with coterie_core."""
    return HouseholdSense()
