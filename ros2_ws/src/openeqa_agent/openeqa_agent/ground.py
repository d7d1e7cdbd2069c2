"""Answers that a map gives by itself: labels, counts, places, colors, by rules and geometry."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from coterie_core.colors import basic_color, stated_color
from coterie_requests.detector_vocabulary import STRUCTURE
from coterie_world.scene import SceneGraph, SceneObject
from openeqa_agent import phrases
from openeqa_agent.answers import OpenReply
from openeqa_agent.common_sense import purpose_of
from openeqa_agent.measures import answer_size, answer_space
from openeqa_agent.presence import answer_how_many, answer_is_there
from openeqa_agent.purposes import answer_use
from openeqa_agent.things import HOLDS, LIKELY, Found, MapIndex, reply_on
from openeqa_agent.understood import STATES, OpenQuestion

_EVIDENCE = 12
"""Most ids of evidence."""
_RAISED = 0.45
"""Least strength of "above" for what nothing carries."""


_SIDES = ("left of", "right of", "behind", "in front of")
"""Relations that hold as seen from somewhere in the room."""


def answer_from_map(question: OpenQuestion, scene: SceneGraph | MapIndex) -> OpenReply:
    """Return what the map says; an empty text where it does not tell.

    Only labels, boxes and what the map holds of its objects count, no common sense about what is
    usual. Confidence falls with uncertain labels, with several things that fit, and with how
    little the rule can know (sides, what was never seen).
    """
    index = scene if isinstance(scene, MapIndex) else MapIndex(scene)
    reply = _BY_KIND[question.kind](index, question) if index.scene.objects else None
    if reply is None and index.scene.rooms and question.kind == "how_many":
        reply = answer_how_many(index, question)
    if reply is None or not reply.text:
        why = reply.explanation if reply is not None else ""
        return OpenReply(category=question.category, explanation=why or "the map does not tell")
    if question.opposite:
        reply = dataclasses.replace(reply, text=_denied(reply.text))
    return dataclasses.replace(
        reply,
        category=question.category,
        confidence=round(min(max(reply.confidence, 0.01), 0.99), 3),
        objects=tuple(dict.fromkeys(reply.objects))[:_EVIDENCE],
    )


def _denied(text: str) -> str:
    """The answer to the opposite of a question of yes or no."""
    said = re.match(r"(yes|no)\b,? ?", text)
    if said is None:
        return text
    return "no" if said[1] == "yes" else "yes"


def _chosen(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    """Which of the things or places that are offered fits."""
    replies = [_BY_KIND[option.kind](index, option) for option in question.options]
    if any(reply is None or not reply.text for reply in replies):
        return None
    told = [reply for reply in replies if reply is not None]
    counts = [re.match(r"(\d+|none)", reply.text) for reply in told]
    if all(counts):
        numbers = [0 if c is None or c[1] == "none" else int(c[1]) for c in counts]
        best = max(range(len(told)), key=lambda k: (numbers[k], -k))
        if numbers.count(numbers[best]) > 1:
            return dataclasses.replace(told[0], text="as many of one as of the other")
        why = " and ".join(f"{n} {w}" for n, w in zip(numbers, question.choices, strict=True))
        return dataclasses.replace(told[best], text=question.choices[best], explanation=why)
    yes = [k for k, reply in enumerate(told) if reply.text.startswith("yes")]
    if len(yes) == 1 or (yes and len({told[k].confidence for k in yes}) > 1):
        best = max(yes, key=lambda k: told[k].confidence)
        return dataclasses.replace(told[best], text=question.choices[best])
    if yes:
        return dataclasses.replace(told[0], text="both")
    guessed = any(reply.guessed for reply in told)
    sure = min(reply.confidence for reply in told)
    why = "; ".join(dict.fromkeys(reply.explanation for reply in told))
    return OpenReply("neither", sure, guessed=guessed, explanation=why)


def _where(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    found = index.find(question.target)
    if not found or (question.target.generic and not question.target.color):
        return None
    best = found[0]
    text = phrases.place(index, best.thing)
    if not text:
        return None
    alike = [one for one in found[1:] if one.score > 0.7 * best.score]
    confidence = best.score * (0.9 if not alike else 0.75 if len(alike) == 1 else 0.6)
    more = f"; {len(alike)} more like it" if alike else ""
    return reply_on(text, confidence, found[:3], f"the {index.label(best.thing)} is {text}{more}")


def _which_room(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    if question.attribute == "this":
        rooms = list(index.scene.rooms.values())
        if len(rooms) != 1:
            return None
        return OpenReply(f"the {rooms[0].name}", 0.8, explanation="the only room of the map")
    found = index.find(question.target)
    if question.attribute == "room":
        names: dict[str, float] = {}
        for one in found:
            room = index.room(one.thing)
            if room is not None:
                names[room.name] = (
                    names.get(room.name, 0.0) + one.score * max(one.thing.observations, 1) ** 0.5
                )
        if not names:
            return None
        name = min(names, key=lambda n: (-names[n], n))
        weight, total = names[name], sum(names.values())
        text = f"the {name}" if not name.startswith("the ") else name
        here = [f for f in found if (room := index.room(f.thing)) and room.name == name]
        why = f"{len(here)} of {len(found)} such things are there"
        return reply_on(text, 0.9 * here[0].score * weight / total, here, why)
    for one in found:
        floor = phrases.floor_name(index, one.thing)
        if floor:
            return reply_on(f"on the {floor}", 0.85 * one.score, [one], "by its room's floor")
    room = next(iter(index.rooms_named(question.target.words or question.room)), None)
    floor = phrases.floor_of_room(index, room) if room else ""
    return OpenReply(f"the {floor}", 0.8, explanation="by its floor") if floor else None


def _color(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    wanted = dataclasses.replace(question.target)
    found = [one for one in index.find(wanted) if stated_color(one.thing.properties)]
    if not found:
        return None
    # Several things of a kind may differ: those that fit best count, alike ones together.
    near = [one for one in found if one.score >= 0.7 * found[0].score]
    votes: dict[str, float] = {}
    for one in near:
        color = stated_color(one.thing.properties)
        votes[color] = votes.get(color, 0.0) + one.score * max(one.thing.observations, 1) ** 0.5
    color = min(votes, key=lambda name: (-votes[name], name))
    share = votes[color] / sum(votes.values())
    confidence = 0.85 * found[0].score * share
    held = [one for one in near if stated_color(one.thing.properties) == color]
    why = f"the {index.label(held[0].thing)} is {color}"
    if question.choices:
        offered = {basic_color(choice): choice for choice in question.choices}
        if color not in offered:
            return None
        return reply_on(offered[color], confidence, held, why)
    if question.polar:
        asked = basic_color(question.attribute)
        return reply_on("yes" if asked in votes else "no", confidence, held, why)
    return reply_on(color, confidence, held, why)


def _state(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    wanted = question.target
    if wanted.generic and not (wanted.color or wanted.traits or wanted.relation):
        return None
    found = index.find(wanted)
    if not found:
        return None
    best = found[0]
    for one in found[:4]:
        state = _state_of(index, one.thing, question.attribute)
        if state is None:
            continue
        holds, share, why = state
        if question.use == "not":
            holds = not holds
        confidence = share * one.score / max(best.score, 1e-6) * best.score
        if question.choices:
            text = _choice(question, holds)
            return reply_on(text, confidence, [one], why) if text else None
        return reply_on("yes" if holds else "no", confidence, [one], why)
    return None


_OPPOSITE = {"open": "closed", "closed": "open", "on": "off", "off": "on", "empty": "full",
             "full": "empty", "clean": "messy", "messy": "clean", "made": "unmade"}  # fmt: skip


def _choice(question: OpenQuestion, holds: bool) -> str:
    """The offered answer that fits a state that holds or does not."""
    first, second = question.choices[0], question.choices[-1]
    if STATES.get(first) == question.attribute:
        return first if holds else second
    return second if holds else first


def _state_of(
    index: MapIndex, thing: SceneObject, attribute: str
) -> tuple[bool, float, str] | None:
    """Whether a thing is so, how surely, and why; None where the map does not tell."""
    label = index.label(thing)
    if attribute in ("open", "closed"):
        opening = thing.is_open
        if opening is None:
            said = str(thing.properties.get("opening", "")).lower()
            opening = True if said == "open" else False if said == "closed" else None
        if opening is None:
            return None
        word = "open" if opening else "closed"
        return opening == (attribute == "open"), 0.85, f"the {label} is {word}"
    values = {str(value).lower() for value in thing.properties.values()}
    named = {STATES.get(word, word) for word in values}
    if attribute and attribute in named:
        return True, 0.85, f"the map says so of the {label}"
    if _OPPOSITE.get(attribute, "-") in named:
        return False, 0.85, f"the map says {_OPPOSITE[attribute]} of the {label}"
    if attribute in ("empty", "full", "clean", "messy") and thing.box.volume > 0.0:
        held = index.held_by(thing)
        things = len(held)
        if attribute in ("empty", "full"):
            hidden = thing.is_open is False and not held
            if hidden:
                return None
            return (things == 0) == (attribute == "empty"), 0.6, f"{things} things on or in it"
        many = things >= 4
        return many == (attribute == "messy"), 0.55, f"{things} things on it"
    return None


def _relation(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    wanted = question.target
    found = index.find(wanted)
    if found and found[0].score >= LIKELY * HOLDS:
        why = phrases.place(index, found[0].thing)
        share = found[0].score if wanted.relation else found[0].p
        return reply_on("yes", 0.5 + 0.45 * min(share, 1.0), found[:2], f"it is {why}")
    alone = index.find(dataclasses.replace(wanted, relation=None, anchors=(), room=""))
    if not alone:
        return None
    if wanted.anchors and not all(
        index.find(anchor) or anchor.name in STRUCTURE for anchor in wanted.anchors
    ):
        return None
    why = f"the {index.label(alone[0].thing)} is {phrases.place(index, alone[0].thing)}"
    if wanted.relation in _SIDES and wanted.anchors:
        room = index.room(alone[0].thing)
        others = [index.room(one.thing) for one in index.find(wanted.anchors[0])]
        if room is not None and others and room not in others:
            # No place to look from tells a side of what is in another room.
            name = wanted.anchors[0].words
            return OpenReply(explanation=f"{why}, and the {name} is in another room")
    return reply_on("no", 0.7 * alone[0].p, alone[:1], why)


def _what(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    wanted = question.target
    if not (wanted.relation or wanted.room or wanted.color or wanted.traits):
        return None
    if wanted.room and index.scene.rooms and not index.rooms_named(wanted.room):
        return None
    found = index.find(wanted)
    if wanted.generic and wanted.relation in ("near", "in front of", "behind", "on", "in"):
        found = [f for f in found if f.other is None or not _carries(index, f)]
    if not found:
        return None
    if wanted.relation == "above" and found[0].fit < _RAISED:
        return None  # all that was found stands on something: what hangs there is not in the map
    many = wanted.relation in ("on", "in", "under") or (wanted.room and not wanted.relation)
    plural = wanted.words.split()[-1:] and wanted.words.split()[-1].endswith("s")
    best = found[0].score
    limit = 4 if many or plural else 2 if wanted.relation == "near" else 1
    if wanted.color or wanted.traits:
        limit = min(limit, 2 if plural else 1)
    fitting = [f for f in found if f.score >= 0.6 * best]
    chosen = fitting[:limit]
    text = phrases.listed([(f.thing, index.label(f.thing)) for f in chosen])
    if plural and len(fitting) > limit:
        text += f", and {len(fitting) - limit} more"
    share = found[0].score * index.certainty(found[0].thing)
    confidence = share * (0.85 if len(found) <= 2 else 0.7)
    if wanted.relation in ("left of", "right of"):
        confidence *= 0.7
    return reply_on(text, confidence, chosen, f"{len(found)} thing(s) of the map fit")


def _carries(index: MapIndex, one: Found) -> bool:
    """Whether the found thing is what the other stands on."""
    other = one.other
    return other is not None and one.thing.id in (other.support, other.container)


def _attribute(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    if question.attribute == "purpose":
        return _purpose(index, question)
    for one in index.find(question.target)[:4]:
        value = str(one.thing.properties.get(question.attribute, "")).strip()
        if value:
            why = f"the map says so of the {index.label(one.thing)}"
            return reply_on(value[:60], 0.85 * one.score, [one], why)
        if question.attribute == "type" and not question.target.generic:
            name = index.label(one.thing)
            if name != question.target.words and name.endswith(question.target.name):
                return reply_on(f"a {name}", 0.5 * one.score, [one], "by its label")
    return None


def _purpose(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    """What a room is for: by its type, which the map says or its things do."""
    wanted = question.target
    rooms = index.rooms_named(wanted.room) if wanted.generic and wanted.room else []
    found = [] if wanted.generic else index.find(wanted)[:1]
    room = rooms[0] if rooms else index.room(found[0].thing) if found else None
    if room is None and len(index.scene.rooms) == 1:
        room = next(iter(index.scene.rooms.values()))
    if room is None:
        return None
    share = found[0].score if found else 1.0
    why = f"it is the {room.name}"
    return reply_on(purpose_of(room.type or room.name), 0.75 * share, found, why)


def _other(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    return None


_BY_KIND: dict[str, Callable[[MapIndex, OpenQuestion], OpenReply | None]] = {
    "is_there": answer_is_there,
    "what": _what,
    "where": _where,
    "how_many": answer_how_many,
    "choice": _chosen,
    "color": _color,
    "attribute": _attribute,
    "state": _state,
    "which_room": _which_room,
    "used_for": answer_use,
    "relation": _relation,
    "size": answer_size,
    "space": answer_space,
    "other": _other,
}
