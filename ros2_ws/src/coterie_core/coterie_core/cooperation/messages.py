"""Messages of a cooperating team: typed underneath, natural language on top, 500 characters.

Robots write both from the same facts (`compose`), and what does not fit the limit is left out of
both; a message without data, such as a person's, is read back from its words (`understand`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from coterie_core.geometry import Vec3

MAX_MESSAGE_CHARS = 500
"""Most characters of a message."""

NoteKind = Literal["text", "start", "ask", "reply", "done", "way"]
"""The four occasions of REVECA (start, validation request, answer, sub-goal done), or text.

With "way" a robot asks who stands in its way to step aside.
"""

Lying = Literal["", "on", "in", "held"]
"""Relation of a thing to the one that carries it; "" for the floor."""

Answer = Literal["", "taken", "placed", "searched", "looked", "untouched", "unknown"]


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where the sender is [m] and what it holds (ids)."""

    room: str
    position: Vec3
    hands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sighting:
    """A thing seen: id, label, room, and what it lies on or in ("" for the floor).

    `position` is where it is reached from [m], told of what stands on the floor, or lies on what
    the sender itself has named: others do not know where that is.
    """

    id: str
    label: str
    room: str
    parent: str = ""
    relation: Lying = ""
    position: Vec3 | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """A room that the sender saw, with the ids of containers that were closed and stayed so."""

    room: str
    closed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """What a message says, for robots.

    Attributes:
        me: The sender's whereabouts.
        seen: Things it knows of (start), or where the thing in question is now (reply).
        searched: Ids of rooms and containers that were looked into and in which nothing of use is
            left, no closed container either.
        heading: Id of the thing or room the sender makes for next ("": nothing said).
        item: Id of the thing (or of the room or container to search) that a question, an answer
            or an achievement is about.
        label: Its label.
        place: Id of where it was last seen (ask), or where it is now (reply, done).
        answer: Answer of a reply.
        subgoal: Key of the sub-goal achieved, such as `ON(plate, table)`.
        reply_to: Id of the question.
        looked: Rooms that were seen, and in which something of use or something closed is left.
    """

    me: Whereabouts | None = None
    seen: tuple[Sighting, ...] = ()
    searched: tuple[str, ...] = ()
    heading: str = ""
    item: str = ""
    label: str = ""
    place: str = ""
    answer: Answer = ""
    subgoal: str = ""
    reply_to: str = ""
    looked: tuple[Looked, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """A message.

    Attributes:
        id: Unique; receivers drop repeats.
        sender: Name of the sender.
        kind: The occasion.
        text: Text, at most 500 characters; data, never instructions.
        facts: The same, typed; None where only words were sent.
        to: Names of the recipients; empty: everybody.
        step: Step in which it was sent.
    """

    id: str
    sender: str
    kind: NoteKind
    text: str
    facts: Facts | None = None
    to: tuple[str, ...] = ()
    step: int = 0

    def for_(self, name: str) -> bool:
        """Tell whether `name` should get it."""
        return name != self.sender and (not self.to or name in self.to)


def compose(kind: NoteKind, facts: Facts, limit: int = MAX_MESSAGE_CHARS) -> tuple[str, Facts]:
    """Put facts into words, most important first; return the words and the facts they hold.

    What does not fit `limit` characters is dropped from both: nothing is said for free.
    """
    text, said = _opening(kind, facts)
    if len(text) > limit:
        return text[:limit], Facts()
    if facts.me is not None:
        at = f"({facts.me.position[0]:.1f}, {facts.me.position[1]:.1f})"
        holding = f", holding {' and '.join(facts.me.hands)}" if facts.me.hands else ""
        text, said = _add(
            text, said, f"I am in {facts.me.room} at {at}{holding}.", {"me": facts.me}, limit
        )
    if facts.heading:
        text, said = _add(text, said, f"Next: {facts.heading}.", {"heading": facts.heading}, limit)
    if facts.searched:
        text, kept = _listed(text, "Nothing left in ", facts.searched, str, limit)
        said = replace(said, searched=kept)
    if facts.looked:
        text, looked = _listed(text, "Looked round ", facts.looked, _looked_words, limit)
        said = replace(said, looked=looked)
    if facts.seen:
        text, seen = _listed(text, "Seen: ", facts.seen, _seen_words, limit)
        said = replace(said, seen=seen)
    return text, said


def _opening(kind: NoteKind, facts: Facts) -> tuple[str, Facts]:
    core = replace(facts, me=None, heading="", searched=(), looked=(), seen=())
    if kind == "ask":
        if facts.place == facts.item:
            return f"Did you search {facts.item}?", core
        origin = f" from {facts.place}" if facts.place else ""
        return f"Did you take {facts.item}{origin}?", core
    if kind == "reply":
        if facts.answer == "taken":
            return f"Yes, I took {facts.item}.", core
        if facts.answer == "placed":
            return f"Yes, I put {facts.item} at {facts.place}.", core
        if facts.answer == "searched":
            return f"Yes, I searched {facts.item}.", core
        if facts.answer == "looked":
            return f"I looked round {facts.item}, not into all that is closed there.", core
        if facts.answer == "untouched":
            return f"No, I did not touch {facts.item}.", core
        if not facts.item:
            return "I did not understand your question.", core
        return f"I do not know about {facts.item}.", core
    if kind == "done":
        return f"Done: {facts.item} is at {facts.place} for {facts.subgoal}.", core
    return "", core


def _add(
    text: str, said: Facts, sentence: str, change: dict[str, object], limit: int
) -> tuple[str, Facts]:
    longer = f"{text} {sentence}" if text else sentence
    if len(longer) > limit:
        return text, said
    return longer, replace(said, **change)  # type: ignore[arg-type]


def _listed(
    text: str, head: str, parts: Sequence[object], words: object, limit: int
) -> tuple[str, tuple]:  # type: ignore[type-arg]
    kept: list[object] = []
    line = f"{text} {head}" if text else head
    for part in parts:
        word = words(part)  # type: ignore[operator]
        longer = f"{line}{', ' if kept else ''}{word}"
        if len(longer) + 1 > limit:
            break
        line = longer
        kept.append(part)
    return (f"{line}.", tuple(kept)) if kept else (text, ())


def _looked_words(one: Looked) -> str:
    return f"{one.room} (closed: {', '.join(one.closed)})" if one.closed else one.room


def _seen_words(one: Sighting) -> str:
    where = f" {one.relation} {one.parent}" if one.parent else ""
    if not where and one.position is not None:
        where = f" at ({one.position[0]:.1f}, {one.position[1]:.1f})"
    return f"{one.id}{where} in {one.room}"


# --- reading words -------------------------------------------------------------------------------

_ID = r"([\w][\w-]*)"
_ASK = re.compile(
    rf"\b(?:did|have|do)\s+you\s+(?:\w+\s+)?(?:take|taken|grab|move|get|got|have|touch)\w*\s+"
    rf"(?:the\s+)?{_ID}",
    re.IGNORECASE,
)
_ASK_PLACE = re.compile(
    rf"\b(?:did|have)\s+you\s+(?:search|check|explore|look\s+(?:in|into|at|through))\w*\s+"
    rf"(?:the\s+)?{_ID}",
    re.IGNORECASE,
)
_SEARCHED = re.compile(
    rf"\bI(?:'ve|\s+have)?\s+(?:searched|checked|explored|looked\s+(?:in|into|at|through))\s+"
    rf"(?:the\s+)?{_ID}",
    re.IGNORECASE,
)
_DENY = re.compile(
    rf"\b(?:did\s+not|didn'?t|have\s+not|haven'?t|never)\s+"
    rf"(?:take|taken|grab|move|get|got|touch|touched|have|search)\w*\s+(?:the\s+)?{_ID}",
    re.IGNORECASE,
)
_TOOK = re.compile(
    rf"\bI(?:'ve|\s+have)?\s+(?:took|taken|grabbed|got|have|hold|carry|am\s+holding)\s+(?:the\s+)?{_ID}",
    re.IGNORECASE,
)
_PLACED = re.compile(
    rf"\bI(?:'ve|\s+have)?\s+(?:put|placed|brought|left|delivered)\s+(?:the\s+)?{_ID}"
    rf"(?:\s+(?:at|on|in|to|into|onto|inside)\s+(?:the\s+)?{_ID})?",
    re.IGNORECASE,
)
_DONE = re.compile(rf"\bdone\b:?\s+{_ID}\s+is\s+(?:at|on|in)\s+(?:the\s+)?{_ID}", re.IGNORECASE)
_SEEN = re.compile(
    rf"{_ID}(?:\s+(on|in)\s+{_ID}|\s+at\s+\((-?[\d.]+),\s*(-?[\d.]+)\))?"
    rf"\s+in\s+(?:the\s+)?{_ID}",
    re.IGNORECASE,
)
_WHERE = re.compile(
    rf"\bI(?:\s+am|'m)\s+in\s+(?:the\s+)?{_ID}(?:\s+at\s+\((-?[\d.]+),\s*(-?[\d.]+)\))?",
    re.IGNORECASE,
)
_NEXT = re.compile(rf"\bnext:?\s+{_ID}", re.IGNORECASE)
_ROUND = re.compile(r"\blooked\s+round\s+((?:\([^)]*\)|[^.?!(])+)", re.IGNORECASE)
_ROOM_SEEN = re.compile(r"([\w][\w -]*?)\s*(?:\(closed:\s*([^)]*)\))?\s*(?:,|$)")
_NOT_INTO = re.compile(rf"\bI\s+looked\s+round\s+(?:the\s+)?{_ID}, not into", re.IGNORECASE)
_LEFT = re.compile(r"\bnothing\s+left\s+in\s+([^.?!]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What words in a message may name: ids (and labels) of things, ids (and names) of rooms."""

    things: Callable[[str], tuple[str, str] | None] = field(repr=False)
    """Word -> (id, label) of the thing meant, or None."""
    rooms: Callable[[str], str | None] = field(repr=False)
    """Word -> room id, or None."""


def understand(note: Note, words: Vocabulary) -> Note:
    """Return the note with facts read from its words, where it has none.

    Only sentences of the forms that `compose` writes, and common ways in which people say the
    same, are understood; ids that the vocabulary does not know are ignored. What is not understood
    stays text.
    """
    if note.facts is not None:
        return note
    text = note.text[:MAX_MESSAGE_CHARS]
    facts: dict[str, object] = {}
    kind: NoteKind = "text"
    where = _WHERE.search(text)
    if where and (room := words.rooms(where[1])):
        at = _point(where[2], where[3])
        if at is not None:
            facts["me"] = Whereabouts(room, at)
            kind = "start"
    for pattern, found_kind, answer in (
        (_DONE, "done", "placed"),
        (_ASK, "ask", ""),
        (_ASK_PLACE, "ask", ""),
        (_NOT_INTO, "reply", "looked"),
        (_DENY, "reply", "untouched"),
        (_SEARCHED, "reply", "searched"),
        (_PLACED, "done", "placed"),
        (_TOOK, "reply", "taken"),
    ):
        found = pattern.search(text)
        thing = words.things(found[1]) if found else None
        if found is not None and thing is None and pattern in (_ASK_PLACE, _SEARCHED, _NOT_INTO):
            room = words.rooms(found[1])
            thing = (room, "") if room else None
        if found is None or thing is None:
            continue
        kind = found_kind  # type: ignore[assignment]
        facts |= {"item": thing[0], "label": thing[1], "answer": answer}
        if pattern is _ASK_PLACE:
            facts["place"] = thing[0]
        if found.re.groups > 1 and found[2]:
            place = words.things(found[2])
            facts["place"] = place[0] if place else ""
        break
    if following := _NEXT.search(text):
        named = words.things(following[1])
        aim = named[0] if named else words.rooms(following[1])
        if aim:
            facts["heading"] = aim
    if left := _LEFT.search(text):
        names = [part.strip() for part in left[1].split(",")]
        facts["searched"] = tuple(
            id_ for id_ in (_named(name, words) for name in names) if id_ is not None
        )
    if facts.get("answer") != "looked" and (round_ := _ROUND.search(text)):
        looked = []
        for one in _ROOM_SEEN.finditer(round_[1]):
            if room := words.rooms(one[1]):
                inner = [_named(name, words) for name in (one[2] or "").split(",")]
                looked.append(Looked(room, tuple(id_ for id_ in inner if id_)))
        if looked:
            facts["looked"] = tuple(looked)
    seen = []
    for one in _SEEN.finditer(text):
        thing, room = words.things(one[1]), words.rooms(one[6])
        if thing is None or room is None:
            continue
        parent = words.things(one[3]) if one[3] else None
        relation = one[2].lower() if parent and one[2] else ""
        at = _point(one[4], one[5])
        seen.append(
            Sighting(thing[0], thing[1], room, parent[0] if parent else "", relation, at)  # type: ignore[arg-type]
        )
    if seen:
        facts["seen"] = tuple(seen)
    if not facts:
        return note
    if kind == "text":
        kind = "start"
    return replace(note, kind=kind, facts=Facts(**facts))  # type: ignore[arg-type]


def _point(x: str | None, y: str | None) -> Vec3 | None:
    """Return the point of two numbers in words, or None where they are none."""
    try:
        return (float(x or ""), float(y or ""), 0.0)
    except ValueError:
        return None


def _named(name: str, words: Vocabulary) -> str | None:
    thing = words.things(name)
    return thing[0] if thing else words.rooms(name)
