"""What the team's map holds of a thing in a room, for a robot that was not there itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from coterie_world.permanence import age_text, confidence
from coterie_world.scene import Room
from coterie_world.team_memory import TeamMemory
from coterie_world.team_memory.store import alike


@dataclass(frozen=True, slots=True)
class Held:
    """One thing of the map that may be what was asked for.

    `id`: its id in the map. `p` (0..1): probability that it is such a thing and still is there;
    `seen` [s]: when it was last seen (None: never, it was on a map made before) by `robot`.
    """

    id: str
    p: float
    seen: float | None
    robot: str


def rooms_of(team: TeamMemory | None) -> list[Room]:
    """Return the rooms of the team's map of which more than an id is known."""
    if team is None:
        return []
    return [room for room in team.graph.rooms.values() if room.type or room.polygon]


def held_in(team: TeamMemory | None, label: str, room: Room, robot: str) -> list[Held]:
    """Return the things of a label that the team's map holds in a room, without those in hands.

    What only this robot reported is in its own memory and does not count here. Nor do its own looks
    that did not show the thing: it weighs them itself.

    Args:
        team: The robot's copy of the team's memory.
        label: What is asked for.
        room: The room, by its id or its name.
        robot: Who asks.
    """
    if team is None:
        return []
    named = team.graph.rooms.get(room.id) or team.graph.room_named(room.name)
    if named is None:
        return []
    found = []
    for id_ in sorted(set(team.sources.values())):
        thing, belief = team.graph.objects.get(id_), team.beliefs.get(id_)
        if thing is None or belief is None or belief.held_by or thing.room != named.id:
            continue
        share = sum(p for name, p in thing.label.distribution().items() if alike(name, label))
        if share <= 0.0:
            continue
        misses = 0.0 if belief.missed_by == robot else belief.misses
        there = confidence(thing, team.time - belief.since, belief.sightings, misses)
        last = thing.last_seen
        found.append(
            Held(
                id_,
                min(share, 1.0) * there,
                last.time if last is not None else None,
                last.robot if last is not None else "",
            )
        )
    return found


def any_of(held: Sequence[Held]) -> float:
    """Return the probability (0..1) that at least one of them is there."""
    return 1.0 - math.prod(1.0 - one.p for one in held)


def held_text(held: Sequence[Held], now: float) -> str:
    """Return what the map holds and since when, for people; empty where it holds nothing.

    Args:
        held: Things of the map.
        now: The world's time [s].
    """
    if not held:
        return ""
    sure = [one for one in held if one.p > 0.5]
    count = "one" if len(sure or held) == 1 else str(len(sure or held))
    told = f"the team's map holds {count} there"
    if not sure:  # each is rather something else
        told = f"{told} that may be one ({any_of(held):.0%} that any is)"
    held = sure or held
    seen = [(one.seen, one.robot) for one in held if one.seen is not None]
    if not seen:
        return f"{told}, as known beforehand"
    time, robot = max(seen)
    by = f" by {robot}" if robot else ""
    return f"{told}, last seen{by} {age_text(now - time)}"
