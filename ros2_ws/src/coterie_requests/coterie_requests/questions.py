"""Questions of the grammar as Steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
from coterie_requests.understanding.problems import NotUnderstood

_NEARER = {"closer": "nearer", "nearer": "nearer", "farther": "farther", "further": "farther"}
_STATES = {
    "opened": "open", "shut": "closed", "locked": "closed", "close": "closed", "lit": "on",
    "running": "on", "tidy": "clean", "dirty": "messy", "cluttered": "messy", "free": "empty",
    "occupied": "full", "plugged": "plugged in",
}  # fmt: skip


def question_steps(node: Tree, reader: ThingReader) -> list[Step]:
    """Return the steps that a tree of the grammar's rule `question` asks for.

    Args:
        node: The tree.
        reader: Reader of the part that it is of.
    """
    asked = trees(node)
    before = ("but", "place", "upstairs", "person")
    steps = [_step(one, reader) for one in asked if one.data not in before]
    return [
        _within(_without(step, trees(node, "but"), reader), _places(node, reader)) for step in steps
    ]


def _within(step: Step, places: Sequence[Place]) -> Step:
    """Add where all that a question asks about is, said before it."""
    return step.model_copy(update={"things": with_places(step.things, places)})


def _step(node: Tree, reader: ThingReader) -> Step:
    build = _BUILD.get(node.data)
    act: Act = node.data  # type: ignore[assignment]  # rules without a builder are named so
    step = build(node, reader) if build is not None else _asked(act, node, reader)
    said = reader.said(node)
    if any("no" in thing.attributes for thing in step.things):  # "is there no mug"
        things = tuple(
            t.model_copy(update={"attributes": tuple(a for a in t.attributes if a != "no")})
            for t in step.things
        )
        step = step.model_copy(update={"things": things, "negated": True})
    step = _without(step, trees(node, "but"), reader)
    return step.model_copy(update={"said": said})


def _without(step: Step, excluded: Sequence[Tree], reader: ThingReader) -> Step:
    """Leave out what a question names as not meant, before or after what it asks."""
    out = tuple(reader.np(one) for but in excluded for one in trees(but, "np"))
    things = tuple(t.model_copy(update={"without": (*t.without, *out)}) for t in step.things)
    return step.model_copy(update={"things": things})


def _things(node: Tree, reader: ThingReader) -> tuple[Thing, ...]:
    listed = [thing for one in trees(node, "things") for thing in reader.things(one)]
    return tuple(listed or (reader.np(one) for one in trees(node, "np")))


def _places(node: Tree, reader: ThingReader) -> list[Place]:
    places = [reader.place(one) for one in trees(node, "place", "upstairs")]
    return list(nested(places, reader.words))


def _words(node: Tree, reader: ThingReader, kind: str) -> list[str]:
    own = [c for c in node.children if isinstance(c, lark.Token) and c.type == kind]
    return [reader.word(token).said for token in own]


def _asked(act: Act, node: Tree, reader: ThingReader) -> Step:
    return Step(act=act, things=with_places(_things(node, reader), _places(node, reader)))


def _is_there(node: Tree, reader: ThingReader) -> Step:
    places = _places(node, reader)
    if trees(node, "nothing"):
        things = with_places((Thing(amount=ALL),), places)
        return Step(act="is_there", things=things, negated=True)
    if any(token.type == "AT_MOST" for token in tokens_of(node)):
        said = reader.said(node)
        raise NotUnderstood(f"{said!r} asks whether there are no more; that is not answered",
                            "word", said, question="Ask how many there are")  # fmt: skip
    things = _things(node, reader)
    if places:  # "a mug in the kitchen or in the bedroom"
        last = things[-1]
        other = last.model_copy(update={"places": tuple(places)})
        things = (*things[:-1], last.model_copy(update={"either": (*last.either, other)}))
    return Step(act="is_there", things=things)


def _has(node: Tree, reader: ThingReader) -> Step:
    """Whether a room or furniture has things, or how many; the house is no place to look in."""
    owners = [reader.np(one) for one in trees(node, "np")]
    on_it = [c for one in trees(node, "on_it") for c in trees(one, *RELATIONS)]
    relation = RELATIONS[on_it[0].data] if on_it else "in"
    places = [Place(relation=relation, things=(owner,)) for owner in owners]
    act: Act = "how_many" if node.data == "how_many" else "is_there"
    return Step(act=act, things=with_places(_things_of(node, reader), places))


def _things_of(node: Tree, reader: ThingReader) -> tuple[Thing, ...]:
    if trees(node, "rooms"):
        return (Thing(name="room", amount=ALL),)
    return reader.things(trees(node, "things")[0])


def _how_many(node: Tree, reader: ThingReader) -> Step:
    step = _has(node, reader)
    things = with_places(step.things, _places(node, reader))
    return step.model_copy(update={"things": things})


def _more_of(node: Tree, reader: ThingReader) -> Step:
    """Of which of two kinds of things there are more."""
    kinds = [reader.noun_phrase(one) for one in trees(node, "bare")]
    things = with_places(kinds, _places(node, reader))
    options = tuple(Step(act="how_many", things=(one,)) for one in things)
    return Step(act="how_many", options=options, choices=tuple(one.said for one in kinds))


def _what(node: Tree, reader: ThingReader) -> Step:
    if trees(node, "np"):
        return _asked("what", node, reader)
    return Step(act="what", things=with_places((_kind(node, reader),), _places(node, reader)))


def _which_room(node: Tree, reader: ThingReader) -> Step:
    room = _words(node, reader, "ROOM_OR_FLOOR")[0] == "room"
    return Step(act="which_room", things=_things(node, reader), attribute="" if room else "floor")


def _kind(node: Tree, reader: ThingReader) -> Thing:
    """Return the kind that is asked for: "which books"; any thing where none is named."""
    bare = trees(node, "bare")
    return reader.noun_phrase(bare[0]) if bare else Thing(amount=ALL)


def _what_nearest(node: Tree, reader: ThingReader) -> Step:
    nearest = next(t for t in tokens_of(node) if t.type == "NEAREST")
    by = tuple(reader.flat(one) for one in trees(node, "flat"))
    more = {"amount": 1, "choice": reader.nearest_or_farthest(nearest), "by": by}
    return Step(act="what", things=(_kind(node, reader).model_copy(update=more),))


def _is_color(node: Tree, reader: ThingReader) -> Step:
    colors = _words(node, reader, "COLOR")
    choices = tuple(colors) if len(colors) > 1 else ()
    return Step(act="color", things=_things(node, reader), attribute=colors[0], choices=choices)


def _attribute(node: Tree, reader: ThingReader) -> Step:
    name = "material" if node.data == "made_of" else _words(node, reader, "ATTRIBUTE")[0]
    name = "type" if name in ("kind", "sort") else name
    return Step(act="attribute", things=_things(node, reader), attribute=name)


def _kind_of(node: Tree, reader: ThingReader) -> Step:
    """The material, size, ... of what is somewhere: "what type of floor is in the kitchen"."""
    step = _attribute(node, reader)
    things = with_places((_kind(node, reader),), _places(node, reader))
    return step.model_copy(update={"things": things})


def _state(node: Tree, reader: ThingReader) -> Step:
    said = _words(node, reader, "STATE") or _words(node, reader, "ADJECTIVE")
    choices = tuple(said) if len(said) > 1 else ()
    tokens = [reader.word(t).said for t in tokens_of(node)]
    negated = bool(trees(node, "no")) and tokens[-1:] != ["not"]
    state = _STATES.get(said[0], said[0])
    things = with_places(_things(node, reader), _places(node, reader))
    return Step(act="state", things=things, attribute=state, choices=choices, negated=negated)


def _used(node: Tree, reader: ThingReader) -> Step:
    use = reader.use(trees(node, "uses")[0])
    place = "place" if node.data == "used_where" else ""
    thing = reader.posted(Thing(use=use, amount=ALL), trees(node, *POSTS, "but"))
    return Step(act="used_for", things=(thing,), attribute=place)


def _relation(node: Tree, reader: ThingReader) -> Step:
    things = _things(node, reader)
    offered = " or " in f" {reader.said(node)} "
    places = [reader.place(one) for one in trees(node, "place", "upstairs")]
    places = places if offered else list(nested(places, reader.words))
    if trees(node, "flat"):
        other = (reader.flat(trees(node, "flat")[0]),)
        places.append(places[-1].model_copy(update={"things": other}))
    asked = [with_places(things, [place]) for place in places]
    negated = bool(trees(node, "no"))
    if len(asked) > 1:
        options = tuple(Step(act="relation", things=one) for one in asked)
        return Step(act="relation", options=options, choices=tuple(p.told() for p in places))
    known = all(t.definite or (t.name and t.amount != 1) for t in things)
    return Step(act="relation" if known else "is_there", things=asked[0], negated=negated)


def _far(node: Tree, reader: ThingReader) -> Step:
    ends = (*_things(node, reader), *(reader.flat(one) for one in trees(node, "flat")))
    return Step(act="size", things=ends, attribute="far")


def _how_large(node: Tree, reader: ThingReader) -> Step:
    measure = _words(node, reader, "MEASURE")[0]
    return Step(act="size", things=_things(node, reader), attribute=measure)


def _which_is(node: Tree, reader: ThingReader) -> Step:
    """Which of several is larger, or nearer to a thing; that thing comes last."""
    return _offered(tuple(reader.np(one) for one in trees(node, "np")), node, reader)


def _offered(offered: tuple[Thing, ...], node: Tree, reader: ThingReader) -> Step:
    anchors = [reader.flat(one) for one in trees(node, "flat")]
    return Step(act="size", things=(*offered, *anchors), attribute=_compared(node, reader),
                choices=tuple(thing.told() for thing in offered))  # fmt: skip


def _compared(node: Tree, reader: ThingReader) -> str:
    said = (_words(node, reader, "COMPARED") + _words(node, reader, "CLOSER"))[0]
    return _NEARER.get(said, said.replace("bigger", "larger"))


def _which_of(node: Tree, reader: ThingReader) -> Step:
    """Which of the things before the word that compares is more so."""
    thing = reader.np(trees(node, "np")[0])
    if not thing.either:
        said = reader.said(node)
        raise NotUnderstood(f"{said!r} does not say than what", "object", said)
    return _offered((thing.model_copy(update={"either": ()}), *thing.either), node, reader)


def _closer_to_which(node: Tree, reader: ThingReader) -> Step:
    """To which of several things one is nearer."""
    offered = tuple(reader.flat(one) for one in trees(node, "flat"))
    step = _offered(offered, node, reader)
    return step.model_copy(update={"things": (*offered, reader.np(trees(node, "np")[0]))})


def _is_than(node: Tree, reader: ThingReader) -> Step:
    flats = [reader.flat(one) for one in trees(node, "flat")]
    things = (*_things(node, reader), *flats)
    return Step(act="size", things=things, attribute=_compared(node, reader))


def _space(node: Tree, reader: ThingReader) -> Step:
    targets = [reader.target(one) for one in trees(node, "target")] + _places(node, reader)
    return Step(act="space", things=_things(node, reader), to=targets[0] if targets else None)


_BUILD: dict[str, Callable[[Tree, ThingReader], Step]] = {
    "is_there": _is_there, "has": _has, "how_many": _how_many, "more_of": _more_of,
    "which_room": _which_room, "which_of": _which_of, "closer_to_which": _closer_to_which,
    "count": lambda n, r: _asked("how_many", n, r),
    "what": _what, "what_nearest": _what_nearest, "is_color": _is_color, "attribute": _attribute,
    "kind_of": _kind_of,
    "made_of": _attribute, "state": _state, "used_for": _used, "used_where": _used,
    "relation": _relation, "far": _far, "how_large": _how_large, "which_is": _which_is,
    "which_is_closer": _which_is, "is_than": _is_than, "is_closer": _is_than, "space": _space,
    "fits": _space,
}  # fmt: skip
