"""Grounds noun phrases on a map: things, rooms, and places to put something."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import cast

from coterie_core.colors import stated_color
from coterie_core.geometry import distance
from coterie_core.household import Household, load_household, normalized, singulars
from coterie_core.relations import PAIRS, RelationKind, between
from coterie_core.wording import enumerated
from coterie_requests.request import Relation
from coterie_requests.understanding import NotUnderstood, nearest
from coterie_requests.understanding.phrases import Modifier, Phrase
from coterie_requests.understanding.vocabulary import plain_name
from coterie_world.scene import Room, SceneGraph, SceneObject
from coterie_world.sightings import clearness, seen_in_passing
from coterie_world.sizes import SIZE_ORDERS, SizeOrder

_MAX_SHOWN = 12
_IN_ROOMS = {"in": True, "on": True, "from": True, "to": True, "near": True, "far from": False}
"""Relations of things to rooms, and whether the things are in these."""


class Resolver:
    """Finds on a map what phrases stand for; the map is read when asked, so it may grow."""

    def __init__(self, scene: SceneGraph) -> None:
        self.scene = scene
        self.household: Household = load_household()

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
        if phrase.house:
            found = rooms
        elif phrase.floor:
            found = self._floor(phrase)
        elif named is not None:
            found = [named]
        else:
            found = [room for room in rooms if self._is_of(room, phrase.room)]
        for modifier in phrase.places:
            inside = self._rooms_by(phrase, modifier)
            found = [room for room in found if (room.id in inside) is not modifier.negated]
        left_out = {room.id for other in phrase.excluded for room in self.rooms(other)}
        found = [room for room in found if room.id not in left_out]
        if not found and not phrase.house:
            raise NotUnderstood(
                f"the map has no {phrase.said!r}; it has {self._known_rooms(rooms)}",
                "place",
                phrase.said,
                suggestions=nearest(phrase.noun, [room.name for room in rooms]),
            )
        found = sorted(found, key=lambda room: room.id)
        if phrase.order in ("largest", "smallest"):
            found.sort(key=lambda room: room_area(room), reverse=phrase.order == "largest")
            return found[:1]
        if phrase.ordinal > len(found):
            raise NotUnderstood(
                f"{phrase.said!r}: the map has {self._known_rooms(found)}",
                "place",
                phrase.said,
            )
        return [found[_index(phrase.ordinal)]] if phrase.ordinal else found

    def _rooms_by(self, phrase: Phrase, modifier: Modifier) -> set[str]:
        """Return the rooms (ids) that are somewhere ("upstairs"), or have something in them."""
        if modifier.relation in ("in", "on") and self.is_place(modifier.phrase):
            return {room.id for room in self.rooms(modifier.phrase)}
        if modifier.relation == "with":
            return {thing.room for thing in self.things(modifier.phrase)}
        raise NotUnderstood(
            f"{phrase.said!r}: robots cannot tell which room is {modifier.relation} "
            f"{modifier.phrase.said!r}",
            "place",
            modifier.phrase.said,
            question="Which room is it? Say its name",
        )

    def _known_rooms(self, rooms: Iterable[Room]) -> str:
        return enumerated(sorted(room.name for room in rooms), _MAX_SHOWN) or "no rooms at all"

    def is_place(self, phrase: Phrase) -> bool:
        """Whether a phrase behind "in" or "to" means rooms rather than a thing."""
        if phrase.floor or phrase.house:
            return True
        if not phrase.room:
            return False
        if not phrase.label:
            return True
        # "closet", "toilet": a room where the map has one.
        return any(
            self._is_of(room, phrase.room) or room.name == phrase.room
            for room in self.scene.rooms.values()
        )

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
        if not floors:
            raise NotUnderstood(
                f"{phrase.said!r}: the map has no floors; name rooms instead", "place", phrase.said
            )
        lowest = floors[0].index
        wanted = {
            "up": [f for f in floors if f.index > max(lowest, 0) or f.index > lowest],
            "down": floors[:1],
            "top": floors[-1:],
            "0": [f for f in floors if f.index == max(lowest, 0)],
            "1": [f for f in floors if f.index == max(lowest, 0)],
            "2": [f for f in floors if f.index == max(lowest, 0) + 1],
            "3": [f for f in floors if f.index == max(lowest, 0) + 2],
        }[phrase.floor]
        ids = {floor.id for floor in wanted}
        found = [room for room in self.scene.rooms.values() if room.floor in ids]
        if not found:
            raise NotUnderstood(
                f"{phrase.said!r}: the map has {len(floors)} floor{'s' * (len(floors) > 1)} and "
                "no rooms there",
                "place",
                phrase.said,
            )
        return found

    def where(self, phrase: Phrase) -> list[Room]:
        """Return the rooms in which to look for what a phrase means."""
        rooms: list[Room] | None = None
        for modifier in phrase.places:
            inner = modifier.phrase
            if modifier.relation == "with":
                continue
            if modifier.negated or modifier.relation == "far from":
                out = {r.id for r in self.rooms(inner)} if self.is_place(inner) else set()
                inside = [room for room in self.scene.rooms.values() if room.id not in out]
            elif self.is_place(inner):
                inside = self.rooms(inner)
            else:
                ids = {thing.room for thing in self.things(inner)}
                inside = [room for room in self.scene.rooms.values() if room.id in ids]
                if not inside:
                    inside = self.where(inner)
            kept = {room.id for room in inside}
            rooms = [r for r in (rooms if rooms is not None else inside) if r.id in kept]
        found = rooms if rooms else list(self.scene.rooms.values())
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
        found = {thing.id: thing for thing in self._fitting(phrase)}
        for other in phrase.alternatives:
            found.update((thing.id, thing) for thing in self.things(other))
        for other in phrase.excluded:
            for thing in self._excluded(other, phrase):
                found.pop(thing.id, None)
        things = sorted(found.values(), key=lambda thing: thing.id)
        order = self._order_of(phrase)
        if order is not None:
            things.sort(key=lambda thing: (order(thing), thing.id))
        if phrase.ordinal:
            k = _index(phrase.ordinal)
            return things[k : k + 1 or None] if k < len(things) else []
        return things[: max(phrase.count, 1)] if order is not None and phrase.order else things

    def _order_of(self, phrase: Phrase) -> Callable[[SceneObject], float] | None:
        """Return what a phrase sorts its things by, least first; None: nothing is known of that."""
        if phrase.order in SIZE_ORDERS:
            size = SIZE_ORDERS[cast(SizeOrder, phrase.order)]
            return lambda thing: size(thing.box)
        ends = [owner.box.center for by in phrase.by for owner in self.things(by)]
        if not ends:
            return None
        sign = -1.0 if phrase.order == "farthest" else 1.0
        return lambda thing: sign * min(distance(thing.box.center, end) for end in ends)

    def _excluded(self, left_out: Phrase, phrase: Phrase) -> list[SceneObject]:
        """Return what is left out; "the cushion" of one kind of things leaves out only one."""
        return self.things(left_out.like(phrase) if left_out.anything else left_out)

    def _fitting(self, phrase: Phrase) -> list[SceneObject]:
        found = sorted(self._named(phrase), key=lambda thing: thing.id)
        if phrase.compound:
            # "kitchen table": the one in the kitchen where there is one.
            found = [t for t in found if self._in_room_type(t, phrase.compound)] or found
        for modifier in phrase.places:
            placed = self._placed(found, modifier.relation, modifier.phrase)
            found = [t for t in found if t not in placed] if modifier.negated else placed
            if phrase.anything and modifier.relation == "on":
                # "Everything on the dresser": not what is in its drawers.
                found = [t for t in found if not self._is_shut_in(t)]
        if phrase.color:
            known = {thing.id: stated_color(thing.properties) for thing in found}
            fitting = [t for t in found if phrase.color == known[t.id]]
            # Where no colour is known, any may be the one.
            found = fitting if any(known.values()) else found
        return found

    def _named(self, phrase: Phrase) -> Iterable[SceneObject]:
        things = self.scene.objects
        if phrase.label in things:
            return [things[phrase.label]]
        if phrase.anything:
            return [t for t in things.values() if t.kind == "item"]
        noun = normalized(phrase.noun)
        nouns = {noun} | {
            form for form in singulars(noun) if self.household.canonical(form) == phrase.label
        }
        if phrase.members:
            kinds = set(phrase.members)
            return [
                t
                for t in things.values()
                if {t.label.top, self.household.canonical(t.label.top)} & kinds
            ]
        exact = [t for t in things.values() if normalized(t.label.top) in nouns]
        if exact or not phrase.known:
            return exact or [t for t in things.values() if t.label.top == phrase.label]
        return [t for t in things.values() if self.household.canonical(t.label.top) == phrase.label]

    def _in_room_type(self, thing: SceneObject, kind: str) -> bool:
        room = self.scene.rooms.get(thing.room)
        return room is not None and kind in (self._type(room), room.name)

    def _placed(
        self, things: list[SceneObject], relation: Relation, place: Phrase
    ) -> list[SceneObject]:
        if self.is_place(place):
            inside = {room.id for room in self.rooms(place)}
            if relation not in _IN_ROOMS:
                raise NotUnderstood(
                    f"robots cannot tell what is {relation} {place.said!r}, which is a room",
                    "place",
                    place.said,
                    question="Where is it? Say in which room, or at which piece of furniture",
                )
            return [thing for thing in things if (thing.room in inside) is _IN_ROOMS[relation]]
        ends = [place]
        if relation == "between":
            ends = [replace(place, alternatives=()), *place.alternatives]
        others = [self.things(end) for end in ends]
        return [thing for thing in things if stands(thing, relation, others)[0] > 0.0]

    def _is_shut_in(self, thing: SceneObject) -> bool:
        """Whether a thing is in a container that opens and closes."""
        owner = self.scene.objects.get(thing.container)
        return owner is not None and owner.is_open is not None

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
            usual = [
                member
                for name in (category.on if category else ())
                for member in self.household.members(name)
            ]
            return sorted(owners, key=lambda t: (self._usual(t, usual), *self._order(t, relation)))
        found = self.things(phrase)
        if relation == "near" or (found and not any(t.receptacles for t in found)):
            held = [self.scene.objects.get(t.support or t.container) for t in found]
            supports = [t for t in held if t is not None and t.receptacles]
            if supports:
                return supports
        doubtful = seen_in_passing(found)
        return sorted(found, key=lambda t: (t.id in doubtful, *self._order(t, relation)))

    def _usual(self, thing: SceneObject, usual: list[str]) -> int:
        label = self.household.canonical(thing.label.top)
        return usual.index(label) if label in usual else len(usual) + (thing.kind != "furniture")

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


def stands(
    thing: SceneObject, relation: Relation, others: Sequence[Sequence[SceneObject]]
) -> tuple[float, str]:
    """Return how surely a thing stands so to one of others (0..1), and to which ("" if to none).

    What a map tells of supports and containers goes before what its boxes tell.

    Args:
        thing: The thing.
        relation: Its relation to one of the others; "with": the other is on or in the thing.
        others: Candidates of each thing that was named: alternatives, or the ends of "between".
    """
    if relation == "between":
        ends = product(*others[:2]) if len(others) > 1 else combinations(others[0], 2)
        held = [(between(thing.box, (a.box, b.box)), f"{a.id} and {b.id}") for a, b in ends]
    else:
        flat = {other.id: other for group in others for other in group if other.id != thing.id}
        held = [(_holds(thing, relation, other), id) for id, other in flat.items()]
    if relation == "far from":  # of all of them; where there is none, nothing is near
        return min(held, default=(1.0, "any such thing"))
    return max(((surely, id) for surely, id in held if surely > 0.0), default=(0.0, ""))


def _holds(thing: SceneObject, relation: Relation, other: SceneObject) -> float:
    if relation == "with":
        return _holds(other, "from", thing)
    told = {thing.support, thing.container} - {""}
    if told and relation in ("on", "in", "to", "from"):
        return float(other.id in told)
    kinds = ["on", "in"] if relation in ("to", "from") else [relation]
    return max(PAIRS[cast(RelationKind, kind)](thing.box, other.box) for kind in kinds)
