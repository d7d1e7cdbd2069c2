"""What a map cannot tell, and why: what no detector reports, missing anchors, attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coterie_core.household import normalized, plural
from coterie_core.wording import article
from coterie_requests.detector_vocabulary import DetectorVocabulary
from coterie_requests.lexicon import meant, serving
from coterie_requests.request import Step, Thing
from coterie_requests.understanding.map_geometry import STATED, STATES
from coterie_requests.understanding.phrases import size_order
from openeqa_agent.things import MapIndex, ordering
from openeqa_agent.understood import OpenQuestion, serves

DoubtKind = Literal["word", "not reported", "anchor"]
_PEOPLE = frozenset({"people", "person", "somebody", "someone", "man", "woman", "child", "guest"})
_PARTS = frozenset({"room", "floor", "story", "storey", "level"})
_SURFACES = frozenset({"wall", "ceiling"})
_NEVER_MAPPED = ("material", "brand", "style", "company", "pattern", "breed", "name")
_COUNTED = ("is_there", "how_many", "relation", "where", "color", "state")


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a map cannot tell; `going`: whether a robot that looks could change that."""

    kind: DoubtKind
    text: str
    going: bool = False


def doubt_of(
    question: OpenQuestion, index: MapIndex, vocabulary: DetectorVocabulary
) -> Doubt | None:
    """Return why a map cannot tell the answer, whatever is in it; None: it may.

    Args:
        question: What is asked.
        index: The map.
        vocabulary: What the detector can report.
    """
    every = (one for step in question.steps for one in (step.options or (step,)))
    found = (_of_step(step, index, vocabulary) for step in every)
    return next((doubt for doubt in found if doubt is not None), None)


def _of_step(step: Step, index: MapIndex, vocabulary: DetectorVocabulary) -> Doubt | None:
    if serves(step) and not serving(step.things[0].use):
        return Doubt("word", f"what serves {step.things[0].use!r} is not known here")
    heads = (*step.things, *(one for thing in step.things for one in thing.either))
    for thing in heads:
        doubt = _of_thing(thing, step, index, vocabulary)
        if doubt is not None:
            return doubt
    for thing in (*heads, *(step.to.things if step.to else ())):
        missing = [a for a in (*index.anchors(thing), *thing.by) if not _is_there(a, index)]
        if missing:
            return _anchor(missing[0], thing, index)
    needed = (*(step.things if step.act == "size" else ()), *(step.to.things if step.to else ()))
    lost = [thing for thing in needed if not _is_there(thing, index)]
    return Doubt("anchor", f"no {_said(lost[0])} is in the map", going=True) if lost else None


def left_out(question: OpenQuestion, index: MapIndex) -> str:
    """Return a clause that names the words that an answer does not rest on; "" if there are none.

    An adjective that the map tells of no such thing says which one is meant: an answer about any of
    them is a guess at the one.
    """
    words = [
        word
        for step in question.steps
        for one in step.options or (step,)
        for thing in one.mentioned()
        for word in _unknown(thing, one, index)
    ]
    words += question.request.asides if question.request is not None else ()
    if not words:
        return ""
    named = ", ".join(dict.fromkeys(map(repr, words)))
    return f"left out, as nothing is known of it: {named}"


def _unknown(thing: Thing, step: Step, index: MapIndex) -> list[str]:
    bare = thing.model_copy(update={"attributes": (), "choice": "", "rank": 0, "by": ()})
    known = [index.fitting(bare)] if thing.attributes else []

    def told(attribute: str) -> bool:
        found = (index.told(one.thing, attribute) for each in known for one in each)
        return any(one is not None and one[1] >= STATED for one in found)

    said = [
        one for one in thing.attributes if not size_order(one) and not told(STATES.get(one, one))
    ]
    if step.act == "is_there":
        # Whether one is large, no map tells; only which of them is larger.
        said += [one for one in thing.attributes if size_order(one)]
    order = ordering(thing)
    if thing.choice in ("other", "another", "rest"):
        said.append(thing.choice)
    elif order in ("nearest", "farthest") and not thing.by:
        said.append(order)
    elif thing.rank and not order:
        said.append(f"number {thing.rank}")
    return said


def _of_thing(
    thing: Thing, step: Step, index: MapIndex, vocabulary: DetectorVocabulary
) -> Doubt | None:
    if thing.name in _PEOPLE and step.act in ("is_there", "how_many", "where", "relation"):
        return Doubt("not reported", "people are not in the map")
    anchors = index.anchors(thing)
    for one in (thing, *anchors, *thing.by):
        if not one.name or _is_house(one, index) or one.name in index.scene.objects:
            continue
        check = vocabulary.check(meant(one.name), index.labels)
        if not check.reportable:
            check = vocabulary.check(one.name, index.labels)
        if check.reporting == "never_reported" and not (one is not thing and _is_place(one, thing)):
            text = f"these robots' detector never reports {_plural(one)}, so that the map has none"
            return Doubt("not reported", f"{text}{_seen(thing, one, index)}")
        if check.reporting == "unknown_word" and step.act in _COUNTED:
            return Doubt("word", check.sentence())
    if step.act in ("is_there", "relation", "how_many"):
        surface = next((a for a in anchors if a.name in _SURFACES), None)
        if surface is not None and not index.reports(surface.name):
            text = f"{_plural(surface)} are not in the map"
            return Doubt("not reported", f"{text}{_seen(thing, surface, index)}")
    return None


def _is_there(thing: Thing, index: MapIndex) -> bool:
    return not thing.name or _is_house(thing, index) or bool(index.fitting(thing))


def _is_house(thing: Thing, index: MapIndex) -> bool:
    return thing.name in _PARTS or thing.name in _PEOPLE or index.is_room(thing)


def _is_place(anchor: Thing, thing: Thing) -> bool:
    """Whether an anchor is a surface whose height says enough: the floor, or beyond another."""
    above = any(place.relation == "above" for place in thing.places)
    deeper = bool(anchor.places) or above
    return anchor.name in ("", "floor") or (anchor.name in _SURFACES and deeper)


def _anchor(anchor: Thing, thing: Thing, index: MapIndex) -> Doubt:
    return Doubt(
        "anchor", f"no {_said(anchor)} is in the map{_seen(thing, anchor, index)}", going=True
    )


def _seen(thing: Thing, anchor: Thing, index: MapIndex) -> str:
    """What is known of the thing without the anchor: "; a television was seen in the office"."""
    if thing is anchor or not thing.name:
        return ""
    rooms = tuple(place for place in thing.places if index.rooms_of(place) is not None)
    found = index.fitting(Thing(name=thing.name, color=thing.color, places=rooms))
    if not found:
        return ""
    where = index.whereabouts(found[0].thing, beside=True)
    label = article(index.label(found[0].thing))
    return f"; {label} was seen{f' {where}' if where else ''}"


def _said(thing: Thing) -> str:
    """A thing as it was said, short, in the singular."""
    bare = thing.model_copy(update={"amount": 1, "definite": False, "without": ()})
    return bare.told()[:60]


def _plural(thing: Thing) -> str:
    return plural(normalized(thing.name))


def going_helps(question: OpenQuestion, doubt: Doubt | None) -> str:
    """Return why no robot need go to look; "" if one may find the answer."""
    if doubt is not None and not doubt.going:
        return doubt.text
    if not question.steps:
        return "the question was not understood well enough to know what to look for"
    for step in question.steps:
        if step.act == "attribute" and step.attribute in _NEVER_MAPPED:
            return f"no robot here can tell the {step.attribute} of things by looking"
    return ""
