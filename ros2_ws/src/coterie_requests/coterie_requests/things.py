"""Noun phrases of the grammar as Things: how many, which ones, what they are, where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import lark

from coterie_requests.lexicon import load_lexicon
from coterie_requests.request import ALL, Place, Relation, Thing
from coterie_requests.understanding.problems import NotUnderstood
from coterie_requests.understanding.quantities import NUMBERS, SUPERLATIVES, ordinal_of

Tree = lark.Tree[lark.Token]
"""A tree of the grammar."""
_NO_USE = frozenset(
    ("not", "no", "never", "without", "neither", "nor", "nothing", "except", "but", "than",
     "unless", "if", "until", "near", "next", "behind", "beside", "between", "opposite")
)  # fmt: skip
"""Words of exclusions and of places: where these were not read, they are no words of a use."""
IT, ONE = "it", "one"
"""Names of things that stand for what was said before; no finished Request has them."""
_PLACE = re.compile(r"(\d+)\}")
"""Place of a word in the part that it is of; a token may be of several."""
RELATIONS: dict[str, Relation] = {
    "on": "on", "in_": "in", "near": "near", "under": "under", "above": "above",
    "in_front_of": "in front of", "behind": "behind", "left_of": "left of",
    "right_of": "right of", "far_from": "far from", "from_": "from", "between": "between",
    "to": "to", "into": "in", "onto": "on",
}  # fmt: skip
"""Relations by the grammar's rules for their words."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word, or a name of several: as said, its tags, the name in the singular."""

    said: str
    tags: str
    name: str
    plural: bool = False


def trees(node: Tree, *names: str) -> list[Tree]:
    """Return the children of a tree that are trees, of some rules or of any."""
    own = [child for child in node.children if isinstance(child, lark.Tree)]
    return [child for child in own if child.data in names] if names else own


def no_use(said: str) -> str:
    """Return the words of a use from where it is none: an exclusion, a place, an odd word."""
    rest = load_lexicon().uncued(said).split()
    odd = (k for k, word in enumerate(rest) if word in _NO_USE or any(map(str.isdigit, word)))
    return " ".join(rest[next(odd, len(rest)) :])


class ThingReader:
    """Makes Things of the trees of one part of a text."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words

    def word(self, token: lark.Token) -> Word:
        """Return the word that a token stands for."""
        return self.words[self._index(token)]

    @staticmethod
    def _index(token: lark.Token) -> int:
        return int("".join(c for c in token[token.rindex("{") :] if c.isdigit()))

    def said(self, node: Tree) -> str:
        """Return the words from the first to the last one of a tree."""
        at = [int(place) for token in tokens_of(node) for place in _PLACE.findall(token)]
        return " ".join(word.said for word in self.words[min(at) : max(at) + 1]) if at else ""

    # -- things -----------------------------------------------------------------------------------

    def things(self, node: Tree) -> tuple[Thing, ...]:
        """Return the things of a list; a place said of the last counts for those before it."""
        found = [self.np(child) for child in trees(node, "np")]
        own = found[-1].name in (IT, ONE)  # "the mug and the one on the desk": only that one is
        found = _each_named(found)
        last = found[-1]
        if last.places and not own and not any(thing.places for thing in found[:-1]):
            found = [t.but(places=last.places) for t in found[:-1]] + [last]
        return tuple(found)

    def np(self, node: Tree) -> Thing:
        """Return what a noun phrase, its alternatives and its exclusions describe."""
        each = trees(node, "one_np", "only_amount", "pronoun", "something")
        found = [self.one(child) for child in each]
        for k in range(1, len(found)):
            if not trees(each[k], *_AMOUNTS):  # "three plates or bowls"
                found[k] = found[k].but(amount=found[0].amount)
        found = _each_named(found)
        if not any(one.places for one in found[:-1]):  # "a mug or a glass on the table"
            found = [one.but(places=found[-1].places) for one in found]
        thing = found[0].but(either=tuple(found[1:])) if found[1:] else found[0]
        thing = self.without(thing, trees(node, "but"))
        return thing.but(said=self.said(node) or thing.said)

    def without(self, thing: Thing, buts: Iterable[Tree]) -> Thing:
        """Return a thing that leaves out what exclusions name ("but not the blue one")."""
        out = [self.np(one) for but in buts for one in trees(but, "np")]
        out = [like(one, thing) if one.name in (IT, ONE) else one for one in out]
        return thing.but(without=(*thing.without, *out))

    def one(self, node: Tree) -> Thing:
        """Return what one noun phrase describes."""
        if node.data == "pronoun":
            word = self.word(tokens_of(node)[0])
            plural = word.said in ("them", "they", "those", "these")
            thing = Thing(name=IT, said=word.said, amount=ALL if plural else 1, definite=True)
        elif node.data == "something":
            said = self.word(_own_tokens(node)[0]).said
            amount = ALL if said.startswith(("every", "any")) else 1
            fields = self._modified(node)
            if trees(node, "other"):
                fields["choice"] = "rest" if amount == ALL else "another"
            thing = Thing(amount=amount, said=self.said(node), **fields)
        else:
            thing = self.noun_phrase(node)
        return self.posted(thing, trees(node, *POSTS))

    def noun_phrase(self, node: Tree) -> Thing:
        """Return what amount, adjectives and noun describe."""
        mods = trees(node, "mods", "elided")
        fields = self._modified(*mods)
        plural = any(self.word(t).said == "others" for one in mods for t in tokens_of(one))
        name = ONE
        for noun in trees(node, "noun", "generic"):
            word = self.word(_own_tokens(noun)[0])
            name, plural = word.name, word.plural
            if noun.data == "generic":
                name = ONE if word.said.startswith("one") else ""
                plural = word.said.endswith("s") or word.said == "stuff"
            more = tuple(f"of {self.said(one)}" for one in trees(noun, "noun_"))
            fields["attributes"] = (*fields.get("attributes", ()), *more)
        singled = fields.get("rank") or fields.get("choice", "other") != "other"
        amount: dict[str, Any] = {"amount": ALL if plural and not singled else 1}
        for counted in trees(node, *_AMOUNTS):
            amount |= _AMOUNTS[counted.data]
            if counted.data in ("two", "some") and not plural:
                amount["amount"] = 1
            for token in (t for t in tokens_of(counted) if t.type == "NUMBER"):
                amount["amount"] = _number(self.word(token).said)
            if counted.data == "none":
                fields["attributes"] = (*fields.get("attributes", ()), "no")
        return Thing(said=self.said(node), name=name, **(fields | amount))

    def _modified(self, *nodes: Tree) -> dict[str, Any]:
        """Return the fields of the words before a noun: color, choice, rank, adjectives."""
        fields: dict[str, Any] = {"attributes": ()}
        for child in (child for node in nodes for child in node.children):
            token = child if isinstance(child, lark.Token) else next(iter(tokens_of(child)), None)
            kind = child.data if isinstance(child, lark.Tree) else child.type
            said = self.word(token).said if token is not None else ""
            if kind == "COLOR":
                fields["color"] = said
            elif kind == "rank":
                fields["rank"] = _number(said)
            elif kind == "choice":
                fields["choice"] = SUPERLATIVES.get(said, "other")
            elif kind in ("ADJECTIVE", "most"):
                told = f"most {said}" if kind == "most" else said
                fields["attributes"] = (*fields["attributes"], told)
        return fields

    def use(self, node: Tree) -> str:
        """Return the words of a use, with "to" or "for" before them: "somewhere to eat"."""
        first = self._index(tokens_of(node)[0])
        before = [word.said for word in self.words[max(0, first - 2) : first]]
        if strange := no_use(self.said(node)):
            raise NotUnderstood(f"I did not understand {strange!r}", "word", strange.split()[-1])
        place = "somewhere " if {"somewhere", "anywhere", "place", "where"} & {*before} else ""
        last = before[-1] if before else ""
        said = {"for": "for ", "that": "that ", "which": "that ", "not": "", "without": ""}
        return f"{place}{said.get(last, 'to ')}{self.said(node)}"

    def nearest_or_farthest(self, token: lark.Token) -> str:
        """Return the choice that a word means: "closest", "far"."""
        return "farthest" if self.word(token).said.startswith(("far", "fur")) else "nearest"

    # -- places -----------------------------------------------------------------------------------

    def posted(self, thing: Thing, posts: Sequence[Tree]) -> Thing:
        """Add what follows a noun: places, uses, what it is nearest to."""
        places: list[Place] = []
        without = [*thing.without]
        more: dict[str, object] = {}
        for post in posts:
            if post.data in ("post", "with", "with_no", "of_room"):
                places.append(self.place(post.children[-1] if post.data == "post" else post))
            elif post.data in ("nearest_to", "ranked_from"):
                more["by"] = tuple(self.flat(c) for c in trees(post, "flat"))
                tokens = [t for t in tokens_of(post) if t.type in ("NEAREST", "FAR")]
                if tokens:
                    more["choice"] = self.nearest_or_farthest(tokens[0])
            elif post.data in ("serves", "offers"):
                more["use"] = self.use(trees(post, "use")[0])
            elif post.data in ("serves_not", "less"):
                without.append(Thing(use=self.use(trees(post, "use", "doing")[0])))
            else:
                out = [self.np(c) for c in trees(post, "np")]
                without += [like(one, thing) if one.name == ONE else one for one in out]
                places += [self.place(c, negated=True) for c in trees(post, "place")]
        more |= {"without": tuple(without), "places": nested(places, self.words)}
        return thing.but(**more)

    def places(self, node: Tree) -> tuple[Place, ...]:
        """Return the places that are told beside things, as they belong together."""
        own = [self.place(one) for one in trees(node, "place", "upstairs", "within")]
        return nested(own, self.words)

    def place(self, node: object, *, negated: bool = False) -> Place:
        """Return where something is."""
        assert isinstance(node, lark.Tree)
        if node.data in ("upstairs", "of_room"):
            word = self.word(tokens_of(node)[-1])
            return Place(things=(Thing(name=word.name, said=word.said),))
        told = [RELATIONS[child.data] for child in trees(node, *RELATIONS)]
        relation = told[0] if told else "in" if node.data == "within" else "with"
        negated = negated or node.data == "with_no" or bool(trees(node, "no"))
        things = tuple(self.flat(c) for c in trees(node, "flat"))
        return Place(relation=relation, things=things, negated=negated)

    def target(self, node: Tree) -> tuple[Place, tuple[Place, ...]]:
        """Return where things go, and where they are now: "the mug in the closet on the sofa".

        Raises:
            NotUnderstood: They would go to several places: "into the closet on the sofa".
        """
        if trees(node, "inside"):
            return Place(
                relation="in", things=(Thing(name=IT, said=self.said(node) or "there"),)
            ), ()
        place = self.place(next(iter(trees(node, "upstairs")), node))
        posts = [self.place(p.children[-1]) for p in trees(node, "post")]
        *now, to = nested((place, *posts), self.words)
        if now and trees(node, "to", "into", "onto"):
            said = self.said(node)
            raise NotUnderstood(f"{said!r} are several places", "target", said,
                                question="Where shall it go?")  # fmt: skip
        return to, tuple(now)

    def flat(self, node: Tree) -> Thing:
        """Return what a noun phrase without places describes."""
        if trees(node, "it"):
            return Thing(name=IT, said=self.said(node), definite=True)
        return self.noun_phrase(node)


def nested(places: Sequence[Place], words: Sequence[Word]) -> tuple[Place, ...]:
    """Return places as they belong: "on the table in the kitchen" is one, of the table there.

    What is said of a room, and "from", is of the thing itself. What may be a room, as a closet is,
    stands on and in no furniture: "the shoes in the closet on the bench".
    """
    tags = {word.name: word.tags for word in words}
    kept: list[Place] = []
    for place in reversed(places):
        kept.insert(0, place)
        if len(kept) < 2 or kept[1].relation in ("from", "with"):
            continue
        thing, after = place.things[-1], kept[1]
        room_within = set("RF") & set(tags.get(after.thing.name, ""))
        here = set(tags.get(thing.name, "T"))
        if after.relation in ("in", "on") and here >= set("TR") and not room_within:
            continue
        if set("TP") & here or ("F" in tags.get(after.thing.name, "") and room_within):
            own = thing.but(places=(after, *thing.places))
            kept[:2] = [place.but(things=(*place.things[:-1], own))]
    return tuple(kept)


def like(thing: Thing, noun: Thing) -> Thing:
    """Return what "it", "the one" or "the red" stands for: a thing with the noun of another."""
    if thing.name == IT:
        return noun.but(places=thing.places or noun.places)
    fields = {"name": noun.name, "use": thing.use or noun.use, "said": f"{thing.said} {noun.name}"}
    return thing.but(**fields)


def with_places(things: Iterable[Thing], places: Sequence[Place]) -> tuple[Thing, ...]:
    """Return things with further places that they are in."""
    return tuple(t.but(places=(*t.places, *places)) for t in things)


def _each_named(found: list[Thing]) -> list[Thing]:
    """Give things the noun of others: "the red and the blue mug", "a red mug and the other one"."""
    for k in range(len(found) - 2, -1, -1):
        if found[k].name == ONE and found[k + 1].name:
            found[k] = like(found[k], found[k + 1])
    for k in range(1, len(found)):
        if found[k].name == ONE and found[k - 1].name:
            found[k] = like(found[k], found[k - 1])
    return found


def _own_tokens(node: Tree) -> list[lark.Token]:
    return [child for child in node.children if isinstance(child, lark.Token)]


def tokens_of(node: Tree) -> list[lark.Token]:
    """Return the words of a tree that are kept, in order."""
    return list(node.scan_values(lambda value: isinstance(value, lark.Token)))


def _number(said: str) -> int:
    return int(said) if said.isdecimal() else NUMBERS.get(said, 0) or ordinal_of(said)


POSTS = ("post", "post_not", "serves", "serves_not", "offers", "less", "with", "with_no",
         "nearest_to", "ranked_from", "of_room")  # fmt: skip
"""Rules of what follows a noun."""
_AMOUNTS: dict[str, dict[str, Any]] = {
    "all": {"amount": ALL}, "both": {"amount": 2, "definite": True}, "one": {"amount": 1},
    "none": {"amount": ALL}, "another": {"amount": 1, "choice": "another"}, "two": {"amount": 2},
    "six": {"amount": 6}, "dozen": {"amount": 12}, "some": {"amount": 2},
    "rest": {"amount": ALL, "choice": "rest", "definite": True}, "number": {},
    "definite": {"definite": True},
}  # fmt: skip
"""What words before a noun say, by the grammar's rules for them."""
