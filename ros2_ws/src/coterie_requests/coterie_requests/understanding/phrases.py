"""Noun phrases of household language: how many, which ones, what they are, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from coterie_core.colors import basic_color
from coterie_core.household import load_household, normalized, singulars
from coterie_requests.lexicon import load_lexicon
from coterie_requests.request import ALL, Place, Relation, Thing
from coterie_requests.understanding.quantities import SUPERLATIVES
from coterie_requests.understanding.text import word_tables
from coterie_requests.understanding.vocabulary import Vocabulary, plain_name
from coterie_world.sizes import SIZE_ORDERS

PERSONS = frozenset(word_tables()["persons"].split())
"""Words for persons, whose places robots do not know."""
Number = Literal["one", "some", "all"]
Which = Literal["", "other", "another", "rest"]
_ANY = frozenset(word_tables()["anything"].split())
_HOUSE = frozenset(word_tables()["home"].split())


@dataclass(frozen=True, slots=True)
class Modifier:
    """Where the things of a phrase are, or are not: `relation` is in, on, near, from, with, ..."""

    relation: Relation
    phrase: Phrase
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase.

    `label` is the household's name of the thing ("" if it can only be a place), `members` labels
    where several kinds are meant ("toys", "something to drink"), best first; `room` a room's name
    or type ("" if it can only be a thing), `floor` a floor. A compound such as "kitchen counter"
    has label counter and `compound` kitchen. `noun` are the words as said. `number` says how many
    are meant: one (of them), some (`count`), or all; `ordinal`, `order` and `which` say which ones
    (measured from `by`), `excluded` which ones not; any of `alternatives` will do as well.
    `ignored` are words that no name tells; of these `qualities` are words of the lexicon ("soft"),
    and `sized` is the order that an adjective asks for ("large").
    """

    said: str
    noun: str = ""
    label: str = ""
    members: tuple[str, ...] = ()
    room: str = ""
    floor: str = ""
    robot: str = ""
    compound: str = ""
    color: str = ""
    number: Number = "one"
    count: int = 1
    definite: bool = False
    ordinal: int = 0
    order: str = ""
    which: Which = ""
    use: str = ""
    known: bool = True
    person: bool = False
    house: bool = False
    anything: bool = False
    ignored: tuple[str, ...] = ()
    qualities: tuple[str, ...] = ()
    sized: str = ""
    places: tuple[Modifier, ...] = ()
    excluded: tuple[Phrase, ...] = ()
    alternatives: tuple[Phrase, ...] = ()
    by: tuple[Phrase, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """What detectors may call such things, likeliest first."""
        own = self.members or ((self.label or self.noun,) if self.label or self.noun else ())
        others = (label for other in self.alternatives for label in other.labels)
        return tuple(dict.fromkeys((*own, *others)))

    def mentioned(self) -> Iterator[Phrase]:
        """Yield the phrase and all that stand in it: places, what is left out, alternatives."""
        yield self
        places = (place.phrase for place in self.places)
        for inner in (*places, *self.excluded, *self.alternatives, *self.by):
            yield from inner.mentioned()


def phrase_of(thing: Thing, names: Vocabulary) -> Phrase:
    """Return what the plain words of a thing stand for, by the names that mean something here.

    A noun that nobody knows is looked for by its last words that are known ("coffee mug"); what
    stands before them, and what else robots cannot tell, is `ignored`. Nothing is refused.

    Args:
        thing: Thing or place as a person describes it.
        names: Names of the household, the map and the robots.
    """
    noun = plain_name(thing.name)
    denied = [one for one in thing.without if load_lexicon().denied_in(one.use)]
    if denied:  # "not at room temperature" asks for a use
        kept = tuple(one for one in thing.without if one not in denied)
        use = thing.use or denied[0].use
        thing = thing.but(without=kept, use=use)
    joined = plain_name(" ".join((*thing.attributes, noun)))
    joined = joined if thing.attributes and joined in names.names else ""  # of a "coffee table"
    noun = joined or noun
    phrase = _unnamed(thing) if noun in _ANY or not noun else _named(noun, thing, names)
    ignored = [*phrase.ignored]
    compound = phrase.compound
    for word in () if joined else thing.attributes:
        name = names.lookup(plain_name(word))
        if name is not None and name.room and not compound:
            compound = name.room  # "the office chair"
        else:
            ignored.append(word)
    color = basic_color(thing.color)
    if thing.color and not color:
        ignored.append(thing.color)
    which = thing.choice if thing.choice in ("other", "another", "rest") else ""
    sizes = (order for word in ignored if (order := size_order(word)))
    return replace(
        phrase,
        qualities=tuple(q for word in ignored for q in load_lexicon().qualities_in(word)),
        sized=next(sizes, ""),
        said=thing.said or thing.told(),
        compound=compound,
        color=color,
        number="all" if thing.amount == ALL else "one" if thing.amount == 1 else "some",
        count=thing.amount,
        definite=thing.definite,
        ordinal=thing.rank,
        order="" if which else thing.choice,
        which=which,
        ignored=tuple(ignored),
        places=tuple(modifier_of(place, names) for place in thing.places),
        excluded=tuple(phrase_of(_one_of(thing, out), names) for out in thing.without),
        alternatives=tuple(phrase_of(one, names) for one in thing.either),
        by=tuple(phrase_of(one, names) for one in thing.by),
    )


def _one_of(thing: Thing, out: Thing) -> Thing:
    """Return what is left out of things; where no other name is said it is some of themselves."""
    told = out.name or out.use or any(map(load_lexicon().qualities_in, out.attributes))
    return out if told else out.but(name=thing.name, use=thing.use)


def modifier_of(place: Place, names: Vocabulary) -> Modifier:
    """Return what the plain words of a place stand for; several things are alternatives.

    The ends of "between" are alternatives too: what lies between them is found by all of them.
    """
    first, *others = (phrase_of(thing, names) for thing in place.things)
    if others:
        first = replace(first, alternatives=(*first.alternatives, *others))
    return Modifier(place.relation, first, place.negated)


def _unnamed(thing: Thing) -> Phrase:
    """Anything, or what serves a use."""
    if not thing.use:
        return Phrase("", noun="everything" if thing.amount == ALL else "thing", anything=True)
    found = things_for(thing.use)
    if not found:
        return Phrase("", noun=thing.use, use=thing.use, known=False)
    return Phrase("", noun=thing.use, label=found[0], members=found, use=thing.use)


def _named(noun: str, thing: Thing, names: Vocabulary) -> Phrase:
    """What a noun stands for: things, a room, a floor, a robot, a person."""
    if noun in _HOUSE:
        return Phrase("", noun=noun, house=True)
    words = noun.split()
    head = names.ending(words, 0, len(words))
    if head is None or noun in PERSONS:
        label = next(iter(singulars(noun)), noun)
        person = words[-1] in PERSONS
        return Phrase("", noun=noun, label=normalized(label), known=False, person=person)
    name, first = head
    own = " ".join(words[first:])
    if thing.amount > 1 and singulars(own) and not name.plural:
        # "six glasses" are to drink from, "my glasses" are not.
        name = names.lookup(singulars(own)[-1]) or name
    ignored = words[:first]
    if thing.use and name.label not in things_for(thing.use):
        ignored.append(thing.use)
    return Phrase(
        "",
        noun=own,
        label=name.label,
        members=name.members,
        room=name.room,
        floor=name.floor,
        robot=name.robot,
        compound=name.compound,
        ignored=tuple(ignored),
    )


@lru_cache(maxsize=256)
def things_for(text: str) -> tuple[str, ...]:
    """Return the household's labels of things for a use or quality in words, best first."""
    household = load_household()
    labels: dict[str, float] = {}
    for label, grade in load_lexicon().serving(text).items():
        name = household.canonical(label)
        if grade >= 0.5 and household.category(name) is not None:
            labels[name] = max(grade, labels.get(name, 0.0))
    return tuple(sorted(labels, key=lambda name: (-labels[name], name)))


def size_order(word: str) -> str:
    """Return the order that an adjective asks for: of "large" the one of "largest"; "" if none."""
    forms = (f"{word}st", f"{word}est", f"{word}{word[-1:]}est")
    found = next((SUPERLATIVES[form] for form in forms if form in SUPERLATIVES), "")
    return found if found in SIZE_ORDERS else ""
