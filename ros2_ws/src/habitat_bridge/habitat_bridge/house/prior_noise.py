"""A household's habits: common numbers, disturbed per house, so that no prior is exact."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from coterie_core.household import Category, Household
from coterie_world.scene import Room

# Spread of the disturbance in log-odds: of a thing in this house, and in one type of room.
HOUSE_SPREAD = 0.5
ROOM_SPREAD = 0.6
# What makes a room what it is keeps at least this likelihood (a kitchen without a sink is none).
ESSENTIAL = 0.93
RARE = 0.06
STRAY = 0.3
PLUMBED = ("tub", "toilet", "shower", "sink", "stove", "hood", "washer", "fridge", "fireplace")


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
                prior = self.household.prior(category, room_type)
                self._likelihood[category.label, room_type] = disturbed(prior, house + room)

    def likelihood(self, category: Category, room_type: str) -> float:
        """Return how likely a room of this type in this house holds the thing (0..1).

        Furniture strays less than small things do, and what is plumbed in not at all.
        """
        value = self._likelihood[category.label, room_type]
        if category.kind == "item" or value >= RARE:
            return value
        return 0.0 if category.shape in PLUMBED else value * STRAY

    def wishes(
        self, categories: Iterable[Category], rooms: Iterable[Room], scale: float = 1.0
    ) -> dict[str, list[tuple[Category, int]]]:
        """Draw what each room is to hold: room id -> (category, how many).

        Of what a house has few of, the likeliest rooms get them.
        """
        found: dict[str, list[tuple[Category, int]]] = {}
        rivals: dict[str, list[tuple[float, str]]] = {}
        for room in rooms:
            found[room.id] = []
            for category in categories:
                likelihood = self.likelihood(category, room.type) * scale
                draw = float(self.rng.random())
                count = int(self.rng.integers(category.count[0], category.count[1] + 1))
                if draw >= likelihood:
                    continue
                found[room.id].append((category, count))
                rivals.setdefault(category.label, []).append((-likelihood, room.id))
        for room_id, wished in found.items():
            found[room_id] = [
                (category, count)
                for category, count in wished
                if category.per_house is None
                or any(
                    room_id == name
                    for _, name in sorted(rivals[category.label])[: category.per_house]
                )
            ]
        return found


def disturbed(prior: float, offset: float) -> float:
    """Return the likelihood moved by `offset` in log-odds; essentials stay likely."""
    if prior <= 0.0 or prior >= 1.0:
        return prior
    odds = math.log(prior / (1.0 - prior)) + offset
    moved = 1.0 / (1.0 + math.exp(-odds))
    return max(moved, prior) if prior >= ESSENTIAL else moved
