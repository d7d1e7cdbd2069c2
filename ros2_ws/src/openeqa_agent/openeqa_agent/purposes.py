"""What in a map serves a purpose: something to sit on, somewhere to put a book."""

from __future__ import annotations

import re
from collections.abc import Mapping

from coterie_core.household import load_household
from coterie_core.lexicon import load_lexicon
from coterie_core.scene import SceneObject
from openeqa_agent import phrases
from openeqa_agent.answers import OpenReply
from openeqa_agent.question import OpenQuestion, uses_of
from openeqa_agent.things import MapIndex, belief, can_contain, canonical

_PUT = re.compile(r"\b(?:put|store|keep|place|leave|set|hang|hold|stow|lay|return)\b")
USEFUL = 0.3
"""Least grade for a thing to be named."""


def grades_for(question: OpenQuestion) -> dict[str, float]:
    """Return label -> how well such a thing serves what is asked (0..1); empty: nothing known."""
    lexicon, house = load_lexicon(), load_household()
    grades: dict[str, float] = {}
    uses = uses_of(question)
    for rank, name in enumerate(uses[:3]):
        for label, grade in lexicon.spread(lexicon.uses[name].things).items():
            grades[label] = max(grades.get(label, 0.0), grade * (1.0 if rank == 0 else 0.7))
    if _PUT.search(question.use):
        for _, _, name in lexicon.mentions(question.use)[:1]:
            category = house.category(name)
            owners = [o for on in (category.on if category else ()) for o in house.members(on)]
            for owner in owners:
                # Where such a thing is usually put beats what serves to put anything.
                label = canonical(owner)
                grades[label] = min(1.0, max(grades.get(label, 0.0), 0.8) + 0.3)
            if owners:
                grades = {k: v if v > 0.9 else 0.6 * v for k, v in grades.items()}
    return grades


def grade_of(thing: SceneObject, grades: Mapping[str, float]) -> float:
    """How well an object serves, all its labels considered (0..1)."""
    return sum(share * grades.get(canonical(label), 0.0) for label, share in belief(thing).items())


def answer_use(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    """Name the object of the map that serves best; None where no use or no such thing is known."""
    grades = grades_for(question)
    if not grades:
        return None
    rooms = {room.id for room in index.rooms_named(question.room)} if question.room else set()
    ranked = []
    for thing in index.scene.objects.values():
        grade = grade_of(thing, grades)
        if grade < USEFUL:
            continue
        room = index.room(thing)
        if rooms and (room is None or room.id not in rooms):
            grade *= 0.5
        ranked.append((-grade, -thing.observations, thing.id))
    if not ranked:
        if question.polar:
            return OpenReply("no", 0.5, explanation="nothing in the map serves")
        return None
    ranked.sort()
    best = index.scene.objects[ranked[0][2]]
    grade = -ranked[0][0]
    label = index.label(best)
    room = index.room(best)
    where = f" in the {room.name}" if room else ""
    text = f"the {label}{where}"
    if question.attribute == "place":
        text = f"{_preposition(label, question.use)} {text}"
    if question.polar:
        text = f"yes, {text}"
    alike = [id_ for score, _, id_ in ranked[1:4] if -score >= 0.8 * grade]
    why = f"{label} {phrases.place(index, best)}"
    return OpenReply(
        text, 0.55 * min(grade, 1.0) + 0.15, objects=(best.id, *alike), explanation=why
    )


def _preposition(label: str, use: str) -> str:
    if re.search(r"\b(?:wash|cook|heat|warm|cool|throw|dispose|store|keep)\b", use):
        if can_contain(label) or canonical(label) in ("sink", "trash can"):
            return "in"
    return "on" if not re.search(r"\b(?:look|go|watch|get)\b", use) else "at"
