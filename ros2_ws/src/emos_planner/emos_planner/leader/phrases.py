"""Noun phrases of household language: how many, which colour, what or where, in plain words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from coterie_core.household import load_household, normalized, singulars
from coterie_core.scene import SceneGraph

LONGEST_NAME = 5
"""Words of the longest name that is looked for."""


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


_NUMBERS = {
    word: number
    for number, word in enumerate(
        words_of("one two three four five six seven eight nine ten eleven twelve"), start=1
    )
}
_ALL = ("all of the", "all of my", "all the", "all my", "all of", "all", "every one of the")
_EACH = ("every single", "every", "each of the", "each", "both of the", "both the", "both")
_SOME = ("some of the", "a couple of", "a pair of", "a few", "several", "some")
_ARTICLES = ("the", "my", "your", "our", "his", "her", "their", "this", "that", "these", "those")
_INDEFINITE = ("at least one", "another", "any", "a", "an")
_COLOURS = {
    "gray": "grey",
    "golden": "yellow",
    "silver": "steel",
    "brown": "walnut",
    "violet": "purple",
}
_VAGUE = frozenset(
    words_of(
        "small big large little tiny huge old new clean dirty empty full nice "
        "other same whole remaining left right tall short long round wooden "
        "plastic metal favourite favorite"
    )
)
_PRONOUNS = {"it": 1, "them": 2, "they": 2, "those": 2, "these": 2, "that": 1, "this": 1}
_PERSON = frozenset(["me", "us", "here", "myself", "him", "her", "you", "there"])
_PAIRS = frozenset(
    words_of(
        "keys glasses sunglasses eyeglasses spectacles scissors clothes "
        "headphones shoes dumbbells cards pants trousers stairs tissues drawers "
        "weights"
    )
)
_EVERYTHING = frozenset(("everything", "all things", "all the things", "things", "stuff"))
_FLOORS = {
    "upstairs": "up", "upper floor": "up", "upper level": "up", "top floor": "top",
    "downstairs": "down", "lower floor": "down", "ground floor": "0", "ground level": "0",
    "basement": "down", "first floor": "1", "second floor": "2", "third floor": "3",
    "attic": "top", "main floor": "0",
}  # fmt: skip
_HOUSE = ("house", "home", "apartment", "flat", "building", "anywhere", "everywhere", "somewhere")

Number = Literal["one", "some", "all"]

_GROUPS: dict[Number, tuple[str, ...]] = {"all": (*_ALL, *_EACH), "some": _SOME}


@dataclass(frozen=True, slots=True)
class Modifier:
    """Where the things of a phrase are: `relation` is in, on, near or from."""

    relation: str
    phrase: Phrase


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase.

    `label` is the household's name of the thing ("" if it can only be a place), `room` a room's
    name or type ("" if it can only be a thing), `floor` a word of `_FLOORS`. A compound such as
    "kitchen counter" has label counter and `compound` kitchen. `noun` are the words as said.
    `number` says how many are meant: one (of them), some (`count`), or all.
    """

    said: str
    noun: str = ""
    label: str = ""
    room: str = ""
    floor: str = ""
    robot: str = ""
    compound: str = ""
    color: str = ""
    number: Number = "one"
    count: int = 1
    known: bool = True
    pronoun: bool = False
    person: bool = False
    house: bool = False
    anything: bool = False
    ignored: tuple[str, ...] = ()
    places: tuple[Modifier, ...] = ()

    def within(self, relation: str, phrase: Phrase) -> Phrase:
        """Return the phrase with one more word on where its things are."""
        return replace(
            self,
            said=f"{self.said} {relation} {phrase.said}",
            places=(*self.places, Modifier(relation, phrase)),
        )

    def like(self, noun: Phrase) -> Phrase:
        """Return what "the one" or "them" stands for: this phrase with the noun of another."""
        plain = self.said in _PRONOUNS
        return replace(
            noun if plain else self,
            said=noun.said if plain else self.said,
            noun=noun.noun,
            label=noun.label,
            room=noun.room,
            compound=self.compound or noun.compound,
            color=self.color or noun.color,
            known=noun.known,
            pronoun=False,
            anything=noun.anything,
            places=self.places or (noun.places if plain else ()),
        )


@dataclass(frozen=True, slots=True)
class Name:
    """What a name stands for; one name may be a thing and a room at once ("closet")."""

    label: str = ""
    room: str = ""
    floor: str = ""
    robot: str = ""
    compound: str = ""
    plural: bool = False


@dataclass(slots=True)
class Vocabulary:
    """All names that are understood: those of the household, of a map, and of the robots."""

    names: dict[str, Name] = field(default_factory=dict)

    @staticmethod
    def of(scene: SceneGraph, robots: Iterable[str] = ()) -> Vocabulary:
        """Return the names that mean something to robots with this map."""
        household = load_household()
        words = Vocabulary(dict(_household_names()))
        for thing in scene.objects.values():
            label = thing.label.top
            words._add(label, label=household.canonical(label) or label)
            if re.search(r"\d", thing.id):
                words._add(_plain(thing.id), label=thing.id)
        for place in scene.rooms.values():
            for name in (place.name, place.id):
                # A room of the map goes before the kind of room that bears its name.
                known = words.names.get(_plain(name), Name())
                words.names[_plain(name)] = replace(known, room=place.name)
        for name, floor in _FLOORS.items():
            words._add(name, floor=floor)
        for robot in robots:
            words._add(_plain(robot), robot=robot)
        return words

    def _add(
        self, name: str, *, label: str = "", room: str = "", floor: str = "", robot: str = ""
    ) -> None:
        known = self.names.get(_plain(name), Name())
        self.names[_plain(name)] = Name(
            known.label or label, known.room or room, floor or known.floor, robot or known.robot
        )

    def find(self, words: list[str], start: int) -> tuple[Name, int] | None:
        """Return the longest name that begins at a word, and how many words it has."""
        for length in range(min(LONGEST_NAME, len(words) - start), 0, -1):
            name = self.lookup(" ".join(words[start : start + length]))
            if name is not None:
                return name, length
        return None

    def lookup(self, text: str) -> Name | None:
        """Return what a name stands for, in the singular or the plural; None: unknown."""
        found = self.names.get(text)
        if found is not None:
            # Some categories have plural names ("books", "keys"): such a word says nothing.
            plural = text.endswith("s") and bool(singulars(text)) and not _only_plural(text)
            return replace(found, plural=plural, compound=self._compound(text, found.label))
        for form in singulars(text):
            if form in self.names:
                found = self.names[form]
                return replace(found, plural=True, compound=self._compound(form, found.label))
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

    def near(self, text: str) -> str:
        """Return the name that is spelled most like `text` ("" if none is)."""
        if len(text) < 4:
            return ""
        close = difflib.get_close_matches(text, list(self.names), n=1, cutoff=0.84)
        return close[0] if close else ""


@lru_cache(maxsize=1)
def _household_names() -> dict[str, Name]:
    household = load_household()
    words = Vocabulary()
    for label, category in household.categories.items():
        for name in (label, *category.synonyms):
            words._add(name, label=label)
    for kind, room in household.room_types.items():
        for name in (kind, *room.synonyms):
            if name not in ("tv", "tv room"):
                words._add(name, room=kind)
    return words.names


def parse_phrase(words: list[str], start: int, names: Vocabulary) -> tuple[Phrase, int] | None:
    """Return the noun phrase that begins at a word and the index after it; None: none does."""
    quantity, i = _quantity(words, start)
    color = ""
    ignored: list[str] = []
    while i < len(words):
        found = names.find(words, i)
        if found is not None and not (words[i] in colours() and i + 1 < len(words)):
            name, length = found
            noun = " ".join(words[i : i + length])
            return _named(
                words, start, i + length, name, noun, quantity, color, ignored
            ), i + length
        word = words[i]
        if word in colours():
            color = _COLOURS.get(word, word)
        elif word in ("one", "ones"):
            phrase = Phrase(" ".join(words[start : i + 1]), pronoun=True, color=color)
            return _counted(phrase, quantity, plural=word == "ones"), i + 1
        elif word in _VAGUE:
            ignored.append(word)
        else:
            break
        i += 1
    return _other(words, start, i, names, quantity, color, ignored)


def _named(
    words: list[str],
    start: int,
    end: int,
    name: Name,
    noun: str,
    quantity: _Quantity,
    color: str,
    ignored: list[str],
) -> Phrase:
    phrase = Phrase(
        " ".join(words[start:end]),
        noun=noun,
        label=name.label,
        room=name.room,
        floor=name.floor,
        robot=name.robot,
        compound=name.compound,
        color=color,
        ignored=tuple(ignored),
    )
    return _counted(phrase, quantity, plural=name.plural)


def _other(
    words: list[str],
    start: int,
    i: int,
    names: Vocabulary,
    quantity: _Quantity,
    color: str,
    ignored: list[str],
) -> tuple[Phrase, int] | None:
    """Pronouns, persons, the house, and nouns that nobody knows."""
    if i >= len(words):
        return None
    word, said = words[i], " ".join(words[start : i + 1])
    if word in _EVERYTHING:
        return Phrase(said, noun=word, anything=True, number="all", color=color), i + 1
    if i == start and word in _PERSON and word != "her":
        return Phrase(said, person=True), i + 1
    if word in _HOUSE:
        return Phrase(said, noun=word, house=True), i + 1
    if i == start and word in _PRONOUNS:
        number: Number = "all" if _PRONOUNS[word] > 1 else "one"
        return Phrase(said, pronoun=True, number=number), i + 1
    if quantity.said and quantity.pronoun and word in _STOPS:
        # "that", "those" and the like by themselves, or "all" at the end.
        return Phrase(quantity.said, pronoun=True, number=quantity.number), i
    if word in _STOPS:
        return None
    end = i
    while end < len(words) and words[end] not in _STOPS and words[end] not in colours():
        if names.find(words, end) is not None:
            break
        end += 1
    noun = " ".join(words[i:end])
    if not noun:
        return None
    if end < len(words) and words[end] not in _STOPS:
        # "the shiny mug": a word that says nothing to robots before one that does.
        rest = parse_phrase(words, end, names)
        if rest is not None and rest[0].label and not rest[0].said.startswith(_ARTICLES):
            phrase = replace(
                rest[0],
                said=" ".join(words[start : rest[1]]),
                color=color or rest[0].color,
                ignored=(*ignored, *noun.split(), *rest[0].ignored),
            )
            plural = rest[0].number != "one"
            return _counted(phrase, quantity, plural=plural), rest[1]
    spelled = names.near(noun)
    if spelled:
        name = names.names[spelled]
        return _named(words, start, end, name, spelled, quantity, color, ignored), end
    label = next(iter(singulars(noun)), noun) if _plural_like(noun) else noun
    phrase = Phrase(
        " ".join(words[start:end]),
        noun=noun,
        label=normalized(label),
        known=False,
        color=color,
        ignored=tuple(ignored),
    )
    return _counted(phrase, quantity, plural=label != noun), end


@dataclass(frozen=True, slots=True)
class _Quantity:
    said: str = ""
    number: Number = "one"
    count: int = 0
    pronoun: bool = False


def _quantity(words: list[str], start: int) -> tuple[_Quantity, int]:
    rest = " ".join(words[start : start + 4]) + " "
    number: Number
    for number, group in _GROUPS.items():
        for said in group:
            if rest.startswith(said + " "):
                i = start + len(said.split())
                inner = _number(words, i)
                if inner is not None:  # "all three mugs"
                    return _Quantity(said, "some", inner, True), i + 1
                return _Quantity(said, number, 2 if number == "some" else 0, True), i
    i = start
    while i < len(words) and words[i] in _ARTICLES:
        i += 1
    if i == start:
        for said in _INDEFINITE:
            if rest.startswith(said + " "):
                return _Quantity(said, "one", 1), start + len(said.split())
    number_word = _number(words, i)
    if number_word is not None and i + 1 < len(words) and words[i + 1] not in _STOPS:
        end = i + 2 if words[i + 1] == "of" else i + 1
        while end < len(words) and words[end] in _ARTICLES:
            end += 1
        kind: Number = "some" if number_word > 1 else "one"
        return _Quantity(" ".join(words[start:end]), kind, number_word), end
    said = " ".join(words[start:i])
    return _Quantity(said, "one", 0, bool(said) and words[i - 1] in _PRONOUNS), i


def _number(words: list[str], i: int) -> int | None:
    if i >= len(words):
        return None
    word = words[i]
    if word.isdigit() and len(word) < 4:
        return int(word)
    if word == "one" and i + 1 < len(words) and words[i + 1] in _STOPS:
        return None
    return _NUMBERS.get(word)


def _counted(phrase: Phrase, quantity: _Quantity, *, plural: bool) -> Phrase:
    if quantity.number != "one":
        return replace(phrase, number=quantity.number, count=quantity.count)
    if quantity.count:
        return replace(
            phrase, number="one" if quantity.count == 1 else "some", count=quantity.count
        )
    # "the mugs" and "mugs" are all of them.
    return replace(phrase, number="all" if plural else "one", count=0 if plural else 1)


def colours() -> frozenset[str]:
    """Return the words for colours."""
    return frozenset((*load_household().colors, *_COLOURS)) - {"glass", "steel", "oak", "dark"}


def _plain(name: str) -> str:
    return " ".join(re.sub(r"[\s_#/-]+", " ", name.lower()).split())


def _plural_like(noun: str) -> bool:
    return bool(singulars(noun))


def _only_plural(text: str) -> bool:
    """Whether the plural means one thing ("the keys", "my glasses")."""
    return text.split()[-1] in _PAIRS


_STOPS = frozenset(
    words_of(
        "to into onto in inside on at from off out of under below next near "
        "beside by behind above with for and or but then , if whether is are that "
        "which who when before after until unless except because again now please "
        "up down away back"
    )
)
