"""Expectations of rooms that no robot has seen: contents and positions, cached."""

from __future__ import annotations

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
    """The household knowledge of coterie_core; remembers what it looked up."""

    _MOST = 50_000

    def __init__(self) -> None:
        self.household = load_household()
        self._names: dict[str, str] = {}
        self._known: dict[tuple[str, str], float] = {}
        self._beside: dict[str, dict[str, float]] = {}

    def likelihood(self, object_label: str, room: str) -> float:
        """Return the probability (0..1) that a room of this type or name holds such an object."""
        key = (object_label, room)
        if key not in self._known:
            if len(self._known) >= self._MOST:
                self._known.clear()
            self._known[key] = self.household.likelihood(object_label, room)
        return self._known[key]

    def alike(self, label: str, other: str) -> bool:
        """Tell whether two labels have the same name in the household knowledge."""
        return self._name(label) == self._name(other)

    def rooms_beside(self, room: str) -> dict[str, float]:
        """Return how likely a room next to one of this type or name is of each type (sums to 1).

        Types are as likely as houses have them, more so where they are said to lie side by side;
        an unknown name gives the first part alone.
        """
        types = self.household.room_types
        here = self.household.room_type(room)
        if here not in self._beside:
            near = types[here].adjacent if here else {}
            weights = {
                name: (sum(kind.per_house) / 2.0)
                * (1.0 + near.get(name, 0.0) + kind.adjacent.get(here, 0.0))
                for name, kind in types.items()
            }
            total = sum(weights.values())
            self._beside[here] = {name: weight / total for name, weight in weights.items()}
        return self._beside[here]

    def _name(self, label: str) -> str:
        if label not in self._names:
            if len(self._names) >= self._MOST:
                self._names.clear()
            self._names[label] = self.household.canonical(label)
        return self._names[label]


def load_common_sense() -> CommonSense:
    """Return the household knowledge that comes with coterie_core."""
    return HouseholdSense()
