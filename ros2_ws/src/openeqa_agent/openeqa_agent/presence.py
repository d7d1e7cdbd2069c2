"""Whether a map has such a thing, and how many: "no" and "0" only where it was looked for."""

from __future__ import annotations

from collections.abc import Sequence

from coterie_core.household import load_household
from coterie_world.coverage import MIN_LIKELIHOOD, SEEN_WELL_RECALL, likely_in, recall
from coterie_world.scene import Room
from openeqa_agent import phrases
from openeqa_agent.answers import OpenReply
from openeqa_agent.labels import UNKNOWN_COLOR
from openeqa_agent.things import MapIndex, reply_on
from openeqa_agent.understood import OpenQuestion

_ON_ANCHOR = 0.35
"""How likely a thing is on or about some other that is asked about, before looking."""
_WELL_SEEN = 3
"""Observations of a thing from which what is on it would have been seen, too."""
_SURFACES = ("floor", "wall", "ceiling")
_OPEN = 0.45
"""Most confidence in "none so far"."""


def answer_is_there(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    """Tell whether there is such a thing."""
    wanted = question.target
    if wanted.generic and not (wanted.relation or wanted.color):
        return None
    if phrases.room_type(wanted.words) and not wanted.relation:
        rooms = index.rooms_named(wanted.words)
        return OpenReply("yes" if rooms else "no", 0.8, explanation="rooms of the map")
    found = index.find(wanted)
    if wanted.generic and wanted.color:
        # Of many things some would fit by chance: a color counts where the map has it.
        if any(one.fit == UNKNOWN_COLOR for one in found) and found[0].fit <= UNKNOWN_COLOR:
            return None
        found = [one for one in found if one.fit > UNKNOWN_COLOR]
    none = 1.0
    for one in found:
        none *= 1.0 - one.p * min(one.fit, 1.0)
    if none <= 0.5:
        where = phrases.place(index, found[0].thing)
        why = f"the {index.label(found[0].thing)} {where}".strip()
        return reply_on("yes", 1.0 - none, found, why)
    return _absent(index, question, "no", none if none <= 0.9 else 1.0)


def answer_how_many(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    """Count such things."""
    wanted = question.target
    kind = phrases.room_type(wanted.words)
    if kind and not wanted.relation:
        rooms = index.rooms_named(kind)
        if rooms:
            names = ", ".join(room.name for room in rooms[:8])
            return OpenReply(str(len(rooms)), 0.8, explanation=f"rooms of the map: {names}")
        return None
    if wanted.name in ("floor", "story", "level", "storey"):
        count = len(index.scene.floors)
        return OpenReply(str(count), 0.8, explanation="floors of the map") if count else None
    if wanted.name == "room":
        count = len(index.scene.rooms)
        return OpenReply(str(count), 0.8, explanation="rooms of the map") if count else None
    if wanted.generic and not (wanted.relation or wanted.color):
        return None
    if wanted.room and not index.rooms_named(wanted.room):
        return None
    found = index.find(wanted)
    count, share = likeliest_count([one.p * min(1.0, 0.5 + one.fit / 2.0) for one in found])
    if not count:
        return _absent(index, question, "0", share)
    listed = sorted(found, key=lambda one: -one.score)[:count]
    missing = [] if wanted.anchors else unseen_rooms(index, question)
    if missing:
        left = index.coverage.told(missing)
        text = f"{count} seen so far; {left}"
        return reply_on(text, 0.5 * share, listed, f"{count} such things in the map; {left}")
    return reply_on(str(count), 0.85 * share, listed, f"{count} such things in the map")


def likeliest_count(shares: Sequence[float]) -> tuple[int, float]:
    """Return the likeliest number of hits of independent trials, and how likely it is."""
    chances = [1.0]
    for p in shares:
        grown = [0.0] * (len(chances) + 1)
        for k, chance in enumerate(chances):
            grown[k] += chance * (1.0 - p)
            grown[k + 1] += chance * p
        chances = grown
    best = max(range(len(chances)), key=lambda k: (chances[k], k))
    return best, chances[best]


def unseen_rooms(index: MapIndex, question: OpenQuestion) -> list[Room]:
    """Return the rooms that may have such a thing and were not looked at."""
    wanted = question.target
    named = index.rooms_named(wanted.room) if wanted.room else []
    rooms = named or list(index.scene.rooms.values())
    missing = index.coverage.missing(rooms)
    return missing if named else [r for r in missing if _likely(question, r) >= MIN_LIKELIHOOD]


def _likely(question: OpenQuestion, room: Room) -> float:
    """How likely a room has such a thing, from common sense alone (0..1)."""
    return 0.5 if question.target.generic else likely_in(question.target.name, room)


def _absent(index: MapIndex, question: OpenQuestion, text: str, none: float) -> OpenReply | None:
    """Answer "no" or "0", as sure as it was looked for; what was not looked at is told."""
    wanted = question.target
    found = SEEN_WELL_RECALL if wanted.generic else recall(wanted.name)
    if wanted.anchors:
        anchors = index.find(wanted.anchors[0], limit=4)
        if not anchors and wanted.anchors[0].name not in _SURFACES:
            return None
        seen = any(a.thing.observations >= _WELL_SEEN for a in anchors)
        missed = 1.0 - found * (1.0 if seen else 0.5)
        sure = (1.0 - _ON_ANCHOR) / (1.0 - _ON_ANCHOR + _ON_ANCHOR * missed)
        held = index.label(anchors[0].thing) if anchors else wanted.anchors[0].name
        return reply_on(text, sure * none, anchors[:1], f"no such thing was seen about the {held}")
    rooms = index.rooms_named(wanted.room) if wanted.room else []
    if wanted.room and not rooms:
        return None
    rooms = rooms or list(index.scene.rooms.values())
    sure = 1.0
    for room in rooms:
        p = _likely(question, room)
        missed = 1.0 - found * index.coverage.share(room.id)
        sure *= (1.0 - p) / (1.0 - p + p * missed) if p < 1.0 else missed
    if not rooms:
        p = max(_anywhere(question), 0.1)
        missed = 1.0 - found * index.coverage.everywhere
        sure = (1.0 - p) / (1.0 - p + p * missed)
    missing = unseen_rooms(index, question)
    if missing:
        left = index.coverage.told(missing)
        return OpenReply(
            f"none seen so far; {left}", min(sure * none, _OPEN), guessed=True, explanation=left
        )
    return reply_on(text, sure * none, [], f"no such thing among {_count(index, rooms)} objects")


def _anywhere(question: OpenQuestion) -> float:
    """How likely some home has such a thing (0..1)."""
    house = load_household()
    if question.target.generic:
        return 0.5
    return max(0.7 * house.likelihood(question.target.name, room) for room in house.room_types)


def _count(index: MapIndex, rooms: Sequence[Room]) -> int:
    if not rooms:
        return len(index.scene.objects)
    return sum(1 for room in rooms for _ in index.scene.objects_in(room.id))
