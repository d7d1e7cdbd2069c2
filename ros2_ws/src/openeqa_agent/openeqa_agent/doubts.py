"""What cannot be told from a map, and why: words, what no detector reports, missing anchors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from coterie_core.household import normalized, plural, singulars
from coterie_core.wording import article
from coterie_requests.detector_vocabulary import DetectorVocabulary, WordCheck
from coterie_requests.understanding import (
    code_in,
    foreign_words,
    language_told,
    plain_text,
    unknown_words,
    words_of,
)
from coterie_requests.understanding.descriptions import MAX_QUESTION_CHARS, Thing
from coterie_requests.understanding.quantities import COUNTS
from coterie_requests.understanding.text import shown
from coterie_requests.understanding.word_order import heaped_words, misplaced_words
from openeqa_agent import phrases
from openeqa_agent.things import MapIndex
from openeqa_agent.understood import OpenQuestion

DoubtKind = Literal["word", "heap", "not reported", "anchor"]
_PEOPLE = frozenset({"people", "person", "somebody", "someone", "man", "woman", "child", "guest"})
_HOUSE = frozenset({"room", "floor", "story", "storey", "level", "house", "home", "apartment"})
_SURFACES = frozenset({"wall", "ceiling"})
_IN_ENGLISH = "ask in English, for example: What color is the sofa?"
_ORDERED = frozenset({"large", "small", "tall"})
"""Traits by which things are put in order; whether there is such a one, no map tells."""
_TELL_NOTHING = frozenset(
    words_of("main same my all both various several single unique only standing hanging")
)
"""Traits that ask for no other thing."""
_HOW_MANY = re.compile(
    r"\b(?<!at )(?<!in )"
    r"(?:all(?! right)|every|each|both|most|half|exactly|only|zero|none|another)\b"
)
"""Words that make a yes or no one of how many; answers look for one thing."""
_NEVER_MAPPED = ("material", "brand", "style", "company", "pattern", "breed", "name")


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a map cannot tell; `going`: whether a robot that looks could change that."""

    kind: DoubtKind
    text: str
    going: bool = False


def refusal(text: str, labels: frozenset[str] = frozenset()) -> str:
    """Return why the rules do not read a text at all; "" if they do.

    Args:
        text: What somebody asked.
        labels: Labels and names of the map, which count as words.
    """
    said = plain_text(text)
    if len(said) > MAX_QUESTION_CHARS:
        return (
            f"the question has {len(said)} characters; at most {MAX_QUESTION_CHARS} are read: "
            "ask in short"
        )
    foreign = foreign_words(said, labels)
    if foreign is not None and foreign.whole:
        return language_told(foreign, what="question")
    if not said:
        return f"the question is empty; {_IN_ENGLISH}"
    code, unknown = code_in(said, labels), [word.word for word in unknown_words(said, labels)]
    mostly_unknown = bool(unknown) and 2 * len(unknown) >= len(said.split())
    if code or mostly_unknown or not any(c.isalpha() for c in said):
        names = ", ".join(repr(shown(word)) for word in (code or unknown or [said])[:3])
        return f"not understood: {names}; {_IN_ENGLISH}"
    return ""


def unread_words(text: str, labels: frozenset[str] = frozenset()) -> Doubt | None:
    """Return the doubt about words that are none, with those that are near."""
    for word in unknown_words(plain_text(text)[:MAX_QUESTION_CHARS], labels):
        near = " or ".join(map(repr, word.suggestions))
        hint = f"; did you mean {near}?" if near else ""
        return Doubt("word", f"the word {shown(word.word)!r} is not known here{hint}")
    return None


def doubt_of(
    question: OpenQuestion, index: MapIndex, vocabulary: DetectorVocabulary
) -> Doubt | None:
    """Return why a map cannot tell the answer, whatever is in it; None: it may.

    Args:
        question: What is asked.
        index: The map.
        vocabulary: What the detector can report.
    """
    unread = unread_words(question.text, index.names)
    if unread is not None:
        return unread
    heap = misplaced_words(question.text) or _heaped(question)
    if heap:
        return Doubt("heap", f"not understood: {shown(heap)!r} makes no sense there")
    if question.unheard:
        word = shown(question.unheard[0])
        return Doubt("heap", f"the question was not understood: what {word!r} means in it")
    if question.kind == "choice":
        found = (doubt_of(option, index, vocabulary) for option in question.options)
        return next((doubt for doubt in found if doubt is not None), None)
    for thing in (question.target, *question.others):
        doubt = _of_thing(thing, question, index, vocabulary)
        if doubt is not None:
            return doubt
    for thing in (question.target, *question.others):
        missing = [a for a in thing.anchors if not _is_house(a) and not index.find(a)]
        if missing:
            return _anchor(missing[0], thing, index)
    if question.kind == "size":
        lost = [t for t in (question.target, *question.others) if t.name and not index.find(t)]
        if lost:
            return Doubt("anchor", f"no {_said(lost[0])} is in the map", going=True)
    return None


def _heaped(question: OpenQuestion) -> str:
    """Words that were taken for one thing and are no noun phrase."""
    things = [question.target, *question.others]
    for thing in things:
        things += thing.anchors
    found = (heaped_words(thing.words) for thing in things)
    return next(filter(None, found), "") or next(filter(None, map(_heaped, question.options)), "")


def left_out(question: OpenQuestion) -> str:
    """Return a clause that names the words that an answer does not rest on; "" if there are none.

    An adjective or a relative clause that no table knows says which thing is meant: an answer about
    any such thing is a guess at the one.
    """
    things = [question.target, *question.others]
    for thing in things:
        things += thing.anchors
    words = dict.fromkeys(word for thing in things for word in (*thing.unread, *thing.traits))
    heard = _ORDERED | COUNTS.keys() if question.kind != "is_there" else frozenset()
    words = {word: None for word in words if word not in heard | _TELL_NOTHING}
    if question.polar:
        words |= dict.fromkeys(_HOW_MANY.findall(question.text.lower()))
    if not words:
        return ""
    return f"left out, as nothing is known of it: {', '.join(repr(shown(w)) for w in words)}"


def _of_thing(
    thing: Thing, question: OpenQuestion, index: MapIndex, vocabulary: DetectorVocabulary
) -> Doubt | None:
    if thing.name in _PEOPLE and question.kind in ("is_there", "how_many", "where", "relation"):
        return Doubt("not reported", "people are not in the map")
    for one in (thing, *thing.anchors):
        if not one.name or _is_house(one) or phrases.room_type(one.words):
            continue
        check = _checked(one, index, vocabulary)
        if check.reporting == "never_reported" and not (one is not thing and _is_place(one, thing)):
            names = _plural(one)
            text = f"these robots' detector never reports {names}, so that the map has none"
            return Doubt("not reported", f"{text}{_seen(thing, one, index)}")
        if check.reporting == "unknown_word" and question.kind in (
            "is_there", "how_many", "relation", "where", "color", "state",
        ):  # fmt: skip
            return Doubt("word", check.sentence())
    if question.kind in ("is_there", "relation", "how_many"):
        surface = next((a for a in thing.anchors if a.name in _SURFACES), None)
        if surface is not None and not index.reports(surface.name):
            text = f"{_plural(surface)} are not in the map"
            return Doubt("not reported", f"{text}{_seen(thing, surface, index)}")
    return None


def _checked(thing: Thing, index: MapIndex, vocabulary: DetectorVocabulary) -> WordCheck:
    own = vocabulary.check(thing.name, index.labels)
    return own if own.reportable else vocabulary.check(thing.words or thing.name, index.labels)


def _is_house(thing: Thing) -> bool:
    return thing.name in _HOUSE or thing.name in _PEOPLE


def _is_place(anchor: Thing, thing: Thing) -> bool:
    """Whether an anchor is a surface whose height says enough: the floor, or beyond another."""
    deeper = bool(anchor.anchors) or thing.relation in ("above",)
    return anchor.name == "floor" or anchor.generic or (anchor.name in _SURFACES and deeper)


def _anchor(anchor: Thing, thing: Thing, index: MapIndex) -> Doubt:
    return Doubt(
        "anchor", f"no {_said(anchor)} is in the map{_seen(thing, anchor, index)}", going=True
    )


def _seen(thing: Thing, anchor: Thing, index: MapIndex) -> str:
    """What is known of the thing without the anchor: "; a television was seen in the office"."""
    if thing is anchor or not thing.name:
        return ""
    found = index.find(Thing(thing.words, thing.name, thing.known, thing.color, room=thing.room))
    if not found:
        return ""
    where = phrases.place(index, found[0].thing)
    label = article(index.label(found[0].thing))
    return f"; {label} was seen{f' {where}' if where else ''}"


def _said(thing: Thing) -> str:
    """A thing as it was said, short, in singular."""
    words = thing.words if len(thing.words) <= 40 else thing.name
    room = f" in the {thing.room}" if thing.room else ""
    words = words.split(" in the ")[0].strip()
    single = singulars(words)
    return f"{single[0] if single and words.endswith('s') else words or 'such thing'}{room}"


def _plural(thing: Thing) -> str:
    return plural(normalized(thing.name))


def going_helps(question: OpenQuestion, doubt: Doubt | None) -> str:
    """Return why no robot need go to look; "" if one may find the answer."""
    if doubt is not None and not doubt.going:
        return doubt.text
    if question.kind == "other" or not (question.parsed or question.kind == "used_for"):
        return "the question was not understood well enough to know what to look for"
    if question.kind == "attribute" and question.attribute in _NEVER_MAPPED:
        return f"no robot here can tell the {question.attribute} of things by looking"
    return ""
