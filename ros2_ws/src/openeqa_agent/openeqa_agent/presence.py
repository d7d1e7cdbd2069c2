"""Whether a map has such things, and how many: "no" and "0" only where they were looked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coterie_core.colors import basic_color, stated_color
from coterie_core.household import load_household, plural
from coterie_core.wording import article
from coterie_requests.lexicon import meant
from coterie_requests.request import Step, Thing
from coterie_requests.understanding.grounding import UNKNOWN_COLOR, Found, color_fit
from coterie_world.coverage import MIN_LIKELIHOOD, SEEN_WELL_RECALL, likely_in, recall
from coterie_world.scene import Room
from openeqa_agent.reply import OpenReply
from openeqa_agent.things import MapIndex, alternatives, generic, reply_on

_ON_ANCHOR = 0.35
"""How likely a thing is on or about some other that is asked about, before looking."""
_WELL_SEEN = 3
"""Observations of a thing from which what is on it would have been seen, too."""
_SURFACES = ("floor", "wall", "ceiling")
_OPEN = 0.45
"""Most confidence in "none so far"."""
_FLOORS = ("floor", "story", "level", "storey")


def answer_is_there(index: MapIndex, step: Step) -> OpenReply | None:
    """Tell whether there are all of the things; of a thing with alternatives any will do."""
    replies = []
    for thing in step.things:
        reply = _any_of([_is_there(index, one) for one in alternatives(thing)])
        if reply is None or not reply.text:
            return reply
        if thing.either and reply.text == "yes" and reply.objects:
            seen = index.label(index.scene.objects[reply.objects[0]])
            reply = replace(reply, text=f"yes, {article(seen)}")
        replies.append(reply)
    if len(replies) == 1:
        return replies[0]
    denied = [reply for reply in replies if not reply.text.startswith("yes")]
    told = denied[0] if denied else replies[0]
    return OpenReply(
        told.text,
        max(r.confidence for r in denied) if denied else min(r.confidence for r in replies),
        guessed=told.guessed,
        objects=tuple(id_ for reply in replies for id_ in reply.objects),
        explanation="; ".join(
            f"{t.told()}: {r.explanation}" for t, r in zip(step.things, replies, strict=True)
        ),
    )


def _any_of(replies: Sequence[OpenReply | None]) -> OpenReply | None:
    """Return a reply that says yes, else one that does not tell, else one that denies."""

    def rank(reply: OpenReply | None) -> tuple[bool, bool, float]:
        text = reply.text if reply is not None else ""
        return text.startswith("yes"), not text, -reply.confidence if reply is not None else 0.0

    return max(replies, key=rank)


def _is_there(index: MapIndex, wanted: Thing) -> OpenReply | None:
    if generic(wanted) and not (wanted.places or wanted.color):
        return None
    if is_room_kind(index, wanted):
        rooms = index.rooms_called(wanted)
        return OpenReply("yes" if rooms else "no", 0.8, explanation="rooms of the map")
    found = index.fitting(wanted)
    if wanted.color:
        doubt = _color_unknown(index, wanted, found)
        if doubt is not None:
            return doubt
        if generic(wanted):
            # Of many things some would fit by chance: a color counts where the map has it.
            found = [one for one in found if _is_colored(one, wanted)]
    wanted_count = max(wanted.amount, 1)
    none = 1.0 - at_least([one.p * min(one.fit, 1.0) for one in found], wanted_count)
    if none <= 0.5:
        listed = found[: max(wanted_count, 3)]
        where = "; ".join(
            f"the {index.label(one.thing)} {index.whereabouts(one.thing, beside=True)}".strip()
            for one in listed[:wanted_count]
        )
        return reply_on("yes", 1.0 - none, found, where)
    reply = absent(index, wanted, "no", none if none <= 0.9 else 1.0)
    if reply is None or wanted_count == 1 or not found:
        return reply
    why = f"{len(found)} of them seen; {reply.explanation}"
    objects = tuple(one.thing.id for one in found)
    return replace(reply, objects=objects, explanation=why)


def _is_colored(one: Found, wanted: Thing) -> bool:
    return color_fit(one.thing, basic_color(wanted.color) or wanted.color) > UNKNOWN_COLOR


def _color_unknown(index: MapIndex, wanted: Thing, found: Sequence[Found]) -> OpenReply | None:
    """Say that the map does not tell the color of what may be meant; None: it tells."""
    unknown = [one for one in found if not stated_color(one.thing.properties)]
    if not unknown or any(_is_colored(one, wanted) for one in found):
        return None
    name = index.label(unknown[0].thing)
    many = len(unknown)
    told = f"the {name}" if many == 1 else f"{many} things" if generic(wanted) else plural(name)
    return reply_on("", 0.0, unknown, f"the color of {told} is not known")


def is_room_kind(index: MapIndex, wanted: Thing) -> bool:
    """Whether rooms are asked for: "a bathroom upstairs", "a closet" where the map has one."""
    inside = all(index.rooms_of(place) is not None for place in wanted.places)
    return inside and bool(wanted.name) and index.is_room(wanted)


def answer_how_many(index: MapIndex, step: Step) -> OpenReply | None:
    """Count such things; of several kinds each."""
    replies = [_how_many(index, thing) for thing in step.things]
    told = [reply for reply in replies if reply is not None and reply.text]
    if len(told) < len(replies) or len(replies) == 1:
        return next((r for r in replies if r is None or not r.text), replies[0])
    parts = [
        f"{r.text} {t.name if r.text == '1' else plural(t.name)}"
        for t, r in zip(step.things, told, strict=True)
    ]
    return OpenReply(
        ", ".join(parts),
        min(reply.confidence for reply in told),
        guessed=any(reply.guessed for reply in told),
        objects=tuple(id_ for reply in told for id_ in reply.objects),
        explanation="; ".join(reply.explanation for reply in told),
    )


def _how_many(index: MapIndex, wanted: Thing) -> OpenReply | None:
    if wanted.name in _FLOORS and not wanted.places:
        count = len(index.scene.floors)
        return OpenReply(str(count), 0.8, explanation="floors of the map") if count else None
    if wanted.name == "room" or is_room_kind(index, wanted):
        rooms = [*index.scene.rooms.values()] if wanted.name == "room" else []
        rooms = rooms or index.rooms_called(wanted)
        names = ", ".join(room.name for room in rooms[:8])
        why = f"rooms of the map: {names}"
        return OpenReply(str(len(rooms)), 0.8, explanation=why) if rooms else None
    if generic(wanted) and not (wanted.places or wanted.color):
        return None
    if index.rooms_said(wanted) == []:
        return None
    found = index.fitting(wanted)
    count, share = likeliest_count([one.p * min(1.0, 0.5 + one.fit / 2.0) for one in found])
    if not count:
        return absent(index, wanted, "0", share)
    listed = sorted(found, key=lambda one: -one.score)[:count]
    missing = [] if index.anchors(wanted) else unseen_rooms(index, wanted)
    if missing:
        left = index.coverage.told(missing)
        text = f"{count} seen so far; {left}"
        return reply_on(text, 0.5 * share, listed, f"{count} such things in the map; {left}")
    return reply_on(str(count), 0.85 * share, listed, f"{count} such things in the map")


def likeliest_count(shares: Sequence[float]) -> tuple[int, float]:
    """Return the likeliest number of hits of independent trials, and how likely it is."""
    chances = _chances(shares)
    best = max(range(len(chances)), key=lambda k: (chances[k], k))
    return best, chances[best]


def at_least(shares: Sequence[float], count: int) -> float:
    """Return how likely so many of independent trials hit, or more (0..1)."""
    return sum(_chances(shares)[count:])


def _chances(shares: Sequence[float]) -> list[float]:
    """Return how likely each number of hits is, from 0 on."""
    chances = [1.0]
    for p in shares:
        grown = [0.0] * (len(chances) + 1)
        for k, chance in enumerate(chances):
            grown[k] += chance * (1.0 - p)
            grown[k + 1] += chance * p
        chances = grown
    return chances


def unseen_rooms(index: MapIndex, wanted: Thing) -> list[Room]:
    """Return the rooms that may have such a thing and were not looked at."""
    named = index.rooms_said(wanted)
    missing = index.coverage.missing(named or list(index.scene.rooms.values()))
    return missing if named else [r for r in missing if _likely(wanted, r) >= MIN_LIKELIHOOD]


def _likely(wanted: Thing, room: Room) -> float:
    """How likely a room has such a thing, from common sense alone (0..1)."""
    return likely_in(meant(wanted.name), room) if wanted.name else 0.5


def absent(index: MapIndex, wanted: Thing, text: str, none: float) -> OpenReply | None:
    """Answer "no" or "0", as sure as it was looked for; what was not looked at is told."""
    found = recall(meant(wanted.name)) if wanted.name else SEEN_WELL_RECALL
    anchors = index.anchors(wanted)
    if anchors:
        at = index.fitting(anchors[0], limit=4)
        if not at and anchors[0].name not in _SURFACES:
            return None
        seen = any(a.thing.observations >= _WELL_SEEN for a in at)
        missed = 1.0 - found * (1.0 if seen else 0.5)
        sure = (1.0 - _ON_ANCHOR) / (1.0 - _ON_ANCHOR + _ON_ANCHOR * missed)
        held = index.label(at[0].thing) if at else anchors[0].name
        return reply_on(text, sure * none, at[:1], f"no such thing was seen about the {held}")
    rooms = index.rooms_said(wanted)
    if rooms == []:
        return None
    rooms = rooms or list(index.scene.rooms.values())
    sure = 1.0
    for room in rooms:
        p = _likely(wanted, room)
        missed = 1.0 - found * index.coverage.share(room.id)
        sure *= (1.0 - p) / (1.0 - p + p * missed) if p < 1.0 else missed
    if not rooms:
        p = max(_anywhere(wanted), 0.1)
        missed = 1.0 - found * index.coverage.everywhere
        sure = (1.0 - p) / (1.0 - p + p * missed)
    missing = unseen_rooms(index, wanted)
    if missing:
        left = index.coverage.told(missing)
        return OpenReply(
            f"none seen so far; {left}", min(sure * none, _OPEN), guessed=True, explanation=left
        )
    return reply_on(text, sure * none, [], f"no such thing among {_count(index, rooms)} objects")


def _anywhere(wanted: Thing) -> float:
    """How likely some home has such a thing (0..1)."""
    if not wanted.name:
        return 0.5
    house, name = load_household(), meant(wanted.name)
    return max(0.7 * house.likelihood(name, room) for room in house.room_types)


def _count(index: MapIndex, rooms: Sequence[Room]) -> int:
    if not rooms:
        return len(index.scene.objects)
    return sum(1 for room in rooms for _ in index.scene.objects_in(room.id))
