"""Which objects of a map a question speaks of: labels, colors, rooms, relations, duplicates."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast

from coterie_core.colors import basic_color
from coterie_core.geometry import Box, Vec2, distance, iou
from coterie_core.household import load_household, normalized
from coterie_core.relations import NEAR_GAP_M, PAIRS, RelationKind, between, gap
from coterie_requests.detector_vocabulary import STRUCTURE
from coterie_requests.request import Place, Relation, Thing
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.grounding import Resolver
from coterie_requests.understanding.phrases import Phrase
from coterie_requests.understanding.vocabulary import Vocabulary, plain_name
from coterie_world.coverage import Coverage, PlacesSeen
from coterie_world.scene import Room, SceneGraph, SceneObject
from coterie_world.scene.lookups import Nearby
from coterie_world.sizes import SIZE_ORDERS, SizeOrder
from openeqa_agent.labels import (
    belief,
    can_contain,
    canonical,
    color_fit,
    is_room_name,
    likeness,
    meant,
    members_of,
    plain,
)
from openeqa_agent.narrower import called_share, narrower, phrase_share, place_of
from openeqa_agent.reply import OpenReply
from openeqa_agent.understood import STATES
from openeqa_agent.uses import grades_for

FLAT = 0.15
"""What is no higher than this, as rugs, bears furniture [m]."""
LIKELY = 0.3
"""Least probability for an object to be taken for what a question speaks of."""
HOLDS = 0.25
"""Least strength of a relation that counts as held."""
_SAME_SPOT = 0.25
STATED = 0.85
"""How sure it is of what the map itself says of a thing."""
_DENIED = 0.12
"""How well a thing fits of which the map says the opposite of an attribute."""
_HOUSE = frozenset({"house", "home", "apartment", "flat", "building", "place"})
_SURFACES = frozenset({"floor", "wall", "ceiling"})
SIZED: dict[str, SizeOrder] = {
    **dict.fromkeys(("large", "big", "huge"), "largest"),
    **dict.fromkeys(("small", "little", "tiny"), "smallest"),
    "tall": "tallest",
}
"""Adjectives by which things are put in order; whether one is so, no map tells."""
_OPPOSITE = {"open": "closed", "closed": "open", "on": "off", "off": "on", "empty": "full",
             "full": "empty", "clean": "messy", "messy": "clean", "made": "unmade"}  # fmt: skip


def generic(thing: Thing) -> bool:
    """Whether any thing will do, as far as its name goes."""
    return not (thing.name or thing.use)


def alternatives(wanted: Thing) -> tuple[Thing, ...]:
    """Return what is meant and what will do as well, each by itself, in the places of the first."""
    same = {"either": (), "without": wanted.without}
    return tuple(
        one.model_copy(update={"places": one.places or wanted.places, **same})
        for one in (wanted, *wanted.either)
    )


def ordering(thing: Thing) -> str:
    """Return the order in which things are meant: what was chosen by, or how large; "" if none."""
    sized = (SIZED[one] for one in thing.attributes if one in SIZED)
    return thing.choice or next(sized, "nearest" if thing.by else "")


def states_of(thing: Thing) -> tuple[str, ...]:
    """Return the adjectives that a map may tell of a thing: its state, its material."""
    return tuple(STATES.get(one, one) for one in thing.attributes if one not in SIZED)


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
        self.vocabulary = Vocabulary.of(scene)
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
        if generic(wanted):
            return dict.fromkeys(self.scene.objects, 1.0)
        if not wanted.name:
            grades = grades_for(wanted.use)
            every = {id_: self.grade(t, grades) for id_, t in self.scene.objects.items()}
            return {id_: grade for id_, grade in every.items() if grade >= 0.5}
        own = self.vocabulary.names.get(plain_name(wanted.name))
        if own is not None and own.label in self.scene.objects and re.search(r"\d", own.label):
            return {own.label: 1.0}
        phrase, name = narrower(wanted.name), meant(wanted.name)
        rooms = self.rooms_named(place) if (place := place_of(phrase)) else []
        likely = {}
        for id_, thing in self.scene.objects.items():
            if phrase:
                there = bool(rooms) and self.room(thing) in rooms
                p = min(phrase_share(self._beliefs[id_], phrase, there), 1.0)
            else:
                p = self.probability(thing, name)
            if p >= LIKELY:
                likely[id_] = p
        called = phrase or name
        if " " not in called:
            return likely
        named = {
            i: p for i, p in likely.items() if called_share(self._beliefs[i], called) >= LIKELY
        }
        return named or likely

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

    def grade(self, thing: SceneObject, grades: Mapping[str, float]) -> float:
        """How well an object serves by the grades of labels, all its labels considered (0..1)."""
        beliefs = self.belief(thing).items()
        return sum(share * grades.get(canonical(label), 0.0) for label, share in beliefs)

    def told(self, thing: SceneObject, state: str) -> tuple[bool, float, str] | None:
        """Whether a thing is so, how surely, and why; None where the map does not tell."""
        label = self.label(thing)
        if state in ("open", "closed"):
            opening = thing.is_open
            if opening is None:
                said = str(thing.properties.get("opening", "")).lower()
                opening = True if said == "open" else False if said == "closed" else None
            if opening is None:
                return None
            word = "open" if opening else "closed"
            return opening == (state == "open"), STATED, f"the {label} is {word}"
        values = {str(value).lower() for value in thing.properties.values()}
        named = {STATES.get(word, word) for word in values}
        if state and state in named:
            return True, STATED, f"the map says so of the {label}"
        if _OPPOSITE.get(state, "-") in named:
            return False, STATED, f"the map says {_OPPOSITE[state]} of the {label}"
        if state in ("empty", "full", "clean", "messy") and thing.box.volume > 0.0:
            things = len(self.held_by(thing))
            if state in ("empty", "full"):
                if thing.is_open is False and not things:
                    return None
                return (things == 0) == (state == "empty"), 0.6, f"{things} things on or in it"
            return (things >= 4) == (state == "messy"), 0.55, f"{things} things on it"
        return None

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
        if said in _HOUSE:
            return list(self.scene.rooms.values())
        name = self.vocabulary.lookup(plain_name(said))
        if name is not None and name.floor:
            try:
                return Resolver(self.scene).rooms(Phrase(said, noun=said, floor=name.floor))
            except NotUnderstood:
                return []
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

    def is_room(self, thing: Thing) -> bool:
        """Whether a thing is a room, a floor, the house; a closet is one where the map has one."""
        if thing.name in _HOUSE:
            return True
        has = self.rooms_named
        return is_room_name(thing.name, self.vocabulary, lambda name: bool(has(name)))

    def rooms_of(self, place: Place) -> list[Room] | None:
        """Return the rooms that a place means, none where the map has no such; None: no room."""
        if place.relation not in ("in", "from", "on") or not all(map(self.is_room, place.things)):
            return None
        found: dict[str, Room] = {}
        for thing in place.things:
            inside = [rooms for inner in thing.places if (rooms := self.rooms_of(inner))]
            for room in self.rooms_named(thing.name):
                if all(room in rooms for rooms in inside):
                    found[room.id] = room
        return list(found.values())

    def rooms_said(self, wanted: Thing) -> list[Room] | None:
        """Return the rooms in which a thing is said to be, itself or what it stands to."""
        for place in wanted.places:
            rooms = self.rooms_of(place)
            if rooms is not None:
                return None if place.negated or place.thing.name in _HOUSE else rooms
        around = (self.rooms_said(anchor) for anchor in self.anchors(wanted))
        return next((rooms for rooms in around if rooms is not None), None)

    def anchors(self, wanted: Thing) -> tuple[Thing, ...]:
        """Return the things that a thing is said to stand to; no rooms."""
        places = (place for place in wanted.places if self.rooms_of(place) is None)
        return tuple(thing for place in places for thing in place.things)

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
        """Objects that fit a description or one of its alternatives, best first, duplicates merged.

        A room that the map does not have is not required; a color or an attribute that the map does
        not know of an object lowers its fit.
        """
        found = self._fitting(wanted, limit)
        for other in alternatives(wanted)[1:]:
            known = {one.thing.id for one in found}
            found += [one for one in self._fitting(other, limit) if one.thing.id not in known]
        left_out = {id_ for thing in wanted.without for one in self.find(thing) for id_ in one.ids}
        found = [one for one in found if one.thing.id not in left_out]
        if wanted.either:
            found.sort(key=_by_score)
        return self._chosen(found, wanted)[:limit]

    def _fitting(self, wanted: Thing, limit: int) -> list[Found]:
        color, attributes = basic_color(wanted.color), states_of(wanted)
        found = []
        for id_, p in self._likely(wanted).items():
            thing = self.scene.objects[id_]
            if not wanted.name and self.label(thing) in STRUCTURE:
                continue
            fit = color_fit(thing, color or wanted.color)
            for attribute in attributes:
                told = self.told(thing, attribute)
                fit *= 1.0 if told is None or told[0] or told[1] < STATED else _DENIED
            found.append(Found(thing, (thing.id,), p, fit))
        for place in wanted.places:
            found = self._placed(found, place)
        found = sorted(found, key=_by_score)[: 10 * limit]
        # Things of any kind in one place are no duplicates of one another.
        return found if generic(wanted) else self.merged(found)

    def _placed(self, found: list[Found], place: Place) -> list[Found]:
        """Keep what is in a room, or stands to other things, as described."""
        rooms = self.rooms_of(place)
        if rooms is None:
            kept = self._related(found, place)
        elif not rooms:
            kept = [replace(one, fit=0.6 * one.fit) for one in found]
        elif place.thing.name in _HOUSE:
            kept = found
        else:
            ids = {room.id for room in rooms}
            kept = [f for f in found if (own := self.room(f.thing)) is not None and own.id in ids]
        if not place.negated:
            return kept
        left_out = {one.thing.id for one in kept} if rooms != [] else set()
        return [one for one in found if one.thing.id not in left_out]

    def _related(self, found: list[Found], place: Place) -> list[Found]:
        """Keep what stands to other things as described; the strength goes into the fit."""
        if not found:
            return found
        special = place.thing.name if place.thing.name in _SURFACES else ""
        if special and place.relation in ("on", "near", "in"):
            hung = [f for f in found if self.attached(f.thing, special)]
            inner = place.thing.places
            if special != "floor" and any(p.relation in ("above", "near", "behind") for p in inner):
                hung = hung or found  # "the picture on the wall above the sofa"
            for beside in inner:
                hung = self._placed(hung, beside)
            return hung
        if any(generic(a) and not (a.color or a.places) for a in place.things):
            return []  # "in the corner", "on it": the map does not know where that is
        anchors = [self.find(anchor, limit=8) for anchor in place.things]
        ends = anchors if len(anchors) > 1 else [anchors[0], anchors[0]]
        pairs = [(a, b) for a in ends[0][:6] for b in ends[1][:6] if a.thing.id != b.thing.id]
        kept = []
        for one in found:
            best, other = 0.0, None
            if place.relation == "between":
                for a, b in pairs:
                    strength = self.between(one.thing, a.thing, b.thing)
                    if strength > best:
                        best, other = strength, a.thing
            else:
                for anchor in (one for each in anchors for one in each):
                    strength = self._stands(one, place.relation, anchor.thing) * anchor.score
                    if strength > best:
                        best, other = strength, anchor.thing
            if best >= HOLDS * 0.6:
                kept.append(Found(one.thing, one.ids, one.p, one.fit * best, other))
        return kept

    def _stands(self, one: Found, relation: Relation, anchor: SceneObject) -> float:
        """How surely an object stands to another one like this (0..1), "from" and "with" too."""
        if relation == "with":
            return max(self.relates(anchor, "on", one.thing), self.relates(anchor, "in", one.thing))
        kind = cast(RelationKind, {"from": "on", "to": "on"}.get(relation, relation))
        # A chair's back over a table is not on it; a coffee table on a rug is.
        if (
            kind in ("on", "in")
            and anchor.box.size[2] > FLAT
            and not (one.thing.support or one.thing.container)
            and load_household().kind(self.label(one.thing)) == "furniture"
        ):
            return 0.0
        return self.relates(one.thing, kind, anchor)

    def _chosen(self, found: list[Found], wanted: Thing) -> list[Found]:
        """Put the largest, the nearest, ... first and keep as many as are meant of a choice."""
        order = ordering(wanted)
        if order in SIZE_ORDERS:
            extent = SIZE_ORDERS[order]  # type: ignore[index]
            found = sorted(found, key=lambda f: (extent(f.thing.box), f.thing.id))
        elif order in ("nearest", "farthest"):
            anchor = next((f for t in wanted.by for f in self.find(t, limit=1)), None)
            if anchor is None:
                return []
            at = anchor.thing
            held = {at.id, *(other.id for _, other in self.held_by(at))}
            sign = 1.0 if order == "nearest" else -1.0
            boxed = (f for f in found if f.thing.id not in held and f.thing.box.volume > 0.0)
            found = sorted(boxed, key=lambda f: (sign * gap(f.thing.box, at.box), f.thing.id))
            found = [replace(f, other=at) for f in found]
        elif not wanted.rank:
            return found
        if not (wanted.choice or wanted.rank):
            return found  # "the large table": large ones first
        first = wanted.rank - 1 if wanted.rank > 0 else -1 if wanted.rank else 0
        return found[first:][: wanted.amount or None]

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


def _by_score(one: Found) -> tuple[float, int, str]:
    return -one.score, -one.thing.observations, one.thing.id
