"""Wishes that are about places: where robots go, where they look, and what they look for there."""

from __future__ import annotations

from collections.abc import Sequence

from coterie_requests.understanding import NotUnderstood, shown
from coterie_requests.understanding.phrases import Phrase
from emos_planner.leader.parts import items, located, parts_of
from emos_planner.leader.verbs import EXAMPLE, SIDES, WEAK, WishKind
from emos_planner.leader.wishes import Wish, Wishes

_ABOUT = frozenset(("around", "in", "into", "inside", "on", "through", "about", "over", "under"))
"""What stands before the place that is looked at."""


class Places(Wishes):
    """Reads clauses that say where to go, where to look, and what for."""

    def _items(self, text: str) -> list[Phrase]:
        return items(text, self.names, self._clause.text)

    def _see(self, kind: WishKind, things: Sequence[Phrase]) -> None:
        """Add wishes to see things; to see a room, a robot goes there."""
        for thing in things:
            room = bool(thing.room or thing.floor) and not (thing.label or thing.pronoun)
            self._add("go" if room else kind, [thing])

    def _look(self, clause: str, verb: str, rest: list[str]) -> bool:
        """As in "look around the kitchen", "look in the drawer", "search the kitchen".

        Returns:
            Whether the clause says where to look, and not for what.

        Raises:
            NotUnderstood: There is no such place.
        """
        around = rest[:1] and rest[0] in _ABOUT
        if verb not in ("look", "search", "check") or not (around or verb == "search"):
            return False
        where = rest[1:] if around else rest
        places = self._items(" ".join(where)) if where else []
        if not places or any(place.house for place in places):
            raise NotUnderstood(
                f"{shown(clause)!r}: say what to look for, as in {EXAMPLE['find']}", "object"
            )
        if any(place.places for place in places):
            return False
        if not around and not all(place.room or place.floor or not place.known for place in places):
            return False  # "search my keys"
        for place in places:
            if not place.pronoun:
                self._known_place(clause, place)
        self._see("look", places)
        return True

    def _find(self, clause: str, rest: list[str]) -> None:
        """As in "find the keys", "search the kitchen for keys", "look upstairs for the towel"."""
        rest = rest[1:] if rest[:1] in (["me"], ["us"]) and len(rest) > 1 else rest
        if "for" in rest:
            k = rest.index("for")
            where, what = rest[:k], rest[k + 1 :]
        else:
            where, what = [], rest
        if not what:
            raise NotUnderstood(
                f"{shown(clause)!r}: say what to look for, as in {EXAMPLE['find']}", "object"
            )
        things = self._items(" ".join(what))
        if where and where[0] not in ("around", "everywhere"):
            if where[0] not in WEAK and where[0] not in SIDES:
                where = ["in", *where]
            places = parts_of(where, self.names, clause)
            for place in places:
                if isinstance(place, Phrase) and not (place.pronoun or place.house):
                    self._known_place(clause, place)
            things = [located(thing, places, clause) for thing in things]
        self._see("find", things)

    def _go(self, clause: str, rest: list[str]) -> None:
        skipped = ("to", "into", "in", "over", "back", "near", "towards", "toward", "and", "inside",
                   "at", "on", "up", "down", "out", "by", "off", "through")  # fmt: skip
        while rest and rest[0] in skipped:
            rest = rest[1:]
        if not rest:
            raise NotUnderstood(
                f"{shown(clause)!r}: say where to go, as in {EXAMPLE['go']}", "target"
            )
        rest = ["and" if word in ("to", "into") else word for word in rest]
        for phrase in self._items(" ".join(rest)):
            if phrase.pronoun:
                self._add("go", [phrase])
                continue
            self._known_place(clause, phrase)
            self._append(Wish("go", phrase, everybody=self._clause.everybody))

    def _known_place(self, clause: str, place: Phrase) -> None:
        """Nobody searches a house for a place whose name means nothing.

        Raises:
            NotUnderstood: The place is a person's, or no name of any place.
        """
        person = place.person or place.noun in self.names.persons
        if person and not place.places:
            raise NotUnderstood(
                f"{shown(clause)!r}: robots do not know where {_you(place.said)}",
                "person",
                place.said,
                question=f"Where is that? Name a room or a piece of furniture, as in "
                f"{EXAMPLE['bring']}",
            )
        if place.known or person:
            return
        raise NotUnderstood(
            f"{shown(clause)!r}: nothing here is called {place.noun or place.said!r}",
            "place",
            place.noun or place.said,
            question="Where is that? Name a room or a piece of furniture",
        )


def _you(said: str) -> str:
    if said in ("me", "us", "myself", "here"):
        return "you are"
    return f"{said!r} is"
