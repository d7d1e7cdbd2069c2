"""Where things may be that nobody has seen: rooms and closed containers, and how likely each is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

from coterie_core.cooperation import Briefing
from coterie_core.household import load_household
from reveca_agent.entries import Entry
from reveca_agent.memory import Memory
from reveca_agent.plans import Task

INSIDE = 0.5
"""Share of a room's things that lie in its containers, as far as one knows before looking."""
SMOOTH = 0.12
"""Least likelihood that a room holds a thing, whatever its kind."""
FLAT = 0.3
"""What a room is worth where nothing is believed of which things lie in which rooms."""
LOOKED_BY_OTHER = 0.3
"""What remains of the hope for a room in which a collaborator left containers closed."""
SEARCHED_BY_OTHER = 0.01
"""What remains of it where a collaborator says that nothing of use is left."""


def search_places(
    memory: Memory,
    briefing: Briefing,
    labels: Sequence[str],
    hidden: Sequence[float],
    containers: Iterable[Entry],
) -> list[tuple[Task, list[float]]]:
    """Return the places still to be searched, with a weight for each label.

    Weights of a label stand to one another as the likelihoods that such a thing is there, by what
    the agent believes beforehand (`Settings.prior`); they do not add up to one.

    Args:
        memory: What the agent knows.
        briefing: Of the episode.
        labels: Of what is to be found.
        hidden: For each of them, how much of it lies in closed containers (0..1).
        containers: Closed ones that count.
    """
    flat = memory.settings.prior == "flat"
    places: list[tuple[Task, list[float]]] = []
    closed: dict[str, list[Entry]] = {}
    for entry in containers:
        closed.setdefault(entry.thing.spot.room, []).append(entry)
    turns = 360.0 / briefing.turn if briefing.turn else 0.0
    level = max(1, memory.settings.levels // 2)
    for room in briefing.ways.rooms.values():
        if memory.blocked(room.id):
            continue
        weights = [FLAT if flat else SMOOTH + likelihood(label, room.type) for label in labels]
        here = closed.get(room.id, ())
        if room.id not in memory.rooms:
            doubt = 1.0
            if room.id in memory.searched:
                doubt = SEARCHED_BY_OTHER
            elif room.id in memory.looked:
                doubt = LOOKED_BY_OTHER
            task = Task("explore", room.id, room.spot, 0.0, turns, level, f"{room.name}, not seen")
            places.append((task, [doubt * weight for weight in weights]))
        elif here:
            likings = [
                [1.0 if flat or entry.thing.label in liked(label) else 0.25 for entry in here]
                for label in labels
            ]
            for k, entry in enumerate(here):
                thing = entry.thing
                doubt = SEARCHED_BY_OTHER if thing.id in memory.searched else 1.0
                shares = [
                    doubt * within * weight * like[k] / sum(like)
                    for within, weight, like in zip(hidden, weights, likings, strict=True)
                ]
                about = f"{thing.label} in {thing.spot.room}, closed"
                task = Task("look", thing.id, thing.spot, 0.0, 1.0, entry.level, about)
                places.append((task, shares))
    return places


def closed_containers(memory: Memory) -> list[Entry]:
    """Closed containers to look into, as far as a decision is shown them: if one can open any."""
    if not memory.opens:
        return []
    if memory.settings.relevance and not memory.settings.tokens:
        ids = islice(memory.closed, 4 * memory.settings.shown)
        found = [memory.scene[id_] for id_ in ids]
    else:
        found = memory.shown()
    return [
        entry
        for entry in found
        if entry.thing.is_open is False
        and memory.searched.get(entry.thing.id) != ""
        and not memory.blocked(entry.thing.id)
    ]


@lru_cache(maxsize=4096)
def likelihood(label: str, room_type: str) -> float:
    """How likely a room of a type holds a thing, by general knowledge of homes (0..1)."""
    return load_household().likelihood(label, room_type)


@lru_cache(maxsize=1024)
def liked(label: str) -> frozenset[str]:
    """Labels of furniture on or in which such a thing usually lies."""
    return frozenset(load_household().usual_owners(label))
