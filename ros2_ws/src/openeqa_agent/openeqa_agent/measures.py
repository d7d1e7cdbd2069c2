"""Sizes, distances and free room, from the boxes of a map."""

from __future__ import annotations

import math
from collections.abc import Sequence

from coterie_core.relations import gap
from coterie_requests.request import Step, Thing
from coterie_requests.understanding.grounding import Found
from openeqa_agent.reply import OpenReply
from openeqa_agent.things import MapIndex
from openeqa_agent.understood import MORE

_CLEAR = 0.12
"""Relative difference from which one size is told from another for sure."""
_FREE_SHARE = 0.35
"""Share of a surface that must be free for one more thing."""
_FREE_AREA = 0.04
"""And how much at least [m^2]."""


def answer_size(index: MapIndex, step: Step) -> OpenReply | None:
    """Compare sizes or distances, or measure one; None where a thing is not in the map."""
    boxes = [_best(index, thing) for thing in step.things]
    found = [one for one in boxes if one is not None]
    if len(found) < len(boxes):
        return None
    how = MORE.get(step.attribute, "")
    if not how:
        return _measure(step.attribute, found)
    if step.choices:
        return _which_is_more(how, step.choices, found)
    if len(found) < 2 or how in ("nearer", "farther"):
        return None
    return _is_more(how, found)


def _best(index: MapIndex, thing: Thing) -> Found | None:
    found = (one for one in index.fitting(thing, limit=8) if one.thing.box.volume > 0.0)
    return next(found, None)


def _extent(one: Found, how: str) -> float:
    """What is compared: height, width or size [m]; smaller counts negative."""
    x, y, z = one.thing.box.size
    if how == "taller":
        return z
    if how == "shorter":
        return -z
    if how in ("higher", "lower"):
        return one.thing.box.center[2] * (1.0 if how == "higher" else -1.0)
    if how == "wider":
        return max(x, y)
    volume = (x * y * z) ** (1.0 / 3.0)
    return -volume if how == "smaller" else volume


def _is_more(how: str, found: Sequence[Found]) -> OpenReply | None:
    """Whether the first is more so than the second."""
    a, b = (_extent(one, how) for one in found[:2])
    clear = abs(a - b) / max(abs(a), abs(b), 1e-6)
    return _told(a > b, clear, found[:2], f"{abs(a):.2f} m against {abs(b):.2f} m")


def _told(yes: bool, clear: float, found: Sequence[Found], why: str) -> OpenReply:
    confidence = 0.55 + 0.35 * min(clear / _CLEAR, 1.0) * min(one.score for one in found)
    ids = tuple(one.thing.id for one in found)
    return OpenReply("yes" if yes else "no", confidence, objects=ids, explanation=why)


def _which_is_more(how: str, choices: Sequence[str], found: Sequence[Found]) -> OpenReply | None:
    """Which of the offered things is more so, or nearer to the thing that comes last."""
    offered = list(zip(choices, found, strict=False))
    if how in ("nearer", "farther"):
        if len(found) <= len(choices):
            return None
        to, sign = found[-1].thing.box, 1.0 if how == "nearer" else -1.0
        ranked = sorted(offered, key=lambda k: sign * gap(k[1].thing.box, to))
    else:
        ranked = sorted(offered, key=lambda k: -_extent(k[1], how))
    words, one = ranked[0]
    ids = tuple(k[1].thing.id for k in ranked)
    text = f"the {words.removeprefix('the ')}"
    return OpenReply(text, 0.75 * one.score, objects=ids, explanation=f"it is {how}")


def _measure(how: str, found: Sequence[Found]) -> OpenReply | None:
    first = found[0]
    if how in ("far", "close"):
        if len(found) < 2:
            return None
        away = gap(first.thing.box, found[1].thing.box)
        ids = (first.thing.id, found[1].thing.id)
        return OpenReply(f"about {away:.1f} meters", 0.7, objects=ids, explanation="between boxes")
    x, y, z = first.thing.box.size
    value = {"tall": z, "high": z, "deep": min(x, y), "wide": max(x, y), "long": max(x, y)}.get(how)
    text = f"about {value:.1f} meters" if value is not None else ""
    if how in ("big", "large"):
        text = f"about {x:.1f} by {y:.1f} by {z:.1f} meters"
    return OpenReply(text, 0.7 * first.score, objects=(first.thing.id,), explanation="its box")


def answer_space(index: MapIndex, step: Step) -> OpenReply | None:
    """Whether there is room for one more thing on or in furniture."""
    places = [step.to] if step.to else [p for thing in step.things for p in thing.places]
    if not places or places[0].relation not in ("on", "in"):
        return None
    surface = _best(index, places[0].thing)
    return _free(index, surface) if surface is not None else None


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
