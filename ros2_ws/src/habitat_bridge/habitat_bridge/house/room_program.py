"""Which rooms a house has and on which floor each lies, before anything is drawn (seeded)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from coterie_core.household import Household, RoomType

MIN_ROOMS, MAX_ROOMS = 4, 25
MAX_FLOORS = 3
# Fewest rooms that fill so many floors: a hub and a room on each, and the four that every home has.
FEWEST = {1: 4, 2: 5, 3: 6}
ESSENTIAL = ("living room", "kitchen", "bedroom", "bathroom")
HUBS = ("hallway", "stairs")


@dataclass(slots=True)
class Program:
    """Room types per floor, lowest first; the first of each list is the hub that joins the rest."""

    floors: list[list[str]]


def choose_size(rng: np.random.Generator, floors: int | None, rooms: int | None) -> tuple[int, int]:
    """Return (floors, rooms), chosen where None.

    Raises:
        ValueError: Out of range, or too few rooms for so many floors.
    """
    if floors is not None and not 1 <= floors <= MAX_FLOORS:
        raise ValueError(f"floors: expected 1 to {MAX_FLOORS} or None, got {floors!r}")
    if rooms is not None and not MIN_ROOMS <= rooms <= MAX_ROOMS:
        raise ValueError(f"rooms: expected {MIN_ROOMS} to {MAX_ROOMS} or None, got {rooms!r}")
    if floors is None:
        if rooms is None:
            floors = int(rng.choice([1, 2, 3], p=[0.45, 0.4, 0.15]))
        else:
            weights = np.array(
                [
                    1.0 if rooms <= 12 else 0.3,
                    0.0 if rooms < 7 else 1.0,
                    0.0 if rooms < 11 else 0.6,
                ]
            )
            floors = int(rng.choice([1, 2, 3], p=weights / weights.sum()))
    if rooms is None:
        low, high = {1: (5, 11), 2: (9, 17), 3: (13, 23)}[floors]
        rooms = int(rng.integers(low, high + 1))
    if rooms < FEWEST[floors]:
        raise ValueError(
            f"rooms: {floors} floors need at least {FEWEST[floors]} rooms (a hallway or living room"
            f" and one more on each, a kitchen, a bedroom and a bathroom), got {rooms}"
        )
    return floors, rooms


def choose_rooms(
    rng: np.random.Generator, household: Household, floors: int, rooms: int
) -> Program:
    """Return the rooms of a house with so many floors and rooms (both as `choose_size` gives)."""
    hall = rooms >= 7 + 2 * (floors - 1)
    plan: list[list[str]] = [["hallway" if hall else "living room"]]
    for _ in range(1, floors):
        plan.append(["stairs" if rng.random() < 0.5 else "hallway"])
    chosen = [name for name in ESSENTIAL if hall or name != "living room"]
    counts = Counter(chosen + [hub for floor in plan for hub in floor])
    share = rooms / floors - 1.0
    while len(chosen) < rooms - floors:
        name = _one_more(rng, household, counts, floors, share)
        counts[name] += 1
        chosen.append(name)
    _allot(rng, household, plan, chosen)
    return Program(plan)


def _one_more(
    rng: np.random.Generator,
    household: Household,
    counts: Counter[str],
    floors: int,
    share: float,
) -> str:
    """Draw the type of one more room; `share` is the number of rooms that a floor should get."""
    ground = sum(n for name, n in counts.items() if household.room_types[name].floors == (0,))
    names: list[str] = []
    weights: list[float] = []
    for kind in household.room_types.values():
        weight = kind.weight / (1.0 + counts[kind.name]) * float(rng.uniform(0.6, 1.4))
        if kind.name in HUBS or kind.per_house[1] <= counts[kind.name]:
            continue
        if kind.floors == (-1,) and floors == 1:
            continue
        if kind.name in ("closet", "bathroom") and counts[kind.name] >= counts["bedroom"]:
            weight *= 0.05
        if kind.floors == (0,) and floors > 1 and ground >= share:
            # The ground floor is full of what can be nowhere else; upper floors are still empty.
            weight *= 0.05
        names.append(kind.name)
        weights.append(max(weight, 1e-6))
    return names[int(rng.choice(len(names), p=np.array(weights) / sum(weights)))]


def _allot(
    rng: np.random.Generator, household: Household, plan: list[list[str]], chosen: list[str]
) -> None:
    """Give every chosen room a floor so that the floors end up about equally large."""

    def area(kind: RoomType) -> float:
        return sum(kind.area) / 2.0

    kinds = household.room_types
    load = [0.0] * len(plan)
    ground = [name for name in chosen if kinds[name].floors == (0,)]
    upper = [name for name in chosen if kinds[name].floors == (-1,)]
    free = [name for name in chosen if 0 in kinds[name].floors and -1 in kinds[name].floors]
    for name in ground:
        plan[0].append(name)
        load[0] += area(kinds[name])
    order = sorted(free, key=lambda name: -area(kinds[name]) * float(rng.uniform(0.8, 1.2)))
    # Each upper floor needs a room of its own before the rest is spread.
    for k, name in enumerate(order):
        empty = [f for f in range(1, len(plan)) if len(plan[f]) == 1]
        if empty and len(order) - k >= len(empty):
            floor = empty[0]
        else:
            floor = min(range(len(plan)), key=lambda f: (load[f], f))
            if name == "closet":
                # A closet belongs to a bedroom.
                with_bed = [f for f in range(len(plan)) if "bedroom" in plan[f]]
                floor = min(
                    with_bed or [floor],
                    key=lambda f: plan[f].count("closet") - plan[f].count("bedroom"),
                )
        plan[floor].append(name)
        load[floor] += area(kinds[name])
    for name in upper:
        hosts = [f for f in range(1, len(plan)) if "bedroom" in plan[f] and name not in plan[f]]
        others = [f for f in range(1, len(plan)) if name not in plan[f]] or [1]
        plan[int(rng.choice(hosts or others))].append(name)
