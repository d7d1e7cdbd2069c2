"""Answers that a map gives by itself: labels, counts, places, colors, by rules and geometry."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence

from coterie_core.colors import basic_color, stated_color
from coterie_core.wording import enumerated
from coterie_requests.detector_vocabulary import STRUCTURE
from coterie_requests.lexicon import meant
from coterie_requests.request import ALL, Step, Thing
from coterie_requests.understanding.grounding import LIKELY, Found
from coterie_requests.understanding.map_geometry import HOLDS, STATES
from coterie_world.scene import SceneGraph
from openeqa_agent import phrases
from openeqa_agent.measures import answer_size, answer_space
from openeqa_agent.presence import answer_how_many, answer_is_there
from openeqa_agent.purposes import answer_use
from openeqa_agent.reply import OpenReply
from openeqa_agent.things import MapIndex, alternatives, generic, reply_on
from openeqa_agent.understood import OpenQuestion, category_of, is_polar, serves

_EVIDENCE = 12
"""Most ids of evidence."""
_LISTED = 8
"""Most kinds of things that an answer lists; how many more there are is told."""
_RAISED = 0.45
"""Least strength of "above" for what nothing carries."""
_SIDES = ("left of", "right of", "behind", "in front of")
"""Relations that hold as seen from somewhere in the room."""
_AROUND = ("near", "in front of", "behind", "on", "in")


def answer_from_map(question: OpenQuestion, scene: SceneGraph | MapIndex) -> OpenReply:
    """Return what the map says; an empty text where it does not tell.

    Only labels, boxes and what the map holds of its objects count, no common sense about what is
    usual. Confidence falls with uncertain labels, with several things that fit, and with how
    little the rule can know (sides, what was never seen). Of several questions in one sentence
    each is answered.
    """
    index = scene if isinstance(scene, MapIndex) else MapIndex(scene)
    replies = [_answer(index, step) for step in question.steps]
    if not replies or not all(reply.text for reply in replies):
        why = next((r.explanation for r in replies if not r.text), "the question was not read")
        return OpenReply(category=question.category, explanation=why)
    return OpenReply(
        "; ".join(reply.text for reply in replies),
        round(min(max(min(r.confidence for r in replies), 0.01), 0.99), 3),
        guessed=any(reply.guessed for reply in replies),
        category=question.category,
        objects=tuple(dict.fromkeys(id_ for r in replies for id_ in r.objects))[:_EVIDENCE],
        explanation="; ".join(filter(None, (reply.explanation for reply in replies))),
    )


def _answer(index: MapIndex, step: Step) -> OpenReply:
    nothing = OpenReply(category=category_of(step), explanation="the map does not tell")
    if not (index.scene.objects or (index.scene.rooms and step.act == "how_many")):
        return nothing
    if step.options:
        reply = _chosen(index, step)
    elif not step.things and step.act != "space":
        return nothing
    elif serves(step):
        reply = answer_use(index, step)
    else:
        reply = _BY_ACT[step.act](index, step)
    if reply is None:
        return nothing
    if step.negated and is_polar(step):
        reply = dataclasses.replace(reply, text=_denied(reply.text))
    return reply if reply.explanation else dataclasses.replace(reply, explanation="by the map")


def _denied(text: str) -> str:
    """The answer to the opposite of a question of yes or no."""
    said = re.match(r"(yes|no)\b", text)
    if said is None:
        return text
    return "no" if said[1] == "yes" else "yes"


def _chosen(index: MapIndex, step: Step) -> OpenReply | None:
    """Which of the things or places that are offered fits."""
    told = [_answer(index, option) for option in step.options]
    if not all(reply.text for reply in told):
        return None
    words = step.choices or tuple(map(_offered, step.options))
    counts = [re.match(r"(\d+|none)", reply.text) for reply in told]
    if all(counts):
        numbers = [0 if c is None or c[1] == "none" else int(c[1]) for c in counts]
        best = max(range(len(told)), key=lambda k: (numbers[k], -k))
        if numbers.count(numbers[best]) > 1:
            return dataclasses.replace(told[0], text="as many of one as of the other")
        why = " and ".join(f"{n} {w}" for n, w in zip(numbers, words, strict=True))
        return dataclasses.replace(told[best], text=words[best], explanation=why)
    yes = [k for k, reply in enumerate(told) if reply.text.startswith("yes")]
    if len(yes) == 1 or (yes and len({told[k].confidence for k in yes}) > 1):
        best = max(yes, key=lambda k: told[k].confidence)
        return dataclasses.replace(told[best], text=words[best])
    if yes:
        return dataclasses.replace(told[0], text="both" if len(told) == 2 else "all of them")
    guessed = any(reply.guessed for reply in told)
    sure = min(reply.confidence for reply in told)
    why = "; ".join(dict.fromkeys(reply.explanation for reply in told))
    return OpenReply("neither", sure, guessed=guessed, explanation=why)


def _offered(option: Step) -> str:
    """Words for what an option offers: its place, if it has one, else its thing."""
    thing = option.things[0]
    return thing.places[-1].told() if option.act == "relation" and thing.places else thing.told()


def _each(
    index: MapIndex, step: Step, one: Callable[[MapIndex, Step, Thing], OpenReply | None]
) -> OpenReply | None:
    """Answer for each of the things that a step names, in the order in which they were said."""
    replies = [one(index, step, thing) for thing in step.things]
    if len(replies) == 1 or any(reply is None for reply in replies):
        return replies[0] if len(replies) == 1 else None
    told = [reply for reply in replies if reply is not None]
    if is_polar(step):
        return next((r for r in told if r.text.startswith("no")), told[0])
    pairs = zip(step.things, told, strict=True)
    return OpenReply(
        "; ".join(f"the {thing.name or 'thing'}: {reply.text}" for thing, reply in pairs),
        min(reply.confidence for reply in told),
        objects=tuple(id_ for reply in told for id_ in reply.objects),
        explanation="; ".join(reply.explanation for reply in told),
    )


def _several(wanted: Thing) -> bool:
    """Whether a question is about all of some things, or about so many."""
    return wanted.amount != 1


def _where(index: MapIndex, step: Step) -> OpenReply | None:
    return _each(index, step, _where_is)


def _where_is(index: MapIndex, step: Step, wanted: Thing) -> OpenReply | None:
    found = index.fitting(wanted)
    if not found or (generic(wanted) and not (wanted.color or wanted.choice)):
        return None
    best = found[0]
    text = index.whereabouts(best.thing, beside=True)
    if not text:
        return None
    alike = [one for one in found[1:] if one.score > 0.7 * best.score]
    confidence = best.score * (0.9 if not alike else 0.75 if len(alike) == 1 else 0.6)
    if _several(wanted) and alike:
        places = dict.fromkeys(index.whereabouts(one.thing, beside=True) for one in (best, *alike))
        named = [place for place in places if place]
        text = f"{len(alike) + 1} of them: {enumerated(named, _LISTED)}"
        return reply_on(text, best.score * 0.9, [best, *alike], "all that the map has")
    more = f"; {len(alike)} more like it" if alike else ""
    return reply_on(text, confidence, found[:3], f"the {index.label(best.thing)} is {text}{more}")


def _which_room(index: MapIndex, step: Step) -> OpenReply | None:
    return _each(index, step, _floor_of if step.attribute == "floor" else _room_of)


def _room_of(index: MapIndex, step: Step, wanted: Thing) -> OpenReply | None:
    found = index.fitting(wanted)
    names: dict[str, float] = {}
    for one in found:
        room = index.room(one.thing)
        if room is not None:
            weight = one.score * max(one.thing.observations, 1) ** 0.5
            names[room.name] = names.get(room.name, 0.0) + weight
    if not names:
        return None
    if _several(wanted):
        every = [f"the {name.removeprefix('the ')}" for name in sorted(names)]
        return reply_on(enumerated(every, _LISTED), 0.8, found, "all that the map has")
    name = min(names, key=lambda n: (-names[n], n))
    weight, total = names[name], sum(names.values())
    here = [f for f in found if (room := index.room(f.thing)) and room.name == name]
    why = f"{len(here)} of {len(found)} such things are there"
    text = f"the {name.removeprefix('the ')}"
    return reply_on(text, 0.9 * here[0].score * weight / total, here, why)


def _floor_of(index: MapIndex, step: Step, wanted: Thing) -> OpenReply | None:
    for one in index.fitting(wanted):
        floor = phrases.floor_name(index, one.thing)
        if floor:
            return reply_on(f"on the {floor}", 0.85 * one.score, [one], "by its room's floor")
    room = next(iter(index.rooms_called(wanted)), None)
    floor = phrases.floor_of_room(index, room) if room else ""
    return OpenReply(f"the {floor}", 0.8, explanation="by its floor") if floor else None


def _color(index: MapIndex, step: Step) -> OpenReply | None:
    return _each(index, step, _color_of)


def _color_of(index: MapIndex, step: Step, wanted: Thing) -> OpenReply | None:
    every = index.fitting(wanted)
    found = [one for one in every if stated_color(one.thing.properties)]
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
    if step.choices:
        offered = {basic_color(choice): choice for choice in step.choices}
        return reply_on(offered[color], confidence, held, why) if color in offered else None
    if is_polar(step):
        asked = basic_color(step.attribute) or step.attribute
        if _several(wanted):
            return _all_so(index, every, [stated_color(f.thing.properties) == asked for f in every],
                           [bool(stated_color(f.thing.properties)) for f in every])  # fmt: skip
        return reply_on("yes" if asked in votes else "no", confidence, held, why)
    if _several(wanted) and len(votes) > 1:
        return reply_on(enumerated(sorted(votes)), 0.85 * found[0].score, near, "each has its own")
    return reply_on(color, confidence, held, why)


def _all_so(
    index: MapIndex, found: Sequence[Found], so: Sequence[bool], known: Sequence[bool]
) -> OpenReply | None:
    """Whether all things are so; one that is not so denies it, whatever is known of the others."""
    wrong = [one for one, holds, told in zip(found, so, known, strict=True) if told and not holds]
    if wrong:
        names = phrases.listed([(one.thing, index.label(one.thing)) for one in wrong])
        share = max(one.score for one in wrong)
        return reply_on("no", 0.8 * share, wrong, f"not so: {names}")
    if not all(known):
        return None
    share = min(one.score for one in found)
    return reply_on("yes", 0.8 * share, found, f"all {len(found)} that the map has are")


def _state(index: MapIndex, step: Step) -> OpenReply | None:
    return _each(index, step, _state_of)


def _state_of(index: MapIndex, step: Step, wanted: Thing) -> OpenReply | None:
    if generic(wanted) and not (wanted.color or wanted.attributes or wanted.places):
        return None
    state = STATES.get(step.attribute, step.attribute)
    found = index.fitting(wanted)
    told = [index.told(one.thing, state) for one in found]
    if _several(wanted) and found and is_polar(step):
        so = [each is not None and each[0] for each in told]
        return _all_so(index, found, so, [each is not None for each in told])
    for one, each in list(zip(found, told, strict=True))[:4]:
        if each is None:
            continue
        holds, share, why = each
        if step.choices:
            text = _choice(step.choices, state, holds)
            return reply_on(text, share * one.score, [one], why) if text else None
        return reply_on("yes" if holds else "no", share * one.score, [one], why)
    return None


def _choice(choices: Sequence[str], state: str, holds: bool) -> str:
    """The offered answer that fits a state that holds or does not."""
    first, second = choices[0], choices[-1]
    if STATES.get(first, first) == state:
        return first if holds else second
    return second if holds else first


def _relation(index: MapIndex, step: Step) -> OpenReply | None:
    if len(step.things) == 1 and step.things[0].either:
        # "Is the mug or the glass on the table?"
        offered = alternatives(step.things[0])
        options = tuple(step.model_copy(update={"things": (one,)}) for one in offered)
        words = tuple(f"the {one.name}" for one in offered)
        return _chosen(index, Step(act="relation", options=options, choices=words))
    return _each(index, step, _stands)


def _stands(index: MapIndex, step: Step, wanted: Thing) -> OpenReply | None:
    found = index.fitting(wanted)
    bare = wanted.model_copy(update={"places": ()})
    alone = index.fitting(bare)
    if _several(wanted) and alone:
        there = {one.thing.id for one in found if one.fit >= HOLDS}
        if wanted.amount != ALL and len(alone) < wanted.amount:
            return OpenReply(explanation=f"only {len(alone)} of them are in the map")
        if _missing_anchor(index, wanted):
            return None
        so = [one.thing.id in there for one in alone]
        return _all_so(index, alone, so, [True] * len(alone))
    if found and found[0].score >= LIKELY * HOLDS:
        why = index.whereabouts(found[0].thing, beside=True)
        share = found[0].score if index.anchors(wanted) else found[0].p
        return reply_on("yes", 0.5 + 0.45 * min(share, 1.0), found[:2], f"it is {why}")
    if not alone or _missing_anchor(index, wanted):
        return None
    why = f"the {index.label(alone[0].thing)} is {index.whereabouts(alone[0].thing, beside=True)}"
    room = index.room(alone[0].thing)
    for place in wanted.places:
        others = [index.room(one.thing) for t in place.things for one in index.fitting(t)]
        if place.relation in _SIDES and room is not None and others and room not in others:
            # No place to look from tells a side of what is in another room.
            return OpenReply(explanation=f"{why}, and the {place.thing.name} is in another room")
    return reply_on("no", 0.7 * alone[0].p, alone[:1], why)


def _missing_anchor(index: MapIndex, wanted: Thing) -> bool:
    """Whether the map does not have what a thing is said to stand to."""
    rooms = [index.rooms_of(place) for place in wanted.places]
    anchors = (a for a in index.anchors(wanted) if a.name not in STRUCTURE)
    return [] in rooms or any(not index.fitting(anchor) for anchor in anchors)


def _what(index: MapIndex, step: Step) -> OpenReply | None:
    return _each(index, step, _what_is)


def _what_is(index: MapIndex, step: Step, wanted: Thing) -> OpenReply | None:
    described = wanted.color or wanted.attributes
    if not (wanted.places or described or wanted.choice or wanted.either):
        return None
    if index.rooms_said(wanted) == []:
        return None
    found = index.fitting(wanted)
    relations = {place.relation for place in wanted.places if index.rooms_of(place) is None}
    if generic(wanted) and not wanted.choice and relations & set(_AROUND):
        found = [f for f in found if not _carries(f)]
    if not found:
        return None
    if "above" in relations and found[0].fit < _RAISED:
        return None  # all that was found stands on something: what hangs there is not in the map
    if wanted.choice or wanted.rank:
        label = enumerated([f"the {index.label(f.thing)}" for f in found], _LISTED)
        return reply_on(label, 0.6 * found[0].score, found[:3], f"it is the {_order(wanted)} one")
    fitting = [f for f in found if f.score >= 0.6 * found[0].score]
    # "The red thing on the table" is one of them.
    limit = wanted.amount if wanted.amount and wanted.definite and described else _LISTED
    limit = min(limit, 2) if relations - {"on", "in", "under", "from"} else limit
    chosen = fitting[:limit]
    if limit == _LISTED:  # so many kinds of things, each with all that there are
        kinds = list(dict.fromkeys(index.label(f.thing) for f in fitting))[:limit]
        chosen = [f for f in fitting if index.label(f.thing) in kinds]
    text = phrases.listed([(f.thing, index.label(f.thing)) for f in chosen])
    if limit == _LISTED and len(fitting) > len(chosen):
        text += f", and {len(fitting) - len(chosen)} more"
    share = found[0].score * index.certainty(found[0].thing)
    confidence = share * (0.85 if len(found) <= 2 else 0.7)
    if relations & {"left of", "right of"}:
        confidence *= 0.7
    return reply_on(text, confidence, chosen, f"{len(found)} thing(s) of the map fit")


def _order(wanted: Thing) -> str:
    rank = {0: "", -1: "last "}.get(wanted.rank, f"number {wanted.rank} of the ")
    return f"{rank}{wanted.choice}".strip()


def _carries(one: Found) -> bool:
    """Whether the found thing is what the other stands on."""
    other = one.other
    return other is not None and one.thing.id in (other.support, other.container)


def _attribute(index: MapIndex, step: Step) -> OpenReply | None:
    return _each(index, step, _attribute_of)


def _attribute_of(index: MapIndex, step: Step, wanted: Thing) -> OpenReply | None:
    for one in index.fitting(wanted)[:4]:
        value = str(one.thing.properties.get(step.attribute, "")).strip()
        if value:
            why = f"the map says so of the {index.label(one.thing)}"
            return reply_on(value[:60], 0.85 * one.score, [one], why)
        if step.attribute in ("type", "kind") and wanted.name:
            name = index.label(one.thing)
            if name != wanted.name and name.endswith(meant(wanted.name)):
                return reply_on(f"a {name}", 0.5 * one.score, [one], "by its label")
    return None


_BY_ACT: dict[str, Callable[[MapIndex, Step], OpenReply | None]] = {
    "is_there": answer_is_there,
    "what": _what,
    "where": _where,
    "how_many": answer_how_many,
    "color": _color,
    "attribute": _attribute,
    "state": _state,
    "which_room": _which_room,
    "used_for": answer_use,
    "relation": _relation,
    "size": answer_size,
    "space": answer_space,
}
