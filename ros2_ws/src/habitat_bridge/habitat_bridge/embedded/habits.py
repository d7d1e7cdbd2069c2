"""A household's habits: the common numbers, disturbed per house, so that no robot's prior is exact."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from coterie_core.household import Category, Household

# Spread of the disturbance in log-odds: of a thing in this house, and of a thing in a type of room.
HOUSE_SPREAD = 0.5
ROOM_SPREAD = 0.6
# What makes a room what it is keeps at least this likelihood (a kitchen without a sink is none).
ESSENTIAL = 0.93


@dataclass(slots=True)
class Habits:
    """How likely this house's rooms hold each thing; drawn once per house, in a fixed order."""

    household: Household
    rng: np.random.Generator
    _likelihood: dict[tuple[str, str], float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for category in self.household.categories.values():
            house = float(self.rng.normal(0.0, HOUSE_SPREAD))
            for room_type in self.household.room_types:
                room = float(self.rng.normal(0.0, ROOM_SPREAD))
                prior = self.household.likelihood(category.label, room_type)
                self._likelihood[category.label, room_type] = disturbed(prior, house + room)

    def likelihood(self, category: Category, room_type: str) -> float:
        """Return how likely a room of this type in this house holds the thing (0..1)."""
        return self._likelihood[category.label, room_type]


def disturbed(prior: float, offset: float) -> float:
    """Return the likelihood moved by `offset` in log-odds; essentials stay likely."""
    if prior <= 0.0 or prior >= 1.0:
        return prior
    odds = math.log(prior / (1.0 - prior)) + offset
    moved = 1.0 / (1.0 + math.exp(-odds))
    return max(moved, prior) if prior >= ESSENTIAL else moved
