"""What in a map serves a purpose: something to sit on, somewhere to put a book."""

from __future__ import annotations

import re
from collections.abc import Mapping

from coterie_core.household import load_household
from coterie_requests.lexicon import cue_pattern, load_lexicon
from coterie_requests.understanding.descriptions import clean
from coterie_world.scene import SceneObject
from openeqa_agent import phrases
from openeqa_agent.answers import OpenReply
from openeqa_agent.associations import things_for
from openeqa_agent.labels import can_contain, canonical
from openeqa_agent.things import MapIndex
from openeqa_agent.understood import OpenQuestion

_PUT = re.compile(r"\b(?:put|store|keep|place|leave|set|hang|hold|stow|lay|return)\b")
_BY_WORDS = 0.6
"""Grade of what the dictionary associates most with the words."""
_CHANCE = 0.45
"""Strength of the words below which a use is guessed."""
USEFUL = 0.3
"""Least grade for a thing to be named."""


def uses_of(question: OpenQuestion) -> list[str]:
    """Return names of the lexicon's uses that a question asks for, best first.

    The use with the most telling single cue comes first: "wash my clothes" is laundry, although
    "wash my" speaks of hands.
    """
    uses = load_lexicon().uses
    for text in (question.use.partition(",")[0], question.use, question.text):
        told: dict[str, tuple[int, bool, int]] = {}
        said = clean(text)
        continued = load_lexicon().continued(said)
        for name, use in uses.items():
            cues = [c for c in use.cues if cue_pattern(c).search(said)] if not use.modifies else []
            if cues and name not in continued:
                told[name] = max((len(c.split()), "*" not in c, len(c)) for c in cues)
        strong = [name for name in told if not uses[name].weak] or list(told)
        if strong:
            return sorted(strong, key=lambda name: (told[name], name), reverse=True)
    return []


def grades_for(question: OpenQuestion) -> dict[str, float]:
    """Return label -> how well such a thing serves what is asked (0..1); empty: nothing known.

    What the dictionary associates with the words counts beside the lexicon's list of uses.
    """
    lexicon, house = load_lexicon(), load_household()
    uses = lexicon.uses
    grades: dict[str, float] = {}
    named = uses_of(question)[:3]
    for rank, name in enumerate(named):
        # What else was heard helps only where the first use finds nothing.
        for label, grade in lexicon.spread(uses[name].things).items():
            share = 1.0 if rank == 0 else 0.45
            grades[label] = max(grades.get(label, 0.0), grade * share)
    told = things_for(question.use or question.text)
    most = max(told.values(), default=1.0)
    for label, strength in told.items():
        name = lexicon.canonical(label)
        share = _BY_WORDS * strength / most
        grades[name] = grades[name] + share if name in grades else share
    most = max(grades.values(), default=1.0)
    grades = {label: grade / max(most, 1.0) for label, grade in grades.items()}
    general = not named or uses[named[0]].weak or named[0] == "store"
    if general and _PUT.search(question.use):
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


def grade_of(index: MapIndex, thing: SceneObject, grades: Mapping[str, float]) -> float:
    """How well an object serves, all its labels considered (0..1)."""
    beliefs = index.belief(thing).items()
    return sum(share * grades.get(canonical(label), 0.0) for label, share in beliefs)


def answer_use(index: MapIndex, question: OpenQuestion) -> OpenReply | None:
    """Name the object of the map that serves best; None where no use or no such thing is known."""
    grades = grades_for(question)
    if not grades:
        return None
    rooms = {room.id for room in index.rooms_named(question.room)} if question.room else set()
    ranked = []
    for thing in index.scene.objects.values():
        grade = grade_of(index, thing, grades)
        if grade < (0.5 if question.polar else USEFUL):
            continue
        room = index.room(thing)
        if rooms and (room is None or room.id not in rooms):
            if question.polar:
                continue
            grade *= 0.5
        ranked.append((-grade, -thing.observations, thing.id))
    if not ranked:
        if question.polar:
            return OpenReply("no", 0.5, guessed=True, explanation="nothing in the map serves")
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
    chance = max(things_for(question.use).values(), default=0.0) < _CHANCE
    # What words alone go with is no more than a guess at whether there is such a thing.
    known = bool(uses_of(question))
    weak = (question.polar and not (question.parsed and known)) or (chance and not known)
    confidence = 0.55 * min(grade, 1.0) + 0.15
    return OpenReply(
        text,
        0.5 * confidence if weak else confidence,
        guessed=weak,
        objects=(best.id, *alike),
        explanation=why,
    )


def _preposition(label: str, use: str) -> str:
    if re.search(r"\b(?:wash|cook|heat|warm|cool|throw|dispose|store|keep)\b", use):
        if can_contain(label) or canonical(label) in ("sink", "trash can"):
            return "in"
    return "on" if not re.search(r"\b(?:look|go|watch|get)\b", use) else "at"
