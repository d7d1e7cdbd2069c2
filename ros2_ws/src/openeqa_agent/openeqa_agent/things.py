"""The map that questions are put to, and what a person's words stand for on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from coterie_requests.lexicon import canonical, load_lexicon
from coterie_requests.request import Thing
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.grounding import Found, Resolver
from coterie_requests.understanding.map_geometry import one_of_each, plain
from coterie_requests.understanding.phrases import size_order
from coterie_world.coverage import Coverage, PlacesSeen
from coterie_world.scene import Room, SceneGraph, SceneObject
from openeqa_agent.reply import OpenReply


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
    sized = (order for one in thing.attributes if (order := size_order(one)))
    return thing.choice or next(sized, "nearest" if thing.by else "")


def reply_on(text: str, confidence: float, found: Sequence[Found], why: str) -> OpenReply:
    """Return an answer that rests on what was found in the map; `why` is its explanation."""
    ids = tuple(id_ for one in found for id_ in one.ids)
    return OpenReply(text, confidence, objects=ids, explanation=why)


class MapIndex(Resolver):
    """One map, made ready for questions.

    Args:
        scene: The map; it is not changed and must not change meanwhile.
        seen: What robots saw of its places; None: nothing is known of that.
    """

    def __init__(self, scene: SceneGraph, seen: PlacesSeen | None = None) -> None:
        super().__init__(scene)
        self.coverage = Coverage(scene, seen)

    # -- what a thing is -------------------------------------------------------------------------

    def reports(self, name: str) -> bool:
        """Whether some object of the map may be such a thing."""
        return not {canonical(label) for label in self.labels}.isdisjoint(
            load_lexicon().members(name) | {name}
        )

    def label(self, thing: SceneObject) -> str:
        """Name of an object for an answer: its likeliest label, plain."""
        return plain(super().label(thing))

    def certainty(self, thing: SceneObject) -> float:
        """How likely the likeliest label is (0..1)."""
        return next(iter(self.belief(thing).values()), 0.0)

    def fitting(self, wanted: Thing, limit: int = 400) -> list[Found]:
        """Objects that fit a description, those that an order means, duplicates merged."""
        phrase = self.phrase(wanted)
        try:
            found = self.find(phrase)
        except NotUnderstood:
            return []
        if not generic(wanted):  # things of any kind in one place are no duplicates
            by_id = {one.id: one for one in found}
            groups = one_of_each([one.thing for one in found])
            found = [_merged([by_id[thing.id] for thing in group]) for group in groups]
        return self.chosen(found, phrase)[:limit]

    # -- where it is -----------------------------------------------------------------------------

    @cached_property
    def room_types(self) -> tuple[str, ...]:
        """Types of the rooms of the map, each once."""
        types = (self._type(room) for room in self.scene.rooms.values())
        return tuple(dict.fromkeys(filter(None, types)))

    def is_room(self, thing: Thing) -> bool:
        """Whether a thing is a room, a floor, the house; a closet is one where the map has one."""
        return self.is_place(self.phrase(thing))

    def rooms_called(self, thing: Thing) -> list[Room]:
        """Return the rooms that a thing means; none where the map has no such room."""
        phrase = self.phrase(thing)
        try:
            return self.rooms(phrase) if self.is_place(phrase) else []
        except NotUnderstood:
            return []

    def rooms_said(self, wanted: Thing) -> list[Room] | None:
        """Return the rooms in which a thing is said to be, itself or what it stands to."""
        for place in wanted.places:
            rooms = self.rooms_of(place)
            if rooms is not None:
                house = self.phrase(place.thing).house
                return None if place.negated or house else rooms
        around = (self.rooms_said(anchor) for anchor in self.anchors(wanted))
        return next((rooms for rooms in around if rooms is not None), None)

    def anchors(self, wanted: Thing) -> tuple[Thing, ...]:
        """Return the things that a thing is said to stand to; no rooms."""
        places = (place for place in wanted.places if self.rooms_of(place) is None)
        return tuple(thing for place in places for thing in place.things)


def _merged(group: Sequence[Found]) -> Found:
    first = group[0]
    ids = tuple(one.id for one in group)
    return replace(first, p=max(one.p for one in group), ids=ids)
