"""The searches that back "all", a count or "none": what was looked at, and what nobody has seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from coterie_world.scene import SceneGraph
from coterie_world.search_belief import MIN_FRACTION_LEFT, Missed, SearchBelief
from coterie_world.sightings import kind_of

ENOUGH = 0.05
"""Expected number of unseen things below which a search is enough [things]."""
AIM = 0.4
"""Share of what is enough that searches go on to as long as looks show more (0..1)."""
LOOKED_OVER = 0.6
"""Share of a room that nobody has looked at above which nothing is said of it (0..1).

Where more of what it may hold is unseen, it counts as not searched at all.
"""
HARDLY_ANY = 0.01
"""Share of what may be left in all that is not worth a look in one room (0..1)."""


@dataclass
class Searches:
    """The team's books of its searches, one belief per label.

    Args:
        scene: The map that all robots were given.
        enough: Expected number of unseen things below which a search is enough [things].
    """

    scene: SceneGraph
    enough: float = ENOUGH
    tried: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    owners: dict[str, set[str]] = field(default_factory=dict)
    """Label -> the furniture that alone is looked over, for "everything on the table"."""
    _beliefs: dict[str, SearchBelief] = field(default_factory=dict)

    def belief(self, label: str, rooms: Sequence[str] = ()) -> SearchBelief:
        """Return the belief about a label, over these rooms or all."""
        kind = kind_of(label)
        owners = frozenset(self.owners.get(kind, ()))
        held = self._beliefs.get(kind)
        if held is None or held.owners != owners:
            before = held.of_robots() if held is not None else {}
            held = self._beliefs[kind] = SearchBelief(self.scene, kind, (), owners)
            for robot, missed in before.items():
                held.hear(robot, missed)
        return replace(held, rooms=tuple(rooms))

    def hear(self, robot: str, looked: Mapping[str, Missed]) -> None:
        """Take in what a robot's looks leave open."""
        for label, missed in looked.items():
            self.belief(label).hear(robot, missed)

    def ended(self, label: str, robot: str, rooms: Sequence[str], enough: float = -1.0) -> None:
        """Take down that a robot has searched rooms as well as it can, or cannot at all.

        It could go on where it has stopped because little was left: no more than `enough` in all
        rooms (expected number of things; negative: whatever is left), or little of that in one.
        """
        belief = self.belief(label, rooms)
        most = (
            math.inf
            if belief.total() <= enough
            else MIN_FRACTION_LEFT * enough / max(len(rooms), 1)
        )
        for room in rooms:
            if belief.left(room) <= most and belief.unseen_share(room) <= LOOKED_OVER:
                continue
            self.tried.setdefault(kind_of(label), {}).setdefault(room, set()).add(robot)

    def left(self, label: str, rooms: Sequence[str]) -> float:
        """Return the expected number of things in rooms that nobody has seen."""
        return self.belief(label, rooms).total()

    def is_enough(self, label: str, rooms: Sequence[str]) -> bool:
        """Tell whether so much was looked at that hardly anything can be left unseen."""
        return bool(rooms) and (
            self.left(label, rooms) <= self.enough and not self.open_rooms(label, rooms)
        )

    def share(self, rooms: Sequence[str], of: int) -> float:
        """Return what searches of some of so many rooms shall leave unseen, for a claim to be safe.

        That is less than what is enough: what a map does not show yet is added when it is found.
        """
        return AIM * self.enough * len(rooms) / max(of, 1)

    def open_rooms(self, label: str, rooms: Sequence[str]) -> list[str]:
        """Return the rooms in which too much is unseen, what may hold most first.

        See `rest` for where else looks may help.
        """
        belief = self.belief(label, rooms)
        most = self.enough / max(len(rooms), 1)
        left = {room: belief.left(room) for room in rooms}
        much = sum(left.values()) > self.enough
        return sorted(
            (r for r in rooms if (much and left[r] > most) or belief.unseen_share(r) > LOOKED_OVER),
            key=lambda r: (-left[r], r),
        )

    def rest(self, label: str, rooms: Sequence[str], robots: Iterable[str]) -> list[str]:
        """Return the rooms where more looks could make up for what nobody can see elsewhere.

        That is where any of the `robots` has not looked as well as it can, what may hold most
        first; none, where too much is left in the other rooms.
        """
        belief, tried = self.belief(label, rooms), self.tried.get(kind_of(label), {})
        fit = set(robots)
        left = {room: belief.left(room) for room in rooms}
        more = [room for room in rooms if not fit <= tried.get(room, set())]
        if sum(left.values()) - sum(left[room] for room in more) > self.enough:
            return []
        return sorted(
            (r for r in more if left[r] > HARDLY_ANY * self.enough), key=lambda r: (-left[r], r)
        )

    def all_looked(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return robot -> label -> what its looks leave open, as `hear` takes it in."""
        told: dict[str, dict[str, dict[str, float]]] = {}
        for label, belief in self._beliefs.items():
            for robot, missed in belief.of_robots().items():
                told.setdefault(robot, {})[label] = missed
        return told

    def told(self, label: str, rooms: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return what was not searched, and what was not searched enough, as names.

        A floor of which no room was searched is named as a whole.
        """
        belief, scene = self.belief(label, rooms), self.scene
        none: list[str] = []
        some: list[str] = []
        for room in self.open_rooms(label, rooms):
            whole = belief.whole(room)
            (none if belief.left(room) > LOOKED_OVER * whole else some).append(room)
        names = []
        for floor in sorted(scene.floors.values(), key=lambda f: f.index):
            here = [r for r in rooms if scene.rooms[r].floor == floor.id]
            if len(here) > 1 and set(here) <= set(none) and len(here) < len(rooms):
                none = [r for r in none if r not in here]
                names.append(_floor_name(floor.index, scene))
        names += [scene.rooms[r].name for r in none]
        return names, [scene.rooms[r].name for r in some]


def _floor_name(index: int, scene: SceneGraph) -> str:
    order = sorted(floor.index for floor in scene.floors.values())
    place = order.index(index)
    if len(order) == 2:
        return ("downstairs", "upstairs")[place]
    return "the ground floor" if place == 0 else f"floor {place}"
