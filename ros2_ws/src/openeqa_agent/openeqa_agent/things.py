"""Which objects of a map a question speaks of: labels, colors, rooms, relations, duplicates."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from coterie_core.geometry import Box, Vec2, distance, iou
from coterie_core.household import load_household, normalized
from coterie_core.relations import NEAR_GAP_M, PAIRS, RelationKind, between, gap
from coterie_requests.detector_vocabulary import STRUCTURE
from coterie_requests.understanding.descriptions import Thing
from coterie_world.coverage import Coverage, PlacesSeen
from coterie_world.scene import Room, SceneGraph, SceneObject
from coterie_world.scene.lookups import Nearby
from coterie_world.sizes import SIZE_ORDERS, SizeOrder
from openeqa_agent.answers import OpenReply
from openeqa_agent.labels import (
    belief,
    can_contain,
    canonical,
    color_fit,
    likeness,
    members_of,
    plain,
)
from openeqa_agent.narrower import called_share, narrower, phrase_share, place_of

FLAT = 0.15
"""What is no higher than this, as rugs, bears furniture [m]."""
LIKELY = 0.3
"""Least probability for an object to be taken for what a question speaks of."""
HOLDS = 0.25
"""Least strength of a relation that counts as held."""
_SAME_SPOT = 0.25


@dataclass(slots=True)
class Found:
    """An object a question may speak of; `ids` holds its duplicates too, itself first.

    `p` (0..1) is how likely it is the kind of thing, `fit` how well the rest of the description
    (color, size, room, relation) fits.
    """

    thing: SceneObject
    ids: tuple[str, ...]
    p: float
    fit: float = 1.0
    other: SceneObject | None = None

    @property
    def score(self) -> float:
        """Both in one."""
        return self.p * self.fit


def reply_on(text: str, confidence: float, found: Sequence[Found], why: str) -> OpenReply:
    """Return an answer that rests on what was found in the map; `why` is its explanation."""
    ids = tuple(id_ for one in found for id_ in one.ids)
    return OpenReply(text, confidence, objects=ids, explanation=why)


class MapIndex:
    """One map, made ready for questions.

    Args:
        scene: The map; it is not changed and must not change meanwhile.
        seen: What robots saw of its places; None: nothing is known of that.
    """

    def __init__(self, scene: SceneGraph, seen: PlacesSeen | None = None) -> None:
        self.scene = scene
        self.coverage = Coverage(scene, seen)
        self._beliefs = {id_: belief(thing) for id_, thing in scene.objects.items()}
        self.labels = frozenset(
            normalized(label) for own in self._beliefs.values() for label in own
        )
        self.names = self.labels.union(
            (room.name.lower() for room in scene.rooms.values()), scene.rooms, scene.objects
        )
        """Labels, rooms and ids: what counts as a word in a question about this map."""
        self._nearby: Nearby | None = None
        self._held: dict[str, list[SceneObject]] = {}
        for thing in scene.objects.values():
            for holder in {thing.support, thing.container} - {""}:
                self._held.setdefault(holder, []).append(thing)

    # -- what a thing is -------------------------------------------------------------------------

    def probability(self, thing: SceneObject, name: str) -> float:
        """How likely an object is a thing of this name: label, class, or any noun (0..1)."""
        shares = likeness(name)
        own = self._beliefs[thing.id]
        p = sum(share * shares.get(canonical(label), 0.0) for label, share in own.items())
        if p >= LIKELY:
            return min(p, 1.0)
        wanted = normalized(name).split()
        for label, share in own.items():
            words = normalized(label).split()
            if wanted and words and set(wanted) <= set(words):
                p = max(p, share * (0.95 if words[-1] == wanted[-1] else 0.4))
            elif wanted and len(wanted) > 1 and words == wanted[-len(words) :]:
                # "floor lamp" is asked for, "lamp" is known: unless others are told apart here.
                p = max(p, share * (0.1 if " ".join(wanted) in self.labels else 0.5))
        return min(p, 1.0)

    def _likely(self, wanted: Thing) -> dict[str, float]:
        """Return how likely each object is what a description names, unlikely ones left out.

        Where some have the very name of several words that was said ("dining table"), no other
        thing is meant.
        """
        if wanted.generic:
            return dict.fromkeys(self.scene.objects, 1.0)
        phrase = narrower(wanted.words)
        rooms = self.rooms_named(place) if (place := place_of(phrase)) else []
        likely = {}
        for id_, thing in self.scene.objects.items():
            if phrase:
                there = bool(rooms) and self.room(thing) in rooms
                p = min(phrase_share(self._beliefs[id_], phrase, there), 1.0)
            else:
                p = self.probability(thing, wanted.name)
            if p >= LIKELY:
                likely[id_] = p
        called = phrase or wanted.name
        if " " not in called:
            return likely
        own = {i: p for i, p in likely.items() if called_share(self._beliefs[i], called) >= LIKELY}
        return own or likely

    def reports(self, name: str) -> bool:
        """Whether some object of the map may be such a thing."""
        return not self.labels.isdisjoint(members_of(name) | {name})

    def belief(self, thing: SceneObject) -> dict[str, float]:
        """What an object may be: label -> probability, likeliest first."""
        return self._beliefs[thing.id]

    def label(self, thing: SceneObject) -> str:
        """Name of an object for an answer: its likeliest label, plain."""
        best = self._beliefs[thing.id]
        return plain(next(iter(best), "") or thing.label.top)

    def certainty(self, thing: SceneObject) -> float:
        """How likely the likeliest label is (0..1)."""
        return next(iter(self._beliefs[thing.id].values()), 0.0)

    # -- where it is -----------------------------------------------------------------------------

    def room(self, thing: SceneObject) -> Room | None:
        """The room of an object, or of what it stands on."""
        seen: set[str] = set()
        at: SceneObject | None = thing
        while at is not None and at.id not in seen:
            seen.add(at.id)
            if at.room in self.scene.rooms:
                return self.scene.rooms[at.room]
            at = self.scene.objects.get(at.support or at.container)
        return None

    @property
    def room_types(self) -> tuple[str, ...]:
        """Types of the rooms of the map, each once."""
        types = (room.type or _room_type(room.name) for room in self.scene.rooms.values())
        return tuple(dict.fromkeys(filter(None, types)))

    def rooms_named(self, said: str) -> list[Room]:
        """Rooms that a room's name or type means; none where the map has no such room."""
        exact = [r for r in self.scene.rooms.values() if r.name.lower() == said.lower()]
        if exact:
            return exact
        kind = load_household().room_type(said)
        numbered = re.search(r"\d+$", said)
        found = [
            room
            for room in self.scene.rooms.values()
            if kind and kind in (room.type, _room_type(room.type), _room_type(room.name))
        ]
        if numbered and found:
            end = numbered.group()
            return [r for r in found if r.name.endswith(end)] or found
        return found

    def holder(self, thing: SceneObject) -> tuple[str, SceneObject] | None:
        """What an object stands on ("on") or is inside of ("in"), said by the map or its boxes."""
        for word, id_ in (("in", thing.container), ("on", thing.support)):
            if id_ in self.scene.objects and id_ != thing.id:
                return word, self.scene.objects[id_]
        if thing.box.volume <= 0.0 or thing.kind == "furniture":
            return None
        best: tuple[float, str, SceneObject] | None = None
        for other in self._around(thing, 0.5):
            for word, kind in (("in", "in"), ("on", "on")):
                if word == "in" and not can_contain(self.label(other)):
                    continue
                strength = PAIRS[kind](thing.box, other.box)  # type: ignore[index]
                if strength > HOLDS and (best is None or strength > best[0]):
                    best = (strength, word, other)
        return (best[1], best[2]) if best else None

    def held_by(self, thing: SceneObject) -> list[tuple[str, SceneObject]]:
        """Objects on or in an object, as ("on" | "in", object)."""
        found = {
            other.id: ("in" if other.container == thing.id else "on", other)
            for other in self._held.get(thing.id, [])
        }
        if thing.box.volume > 0.0:
            for other in self._around(thing, 0.5):
                if other.id not in found and not (other.support or other.container):
                    held = self.holder(other)
                    if held is not None and held[1].id == thing.id:
                        found[other.id] = (held[0], other)
        return list(found.values())

    def neighbours(self, thing: SceneObject, limit: int = 3) -> list[SceneObject]:
        """Nearest other things in the same room, structure and what it holds left out."""
        if thing.box.volume <= 0.0:
            return []
        held = {other.id for _, other in self.held_by(thing)} | {thing.support, thing.container}
        ranked = sorted(
            (gap(thing.box, other.box), distance(thing.box.center, other.box.center), other.id)
            for other in self._around(thing, NEAR_GAP_M)
            if other.id not in held and self.label(other) not in STRUCTURE
        )
        return [self.scene.objects[id_] for _, _, id_ in ranked[:limit]]

    def viewpoint(self, thing: SceneObject) -> Vec2 | None:
        """Where one stands who looks at a thing: the middle of its room [m]; None if unknown."""
        room = self.room(thing)
        if room is not None and room.polygon:
            xs, ys = zip(*room.polygon, strict=True)
            return (min(xs) + max(xs)) / 2.0, (min(ys) + max(ys)) / 2.0
        mates = [
            o.box.center
            for o in self.scene.objects.values()
            if o.room == thing.room and o.box.volume > 0.0
        ]
        if len(mates) < 3:
            return None
        return sum(c[0] for c in mates) / len(mates), sum(c[1] for c in mates) / len(mates)

    def _around(self, thing: SceneObject, reach: float) -> Iterator[SceneObject]:
        """Objects with a box whose boxes come within `reach` [m] of an object's."""
        if self._nearby is None:
            self._nearby = Nearby([o for o in self.scene.objects.values() if o.box.volume > 0.0])
        for id_ in self._nearby.within(thing.box, thing.id, reach):
            yield self.scene.objects[id_]

    # -- relations -------------------------------------------------------------------------------

    def relates(self, a: SceneObject, kind: RelationKind, b: SceneObject) -> float:
        """How surely `a` stands to `b` like this (0..1)."""
        if a.id == b.id:
            return 0.0
        if kind in ("on", "in") and b.id in (a.support, a.container):
            said = "in" if a.container == b.id else "on"
            return 1.0 if said == kind else 0.7
        if kind == "under" and a.id in (b.support, b.container):
            return 0.8
        if kind == "above" and b.id in (a.support, a.container):
            return 0.3  # it is on it: "above" means something higher up
        if a.box.volume <= 0.0 or b.box.volume <= 0.0:
            return 0.3 if kind == "near" and a.room and a.room == b.room else 0.0
        if kind in ("left of", "right of"):
            return self._beside(a, kind, b)
        if kind == "near" and a.room and b.room and a.room != b.room:
            return 0.0
        if kind == "between":
            return 0.0
        strength = PAIRS[kind](a.box, b.box)
        if kind == "above" and a.box.bottom < b.box.top - 0.1:
            strength *= 0.4
        elif kind == "above" and strength and self.holder(a) is not None:
            strength *= 0.5
        if kind in ("on", "in") and (a.support or a.container):
            return 0.5 * strength  # the map says it is elsewhere
        return strength

    def between(self, thing: SceneObject, a: SceneObject, b: SceneObject) -> float:
        """How surely an object lies between two others (0..1)."""
        boxes = (thing.box, a.box, b.box)
        if thing.id in (a.id, b.id) or any(box.volume <= 0.0 for box in boxes):
            return 0.0
        return between(thing.box, (a.box, b.box))

    def _beside(self, a: SceneObject, kind: RelationKind, b: SceneObject) -> float:
        """Left and right as seen from the middle of the room, looking at `b`."""
        near = PAIRS[kind](a.box, b.box)
        eye = self.viewpoint(b)
        if near <= 0.0 or eye is None:
            return 0.5 * near
        ahead = (b.box.center[0] - eye[0], b.box.center[1] - eye[1])
        length = math.hypot(*ahead)
        if length < 0.3:
            return 0.5 * near
        dx, dy = a.box.center[0] - b.box.center[0], a.box.center[1] - b.box.center[1]
        left = (ahead[0] * dy - ahead[1] * dx) / length
        side = left if kind == "left of" else -left
        along = abs(ahead[0] * dx + ahead[1] * dy) / length
        return near if side > 0.1 and side > 0.5 * along else 0.0

    # -- what a question speaks of ---------------------------------------------------------------

    def find(self, wanted: Thing, limit: int = 400) -> list[Found]:
        """Objects that fit a description, best first, duplicates merged.

        A room that the map does not have is not required; a color that the map does not know of an
        object lowers its fit.
        """
        rooms = self.rooms_named(wanted.room) if wanted.room else []
        allowed = {room.id for room in rooms}
        found = []
        for id_, p in self._likely(wanted).items():
            thing = self.scene.objects[id_]
            if allowed:
                room = self.room(thing)
                if room is None or room.id not in allowed:
                    continue
            if wanted.generic and self.label(thing) in STRUCTURE:
                continue
            if any(self.probability(thing, name) >= 0.5 for name in wanted.without):
                continue
            fit = color_fit(thing, wanted.color) * (0.6 if wanted.room and not allowed else 1.0)
            found.append(Found(thing, (thing.id,), p, fit))
        found.sort(key=lambda f: (-f.score, -f.thing.observations, f.thing.id))
        found = self._related(found[: 10 * limit], wanted)
        found = self._sized(found, wanted)
        # Things of any kind in one place are no duplicates of one another.
        return (found if wanted.generic else self.merged(found))[:limit]

    def _related(self, found: list[Found], wanted: Thing) -> list[Found]:
        """Keep what stands to the anchors as described; the strength goes into the fit."""
        if wanted.relation is None or not wanted.anchors or not found:
            return found
        special = _structural(wanted.anchors[0].name)
        if special and wanted.relation in ("on", "near", "in"):
            inner = replace(wanted, relation=wanted.anchors[0].relation,
                            anchors=wanted.anchors[0].anchors)  # fmt: skip
            if special != "floor" and inner.relation in ("above", "near", "behind"):
                hung = [f for f in found if self.attached(f.thing, special)]
                return self._related(hung, inner) or self._related(found, inner)
            return self._related([f for f in found if self.attached(f.thing, special)], inner)
        if any(a.generic and not (a.color or a.relation) for a in wanted.anchors):
            return []  # "in the corner", "on it": the map does not know where that is
        anchors = [self.find(anchor, limit=8) for anchor in wanted.anchors]
        if wanted.relation == "between":
            ends = anchors if len(anchors) > 1 else [anchors[0], anchors[0]]
            pairs = [(a, b) for a in ends[0][:6] for b in ends[1][:6] if a.thing.id != b.thing.id]
        kept = []
        for one in found:
            best, other = 0.0, None
            if wanted.relation == "between":
                for a, b in pairs:
                    strength = self.between(one.thing, a.thing, b.thing)
                    if strength > best:
                        best, other = strength, a.thing
            else:
                # A chair's back over a table is not on it; a coffee table on a rug is.
                stands = (
                    wanted.generic
                    and wanted.relation in ("on", "in")
                    and (load_household().kind(self.label(one.thing)) == "furniture")
                )
                for anchor in anchors[0]:
                    if stands and anchor.thing.box.size[2] > FLAT:
                        continue
                    strength = self.relates(one.thing, wanted.relation, anchor.thing)
                    strength *= anchor.score
                    if strength > best:
                        best, other = strength, anchor.thing
            if best >= HOLDS * 0.6:
                kept.append(Found(one.thing, one.ids, one.p, one.fit * best, other))
        kept.sort(key=lambda f: (-f.score, f.thing.id))
        return kept

    def _sized(self, found: list[Found], wanted: Thing) -> list[Found]:
        """Put the large, small or tall ones first where that is asked for."""
        orders: tuple[tuple[str, SizeOrder], ...] = (
            ("large", "largest"), ("small", "smallest"), ("tall", "tallest"),
        )  # fmt: skip
        order = next((order for trait, order in orders if trait in wanted.traits), None)
        if order is None:
            return found
        extent = SIZE_ORDERS[order]
        return sorted(found, key=lambda f: (extent(f.thing.box), f.thing.id))

    def attached(self, thing: SceneObject, structure: str) -> bool:
        """Whether an object is on the floor, on a wall or at the ceiling, as far as boxes tell."""
        if thing.box.volume <= 0.0 or thing.support or thing.container:
            return False
        ground = self.ground(thing)
        if structure == "floor":
            return thing.box.bottom < ground + 0.25
        if structure == "ceiling":
            return thing.box.top > ground + 2.1
        thin = min(thing.box.size[:2]) <= 0.25
        return thing.box.bottom > ground + 0.45 and thin and self.holder(thing) is None

    def ground(self, thing: SceneObject) -> float:
        """Height of the walking surface below an object [m]."""
        room = self.room(thing)
        floor = self.scene.floors.get(room.floor) if room else None
        if floor is not None:
            return floor.elevation
        levels = [f.elevation for f in self.scene.floors.values()]
        below = [z for z in levels if z <= thing.box.bottom + 0.3]
        return max(below) if below else 0.0

    def merged(self, found: list[Found]) -> list[Found]:
        """Merge obvious duplicates: things in one spot that are taken for the same kind."""
        kept: list[Found] = []
        cells: dict[tuple[int, int], list[Found]] = {}
        for one in found:
            box = one.thing.box
            twin = None
            if box.volume > 0.0:
                x, y = math.floor(box.center[0]), math.floor(box.center[1])
                nearby = (f for i in (-1, 0, 1) for j in (-1, 0, 1)
                          for f in cells.get((x + i, y + j), ()))  # fmt: skip
                twin = next((f for f in nearby if same_spot(f.thing.box, box)), None)
            if twin is not None:
                twin.ids = (*twin.ids, *one.ids)
                twin.p = max(twin.p, one.p)
                continue
            kept.append(one)
            if box.volume > 0.0:
                cells.setdefault((x, y), []).append(one)
        return kept


def same_spot(a: Box, b: Box) -> bool:
    """Whether two boxes of the same kind of thing are so much in one place that they are one."""
    apart = distance(a.center, b.center)
    if apart > (math.hypot(*a.size) + math.hypot(*b.size)) / 2.0:
        return False
    if iou(a, b) >= _SAME_SPOT:
        return True
    smaller = min(max(a.size), max(b.size))
    inner = a.contains(b.center) or b.contains(a.center)
    return inner and apart < 0.5 * max(smaller, 0.1)


@lru_cache(maxsize=512)
def _room_type(name: str) -> str:
    return load_household().room_type(name)


@lru_cache(maxsize=512)
def _structural(name: str) -> str:
    """Return what a name of the floor, a wall or the ceiling is, else ""."""
    return name if name in ("floor", "wall", "ceiling") else ""
