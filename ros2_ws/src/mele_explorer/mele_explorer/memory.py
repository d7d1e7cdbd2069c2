"""What one robot remembers: places and how well they were seen, rooms, objects, evidence."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field

from coterie_core.geometry import Box, Pose, Vec3, distance, wrap_angle
from coterie_core.observation import Detection, Observation, RoomView
from coterie_world.association import VIEW
from coterie_world.scene import (
    LabelBelief,
    Place,
    PlaceLink,
    Room,
    SceneGraph,
    SceneObject,
    Sighting,
)

WELL_SEEN = 0.6
"""From this share on a place counts as seen well (0..1)."""

_MAX_LABEL = 60
_LABELS_PER_OBJECT = 8
_NO_SIZE = (0.0, 0.0, 0.0)  # [m], says that the detector gave no geometry
_LEAST_SCORE = 0.05
_MOVED = 0.5  # [m]
_TURNED = math.radians(30)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One step of an exploration: number, simulated time [s], place id, labels seen there."""

    step: int
    time: float
    place: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """Upper bounds, so that a robot that runs for weeks does not fill its memory."""

    objects: int = 5000
    places: int = 20000
    log: int = 10000


@dataclass(slots=True)
class RoomKnowledge:
    """What a robot can say about one room and one label in it.

    `looks` views of the room, `visited_fraction` (0..1) of its known places seen well,
    `looks_per_place` views for each of these (at least 1); `found`: ids of matching objects with
    the share of their evidence that speaks for the labels; `sightings`: detections of the labels.
    """

    room: Room | None
    looks: int = 0
    visited_fraction: float = 0.0
    looks_per_place: float = 1.0
    found: list[tuple[str, float]] = field(default_factory=list)
    sightings: int = 0


class Memory:
    """A robot's memory, made from its observations; `graph` holds what it knows of the house.

    `visits` counts arrivals at a place, `seen` (0..1) how well each place was seen at best,
    `looks` views of each room, `sightings` the detections of each label in each room, and
    `room_votes` in which rooms each object was seen how often. A camera that runs while the robot
    stands still shows the same thing again and again: what was seen counts once per view, and a
    new view begins when the robot arrives at a place, moves 0.5 m or turns 30 degrees.
    """

    def __init__(self, robot: str, limits: MemoryLimits | None = None) -> None:
        self.robot = robot
        self.limits = limits or MemoryLimits()
        self.graph = SceneGraph()
        self.visits: dict[str, int] = {}
        self.seen: dict[str, float] = {}
        self.looks: dict[str, int] = {}
        self.sightings: dict[str, dict[str, int]] = {}
        self.room_votes: dict[str, dict[str, int]] = {}
        self.log: list[LogEntry] = []
        self.here = ""
        self.made = 0
        self.revision = 0  # grows with every update; not saved
        self._by_label: dict[str, set[str]] = {}
        self._labels: frozenset[str] | None = None
        self._view: Pose | None = None
        self._counted: set[str] = set()  # objects that count for this view already

    # -- learning ---------------------------------------------------------------------------

    def update(self, observation: Observation) -> None:
        """Take in one observation of this robot."""
        self.revision += 1
        self._labels = None
        new_view = self._is_new_view(observation)
        if new_view:
            self._view = observation.pose
            self._counted.clear()
        self._note_places(observation, new_view)
        for detection in observation.detections:
            self._note_detection(detection, observation)
        if new_view:
            labels = tuple(sorted({_clean(d.label) for d in observation.detections} - {""}))
            self.log.append(LogEntry(observation.step, observation.time, observation.place, labels))
        self._forget()

    def _is_new_view(self, observation: Observation) -> bool:
        if self._view is None or observation.place not in ("", self.here):
            return True
        turned = abs(wrap_angle(observation.pose.yaw - self._view.yaw))
        moved = distance(observation.pose.position, self._view.position)
        return moved >= _MOVED or turned >= _TURNED

    def _note_places(self, observation: Observation, new_view: bool) -> None:
        room = self._note_room(observation.room)
        if not observation.place:
            return  # no map has told the robot's driver of places yet
        arrived, self.here = observation.place != self.here, observation.place
        known = self.graph.places.get(observation.place)
        position = known.position if known is not None else observation.pose.position
        self._note_place(observation.place, position, room)
        self.visits[observation.place] = self.visits.get(observation.place, 0) + arrived
        for view in observation.neighbours:
            self._note_place(view.id, view.position, self._note_room(view.room))
            self.graph.add_link(PlaceLink(observation.place, view.id, view.distance))
        looked_into: set[str] = {room} if room else set()
        for place, share in {**observation.seen, observation.place: 1.0}.items():
            self.seen[place] = max(self.seen.get(place, 0.0), share)
            if share >= WELL_SEEN and place in self.graph.places:
                looked_into.add(self.graph.places[place].room)
        for name in (looked_into - {""}) if new_view else ():
            self.looks[name] = self.looks.get(name, 0) + 1

    def _note_room(self, view: RoomView | None) -> str:
        if view is None:
            return ""
        if view.id not in self.graph.rooms:
            self.graph.add_room(Room(view.id, _clean(view.name), _clean(view.type)))
        return view.id

    def _note_place(self, place: str, position: Vec3, room: str) -> None:
        known = self.graph.places.get(place)
        if known is None:
            self.graph.add_place(Place(place, position, room))
        elif room:
            known.room = room

    def _note_detection(self, detection: Detection, observation: Observation) -> None:
        label = _clean(detection.label)
        if not label:
            return
        room = self._note_room(detection.room)
        belief = _belief(detection, label)
        known = self._match(detection, label)
        if known is None:
            self.made += 1
            key = detection.instance or f"{self.robot}-{self.made}"
            box = detection.box or Box(observation.pose.position, _NO_SIZE)
            known = SceneObject(key, LabelBelief(), box, room)
            self.graph.add_object(known)
        elif detection.box is not None:
            blend = _blend(known.box, detection.box, known.observations)
            known.box = detection.box if detection.fused else blend
        known.last_seen = Sighting(observation.time, self.robot)
        if known.id in self._counted:
            return
        self._counted.add(known.id)
        if room:
            counts = self.sightings.setdefault(room, {})
            counts[label] = counts.get(label, 0) + 1
        known.label.add(belief)
        for name in list(known.label.distribution())[_LABELS_PER_OBJECT:]:
            del known.label.weights[name]
        known.observations += 1
        for name in known.label.weights:
            self._by_label.setdefault(name, set()).add(known.id)
        if room:
            votes = self.room_votes.setdefault(known.id, {})
            votes[room] = votes.get(room, 0) + 1
            known.room = min(votes, key=lambda key: (-votes[key], key))

    def _match(self, detection: Detection, label: str) -> SceneObject | None:
        """Return the remembered object that a detection shows, or None for a new one."""
        if detection.instance:
            return self.graph.objects.get(detection.instance)
        if detection.box is None:
            here = detection.room.id if detection.room is not None else ""
            same = [k for k in self._by_label.get(label, ()) if self.graph.objects[k].room == here]
            return self.graph.objects[min(same)] if same else None
        objects = [self.graph.objects[key] for key in sorted(self._by_label.get(label, ()))]
        scored = [(VIEW.score(one.box, detection.box), one) for one in objects]
        score, best = max(scored, key=lambda pair: pair[0], default=(0.0, None))
        return best if score > 0.0 else None

    def _forget(self) -> None:
        """Drop what was seen least and longest ago when a bound is exceeded."""
        objects = self.graph.objects
        if len(objects) > self.limits.objects:
            ranked = sorted(
                objects.values(),
                key=lambda o: (o.observations, o.last_seen.time if o.last_seen else 0.0, o.id),
            )
            for thing in ranked[: len(objects) - self.limits.objects]:
                del objects[thing.id]
                self.room_votes.pop(thing.id, None)
                for keys in self._by_label.values():
                    keys.discard(thing.id)
        surplus = len(self.graph.places) - self.limits.places
        if surplus > 0:
            spare = sorted(
                (p for p in self.graph.places if p != self.here),
                key=lambda p: (self.visits.get(p, 0), self.seen.get(p, 0.0), p),
            )
            for place in spare[:surplus]:
                for other in self.graph.links.pop(place, {}):
                    self.graph.links.get(other, {}).pop(place, None)
                del self.graph.places[place]
                self.visits.pop(place, None)
                self.seen.pop(place, None)
        del self.log[: max(0, len(self.log) - self.limits.log)]

    def remove(self, key: str) -> None:
        """Forget an object, and that its label was seen in the rooms it was seen in."""
        thing = self.graph.objects.pop(key)
        label = thing.label.top
        for room, count in self.room_votes.pop(key, {}).items():
            seen = self.sightings.get(room, {})
            left = seen.get(label, 0) - count
            if left > 0:
                seen[label] = left
            else:
                seen.pop(label, None)
        for keys in self._by_label.values():
            keys.discard(key)
        self.revision, self._labels = self.revision + 1, None

    def insert(self, thing: SceneObject) -> None:
        """Remember an object that another robot put into a room, as if seen there once."""
        label = _clean(thing.label.top)
        thing.label = LabelBelief.of(label)
        self.graph.add_object(thing)
        self.room_votes[thing.id] = {thing.room: 1}
        counts = self.sightings.setdefault(thing.room, {})
        counts[label] = counts.get(label, 0) + 1
        self._by_label.setdefault(label, set()).add(thing.id)
        self.revision, self._labels = self.revision + 1, None
        self._forget()

    def restore_index(self) -> None:
        """Rebuild the index label -> objects after the graph was read from a file."""
        self._by_label, self._labels = {}, None
        for thing in self.graph.objects.values():
            for name in thing.label.weights:
                self._by_label.setdefault(name, set()).add(thing.id)

    # -- asking -----------------------------------------------------------------------------

    @property
    def coverage(self) -> float:
        """Share of the known places that were seen well (0..1)."""
        known = self.graph.places
        done = sum(self.seen.get(place, 0.0) >= WELL_SEEN for place in known)
        return done / len(known) if known else 0.0

    @property
    def labels(self) -> frozenset[str]:
        """All labels that some object may have."""
        if self._labels is None:
            self._labels = frozenset(label for label, keys in self._by_label.items() if keys)
        return self._labels

    def dictionary(self) -> dict[str, list[str]]:
        """Return room name -> labels seen in it, sorted: the memory of MELE, section 3.3.

        Rooms that were looked into without seeing anything are listed with an empty list.
        """
        view: dict[str, list[str]] = {}
        for room in self.graph.rooms.values():
            if self.looks.get(room.id) or self.sightings.get(room.id):
                view[room.name] = sorted(self.sightings.get(room.id, {}))
        return dict(sorted(view.items()))

    def knowledge(self, labels: Collection[str], room: Room | None) -> RoomKnowledge:
        """Return what is known about things of these labels in a room (None: never heard of)."""
        if room is None:
            return RoomKnowledge(None)
        known, done = self._places_of(room.id)
        looks = self.looks.get(room.id, 0)
        shares: dict[str, float] = {}
        for label in labels:
            for key in self._by_label.get(label, ()):
                if self.room_votes.get(key, {}).get(room.id):
                    share = self.graph.objects[key].label.probability(label)
                    shares[key] = min(1.0, shares.get(key, 0.0) + share)
        counts = self.sightings.get(room.id, {})
        return RoomKnowledge(
            room,
            looks,
            done / known if known else 0.0,
            max(1.0, looks / max(done, 1)),
            sorted(shares.items()),
            sum(counts.get(label, 0) for label in labels),
        )

    def visited_fraction(self, room: str) -> float:
        """Share of a room's known places that were seen well (0..1)."""
        known, done = self._places_of(room)
        return done / known if known else 0.0

    def _places_of(self, room: str) -> tuple[int, int]:
        """Return how many places of a room are known, and how many of them were seen well."""
        places = [place.id for place in self.graph.places.values() if place.room == room]
        return len(places), sum(self.seen.get(place, 0.0) >= WELL_SEEN for place in places)

    def rooms_with(self, labels: Collection[str]) -> list[str]:
        """Return the ids of the rooms in which one of the labels was seen, sorted."""
        return sorted(
            room
            for room, counts in self.sightings.items()
            if any(counts.get(label) for label in labels)
        )


def _clean(text: str) -> str:
    plain = "".join(c if c.isprintable() else " " for c in text[: 4 * _MAX_LABEL])
    return " ".join(plain.split())[:_MAX_LABEL].strip().lower()


def _belief(detection: Detection, label: str) -> LabelBelief:
    """Return the evidence of one detection: its scores, the reported label among them."""
    belief = LabelBelief()
    for raw, score in {detection.label: detection.score, **detection.scores}.items():
        name = _clean(raw)
        if name and score > 0.0:  # false for NaN, too
            belief.add(LabelBelief.of(name, min(score, 1.0)))
    if label not in belief.weights:
        belief.add(LabelBelief.of(label, _LEAST_SCORE))
    return belief


def _blend(old: Box, new: Box, weight: int) -> Box:
    """Return the mean of a box seen `weight` times and a new one; the yaw stays."""
    if old.volume <= 0.0:
        return new
    share = 1.0 / (min(weight, 20) + 1)

    def mean(a: Vec3, b: Vec3) -> Vec3:
        x, y, z = (p + share * (q - p) for p, q in zip(a, b, strict=True))
        return (x, y, z)

    return Box(mean(old.center, new.center), mean(old.size, new.size), old.yaw)
