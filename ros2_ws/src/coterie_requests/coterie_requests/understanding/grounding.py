"""Grounds the words of a request on a map: things, rooms, and places to put something.

There is one grounding for tasks, questions and requests for objects. `things` are those that robots
may act on; `find` grades all that may be meant, by the whole distribution of labels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import cast

from coterie_core.colors import are_alike, stated_color
from coterie_core.geometry import distance
from coterie_core.household import Household, load_household, normalized, singulars
from coterie_core.relations import gap
from coterie_core.wording import enumerated
from coterie_requests.detector_vocabulary import STRUCTURE
from coterie_requests.lexicon import canonical, is_called, likeness, load_lexicon, serving
from coterie_requests.request import Place, Relation, Thing
from coterie_requests.understanding import NotUnderstood, nearest
from coterie_requests.understanding.map_geometry import (
    STATED,
    STATES,
    MapGeometry,
)
from coterie_requests.understanding.phrases import (
    Modifier,
    Phrase,
    modifier_of,
    phrase_of,
    size_order,
)
from coterie_requests.understanding.vocabulary import Vocabulary, plain_name
from coterie_world.scene import Room, SceneGraph, SceneObject
from coterie_world.scene.lookups import Nearby
from coterie_world.sightings import clearness, seen_in_passing
from coterie_world.sizes import SIZE_ORDERS, SizeOrder, plausible_size

LIKELY = 0.3
"""Least probability for an object to be taken for what is asked for."""
ENOUGH = 0.35
"""Least share of labels that are not the likeliest one for them to count."""
UNKNOWN_COLOR = 0.5
"""How well a color fits a thing of which the map knows none."""
DENIED = 0.12
"""How well a thing fits of which the map says another color, or the opposite of an attribute."""
_ANYHOW = 0.6
"""What a thing fits where the map does not have the room that it is said to be in."""
_LEAST_STRENGTH = 0.15
"""Least strength with which a thing must stand where it is said to be."""
_USEFUL = 0.15
"""Least grade for a label to count as one that serves."""
_RULED_OUT = 0.4
"""Least share of labels by which a thing is what a request rules out."""
_PLAUSIBLE = 0.4
"""Least plausibility of a size for a thing to come first as "the smallest" and the like."""
_SELDOM = 3
"""Looks after which half of the doubt whether a thing is there has gone."""
_ANCHORS = 8
"""Things of one description that others are measured from."""
_ROOM = re.compile(r"(?<=\w) room (?=\w+$)")
"""What may be left out between words: the "dining room table" is the dining table."""
_SURFACES = frozenset({"floor", "wall", "ceiling"})
_MAX_SHOWN = 12
_IN_ROOMS = {"in": True, "on": True, "from": True, "to": True, "near": True, "far from": False}
"""Relations of things to rooms, and whether the things are in these."""


@dataclass(slots=True)
class Found:
    """An object that may be meant; `ids` holds its duplicates too, itself first.

    `p` (0..1) is how likely it is the kind of thing, `share` what its labels say of that before how
    often it was seen counts, `fit` how well the rest of the description
    (color, state, relation) fits, `other` what it stands to, `reasons` why.
    """

    thing: SceneObject
    p: float = 1.0
    fit: float = 1.0
    ids: tuple[str, ...] = ()
    other: SceneObject | None = None
    reasons: tuple[str, ...] = ()
    share: float = 1.0

    @property
    def id(self) -> str:
        """Its id."""
        return self.thing.id

    @property
    def score(self) -> float:
        """Both in one."""
        return self.p * self.fit


class Resolver(MapGeometry):
    """Finds on a map what words stand for; the map is read when asked, so it may grow.

    Args:
        scene: The map; while `find` is used it must not change.
        certain: Whether a thing is what its top label says, for `find` too.
    """

    def __init__(self, scene: SceneGraph, *, certain: bool = False) -> None:
        super().__init__(scene, certain=certain)
        self.household: Household = load_household()
        self._graded: dict[Phrase, list[Found]] = {}

    @cached_property
    def names(self) -> Vocabulary:
        """Names that mean something on this map."""
        return Vocabulary.of(self.scene)

    @cached_property
    def labels(self) -> frozenset[str]:
        """All that the map calls its things."""
        things = self.scene.objects.values()
        return frozenset(normalized(label) for one in things for label in self.belief(one))

    @cached_property
    def _states(self) -> frozenset[str]:
        """All that the map says of its things: states, materials, ..."""
        said = {str(v).lower() for t in self.scene.objects.values() for v in t.properties.values()}
        doors = any(thing.is_open is not None for thing in self.scene.objects.values())
        return frozenset(
            STATES.get(one, one) for one in said | ({"open", "shut"} if doors else set())
        )

    def phrase(self, thing: Thing | Phrase) -> Phrase:
        """Return what the plain words of a thing stand for here."""
        return thing if isinstance(thing, Phrase) else phrase_of(thing, self.names)

    # -- rooms ----------------------------------------------------------------------------------

    def rooms(self, phrase: Phrase) -> list[Room]:
        """Return the rooms that a phrase may mean (all of its type, of its floor, of the house).

        Raises:
            NotUnderstood: The map has no such room; names those it has.
        """
        rooms = list(self.scene.rooms.values())
        if phrase.alternatives:
            places = [replace(phrase, alternatives=()), *phrase.alternatives]
            either = {r.id: r for p in places if self.is_place(p) for r in self.rooms(p)}
            return [either[id] for id in sorted(either)]
        named = self.scene.room_named(phrase.room)
        if phrase.floor:
            found = self._floor(phrase)
        elif named is not None or phrase.house:
            found = [named] if named is not None and not phrase.house else rooms
        else:
            found = [room for room in rooms if self._is_of(room, phrase.room)]
        for modifier in phrase.places:
            inside = self._rooms_by(phrase, modifier)
            found = [room for room in found if (room.id in inside) is not modifier.negated]
        left_out = {room.id for other in phrase.excluded for room in self.rooms(other)}
        found = sorted((r for r in found if r.id not in left_out), key=lambda room: room.id)
        if phrase.ordinal > len(found) or not (found or phrase.house):
            names = [room.name for room in rooms]
            known = enumerated(sorted(names), _MAX_SHOWN) or "no rooms at all"
            raise NotUnderstood(
                f"the map has no {phrase.said!r}; it has {known}", "place", phrase.said,
                suggestions=nearest(phrase.noun, names),
            )  # fmt: skip
        if phrase.order in ("largest", "smallest"):
            return sorted(found, key=room_area, reverse=phrase.order == "largest")[:1]
        return [found[_index(phrase.ordinal)]] if phrase.ordinal else found

    def _rooms_by(self, phrase: Phrase, modifier: Modifier) -> set[str]:
        """Return the rooms (ids) that are somewhere ("upstairs"), or have something in them."""
        inner = modifier.phrase
        if modifier.relation in ("in", "on") and self.is_place(inner):
            return {room.id for room in self.rooms(inner)}
        if modifier.relation == "with":
            return {thing.room for thing in self.things(inner)}
        raise NotUnderstood(
            f"{phrase.said!r}: robots cannot tell which room is {modifier.relation} {inner.said!r}",
            "place",
            inner.said,
            question="Which room is it? Say its name",
        )

    def is_place(self, phrase: Phrase) -> bool:
        """Whether a phrase behind "in" or "to" means rooms rather than a thing."""
        if phrase.floor or phrase.house:
            return True
        if not phrase.room:
            return False
        if not phrase.label:
            return True
        # "closet", "toilet": a room where the map has one.
        rooms = self.scene.rooms.values()
        return any(self._is_of(room, phrase.room) or room.name == phrase.room for room in rooms)

    def _is_of(self, room: Room, kind: str) -> bool:
        """Whether a room is of a type, or is itself called what is kindred to one."""
        if kind not in self.household.kindred_rooms:
            return self._type(room) == kind
        own = plain_name(f"{room.name} {room.type}")
        return re.search(rf"\b{re.escape(plain_name(kind))}\b", own) is not None

    def _type(self, room: Room) -> str:
        return self.household.room_type(room.type or room.name) or room.type

    def _floor(self, phrase: Phrase) -> list[Room]:
        floors = sorted(self.scene.floors.values(), key=lambda floor: floor.index)
        lowest = floors[0].index if floors else 0
        above = [floor for floor in floors if floor.index > lowest]
        told = {"up": above, "down": floors[:1], "top": floors[-1:]}
        if phrase.floor not in told:
            index = max(lowest, 0) + max(int(phrase.floor) - 1, 0)
            told[phrase.floor] = [floor for floor in floors if floor.index == index]
        ids = {floor.id for floor in told[phrase.floor]}
        found = [room for room in self.scene.rooms.values() if room.floor in ids]
        if not found:
            count = f"{len(floors)} floor{'s' * (len(floors) != 1)}"
            raise NotUnderstood(
                f"{phrase.said!r}: the map has {count} and no rooms there", "place", phrase.said
            )
        return found

    def where(self, phrase: Phrase) -> list[Room]:
        """Return the rooms in which to look for what a phrase means."""
        found = list(self.scene.rooms.values())
        for modifier in phrase.places:
            inner = modifier.phrase
            away = modifier.negated or modifier.relation == "far from"
            if modifier.relation == "with" or (away and not self.is_place(inner)):
                continue
            if self.is_place(inner):
                ids = {room.id for room in self.rooms(inner)}
            else:
                things = {thing.room for thing in self.things(inner)} & {*self.scene.rooms}
                ids = things or {room.id for room in self.where(inner)}
            found = [room for room in found if (room.id in ids) is not away] or found
        label = phrase.label or phrase.noun
        return sorted(
            found,
            key=lambda room: (
                not phrase.compound or self._type(room) != phrase.compound,
                -self.household.likelihood(label, room.type or room.name),
                room.id,
            ),
        )

    # -- things ---------------------------------------------------------------------------------

    def things(self, phrase: Phrase) -> list[SceneObject]:
        """Return the things on the map that a phrase fits, sorted by id; empty: none known.

        Any of several alternatives fits. A superlative chooses among what is known, and so does an
        ordinal: in that order, else by the distance to what it is measured from, else by id.
        """
        found = sorted(self._meant(phrase, sure=True), key=lambda one: one.id)
        found = self.ordered(found, phrase, shown=False)
        return [one.thing for one in self.chosen(found, phrase)]

    def find(self, wanted: Thing | Phrase) -> list[Found]:
        """Return all that may be meant, best first, or in the order that is asked for.

        A room that the map does not have is not required; what the map does not tell of a thing
        (its color) lowers its fit. `chosen` leaves those that a superlative or an ordinal means.

        Raises:
            NotUnderstood: It stands to a room as nothing can.
        """
        phrase = self.phrase(wanted)
        if phrase not in self._graded:
            found = sorted(self._meant(phrase, sure=False), key=self._rank)
            self._graded[phrase] = self.ordered(found, phrase)
        return self._graded[phrase]

    def _meant(self, phrase: Phrase, *, sure: bool) -> list[Found]:
        """Return what fits a phrase or one of its alternatives, and is not left out."""
        best: dict[str, Found] = {}
        for other in (replace(phrase, alternatives=()), *phrase.alternatives):
            one = other if other.places else replace(other, places=phrase.places)
            for found in self._described(one, sure):
                if found.id not in best or best[found.id].score < found.score:
                    best[found.id] = found
        for other in phrase.excluded if best else ():
            # What nothing is known of leaves out nothing of what is shown.
            for out in self._ones(other, sure) if sure or not self.unknown(other) else ():
                if out.fit > DENIED and out.share >= _RULED_OUT:
                    best.pop(out.id, None)
        return list(best.values())

    def _ones(self, phrase: Phrase, sure: bool) -> list[Found]:
        """Return the very things that others are told by: what they stand to, what is left out."""
        if sure:
            return [Found(thing) for thing in self.things(phrase)]
        return self.chosen(self.find(phrase), phrase)

    def _described(self, phrase: Phrase, sure: bool) -> list[Found]:
        found = self._certain(phrase) if sure else self._likely(phrase)
        for one in found:
            one.fit = self.traits(one.thing, phrase)
        if phrase.compound:
            # "kitchen table": the one in the kitchen where there is one.
            found = [f for f in found if self._in_room_type(f.thing, phrase.compound)] or found
        for modifier in phrase.places:
            placed = self._placed(found, modifier, sure)
            kept = {one.id for one in placed}
            found = [f for f in found if f.id not in kept] if modifier.negated else placed
        if sure and phrase.color:
            known = any(stated_color(one.thing.properties) for one in found)
            # Where no color is known, any may be the one.
            found = [one for one in found if one.fit == 1.0] if known else found
        return found

    def traits(self, thing: SceneObject, phrase: Phrase) -> float:
        """How well the map's color and state of a thing fit what is said of it (0..1)."""
        fit = color_fit(thing, phrase.color)
        for word in phrase.ignored:
            told = self.told(thing, STATES.get(word, word))
            fit *= 1.0 if told is None or told[0] or told[1] < STATED else DENIED
        return fit

    # -- what a thing is ------------------------------------------------------------------------

    def is_one(self, phrase: Phrase) -> bool:
        """Whether a phrase names one thing of the map by its id; "table" is a word like others."""
        return phrase.label in self.scene.objects and any(map(str.isdigit, phrase.label))

    def _certain(self, phrase: Phrase) -> list[Found]:
        """Return what bears the name of what is meant: the very word, if any does, else its kind.

        Only the top label counts, and no likeness: who is to bring a sock brings no shirt.
        """
        things = self.scene.objects
        if self.is_one(phrase):
            return [Found(things[phrase.label])]
        if phrase.anything:
            found = [thing for thing in things.values() if thing.kind == "item"]
            if any(place.relation == "on" for place in phrase.places):
                # "Everything on the dresser": not what is in its drawers.
                owners = ((one, things.get(one.container)) for one in found)
                found = [one for one, owner in owners if owner is None or owner.is_open is None]
            return [Found(one) for one in found]
        noun, kind = normalized(phrase.noun), self.household.canonical
        nouns = {noun, *(form for form in singulars(noun) if kind(form) == phrase.label)}
        exact = [t for t in things.values() if normalized(t.label.top) in nouns]
        if phrase.members or not exact:
            kinds = set(phrase.members or (phrase.label,))
            known = phrase.known or phrase.members
            exact = [
                thing
                for thing in things.values()
                if thing.label.top in kinds or (known and kind(thing.label.top) in kinds)
            ]
        return [Found(one) for one in exact]

    def _likely(self, phrase: Phrase) -> list[Found]:
        """Return what may be meant, by all labels and by what things are for; unlikely ones not.

        Where some have the very name of several words that was said ("dining table"), no other
        thing is meant. A quality orders what was named ("a soft bed"); alone, it decides.
        """
        if self.is_one(phrase):
            return [Found(self.scene.objects[phrase.label], reasons=("it bears that name",))]
        lexicon = load_lexicon()
        wanted = [lexicon.spread(lexicon.qualities[one].things) for one in phrase.qualities]
        found = []
        for thing in self.scene.objects.values():
            one = self.liked(thing, phrase)
            if one is None:
                continue
            for grades in wanted:
                graded = max(self.grade(thing, grades), 0.0 if phrase.anything else LIKELY)
                one = replace(one, p=one.p * graded, share=one.share * graded)
            if one.p > 0.0:
                found.append(one)
        if " " in phrase.noun and not (phrase.use or phrase.anything):
            noun = self.singular(phrase)
            called = [one for one in found if self._called(one.thing, noun) >= LIKELY]
            return called or found
        return found

    def liked(self, thing: SceneObject, phrase: Phrase) -> Found | None:
        """Return a thing as what a phrase names, all its labels considered; None: hardly ever."""
        own = self.belief(thing)
        if phrase.anything:
            fits = self.label(thing) not in STRUCTURE
            return Found(thing, ids=(thing.id,), reasons=("any thing",)) if fits else None
        if phrase.use and phrase.noun == phrase.use:
            uses = serving(phrase.use)
            grades = {label: uses.get(canonical(label), 0.0) for label in own}
        else:
            noun, there = self.singular(phrase), self._in_room_type(thing, phrase.compound)
            grades = {label: likeness(label, noun, there=there) for label in own}
        raw = own if self.certain else thing.label.distribution()
        fit = [label for label, grade in grades.items() if grade >= _USEFUL]
        if not fit or (fit[0] != next(iter(own)) and sum(raw[k] for k in fit) < ENOUGH):
            return None
        best = canonical(max(fit, key=lambda label: (own[label] * grades[label], label)))
        said = phrase.use or phrase.noun
        why = f"it is a {best}" if best in (said, *singulars(said)) else f"{best}: {said}"
        p, share = (sum(of[k] * grades[k] for k in own) for of in (own, raw))
        return Found(thing, min(p, 1.0), share=share, ids=(thing.id,), reasons=(why,))

    def singular(self, phrase: Phrase) -> str:
        """Return the noun of a phrase in the singular, as it is looked for among labels."""
        noun = _ROOM.sub(" ", normalized(phrase.noun))
        known = (one for one in singulars(noun) if self.names.lookup(one) is not None)
        return noun if noun in self.labels else next(known, noun)

    def _called(self, thing: SceneObject, noun: str) -> float:
        """How likely a thing has this very name, which is of several words (0..1)."""
        own = canonical(noun) == noun
        return sum(
            share
            for label, share in self.belief(thing).items()
            if is_called(normalized(label), noun) or (own and canonical(label) == noun)
        )

    def grade(self, thing: SceneObject, grades: Mapping[str, float]) -> float:
        """How well an object serves by the grades of labels, all its labels considered (0..1)."""
        own = self.belief(thing).items()
        return sum(share * grades.get(canonical(label), 0.0) for label, share in own)

    def unknown(self, phrase: Phrase) -> list[str]:
        """Return the words of a phrase of which neither tables nor map know anything."""
        named = [] if phrase.known or phrase.person else [phrase.noun]
        return named + [
            word
            for word in phrase.ignored
            if not (size_order(word) or load_lexicon().qualities_in(word))
            and STATES.get(word, word) not in self._states
        ]

    def _in_room_type(self, thing: SceneObject, kind: str) -> bool:
        room = self.room(thing) if kind else None
        return room is not None and kind in (self._type(room), room.name)

    # -- where it is ----------------------------------------------------------------------------

    def _placed(self, found: list[Found], place: Modifier, sure: bool) -> list[Found]:
        """Return what is in a room, or stands to other things, as described."""
        relation, phrase = place.relation, place.phrase
        if self.is_place(phrase):
            return self._in_rooms(found, place, sure)
        if phrase.noun in _SURFACES and relation in ("on", "near", "in") and not sure:
            return self._on_surface(found, phrase)
        if not found:
            return found
        if phrase.anything and not (phrase.color or phrase.places):
            return []  # "in the corner", "on it": the map does not know where that is
        ends = (replace(phrase, alternatives=()), *phrase.alternatives)
        if relation != "between":
            anchors = self._ones(phrase, sure)
            near = Nearby([a.thing for a in anchors]) if len(anchors) > _ANCHORS else None
            each_one = (self._standing(one, relation, anchors, near) for one in found)
            return [one for one in each_one if one is not None]
        both = ends[:2] if len(ends) > 1 else ends * 2  # "between the chairs"
        each = [self._ones(end, sure)[:_ANCHORS] for end in both]
        pairs = [(a, b) for a, b in product(*each) if a.id != b.id]
        kept = []
        for one in found if pairs else ():
            held = [(self.between(one.thing, a.thing, b.thing), a, b) for a, b in pairs]
            strength, a, b = max(held, key=lambda h: h[0])
            if strength >= _LEAST_STRENGTH:
                kept.append(_standing_so(one, strength, a.thing, f"between {a.id} and {b.id}"))
        return kept

    def _standing(
        self, one: Found, relation: Relation, anchors: Sequence[Found], nearby: Nearby | None
    ) -> Found | None:
        """Return a thing as it stands to one of others; None: to none of them."""
        if relation == "far from":  # from all of them; where there is none, nothing is near
            away = [self.stands(one.thing, relation, a.thing) for a in anchors if a.id != one.id]
            strength = min(away, default=1.0)
            return _standing_so(one, strength, None, "far away") if strength > 0.0 else None
        near = anchors
        if nearby is not None:
            by_id = {a.id: a for a in anchors}
            near = [by_id[id_] for id_ in nearby.near(one.thing.box, one.id)]
        held = [(self.stands(one.thing, relation, a.thing) * a.score, a) for a in near]
        strength, best = max(held, key=lambda h: h[0], default=(0.0, None))
        if best is None or strength < _LEAST_STRENGTH:
            return None
        return _standing_so(one, strength, best.thing, f"{relation} {best.id}")

    def _in_rooms(self, found: list[Found], place: Modifier, sure: bool) -> list[Found]:
        if place.relation not in _IN_ROOMS:
            raise NotUnderstood(
                f"robots cannot tell what is {place.relation} {place.phrase.said!r}, which is a "
                "room",
                "place",
                place.phrase.said,
                question="Where is it? Say in which room, or at which piece of furniture",
            )
        if place.phrase.house:
            return found
        try:
            rooms = {room.id: room.name for room in self.rooms(place.phrase)}
        except NotUnderstood:
            if sure:
                raise
            anyhow = [] if place.negated else found
            return [replace(one, fit=_ANYHOW * one.fit) for one in anyhow]
        inside, told = _IN_ROOMS[place.relation], f"{place.relation} {place.phrase.noun}"
        at = ((one, self.room(one.thing)) for one in found)
        return [
            replace(one, reasons=(*one.reasons, told))
            for one, room in at
            if (room is not None and room.id in rooms) is inside
        ]

    def _on_surface(self, found: list[Found], surface: Phrase) -> list[Found]:
        hung = [one for one in found if self.attached(one.thing, surface.noun)]
        beyond = any(p.relation in ("above", "near", "behind") for p in surface.places)
        if surface.noun != "floor" and beyond:
            hung = hung or found  # "the picture on the wall above the sofa"
        for beside in surface.places:
            hung = self._placed(hung, beside, sure=False)
        return [replace(one, reasons=(*one.reasons, f"on the {surface.noun}")) for one in hung]

    def rooms_of(self, place: Place) -> list[Room] | None:
        """Return the rooms that a place means, none where the map has no such; None: no room."""
        phrase = modifier_of(place, self.names).phrase
        if place.relation not in ("in", "from", "on") or not self.is_place(phrase):
            return None
        try:
            return self.rooms(phrase)
        except NotUnderstood:
            return []

    # -- which of them --------------------------------------------------------------------------

    def ordered(self, found: list[Found], phrase: Phrase, *, shown: bool = True) -> list[Found]:
        """Return things in the order that is asked for: by size, or by the gap to others [m].

        Of things in an order of size those count that bear the name itself, and what has no size
        for its kind comes last. An adjective ("large") orders only what is `shown`.
        """
        order = phrase.order or ("nearest" if phrase.by else phrase.sized if shown else "")
        if order in SIZE_ORDERS:
            size = SIZE_ORDERS[cast(SizeOrder, order)]
            noun = self.singular(phrase)
            bearing = [f for f in found if is_called(normalized(self.label(f.thing)), noun)]
            odd = {f.id for f in found if shown and self.plausible(f.thing) < _PLAUSIBLE}
            found = bearing or found
            return sorted(found, key=lambda f: (f.id in odd, size(f.thing.box), self._rank(f)))
        if order not in ("nearest", "farthest") or not phrase.by:
            return found
        ends = [
            one.thing
            for by in phrase.by
            for one in self._ones(by, sure=True) or self._ones(by, sure=False)
        ]
        held = {other.id for end in ends for _, other in self.held_by(end)}
        held = {end.id for end in ends} | (held if phrase.anything else set())
        sign = -1.0 if order == "farthest" else 1.0

        def away(one: Found) -> tuple[float, float]:
            box = one.thing.box
            gaps = [(gap(box, end.box), distance(box.center, end.box.center)) for end in ends]
            near, middle = min(gaps)
            return sign * near, sign * middle

        if not ends:
            return found
        return sorted(
            (f for f in found if f.id not in held), key=lambda f: (away(f), self._rank(f))
        )

    def chosen(self, found: list[Found], phrase: Phrase) -> list[Found]:
        """Return of things in order those that an ordinal, or a superlative, means."""
        if phrase.ordinal:
            k = _index(phrase.ordinal)
            return found[k : k + 1 or None] if k < len(found) else []
        told = phrase.order in SIZE_ORDERS or (phrase.order and phrase.by)
        return found[: max(phrase.count, 1)] if told else found

    def _rank(self, one: Found) -> tuple[float, int, str]:
        return -one.share * one.fit * self.worth(one.thing), -one.thing.observations, one.id

    def worth(self, thing: SceneObject) -> float:
        """What a thing counts for (0.25..1): how often it was seen, how plausible its size is."""
        seen = thing.observations
        there = thing.confidence or (seen / (seen + _SELDOM) if seen else 1.0)
        return (0.5 + 0.5 * there) * (0.5 + 0.5 * self.plausible(thing))

    def plausible(self, thing: SceneObject) -> float:
        """How plausible a thing's size is for what it is taken for (0..1)."""
        box = thing.box
        return plausible_size(canonical(self.label(thing)), box.size) if box.volume > 0.0 else 1.0

    # -- where to put things --------------------------------------------------------------------

    def targets(self, phrase: Phrase, relation: str, label: str) -> list[SceneObject]:
        """Return what something may be put on or into, best first; empty: nothing known.

        A room stands for the furniture in it that usually holds such things, then any other; near
        a thing means what that thing stands on.
        """
        if self.is_place(phrase):
            rooms = {room.id for room in self.rooms(phrase)}
            owners = [t for t in self.scene.objects.values() if t.room in rooms and t.receptacles]
            category = self.household.category(label)
            groups = map(self.household.members, category.on if category else ())
            usual = [name for group in groups for name in group]

            def rank(thing: SceneObject) -> int:
                kind = self.household.canonical(thing.label.top)
                last = len(usual) + (thing.kind != "furniture")
                return usual.index(kind) if kind in usual else last

            return sorted(owners, key=lambda t: (rank(t), *self._order(t, relation)))
        found = self.things(phrase)
        if relation == "near" or (found and not any(t.receptacles for t in found)):
            held = [self.scene.objects.get(t.support or t.container) for t in found]
            supports = [t for t in held if t is not None and t.receptacles]
            if supports:
                return supports
        doubtful = seen_in_passing(found)
        return sorted(found, key=lambda t: (t.id in doubtful, *self._order(t, relation)))

    def _order(self, thing: SceneObject, relation: str) -> tuple[int, float, float, float, str]:
        """Open surfaces first (shelves inside where "in" was said), in usual rooms, the largest.

        Of furniture of which nobody knows the surfaces the one that was seen most clearly is first.
        """
        wanted = relation == "in"
        fitting = [r for r in thing.receptacles if r.inside is wanted]
        area = max((r.surface.size[0] * r.surface.size[1] for r in fitting), default=0.0)
        room = self.scene.rooms.get(thing.room)
        usual = self.household.likelihood(thing.label.top, room.type if room else "")
        return (0 if fitting else 1, -round(usual, 1), -area, -clearness(thing), thing.id)

    def nearest_name(self, phrase: Phrase) -> str:
        """Return the label on the map that is spelled most like a phrase's noun ("" if none)."""
        labels = sorted({thing.label.top for thing in self.scene.objects.values()})
        close = nearest(phrase.noun or phrase.label, labels, 1)
        return close[0] if close else ""


def color_fit(thing: SceneObject, wanted: str) -> float:
    """How well an object's color fits (0..1): 0.5 where the map does not know it."""
    if not wanted:
        return 1.0
    own = stated_color(thing.properties)
    if not own:
        return UNKNOWN_COLOR
    if own == wanted:
        return 1.0
    return 0.6 if are_alike(own, wanted) else DENIED


def _standing_so(one: Found, strength: float, other: SceneObject | None, why: str) -> Found:
    return replace(one, fit=one.fit * strength, other=other, reasons=(*one.reasons, why))


def _index(ordinal: int) -> int:
    return ordinal - 1 if ordinal > 0 else ordinal


def room_area(room: Room) -> float:
    """Return the area of a room's outline [m^2] (shoelace formula); 0: not known."""
    points = room.polygon or []
    return 0.5 * abs(
        sum(
            a[0] * b[1] - b[0] * a[1]
            for a, b in zip(points, [*points[1:], *points[:1]], strict=True)
        )
    )
