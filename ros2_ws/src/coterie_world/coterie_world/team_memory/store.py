"""Contents of a team's memory, with look-ups and limits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from coterie_core.geometry import Pose, Vec3, distance
from coterie_core.observation import RoomView
from coterie_world.association import EVENT
from coterie_world.object_events import ObjectEvent
from coterie_world.permanence import confidence
from coterie_world.scene import Room, SceneGraph, SceneObject, free_id
from coterie_world.sightings import kind_of, rest, stays_where_put

MIN_CONFIDENCE = 0.05
"""Things below this confidence are forgotten."""
NEVER_S = -1e15
"""A time before all others [s]."""
MOST_LOOKS = 3
"""Looks at a thing that are kept, each from another spot or in another direction."""
DEFAULT_SIZE_M = (0.1, 0.1, 0.1)
"""Size of a thing that nobody has measured [m]."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is remembered; the least sure things and the oldest traces go first."""

    things: int = 5000
    traces: int = 1000
    events: int = 4000


@dataclass(frozen=True, slots=True)
class Trace:
    """A thing that left a place: who took it from where, and where it is now.

    `from_room`, `to_room` are room ids; `to_room` is "" while it is in the hand of `robot`, or
    where `gone`: looked for and not there. `position` [m] is where it was, `left` [s] when it went,
    `time` [s] when it arrived, once it was put down.
    """

    object: str
    label: str
    robot: str
    left: float
    time: float
    position: Vec3
    from_room: str = ""
    to_room: str = ""
    gone: bool = False
    task: str = ""


class Look(NamedTuple):
    """A look that showed a thing: when [s], whose, and where the robot stood [m]."""

    time: float
    robot: str
    position: Vec3


@dataclass(slots=True)
class Belief:
    """What is known of a thing besides its SceneObject.

    `since` [s]: when it was last known to be where it is; `sightings` and `misses` as in
    `permanence`, `missed_by` who looked last, `reach` [m]: how far from a robot it was reported at
    most; `moved`: when an event put it where it is; `held_by` a robot; `source` its id in the map
    that it came from; `added` [s]: when it was first known; `holder`, `put_at` [m]: what a robot
    put it on or into last, and where; `looks`: the latest `MOST_LOOKS` that showed it.
    """

    since: float
    sightings: int = 1
    misses: float = 0.0
    missed_by: str = ""
    reach: float = 0.0
    moved: float = NEVER_S
    held_by: str = ""
    source: str = ""
    added: float = NEVER_S
    holder: str = ""
    put_at: Vec3 | None = None
    looks: list[Look] = field(default_factory=list)


def alike(a: str, b: str) -> bool:
    """Whether two labels mean the same kind of thing."""
    return kind_of(a) == kind_of(b)


class Store:
    """Things with beliefs, traces of what left its place, and the events that were heard.

    `sources` tells which thing here is which of the map; `views` are the robots' last looks: step,
    time [s], pose; `time` [s] is the newest of all that came in; `version` grows with every change
    that somebody who plans must know of.
    """

    def __init__(self, house: str = "", bounds: Bounds | None = None) -> None:
        self.house = house
        self.bounds = bounds or Bounds()
        self.graph = SceneGraph()
        self.beliefs: dict[str, Belief] = {}
        self.traces: list[Trace] = []
        self.events: dict[str, None] = {}
        self.time = 0.0
        self.version = 0
        self.made = 0
        self.views: dict[str, tuple[int, float, Pose]] = {}
        self.sources: dict[str, str] = {}

    def confidence(self, id_: str) -> float:
        """Return the probability (0..1) that a thing is where it is remembered to be."""
        belief = self.beliefs[id_]
        age = self.time - belief.since
        return confidence(self.graph.objects[id_], age, belief.sightings, belief.misses)

    def left_from(
        self, label: str, position: Vec3, seen: float, but: Collection[str] = ()
    ) -> Trace | None:
        """Return the trace of such a thing that left a spot [m] after it was seen there [s].

        Args:
            label: Its label.
            position: The spot.
            seen: Time at which it was seen there [s].
            but: Ids of things whose traces do not count.
        """
        near = [
            (distance(trace.position, position), -trace.left, k)
            for k, trace in enumerate(self.traces)
            if trace.left > seen and trace.object not in but and alike(trace.label, label)
        ]
        best = min(near, default=None)
        return self.traces[best[2]] if best and best[0] <= EVENT.distance_m else None

    def meant(self, event: ObjectEvent, anywhere: bool = False) -> SceneObject | None:
        """Return the thing that an event is about: by id and place, else by place."""
        near = [
            (distance(t.box.center, event.position), t.id)
            for t in self.graph.objects.values()
            if alike(t.label.top, event.label) and not self.beliefs[t.id].held_by
        ]
        by_id = next((pair for pair in near if pair[1] == event.object), None)
        if by_id is None:
            mapped = self.sources.get(event.object, "")
            by_id = next((pair for pair in near if pair[1] == mapped), None)
        if by_id is not None and (anywhere or by_id[0] <= 2 * EVENT.distance_m):
            return self.graph.objects[by_id[1]]
        best = min(near, default=None)
        return self.graph.objects[best[1]] if best and best[0] <= EVENT.distance_m else None

    def room_of(self, view: RoomView | None) -> str:
        """Return the id of a room that a robot tells of; one that is new is added."""
        if view is None or not view.id:
            return ""
        known = self.graph.rooms.get(view.id)
        if known is None or not (known.type or known.polygon):
            self.graph.add_room(Room(view.id, view.name, view.type))
        return view.id

    def room_with(self, id_: str) -> str:
        """Return the id of a room; where no map has told of it yet, its name is its id so far."""
        if id_ and id_ not in self.graph.rooms:
            self.graph.add_room(Room(id_, id_, ""))
        return id_

    def trace(
        self,
        thing: SceneObject,
        robot: str,
        time: float,
        *,
        room: str = "",
        gone: bool = False,
        task: str = "",
    ) -> None:
        """Take down that a thing has left the place where it was, and its room ("": as known)."""
        at, label = thing.box.center, thing.label.top
        self.traces.append(
            Trace(thing.id, label, robot, time, time, at, room or thing.room, gone=gone, task=task)
        )

    def rest(self, thing: SceneObject) -> None:
        """Find out what a thing stands on or in, by where it is."""
        rest(self.graph, thing)
        self.rest_where_put(thing)

    def rest_where_put(self, thing: SceneObject) -> None:
        """Have what is where a robot put it rest there, though its box lies in other ones too."""
        belief = self.beliefs.get(thing.id)
        if belief is not None and belief.put_at is not None:
            stays_where_put(self.graph, thing, belief.holder, belief.put_at)

    def free(self, wanted: str) -> str:
        """Return an id that no thing has."""
        return free_id(self.graph.objects, wanted)

    def drop(self, id_: str) -> None:
        """Forget a thing."""
        self.graph.remove_object(id_)
        del self.beliefs[id_]
        for source in [s for s, own in self.sources.items() if own == id_]:
            del self.sources[source]
        self.version += 1

    def restart(self, now: float) -> None:
        """The world's clock began anew: what was known so far counts as known just now."""
        self.shift(now - self.time)
        self.views.clear()

    def shift(self, by: float) -> None:
        """Move all times by so many seconds."""
        self.time += by
        seen = [thing.last_seen for thing in self.graph.objects.values()]
        seen += [agent.last_seen for agent in self.graph.agents.values()]
        for sighting in seen:
            if sighting is not None:  # what a map tells cannot be before the clock's 0
                sighting.time = max(sighting.time + by, 0.0)
        for belief in self.beliefs.values():
            belief.since, belief.moved = belief.since + by, belief.moved + by
            belief.added += by
            belief.looks = [one._replace(time=one.time + by) for one in belief.looks]
        self.traces = [
            replace(trace, left=trace.left + by, time=trace.time + by) for trace in self.traces
        ]

    def bound(self) -> None:
        """Forget what surely is no longer there, and what is too much."""
        for id_ in [i for i in self.graph.objects if self.beliefs[i].misses]:
            if self.confidence(id_) < MIN_CONFIDENCE:
                self.trace(
                    self.graph.objects[id_], self.beliefs[id_].missed_by, self.time, gone=True
                )
                self.drop(id_)
        surplus = len(self.graph.objects) - self.bounds.things
        if surplus > 0:
            things = self.graph.objects  # what things stand on goes last
            ranked = sorted(things, key=lambda i: (things[i].kind != "item", self.confidence(i), i))
            for id_ in ranked[:surplus]:
                self.drop(id_)
        del self.traces[: max(0, len(self.traces) - self.bounds.traces)]
        for id_ in list(self.events)[: max(0, len(self.events) - self.bounds.events)]:
            del self.events[id_]
