"""What a map tells of its things: labels, rooms, what holds what, and how two stand together."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import cast

from coterie_core.colors import stated_color
from coterie_core.geometry import Vec2, distance
from coterie_core.household import load_household
from coterie_core.relations import NEAR_GAP_M, PAIRS, RelationKind, between, gap
from coterie_requests.detector_vocabulary import STRUCTURE
from coterie_requests.lexicon import canonical, load_lexicon
from coterie_requests.request import Relation
from coterie_requests.understanding.text import word_tables
from coterie_world.association import ANSWER
from coterie_world.scene import Room, SceneGraph, SceneObject
from coterie_world.scene.lookups import Nearby

HOLDS = 0.25
"""Least strength of a relation between boxes that tells what holds what."""
FLAT = 0.15
"""What is no higher than this, as rugs, bears furniture [m]."""
STATED = 0.85
"""How sure it is of what the map itself says of a thing."""
_WORD = re.compile(r"[^\W\d_]+")
STATES: dict[str, str] = {
    word: state for state, words in word_tables()["states"].items() for word in words
}
"""Words for states, and one name for each."""
_OPPOSITE = {"open": "closed", "closed": "open", "on": "off", "off": "on", "empty": "full",
             "full": "empty", "clean": "messy", "messy": "clean", "made": "unmade"}  # fmt: skip


class MapGeometry:
    """One map, made ready for questions.

    Args:
        scene: The map; it must not change while relations are asked for.
        certain: Whether a thing is what its top label says; else each of its labels counts.
    """

    def __init__(self, scene: SceneGraph, *, certain: bool = False) -> None:
        self.scene = scene
        self.certain = certain
        self._beliefs: dict[str, dict[str, float]] = {}
        self._nearby: Nearby | None = None
        self._held: dict[str, list[SceneObject]] | None = None

    # -- what a thing is -------------------------------------------------------------------------

    def belief(self, thing: SceneObject) -> dict[str, float]:
        """Return what an object may be: label -> probability, likeliest first."""
        if thing.id not in self._beliefs:
            known = {thing.label.top: 1.0} if self.certain and thing.label.top else belief(thing)
            self._beliefs[thing.id] = known
        return self._beliefs[thing.id]

    def label(self, thing: SceneObject) -> str:
        """Return the likeliest label of an object."""
        return next(iter(self.belief(thing)), "") or thing.label.top

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
        """Return the room of an object, or of what it stands on."""
        seen: set[str] = set()
        at: SceneObject | None = thing
        while at is not None and at.id not in seen:
            seen.add(at.id)
            if at.room in self.scene.rooms:
                return self.scene.rooms[at.room]
            at = self.scene.objects.get(at.support or at.container)
        return None

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
        if self._held is None:
            self._held = {}
            for other in self.scene.objects.values():
                for holder in {other.support, other.container} - {""}:
                    self._held.setdefault(holder, []).append(other)
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

    def whereabouts(self, thing: SceneObject, *, beside: bool = False) -> str:
        """Return where a thing is: "on the desk in the office"; "" where nothing tells.

        Args:
            thing: The thing.
            beside: Whether to tell, of what nothing bears, what it is next to.
        """
        held, room = self.holder(thing), self.room(thing)
        parts = [f"{held[0]} the {plain(self.label(held[1]))}"] if held is not None else []
        if held is None and thing.kind != "furniture" and self.attached(thing, "wall"):
            parts.append("on the wall")
        if room is not None:
            parts.append(f"in {named_room(room)}")
        near = self.neighbours(thing, 4) if beside and held is None else []
        others = (one for one in near if self.label(one) != self.label(thing))
        other = next(others, None)
        told = f"next to the {plain(self.label(other))}" if other is not None else ""
        return ", ".join(filter(None, (" ".join(parts), told)))

    def described(self, things: Sequence[SceneObject]) -> list[str]:
        """Return words for each thing; those that would be alike get more, at last their id.

        "The red mug on the desk in the office", "the chair in the kitchen, next to the fridge".
        """
        names = [
            " ".join(filter(None, ("the", stated_color(t.properties), plain(t.label.top))))
            for t in things
        ]
        at = [self.whereabouts(thing) for thing in things]
        beside = [self.whereabouts(thing, beside=True) for thing in things]
        by_id = [f"{place} ({thing.id})" for place, thing in zip(at, things, strict=True)]
        texts: list[str] = []
        for places in (at, beside, by_id):
            told = [f"{name} {place}".strip() for name, place in zip(names, places, strict=True)]
            counts = Counter(texts)
            texts = [
                old if old is not None and counts[old] == 1 else new
                for old, new in zip_longest(texts, told)
            ]
        return texts

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

    # -- relations -------------------------------------------------------------------------------

    def stands(self, a: SceneObject, relation: Relation, b: SceneObject) -> float:
        """How surely `a` stands so to `b` (0..1).

        What a map tells of supports and containers goes before what its boxes tell. "from" and
        "to" are on or in; "with": the other is on or in it.
        """
        if relation == "with":
            return self.stands(b, "from", a)
        if relation in ("from", "to"):
            return max(self._related(a, "on", b), self._related(a, "in", b))
        return self._related(a, cast(RelationKind, relation), b)

    def _related(self, a: SceneObject, kind: RelationKind, b: SceneObject) -> float:
        if a.id == b.id or kind == "between":
            return 0.0
        if kind in ("on", "in") and (a.support or a.container):
            if b.id not in (a.support, a.container):
                return 0.0
            return 1.0 if (kind == "in") == (a.container == b.id) else 0.7
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
        # A chair's back over a table is not on it; a coffee table on a rug is.
        if kind in ("on", "in") and b.box.size[2] > FLAT and self.is_furniture(a):
            return 0.0
        strength = PAIRS[kind](a.box, b.box)
        if kind == "above" and a.box.bottom < b.box.top - 0.1:
            strength *= 0.4
        elif kind == "above" and strength and self.holder(a) is not None:
            strength *= 0.5
        return strength

    def is_furniture(self, thing: SceneObject) -> bool:
        """Whether the household has such things as furniture."""
        return load_household().kind(canonical(self.label(thing))) == "furniture"

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


@lru_cache(maxsize=4096)
def plain(label: str) -> str:
    """Return a label as a person would say it: no codes, no end numbers, not endless."""
    words = " ".join(_WORD.findall(label.replace("_", " ").lower())[:6])
    return words[:60] or "thing"


def named_room(room: Room) -> str:
    """Return a room's name as a sentence has it: "the kitchen", "bedroom 2"."""
    name = room.name.removeprefix("the ")
    return name if name[-1:].isdigit() else f"the {name}"


def belief(thing: SceneObject) -> dict[str, float]:
    """Return label -> probability, sharpened by how often an object was seen, likeliest first.

    A mapper adds up a noisy detector's scores: the shares of its labels stay as uncertain as one
    look, however many there were. Looks that agree make the first label surer.
    """
    shares = thing.label.distribution()
    power = min(1.0 + thing.observations / 4.0, 3.0)
    weights = {label: share**power for label, share in shares.items() if share > 0.02}
    total = sum(weights.values())
    return {label: weight / total for label, weight in weights.items()} if total > 0.0 else {}


@lru_cache(maxsize=1024)
def can_contain(label: str) -> bool:
    """Whether things may be inside such a thing."""
    lexicon = load_lexicon()
    name = canonical(label)
    known = load_household().category(label)
    return (
        name in lexicon.members("container")
        or name in lexicon.spread(lexicon.uses["store"].things)
        or bool(known and (known.opens or known.depth))
    )


def one_of_each(things: Sequence[SceneObject]) -> list[list[SceneObject]]:
    """Group things of one kind that are so much in one spot that they are one, mapped twice."""
    kept: list[list[SceneObject]] = []
    cells: dict[tuple[int, int], list[list[SceneObject]]] = {}
    for one in things:
        if one.box.volume <= 0.0:
            kept.append([one])
            continue
        x, y = math.floor(one.box.center[0]), math.floor(one.box.center[1])
        nearby = (g for i in (-1, 0, 1) for j in (-1, 0, 1) for g in cells.get((x + i, y + j), ()))
        twin = next((group for group in nearby if ANSWER.score(group[0].box, one.box)), None)
        if twin is not None:
            twin.append(one)
            continue
        kept.append([one])
        cells.setdefault((x, y), []).append(kept[-1])
    return kept
