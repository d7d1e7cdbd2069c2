"""Answers that a map gives by itself: labels, counts, places, colors, by rules and geometry."""

from __future__ import annotations

from collections import Counter

from coterie_core.lexicon import load_lexicon
from coterie_core.scene import SceneGraph, SceneObject
from openeqa_agent.answers import OpenReply
from openeqa_agent.question import OpenQuestion


def answer_from_map(question: OpenQuestion, scene: SceneGraph) -> OpenReply:
    """Return what the map says; an empty text where it does not tell."""
    found = _found(question, scene)
    nothing = OpenReply(category=question.category, explanation="the map does not tell")
    ids = tuple(thing.id for thing in found[:10])
    text = ""
    if question.kind == "is_there" and scene.objects:
        text = "yes" if found else "no"
    elif question.kind == "how_many" and scene.objects:
        text = str(len(found))
    elif question.kind == "where" and found:
        room = scene.rooms.get(found[0].room)
        holder = scene.objects.get(found[0].support or found[0].container)
        on = f"on the {holder.label.top}" if holder else ""
        text = " ".join(part for part in (on, f"in the {room.name}" if room else "") if part)
    elif question.kind == "color" and found:
        colors = Counter(t.properties.get("color", "") for t in found)
        text = colors.most_common(1)[0][0]
    if not text:
        return nothing
    return OpenReply(text, 0.6, False, question.category, ids, explanation="as the map says")


def _found(question: OpenQuestion, scene: SceneGraph) -> list[SceneObject]:
    lexicon = load_lexicon()
    names = lexicon.members(question.target.name)
    return [
        thing for thing in scene.objects.values() if lexicon.canonical(thing.label.top) in names
    ]
