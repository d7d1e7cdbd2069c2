"""What in a map serves a purpose: something to sit on, somewhere to put a book."""

from __future__ import annotations

import re

from coterie_requests.lexicon import canonical, serving
from coterie_requests.request import Step
from coterie_requests.understanding.map_geometry import can_contain
from openeqa_agent.reply import OpenReply
from openeqa_agent.things import MapIndex, reply_on
from openeqa_agent.understood import is_polar

USEFUL = 0.3
"""Least grade for a thing to be named."""


def answer_use(index: MapIndex, step: Step) -> OpenReply | None:
    """Name the object of the map that serves best; None where no use or no such thing is known."""
    wanted, polar = step.things[0], is_polar(step)
    if not serving(wanted.use):
        return None
    found = [f for f in index.fitting(wanted) if f.score >= (0.5 if polar else USEFUL)]
    if not found:
        no = OpenReply("no", 0.5, guessed=True, explanation="nothing in the map serves")
        return no if polar else None
    best = found[0]
    label, room = index.label(best.thing), index.room(best.thing)
    text = f"the {label}" + (f" in the {room.name}" if room else "")
    if step.attribute == "place" or step.act == "where":
        text = f"{_preposition(label, wanted.use)} {text}"
    alike = [one for one in found[1:4] if one.score >= 0.8 * best.score]
    return reply_on(
        f"yes, {text}" if polar else text,
        0.55 * min(best.score, 1.0) + 0.15,
        [best, *alike],
        f"{label} {index.whereabouts(best.thing, beside=True)}",
    )


def _preposition(label: str, use: str) -> str:
    if re.search(r"\b(?:wash|cook|heat|warm|cool|throw|dispose|store|keep)\b", use):
        if can_contain(label) or canonical(label) in ("sink", "trash can"):
            return "in"
    return "on" if not re.search(r"\b(?:look|go|watch|get)\b", use) else "at"
