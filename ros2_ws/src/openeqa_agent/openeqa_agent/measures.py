"""Sizes, distances and free room, from the boxes of a map."""

from __future__ import annotations

import dataclasses
import math

from coterie_core.relations import gap
from coterie_requests.understanding.descriptions import Thing, describe
from openeqa_agent.answers import OpenReply
from openeqa_agent.things import Found, MapIndex
from openeqa_agent.understood import OpenQuestion

_CLEAR = 0.12
"""Relative difference from which one size is told from another for sure."""
_FREE_SHARE = 0.35
"""Share of a surface that must be free for one more thing."""
_FREE_AREA = 0.04
"""And how much at least [m^2]."""


def answer_size(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    """Compare sizes or distances, or measure one."""
    how = question.attribute
    if how in ("tall", "high", "big", "large", "wide", "long", "deep", "far", "close"):
        return _measure(index, question)
    if how in ("sleep", "sit"):
        return _people(index, question)
    if question.polar:
        return _is_more(index, question)
    return _which_is_more(index, question)


def _best(index: MapIndex, thing: Thing) -> Found | None:
    found = [one for one in index.find(thing, limit=8) if one.thing.box.volume > 0.0]
    return found[0] if found else None


def _extent(one: Found, how: str) -> float:
    """What is compared: height, width or volume [m, m, m^3]; smaller counts negative."""
    x, y, z = one.thing.box.size
    if how in ("taller", "tall"):
        return z
    if how in ("shorter",):
        return -z
    if how in ("higher", "high"):
        return one.thing.box.center[2]
    if how == "lower":
        return -one.thing.box.center[2]
    if how in ("wider", "longer", "wide", "long"):
        return max(x, y)
    volume = (x * y * z) ** (1.0 / 3.0)
    return -volume if how == "smaller" else volume


def _is_more(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    first = _best(index, question.target)
    others = [_best(index, other) for other in question.others]
    if first is None or not others or any(other is None for other in others):
        return None
    known = [other for other in others if other is not None]
    if question.attribute in ("nearer", "farther"):
        if len(known) < 2:
            return None
        a = gap(first.thing.box, known[0].thing.box)
        b = gap(first.thing.box, known[1].thing.box)
        yes = (a < b) == (question.attribute == "nearer")
        return _told(yes, abs(a - b) / max(a, b, 0.1), (first, *known), f"{a:.1f} m and {b:.1f} m")
    a, b = _extent(first, question.attribute), _extent(known[0], question.attribute)
    clear = abs(a - b) / max(abs(a), abs(b), 1e-6)
    return _told(a > b, clear, (first, known[0]), f"{abs(a):.2f} m against {abs(b):.2f} m")


def _told(yes: bool, clear: float, found: tuple[Found, ...], why: str) -> OpenReply:
    confidence = 0.55 + 0.35 * min(clear / _CLEAR, 1.0) * min(one.score for one in found)
    ids = tuple(one.thing.id for one in found)
    return OpenReply("yes" if yes else "no", confidence, objects=ids, explanation=why)


def _which_is_more(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    how = question.attribute
    if question.choices:
        offered = list(zip(question.choices, question.others, strict=False))
        pairs = [(words, _best(index, thing)) for words, thing in offered]
        known = [(words, one) for words, one in pairs if one is not None]
        if len(known) < len(pairs) or not known:
            return None
        to = question.others[len(question.choices) :]
        anchor = _best(index, to[0]) if to else None
        if how in ("nearer", "farther"):
            if anchor is None:
                return None
            sign = 1.0 if how == "nearer" else -1.0
            to_box = anchor.thing.box
            ranked = sorted(known, key=lambda k: sign * gap(k[1].thing.box, to_box))
        else:
            ranked = sorted(known, key=lambda k: -_extent(k[1], how))
        words, one = ranked[0]
        text = words if words.startswith("the ") else f"the {words}"
        ids = tuple(k[1].thing.id for k in ranked)
        return OpenReply(text, 0.75 * one.score, objects=ids, explanation=f"it is {how}")
    found = [f for f in index.find(question.target, limit=200) if f.thing.box.volume > 0.0]
    anchor = _best(index, question.others[0]) if question.others else None
    if how in ("nearer", "farther"):
        if anchor is None:
            return None
        sign = 1.0 if how == "nearer" else -1.0
        held = {anchor.thing.id, *(other.id for _, other in index.held_by(anchor.thing))}
        found = [f for f in found if f.thing.id not in held]
        found.sort(key=lambda f: (sign * gap(f.thing.box, anchor.thing.box), f.thing.id))
    else:
        found.sort(key=lambda f: (-_extent(f, how), f.thing.id))
    if len(found) < question.rank:
        return None
    best = found[question.rank - 1]
    ids = (best.thing.id, *((anchor.thing.id,) if anchor else ()))
    label = index.label(best.thing)
    return OpenReply(f"the {label}", 0.6 * best.score, objects=ids, explanation=f"it is {how}")


def _measure(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    first = _best(index, question.target)
    if first is None:
        return None
    x, y, z = first.thing.box.size
    how = question.attribute
    if how in ("far", "close"):
        second = _best(index, question.others[0]) if question.others else None
        if second is None:
            return None
        away = gap(first.thing.box, second.thing.box)
        ids = (first.thing.id, second.thing.id)
        return OpenReply(f"about {away:.1f} meters", 0.7, objects=ids, explanation="between boxes")
    value = {"tall": z, "high": z, "deep": min(x, y)}.get(how, max(x, y))
    text = f"about {value:.1f} meters"
    if how in ("big", "large"):
        text = f"about {x:.1f} by {y:.1f} by {z:.1f} meters"
    return OpenReply(text, 0.7 * first.score, objects=(first.thing.id,), explanation="its box")


_DOUBLE = 1.3
"""Width of a bed [m] from which two sleep in it."""
_SEAT = 0.6
"""Width that a person takes on a sofa or bench [m]."""


def _people(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    """How many people beds or seats are for, by their number and width."""
    sleeping = question.attribute == "sleep"
    room = question.room or question.target.room
    count, ids = 0, []
    for name in ("bed",) if sleeping else ("chair", "armchair", "stool", "sofa", "bench"):
        for one in index.find(Thing(name, name, True, room=room)):
            if one.score < 0.5:
                continue
            width = sorted(one.thing.box.size[:2])
            if sleeping:
                count += 2 if width[0] >= _DOUBLE else 1
            elif name in ("sofa", "bench"):
                count += max(1, int(width[1] / _SEAT) - (name == "sofa"))
            else:
                count += 1
            ids.append(one.thing.id)
    if not ids:
        return None
    why = f"{len(ids)} {'beds' if sleeping else 'seats'}, by their width"
    return OpenReply(str(count), 0.6, objects=tuple(ids), explanation=why)


def answer_space(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    """Whether there is room for one more thing on a surface, or in a room."""
    wanted = question.target
    anchors = wanted.anchors or describe(question.use).anchors
    if anchors and (wanted.relation or describe(question.use).relation) in ("on", "in", "between"):
        named = dataclasses.replace(anchors[0], room=anchors[0].room or question.room)
        surface = _best(index, named)
        if surface is not None:
            return _free(index, surface)
    return None


def _free(index: MapIndex, surface: Found) -> OpenReply:
    box = surface.thing.box
    area = box.size[0] * box.size[1]
    held = [other for _, other in index.held_by(surface.thing)]
    taken = sum(min(o.box.size[0] * o.box.size[1], area) for o in held if o.box.volume > 0.0)
    free = max(0.0, area - 1.2 * taken)
    yes = free >= max(_FREE_AREA, _FREE_SHARE * area)
    sure = 0.55 + 0.3 * min(abs(free / max(area, 1e-6) - _FREE_SHARE) / 0.4, 1.0)
    ids = (surface.thing.id, *(other.id for other in held[:6]))
    why = f"{free:.1f} of {area:.1f} square meters are free, {len(held)} things on it"
    if not math.isfinite(free):
        return OpenReply(explanation="its box has no size")
    return OpenReply("yes" if yes else "no", sure, objects=ids, explanation=why)
