"""Questions of the grammar as Steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import lark

from coterie_requests.request import ALL, Act, Place, Step, Thing
from coterie_requests.things import (
    POSTS,
    RELATIONS,
    ThingReader,
    Tree,
    nested,
    tokens_of,
    trees,
    with_places,
)

_MEASURES = {
    "closer": "nearer", "further": "farther", "bigger": "larger", "kind": "type", "sort": "type",
    "room": "", "level": "floor", "story": "floor",
}  # fmt: skip
"""Words of what is asked about, by the one name of each."""
_ATTRIBUTES = {"far": "far", "made_of": "material"}
"""What some rules ask about, whatever their words."""
_BEFORE = ("but", "place", "upstairs", "person")
"""Rules of what is said before the question itself."""


def question_steps(node: Tree, reader: ThingReader) -> list[Step]:
    """Return the steps that a tree of the grammar's rule `question` asks for.

    Args:
        node: The tree.
        reader: Reader of the part that it is of.
    """
    steps = [_step(one, reader) for one in trees(node) if one.data not in _BEFORE]
    where, but = reader.places(node), trees(node, "but")
    return [step.but(things=_narrowed(step.things, where, but, reader)) for step in steps]


def _step(node: Tree, reader: ThingReader) -> Step:
    build = _BUILD.get(node.data, _asked)
    step = build(_ACTS.get(node.data) or cast(Act, node.data), node, reader)
    things = _narrowed(step.things, (), trees(node, "but"), reader)
    none = [thing for thing in things if "no" in thing.attributes]
    if none and not step.negated:  # "is there no mug"
        things = tuple(
            t.but(attributes=tuple(a for a in t.attributes if a != "no")) for t in things
        )
    fields = {"things": things, "negated": step.negated or bool(none), "said": reader.said(node)}
    return step.but(**fields)


def _narrowed(
    things: Sequence[Thing], places: Sequence[Place], but: Sequence[Tree], reader: ThingReader
) -> tuple[Thing, ...]:
    """Return things with where they are and what is not meant, as told beside them."""
    return tuple(reader.without(thing, but) for thing in with_places(things, places))


def _things(node: Tree, reader: ThingReader) -> tuple[Thing, ...]:
    listed = [thing for one in trees(node, "things") for thing in reader.things(one)]
    return tuple(listed or (reader.np(one) for one in trees(node, "np")))


def _words(node: Tree, reader: ThingReader, *kinds: str) -> list[str]:
    own = [c for c in node.children if isinstance(c, lark.Token) and c.type in kinds]
    said = [reader.word(token).said for token in own]
    return [_MEASURES.get(word, word) for word in said]


def _asked(act: Act, node: Tree, reader: ThingReader) -> Step:
    """Ask something of things that are named, and of where they are.

    What they are compared with, or measured from, comes last.
    """
    things = with_places(_things(node, reader), reader.places(node))
    flats = tuple(reader.flat(one) for one in trees(node, "flat"))
    told = _words(node, reader, "ATTRIBUTE", "MEASURE", "COMPARED", "CLOSER", "ROOM_OR_FLOOR")
    attribute = _ATTRIBUTES.get(node.data) or next(reversed(told), "")
    choices = tuple(thing.told() for thing in things) if node.data == "which_is" else ()
    return Step(act=act, things=(*things, *flats), attribute=attribute, choices=choices)


def _has(act: Act, node: Tree, reader: ThingReader) -> Step:
    """Whether a room or furniture has things, or how many; the house is no place to look in."""
    owners = [reader.np(one) for one in trees(node, "np")]
    on_it = [c for one in trees(node, "on_it") for c in trees(one, *RELATIONS)]
    relation = RELATIONS[on_it[0].data] if on_it else "in"
    places = [Place(relation=relation, things=(owner,)) for owner in owners]
    listed = trees(node, "things")
    things = reader.things(listed[0]) if listed else (Thing(name="room", amount=ALL),)
    return Step(act=act, things=with_places(things, (*places, *reader.places(node))))


def _what(act: Act, node: Tree, reader: ThingReader) -> Step:
    """What things of some kind ("which books"), or of any, are somewhere, or nearest to one."""
    if trees(node, "np"):
        return _asked(act, node, reader)
    bare = trees(node, "bare")
    kind = reader.noun_phrase(bare[0]) if bare else Thing(amount=ALL)
    for nearest in (c for c in node.children if isinstance(c, lark.Token) and c.type == "NEAREST"):
        by = tuple(reader.flat(one) for one in trees(node, "flat"))
        more = {"amount": 1, "choice": reader.nearest_or_farthest(nearest), "by": by}
        kind = kind.but(**more)
    attribute = "".join(_words(node, reader, "ATTRIBUTE"))
    return Step(act=act, things=with_places((kind,), reader.places(node)), attribute=attribute)


def _is_so(act: Act, node: Tree, reader: ThingReader) -> Step:
    """Whether things are in a state, or of a color; or in which of several."""
    said = _words(node, reader, "STATE", "COLOR") or _words(node, reader, "ADJECTIVE")
    negated = bool(trees(node, "no")) and reader.word(tokens_of(node)[-1]).said != "not"
    choices = tuple(said) if len(said) > 1 else ()
    things = with_places(_things(node, reader), reader.places(node))
    return Step(act=act, things=things, attribute=said[0], choices=choices, negated=negated)


def _used(act: Act, node: Tree, reader: ThingReader) -> Step:
    use = reader.use(trees(node, "uses")[0])
    place = "place" if node.data == "used_where" else ""
    thing = reader.posted(Thing(use=use, amount=ALL), trees(node, *POSTS, "but"))
    return Step(act=act, things=(thing,), attribute=place)


def _relation(act: Act, node: Tree, reader: ThingReader) -> Step:
    things = _things(node, reader)
    places = [reader.place(one) for one in trees(node, "place", "upstairs")]
    if " or " not in f" {reader.said(node)} ":
        places = list(nested(places, reader.words))
    for other in trees(node, "flat"):
        places.append(places[-1].but(things=(reader.flat(other),)))
    asked = [with_places(things, [place]) for place in places]
    if len(asked) > 1:
        options = tuple(Step(act=act, things=one) for one in asked)
        return Step(act=act, options=options, choices=tuple(p.told() for p in places))
    known = all(t.definite or (t.name and t.amount != 1) for t in things)
    negated = bool(trees(node, "no"))
    return Step(act=act if known else "is_there", things=asked[0], negated=negated)


def _space(act: Act, node: Tree, reader: ThingReader) -> Step:
    things, to = _things(node, reader), next(iter(reader.places(node)), None)
    for one in trees(node, "target"):
        to, now = reader.target(one)
        things = with_places(things, now)
    return Step(act=act, things=things, to=to)


_BUILD: dict[str, Callable[[Act, Tree, ThingReader], Step]] = {
    "has": _has, "how_many": _has, "what": _what, "kind_of": _what, "is_color": _is_so,
    "state": _is_so, "used_for": _used, "used_where": _used, "relation": _relation,
    "space": _space,
}  # fmt: skip
_ACTS: dict[str, Act] = {
    "has": "is_there", "count": "how_many", "kind_of": "attribute", "is_color": "color",
    "made_of": "attribute", "used_where": "used_for", "far": "size", "how_large": "size",
    "which_is": "size", "is_than": "size",
}  # fmt: skip
