"""What in a map serves a purpose: something to sit on, somewhere to put a book."""

from __future__ import annotations

import re

from coterie_requests.request import Step
from openeqa_agent import phrases
from openeqa_agent.labels import can_contain, canonical
from openeqa_agent.reply import OpenReply
from openeqa_agent.things import MapIndex
from openeqa_agent.understood import is_polar
from openeqa_agent.uses import grades_for

USEFUL = 0.3
"""Least grade for a thing to be named."""


def answer_use(index: MapIndex, step: Step) -> OpenReply | None:
    """Name the object of the map that serves best; None where no use or no such thing is known."""
    wanted = step.things[0]
    grades = grades_for(wanted.use)
    if not grades:
        return None
    polar = is_polar(step)
    rooms = index.rooms_said(wanted)
    left_out = {id_ for thing in wanted.without for f in index.find(thing) for id_ in f.ids}
    ranked = []
    for thing in index.scene.objects.values():
        grade = index.grade(thing, grades)
        if grade < (0.5 if polar else USEFUL) or thing.id in left_out:
            continue
        if rooms and index.room(thing) not in rooms:
            if polar:
                continue
            grade *= 0.5
        ranked.append((-grade, -thing.observations, thing.id))
    if not ranked:
        if polar:
            return OpenReply("no", 0.5, guessed=True, explanation="nothing in the map serves")
        return None
    ranked.sort()
    best = index.scene.objects[ranked[0][2]]
    grade = -ranked[0][0]
    label = index.label(best)
    room = index.room(best)
    text = f"the {label}" + (f" in the {room.name}" if room else "")
    if step.attribute == "place" or step.act == "where":
        text = f"{_preposition(label, wanted.use)} {text}"
    alike = [id_ for score, _, id_ in ranked[1:4] if -score >= 0.8 * grade]
    return OpenReply(
        f"yes, {text}" if polar else text,
        0.55 * min(grade, 1.0) + 0.15,
        objects=(best.id, *alike),
        explanation=f"{label} {phrases.place(index, best)}",
    )


def _preposition(label: str, use: str) -> str:
    if re.search(r"\b(?:wash|cook|heat|warm|cool|throw|dispose|store|keep)\b", use):
        if can_contain(label) or canonical(label) in ("sink", "trash can"):
            return "in"
    return "on" if not re.search(r"\b(?:look|go|watch|get)\b", use) else "at"
