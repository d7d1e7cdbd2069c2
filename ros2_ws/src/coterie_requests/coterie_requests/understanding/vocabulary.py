"""Names that mean something: of household things and rooms, of a map, of floors and of robots."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from coterie_core.household import load_household, singulars
from coterie_requests.lexicon import load_lexicon
from coterie_requests.understanding.text import word_tables
from coterie_world.scene import SceneGraph

MAX_NAME_WORDS = 5  # of the longest name that is looked for
_PAIRS = frozenset(word_tables()["pairs"].split())
"""Plurals of one thing ("my glasses")."""
_FLOORS = {
    "upstairs": "up", "upper floor": "up", "upper level": "up", "top floor": "top",
    "downstairs": "down", "lower floor": "down", "ground floor": "0", "ground level": "0",
    "basement": "down", "first floor": "1", "second floor": "2", "third floor": "3",
    "attic": "top", "main floor": "0",
}  # fmt: skip
_SPECIAL_CLASSES = ("crockery", "cutlery", "toy", "clothing", "food", "fruit", "tool", "plant")
"""Classes of the lexicon whose words mean all of their members also where a category has the name
("dishes" are bowls as well)."""
_NARROW = frozenset({"plate", "dish", "saucer", "fork", "knife", "spoon", "snack", "meal"})


@dataclass(frozen=True, slots=True)
class Name:
    """What a name stands for; one name may be a thing and a room at once ("closet").

    Attributes:
        label: The household's name of a thing.
        members: Labels that a word for several kinds of things stands for ("toys").
        room: A room's name or type, or the kindred of one ("sauna").
        floor: A value of the table of floors: up, down, top, 0, 1, ...
        robot: A robot's name.
        compound: The room that the name begins with ("kitchen counter").
        plural: Whether the word was in the plural.
    """

    label: str = ""
    members: tuple[str, ...] = ()
    room: str = ""
    floor: str = ""
    robot: str = ""
    compound: str = ""
    plural: bool = False


@dataclass(slots=True)
class Vocabulary:
    """All names that are understood: those of the household, of a map, and of the robots."""

    names: dict[str, Name] = field(default_factory=dict)
    robots: tuple[str, ...] = ()
    rooms: tuple[str, ...] = ()
    """Names of the rooms of the map."""
    labels: frozenset[str] = frozenset()
    """Labels of the map, or that a detector reports, by `plain_name`."""

    @staticmethod
    def of(scene: SceneGraph, robots: Iterable[str] = ()) -> Vocabulary:
        """Return the names that mean something to robots with this map."""
        labels = (thing.label.top for thing in scene.objects.values())
        words = Vocabulary.named(labels, (room.name for room in scene.rooms.values()), robots)
        for id_ in scene.objects:
            if re.search(r"\d", id_):
                words._add(id_, label=id_)
        for room in scene.rooms.values():
            known = words.names.get(plain_name(room.id), Name())
            words.names[plain_name(room.id)] = replace(known, room=room.name)
        return words

    @staticmethod
    def named(
        labels: Iterable[str] = (), rooms: Iterable[str] = (), robots: Iterable[str] = ()
    ) -> Vocabulary:
        """Return the household's names, and labels, names of rooms, and robots."""
        household = load_household()
        rooms = tuple(sorted(set(rooms)))
        labels = tuple(labels)
        own = frozenset(map(plain_name, labels))
        words = Vocabulary(dict(_household_names()), tuple(robots), rooms, own)
        for label in labels:
            words._add(label, label=household.canonical(label) or label)
        for name in rooms:
            # A room of the map goes before the kind of room that bears its name.
            known = words.names.get(plain_name(name), Name())
            words.names[plain_name(name)] = replace(known, room=name)
        for name, floor in _FLOORS.items():
            words._add(name, floor=floor)
        for robot in words.robots:
            words._add(plain_name(robot), robot=robot)
        return words

    def _add(self, name: str, **told: Any) -> None:
        """Let a name mean something more; what it means already stays."""
        text = plain_name(name)
        known = self.names.get(text, Name())
        new = {field: value for field, value in told.items() if not getattr(known, field)}
        self.names[text] = replace(known, **new)

    def ending(self, words: list[str], start: int, end: int) -> tuple[Name, int] | None:
        """Return the longest name that ends before `end`, and the index where it begins."""
        for first in range(max(start, end - MAX_NAME_WORDS), end):
            name = self.lookup(" ".join(words[first:end]))
            if name is not None:
                return name, first
        return None

    def lookup(self, text: str) -> Name | None:
        """Return what a name stands for, in the singular or the plural; None: unknown."""
        found = self.names.get(text)
        if found is not None:
            # Some categories have plural names ("books", "keys"): such a word says nothing.
            plural = text.endswith("s") and bool(singulars(text)) and text.split()[-1] not in _PAIRS
            return replace(found, plural=plural, compound=self._compound(text, found.label))
        for form in singulars(text):
            if form in self.names:
                found = self.names[form]
                return replace(found, plural=True, compound=self._compound(form, found.label))
        kind, _, number = text.rpartition(" ")
        if number.isdecimal() and kind in self.names and self.names[kind].room:
            return Name(room=text)  # "bedroom 7": one that no map may have yet
        if text + "s" in self.names:
            return self.names[text + "s"]
        head, _, rest = text.partition(" ")
        while rest:
            room = self.names.get(head)
            thing = self.lookup(rest) if room is not None and room.room else None
            if room is not None and thing is not None and thing.label and not thing.compound:
                return replace(thing, room="", compound=room.room)
            word, _, rest = rest.partition(" ")
            head = f"{head} {word}"
        return None

    def _compound(self, text: str, label: str) -> str:
        """Return the room that a name of several words begins with ("kitchen counter")."""
        head, _, rest = text.partition(" ")
        thing = self.names.get(rest)
        if not rest or thing is None or thing.label != label:
            return ""
        for name in (head, f"{head} room"):
            room = self.names.get(name)
            if room is not None and room.room:
                return room.room
        return ""

    def words(self) -> list[str]:
        """Return the single words of all names, singular and plural: what may be misspelled."""
        single = {word for name in self.names for word in name.split() if not word.isdigit()}
        return sorted(single | {f"{word}s" for word in single if not word.endswith("s")})


@lru_cache(maxsize=1)
def _household_names() -> dict[str, Name]:
    household, lexicon = load_household(), load_lexicon()
    words = Vocabulary()
    for label, category in household.categories.items():
        for name in (label, *category.synonyms):
            words._add(name, label=label)
    for name, kind in household.room_words.items():
        if name not in ("tv", "tv room"):
            words._add(name, room=name if name in household.kindred_rooms else kind)
    for name in ("trash", "garbage", "rubbish", "waste"):
        words._add(name, label=household.canonical("trash can"))
    for label, synonyms in lexicon.labels.items():
        for name in (label, *synonyms):
            words._add(name, label=household.canonical(label))
    for kind, found in lexicon.classes.items():
        members = tuple(dict.fromkeys(household.canonical(label) for label in found.labels))
        for word in found.words:
            known = words.names.get(plain_name(word))
            if known is None:
                words.names[plain_name(word)] = Name(members[0], members)
            elif kind in _SPECIAL_CLASSES and word not in _NARROW and known.label:
                all_of = tuple(dict.fromkeys((known.label, *members)))
                words.names[plain_name(word)] = replace(known, members=all_of)
    return words.names


def plain_name(name: str) -> str:
    """Return a name in lower case with single spaces for signs."""
    return " ".join(re.sub(r"[\s_#/-]+", " ", name.lower()).split())
