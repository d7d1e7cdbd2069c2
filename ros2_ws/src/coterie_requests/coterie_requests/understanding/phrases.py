"""Noun phrases of household language: how many, which ones, what they are, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from coterie_core.colors import basic_color
from coterie_core.household import load_household, normalized, singulars
from coterie_requests.lexicon import load_lexicon
from coterie_requests.request import ALL, Place, Relation, Thing
from coterie_requests.understanding.english import is_name
from coterie_requests.understanding.quantities import (
    SUPERLATIVES,
    Number,
    Quantity,
    Which,
    begins_phrase,
    read_quantity,
)
from coterie_requests.understanding.text import words_of
from coterie_requests.understanding.vocabulary import Vocabulary, plain_name

_MATERIALS = frozenset(
    words_of("steel oak walnut metallic bronze copper charcoal chestnut lime olive dark")
)
"""Words for colors that say what a thing is made of, or are things themselves."""
_VAGUE = frozenset(
    words_of(
        "small big large little tiny huge old new clean dirty empty full nice own same whole "
        "remaining left right tall short long round wooden plastic metal favourite favorite fresh"
    )
)
_PRONOUNS = {"it": 1, "them": 2, "they": 2, "those": 2, "these": 2, "that": 1, "this": 1}
PERSONS = frozenset(
    words_of(
        "me us myself ourselves him her you everyone everybody someone somebody anyone mom mum "
        "mommy mummy mother dad daddy father grandma grandmother granny grandpa grandfather "
        "wife husband partner girlfriend boyfriend kid kids child children baby son daughter "
        "brother sister uncle aunt guest guests visitor visitors neighbor neighbour neighbors "
        "neighbours friend friends person people man woman boss doctor nurse patient owner "
        "roommate flatmate family "
        "parents tenant"
    )
)
"""Words for persons, whose places robots do not know."""
_EVERYTHING = frozenset(("everything", "things", "stuff", "items", "objects", "anything"))
_SOMETHING = frozenset(("something", "anything", "somewhere", "thing", "item", "object"))
_ANY = frozenset(words_of("thing things item items object objects stuff everything anything "
                         "something"))  # fmt: skip
"""Names that say no more than that anything is meant; a model may write them."""
_HOUSE = frozenset(
    words_of("house home apartment flat building room anywhere everywhere somewhere")
)
STOPS = frozenset(
    words_of(
        "to into onto in inside on at from off out of under underneath below beneath next near "
        "beside between by behind above over with without for and or but then , if whether is "
        "are that which who when before after until unless except because again now please up "
        "down away back there here as than so upstairs downstairs its"
    )
)
"""Words that end a noun phrase."""
_MAX_PHRASE_WORDS = 8
_ONLY_ARTICLES = frozenset(("a", "an", "the", "my", "your", "our", "his", "her", "their", "its"))


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
    pronoun: bool = False
    person: bool = False
    house: bool = False
    anything: bool = False
    ignored: tuple[str, ...] = ()
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

    @property
    def bare(self) -> bool:
        """Whether it is a pronoun that tells nothing more: "it", and not "the blue one"."""
        return self.said in _PRONOUNS or self.said in ("all of them", "both of them", "both")

    def mentioned(self) -> Iterator[Phrase]:
        """Yield the phrase and all that stand in it: places, what is left out, alternatives."""
        yield self
        places = (place.phrase for place in self.places)
        for inner in (*places, *self.excluded, *self.alternatives, *self.by):
            yield from inner.mentioned()

    def within(self, relation: Relation, phrase: Phrase) -> Phrase:
        """Return the phrase with one more word on where its things are."""
        return replace(
            self,
            said=f"{self.said} {relation} {phrase.said}",
            places=(*self.places, Modifier(relation, phrase)),
        )

    def like(self, noun: Phrase) -> Phrase:
        """Return what "the one" or "them" stands for: this phrase with the noun of another."""
        if self.bare:
            return replace(noun, places=self.places or noun.places)
        return replace(
            self,
            said=f"{self.said} {noun.noun}".strip(),
            noun=noun.noun,
            label=noun.label,
            members=noun.members,
            room=noun.room,
            compound=self.compound or noun.compound,
            known=noun.known,
            use=noun.use,
            pronoun=False,
            anything=noun.anything,
        )


def phrase_of(thing: Thing, names: Vocabulary) -> Phrase:
    """Return what the plain words of a thing stand for, by the names that mean something here.

    A noun that nobody knows is looked for by its last words that are known ("coffee mug"); what
    stands before them, and what else robots cannot tell, is `ignored`. Nothing is refused.

    Args:
        thing: Thing or place as a person describes it.
        names: Names of the household, the map and the robots.
    """
    noun = plain_name(thing.name)
    if noun in _ANY or not noun:
        phrase = _unnamed(thing)
    else:
        phrase = _named(noun, thing, names)
    ignored = [*phrase.ignored]
    compound = phrase.compound
    for word in thing.attributes:
        name = names.lookup(plain_name(word))
        if name is not None and name.room and not compound:
            compound = name.room  # "the office chair"
        else:
            ignored.append(word)
    color = basic_color(thing.color)
    if thing.color and not color:
        ignored.append(thing.color)
    number: Number = "all" if thing.amount == ALL else "one" if thing.amount == 1 else "some"
    which = thing.choice if thing.choice in ("other", "another", "rest") else ""
    return replace(
        phrase,
        said=thing.said or thing.told(),
        compound=compound,
        color=color,
        number=number,
        count=thing.amount,
        definite=thing.definite,
        ordinal=thing.rank,
        order="" if which else thing.choice,
        which=which,
        ignored=tuple(ignored),
        places=tuple(modifier_of(place, names) for place in thing.places),
        excluded=tuple(phrase_of(one, names) for one in thing.without),
        alternatives=tuple(phrase_of(one, names) for one in thing.either),
        by=tuple(phrase_of(one, names) for one in thing.by),
    )


def modifier_of(place: Place, names: Vocabulary) -> Modifier:
    """Return what the plain words of a place stand for; several things are alternatives.

    The ends of "between" are alternatives too: what lies between them is found by all of them.
    """
    first, *others = (phrase_of(thing, names) for thing in place.things)
    return Modifier(place.relation, replace(first, alternatives=(*first.alternatives, *others))
                    if others else first, place.negated)  # fmt: skip


def _unnamed(thing: Thing) -> Phrase:
    """Anything, or what serves a use."""
    if not thing.use:
        return Phrase("", anything=True)
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
        person = words[-1] in PERSONS or is_name(words[-1])
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


def parse_phrase(words: list[str], start: int, names: Vocabulary) -> tuple[Phrase, int] | None:
    """Return the noun phrase that begins at a word and the index after it; None: none does."""
    whole = _fixed(words, start, names)
    if whole is not None:
        return whole
    quantity, i = read_quantity(words, start)
    order, color = "", ""
    ignored: list[str] = []
    while i < len(words) and (words[i] in SUPERLATIVES or words[i] == "most"):
        order = SUPERLATIVES.get(words[i], order)
        i += 1
    end = _end(words, i, names)
    said = " ".join(words[start:end])
    if i >= end:
        if end == start or not quantity.said or quantity.said in _ONLY_ARTICLES:
            return None
        # "two", "the rest", "both", "those" with no noun: of what was spoken of.
        phrase = Phrase(quantity.said, pronoun=True, order=order)
        return _counted(phrase, quantity, plural=False), end
    head = names.ending(words, i, end)
    first = head[1] if head is not None else end
    while i < first:
        word = words[i]
        if word not in _MATERIALS and basic_color(word):
            color = basic_color(word)
        elif word in ("one", "ones") and i + 1 == end:
            phrase = Phrase(said, pronoun=True, color=color, order=order, ignored=tuple(ignored))
            return _counted(phrase, quantity, plural=word == "ones"), end
        elif word in _VAGUE or (head is not None and word not in _EVERYTHING):
            ignored.append(word)
        else:
            break
        i += 1
    if head is not None and i == first:
        name = head[0]
        noun = " ".join(words[first:end])
        if quantity.number != "one" and singulars(noun) and not name.plural:
            # "six glasses" are to drink from, "my glasses" are not.
            name = names.lookup(singulars(noun)[-1]) or name
        phrase = Phrase(
            said=said,
            noun=noun,
            label=name.label,
            members=name.members,
            room=name.room,
            floor=name.floor,
            robot=name.robot,
            compound=name.compound or _room_before(ignored, names),
            color=color,
            order=order,
            ignored=tuple(w for w in ignored if w not in names.names),
        )
        # "orange": a color, and a thing of its own.
        return _counted(phrase, quantity, plural=name.plural), end
    rest = words[i:end]
    if not rest:
        if color or ignored:
            phrase = Phrase(said, pronoun=True, color=color, order=order, ignored=tuple(ignored))
            return _counted(phrase, quantity, plural=False), end
        return None
    noun = " ".join(rest)
    if noun in ("thing", "item", "object"):
        return _counted(Phrase(said, noun=noun, anything=True, color=color), quantity,
                        plural=False), end  # fmt: skip
    if noun in _EVERYTHING:
        phrase = Phrase(said, noun=noun, anything=True, color=color)
        return replace(phrase, number="all", definite=quantity.definite), end
    label = next(iter(singulars(noun)), noun)
    phrase = Phrase(
        said,
        noun=noun,
        label=normalized(label),
        known=False,
        color=color,
        order=order,
        person=rest[-1] in PERSONS,
        ignored=tuple(ignored),
    )
    return _counted(phrase, quantity, plural=label != noun), end


def _fixed(words: list[str], start: int, names: Vocabulary) -> tuple[Phrase, int] | None:
    """Pronouns, persons, floors, "everything", "something to drink"."""
    word = words[start]
    after = words[start + 1] if start + 1 < len(words) else ""
    if word in _SOMETHING or (word in ("a", "any") and after in _SOMETHING):
        used = _used(words, start + (word not in _SOMETHING))
        if used is not None:
            return used
    if word in ("everything", "anything", "everywhere", "anywhere") or word in _HOUSE:
        if word in _HOUSE or word in ("everywhere", "anywhere"):
            return Phrase(word, noun=word, house=True), start + 1
        end = start + 1
        if words[end : end + 1] == ["else"]:
            end += 1
            return Phrase("everything else", noun=word, anything=True, number="all",
                          which="rest"), end  # fmt: skip
        return Phrase(word, noun=word, anything=True, number="all"), end
    if word in ("all", "the", "all the") and after in _HOUSE:
        return Phrase(f"{word} {after}", noun=after, house=True), start + 2
    if word in ("upstairs", "downstairs"):
        return Phrase(word, noun=word, floor=names.names[word].floor), start + 1
    if word in _PRONOUNS and (not after or after in STOPS or begins_phrase(after)):
        number: Number = "all" if _PRONOUNS[word] > 1 else "one"
        return Phrase(word, pronoun=True, number=number), start + 1
    if word in PERSONS and (word != "her" or not after or after in STOPS or begins_phrase(after)):
        return Phrase(word, noun=word, person=True), start + 1
    if word in ("all", "both", "each") and words[start + 1 : start + 3] == ["of", "them"]:
        number = "all" if word != "both" else "some"
        return Phrase(f"{word} of them", pronoun=True, number=number, count=2), start + 3
    return None


def _used(words: list[str], start: int) -> tuple[Phrase, int] | None:
    """Something to drink, to sit on: things for a use."""
    end = start + 1
    while end < len(words) and end < start + _MAX_PHRASE_WORDS:
        if words[end] in (",", "and", "or", "in", "from", "upstairs", "downstairs", "for"):
            break
        if words[end] in ("to", "into", "onto", "at") and (end > start + 1):
            break
        end += 1
    while end > start + 1:
        said = " ".join(words[start:end])
        found = things_for(said)
        if found:
            return Phrase(said, noun=said, label=found[0], members=found, use=said), end
        end -= 1
    return None


@lru_cache(maxsize=256)
def things_for(text: str) -> tuple[str, ...]:
    """Return labels of things for the use or quality that a text asks for, best first."""
    household, lexicon = load_household(), load_lexicon()
    asked = [name for _, name in lexicon.uses_in(text) if not lexicon.uses[name].modifies]
    grades: dict[str, float] = {}
    if asked:
        grades = dict(lexicon.spread(lexicon.uses[asked[0]].things))
    else:
        for name in lexicon.qualities_in(text):
            for label, grade in lexicon.spread(lexicon.qualities[name].things).items():
                grades[label] = max(grade, grades.get(label, 0.0))
    labels: dict[str, float] = {}
    for label, grade in grades.items():
        name = household.canonical(label)
        if grade >= 0.5 and household.category(name) is not None:
            labels[name] = max(grade, labels.get(name, 0.0))
    return tuple(sorted(labels, key=lambda name: (-labels[name], name)))


def _end(words: list[str], start: int, names: Vocabulary) -> int:
    """Return the index after the last word that may belong to a noun phrase."""
    end = start
    while end < len(words) and end - start < _MAX_PHRASE_WORDS:
        word = words[end]
        # "top of the stairs", "bottle of water", "out of order": "of" joins where a name has it.
        if word == "of" and end > start and words[end - 1] not in STOPS:
            joined = names.lookup(" ".join(words[max(start, end - 2) : end + 2]))
            if joined is not None and joined.label:
                end += 2
                continue
        if (word in STOPS and not _named_over(words, start, end, names)) or begins_phrase(word):
            break
        end += 1
    return end


def _named_over(words: list[str], start: int, end: int, names: Vocabulary) -> bool:
    """Whether a word that usually ends a phrase is within a name ("chest of drawers")."""
    for first in range(max(start, end - 2), end + 1):
        for last in range(end + 1, min(len(words), first + 4) + 1):
            if last - first > 1 and " ".join(words[first:last]) in names.names:
                return True
    return False


def _room_before(ignored: list[str], names: Vocabulary) -> str:
    """Return the room that stands before a noun as a modifier ("the office chair")."""
    for word in ignored:
        name = names.names.get(word)
        if name is not None and name.room:
            return name.room
    return ""


def _counted(phrase: Phrase, quantity: Quantity, *, plural: bool) -> Phrase:
    phrase = replace(
        phrase, definite=quantity.definite, ordinal=quantity.ordinal, which=quantity.which
    )
    if quantity.number == "all":
        return replace(phrase, number="all", count=0)
    if quantity.count > 1:
        if "pair" in quantity.said.split() and not plural:
            return replace(phrase, number="one", count=1)  # "a pair of scissors"
        if quantity.said.split()[-1:] == ["some"] and not plural:
            return replace(phrase, number="one", count=1)  # "some milk"
        return replace(phrase, number="some", count=quantity.count)
    if quantity.which == "another" and plural and not quantity.count:
        return replace(phrase, number="some", count=2)  # "more plates"
    if quantity.count or phrase.order or quantity.ordinal:
        return replace(phrase, number="one", count=1)
    # "the mugs" and "mugs" are all of them.
    return replace(phrase, number="all" if plural else "one", count=0 if plural else 1)
