"""What a robot expects in a kind of room before it has seen it: household knowledge, cached."""

from __future__ import annotations

from typing import Protocol

from coterie_core.household import Household, load_household


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

    def __init__(self, household: Household | None = None) -> None:
        self.household = household or load_household()
        self._names: dict[str, str] = {}
        self._known: dict[tuple[str, str], float] = {}

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

    def _name(self, label: str) -> str:
        if label not in self._names:
            if len(self._names) >= self._MOST:
                self._names.clear()
            self._names[label] = self.household.canonical(label)
        return self._names[label]


def load_common_sense() -> CommonSense:
    """Return the household knowledge that comes with coterie_core."""
    return HouseholdSense()
