"""Questions of the grammar as Steps."""

from __future__ import annotations

from collections.abc import Callable

import lark

from coterie_requests.request import ALL, Act, Place, Step, Thing
from coterie_requests.things import ThingReader, nested, tokens_of, trees, with_places

_NEARER = {"closer": "nearer", "nearer": "nearer", "farther": "farther", "further": "farther"}
_STATES = {
    "opened": "open", "shut": "closed", "locked": "closed", "close": "closed", "lit": "on",
    "running": "on", "tidy": "clean", "dirty": "messy", "cluttered": "messy", "free": "empty",
    "occupied": "full", "plugged": "plugged in",
}  # fmt: skip


def question_step(node: lark.Tree, reader: ThingReader) -> Step:
    """Return the step that a tree of a question asks for.

    Args:
        node: Tree of one of the grammar's questions.
        reader: Reader of the part that it is of.
    """
    build = _BUILD.get(node.data)
    step = build(node, reader) if build is not None else _asked(node.data, node, reader)
    said = reader.said(node)
    if any("no" in thing.attributes for thing in step.things):  # "is there no mug"
        things = tuple(
            t.model_copy(update={"attributes": tuple(a for a in t.attributes if a != "no")})
            for t in step.things
        )
        step = step.model_copy(update={"things": things, "negated": True})
    return step.model_copy(update={"said": said})


def _things(node: lark.Tree, reader: ThingReader) -> tuple[Thing, ...]:
    listed = [thing for one in trees(node, "things") for thing in reader.things(one)]
    return tuple(listed or (reader.np(one) for one in trees(node, "np")))


def _places(node: lark.Tree, reader: ThingReader) -> list[Place]:
    places = [reader.place(one) for one in trees(node, "place", "upstairs")]
    return list(nested(places, reader.words))


def _words(node: lark.Tree, reader: ThingReader, kind: str) -> list[str]:
    own = [c for c in node.children if isinstance(c, lark.Token) and c.type == kind]
    return [reader.word(token).said for token in own]


def _asked(act: Act, node: lark.Tree, reader: ThingReader) -> Step:
    return Step(act=act, things=with_places(_things(node, reader), _places(node, reader)))


def _has(node: lark.Tree, reader: ThingReader) -> Step:
    owner = Place(relation="in", things=(reader.np(trees(node, "np")[0]),))
    listed = reader.things(trees(node, "things")[0])
    act: Act = "how_many" if node.data == "how_many" else "is_there"
    return Step(act=act, things=with_places(listed, [owner]))


def _how_many(node: lark.Tree, reader: ThingReader) -> Step:
    return _has(node, reader) if trees(node, "np") else _asked("how_many", node, reader)


def _what(node: lark.Tree, reader: ThingReader) -> Step:
    if trees(node, "np"):
        return _asked("what", node, reader)
    return Step(act="what", things=with_places((_kind(node, reader),), _places(node, reader)))


def _kind(node: lark.Tree, reader: ThingReader) -> Thing:
    """Return the kind that is asked for: "which books"; any thing where none is named."""
    bare = trees(node, "bare")
    return reader.noun_phrase(bare[0]) if bare else Thing(amount=ALL)


def _what_nearest(node: lark.Tree, reader: ThingReader) -> Step:
    choice = _words(node, reader, "NEAREST")[0]
    by = tuple(reader.flat(one) for one in trees(node, "flat"))
    far = choice.startswith(("far", "fur"))
    more = {"amount": 1, "choice": "farthest" if far else "nearest", "by": by}
    return Step(act="what", things=(_kind(node, reader).model_copy(update=more),))


def _is_color(node: lark.Tree, reader: ThingReader) -> Step:
    colors = _words(node, reader, "COLOR")
    choices = tuple(colors) if len(colors) > 1 else ()
    return Step(act="color", things=_things(node, reader), attribute=colors[0], choices=choices)


def _attribute(node: lark.Tree, reader: ThingReader) -> Step:
    name = _words(node, reader, "ATTRIBUTE")[0]
    name = "type" if name in ("kind", "sort") else name
    return Step(act="attribute", things=_things(node, reader), attribute=name)


def _made_of(node: lark.Tree, reader: ThingReader) -> Step:
    return Step(act="attribute", things=_things(node, reader), attribute="material")


def _state(node: lark.Tree, reader: ThingReader) -> Step:
    said = _words(node, reader, "STATE")
    choices = tuple(said) if len(said) > 1 else ()
    tokens = [reader.word(t).said for t in tokens_of(node)]
    negated = bool(trees(node, "no")) and tokens[-1:] != ["not"]
    state = _STATES.get(said[0], said[0])
    return Step(act="state", things=_things(node, reader), attribute=state, choices=choices,
                negated=negated)  # fmt: skip


def _used(node: lark.Tree, reader: ThingReader) -> Step:
    use = reader.use(trees(node, "use")[0])
    place = "place" if node.data == "used_where" else ""
    return Step(act="used_for", things=(Thing(use=use, amount=ALL),), attribute=place)


def _relation(node: lark.Tree, reader: ThingReader) -> Step:
    thing = reader.np(trees(node, "np")[0])
    offered = " or " in f" {reader.said(node)} "
    places = [reader.place(one) for one in trees(node, "place", "upstairs")]
    places = places if offered else list(nested(places, reader.words))
    if trees(node, "flat"):
        other = (reader.flat(trees(node, "flat")[0]),)
        places.append(places[-1].model_copy(update={"things": other}))
    asked = [with_places((thing,), [place]) for place in places]
    negated = bool(trees(node, "no"))
    if len(asked) > 1:
        options = tuple(Step(act="relation", things=one) for one in asked)
        return Step(act="relation", options=options, choices=tuple(p.told() for p in places))
    return Step(act="relation", things=asked[0], negated=negated)


def _far(node: lark.Tree, reader: ThingReader) -> Step:
    ends = (*_things(node, reader), *(reader.flat(one) for one in trees(node, "flat")))
    return Step(act="size", things=ends, attribute="far")


def _how_large(node: lark.Tree, reader: ThingReader) -> Step:
    measure = _words(node, reader, "MEASURE")[0]
    return Step(act="size", things=_things(node, reader), attribute=measure)


def _which_is(node: lark.Tree, reader: ThingReader) -> Step:
    """Which of several is larger, or nearer to a thing; that thing comes last."""
    offered = [reader.np(one) for one in trees(node, "np")]
    anchors = [reader.flat(one) for one in trees(node, "flat")]
    compared = _words(node, reader, "COMPARED") + _words(node, reader, "CLOSER")
    attribute = _NEARER.get(compared[0], compared[0].replace("bigger", "larger"))
    return Step(act="size", things=(*offered, *anchors), attribute=attribute,
                choices=tuple(thing.told() for thing in offered))  # fmt: skip


def _is_than(node: lark.Tree, reader: ThingReader) -> Step:
    compared = _words(node, reader, "COMPARED") + _words(node, reader, "CLOSER")
    attribute = _NEARER.get(compared[0], compared[0].replace("bigger", "larger"))
    flats = [reader.flat(one) for one in trees(node, "flat")]
    return Step(act="size", things=(*_things(node, reader), *flats), attribute=attribute)


def _space(node: lark.Tree, reader: ThingReader) -> Step:
    targets = [reader.target(one) for one in trees(node, "target")] + _places(node, reader)
    return Step(act="space", things=_things(node, reader), to=targets[0] if targets else None)


_BUILD: dict[str, Callable[[lark.Tree, ThingReader], Step]] = {
    "has": _has, "how_many": _how_many, "count": lambda n, r: _asked("how_many", n, r),
    "what": _what, "what_nearest": _what_nearest, "is_color": _is_color, "attribute": _attribute,
    "made_of": _made_of, "state": _state, "used_for": _used, "used_where": _used,
    "relation": _relation, "far": _far, "how_large": _how_large, "which_is": _which_is,
    "which_is_closer": _which_is, "is_than": _is_than, "is_closer": _is_than, "space": _space,
    "fits": _space,
}  # fmt: skip
